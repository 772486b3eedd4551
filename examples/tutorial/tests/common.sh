# What the tests share: a shelf with two books, in a folder of its own.
set -eu
shelf=$PWD/shelf.sh
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
sh "$shelf" add 1954 "The Two Towers"
sh "$shelf" add 1865 "Alice in Wonderland"

# same WHAT EXPECTED
same() {
    test "$1" = "$2" && return
    echo "expected \"$2\", got \"$1\""
    exit 1
}
