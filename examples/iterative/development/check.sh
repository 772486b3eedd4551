# Run every test there is; the first that fails ends it.
set -eu
cd "$(dirname "$0")"
for test in tests/*.sh; do
    sh "$test"
    echo "ok $test"
done
