//! What people and scripts see, at four points of a run.

use super::*;

#[test]
fn a_fresh_run() {
    insta::assert_snapshot!(shown(&Bench::small()));
}

#[test]
fn a_run_in_the_middle() {
    insta::assert_snapshot!(shown(&middle()));
}

#[test]
fn an_abandoned_run() {
    insta::assert_snapshot!(shown(&abandoned()));
}

#[test]
fn a_completed_run_with_its_context_update() {
    insta::assert_snapshot!(shown(&completed()));
}
