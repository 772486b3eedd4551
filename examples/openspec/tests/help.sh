sh spend.sh help | grep -q add
