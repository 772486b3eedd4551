. tests/common.sh
same "$(sh "$shelf" find Two)" "1954,The Two Towers"
