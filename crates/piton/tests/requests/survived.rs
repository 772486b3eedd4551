//! An engine that dies at any step of a request: the next one goes on, and nothing is done twice.

use crate::{assert_landed, assert_survives, by_requests};

const POINTS: [&str; 8] = [
    "request.before-push",
    "request.pushed",
    "request.before-open",
    "request.opened",
    "request.before-merge",
    "request.merged",
    "request.before-target",
    "request.taken",
];

#[test]
fn a_run_that_is_killed_at_any_step_of_a_request_goes_on_to_the_same_end() {
    assert_survives(&POINTS, by_requests, assert_landed, 2);
}
