//! Tasks that land by requests of a host, from outside: a real repository, a scripted `gh`, and agents that act by a script.
#![cfg(unix)]

mod ci;
mod hostile;
mod others;
mod refused;
mod stacks;
mod survived;
mod whole;

use piton_testkit::hosts::{CheckResult, Method, Phase, ScriptedHost, Trouble};
use piton_testkit::sandbox::{Invocation, Sandbox, task, until, writers};

/// A project with two tasks, one after the other, whose remote is at a scripted GitHub. Its checks are green.
fn scene() -> (Sandbox, ScriptedHost) {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = [\"T1\"]")));
    sandbox.script(&writers(&["T1", "T2"]));
    let host = ScriptedHost::github(&sandbox);
    host.checks("*", [("build", CheckResult::Green)]);
    (sandbox, host)
}

fn by_requests(sandbox: &Sandbox, host: &ScriptedHost, more: &str) -> Invocation {
    let line = format!("run plan.toml --land pr --poll 1 {more}");
    sandbox.piton(line.split_whitespace()).with_path(host.bin())
}

fn status(sandbox: &Sandbox, id: &str) -> String {
    let told = sandbox.run(&format!("status {id} --json")).exits(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    told["status"].as_str().expect("a status").to_owned()
}

/// Both tasks are in the remote's target, which is where the local one is, and nothing was done twice.
fn assert_landed(sandbox: &Sandbox, host: &ScriptedHost) {
    let requests = host.requests();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests.iter().all(|request| request.phase == Phase::Merged), "{requests:?}");
    let tip = sandbox.git(["rev-parse", "main"]).trim().to_owned();
    assert_eq!(host.tip("main").as_deref(), Some(tip.as_str()));
    assert_eq!((sandbox.read("T1.txt"), sandbox.read("T2.txt")), ("done\n".to_owned(), "done\n".to_owned()));
    assert_eq!(
        (status(sandbox, "T1"), status(sandbox, "T2")),
        ("completed".to_owned(), "completed".to_owned())
    );
    let _ = sandbox.run("doctor").exits(0);
}

/// A run that is killed at any of these points can be resumed, and nothing is done twice.
fn assert_survives(
    points: &[&str],
    run: impl Fn(&Sandbox, &ScriptedHost, &str) -> Invocation,
    landed: impl Fn(&Sandbox, &ScriptedHost),
    requests: usize,
) {
    for point in points {
        let (sandbox, host) = scene();
        let killed = run(&sandbox, &host, "").env("PITON_CRASH", format!("{point}:1")).run();
        assert_eq!(killed.code, None, "{point}\n{killed}");
        let _ = run(&sandbox, &host, "").run().exits(0);
        landed(&sandbox, &host);
        assert_eq!((host.count("pr create"), host.count("pr merge")), (requests, requests), "{point}");
    }
}

#[test]
fn each_task_lands_by_a_request_that_is_merged_by_each_method() {
    for method in ["merge", "squash", "rebase"] {
        let (sandbox, host) = scene();
        let _ = by_requests(&sandbox, &host, &format!("--merge-method {method}")).run().exits(0);
        assert_landed(&sandbox, &host);
        assert_eq!((host.count("pr create"), host.count("pr merge")), (2, 2), "{method}");
        let first = &host.requests()[0];
        assert!(first.title.starts_with("[T1] Do T1"), "{}", first.title);
        assert!(
            first.body.contains("- `test -s T1.txt`") && first.body.contains("Piton-Task: T1"),
            "{}",
            first.body
        );
        assert!(first.branch.starts_with("piton/") && first.branch.ends_with("/T1"), "{}", first.branch);
        // Each merge was asked for exactly the commit that was seen to be green.
        let heads: Vec<String> = host.requests().iter().map(|request| request.head.clone()).collect();
        for (call, head) in host.calls().iter().filter(|call| call.is("pr merge")).zip(heads) {
            assert!(call.args.contains(&head), "{call:?}");
        }
        // A second start finds nothing to do.
        let _ = sandbox.piton(["run", "plan.toml"]).with_path(host.bin()).run().exits(0);
        assert_eq!(host.requests().len(), 2);
    }
}

#[test]
fn a_red_check_of_the_host_goes_to_the_next_agent_with_its_log() {
    let (sandbox, host) = scene();
    sandbox.script(&(writers(&["T1", "T2"]) + "[T1 2]\nif-feedback append T1.txt more\n"));
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let head = until("a request", || host.requests().first().map(|request| request.head.clone()));
    host.checks(&head, [("build", CheckResult::Red)]);
    host.log(&head, "error[E0308]: mismatched types\n");
    let renewed = until("another push", || {
        host.requests().first().map(|request| request.head.clone()).filter(|now| *now != head)
    });
    host.checks(&renewed, [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    assert_eq!((host.requests().len(), host.request().phase), (1, Phase::Merged));
    assert_eq!(sandbox.read("T1.txt"), "done\nmore\n");
    let log = sandbox.run("log --json").exits(0).stdout;
    assert!(log.contains("mismatched types"), "{log}");
}

#[test]
fn a_request_that_a_person_merges_is_landed_and_known_again() {
    for method in [Method::Merge, Method::Squash, Method::Rebase] {
        let (sandbox, host) = scene();
        let running = by_requests(&sandbox, &host, "--merge person --task T1").spawn();
        let _ = until("a request", || host.requests().first().map(|request| request.number));
        host.merge(1, method);
        let _ = running.wait().exits(0);
        assert_eq!(
            (status(&sandbox, "T1"), host.count("pr merge")),
            ("completed".to_owned(), 0),
            "{method:?}"
        );
        assert_eq!(sandbox.read("T1.txt"), "done\n");
        // It is not lost for the next engine, whatever the host has made of its commits.
        let again = sandbox.piton(["run", "plan.toml", "--task", "T1"]).with_path(host.bin()).run().exits(0);
        let _ = again.lacks("attempt 2");
        assert_eq!(host.requests().len(), 1, "{method:?}");
    }
}

#[test]
fn answers_that_are_lost_are_found_again() {
    for words in ["pr create", "pr merge"] {
        for trouble in [Trouble::LostAnswer, Trouble::BadGatewayAfter] {
            let (sandbox, host) = scene();
            host.fault(words, 1, trouble.clone());
            let _ = by_requests(&sandbox, &host, "").run().exits(0);
            assert_landed(&sandbox, &host);
            assert_eq!((host.count("pr create"), host.count("pr merge")), (2, 2), "{words} {trouble:?}");
        }
    }
}

#[test]
fn a_target_that_moves_is_brought_in_before_the_merge() {
    let (sandbox, host) = scene();
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let head = until("a request", || host.requests().first().map(|request| request.head.clone()));
    let other = host.push("main", "other.txt", "somebody else's\n");
    host.checks("*", [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    let request = host.request();
    assert_ne!(request.head, head, "it was proven again on what was pushed meanwhile");
    let _ = sandbox.git(["merge-base", "--is-ancestor", &other, &request.head]);
    assert_eq!(
        (sandbox.read("other.txt"), sandbox.read("T1.txt")),
        ("somebody else's\n".to_owned(), "done\n".to_owned())
    );
}
