//! Claims of the ledger: what speaks for one, what does not, and what a refused one costs.

use piton_core::plan::TaskSpec;
use piton_core::run::{
    Claim, Command, Event, Evidence, Holder, HolderProcess, Mark, Note, Proof, Status, Verdict,
};

use crate::bench::{Bench, check, evidence, id, oid, spec};

/// Tasks that one check judges, which says nothing about any of them.
fn shared() -> Bench {
    let one = |name| TaskSpec { checks: vec![check("make test")], ..spec(name, &[]) };
    Bench::running(vec![one("a"), one("b"), TaskSpec { checks: Vec::new(), ..spec("c", &["b"]) }])
}

fn done(name: &str, by: &str, shown: Evidence) -> Command {
    let result = evidence(name, Verdict::Pass);
    let results = vec![piton_core::run::CheckResult { check: check("make test").digest(), ..result }];
    let claim = Claim::Done { tree: Some(oid(1)), results, evidence: shown };
    Command::Report { task: id(name), by: by.to_owned(), fence: None, claim, report: Box::default() }
}

fn commits(numbers: &[u64]) -> Evidence {
    Evidence { commits: numbers.iter().map(|n| oid(*n)).collect(), ..Evidence::default() }
}

#[test]
fn a_commit_counts_for_one_task() {
    let mut bench = shared();
    bench.accept(&done("a", "ann", commits(&[5])));
    assert_eq!(bench.task("a").counts, [oid(5)]);
    let refused = bench.refuse(&done("b", "ann", commits(&[5])));
    assert!(refused.reason.contains("already counts for a"), "{refused}");
    assert!(refused.hint.is_some_and(|hint| hint.contains("piton report b done --no-change --reason TEXT")));
    assert_eq!((bench.task("b").decided, bench.task("b").attempt), (Status::Pending, 0));
    // One of its own does, and so does one that is named.
    let _ = bench.decide(&done("b", "ann", commits(&[5, 6]))).expect("a commit of its own");
    bench.accept(&done("b", "ann", Evidence::named([oid(5)])));
    assert_eq!(bench.task("b").proof, Some(Proof::Checked { tree: Some(oid(1)), already: None }));
}

#[test]
fn a_check_proves_a_task_only_if_no_other_has_it() {
    let mut bench = Bench::running(vec![spec("a", &[]), spec("b", &[])]);
    let claim = |verdict| Claim::Done {
        tree: Some(oid(1)),
        results: vec![evidence("a", verdict)],
        evidence: Evidence::default(),
    };
    let report = |verdict| Command::Report {
        task: id("a"),
        by: "ann".to_owned(),
        fence: None,
        claim: claim(verdict),
        report: Box::default(),
    };
    // It was never started, so no attempt is spent.
    let refused = bench.refuse(&report(Verdict::Fail { exit: 1 }));
    assert!(refused.reason.contains("it was never started"), "{refused}");
    bench.accept(&report(Verdict::Pass));
    assert_eq!(bench.task("a").decided, Status::Completed);
    let _ = shared().refuse(&done("a", "ann", Evidence::default()));
}

#[test]
fn a_claim_waits_for_work_that_is_not_committed() {
    let mut bench = shared();
    let uncommitted = || Evidence { uncommitted: vec!["x.rs".to_owned()], ..commits(&[5]) };
    bench.accept(&done("b", "ann", Evidence { owed: true, ..uncommitted() }));
    let task = bench.task("b");
    assert_eq!(
        (task.decided, &task.progress.uncommitted[..]),
        (Status::InProgress, &["x.rs".to_owned()][..])
    );
    assert_eq!(task.spent, 0);
    let start = Command::Start { task: id("c"), holder: Holder::Engine };
    assert!(bench.refuse(&start).reason.contains("b (in_progress)"));
    // What the claim does not name holds nothing up if something was committed.
    bench.accept(&done("b", "ann", uncommitted()));
    assert_eq!(bench.task("b").decided, Status::Completed);
    let events = shared().decide(&done("a", "ann", Evidence { commits: Vec::new(), ..uncommitted() }));
    assert!(matches!(events.expect("it waits").last(), Some(Event::ClaimWaits { .. })));
}

