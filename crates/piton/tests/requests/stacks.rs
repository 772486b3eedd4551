//! Tasks that begin on the open requests of what they depend on: chains, diamonds, and what becomes of the requests below.

use piton_testkit::hosts::{CheckResult, Method, Phase, Request, ScriptedHost};
use piton_testkit::sandbox::{Invocation, Sandbox, task, until, writers};

use crate::{by_requests, status};

const PENDING: [(&str, CheckResult); 1] = [("build", CheckResult::Pending)];
const GREEN: [(&str, CheckResult); 1] = [("build", CheckResult::Green)];

/// Each depends on the one before it. The host's checks have not ended.
fn chain(ids: &[&str], host: fn(&Sandbox) -> ScriptedHost) -> (Sandbox, ScriptedHost) {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    let after = |at: usize| at.checked_sub(1).map(|at| format!("depends_on = [\"{}\"]", ids[at]));
    let tasks = ids.iter().enumerate().map(|(at, id)| task(id, &after(at).unwrap_or_default()));
    sandbox.plan(&tasks.collect::<String>());
    sandbox.script(&writers(ids));
    let host = host(&sandbox);
    host.checks("*", PENDING);
    (sandbox, host)
}

/// Two beside each other, and one on both.
fn diamond(script: &str) -> (Sandbox, ScriptedHost) {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    let plain = |id: &str| task(id, "checks = [\"true\"]");
    sandbox.plan(&(plain("A") + &plain("B") + &task("C", "depends_on = [\"A\", \"B\"]")));
    sandbox.script(script);
    let host = ScriptedHost::github(&sandbox);
    host.checks("*", PENDING);
    (sandbox, host)
}

fn stacked(sandbox: &Sandbox, host: &ScriptedHost, more: &str) -> Invocation {
    by_requests(sandbox, host, &format!("--stack {more}"))
}

/// All requests, once there are so many.
fn opened(host: &ScriptedHost, count: usize) -> Vec<Request> {
    until("the requests", || Some(host.requests()).filter(|all| all.len() >= count))
}

fn until_why(sandbox: &Sandbox, id: &str, words: &str) {
    until(words, || sandbox.run(&format!("why {id}")).stdout.contains(words).then_some(()));
}

fn assert_all_merged(sandbox: &Sandbox, host: &ScriptedHost, ids: &[&str]) {
    let requests = host.requests();
    assert_eq!(requests.len(), ids.len(), "{requests:?}");
    for (request, id) in requests.iter().zip(ids) {
        assert_eq!((request.phase, request.base.as_str()), (Phase::Merged, "main"), "{request:?}");
        assert!(request.branch.ends_with(id), "{request:?}");
        assert_eq!(status(sandbox, id), "completed");
        assert_eq!(sandbox.read(format!("{id}.txt")), "done\n");
    }
    assert_eq!(host.tip("main").as_deref(), Some(sandbox.git(["rev-parse", "main"]).trim()));
    let log = sandbox.run("log --json").exits(0).stdout;
    assert!(!log.contains("\"event\":\"failed\""), "nothing failed: {log}");
    let _ = sandbox.run("doctor").exits(0);
}

/// The numbers of requests in the order in which Piton asked for their merge.
fn merges(host: &ScriptedHost) -> Vec<String> {
    let words = if host.calls().iter().any(|call| call.is("mr create")) { "mr merge" } else { "pr merge" };
    host.calls().iter().filter(|call| call.is(words)).map(|call| call.args[2].clone()).collect()
}

#[test]
fn a_chain_is_opened_at_once_and_lands_in_its_order_by_each_method() {
    for (method, of) in [
        ("merge", ScriptedHost::github as fn(&Sandbox) -> ScriptedHost),
        ("squash", ScriptedHost::github),
        ("rebase", ScriptedHost::github),
        ("merge", ScriptedHost::gitlab),
        ("squash", ScriptedHost::gitlab),
    ] {
        let ids = ["T1", "T2", "T3"];
        let (sandbox, host) = chain(&ids, of);
        let before: usize = sandbox.git(["rev-list", "--count", "main"]).trim().parse().expect("a number");
        let running = stacked(&sandbox, &host, &format!("--merge-method {method}")).spawn();
        let requests = opened(&host, 3);
        let bases: Vec<&str> = requests.iter().map(|request| request.base.as_str()).collect();
        assert_eq!(bases, ["main", &requests[0].branch, &requests[1].branch], "{method}");
        assert!(requests[1].body.starts_with("Built on #1, and to be merged after that."), "{requests:?}");
        assert!(!requests[0].body.contains("Built on"), "{requests:?}");
        until_why(&sandbox, "T3", "checks have ended");
        assert_eq!(host.tip("main").as_deref(), Some(sandbox.git(["rev-parse", "main"]).trim()));
        host.checks("*", GREEN);
        let _ = running.wait().exits(0);
        assert_all_merged(&sandbox, &host, &ids);
        assert_eq!(merges(&host), ["1", "2", "3"], "{method}");
        if method == "squash" && host.count("pr create") > 0 {
            let after: usize = sandbox.git(["rev-list", "--count", "main"]).trim().parse().expect("a number");
            assert_eq!(after, before + 3, "one commit for each, and none of what was squashed");
        }
    }
}

