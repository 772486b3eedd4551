# Whatever the program can do, it says so.
set -eu
for name in keep find; do
    if grep -q "$name)" receipts.sh; then
        sh receipts.sh help | grep -q "$name" || { echo "help does not name $name" >&2; exit 1; }
    fi
done
