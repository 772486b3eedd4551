//! Too few file descriptors.

use piton_testkit::cases::{in_parallel, told};
use piton_testkit::sandbox::{task, writers};

use crate::{sandbox, thorough};

#[test]
fn with_too_few_descriptors_it_ends_in_words_and_goes_on_when_there_are_more() {
    let limits: Vec<u32> = if thorough() { (4..=40).collect() } else { vec![4, 8, 11, 13, 15, 17, 20, 28] };
    let ends = in_parallel(&limits, |limit| {
        let sandbox = sandbox();
        sandbox.plan_with("landing_wait = '0s'", &(task("T1", "") + &task("T2", "") + &task("T3", "")));
        sandbox.script(&writers(&["T1", "T2", "T3"]));
        let starter = format!("ulimit -n {limit} && exec \"$@\"");
        let out = sandbox.piton_by(&["sh", "-c", &starter, "sh"], ["run", "plan.toml"]).run();
        assert!(matches!(out.code, Some(0 | 1 | 3 | 4)), "{limit}: {out}");
        let out = out.lacks("panicked").lacks("internal error");
        assert!(out.code == Some(0) || !out.stderr.is_empty(), "{limit}: not a word");
        for id in ["T1", "T2", "T3"] {
            // Blocked after many vain tries; otherwise there is nothing to unblock.
            let _ = sandbox.run(&format!("unblock {id} --plan plan.toml"));
        }
        let _ = sandbox.run("run plan.toml").exits(0);
        sandbox.assert_landed_once("main", &["T1", "T2", "T3"]);
        let _ = sandbox.run("doctor").exits(0);
        // Piton reported what it could not clean up without descriptors. This cleans it up.
        let _ = sandbox.run("clean").exits(0);
        (*limit, out)
    });
    for (limit, out) in &ends {
        told(&format!("{limit} descriptors: {out}"));
    }
    assert!(ends.iter().any(|(_, out)| out.code == Some(1)), "none of them was too few");
}