#[test]
fn without_the_flag_a_task_waits_for_the_merge_and_the_table_turns_it_on() {
    let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
    let running = by_requests(&sandbox, &host, "").spawn();
    let _ = opened(&host, 1);
    until_why(&sandbox, "T1", "checks have ended");
    let _ = sandbox.run("why T2").says("T2 waits for 1 task it depends on");
    host.checks("*", GREEN);
    let _ = running.wait().exits(0);
    assert!(host.requests().iter().all(|request| request.base == "main"));
    let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
    sandbox.write("piton.toml", "[requests]\nstack = true\n");
    let running = by_requests(&sandbox, &host, "").spawn();
    let requests = opened(&host, 2);
    assert_eq!(requests[1].base, requests[0].branch);
    host.checks("*", GREEN);
    let _ = running.wait().exits(0);
    assert_all_merged(&sandbox, &host, &["T1", "T2"]);
}

#[test]
fn where_there_is_nothing_to_stack_it_is_said() {
    let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
    let refused = |more: &str| by_requests(&sandbox, &host, more).run().exits(2);
    let _ = refused("--stack --pr run").says("--stack is for a request of each task");
    let _ = refused("--stack --pr batch").says("leave out --stack, or --pr");
    let alone = sandbox.piton(["run", "plan.toml", "--stack"]).run().exits(2);
    assert!(alone.stderr.contains("`piton run` needs --land <HOW> or --pr <WHAT>"), "{alone}");
    let local = sandbox.piton(["run", "plan.toml", "--land", "local", "--stack"]).with_path(host.bin());
    let _ = local.run().exits(2).says("--stack is for --land pr");
    let stacked = "tasks would begin on the open requests of what they depend on";
    let _ = by_requests(&sandbox, &host, "--stack --dry-run").run().exits(0).says(stacked);
    let _ = by_requests(&sandbox, &host, "--dry-run").run().exits(0).lacks(stacked);
    sandbox.write("piton.toml", "[requests]\nstack = true\n");
    let _ = by_requests(&sandbox, &host, "--pr run --dry-run").run().exits(0).says("changes nothing here");
    assert_eq!(host.requests().len(), 0);
}

#[test]
fn a_task_stands_on_several_requests_and_lands_after_all_of_them() {
    let (sandbox, host) = diamond(&writers(&["A", "B", "C"]));
    let running = stacked(&sandbox, &host, "").spawn();
    let requests = opened(&host, 3);
    let top = &requests[2];
    assert_eq!(top.base, "main");
    assert!(top.body.starts_with("Built on #") && top.body.contains(", #"), "{}", top.body);
    for below in &requests[..2] {
        let _ = sandbox.git(["merge-base", "--is-ancestor", &below.head, &top.head]);
    }
    host.checks("*", GREEN);
    let _ = running.wait().exits(0);
    assert_eq!(merges(&host).last().map(String::as_str), Some("3"));
    assert!(host.requests().iter().all(|request| request.phase == Phase::Merged));
    assert_eq!((sandbox.read("A.txt"), sandbox.read("C.txt")), ("done\n".to_owned(), "done\n".to_owned()));
}

#[test]
fn what_cannot_stand_on_requests_that_conflict_waits_until_they_have_landed() {
    let script = "[A]\nwrite log.txt A\n[B]\nif-conflict write log.txt A\\nB\nif-conflict exit 0\nwrite log.txt B\n[C]\nwrite C.txt done\n";
    let (sandbox, host) = diamond(script);
    let running = stacked(&sandbox, &host, "").spawn();
    let _ = opened(&host, 2);
    until_why(&sandbox, "C", "C waits until what it depends on has landed");
    let _ = sandbox.run("why C").says("cannot be merged with what else it stands on: log.txt");
    host.checks("*", GREEN);
    let _ = running.wait().exits(0);
    assert_eq!((status(&sandbox, "C"), host.requests().len()), ("completed".to_owned(), 3));
    assert_eq!(host.requests()[2].base, "main");
}

