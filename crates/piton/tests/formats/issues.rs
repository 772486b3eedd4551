//! Issues of trackers as plans, from outside: a scripted GitHub is asked, a run lands what its issues want, and reports it.

use piton_testkit::hosts::{Issue, ScriptedHost, Trouble};
use piton_testkit::sandbox::{Output, Sandbox, until};

use crate::act;

const WORK: &str = "\
[12]
write one.txt one
[15]
write two.txt two
";

/// A project whose remote is at a host with these issues.
fn project(host: fn(&Sandbox) -> ScriptedHost, issues: &[(u64, &str, &str)]) -> (Sandbox, ScriptedHost) {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    act(&sandbox, WORK);
    let (agents, binary) = (sandbox.root().join("agents.script"), env!("CARGO_BIN_EXE_piton"));
    sandbox.write(
        "piton.toml",
        &format!(
            "[agents.default]\ncommand = [\"{binary}\", \"scripted-agent\", \"{agents}\"]\n\n[policy]\nbackoff = \"0s\"\n\n\
             [defaults]\nchecks = [\"test -e one.txt\"]\n"
        ),
    );
    sandbox.commit("Settings");
    let host = host(&sandbox);
    for (number, title, body) in issues {
        host.add_issue(Issue {
            number: *number,
            title: (*title).to_owned(),
            body: (*body).to_owned(),
            labels: vec!["agent".to_owned()],
            ..Issue::default()
        });
    }
    (sandbox, host)
}

fn github() -> (Sandbox, ScriptedHost) {
    project(
        ScriptedHost::github,
        &[(12, "Write one", "Into `one.txt`."), (15, "Write two", "Blocked by #12")],
    )
}

fn piton(sandbox: &Sandbox, host: &ScriptedHost, line: &str) -> Output {
    sandbox.piton(line.split(' ')).with_path(host.bin()).run()
}

/// How many calls wrote something.
fn writes(host: &ScriptedHost) -> usize {
    host.count("issue comment") + host.count("issue close")
}

#[test]
fn the_issues_of_a_label_are_a_plan() {
    let (sandbox, host) = github();
    host.add_issue(Issue { number: 9, title: "Not this".to_owned(), ..Issue::default() });
    insta::assert_snapshot!(piton(&sandbox, &host, "plan gh:label:agent").exits(0).to_string(), @"
    exit: 0
    --- stdout
    gh-label-agent 2 tasks in 1 group, up to 3 at once

    Issues
      12       Write one  .piton/issues/gh-label-agent.json:7  [test -e one.txt]
      15       Write two ← 12  .piton/issues/gh-label-agent.json:19  [test -e one.txt]

    critical path 2 steps: 12 → 15
    --- stderr
    .piton/issues/gh-label-agent.json is read as a plan of the tracker system
    ");
    assert_eq!(host.calls().len(), 1, "one question: {:?}", host.calls());
    assert_eq!(sandbox.git(["status", "--porcelain"]), "", "nothing of it is seen by git");
    let _ = piton(&sandbox, &host, "plan gh:#15").exits(0).says("`Write one` is open, and not in this plan");
}

#[test]
fn a_run_lands_what_issues_want_and_closes_them_with_the_evidence() {
    let (sandbox, host) = github();
    let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0).lacks("attempt 2");
    assert_eq!(sandbox.git(["show", "main:two.txt"]), "two");
    for number in [12, 15] {
        let issue = host.issue(number);
        assert!(issue.closed && !issue.not_planned, "{issue:?}");
        let [comment] = &issue.comments[..] else { panic!("{:?}", issue.comments) };
        assert!(comment.body.starts_with("Piton has landed this as "), "{}", comment.body);
        assert!(
            comment.body.contains(" on `main`. Checks that passed: `test -e one.txt`."),
            "{}",
            comment.body
        );
    }
    assert_eq!(writes(&host), 4);
    let _ = sandbox.run("log").exits(0).says("issue #12 was commented on and closed");
    // Again: nothing is left to do, and nothing is said twice.
    let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0);
    assert_eq!(writes(&host), 4);
    let _ = piton(&sandbox, &host, "plan gh:label:agent").exits(0).says("claimed done");
}

#[test]
fn an_answer_that_was_lost_repeats_no_comment() {
    let (sandbox, host) = github();
    host.fault("issue comment", 1, Trouble::LostAnswer);
    host.fault("issue close", 1, Trouble::BadGatewayAfter);
    let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0);
    for number in [12, 15] {
        assert_eq!(host.issue(number).comments.len(), 1);
        assert!(host.issue(number).closed);
    }
    assert_eq!(writes(&host), 4);
}

