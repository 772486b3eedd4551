//! What is refused before any work is paid for, and what people do on the host.

use piton_testkit::hosts::{CheckResult, ScriptedHost};
use piton_testkit::sandbox::{Sandbox, task, until, writers};

use crate::{by_requests, scene, status};

#[test]
fn what_the_first_request_would_fail_for_is_said_before_the_run() {
    let (sandbox, host) = scene();
    let refused = |more: &str| by_requests(&sandbox, &host, more).run();
    let _ = refused("--remote upstream").exits(1).says("there is no remote `upstream`");
    host.rules(|rules| rules.methods.retain(|method| *method != piton_testkit::hosts::Method::Squash));
    let _ = refused("--merge-method squash").exits(1).says("do not allow to squash");
    let _ =
        refused("--onto elsewhere").exits(1).says("origin has no branch `elsewhere`").says("git push origin");
    host.rules(|rules| rules.logged_in = false);
    let _ = refused("").exits(1).says("`gh` is not logged in to github.com").says("gh auth login");
    assert_eq!((host.requests().len(), sandbox.run("runs --json").stdout.contains("plan.toml")), (0, false));
    let _ = sandbox.piton(["run", "plan.toml", "--merge", "person"]).run().exits(2).says("--land");
    let _ = sandbox.piton(["run", "plan.toml", "--land", "pr", "--no-commits"]).run().exits(2);
}

#[test]
fn rules_of_the_branch_that_the_run_cannot_meet_are_said_before_it_begins() {
    let (sandbox, host) = scene();
    let refused = |more: &str| by_requests(&sandbox, &host, more).run().exits(1);
    host.rules(|rules| rules.linear = true);
    let _ = refused("").says("requests cannot be merged at acme/widgets: `main` allows no merge commits");
    host.rules(|rules| (rules.linear, rules.queue) = (false, true));
    let _ = refused("").says("only the host's queue merges into `main`").says("--merge host");
    host.rules(|rules| (rules.queue, rules.signed) = (false, true));
    let _ = refused("").says("`main` needs signed commits");
    host.rules(|rules| (rules.signed, rules.review) = (false, true));
    let waits = "`main` needs an approval: each request waits for people";
    let _ = by_requests(&sandbox, &host, "--dry-run").run().exits(0).says(waits);
    let _ = by_requests(&sandbox, &host, "--dry-run --merge person").run().exits(0).lacks(waits);
    host.rules(|rules| (rules.review, rules.hidden) = (false, true));
    let hidden = "acme/widgets does not show all rules of `main`";
    let _ = by_requests(&sandbox, &host, "--dry-run").run().exits(0).says(hidden);
    assert_eq!(host.requests().len(), 0);
    host.rules(|rules| rules.hidden = false);
    let _ = by_requests(&sandbox, &host, "").run().exits(0).lacks("warning:");
}

#[test]
fn a_remote_without_a_host_is_refused() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.plan(&task("T1", ""));
    sandbox.git(["init", "-q", "--bare", "../remote.git"]);
    sandbox.git(["remote", "add", "origin", "../remote.git"]);
    let refused = sandbox.run("run plan.toml --land pr").exits(1);
    let _ = refused.says("the remote `origin`: the remote is a folder, not a host");
}

#[test]
fn how_a_run_lands_stays_as_it_began() {
    let (sandbox, host) = scene();
    let _ = by_requests(&sandbox, &host, "--task T1").run().exits(0);
    let refused = sandbox.piton(["run", "plan.toml", "--land", "local"]).with_path(host.bin()).run();
    let _ = refused.exits(2).says("--land cannot be changed");
    // Without any flag it goes on as it began.
    let _ = sandbox.piton(["run", "plan.toml"]).with_path(host.bin()).run().exits(0);
    assert_eq!(host.requests().len(), 2);
}

#[test]
fn commits_of_ones_own_are_not_sent_along() {
    let (sandbox, host) = scene();
    sandbox.write("own.txt", "not pushed\n");
    sandbox.commit("Not pushed");
    let mut running = by_requests(&sandbox, &host, "--task T1").spawn();
    running.until_says("`main` has commits that origin does not have");
    assert_eq!(host.requests().len(), 0);
    sandbox.git(["push", "-q", "origin", "main"]);
    let _ = running.wait().exits(0);
    assert_eq!(status(&sandbox, "T1"), "completed");
}

#[test]
fn a_request_that_is_closed_blocks_its_task_and_nothing_is_opened_beside_it() {
    let (sandbox, host): (Sandbox, ScriptedHost) = scene();
    sandbox.script(&writers(&["T1", "T2"]));
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let _ = until("a request", || host.requests().first().map(|request| request.number));
    host.close(1);
    let ended = running.wait();
    assert_ne!(ended.code, Some(0), "{ended}");
    assert_eq!(status(&sandbox, "T1"), "blocked");
    let _ = sandbox.run("why T1").says("#1 was closed and not merged");
    assert_eq!((host.count("pr create"), host.count("pr merge")), (1, 0));
}

#[test]
fn what_somebody_else_pushed_to_the_branch_is_not_overwritten() {
    let (sandbox, host) = scene();
    host.checks("*", [("build", CheckResult::Pending)]);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let branch = until("a request", || host.requests().first().map(|request| request.branch.clone()));
    let theirs = host.push(&branch, "theirs.txt", "theirs\n");
    let _ = running.wait();
    assert_eq!((status(&sandbox, "T1"), host.tip(&branch)), ("blocked".to_owned(), Some(theirs)));
    let _ = sandbox.run("why T1").says("somebody pushed");
}

#[test]
fn the_project_says_how_requests_are_made() {
    let (sandbox, host) = scene();
    sandbox
        .write("piton.toml", "[requests]\nmerge = \"person\"\nlabels = [\"agent\"]\nremote = \"upstream\"\n");
    let refused = by_requests(&sandbox, &host, "").run().exits(1);
    let _ = refused.says("there is no remote `upstream`");
    let running = by_requests(&sandbox, &host, "--remote origin --task T1").spawn();
    let _ = until("a request", || host.requests().first().map(|request| request.number));
    assert_eq!(host.request().labels, ["agent"]);
    host.merge(1, piton_testkit::hosts::Method::Merge);
    let _ = running.wait().exits(0);
    assert_eq!(host.count("pr merge"), 0);
}

/// Whoever resumes need not say again who merges, and the plan may be written meanwhile.
#[test]
fn who_merges_stays_as_it_began_when_the_plan_is_read_again() {
    let (sandbox, host) = scene();
    let killed =
        by_requests(&sandbox, &host, "--merge person --task T1").env("PITON_CRASH", "request.opened:1");
    assert_eq!(killed.run().code, None);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let tasks = task("T1", "") + &task("T2", "depends_on = [\"T1\"]");
    sandbox.write("plan.toml", &sandbox.plan_text("max_parallel = 7\n", &tasks));
    let is_read = || sandbox.events().iter().any(|event| event.contains("settings_adopted"));
    until("the plan is read again", || is_read().then_some(()));
    let looked = host.count("pr view");
    until("three more looks", || (host.count("pr view") >= looked + 3).then_some(()));
    assert_eq!(host.count("pr merge"), 0, "a person merges");
    host.merge(1, piton_testkit::hosts::Method::Merge);
    let _ = running.wait().exits(0);
}
