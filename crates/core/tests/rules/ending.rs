//! What a run ends as: what a person skips is not left over, what the run had to go on without is.

use piton_core::plan::{Exhausted, Schedule, TaskId, TaskSpec};
use piton_core::run::{AgentEnd, Asks, Class, Closing, Command, Event, Status, StopReason, Verdict, Work};
use piton_core::view::{RunStatus, Sources, ahead, at_rest, describe, first_dead, why};

use crate::bench::{Bench, id, spec, work};

fn skip(name: &str) -> Command {
    Command::Skip { task: id(name), by: "ann".to_owned(), reason: "not this year".to_owned() }
}

fn leave(reason: StopReason) -> Command {
    Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() }
}

fn said(bench: &Bench, name: &str) -> String {
    let reason = |seq: u64| {
        let found = bench.journal.iter().find(|recorded| recorded.seq == seq)?;
        match &found.event {
            Event::Failed { reason, .. } | Event::Skipped { reason, .. } => Some(reason.clone()),
            _ => None,
        }
    };
    let words = |seq: u64| match &bench.journal.iter().find(|recorded| recorded.seq == seq)?.event {
        Event::AgentEnded { closing, .. } => Some(closing.words.clone()),
        _ => None,
    };
    let worktree = |_: &TaskId| Some("/w/a".to_owned());
    let sources = Sources {
        engine_lives: true,
        reason: &reason,
        words: &words,
        worktree: &worktree,
        first_dead: &|group| first_dead(&bench.state, group),
        ahead: &|task| ahead(bench.state.tasks(), task),
    };
    let why = why(&bench.state, &id(name), bench.now, &sources).expect("the state is complete");
    why.expect("there is such a task").to_string()
}

fn status(bench: &Bench) -> RunStatus {
    let engine_lives = false;
    RunStatus::of(bench.state.run().expect("there is one"), &bench.state.counts(), engine_lives)
}

#[test]
fn a_run_is_complete_but_for_what_a_person_skipped() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &["a"])]);
    bench.accept(&skip("a"));
    assert_eq!(at_rest(&bench.state), StopReason::Ended, "what depends on it may start, and is open");
    bench.land("b", 1);
    assert_eq!(at_rest(&bench.state), StopReason::Completed);
    bench.accept(&leave(StopReason::Completed));
    assert_eq!(describe(&bench.journal.last().expect("not empty").event).text, "completed, 1 skipped");
    assert_eq!(status(&bench), RunStatus::Completed { skipped: 1 });
    assert!(said(&bench, "a").contains("a was skipped by a person: not this year"));
}

#[test]
fn what_a_run_went_on_without_leaves_it_unfinished() {
    let may_fail = TaskSpec { may_fail: true, attempts: 1, ..spec("a", &[]) };
    let mut bench = Bench::running(vec![may_fail, spec("b", &["a"])]);
    bench.start("a");
    bench.fail("a", Class::Code);
    bench.land("b", 1);
    assert_eq!((bench.task("a").decided, bench.task("a").status()), (Status::Skipped, Status::PassedOver));
    assert_eq!(at_rest(&bench.state), StopReason::Ended);
    assert!(!bench.refuse(&leave(StopReason::Completed)).stale);
    // Until a person says that it is not needed.
    bench.accept(&skip("a"));
    assert_eq!(at_rest(&bench.state), StopReason::Completed);
}

#[test]
fn a_gate_is_not_passed_by_skipping_it() {
    let gate = TaskSpec { gate: true, check_first: true, group: 1, ..spec("g", &[]) };
    let mut bench = Bench::running_as(Schedule::Layered, Exhausted::Pass, vec![spec("a", &[]), gate]);
    bench.land("a", 1);
    bench.accept(&skip("g"));
    assert_eq!(at_rest(&bench.state), StopReason::Ended);
    bench.accept(&leave(StopReason::Ended));
    assert_eq!(status(&bench), RunStatus::Ended);
    assert!(said(&bench, "g").contains("it is a gate that did not pass, so the run is not complete"));
}

/// It turned out to be impossible before any attempt was spent.
#[test]
fn nothing_is_said_to_end_after_no_attempts() {
    let may_fail = TaskSpec { may_fail: true, ..spec("a", &[]) };
    let mut bench = Bench::running(vec![may_fail]);
    bench.start("a");
    bench.fail("a", Class::Defect);
    let told = said(&bench, "a");
    assert!(told.contains("the run went on without a before any attempt was spent"), "{told}");
    assert!(!told.contains("0 attempts"), "{told}");
}

/// An agent that ends like this, has changed nothing and says these last words.
fn stopped_with(task: TaskSpec, closing: Closing) -> Bench {
    let mut bench = ended_with(task, closing);
    bench.accept(&bench.captured("a", Work { changed: false, found_work: false, ..work(7) }));
    bench
}

fn ended_with(task: TaskSpec, closing: Closing) -> Bench {
    let mut bench = Bench::running(vec![task]);
    bench.start("a");
    bench.ready("a", 0, 0);
    let Command::AgentEnded { task, fence, pass, end, took, report, .. } =
        bench.agent_ends("a", AgentEnd::Done)
    else {
        unreachable!("that is what it makes");
    };
    bench.accept(&Command::AgentEnded { task, fence, pass, end, took, report, closing });
    bench
}

