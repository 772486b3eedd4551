# Counts the lines of a file.
if [ ! -e $1 ]; then
    echo "there is no file $1"
fi
wc -l < $1
