# The names of things. What has logic is in `./check` and `xtask`.

# Everything: format, lints, tests, simulation, generated files, licences
check:
    ./check

# The inner loop: the pure core only
quick:
    ./check --quick

# The whole thing in a scratch repository
demo *args:
    cargo run --release -- demo {{args}}

# Simulated runs of the core in a hostile world
simulate seeds="100000":
    cargo run --quiet --release --package xtask -- simulate --seeds {{seeds}}

# Write the JSON Schemas anew
schemas:
    cargo xtask generate