#[test]
fn a_report_that_failed_is_made_by_the_next_run() {
    let (sandbox, host) = github();
    let _ = piton(&sandbox, &host, "plan gh:label:agent").exits(0);
    host.rules(|rules| rules.logged_in = false);
    let told =
        piton(&sandbox, &host, "run gh:label:agent").exits(0).says("the issues are those of the last time");
    let _ =
        told.says("issue 12 does not know yet that it is done: `gh` is not logged in").says("gh auth login");
    assert!(!host.issue(12).closed);
    host.rules(|rules| rules.logged_in = true);
    let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0);
    assert!(host.issue(12).closed && host.issue(15).closed);
}

#[test]
fn an_issue_that_somebody_closed_gets_no_comment() {
    let (sandbox, host) = github();
    let _ = piton(&sandbox, &host, "plan gh:label:agent").exits(0);
    // Between the questions and the report.
    host.fault("issue list", 100, Trouble::NoNetwork);
    host.change_issue(12, |issue| issue.closed = true);
    let _ =
        piton(&sandbox, &host, "run gh:label:agent").exits(0).says("the issues are those of the last time");
    assert_eq!(host.issue(12).comments.len(), 0);
    let _ = sandbox.run("log").exits(0).says("issue #12 needs no report");
    assert_eq!(host.issue(15).comments.len(), 1);
}

#[test]
fn the_setting_says_what_is_written() {
    for (setting, comments, closed) in [("comment", 1, false), ("nothing", 0, false)] {
        let (sandbox, host) = github();
        sandbox.write(
            "piton.toml",
            &(sandbox.read("piton.toml") + &format!("\n[issues]\ndone = \"{setting}\"\n")),
        );
        sandbox.commit("Settings");
        let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0);
        assert_eq!((host.issue(12).comments.len(), host.issue(12).closed), (comments, closed), "{setting}");
    }
}

#[test]
fn a_run_that_died_between_two_writes_resumes_without_repeating_one() {
    for point in ["issues.before-write:2", "issues.written:1", "issues.written:2"] {
        let (sandbox, host) = github();
        let died =
            sandbox.piton(["run", "gh:label:agent"]).with_path(host.bin()).env("PITON_CRASH", point).run();
        assert!(died.to_string().starts_with("exit: killed"), "{point}: {died}");
        let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0);
        for number in [12, 15] {
            assert_eq!(host.issue(number).comments.len(), 1, "{point}");
            assert!(host.issue(number).closed, "{point}");
        }
    }
}

#[test]
fn what_cannot_be_asked_is_said_with_what_to_type() {
    let (sandbox, host) = github();
    let _ = piton(&sandbox, &host, "plan gh:label:none").exits(1).says("this plan has no tasks");
    let _ = piton(&sandbox, &host, "plan gh:#99").exits(1).says("not found at github.com");
    let _ = piton(&sandbox, &host, "plan gh:nonsense").exits(2).says("names no issues").says("label:NAME");
    let _ = piton(&sandbox, &host, "plan gl:#12")
        .exits(1)
        .says("is at github.com, which is not GitLab")
        .says("hint: piton plan 'gh:#12'");
    let _ =
        piton(&sandbox, &host, "status --plan gh:label:other").exits(1).says("piton plan 'gh:label:other'");
    host.rules(|rules| rules.logged_in = false);
    let _ = piton(&sandbox, &host, "plan gh:label:other").exits(1).says("gh auth login");
    host.fault("", 100, Trouble::Hostile);
    let _ = piton(&sandbox, &host, "plan gh:label:other").exits(1).lacks("\u{1b}]");
}

#[test]
fn an_older_gh_is_asked_for_less() {
    let (sandbox, host) = github();
    host.rules(|rules| rules.no_edges = true);
    let _ = piton(&sandbox, &host, "plan gh:label:agent")
        .exits(0)
        .says("12")
        .says("← 12")
        .says("A newer `gh` knows");
}

#[test]
fn a_changed_issue_is_a_changed_plan() {
    let (sandbox, host) = github();
    let _ = piton(&sandbox, &host, "run gh:label:agent --task 12").exits(0);
    assert!(host.issue(12).closed);
    host.change_issue(15, |issue| issue.body = "Blocked by #12. Write it in `two.txt`.".to_owned());
    let _ = piton(&sandbox, &host, "run gh:label:agent").exits(0).says("the plan has changed; adopted");
    assert!(host.issue(15).closed);
}

