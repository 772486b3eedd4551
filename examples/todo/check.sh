# What must hold after every change.
test ! -f shelf.sh || sh -n shelf.sh
