# A shelf of books. shelf.csv has a line for each: the year, a comma, the title.
folder=$(dirname "$0")/commands
if ! test -f "$folder/$1.sh"; then
    echo "usage: sh shelf.sh COMMAND" >&2
    exit 2
fi
touch shelf.csv
. "$folder/$1.sh"
