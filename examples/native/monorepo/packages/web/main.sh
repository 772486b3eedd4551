grep -o user
