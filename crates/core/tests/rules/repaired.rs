//! Rules that were once wrong. Each was found by the simulator or by reading for it.

use piton_core::plan::{About, AboutTask, Schedule, TaskSpec};
use piton_core::run::{
    Action, AgentEnd, Claim, Class, Command, Event, Holder, Note, Report, Status, Verdict, next, wake_at,
};
use piton_core::time::{Span, Timestamp};

use crate::bench::{Bench, evidence, id, oid, plan, session, spec, work};

fn try_failed(action: Action) -> Command {
    let (reason, feedback) = ("it failed".to_owned(), String::new());
    Command::TryFailed { action, class: Class::Defect, reason, feedback }
}

/// The fence is the same for all passes of an attempt, so it does not tell a late result from a new one.
#[test]
fn a_result_of_an_earlier_pass_is_stale() {
    let mut bench = Bench::running(vec![TaskSpec { confirm: true, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    let first_end = bench.agent_ends("a", AgentEnd::Done);
    bench.accept(&first_end);
    let first_work = bench.captured("a", work(1));
    bench.accept(&first_work);
    bench.accept(&bench.checks_end("a", 1, Verdict::Pass));
    assert_eq!(bench.task("a").decided, Status::Confirming);
    assert!(bench.refuse(&first_end).stale);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    assert!(bench.refuse(&first_work).stale);
}

#[test]
fn a_failure_of_an_earlier_step_is_stale() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.start("a");
    let late = try_failed(Action::Prepare { task: id("a"), fence: 1 });
    bench.ready("a", 0, 0);
    assert!(bench.refuse(&late).stale);
    bench.accept(&try_failed(Action::Work { task: id("a"), fence: 1, pass: 0 }));
    assert_eq!(bench.task("a").decided, Status::Blocked);
}

#[test]
fn the_return_of_an_earlier_candidate_is_stale() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Merging);
    let returned = |tree: u64| Command::LandingReturned {
        task: id("a"),
        fence: 1,
        candidate: oid(tree + 3000),
        reason: "the target moved".to_owned(),
    };
    bench.accept(&returned(7));
    bench.accept(&bench.prepare_landing("a", 8, &["a"]));
    assert!(bench.refuse(&returned(7)).stale);
    bench.accept(&bench.landed("a", 8));
}

#[test]
fn putting_away_an_earlier_worktree_is_stale() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.land("a", 7);
    let late = Command::CleanedUp { task: id("a"), fence: 1 };
    assert!(bench.decide(&late).is_ok());
    let reason = "rewound".to_owned();
    bench.accept(&Command::LandingLost { task: id("a"), commit: oid(3007), reason });
    bench.start("a");
    assert!(bench.refuse(&late).stale);
}

/// Its attempts are spent. A landing by another program is found and lost again: then it has one more attempt.
#[test]
fn what_is_lost_again_has_an_attempt_left() {
    let mut bench = Bench::running(vec![TaskSpec { attempts: 1, ..spec("a", &[]) }]);
    bench.start("a");
    bench.ready("a", 0, 0);
    let end = AgentEnd::Failed { reason: "no".to_owned(), feedback: String::new() };
    bench.accept(&bench.agent_ends("a", end));
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Abandoned, 1));
    let (commit, reason) = (oid(9), "by hand".to_owned());
    bench.accept(&Command::LandingFound { task: id("a"), commit: commit.clone(), reason: reason.clone() });
    bench.accept(&Command::LandingLost { task: id("a"), commit, reason });
    bench.start("a");
    assert_eq!((bench.task("a").attempt, bench.task("a").budget), (2, 2));
}

