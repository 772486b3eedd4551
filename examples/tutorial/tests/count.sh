. tests/common.sh
same "$(sh "$shelf" count)" "2"
rm shelf.csv
same "$(sh "$shelf" count)" "0"
