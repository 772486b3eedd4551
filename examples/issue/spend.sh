# Add up what was spent: lines of `2026-01-20,12.50` on standard input.
set -eu
awk -F, '{ sum += $2 } END { printf "%.2f\n", sum }'