/// Red together with another, brought up to it, and then nothing was fixed: the other still has a say.
#[test]
fn work_that_is_brought_up_keeps_its_judges() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.verify("b", 2, 0);
    bench.land("a", 1);
    let (tip, text) = (oid(3001), String::new);
    bench.accept(&Command::LandingFailed {
        task: id("b"),
        fence: 1,
        tip,
        reason: text(),
        feedback: text(),
        pointers: Box::default(),
    });
    bench.start("b");
    bench.ready("b", 3001, 1);
    bench.accept(&bench.agent_ends("b", AgentEnd::Done));
    bench.accept(&bench.captured("b", work(3)));
    bench.accept(&bench.checks_end("b", 3, Verdict::Pass));
    assert!(bench.refuse(&bench.prepare_landing("b", 3, &[])).reason.contains("may not land"));
    bench.accept(&bench.prepare_landing("b", 3, &["a"]));
}

/// Work may hold all that another task landed meanwhile, so that merging changes nothing, and still break it.
#[test]
fn the_verified_tree_is_judged_by_others_too() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.verify("b", 2, 0);
    bench.land("a", 1);
    assert!(bench.refuse(&bench.prepare_landing("b", 2, &[])).reason.contains("may not land"));
    bench.accept(&bench.prepare_landing("b", 2, &["a"]));
}

/// A limit that a client reports as over, or as too far away to believe, must not be hit again at once.
#[test]
fn a_limit_always_parks() {
    for told in [-3_600_000, 0, 30 * 86_400_000] {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.start("a");
        bench.ready("a", 0, 0);
        let until = Timestamp(bench.now.0 + told);
        bench.accept(
            &bench.agent_ends("a", AgentEnd::Limit { reason: "limit".to_owned(), until, model: None }),
        );
        assert_eq!(next(&bench.state, bench.now), [], "told {told}");
        let wake = wake_at(&bench.state, bench.now).expect("it wakes by itself");
        assert!(wake > bench.now && wake <= bench.now.plus(Span::minutes(8 * 24 * 60)));
        assert_eq!(next(&bench.state, wake), [Action::Start { task: id("a") }]);
    }
}

/// Eight agents that begin at the very end of a limit would all hit it if its end was reported wrongly.
#[test]
fn after_a_limit_one_agent_looks_first() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[]), spec("c", &[])]);
    let starts = |bench: &Bench| {
        let actions = next(&bench.state, bench.now);
        actions.iter().filter(|action| matches!(action, Action::Start { .. })).count()
    };
    let limited = |bench: &mut Bench, task: &str| {
        let until = bench.now.plus(Span::minutes(10));
        bench.accept(
            &bench.agent_ends(task, AgentEnd::Limit { reason: "limit".to_owned(), until, model: None }),
        );
        assert_eq!(starts(bench), 0);
        bench.now = until;
    };
    bench.start("a");
    bench.ready("a", 0, 0);
    limited(&mut bench, "a");
    assert_eq!(starts(&bench), 1, "one of three");
    bench.start("a");
    let refused = bench.refuse(&Command::Start { task: id("b"), holder: Holder::Engine });
    assert!(refused.reason.contains("one agent first tests"), "{}", refused.reason);
    bench.ready("a", 0, 0);
    limited(&mut bench, "a");

    // It ends well: the others follow at once.
    bench.start("a");
    bench.ready("a", 0, 0);
    bench.accept(&bench.agent_ends("a", AgentEnd::Done));
    let others = next(&bench.state, bench.now);
    assert!(
        others.contains(&Action::Start { task: id("b") })
            && others.contains(&Action::Start { task: id("c") })
    );

    // It works for a minute. Then the others follow, and the engine is woken for them.
    bench.start("b");
    bench.ready("b", 0, 0);
    limited(&mut bench, "b");
    bench.start("b");
    let wake = wake_at(&bench.state, bench.now).expect("a look after a minute");
    assert_eq!(wake, bench.now.plus(Span::minutes(1)));
    bench.now = wake;
    assert!(next(&bench.state, bench.now).contains(&Action::Start { task: id("c") }));
}

