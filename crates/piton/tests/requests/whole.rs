//! A run with one request for all of its tasks.

use piton_testkit::hosts::{CheckResult, Method, Phase, Request, ScriptedHost};
use piton_testkit::sandbox::{Invocation, Sandbox, task, until, writers};

use crate::{assert_survives, scene, status};

fn as_a_whole(sandbox: &Sandbox, host: &ScriptedHost, more: &str) -> Invocation {
    let line = format!("run plan.toml --pr run --poll 1 {more}");
    sandbox.piton(line.split_whitespace()).with_path(host.bin())
}

/// One request has brought all of it, and the local target is where the host's is.
fn assert_landed(sandbox: &Sandbox, host: &ScriptedHost) {
    let request = host.request();
    assert_eq!(request.phase, Phase::Merged, "{request:?}");
    let tip = sandbox.git(["rev-parse", "main"]).trim().to_owned();
    assert_eq!(host.tip("main").as_deref(), Some(tip.as_str()));
    for id in ["T1", "T2"] {
        assert_eq!(sandbox.git(["show", &format!("main:{id}.txt")]).trim(), "done");
    }
    for id in ["T1", "T2", "request"] {
        assert_eq!(status(sandbox, id), "completed", "{id}");
    }
    let _ = sandbox.run("doctor").exits(0);
}

/// The commit that the request has, once it has another one than `before`.
fn head_after(host: &ScriptedHost, before: &str) -> String {
    let new = |request: &Request| Some(request.head.clone()).filter(|head| head != before);
    until("another push", || host.requests().first().and_then(new))
}

#[test]
fn a_run_has_one_request_that_is_merged_by_each_method() {
    for method in ["merge", "squash", "rebase"] {
        let (sandbox, host) = scene();
        let began = sandbox.git(["rev-parse", "main"]);
        let running = as_a_whole(&sandbox, &host, &format!("--merge-method {method}"));
        host.checks("*", [("build", CheckResult::Pending)]);
        let running = running.spawn();
        let request = until("a request", || host.requests().first().cloned());
        // Nothing is on the target before the host has merged it.
        assert_eq!(sandbox.git(["rev-parse", "main"]), began, "{method}");
        assert_eq!(
            (status(&sandbox, "T1"), status(&sandbox, "T2")),
            ("completed".into(), "completed".into())
        );
        let branch = request.branch.clone();
        assert_eq!(branch.matches('/').count(), 1, "{branch}");
        assert_eq!(sandbox.git(["rev-parse", &branch]).trim(), request.head);
        let said = sandbox.run("status").exits(0).stdout;
        assert!(said.contains(&format!("landing on {branch}, and by one request on main")), "{said}");
        host.checks("*", [("build", CheckResult::Green)]);
        let _ = running.wait().exits(0);
        assert_landed(&sandbox, &host);
        assert_eq!((host.count("pr create"), host.count("pr merge")), (1, 1), "{method}");
        assert!(request.body.contains("Do T1") && request.body.contains("Do T2"), "{}", request.body);
        assert!(request.body.contains("Piton-Run: "), "{}", request.body);
        let merge = host.calls().into_iter().find(|call| call.is("pr merge")).expect("a merge");
        assert!(merge.args.contains(&request.head), "{merge:?}");
        // A second start finds nothing to do.
        let _ = sandbox.piton(["run", "plan.toml"]).with_path(host.bin()).run().exits(0);
        assert_eq!(host.requests().len(), 1, "{method}");
    }
}

