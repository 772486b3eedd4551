test -s README.md
