//! A task is what its plan asks for: under the same id, another content is another task.

use piton_core::plan::{Content, RepoPath, TaskSpec, Words};
use piton_core::run::{Command, Event, Proof, Reopening, Status, StopReason, Verdict, Work, next};

use crate::bench::{Bench, check, evidence, id, oid, plan, spec, work};

fn replan(bench: &mut Bench, tasks: Vec<TaskSpec>) {
    let reason = StopReason::Environment { detail: "it died".to_owned() };
    if bench.state.run().expect("created").engine.is_some() {
        bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    }
    bench.accept(&Command::Replan(Box::new(plan(tasks))));
}

fn attach(bench: &mut Bench) {
    let session = crate::bench::session(piton_core::plan::Schedule::Flow);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
}

/// Landed on a worktree made when so many had landed.
fn land_after(bench: &mut Bench, name: &str, tree: u64, landed: u32) {
    bench.verify(name, tree, landed);
    bench.accept(&bench.prepare_landing(name, tree, &[]));
    bench.accept(&bench.landed(name, tree));
}

fn another(name: &str, needs: &[&str]) -> TaskSpec {
    let files = vec![RepoPath::new("other.rs").expect("a path")];
    TaskSpec { title: "Something else".to_owned(), files, ..spec(name, needs) }
}

#[test]
fn a_landed_task_that_became_another_one_is_open_again() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &["a"])]);
    bench.land("a", 7);
    land_after(&mut bench, "b", 8, 1);
    replan(&mut bench, vec![another("a", &[]), spec("b", &["a"])]);
    let a = bench.task("a");
    assert_eq!((a.decided, a.proof.clone(), a.spent, a.attempt), (Status::Pending, None, 0, 0));
    let reopened = bench.journal.iter().find_map(|recorded| match &recorded.event {
        Event::Reopened { reason, was, .. } => Some((recorded.seq, reason.clone(), was.clone())),
        _ => None,
    });
    let (seq, reason, was) = reopened.expect("it is journaled");
    assert_eq!(bench.task("a").reopened, Some(seq));
    let Reopening::Content { spec: at } = reason else { panic!("{reason:?}") };
    assert!(matches!(&bench.journal[usize::try_from(at).expect("short") - 1].event,
        Event::TaskAdded { spec, .. } if spec.title == "a"));
    assert!(matches!(was, Some(Proof::Landed { commit, .. }) if commit == oid(3007)));
    assert_eq!(bench.task("b").decided, Status::Completed, "it was proven on what landed");
    // It is done like any other task, and completed for what it asks now.
    attach(&mut bench);
    land_after(&mut bench, "a", 9, 2);
    replan(&mut bench, vec![another("a", &[]), spec("b", &["a"])]);
    assert_eq!((bench.task("a").decided, bench.task("a").reopened), (Status::Completed, None));
}

#[test]
fn a_plan_that_asks_for_the_same_keeps_what_is_done() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.land("a", 7);
    let same = TaskSpec {
        title: " a ".to_owned(),
        priority: 9,
        attempts: 1,
        agent: "other".to_owned(),
        depends_on: vec![id("b")],
        ..spec("a", &[])
    };
    replan(&mut bench, vec![same, spec("b", &[])]);
    assert_eq!(bench.task("a").decided, Status::Completed);
}

/// Removed, and its id given to something else later.
#[test]
fn a_task_that_comes_back_as_another_one_is_not_done() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.land("a", 7);
    replan(&mut bench, vec![spec("b", &[])]);
    replan(&mut bench, vec![spec("b", &[]), another("a", &[])]);
    assert_eq!(bench.task("a").decided, Status::Pending);
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.land("a", 7);
    replan(&mut bench, vec![spec("b", &[])]);
    bench.accept(&Command::Extend(Box::new(plan(vec![spec("b", &[]), another("a", &[])]))));
    assert_eq!(bench.task("a").decided, Status::Pending);
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.land("a", 7);
    replan(&mut bench, vec![spec("b", &[])]);
    replan(&mut bench, vec![spec("b", &[]), spec("a", &[])]);
    assert_eq!(bench.task("a").decided, Status::Completed, "it is the same task");
}

/// An earlier version of Piton left it completed; the journal still has what it was completed for.
#[test]
fn what_an_older_journal_kept_completed_is_noticed_when_the_plan_is_read_again() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    bench.land("a", 7);
    let change = Event::TaskChanged { spec: Box::new(another("a", &[])), level: 0, tail: 0 };
    bench.record(vec![change]);
    assert_eq!(bench.task("a").decided, Status::Completed);
    replan(&mut bench, vec![another("a", &[]), spec("b", &[])]);
    assert_eq!(bench.task("a").decided, Status::Pending);
}

