//! States that a log and git are enough for.

use super::*;
use crate::chronicle::bench::{Bench, id, oid, plan, spec};
use crate::run::Command;

const LOG: &str = "# Progress Log

## T1 - Iteration 1 - 2026-01-14T10:30:00Z
**Did:** The tables
**Remaining:** The index
**Commit:** 0000000a

## T1 – Iter 2
**Did:** The index
**Remaining:** None
**Signal:** T1_DONE
**Commit:** 0000000b

## T2: Iteration 1 - 2026-01-14 11:00
**Did:** A draft
**Signal:** T2_DONE

## Tests - Iteration 1 - 2026-01-14T11:10:00Z
**Unit:** T2
**Did:** Ran the checks
**Remaining:** Mend the test of the parser
**Signal:** TESTS_FAIL:1

## T3 - Iteration 1
**Did:** Nothing
**Signal:** BLOCKED: no key: ask ann

## T4 - Iteration 3 - 2026-01-14T12:00:00Z
**Remaining:** All

## T5 - Iteration 1
**Did:** It
**Signal:** <signal>T5_DONE</signal>

## T9 - Iteration 1
**Did:** What is this?
";

fn unit(name: &str, landed: Option<u64>) -> Unit {
    let hash = |n: u64| ImportedCommit { hash: oid(n).to_string(), ..ImportedCommit::default() };
    let commits = landed.map(hash).into_iter().collect();
    Unit { id: id(name), limit: 3, commits, landed: landed.map(oid), outputs: Outputs::NotAsked }
}

fn claims(said: &[(&str, Status, u32)]) -> BTreeMap<TaskId, Claim> {
    said.iter().map(|&(name, status, iterations)| (id(name), Claim { status, iterations })).collect()
}

fn units() -> Vec<Unit> {
    let mut units: Vec<Unit> = [
        ("T1", Some(11)),
        ("T2", Some(12)),
        ("T3", None),
        ("T4", None),
        ("T5", None),
        ("T6", None),
        ("T7", Some(17)),
    ]
    .map(|(name, landed)| unit(name, landed))
    .into();
    units[0].commits = vec![ImportedCommit { hash: "0000000b77".to_owned(), ..ImportedCommit::default() }];
    units
}

#[test]
fn the_log_and_git_win_over_the_state_file() {
    let claims = claims(&[
        ("T1", Status::InProgress, 1),
        ("T2", Status::Completed, 1),
        ("T3", Status::Blocked, 1),
        ("T4", Status::InProgress, 3),
        ("T5", Status::Completed, 1),
        ("T6", Status::Blocked, 0),
        ("T7", Status::Completed, 4),
        ("T8", Status::Completed, 1),
    ]);
    let rebuilt = rebuild(&units(), LOG, &claims);
    let told = |one: &Believed| {
        let past = one.past.as_ref().map(|past| format!("{} after {}", past.status, past.spent));
        format!("{} {}: {}\n", one.unit, past.unwrap_or_else(|| "nothing".to_owned()), one.why)
    };
    insta::assert_snapshot!(rebuilt.units.iter().map(told).collect::<String>(), @r"
    T1 completed after 1: its commit 0000000000 is part of the target
    T2 failed after 1: work remains after iteration 1
    T3 failed after 0: it is blocked: no key: ask ann
    T4 abandoned after 3: all 3 iterations are used up
    T5 pending after 0: it is marked done, but none of its commits is part of the target
    T6 nothing: nothing is recorded about it
    T7 completed after 0: its commit 0000000000 is part of the target
    ");
    let differences: Vec<String> = rebuilt.differences.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(differences.join("\n"), @r"
    T1: the state file says in_progress, but it is done: its commit 0000000000 is part of the target
    T2: the state file says done, but it is in_progress: work remains after iteration 1
    T4: the state file says in_progress, but it is timeout: all 3 iterations are used up
    T5: the state file says done, but it is in_progress: it is marked done, but none of its commits is part of the target
    T8: the state file says done, but there is no such unit in the plan
    ");
    let entry = logged(&rebuilt.differences, Timestamp(0)).expect("there are some");
    assert!(entry.starts_with("## Fix - 1970-01-01T00:00:00Z\n**Did:**\nRebuilt the state"), "{entry}");
    assert_eq!(progress::entries(&entry).len(), 1);
    assert_eq!(logged(&[], Timestamp(0)), None);
}

#[test]
fn a_unit_goes_on_with_what_its_last_entry_leaves() {
    let rebuilt = rebuild(&units(), LOG, &BTreeMap::new());
    let past = rebuilt.units[1].past.clone().expect("it was worked on");
    assert_eq!(past.failure(), Some((NOT_FINISHED.to_owned(), "Mend the test of the parser".to_owned())));
    assert_eq!(past.started_at, Timestamp::parse("2026-01-14T11:00:00Z"));
    let past = rebuilt.units[0].past.clone().expect("it is done");
    assert_eq!((past.commits[0].attempt, past.spent), (2, 1), "by the hash that the log has");
    assert_eq!(rebuilt.differences, []);
}

#[test]
fn without_git_what_was_made_counts() {
    let unit = |outputs| [Unit { outputs, ..unit("T5", None) }];
    let status = |outputs| {
        rebuild(&unit(outputs), LOG, &BTreeMap::new()).units[0].past.as_ref().map(|past| past.status)
    };
    assert_eq!(status(Outputs::Exist), Some(Status::Completed));
    assert_eq!(status(Outputs::Missing), Some(Status::Pending));
}

#[test]
fn whatever_is_rebuilt_a_run_takes_over() {
    let names = ["T1", "T2", "T3", "T4", "T5", "T6", "T7"];
    let mut bench = Bench::new(plan(&["units"], names.iter().map(|name| spec(name, &[])).collect()));
    let claims = claims(&[("T7", Status::Completed, 1)]);
    for one in rebuild(&units(), LOG, &claims).units {
        let Some(past) = one.past else { continue };
        bench.accept(&Command::Adopt { task: one.unit, by: "import".to_owned(), past: Box::new(past) });
    }
    let status = names.map(|name| bench.task(name).decided);
    use Status::{Abandoned, Completed, Failed, Pending};
    assert_eq!(status, [Completed, Failed, Failed, Abandoned, Pending, Pending, Completed]);
}
