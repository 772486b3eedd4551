# File names are plain.
set -eu
! ls docs 2>/dev/null | grep '[^a-z.]'