#[test]
fn a_request_follows_the_one_below_when_that_gets_new_commits() {
    let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
    sandbox.script(&(writers(&["T1", "T2"]) + "[T1 2]\nif-feedback append T1.txt better\n"));
    let running = stacked(&sandbox, &host, "").spawn();
    let before = opened(&host, 2);
    host.review(1, "rita", "CHANGES_REQUESTED", "do it better", &[]);
    until("new work", || (host.requests()[0].head != before[0].head).then_some(()));
    host.review(1, "rita", "APPROVED", "", &[]);
    host.checks("*", GREEN);
    let _ = running.wait().exits(0);
    let after = host.requests();
    let _ = sandbox.git(["merge-base", "--is-ancestor", &after[0].head, &after[1].head]);
    assert_eq!((after.len(), merges(&host)), (2, vec!["1".to_owned(), "2".to_owned()]));
    assert_eq!(
        (sandbox.read("T1.txt"), status(&sandbox, "T2")),
        ("done\nbetter\n".to_owned(), "completed".to_owned())
    );
    let log = sandbox.run("log --json").exits(0).stdout;
    let of_above = log.lines().filter(|line| line.contains("\"task\":\"T2\""));
    let failed = of_above.filter(|line| line.contains("\"event\":\"failed\"")).count();
    assert_eq!(failed, 0, "what was asked of T1 cost T2 nothing: {log}");
}

#[test]
fn a_request_whose_footing_is_closed_waits_with_its_work_and_lands_without_it() {
    let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
    let running = stacked(&sandbox, &host, "").spawn();
    let before = opened(&host, 2);
    host.close(1);
    let ended = running.wait();
    assert_ne!(ended.code, Some(0), "{ended}");
    assert_eq!(
        (status(&sandbox, "T1"), status(&sandbox, "T2")),
        ("blocked".to_owned(), "skipped".to_owned())
    );
    let _ = sandbox.run("inbox").says("#1 was closed and not merged");
    assert_eq!((host.requests()[1].phase, &host.requests()[1].head), (Phase::Open, &before[1].head));
    // A person decides that it goes on without. What it was built on is not brought along.
    let _ = sandbox.run("skip T1").exits(0);
    host.checks("*", GREEN);
    let _ = sandbox.piton(["run", "plan.toml"]).with_path(host.bin()).run().exits(0);
    assert_eq!(
        (status(&sandbox, "T2"), sandbox.read("T2.txt")),
        ("completed".to_owned(), "done\n".to_owned())
    );
    let above = &host.requests()[1];
    assert_eq!((above.phase, above.base.as_str(), host.requests().len()), (Phase::Merged, "main", 2));
    assert!(!sandbox.git(["ls-tree", "--name-only", "main"]).contains("T1.txt"));
    let log = sandbox.run("log --json").exits(0).stdout;
    assert_eq!(log.matches("\"event\":\"agent_ended\"").count(), 2, "no agent worked again: {log}");
}

#[test]
fn a_run_that_is_killed_at_any_step_of_a_stack_goes_on_to_the_same_end() {
    // Of the second request; the last two come when the first one has landed.
    let points = [
        "request.before-push:2",
        "request.pushed:2",
        "request.before-open:2",
        "request.opened:2",
        "request.before-base:1",
        "request.based:1",
    ];
    for point in points {
        let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
        let running = stacked(&sandbox, &host, "").env("PITON_CRASH", point).spawn();
        if point.contains("base:") || point.contains("based:") {
            let _ = opened(&host, 2);
            host.checks("*", GREEN);
        }
        let killed = running.wait();
        assert_eq!(killed.code, None, "{point}\n{killed}");
        host.checks("*", GREEN);
        let _ = stacked(&sandbox, &host, "").run().exits(0);
        assert_all_merged(&sandbox, &host, &["T1", "T2"]);
        assert_eq!((host.count("pr create"), host.count("pr merge")), (2, 2), "{point}");
    }
}

#[test]
fn a_run_that_is_killed_where_requests_are_merged_to_stand_on_goes_on_to_the_same_end() {
    let (sandbox, host) = diamond(&writers(&["A", "B", "C"]));
    let killed = stacked(&sandbox, &host, "").env("PITON_CRASH", "stack.merged:1").run();
    assert_eq!(killed.code, None, "{killed}");
    host.checks("*", GREEN);
    let _ = stacked(&sandbox, &host, "").run().exits(0);
    assert!(host.requests().iter().all(|request| request.phase == Phase::Merged));
    assert_eq!(host.requests().len(), 3);
}

#[test]
fn a_request_that_a_person_merges_into_the_one_below_is_theirs_to_sort_out() {
    let (sandbox, host) = chain(&["T1", "T2"], ScriptedHost::github);
    let before = host.tip("main");
    let running = stacked(&sandbox, &host, "").spawn();
    let _ = opened(&host, 2);
    host.merge(2, Method::Merge);
    let ended = running.wait();
    assert_ne!(ended.code, Some(0), "{ended}");
    let _ = sandbox.run("inbox").says("Piton does not overwrite it");
    assert_eq!(
        (status(&sandbox, "T1"), host.tip("main"), merges(&host).len()),
        ("blocked".to_owned(), before, 0)
    );
    assert_ne!(status(&sandbox, "T2"), "completed");
}
