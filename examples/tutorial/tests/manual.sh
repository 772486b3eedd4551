for command in add list count find; do
    grep -q "shelf.sh $command" README.md && continue
    echo "README.md does not describe \"$command\""
    exit 1
done
