# What must hold after every change: the tests that there are.
for test in tests/*.sh; do
    test ! -f "$test" || sh "$test" || exit 1
done
