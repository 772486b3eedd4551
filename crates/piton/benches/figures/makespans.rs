//! The scheduler against the least time there is, over random plans. Time is simulated, so a busy machine does not matter.

use piton_testkit::makespan::{Makespan, makespan, quantile};

use crate::bench::Figure;

const PLANS: u64 = 1_000;

pub(crate) fn figures() -> Vec<Figure> {
    let all: Vec<Makespan> = (0..PLANS).map(makespan).collect();
    let what =
        "makespan of 1,000 random plans, `flow` (floor: the longest chain, or the work divided by the slots)";
    vec![Figure {
        what: what.to_owned(),
        measured: format!("{:.3} ×, median", quantile(&all, 0.5)),
        floor: "1".to_owned(),
        against: format!("{:.3} ×", quantile(&all, 0.5)),
        most: "1.05 ×, median".to_owned(),
    }]
}
