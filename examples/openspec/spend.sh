# Keep what was spent: `spend.sh add AMOUNT WHAT`.
case $1 in
    add) shift && echo "$*" >> spent.txt ;;
    help) echo "add AMOUNT WHAT" ;;
esac
