# A stand-in for a coding agent. It gets a prompt on stdin, changes files in the folder in which it was started, and ends.
# A real agent would read the whole prompt. This one only looks for what a person has answered.
prompt=$(cat)

case "$PITON_TASK $PITON_ATTEMPT" in
    "list "*)
        echo 'sort shelf.csv' > commands/list.sh
        ;;
    "count 1")
        # Wrong: it prints nothing for an empty shelf.
        echo "sed -n '\$=' shelf.csv" > commands/count.sh
        ;;
    "count "*)
        echo 'grep -c "" shelf.csv || true' > commands/count.sh
        ;;
    "find "*)
        case "$prompt" in
            *"ignore case"*) echo 'grep -i ",.*$2" shelf.csv' > commands/find.sh ;;
            *) echo '<signal>BLOCKED:should "two" find "The Two Towers"?</signal>' ;;
        esac
        ;;
    "manual "*)
        {
            echo '# Shelf'
            echo
            echo '`sh shelf.sh add YEAR TITLE` puts a book on the shelf.'
            echo '`sh shelf.sh list` lists the books, the oldest first.'
            echo '`sh shelf.sh count` counts them.'
            # It forgets the last command until a person tells it where to look.
            case "$prompt" in
                *"commands folder"*) echo '`sh shelf.sh find TEXT` finds books by their title.' ;;
            esac
        } > README.md
        ;;
esac
