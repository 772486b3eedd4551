//! What people may do to a task, in each of its states, and the reason when they may not.

use std::fmt::Write;

use piton_core::plan::{Outside, TaskSpec};
use piton_core::run::{Claim, Command, Event, Holder, Report, Status, Stop, Verdict};

use crate::bench::{Bench, evidence, id, oid, spec};

#[test]
fn what_people_may_do() {
    insta::assert_snapshot!(table(), @r"
    start, by ann
      pending     attempt_started
      in_progress no: T1 is in_progress by the engine
      confirming  no: T1 is confirming by the engine
      verifying   no: T1 is verifying by the engine
      verified    no: T1 is verified by the engine
      merging     no: T1 is merging by the engine
      completed   no: T1 is completed
      failed      attempt_started
      abandoned   no: T1 is abandoned
      blocked     no: T1 is blocked
      skipped     no: T1 is skipped
      unreachable no: T1 depends on tasks that are not done: first (blocked) [`piton why T1` says more]
      waiting     no: T1 depends on tasks that are not done: T9 of plans/a-todolist.md [`piton why T1` says more]
      passed over no: T1 is skipped
      … by ann    nothing to do
      … by bob    no: T1 is in progress, held by bob [piton report T1 done --by bob   if you hold it; or, to free it: piton reset T1]
    report done, checks passed
      pending     attempt_started, reported, completed (checked)
      in_progress no: T1 is in_progress by the engine: ann cannot report on it
      confirming  no: T1 is confirming by the engine: ann cannot report on it
      verifying   no: T1 is verifying by the engine: ann cannot report on it
      verified    no: T1 is verified by the engine: ann cannot report on it
      merging     no: T1 is merging by the engine: ann cannot report on it
      completed   no: T1 is completed: ann cannot report on it
      failed      attempt_started, reported, completed (checked)
      abandoned   no: T1 is abandoned: ann cannot report on it
      blocked     no: T1 is blocked: ann cannot report on it
      skipped     no: T1 is skipped: ann cannot report on it
      unreachable no: T1 depends on tasks that are not done: first (blocked) [`piton why T1` says more]
      waiting     no: T1 depends on tasks that are not done: T9 of plans/a-todolist.md [`piton why T1` says more]
      passed over no: T1 is skipped: ann cannot report on it
      … by ann    reported, completed (checked)
      … by bob    no: T1 is in progress, held by bob [piton report T1 done --by bob   if you hold it; or, to free it: piton reset T1]
    report done, a check failed
      pending     attempt_started, reported, checks_ended, failed (code → again)
      in_progress no: T1 is in_progress by the engine: ann cannot report on it
      confirming  no: T1 is confirming by the engine: ann cannot report on it
      verifying   no: T1 is verifying by the engine: ann cannot report on it
      verified    no: T1 is verified by the engine: ann cannot report on it
      merging     no: T1 is merging by the engine: ann cannot report on it
      completed   no: T1 is completed: ann cannot report on it
      failed      attempt_started, reported, checks_ended, failed (code → again)
      abandoned   no: T1 is abandoned: ann cannot report on it
      blocked     no: T1 is blocked: ann cannot report on it
      skipped     no: T1 is skipped: ann cannot report on it
      unreachable no: T1 depends on tasks that are not done: first (blocked) [`piton why T1` says more]
      waiting     no: T1 depends on tasks that are not done: T9 of plans/a-todolist.md [`piton why T1` says more]
      passed over no: T1 is skipped: ann cannot report on it
      … by ann    reported, checks_ended, failed (code → again)
      … by bob    no: T1 is in progress, held by bob [piton report T1 done --by bob   if you hold it; or, to free it: piton reset T1]
    report done, no check run
      pending     no: some checks of T1 have not run
      in_progress no: T1 is in_progress by the engine: ann cannot report on it
      confirming  no: T1 is confirming by the engine: ann cannot report on it
      verifying   no: T1 is verifying by the engine: ann cannot report on it
      verified    no: T1 is verified by the engine: ann cannot report on it
      merging     no: T1 is merging by the engine: ann cannot report on it
      completed   no: T1 is completed: ann cannot report on it
      failed      no: some checks of T1 have not run
      abandoned   no: T1 is abandoned: ann cannot report on it
      blocked     no: T1 is blocked: ann cannot report on it
      skipped     no: T1 is skipped: ann cannot report on it
      unreachable no: T1 depends on tasks that are not done: first (blocked) [`piton why T1` says more]
      waiting     no: T1 depends on tasks that are not done: T9 of plans/a-todolist.md [`piton why T1` says more]
      passed over no: T1 is skipped: ann cannot report on it
      … by ann    no: some checks of T1 have not run
      … by bob    no: T1 is in progress, held by bob [piton report T1 done --by bob   if you hold it; or, to free it: piton reset T1]
    report failed
      pending     attempt_started, reported, failed (code → again)
      in_progress no: T1 is in_progress by the engine: ann cannot report on it
      confirming  no: T1 is confirming by the engine: ann cannot report on it
      verifying   no: T1 is verifying by the engine: ann cannot report on it
      verified    no: T1 is verified by the engine: ann cannot report on it
      merging     no: T1 is merging by the engine: ann cannot report on it
      completed   no: T1 is completed: ann cannot report on it
      failed      attempt_started, reported, failed (code → again)
      abandoned   no: T1 is abandoned: ann cannot report on it
      blocked     no: T1 is blocked: ann cannot report on it
      skipped     no: T1 is skipped: ann cannot report on it
      unreachable no: T1 depends on tasks that are not done: first (blocked) [`piton why T1` says more]
      waiting     no: T1 depends on tasks that are not done: T9 of plans/a-todolist.md [`piton why T1` says more]
      passed over no: T1 is skipped: ann cannot report on it
      … by ann    reported, failed (code → again)
      … by bob    no: T1 is in progress, held by bob [piton report T1 done --by bob   if you hold it; or, to free it: piton reset T1]
    report blocked
      pending     attempt_started, reported, failed (defect → blocked)
      in_progress no: T1 is in_progress by the engine: ann cannot report on it
      confirming  no: T1 is confirming by the engine: ann cannot report on it
      verifying   no: T1 is verifying by the engine: ann cannot report on it
      verified    no: T1 is verified by the engine: ann cannot report on it
      merging     no: T1 is merging by the engine: ann cannot report on it
      completed   no: T1 is completed: ann cannot report on it
      failed      attempt_started, reported, failed (defect → blocked)
      abandoned   no: T1 is abandoned: ann cannot report on it
      blocked     no: T1 is blocked: ann cannot report on it
      skipped     no: T1 is skipped: ann cannot report on it
      unreachable no: T1 depends on tasks that are not done: first (blocked) [`piton why T1` says more]
      waiting     no: T1 depends on tasks that are not done: T9 of plans/a-todolist.md [`piton why T1` says more]
      passed over no: T1 is skipped: ann cannot report on it
      … by ann    reported, failed (defect → blocked)
      … by bob    no: T1 is in progress, held by bob [piton report T1 done --by bob   if you hold it; or, to free it: piton reset T1]
    retry
      pending     no: T1 is pending: it has not failed, so there is nothing to retry
      in_progress no: T1 is in_progress: it has not failed, so there is nothing to retry
      confirming  no: T1 is confirming: it has not failed, so there is nothing to retry
      verifying   no: T1 is verifying: it has not failed, so there is nothing to retry
      verified    no: T1 is verified: it has not failed, so there is nothing to retry
      merging     no: T1 is merging: it has not failed, so there is nothing to retry
      completed   no: T1 is completed: it has not failed, so there is nothing to retry
      failed      retried
      abandoned   retried
      blocked     retried
      skipped     no: T1 was skipped, so there is nothing to retry [`piton reset T1` puts it back into the plan]
      unreachable no: T1 is pending: it has not failed, so there is nothing to retry
      waiting     no: T1 is pending: it has not failed, so there is nothing to retry
      passed over retried
      … by ann    no: T1 is in_progress: it has not failed, so there is nothing to retry
      … by bob    no: T1 is in_progress: it has not failed, so there is nothing to retry
    reset
      pending     no: T1 is pending: there is nothing to reset
      in_progress reset
      confirming  reset
      verifying   reset
      verified    reset
      merging     no: T1 is landing now and cannot be reset
      completed   no: T1 is completed and cannot be reset [a new task in the plan can change or undo what it did: `piton run PLAN --replan`]
      failed      reset
      abandoned   reset
      blocked     reset
      skipped     reset
      unreachable no: T1 is pending: there is nothing to reset
      waiting     no: T1 is pending: there is nothing to reset
      passed over reset
      … by ann    reset
      … by bob    reset
    skip
      pending     skipped
      in_progress skipped
      confirming  skipped
      verifying   skipped
      verified    skipped
      merging     no: T1 is landing now and cannot be skipped
      completed   no: T1 is completed and cannot be skipped [a new task in the plan can change or undo what it did: `piton run PLAN --replan`]
      failed      skipped
      abandoned   skipped
      blocked     skipped
      skipped     no: T1 is skipped already
      unreachable skipped
      waiting     skipped
      passed over skipped
      … by ann    skipped
      … by bob    skipped
    unblock
      pending     no: T1 is pending, not blocked
      in_progress no: T1 is in_progress, not blocked
      confirming  no: T1 is confirming, not blocked
      verifying   no: T1 is verifying, not blocked
      verified    no: T1 is verified, not blocked
      merging     no: T1 is merging, not blocked
      completed   no: T1 is completed, not blocked
      failed      no: T1 is failed, not blocked
      abandoned   no: T1 is abandoned, not blocked
      blocked     unblocked
      skipped     no: T1 is skipped, not blocked
      unreachable no: T1 itself is not blocked: a task that it depends on is [`piton why T1` names it]
      waiting     no: T1 is waiting, not blocked
      passed over no: T1 is skipped, not blocked
      … by ann    no: T1 is in_progress, not blocked
      … by bob    no: T1 is in_progress, not blocked
    answer
      pending     answered
      in_progress answered
      confirming  answered
      verifying   answered
      verified    answered
      merging     answered
      completed   no: T1 is completed: no agent will work on it again [a new task in the plan can change what it did: `piton run PLAN --replan`]
      failed      answered
      abandoned   answered, retried
      blocked     answered, unblocked
      skipped     no: T1 was skipped: no agent will work on it [`piton reset T1` puts it back into the plan]
      unreachable answered
      waiting     answered
      passed over answered, retried
      … by ann    answered
      … by bob    answered
    send comments
      pending     comments_sent
      in_progress comments_sent
      confirming  comments_sent
      verifying   comments_sent, failed (sentback → again)
      verified    comments_sent, failed (sentback → again)
      merging     no: T1 is landing now: when it has landed, comments on it become a new task [piton review T1 --send --follow-up NEW-ID]
      completed   no: T1 is completed: comments on it become a new task [piton review T1 --send --follow-up NEW-ID]
      failed      comments_sent
      abandoned   comments_sent, retried
      blocked     comments_sent, unblocked
      skipped     no: T1 was skipped: no agent will work on it [`piton reset T1` puts it back into the plan]
      unreachable comments_sent
      waiting     comments_sent
      passed over comments_sent, retried
      … by ann    comments_sent
      … by bob    comments_sent
    raise to 5
      pending     raised
      in_progress raised
      confirming  raised
      verifying   raised
      verified    raised
      merging     raised
      completed   raised
      failed      raised
      abandoned   raised
      blocked     raised
      skipped     raised
      unreachable raised
      waiting     raised
      passed over raised
      … by ann    raised
      … by bob    raised
    raise to 1
      pending     raised
      in_progress raised
      confirming  raised
      verifying   raised
      verified    raised
      merging     raised
      completed   raised
      failed      no: T1 has spent 1 of 3 attempts [give a number from 2 to 100]
      abandoned   no: T1 has spent 3 of 3 attempts [give a number from 4 to 100]
      blocked     raised
      skipped     raised
      unreachable raised
      waiting     raised
      passed over raised
      … by ann    raised
      … by bob    raised
    ");
}

const STATES: [Status; 14] = Status::ALL;

fn table() -> String {
    let mut text = String::new();
    for (name, command) in commands() {
        writeln!(text, "{name}").expect("a string takes all");
        for status in STATES {
            row(&mut text, &at(status), &label(status), &command);
        }
        row(&mut text, &held_by("ann"), "… by ann", &command);
        row(&mut text, &held_by("bob"), "… by bob", &command);
    }
    text
}

fn row(text: &mut String, bench: &Bench, label: &str, command: &Command) {
    let outcome = match bench.decide(command) {
        Ok(events) if events.is_empty() => "nothing to do".to_owned(),
        Ok(events) => events.iter().map(kind).collect::<Vec<_>>().join(", "),
        Err(Stop::Refused(refusal)) => {
            let hint = refusal.hint.map(|hint| format!(" [{hint}]")).unwrap_or_default();
            format!("no: {}{hint}", refusal.reason)
        }
        Err(Stop::Missing(missing)) => format!("{missing:?}"),
    };
    writeln!(text, "  {label:<12}{outcome}").expect("a string takes all");
}

/// A skipped task looks the same to people, whatever the reason; here it must not.
fn label(status: Status) -> String {
    match status {
        Status::Unreachable => "unreachable".to_owned(),
        Status::PassedOver => "passed over".to_owned(),
        status => status.to_string(),
    }
}

fn kind(event: &Event) -> String {
    let name = serde_json::to_value(event).expect("events are JSON")["event"].as_str().map(str::to_owned);
    let name = name.expect("events say what they are");
    match event {
        Event::Failed { class, next, .. } => {
            let next = format!("{next:?}");
            format!("{name} ({class:?} → {})", next.split(' ').next().unwrap_or_default()).to_lowercase()
        }
        Event::Completed { proof, .. } => {
            let proof = format!("{proof:?}");
            format!("{name} ({})", proof.split(' ').next().unwrap_or_default()).to_lowercase()
        }
        _ => name,
    }
}

/// A run whose task `T1` is in this state. It depends on `first`, which is done unless it cannot be reached.
fn at(status: Status) -> Bench {
    let may_fail = status == Status::PassedOver;
    let mut task = TaskSpec { confirm: true, may_fail, ..spec("T1", &["first"]) };
    if status == Status::Waiting {
        task.outside = vec![Outside { list: "plans/a-todolist.md".to_owned(), task: id("T9") }];
    }
    let mut bench = Bench::running(vec![spec("first", &[]), task]);
    if status != Status::Unreachable {
        bench.bring("first", Status::Skipped);
    }
    bench.bring("T1", status);
    assert_eq!(bench.task("T1").status(), status);
    bench
}

fn held_by(name: &str) -> Bench {
    let mut bench = at(Status::Pending);
    bench.accept(&Command::Start { task: id("T1"), holder: Holder::Ledger(name.to_owned()) });
    bench
}

fn commands() -> Vec<(&'static str, Command)> {
    let (task, by) = (id("T1"), "ann".to_owned());
    let report = |claim| Command::Report {
        task: id("T1"),
        by: "ann".to_owned(),
        fence: None,
        claim,
        report: Box::<Report>::default(),
    };
    let done = |results| {
        report(Claim::Done { tree: Some(oid(1)), results, evidence: piton_core::run::Evidence::file("work") })
    };
    let reason = "not needed".to_owned();
    vec![
        ("start, by ann", Command::Start { task: task.clone(), holder: Holder::Ledger(by.clone()) }),
        ("report done, checks passed", done(vec![evidence("T1", Verdict::Pass)])),
        ("report done, a check failed", done(vec![evidence("T1", Verdict::Fail { exit: 1 })])),
        ("report done, no check run", done(Vec::new())),
        ("report failed", report(Claim::Failed { reason: "no".to_owned() })),
        ("report blocked", report(Claim::Blocked { reason: "no".to_owned() })),
        ("retry", Command::Retry { task: task.clone(), by: by.clone() }),
        ("reset", Command::Reset { task: task.clone(), by: by.clone() }),
        ("skip", Command::Skip { task: task.clone(), by: by.clone(), reason }),
        ("unblock", Command::Unblock { task: task.clone(), by: by.clone(), note: String::new() }),
        (
            "answer",
            Command::Answer { task: task.clone(), by: by.clone(), text: "use the other one".to_owned() },
        ),
        (
            "send comments",
            Command::SendComments { task: task.clone(), by: by.clone(), comments: vec![7], follow_up: None },
        ),
        ("raise to 5", Command::Raise { task: task.clone(), by: by.clone(), attempts: 5 }),
        ("raise to 1", Command::Raise { task, by, attempts: 1 }),
    ]
}
