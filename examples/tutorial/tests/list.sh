. tests/common.sh
same "$(sh "$shelf" list | head -n 1)" "1865,Alice in Wonderland"