#[test]
fn a_red_check_goes_to_an_agent_that_works_on_the_whole() {
    let (sandbox, host) = scene();
    sandbox.script(&(writers(&["T1", "T2"]) + "[request 2]\nif-feedback append T2.txt more\n"));
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = as_a_whole(&sandbox, &host, "").spawn();
    let head = head_after(&host, "");
    host.checks(&head, [("build", CheckResult::Red)]);
    host.log(&head, "error[E0308]: mismatched types\n");
    let renewed = head_after(&host, &head);
    host.checks(&renewed, [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    assert_eq!((host.requests().len(), host.request().phase), (1, Phase::Merged));
    assert_eq!(sandbox.git(["show", "main:T2.txt"]), "done\nmore");
    // What was pushed first stays in its history: nothing that people have read is taken back.
    let _ = sandbox.git(["merge-base", "--is-ancestor", &head, &renewed]);
    let log = sandbox.run("log --json").exits(0).stdout;
    assert!(log.contains("mismatched types"), "{log}");
}

#[test]
fn a_target_that_moves_is_brought_into_the_request() {
    let (sandbox, host) = scene();
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = as_a_whole(&sandbox, &host, "").spawn();
    let head = head_after(&host, "");
    let other = host.push("main", "other.txt", "somebody else's\n");
    host.checks("*", [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    let request = host.request();
    assert_ne!(request.head, head, "it was proven again on what was pushed meanwhile");
    let _ = sandbox.git(["merge-base", "--is-ancestor", &other, &request.head]);
    let _ = sandbox.git(["merge-base", "--is-ancestor", &head, &request.head]);
    assert_landed(&sandbox, &host);
}

#[test]
fn a_conflict_with_the_target_is_solved_by_an_agent() {
    let (sandbox, host) = scene();
    sandbox.script(&(writers(&["T1", "T2"]) + "[request]\nwrite T1.txt done\n"));
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = as_a_whole(&sandbox, &host, "").spawn();
    let head = head_after(&host, "");
    let _ = host.push("main", "T1.txt", "somebody else's\n");
    host.checks("*", [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    assert_ne!(host.request().head, head);
    assert_landed(&sandbox, &host);
}

#[test]
fn an_agent_that_mends_the_request_keeps_the_checks_of_its_tasks_green() {
    let (sandbox, host) = scene();
    // First it removes what T1 made. With the feedback about that, it restores the file.
    let mend = sandbox.root().join("mend.sh");
    sandbox.write(
        &mend,
        "if [ -e fix.txt ]; then echo done > T1.txt; else rm T1.txt; echo fixed > fix.txt; fi\n",
    );
    sandbox.script(&(writers(&["T1", "T2"]) + &format!("[request]\nrun sh {mend}\n")));
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = as_a_whole(&sandbox, &host, "").spawn();
    let head = head_after(&host, "");
    host.checks(&head, [("build", CheckResult::Red)]);
    let renewed = head_after(&host, &head);
    host.checks(&renewed, [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    assert_landed(&sandbox, &host);
    assert_eq!(sandbox.git(["show", "main:fix.txt"]).trim(), "fixed");
    let log = sandbox.run("log").exits(0).stdout;
    assert!(log.contains("check `test -s T1.txt` failed"), "{log}");
}

#[test]
fn a_target_that_moved_is_judged_by_the_checks_of_the_tasks_too() {
    let (sandbox, host) = scene();
    let check = "checks = ['test -s T1.txt', 'test ! -e flag || test -e mended']";
    sandbox.plan(&(task("T1", check) + &task("T2", "depends_on = [\"T1\"]")));
    sandbox.git(["push", "-q", "origin", "main"]);
    sandbox.script(&(writers(&["T1", "T2"]) + "[request]\nwrite mended yes\n"));
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = as_a_whole(&sandbox, &host, "").spawn();
    let head = head_after(&host, "");
    // What is pushed meanwhile merges cleanly, and does not fit together with T1.
    let _ = host.push("main", "flag", "somebody else's\n");
    host.checks("*", [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    assert_ne!(host.request().head, head);
    assert_eq!(sandbox.git(["show", "main:mended"]).trim(), "yes");
    assert_landed(&sandbox, &host);
}

#[test]
fn a_check_that_a_later_task_made_red_does_not_keep_the_request_back() {
    let (sandbox, host) = scene();
    sandbox.plan(
        &(task("T1", "checks = ['test -s T1.txt', 'test ! -e T2.txt']")
            + &task("T2", "depends_on = [\"T1\"]")),
    );
    sandbox.git(["push", "-q", "origin", "main"]);
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = as_a_whole(&sandbox, &host, "").spawn();
    let head = head_after(&host, "");
    // It is looked at only where something else is merged into it.
    let _ = host.push("main", "other.txt", "somebody else's\n");
    host.checks("*", [("build", CheckResult::Green)]);
    let _ = running.wait().exits(0);
    assert_ne!(host.request().head, head);
    assert_landed(&sandbox, &host);
    assert_eq!(sandbox.run("status request --json").exits(0).stdout.matches("\"attempt\": 1").count(), 1);
}

#[test]
fn an_abandoned_task_keeps_the_request_back_until_a_person_skips_it() {
    let (sandbox, host) = scene();
    sandbox.script("[T1]\nwrite T1.txt done\n[T2]\nexit 1\n");
    let _ = as_a_whole(&sandbox, &host, "").run().exits(4);
    assert!(host.requests().is_empty());
    let _ = sandbox.run("skip T2 --reason later").exits(0);
    let _ = as_a_whole(&sandbox, &host, "").run().exits(0);
    assert_eq!((host.requests().len(), host.request().phase), (1, Phase::Merged));
    assert_eq!(sandbox.git(["show", "main:T1.txt"]).trim(), "done");
}

#[test]
fn a_task_that_is_added_after_the_merge_gets_a_request_too() {
    let (sandbox, host) = scene();
    let _ = as_a_whole(&sandbox, &host, "").run().exits(0);
    assert_landed(&sandbox, &host);
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = [\"T1\"]") + &task("T3", "")));
    sandbox.git(["push", "-q", "origin", "main"]);
    sandbox.script(&writers(&["T1", "T2", "T3"]));
    let _ = as_a_whole(&sandbox, &host, "--replan").run().exits(0);
    let phases: Vec<Phase> = host.requests().iter().map(|request| request.phase).collect();
    assert_eq!(phases, [Phase::Merged, Phase::Merged]);
    assert_eq!(sandbox.git(["show", "main:T3.txt"]).trim(), "done");
}

#[test]
fn what_a_run_has_one_request_for_stays_as_it_began() {
    let (sandbox, host) = scene();
    let both = as_a_whole(&sandbox, &host, "--land local").run().exits(2);
    assert!(both.stderr.contains("--pr is for --land pr"), "{both}");
    host.checks("*", [("build", CheckResult::Green)]);
    let _ = as_a_whole(&sandbox, &host, "").run().exits(0);
    let changed = sandbox.piton(["run", "plan.toml", "--pr", "task"]).with_path(host.bin()).run().exits(2);
    assert!(changed.stderr.contains("--pr cannot be changed"), "{changed}");
}

#[test]
fn a_run_lands_by_a_merge_request_of_gitlab() {
    for method in ["merge", "squash"] {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
        sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = [\"T1\"]")));
        sandbox.script(&writers(&["T1", "T2"]));
        let host = ScriptedHost::gitlab(&sandbox);
        host.checks("*", [("build", CheckResult::Green)]);
        let _ = as_a_whole(&sandbox, &host, &format!("--merge-method {method}")).run().exits(0);
        assert_landed(&sandbox, &host);
        assert_eq!((host.count("mr create"), host.count("mr merge")), (1, 1), "{method}");
    }
}

#[test]
fn a_person_who_merges_the_request_completes_the_run() {
    let (sandbox, host) = scene();
    let running = as_a_whole(&sandbox, &host, "--merge person").spawn();
    let request = until("a request", || host.requests().first().cloned());
    until("a place in the inbox", || sandbox.run("inbox").stdout.contains("#1").then_some(()));
    host.merge(request.number, Method::Squash);
    let _ = running.wait().exits(0);
    assert_landed(&sandbox, &host);
    assert_eq!(host.count("pr merge"), 0);
}

const POINTS: [&str; 9] = [
    "request.before-branch",
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
fn a_run_that_is_killed_at_any_step_of_its_request_goes_on_to_the_same_end() {
    assert_survives(&POINTS, as_a_whole, assert_landed, 1);
}

#[test]
fn each_group_has_a_request_and_the_next_begins_when_it_is_merged() {
    for schedule in ["layered", "flow"] {
        let (sandbox, host) = scene();
        let groups = "[[group]]\nid = 'first'\n\n[[group]]\nid = 'second'\n\n";
        sandbox.plan(&(groups.to_owned() + &task("T1", "group = 'first'") + &task("T2", "group = 'second'")));
        sandbox.git(["push", "-q", "origin", "main"]);
        let line = format!("run plan.toml --pr batch --poll 1 --schedule {schedule}");
        host.checks("*", [("build", CheckResult::Pending)]);
        let running = sandbox.piton(line.split_whitespace()).with_path(host.bin()).spawn();
        let first = until("a request", || host.requests().first().cloned());
        assert_eq!((status(&sandbox, "T1"), status(&sandbox, "T2")), ("completed".into(), "pending".into()));
        assert!(first.title.ends_with(": first"), "{}", first.title);
        host.checks("*", [("build", CheckResult::Green)]);
        let _ = running.wait().exits(0);
        let phases: Vec<Phase> = host.requests().iter().map(|request| request.phase).collect();
        assert_eq!(phases, [Phase::Merged, Phase::Merged], "{schedule}");
        assert_eq!(sandbox.git(["show", "main:T2.txt"]).trim(), "done");
        assert_eq!(status(&sandbox, "request-first"), "completed");
    }
}
