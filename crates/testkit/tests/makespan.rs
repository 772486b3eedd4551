//! The scheduler against the least time there is.

use piton_testkit::makespan::{Makespan, Shape, makespan, quantile};

/// All of it and by shape: `cargo xtask makespan`. No clock is read, so the figures are the same everywhere.
#[test]
fn a_run_takes_hardly_longer_than_it_must() {
    let all: Vec<Makespan> = (0..50).map(makespan).collect();
    assert!(all.iter().all(|one| one.took >= one.bound), "nothing is faster than the bound");
    assert!(Shape::ALL.iter().all(|&shape| all.iter().any(|one| one.shape == shape)));
    let median = quantile(&all, 0.5);
    assert!(median <= 1.05, "the median is {median:.3}");
}