/// A paused task that is due and has no slot gave a time to wake that was over: an engine would spin.
#[test]
fn wakes_lie_ahead() {
    let mut tasks = plan(vec![spec("a", &[]), spec("b", &[])]);
    tasks.settings.max_parallel = 1;
    let mut bench = Bench::new(tasks);
    let session = piton_core::run::Session { max_parallel: 1, ..session(Schedule::Flow) };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    bench.start("a");
    bench.fail("a", Class::Transient);
    bench.start("b");
    let wake = wake_at(&bench.state, bench.now).expect("a pause");
    assert!(wake > bench.now.plus(Span(3_700)) && wake <= bench.now.plus(Span::seconds(5)), "{wake}");
    bench.now = bench.now.plus(Span::seconds(6));
    assert_eq!(wake_at(&bench.state, bench.now), None);
}

#[test]
fn a_task_that_is_landing_stays_in_the_plan() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.bring("a", Status::Merging);
    detach(&mut bench);
    let without = |name: &str| Command::Replan(Box::new(plan(vec![spec(name, &[])])));
    assert_eq!(bench.refuse(&without("b")).reason, "a is landing now and cannot be removed");
    bench.accept(&without("a"));
}

#[test]
fn what_a_removed_task_left_can_be_put_away() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.land("a", 7);
    detach(&mut bench);
    bench.accept(&Command::Replan(Box::new(plan(vec![spec("b", &[])]))));
    let clean = Action::Clean { task: id("a"), fence: 1 };
    assert!(next(&bench.state, bench.now).contains(&clean));
    let reference = "refs/piton/rescue/a".to_owned();
    bench.accept(&Command::Rescued { task: id("a"), reference, commit: oid(9) });
    bench.accept(&Command::CleanedUp { task: id("a"), fence: 1 });
    assert!(!next(&bench.state, bench.now).contains(&clean));
}

#[test]
fn a_removed_task_is_let_go() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.start("a");
    detach(&mut bench);
    bench.accept(&Command::Replan(Box::new(plan(vec![spec("b", &[])]))));
    bench.accept(&Command::Replan(Box::new(plan(vec![spec("b", &[]), spec("a", &[])]))));
    let task = bench.task("a");
    assert_eq!((task.decided, &task.holder, task.fence), (Status::Pending, &None, 2));
}

/// A task that is in progress, or may be again, has an attempt left, whatever the new plan says.
#[test]
fn a_lower_budget_leaves_the_attempt_that_runs() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Failed);
    bench.start("a");
    bench.fail("a", Class::Code);
    bench.start("a");
    detach(&mut bench);
    bench.accept(&Command::Replan(Box::new(plan(vec![TaskSpec { attempts: 1, ..spec("a", &[]) }]))));
    bench.fail("a", Class::Code);
    let task = bench.task("a");
    assert_eq!((task.decided, task.spent, task.budget), (Status::Abandoned, 3, 3));
}

/// In the order of a new plan a task may come before what it depends on, and that before what is dead.
#[test]
fn new_tasks_behind_a_dead_one_are_unreachable_in_any_order() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Blocked);
    detach(&mut bench);
    let tasks = vec![spec("c", &["b"]), spec("b", &["a"]), spec("a", &[])];
    bench.accept(&Command::Replan(Box::new(plan(tasks))));
    assert_eq!(bench.task("b").status(), Status::Unreachable);
    assert_eq!(bench.task("c").status(), Status::Unreachable);
}

fn detach(bench: &mut Bench) {
    let reason = piton_core::run::StopReason::Ended;
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
}

/// Evidence of the landing is in the journal before the intent is.
#[test]
fn the_evidence_of_a_landing_is_journaled() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.verify("a", 1, 0);
    let events = bench.decide(&bench.prepare_landing("a", 2, &["a"])).expect("all have passed");
    let [Event::ChecksEnded { tree, results, .. }, Event::LandingPrepared { .. }] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!((tree, results.as_slice()), (&oid(2), &[evidence("a", Verdict::Pass)][..]));
}

