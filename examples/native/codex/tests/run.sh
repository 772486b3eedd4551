# Runs every test in this folder.
for test in tests/test-*.sh; do
    [ -e "$test" ] || continue
    sh "$test" || { echo "$test failed"; exit 1; }
done
