//! Other ways of a host: GitLab, its fast-forwards, and a queue that merges.

use piton_testkit::hosts::{CheckResult, Phase, ScriptedHost};
use piton_testkit::sandbox::{Sandbox, task, until, writers};

use crate::{by_requests, scene, status};

fn gitlab() -> (Sandbox, ScriptedHost) {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    let host = ScriptedHost::gitlab(&sandbox);
    host.checks("*", [("build", CheckResult::Green)]);
    (sandbox, host)
}

#[test]
fn a_merge_request_lands_by_each_method() {
    for (method, forward) in [("merge", false), ("squash", false), ("merge", true)] {
        let (sandbox, host) = gitlab();
        host.rules(|rules| rules.fast_forward = forward);
        let _ = by_requests(&sandbox, &host, &format!("--merge-method {method}")).run().exits(0);
        assert_eq!(host.request().phase, Phase::Merged, "{method} {forward}");
        assert_eq!(host.tip("main"), Some(sandbox.git(["rev-parse", "main"])), "{method} {forward}");
        assert_eq!((host.count("mr create"), host.count("mr merge")), (1, 1), "{method} {forward}");
        assert_eq!(status(&sandbox, "T1"), "completed");
    }
}

#[test]
fn a_queue_of_the_host_merges_when_it_can() {
    let (sandbox, host) = scene();
    host.rules(|rules| rules.queue = true);
    let running = by_requests(&sandbox, &host, "--merge host --task T1").spawn();
    until("a place in the queue", || host.requests().iter().any(|request| request.queued).then_some(()));
    assert!(host.queue_merges());
    let _ = running.wait().exits(0);
    assert_eq!((status(&sandbox, "T1"), host.count("pr merge")), ("completed".to_owned(), 1));
}
