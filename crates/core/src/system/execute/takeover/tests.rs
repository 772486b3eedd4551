//! What is believed of a state file, rule by rule.

use super::*;
use crate::chronicle::bench::{id, oid, spec};
use crate::history::{Commit, History};
use crate::system::kit::takeover::Onto;
use crate::time::Timestamp;

/// One after the other, newest first; commit 1 is the oldest. `back`: the commit that took another one back.
fn evidence(subjects: &[&str], back: &[(u64, u64)]) -> Evidence {
    let commit = |(at, subject): (usize, &&str)| {
        let n = (subjects.len() - at) as u64;
        let parent = (n > 1).then(|| oid(n - 1));
        let (merges, subject) = (Vec::new(), (*subject).to_owned());
        Commit {
            id: oid(n),
            tree: oid(100 + n),
            parent,
            merges,
            subject,
            task: None,
            run: None,
            content: None,
        }
    };
    let commits = subjects.iter().enumerate().map(commit).collect();
    let back: Vec<_> = back.iter().map(|(by, of)| (oid(*by), vec![oid(*of).to_string()])).collect();
    let ids = ["T1", "T2", "T3"].map(id);
    Evidence {
        now: Timestamp(1000),
        begins: true,
        target: Some(Target::new(History::new(commits, &back, &ids.iter().collect()))),
        worktrees: BTreeMap::new(),
        branches: BTreeMap::new(),
        missing: BTreeMap::new(),
        onto: Onto::Nowhere,
    }
}

fn told(status: TaskStatus, attempts: u32, commits: &[u64]) -> ForeignTask {
    let commit = |n: &u64| ImportedCommit { hash: oid(*n).to_string(), ..ImportedCommit::default() };
    ForeignTask { status, attempts, commits: commits.iter().map(commit).collect(), ..ForeignTask::unknown() }
}

fn left(tasks: &[(&str, ForeignTask)]) -> Left {
    let tasks = tasks.iter().map(|(name, task)| (id(name), task.clone())).collect();
    Left { state: ForeignState { tasks, ..ForeignState::default() } }
}

fn specs() -> Vec<TaskSpec> {
    ["T1", "T2", "T3"].map(|name| TaskSpec { attempts: 3, ..spec(name, &[]) }).into()
}

/// What is believed of each task, in a line.
fn judged(left: &Left, mut evidence: Evidence) -> String {
    let questions = left.questions(&specs());
    evidence.target.iter_mut().for_each(|target| questions.give(target));
    let taken = left.take_over(&specs(), &evidence).expect("the plan has every task");
    let line = |belief: &Belief| {
        let past = belief.past.as_ref().map(|past| format!("{} after {}", past.status, past.spent));
        let mark = if belief.corrected { "!" } else { "" };
        format!("{}{mark} {}: {}\n", belief.task, past.unwrap_or_else(|| "nothing".to_owned()), belief.why)
    };
    taken.beliefs.iter().map(line).collect()
}

fn tip(head: u64, base: u64) -> Tip {
    Tip { head: oid(head), tree: oid(100 + head), base: Some(oid(base)) }
}

use TaskStatus::{Abandoned, Completed, Failed, InProgress, Pending, Verified};

#[test]
fn a_claim_counts_as_far_as_the_target_bears_it_out() {
    let left = left(&[
        ("T1", told(Completed, 2, &[1])),
        ("T2", told(Completed, 1, &[77])),
        ("T3", told(Pending, 0, &[])),
    ]);
    insta::assert_snapshot!(judged(&left, evidence(&["[T3] Add part T3", "work"], &[])), @r"
    T1 completed after 1: its commit 0000000000 is part of the target
    T2! pending after 0: its commit 0000000000 is not part of the target
    T3! completed after 0: 0000000000 in the target names it
    ");
}

#[test]
fn what_was_taken_back_or_is_somebody_elses_as_well_proves_nothing() {
    let left = left(&[
        ("T1", told(Completed, 1, &[1])),
        ("T2", told(Completed, 1, &[2])),
        ("T3", told(Completed, 1, &[2])),
    ]);
    insta::assert_snapshot!(judged(&left, evidence(&["back", "two", "one"], &[(3, 1)])), @r"
    T1! pending after 0: 0000000000 reverted its work
    T2! pending after 0: its commit 0000000000 also belongs to T3
    T3! pending after 0: its commit 0000000000 also belongs to T2
    ");
}

#[test]
fn attempts_that_were_spent_stay_spent() {
    let states =
        [("T1", told(Failed, 2, &[])), ("T2", told(Failed, 3, &[])), ("T3", told(InProgress, 2, &[]))];
    insta::assert_snapshot!(judged(&left(&states), evidence(&["a"], &[])), @r"
    T1 failed after 2: attempt 2 failed; the next prompt says why
    T2! abandoned after 3: 3 of 3 attempts are spent
    T3! pending after 1: its worktree no longer exists, so the same attempt starts again
    ");
    let states =
        [("T1", told(Abandoned, 1, &[])), ("T2", told(Failed, 0, &[])), ("T3", told(Pending, 2, &[]))];
    insta::assert_snapshot!(judged(&left(&states), evidence(&["a"], &[])), @r"
    T1 abandoned after 3: it was abandoned
    T2 failed after 1: attempt 1 failed; the next prompt says why
    T3 pending after 1: it waits
    ");
}

#[test]
fn work_goes_on_where_it_lies() {
    let states =
        [("T1", told(Verified, 1, &[])), ("T2", told(Verified, 1, &[])), ("T3", told(InProgress, 1, &[]))];
    let there = |name: &str, is_clean| {
        (id(name), Worktree::There { path: format!("w/{name}"), tip: Some(tip(50, 1)), is_clean })
    };
    let clean = |name| there(name, true);
    let dirty = |name| there(name, false);
    let mut evidence = evidence(&["a"], &[]);
    evidence.worktrees = [clean("T1"), dirty("T2"), (id("T3"), Worktree::Taken)].into_iter().collect();
    insta::assert_snapshot!(judged(&left(&states), evidence.clone()), @r"
    T1 pending after 0: its work is in its worktree: only its checks run again
    T2 pending after 0: its worktree exists, with commits: the same attempt continues
    T3! pending after 0: its worktree belongs to another run, so the same attempt starts again
    ");
    evidence.worktrees.clear();
    evidence.branches.insert(id("T1"), Branch { name: "worktree-T1".to_owned(), tip: tip(50, 1) });
    evidence.branches.insert(id("T2"), Branch { name: "worktree-T2".to_owned(), tip: tip(1, 1) });
    insta::assert_snapshot!(judged(&left(&states), evidence), @r"
    T1 pending after 0: its work is on worktree-T1: only its checks run again
    T2! pending after 0: nothing is on worktree-T2, so the same attempt starts again
    T3! pending after 0: its worktree no longer exists, so the same attempt starts again
    ");
}

#[test]
fn a_run_does_not_begin_without_open_tasks_that_only_the_file_has() {
    let left = left(&[("T8", told(Pending, 0, &[])), ("T9", told(Completed, 1, &[]))]);
    let mut evidence = evidence(&["a"], &[]);
    let refused = left.take_over(&specs(), &evidence).expect_err("T8 is open");
    assert_eq!((refused.open, refused.lines), (vec![id("T8")], Vec::new()));
    evidence.begins = false;
    let taken = left.take_over(&specs(), &evidence).expect("somebody only wants to know");
    assert_eq!(taken.orphans, [id("T8"), id("T9")]);
}