/// Two issues, of which the first is worked on by an agent that waits at a FIFO, with this in `[issues]`.
fn waiting(host: fn(&Sandbox) -> ScriptedHost, settings: &str) -> (Sandbox, ScriptedHost) {
    let issues = [(12, "Write one", "Into `one.txt`."), (15, "Write two", "Into `two.txt`.")];
    let (sandbox, host) = project(host, &issues);
    let config = sandbox.read("piton.toml").replace("test -e one.txt", "git --version");
    let config = config.replace("[policy]\n", "[policy]\nmax_parallel = 1\n");
    sandbox.write("piton.toml", &format!("{config}\n[issues]\npoll = \"1s\"\n{settings}"));
    sandbox.commit("Settings");
    let gate = sandbox.fifo("gate");
    act(&sandbox, &format!("[12]\nmeet {gate}\nwrite one.txt one\n[15]\nwrite two.txt two\n"));
    (sandbox, host)
}

/// Wait until the answer of the host that is kept has this.
fn until_kept(sandbox: &Sandbox, text: &str) {
    let file = ".piton/issues/gh-label-agent.json";
    until(text, || (sandbox.exists(file) && sandbox.read(file).contains(text)).then_some(()));
}

#[test]
fn an_issue_shows_that_it_is_worked_on_and_then_no_longer() {
    for (host, prefix) in
        [(ScriptedHost::github as fn(&Sandbox) -> ScriptedHost, "gh"), (ScriptedHost::gitlab, "gl")]
    {
        let (sandbox, host) = waiting(host, "assign = true\nlabel = \"in progress\"\n");
        let ask = format!("{prefix}:label:agent");
        let running = sandbox.piton(["run", &ask]).with_path(host.bin()).spawn();
        let shown = until("a label and an assignee", || {
            let issue = host.issue(12);
            (issue.labels.len() > 1 && !issue.assignees.is_empty()).then_some(issue)
        });
        assert_eq!(
            (shown.labels, shown.assignees),
            (vec!["agent".to_owned(), "in progress".to_owned()], vec!["me".to_owned()])
        );
        assert_eq!(host.issue(15).labels, ["agent"], "it waits");
        sandbox.meet("gate");
        let _ = running.wait().exits(0);
        let issue = host.issue(12);
        assert!(issue.closed);
        assert_eq!(issue.labels, ["agent"], "{prefix}");
        assert_eq!(issue.assignees, ["me"], "who did it stays");
    }
}

#[test]
fn an_issue_that_a_person_closes_during_a_run_is_claimed_and_its_checks_judge() {
    let (sandbox, host) = waiting(ScriptedHost::github, "");
    let running = sandbox.piton(["run", "gh:label:agent"]).with_path(host.bin()).spawn();
    until("the first question", || (host.count("issue list") > 0).then_some(()));
    host.change_issue(15, |issue| issue.closed = true);
    until_kept(&sandbox, "\"closed\"");
    until("its check", || (crate::status(&sandbox, "15") == "completed").then_some(()));
    sandbox.meet("gate");
    let _ = running.wait().exits(0);
    assert_eq!(crate::status(&sandbox, "15"), "completed");
    assert!(!sandbox.exists("two.txt"), "no agent has worked on it");
    assert_eq!(host.issue(15).comments.len(), 0, "it was closed already");
}

#[test]
fn an_issue_that_is_closed_as_not_planned_during_a_run_is_skipped() {
    let (sandbox, host) = waiting(ScriptedHost::github, "");
    let running = sandbox.piton(["run", "gh:label:agent"]).with_path(host.bin()).spawn();
    until("the first question", || (host.count("issue list") > 0).then_some(()));
    host.change_issue(15, |issue| (issue.closed, issue.not_planned) = (true, true));
    until_kept(&sandbox, "\"dropped\"");
    sandbox.meet("gate");
    let _ = running.wait().exits(0).lacks("the plan has changed");
    assert_eq!(crate::status(&sandbox, "15"), "skipped");
    let _ = sandbox.run("log").exits(0).says("its issue was closed as not planned, or as a duplicate");
    let _ = piton(&sandbox, &host, "plan gh:label:agent").exits(0).says("skipped: its issue was closed");
    let _ = piton(&sandbox, &host, "plan gh:#15").exits(1).says("this plan has no tasks");
}

#[test]
fn issues_of_gitlab_are_asked_for_and_closed_through_its_api() {
    let issues = [(12, "Write one", "Into `one.txt`."), (15, "Write two", "Blocked by #12")];
    let (sandbox, host) = project(ScriptedHost::gitlab, &issues);
    let _ = piton(&sandbox, &host, "plan gl:label:agent").exits(0).says("← 12");
    let _ = piton(&sandbox, &host, "run gl:label:agent").exits(0);
    for number in [12, 15] {
        assert!(host.issue(number).closed);
        assert_eq!(host.issue(number).comments.len(), 1, "{:?}", host.issue(number).comments);
    }
}