/// An agent whose work is there is not paid for again because its checks were cut off.
#[test]
fn checks_that_were_cut_off_are_all_that_is_done_again() {
    // A try that was stopped has not failed.
    for (class, then) in [(Class::Transient, Status::Failed), (Class::Stopped, Status::Pending)] {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.bring("a", Status::Verifying);
        let action = Action::Check { task: id("a"), fence: 1 };
        let (reason, feedback) = ("the keeper was lost".to_owned(), String::new());
        bench.accept(&Command::TryFailed { action, class, reason, feedback });
        assert_eq!(bench.task("a").decided, then);
        bench.start("a");
        assert_eq!(bench.task("a").decided, Status::Verifying);
        assert_eq!(bench.task("a").attempt, 1);
    }
}

/// The simulator's engines run every check and on the right tree, so only this shows what the rules insist on.
#[test]
fn checks_count_for_the_captured_tree_and_none_may_be_left_out() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Verifying);
    let tree = bench.task("a").progress.tree.clone().expect("it was captured");
    let ended = |tree, results| Command::ChecksEnded { task: id("a"), fence: 1, tree, results };
    assert!(bench.refuse(&ended(oid(99), vec![evidence("a", Verdict::Pass)])).stale, "another tree");
    let _ = bench.refuse(&ended(tree.clone(), Vec::new()));
    bench.accept(&ended(tree, vec![evidence("a", Verdict::Pass)]));
    assert_eq!(bench.task("a").decided, Status::Verified);
}

#[test]
fn a_plan_that_only_grew_is_taken_up_beside_an_engine() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.start("a");
    bench.accept(&Command::Raise { task: id("a"), by: "ann".to_owned(), attempts: 9 });
    let grown = |tasks| Command::Extend(Box::new(plan(tasks)));
    let more = grown(vec![spec("a", &[]), spec("c", &["a"]), spec("b", &[])]);
    bench.accept(&more);
    let a = bench.task("a");
    assert_eq!((a.decided, a.tail, a.budget, a.fence), (Status::InProgress, 1, 9, 1));
    assert_eq!((bench.task("b").tail, bench.task("c").waiting), (0, 1));
    assert_eq!(bench.decide(&more), Ok(Vec::new()), "once is enough");
    for other in [
        vec![spec("a", &[]), spec("c", &["a"])],
        vec![spec("a", &[]), spec("c", &["a"]), spec("b", &["a"]), spec("d", &[])],
        vec![spec("c", &["a"]), spec("a", &[]), spec("b", &[]), spec("d", &[])],
    ] {
        let refused = bench.refuse(&grown(other)).reason;
        assert_eq!(refused, "the plan changes more than it adds");
    }
}

/// The batches of a list are made of its tasks, so they shift as it grows; its gates are in the plan, not in the list.
#[test]
fn a_list_that_grew_is_taken_up_in_its_new_batches_and_its_gates_are_looked_at_again() {
    let grown = |tasks: &[(&str, u32)]| {
        let of = |(name, group): &(&str, u32)| {
            let gate = *name == "gate";
            TaskSpec { group: *group, gate, ..spec(name, &[]) }
        };
        let mut plan = plan(tasks.iter().map(of).collect());
        plan.groups.truncate(1 + tasks.iter().map(|(_, group)| *group as usize).max().unwrap_or(0));
        let listed = tasks.iter().filter(|(name, _)| *name != "gate");
        let listed = listed.map(|(name, _)| (id(name), AboutTask::default())).collect();
        let about = About { tasks: listed, ..About::default() };
        plan.settings.form = piton_core::system::Form::Rwkit(Box::new(about));
        plan
    };
    let mut bench = Bench::new(grown(&[("a", 0), ("b", 0), ("gate", 1)]));
    let session = session(Schedule::Layered);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    bench.land("a", 7);
    for name in ["b", "gate"] {
        let claim = Claim::Done {
            tree: None,
            results: vec![evidence(name, Verdict::Pass)],
            evidence: piton_core::run::Evidence::file("work"),
        };
        let (task, by, report) = (id(name), "ann".to_owned(), Box::default());
        bench.accept(&Command::Report { task, by, fence: None, claim, report });
    }
    let more = grown(&[("a", 0), ("c", 0), ("b", 1), ("gate", 2)]);
    bench.accept(&Command::Extend(Box::new(more.clone())));
    let stands = |name: &str| (bench.task(name).group, bench.task(name).decided);
    assert_eq!(stands("a"), (0, Status::Completed));
    assert_eq!(stands("b"), (1, Status::Completed));
    assert_eq!(stands("c"), (0, Status::Pending));
    assert_eq!(stands("gate"), (2, Status::Pending));
    assert_eq!((bench.task("gate").proof.clone(), bench.task("gate").spent), (None, 0));
    let mut other = grown(&[("a", 0), ("c", 0), ("b", 1), ("d", 1), ("gate", 2)]);
    other.tasks[2].title = "another".to_owned();
    let _ = bench.refuse(&Command::Extend(Box::new(other)));
    assert_eq!(bench.decide(&Command::Extend(Box::new(more))), Ok(Vec::new()), "once is enough");
}

