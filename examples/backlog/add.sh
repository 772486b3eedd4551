# Adds numbers.
