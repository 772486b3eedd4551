//! An engine that dies at any step of a request: the next one goes on, and nothing is done twice.

use crate::{assert_landed, by_requests, scene};

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
    for point in POINTS {
        let (sandbox, host) = scene();
        let killed = by_requests(&sandbox, &host, "").env("PITON_CRASH", format!("{point}:1")).run();
        assert_eq!(killed.code, None, "{point}\n{killed}");
        let _ = by_requests(&sandbox, &host, "").run().exits(0);
        assert_landed(&sandbox, &host);
        assert_eq!((host.count("pr create"), host.count("pr merge")), (2, 2), "{point}");
    }
}