#[test]
fn a_word_without_work_is_reported_and_needs_a_reason() {
    let mut bench = shared();
    let _ = bench.refuse(&done("a", "ann", Evidence::no_change(" ")));
    bench.accept(&done("a", "ann", Evidence::no_change("it was so before")));
    assert_eq!(bench.task("a").proof, Some(Proof::Reported));
}

#[test]
fn a_holder_who_is_not_at_work_loses_the_task_and_no_attempt() {
    let mut bench = shared();
    bench.accept(&Command::Start { task: id("a"), holder: Holder::Ledger("file".to_owned()) });
    let fence = bench.task("a").fence;
    let mark = |tip| Mark { tip: Some(oid(tip)), ..Mark::default() };
    bench.accept(&Command::Mark { task: id("a"), fence, mark: mark(1) });
    let again = Command::Mark { task: id("a"), fence, mark: mark(2) };
    assert_eq!(bench.decide(&again), Ok(Vec::new()), "the first one holds");
    let release = |fence| Command::Release { task: id("a"), fence, reason: "nobody".to_owned() };
    assert!(bench.refuse(&release(fence + 1)).stale);
    bench.accept(&release(fence));
    let task = bench.task("a");
    assert_eq!((task.decided, task.spent, &task.holder), (Status::Pending, 0, &None));
    assert_eq!(task.progress.mark, Some(mark(1)), "work since then is still this task's");
    bench.start("a");
    let fence = bench.task("a").fence;
    assert!(bench.refuse(&release(fence)).stale, "the engine works on it");
}

/// A holder's name does not say whether the holder is at work. The end of a process does, if the hold is bound to it.
#[test]
fn a_hold_ends_with_the_process_that_it_is_bound_to_and_with_no_other() {
    let process = |pid| HolderProcess { pid, born: 1, boot: "b".to_owned(), space: "s".to_owned() };
    let mut bench = shared();
    bench.accept(&Command::Start { task: id("a"), holder: Holder::Ledger("ann".to_owned()) });
    let fence = bench.task("a").fence;
    let gone = |pid| Command::HolderGone { task: id("a"), fence, process: process(pid) };
    assert!(bench.refuse(&gone(1)).stale, "it is held by a name alone");
    let bind = Command::Bind { task: id("a"), fence, process: process(1) };
    bench.accept(&bind);
    assert_eq!(bench.decide(&bind), Ok(Vec::new()), "once is enough");
    assert!(bench.refuse(&gone(2)).stale);
    // The refusal names the commands that go on.
    let taken = bench.refuse(&Command::Start { task: id("a"), holder: Holder::Ledger("bob".to_owned()) });
    assert_eq!(taken.reason, "a is in progress, held by ann");
    assert!(taken.hint.is_some_and(|hint| hint.ends_with("to free it: piton reset a")));
    bench.accept(&gone(1));
    assert_eq!((bench.task("a").decided, bench.task("a").spent), (Status::Pending, 0));
    // A claim that waits needs no holder.
    bench.accept(&Command::Start { task: id("b"), holder: Holder::Ledger("ann".to_owned()) });
    let fence = bench.task("b").fence;
    bench.accept(&Command::Bind { task: id("b"), fence, process: process(1) });
    let uncommitted = Evidence { uncommitted: vec!["x.rs".to_owned()], owed: true, ..Evidence::default() };
    bench.accept(&done("b", "ann", uncommitted));
    let gone = Command::HolderGone { task: id("b"), fence, process: process(1) };
    assert!(bench.refuse(&gone).stale);
}

#[test]
fn a_refused_edit_is_about_its_task_if_the_run_has_it() {
    let bench = shared();
    for (task, known) in [("a", true), ("x", false)] {
        let (file, edit, reason) = ("f".to_owned(), "e".to_owned(), "r".to_owned());
        let note = Note::EditRefused { file, edit, reason, task: Some(id(task)) };
        let events = bench.decide(&Command::Note { by: "piton".to_owned(), note }).expect("it is noted");
        assert_eq!(events[0].task(), Some(&id(task)).filter(|_| known));
    }
}
