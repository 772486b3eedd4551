echo "$2,$3" >> shelf.csv
