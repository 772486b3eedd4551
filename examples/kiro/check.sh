# Run every test there is.
set -eu
for test in tests/*.sh; do
    sh "$test" || { echo "$test failed" >&2; exit 1; }
done
