set -eu
test "$(printf '2026-01-20,12.50\n2026-02-01,7.50\n' | sh spend.sh)" = 20.00
test "$(printf '' | sh spend.sh)" = 0.00
