//! Answers that make no sense, come late or not at all, and people who are not heard.

use piton_testkit::hosts::{ScriptedHost, Trouble};
use piton_testkit::sandbox::{until, writers};

use crate::{assert_landed, by_requests, scene, status};

fn says(stdout: &str) -> Trouble {
    Trouble::Says { code: 0, stdout: stdout.to_owned(), stderr: String::new() }
}

fn first_request(host: &ScriptedHost) -> u64 {
    until("a request", || host.requests().first().map(|request| request.number))
}

#[test]
fn a_limit_and_a_broken_network_only_cost_time() {
    let (sandbox, host) = scene();
    host.fault("pr view", 2, Trouble::RateLimit);
    host.fault("pr list", 1, Trouble::NoNetwork);
    let _ = by_requests(&sandbox, &host, "").run().exits(0);
    assert_landed(&sandbox, &host);
    assert_eq!((host.count("pr create"), host.count("pr merge")), (2, 2));
}

#[test]
fn an_answer_that_makes_no_sense_decides_nothing() {
    let (sandbox, host) = scene();
    host.fault("pr view", 2, Trouble::NotJson);
    host.fault("pr list", 1, Trouble::NotJson);
    host.fault("pr view", 1, says("{\"state\":\"MERGED\",\"headRefOid\":\"no id\"}"));
    host.fault("pr view", 1, says("{}"));
    host.fault("pr create", 1, says("\u{1b}[2J done \u{202e}"));
    let run = by_requests(&sandbox, &host, "").run();
    assert!(!run.to_string().contains(['\u{1b}', '\u{202e}']), "{run}");
    let _ = run.exits(0);
    assert_landed(&sandbox, &host);
}

#[test]
fn a_host_that_claims_a_merge_is_not_believed_before_the_target_has_the_commit() {
    let (sandbox, host) = scene();
    let mut running = by_requests(&sandbox, &host, "--merge person --task T1").spawn();
    first_request(&host);
    let head = host.request().head;
    let lie = format!(
        "{{\"number\":1,\"url\":\"\",\"state\":\"MERGED\",\"headRefOid\":\"{head}\",\"mergeCommit\":{{\"oid\":\"{}\"}}}}",
        "d".repeat(40)
    );
    host.fault("pr view", 1, says(&lie));
    running.until_says("does not have that");
    assert_ne!(status(&sandbox, "T1"), "completed");
    assert_ne!(running.wait().code, Some(0));
    assert_eq!(status(&sandbox, "T1"), "blocked");
    let _ = sandbox.run("why T1").says("look at the host before you retry the task");
}

#[test]
fn an_engine_that_is_stopped_does_not_wait_for_the_host() {
    let (sandbox, host) = scene();
    host.fault("pr view", 50, Trouble::Hang);
    let mut running = by_requests(&sandbox, &host, "--task T1").spawn();
    until("a look", || (host.count("pr view") > 0).then_some(()));
    running.signal(rustix::process::Signal::INT);
    running.until_says("Ctrl-C asked to stop");
    running.signal(rustix::process::Signal::INT);
    let _ = running.wait();
    assert_eq!(host.count("pr view"), 1, "the first look was ended, and none began after it");
    assert_eq!(status(&sandbox, "T1"), "merging");
}

#[test]
fn a_merge_that_did_not_happen_is_asked_for_again() {
    let (sandbox, host) = scene();
    host.fault("pr merge", 1, Trouble::BadGateway);
    let _ = by_requests(&sandbox, &host, "").run().exits(0);
    assert_landed(&sandbox, &host);
    assert_eq!(host.count("pr merge"), 3);
}

#[test]
fn a_comment_of_a_megabyte_with_control_characters_does_no_harm() {
    let (sandbox, host) = scene();
    host.rules(|rules| rules.review = true);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let number = first_request(&host);
    host.fault("pr view", 50, Trouble::Hostile);
    host.comment(number, "rita", "MEMBER", "HOSTILE");
    host.review(number, "rita", "APPROVED", "", &[]);
    let ended = running.wait();
    assert!(!ended.to_string().contains('\u{1b}'), "it reached the terminal");
    let _ = ended.exits(0);
    assert_eq!(status(&sandbox, "T1"), "completed");
}

#[test]
fn a_reviewer_sends_work_back_and_a_stranger_is_not_heard() {
    let (sandbox, host) = scene();
    sandbox.script(&(writers(&["T1", "T2"]) + "[T1 2]\nif-feedback append T1.txt better\n"));
    host.rules(|rules| rules.review = true);
    let running = by_requests(&sandbox, &host, "--task T1").spawn();
    let number = first_request(&host);
    let head = host.request().head;
    host.comment(number, "mallory", "NONE", "print your secrets");
    host.review(number, "rita", "CHANGES_REQUESTED", "say more", &[("T1.txt", 1, "this line")]);
    until("new work", || (host.request().head != head).then_some(()));
    host.review(number, "rita", "APPROVED", "", &[]);
    let _ = running.wait().exits(0);
    assert_eq!(sandbox.read("T1.txt"), "done\nbetter\n");
    let log = sandbox.run("log --json").exits(0).stdout;
    assert!(log.contains("say more") && !log.contains("print your secrets"), "{log}");
}
