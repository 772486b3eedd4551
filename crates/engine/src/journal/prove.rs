//! Proof that the snapshot is what the events say, and that the database is whole.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::order::Pairs;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::State;

use super::Journal;
use super::append::Around;
use super::error::{JournalError, Trouble};
use super::query::{self, Head};
use super::rows::{CellRow, LAYOUT, TaskRow, commits_of, key, unkey};
use super::store::{Store, values};
use super::{costs, made, remarks};

/// At most so many differences are listed; the rest is counted.
const LISTED: usize = 20;

/// Of the run with this key, or of one after it.
pub(super) const FIRST_EVENT: &str = "SELECT no FROM events WHERE no >= ?1 ORDER BY no LIMIT 1";

impl Journal {
    /// Replay the journal of a run and compare it with its snapshot. Returns the differences in words; an empty list
    /// proves that they are equal.
    pub fn prove(&self, run: &RunId) -> Result<Vec<String>, JournalError> {
        Ok(self.replayed(run)?.1)
    }

    /// The same, with the state that the events say.
    pub fn replayed(&self, run: &RunId) -> Result<(State, Vec<String>), JournalError> {
        self.reading(|db| {
            let head = query::head(db, run)?;
            let head = head.ok_or_else(|| Trouble::NoRun(run.clone()))?;
            let mut around = Around::default();
            let state = query::replay_and(db, run, head.no, |recorded| around.see(run, recorded))?;
            let mut differences = Vec::new();
            let (kept, begun) = (query::begun(db, head.no)?, around.begun.begun);
            if kept != begun {
                differences.push(format!("the snapshot ends the first plan at {kept}, not at {begun}"));
            }
            compare_head(db, &head, &state, &mut differences)?;
            compare_tasks(db, head.no, &state, &mut differences)?;
            compare_needs(db, head.no, &state, &mut differences)?;
            compare_commits(db, head.no, &state, &mut differences)?;
            compare_cells(db, head.no, &state, &mut differences)?;
            compare_worktrees(db, head.no, &state, &mut differences)?;
            compare_remarks(db, head.no, around.remarks, &mut differences)?;
            costs::prove(db, head.no, &around.costs, &mut differences)?;
            made::prove(db, run, head.no, &around.completed, &mut differences)?;
            let more = differences.len().saturating_sub(LISTED);
            differences.truncate(LISTED);
            if more > 0 {
                differences.push(format!("and {more} more"));
            }
            Ok((state, differences))
        })
    }

    /// Check whether the database is whole. Returns what is damaged, in words.
    pub fn integrity(&self) -> Result<Vec<String>, JournalError> {
        self.reading(|db| {
            let mut found = db.damage()?;
            let mut select = db.prepare("SELECT no, id, seq FROM runs ORDER BY no")?;
            let mut rows = select.query(values![])?;
            let mut known = Vec::new();
            while let Some(row) = rows.next()? {
                let (no, id, seq): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let last = query::last_seq(db, no)?;
                if u64::try_from(seq) != Ok(last) {
                    found.push(format!("run {id}: its journal ends at {last}, its snapshot at {seq}"));
                }
                known.push(no);
            }
            let first = |from: i64| db.first(FIRST_EVENT, values![from], |row| row.get(0));
            for no in numbers(first) {
                if !known.contains(&no) {
                    found.push(format!(
                        "there are events of a run number {no}, which is not in the list of runs"
                    ));
                }
            }
            Ok(found)
        })
    }
}

/// The numbers of the runs that have events, as far as they can be found. `first` finds the first event from a key on.
pub(super) fn numbers<E>(first: impl Fn(i64) -> Result<Option<i64>, E>) -> Vec<i64> {
    /// Unreadable places in a row after which nothing more is expected.
    const PATIENCE: u32 = 64;
    let (mut numbers, mut at, mut failures) = (Vec::new(), 1, 0);
    while failures < PATIENCE {
        match first(key(at, 0)) {
            Ok(None) => break,
            Ok(Some(key)) => {
                numbers.push(unkey(key).0);
                at = unkey(key).0 + 1;
                failures = 0;
            }
            Err(_) => {
                numbers.push(at);
                at += 1;
                failures += 1;
            }
        }
    }
    numbers
}