/// Part of the work is there, and the rest waits for an answer.
#[test]
fn who_asks_and_whose_work_fails_is_told_to_decide_and_the_question_is_shown() {
    let ended = |attempts: u32| {
        let task = TaskSpec { attempts, ..spec("a", &[]) };
        let mut bench = ended_with(task, asks("Which store?"));
        bench.accept(&bench.captured("a", work(7)));
        bench.accept(&bench.checks_end("a", 7, Verdict::Fail { exit: 1 }));
        bench
    };
    let bench = ended(2);
    let Some(Event::Failed { feedback, .. }) = bench.journal.last().map(|last| &last.event) else {
        panic!("it failed");
    };
    assert!(feedback.contains("ended with a question: Which store?\nNobody answers"), "{feedback}");
    let bench = ended(1);
    assert_eq!(bench.task("a").decided, Status::Abandoned, "it may have been polite");
    insta::assert_snapshot!(said(&bench, "a"), @r"
    a was abandoned 0ms ago
      - a was abandoned after 1 attempt: check `check a` failed with exit status 1; the agent asked: Which store?
        - its work is in /w/a

    The agent's last words:
      | I looked at both.
      | Which store?

    What helps:
      piton answer a 'what to do'
      piton run plan.toml --auto-answer   lets agents decide what they would ask
      piton output a --checks
      piton retry a
      piton raise a --attempts 3
      piton skip a
    ");
}

fn asks(question: &str) -> Closing {
    let (words, text) = (format!("I looked at both.\n{question}"), question.to_owned());
    Closing { words, asks: Some(Asks::Question { text }) }
}

#[test]
fn who_asks_and_changes_nothing_is_told_to_decide_and_at_last_a_person_is_asked() {
    let bench = stopped_with(spec("a", &[]), asks("Which store?"));
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 1));
    let Some(Event::Failed { feedback, .. }) = bench.journal.last().map(|last| &last.event) else {
        panic!("it failed");
    };
    assert!(feedback.contains("ended with a question: Which store?\nNobody answers"), "{feedback}");
    let bench = stopped_with(TaskSpec { attempts: 1, ..spec("a", &[]) }, asks("Which store?"));
    assert_eq!(bench.task("a").decided, Status::Blocked, "an answer lets it go on");
    insta::assert_snapshot!(said(&bench, "a"), @r"
    a has been blocked for 0ms
      - a is blocked and needs a person: the agent changed nothing and asked: Which store?
        - its work is in /w/a

    The agent's last words:
      | I looked at both.
      | Which store?

    What helps:
      piton answer a 'what to do'
      piton run plan.toml --auto-answer   lets agents decide what they would ask
      piton unblock a
      piton skip a
    ");
    // A question after work is not a reason to stop: the checks decide.
    let may = TaskSpec { may_change_nothing: true, ..spec("a", &[]) };
    assert_eq!(stopped_with(may, asks("Anything else?")).task("a").decided, Status::Verifying);
}

#[test]
fn a_permission_that_was_denied_needs_a_person_and_spends_no_attempt() {
    let asks = Some(Asks::Permission { denied: "Write /etc/no.txt".to_owned() });
    let bench = stopped_with(spec("a", &[]), Closing { words: "I was not let.".to_owned(), asks });
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Blocked, 0));
    insta::assert_snapshot!(said(&bench, "a"), @r#"
    a has been blocked for 0ms
      - a is blocked and needs a person: the agent changed nothing: its client denied it Write /etc/no.txt
        - its work is in /w/a

    The agent's last words:
      | I was not let.

    What helps:
      piton answer a 'what to do'
      piton unblock a
      piton skip a

    Settings that may help:
      permissions = "all"   in [agents.default] of plan.toml, if it may do whatever its client can do
    "#);
}

/// What is said of a task whose only attempt ended for this reason.
fn abandoned_for(reason: &str) -> String {
    let mut bench = Bench::running(vec![TaskSpec { attempts: 1, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    let end = AgentEnd::Failed { reason: reason.to_owned(), feedback: String::new() };
    bench.accept(&bench.agent_ends("a", end));
    said(&bench, "a")
}

#[test]
fn the_output_of_checks_is_offered_where_a_check_stopped_it() {
    for reason in ["check `x` failed with exit status 1", "check `x` did not judge: it ran no test"] {
        assert!(abandoned_for(reason).contains("piton output a --checks\n"), "{reason}");
    }
    for reason in ["the agent changed nothing", "I saw that check `x` failed"] {
        assert!(abandoned_for(reason).contains("piton output a\n"), "{reason}");
    }
}

#[test]
fn each_end_names_the_setting_that_would_help() {
    let ended = |reason: &str| {
        let said = abandoned_for(reason);
        said.split_once("Settings that may help:\n").map(|(_, settings)| settings.to_owned())
    };
    let all: String = [
        "the agent changed nothing",
        "the agent had not finished after 30m",
        "the agent said nothing for 10m",
        "check `x` did not judge: it had not ended after 5m",
    ]
    .map(|reason| format!("{reason}\n{}", ended(reason).unwrap_or_default()))
    .concat();
    insta::assert_snapshot!(all, @r#"
    the agent changed nothing
      may_change_nothing = true   in task a of plan.toml, if nothing may have to change for it
      check_first = true   in task a of plan.toml, if it may be done already: its checks run before any agent
    the agent had not finished after 30m
      timeout = "1h"   in task a of plan.toml, if a try needs more time
    the agent said nothing for 10m
      silence = "20m"   in task a of plan.toml, or "off", if it works silently
    check `x` did not judge: it had not ended after 5m
      timeout = "10m"   in the check, in plan.toml, if the check needs more time
    "#);
    assert_eq!(ended("check `x` failed with exit status 1"), None);
}
