grep -q account main.sh && ! grep -q user main.sh