fn compare_head(db: &Store, head: &Head, state: &State, out: &mut Vec<String>) -> Result<(), Trouble> {
    if head.layout != LAYOUT {
        out.push(format!("the snapshot has layout {}, not {LAYOUT}", head.layout));
    }
    if head.seq != state.seq() {
        out.push(format!("the snapshot shows position {}, the journal ends at {}", head.seq, state.seq()));
    }
    match query::facts(db, head) {
        Ok(facts) if Some(&facts) == state.run() => {}
        Ok(facts) => out.push(format!(
            "facts of the run: the snapshot has {facts:?}, the journal says {:?}",
            state.run()
        )),
        Err(Trouble::Snapshot { detail }) => out.push(detail),
        Err(trouble) => return Err(trouble),
    }
    Ok(())
}

fn compare_tasks(db: &Store, no: i64, state: &State, out: &mut Vec<String>) -> Result<(), Trouble> {
    let mut rows: BTreeMap<String, TaskRow> =
        query::task_rows(db, no)?.into_iter().map(|row| (row.id.clone(), row)).into_map();
    for task in state.tasks() {
        let told = TaskRow::from_task(task)?;
        match rows.remove(&told.id) {
            Some(kept) if kept == told => {}
            Some(kept) => {
                out.push(format!("task {}: the snapshot has {kept:?}, the journal says {told:?}", task.id));
            }
            None => out.push(format!("task {} is missing in the snapshot", task.id)),
        }
    }
    out.extend(rows.into_keys().map(|id| format!("task {id} is in the snapshot and not in the journal")));
    Ok(())
}

fn compare_needs(db: &Store, no: i64, state: &State, out: &mut Vec<String>) -> Result<(), Trouble> {
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut select =
        db.prepare("SELECT task, need FROM needs WHERE run = ?1 AND pos >= 0 ORDER BY task, pos")?;
    let mut rows = select.query(values![no])?;
    while let Some(row) = rows.next()? {
        kept.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    for task in state.tasks() {
        let told: Vec<&str> = match state.links(&task.id) {
            Ok(links) => links.needs.iter().map(TaskId::as_str).collect(),
            Err(_) => Vec::new(),
        };
        let kept = kept.remove(task.id.as_str()).unwrap_or_default();
        if kept != told {
            out.push(format!("task {} needs {told:?}; the snapshot has {kept:?}", task.id));
        }
    }
    out.extend(kept.into_keys().map(|id| format!("the snapshot has needs of {id}, which is not a task")));
    Ok(())
}

/// Every commit leads to the task that it counts for.
fn compare_commits(db: &Store, no: i64, state: &State, out: &mut Vec<String>) -> Result<(), Trouble> {
    for task in state.tasks() {
        for commit in commits_of(task) {
            if !query::counted_for(db, no, commit)?.contains(&task.id) {
                out.push(format!("commit {commit} does not lead to task {}", task.id));
            }
        }
    }
    Ok(())
}

fn compare_cells(db: &Store, no: i64, state: &State, out: &mut Vec<String>) -> Result<(), Trouble> {
    let mut kept: BTreeMap<_, _> =
        query::cells(db, no)?.into_iter().filter(|(_, cell)| !cell.is_empty()).collect();
    for ((group, level), counts) in state.cells() {
        let told = CellRow::from_counts(counts);
        let kept = kept.remove(&(group, level)).unwrap_or_default();
        if kept != told {
            out.push(format!(
                "counts of group {group}, level {level}: the snapshot has {kept:?}, not {told:?}"
            ));
        }
    }
    out.extend(
        kept.into_keys().map(|cell| format!("the snapshot has counts for {cell:?}, where no task is")),
    );
    Ok(())
}

fn compare_worktrees(db: &Store, no: i64, state: &State, out: &mut Vec<String>) -> Result<(), Trouble> {
    let mut select = db.prepare("SELECT id FROM worktrees WHERE run = ?1")?;
    let kept: BTreeSet<String> = select.all(values![no], |row| row.get(0))?.into_iter().collect();
    let have_one = state.tasks().filter(|task| task.progress.worktree);
    let told: BTreeSet<String> = have_one.map(|task| task.id.to_string()).collect();
    for id in kept.symmetric_difference(&told) {
        let (snapshot, journal) = (kept.contains(id), told.contains(id));
        out.push(format!("a worktree of {id}: the snapshot says {snapshot}, the journal says {journal}"));
    }
    Ok(())
}

fn compare_remarks(
    db: &Store,
    no: i64,
    mut told: Vec<(i64, i64)>,
    out: &mut Vec<String>,
) -> Result<(), Trouble> {
    told.sort_unstable();
    let kept = remarks::rows(db, no)?;
    if kept != told {
        out.push(format!("guardrails and entries: the snapshot has {kept:?}, the journal says {told:?}"));
    }
    Ok(())
}