#[test]
fn work_for_another_task_is_not_landed_as_this_one() {
    for status in [Status::InProgress, Status::Verifying, Status::Verified] {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.bring("a", status);
        let fence = bench.task("a").fence;
        replan(&mut bench, vec![another("a", &[])]);
        let a = bench.task("a");
        assert_eq!((a.decided, a.progress.commit.clone()), (Status::Pending, None), "{status}");
        assert!(a.fence > fence, "what comes from the try before is stale");
    }
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Merging);
    let reason = StopReason::Environment { detail: "it died".to_owned() };
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    let refusal = bench.refuse(&Command::Replan(Box::new(plan(vec![another("a", &[])]))));
    assert_eq!(refusal.reason, "a is landing now and cannot become another task");
    bench.accept(&Command::Replan(Box::new(plan(vec![spec("a", &[])]))));
}

/// People reword a prompt after a failure to help. The next agent still gets the failure.
#[test]
fn a_failed_task_keeps_its_failure_and_its_attempts() {
    let mut bench = Bench::running(vec![spec("a", &[])]);
    bench.bring("a", Status::Failed);
    replan(&mut bench, vec![another("a", &[])]);
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Failed, 1));
}

#[test]
fn other_checks_judge_the_target_before_any_agent() {
    let stricter = || {
        let mut spec = spec("a", &[]);
        spec.checks.push(check("check more"));
        spec
    };
    let look = |verdict: Verdict| {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.land("a", 7);
        replan(&mut bench, vec![stricter()]);
        let a = bench.task("a");
        assert_eq!((a.decided, a.progress.checks_first), (Status::Pending, true));
        attach(&mut bench);
        bench.start("a");
        assert_eq!(bench.task("a").progress.agent, "", "nobody is asked to work");
        bench.ready("a", 3007, 1);
        // Nothing is changed, and that is fine: it was done before.
        bench.accept(&bench.captured("a", Work { changed: false, commit: Some(oid(3007)), ..work(7) }));
        let results = vec![evidence("a", Verdict::Pass), evidence("more", verdict)];
        let fence = bench.task("a").fence;
        bench.accept(&Command::ChecksEnded { task: id("a"), fence, tree: oid(7), results });
        bench
    };
    let mut green = look(Verdict::Pass);
    let fence = green.task("a").fence;
    green.accept(&Command::NothingToLand { task: id("a"), fence, tree: oid(7), results: Vec::new() });
    assert_eq!(green.task("a").decided, Status::Completed);
    replan(&mut green, vec![stricter()]);
    assert_eq!(green.task("a").decided, Status::Completed, "all that judge now have judged");
    replan(&mut green, vec![spec("a", &[])]);
    assert_eq!(green.task("a").decided, Status::Completed, "fewer checks ask for nothing new");
    let mut red = look(Verdict::Fail { exit: 1 });
    let a = red.task("a");
    assert_eq!((a.decided, a.spent), (Status::Failed, 1));
    assert!(a.budget > a.spent, "an agent may try");
    assert!(!next(&red.state, red.now).is_empty());
    red.start("a");
    assert_eq!(red.task("a").progress.agent, "default", "now somebody works on it");
}

/// A gate that is another task now is not looked at as the old one, though something was added, too.
#[test]
fn a_gate_that_became_another_one_is_opened_once() {
    let gate = |spec: TaskSpec| TaskSpec { gate: true, ..spec };
    let mut bench = Bench::running(vec![gate(spec("a", &[]))]);
    bench.land("a", 7);
    replan(&mut bench, vec![gate(another("a", &[])), spec("b", &[])]);
    let reasons: Vec<_> = bench
        .journal
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::Reopened { reason, .. } => Some(reason.clone()),
            _ => None,
        })
        .collect();
    assert!(matches!(reasons[..], [Reopening::Content { .. }]), "{reasons:?}");
    assert!(!bench.task("a").progress.checks_first, "an agent works on it");
}

