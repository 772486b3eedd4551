# Counts the lines of a file.