/// A task that was added in the very moment an engine was done is not left behind by it.
#[test]
fn an_engine_does_not_leave_as_completed_what_has_grown() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.land("a", 7);
    bench.accept(&Command::Extend(Box::new(plan(vec![spec("a", &[]), spec("b", &[])]))));
    let leave = |reason| Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() };
    assert!(!bench.refuse(&leave(piton_core::run::StopReason::Completed)).stale);
    bench.accept(&leave(piton_core::run::StopReason::Ended));
}

#[test]
fn the_last_words_of_advice_are_kept_until_the_task_is_done() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    let told = |text: &str| {
        let report = Box::new(Report { feedback: text.to_owned(), ..Report::default() });
        Command::Note { by: "ann".to_owned(), note: Note::Told { task: id("a"), report } }
    };
    for text in ["1", " ", "2", "3", "4", "5", "6"] {
        bench.accept(&told(text));
    }
    assert_eq!(bench.task("a").progress.advice.len(), 5);
    assert_eq!(bench.task("a").progress.advice.last(), Some(&bench.state.seq()));
    bench.bring("a", Status::Failed);
    assert_eq!(bench.task("a").progress.advice.len(), 5);
    bench.accept(&Command::Reset { task: id("a"), by: "ann".to_owned() });
    assert!(bench.task("a").progress.advice.is_empty());
}

/// Earlier versions reset gates that had passed. Their journals are read as they were meant.
#[test]
fn a_completed_task_that_an_earlier_version_reset_has_no_proof_any_more() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.land("a", 7);
    assert!(bench.task("a").proof.is_some());
    bench.record(vec![Event::Reset { task: id("a"), by: "ann".to_owned() }]);
    assert_eq!((bench.task("a").decided, bench.task("a").proof.clone()), (Status::Pending, None));
}

/// What an engine's try leaves in the journal, a report's checks do.
#[test]
fn the_checks_of_a_failed_report_are_journaled() {
    let bench = Bench::running(vec![spec("a", &[])]);
    let report = |tree| {
        let claim = Claim::Done {
            tree,
            results: vec![evidence("a", Verdict::Fail { exit: 1 })],
            evidence: piton_core::run::Evidence::file("work"),
        };
        let report = Box::default();
        Command::Report { task: id("a"), by: "ann".to_owned(), fence: None, claim, report }
    };
    let events = bench.decide(&report(Some(oid(3)))).expect("anybody may report");
    let [
        Event::AttemptStarted { .. },
        Event::Reported { .. },
        Event::ChecksEnded { tree, .. },
        Event::Failed { .. },
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!(tree, &oid(3));
    let events = bench.decide(&report(None)).expect("anybody may report");
    assert!(
        !events.iter().any(|event| matches!(event, Event::ChecksEnded { .. })),
        "there is no tree to bind it to"
    );
}