/// An older journal has whole prompts for tasks of other systems, including what their plan says for all tasks.
#[test]
fn an_older_journal_of_another_system_opens_nothing_for_words_that_all_tasks_share() {
    let newer = |own: &str, title: &str, shared: &str| {
        let words = Words { title, prompt: own, ..Words::default() };
        TaskSpec {
            title: title.to_owned(),
            prompt: format!("This is one task of {shared}.\n\n{own}"),
            source: Some(Content::of_words(&words)),
            ..spec("a", &[])
        }
    };
    let older = |own: &str, title: &str, shared: &str| TaskSpec { source: None, ..newer(own, title, shared) };
    let foreign = |task: TaskSpec| {
        let mut plan = plan(vec![task]);
        plan.settings.form = piton_core::system::Form::Rwkit(Box::default());
        plan
    };
    let mut bench = Bench::new(foreign(older("Do it.", "Cart", "Shop")));
    attach(&mut bench);
    bench.land("a", 7);
    let reason = StopReason::Environment { detail: "it died".to_owned() };
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    let replan = |task| Command::Replan(Box::new(foreign(task)));
    bench.accept(&replan(newer("Do it.", "Cart", "Bank")));
    assert_eq!(bench.task("a").decided, Status::Completed);
    // From now on its own words are known.
    bench.accept(&replan(newer("Do it.", "Cart", "Mill")));
    assert_eq!(bench.task("a").decided, Status::Completed);
    bench.accept(&replan(newer("Do that.", "Cart", "Mill")));
    assert_eq!(bench.task("a").decided, Status::Pending);
    // The title is the author's in any case.
    let mut bench = Bench::new(foreign(older("Do it.", "Cart", "Shop")));
    attach(&mut bench);
    bench.land("a", 7);
    let reason = StopReason::Environment { detail: "it died".to_owned() };
    bench.accept(&Command::Detach { engine: "e1".to_owned(), reason, tip: Vec::new() });
    bench.accept(&replan(newer("Do it.", "Basket", "Shop")));
    assert_eq!(bench.task("a").decided, Status::Pending);
}

/// A task with a title and the check that judges the task `of`.
fn titled(name: &str, title: &str, of: &str) -> TaskSpec {
    TaskSpec { title: title.to_owned(), checks: vec![check(&format!("check {of}"))], ..spec(name, &[]) }
}

/// Written again by its tool, with other numbers: what was done is still done, under its new id.
#[test]
fn a_list_with_other_numbers_keeps_what_was_done_under_the_old_ones() {
    let first = vec![titled("a", "parser", "a"), titled("b", "command", "b"), titled("c", "docs", "c")];
    let mut bench = Bench::running(first);
    bench.land("a", 7);
    land_after(&mut bench, "b", 8, 1);
    let proofs = [bench.task("a").proof.clone(), bench.task("b").proof.clone()];
    // A task is put first, and all others get the next number.
    let again = vec![
        titled("a", "set-up", "x"),
        titled("b", "parser", "a"),
        titled("c", "command", "b"),
        titled("d", "docs", "c"),
    ];
    replan(&mut bench, again.clone());
    let decided = |bench: &Bench, name: &str| bench.task(name).decided;
    assert_eq!(decided(&bench, "a"), Status::Pending, "nobody has done that");
    assert_eq!([bench.task("b").proof.clone(), bench.task("c").proof.clone()], proofs);
    assert_eq!((decided(&bench, "b"), decided(&bench, "c")), (Status::Completed, Status::Completed));
    assert_eq!(decided(&bench, "d"), Status::Pending);
    let events = bench.journal.len();
    replan(&mut bench, again);
    let more = &bench.journal[events..];
    assert!(!more.iter().any(|recorded| matches!(recorded.event, Event::Adopted { .. })), "once");
}

#[test]
fn what_could_be_one_of_two_is_not_carried_over() {
    let other = titled("b", "other", "b");
    // Two in the new plan.
    let mut bench = Bench::running(vec![titled("a", "same", "a"), other.clone()]);
    bench.land("a", 7);
    replan(&mut bench, vec![titled("c", "same", "a"), titled("d", "same", "a"), other.clone()]);
    assert_eq!((bench.task("c").decided, bench.task("d").decided), (Status::Pending, Status::Pending));
    // Two in the run, of which one is done.
    let mut bench = Bench::running(vec![titled("a", "same", "a"), titled("b", "same", "b")]);
    bench.land("a", 7);
    replan(&mut bench, vec![titled("c", "same", "a")]);
    assert_eq!(bench.task("c").decided, Status::Pending);
    // Another check decides about it now.
    let mut bench = Bench::running(vec![titled("a", "same", "a"), other.clone()]);
    bench.land("a", 7);
    replan(&mut bench, vec![titled("c", "same", "new"), other]);
    assert_eq!(bench.task("c").decided, Status::Pending);
}

/// What failed under this id was something else.
#[test]
fn what_was_done_is_carried_over_to_an_id_under_which_something_else_failed() {
    let mut bench = Bench::running(vec![titled("a", "parser", "a"), titled("b", "command", "b")]);
    bench.land("a", 7);
    bench.bring("b", Status::Failed);
    replan(
        &mut bench,
        vec![titled("a", "set-up", "x"), titled("b", "parser", "a"), titled("c", "command", "b")],
    );
    let decided = |name: &str| bench.task(name).decided;
    assert_eq!(
        [decided("a"), decided("b"), decided("c")],
        [Status::Pending, Status::Completed, Status::Pending]
    );
}
