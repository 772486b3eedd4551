//! Commands whose decision depends on the whole run, and the part of it that is enough for them.

use std::sync::Arc;

use piton_core::plan::{Digest, TaskId};
use piton_core::run::{CheckResult, Claim, Command, Evidence, State, Status, Task, Verdict};

use super::error::Trouble;
use super::query::{self, Head};
use super::rows::{REMOVED, STATUS, TASK_COLUMNS, TaskRow};
use super::store::{Store, values};

/// How much of a run a loaded state stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Part,
}

/// The state that such a command can be decided on.
pub(super) fn part(db: &Store, head: &Head, command: &Command) -> Result<(State, Extent), Trouble> {
    match command {
        Command::Report { task, claim, .. } => match claim {
            Claim::Done { results, evidence, .. } | Claim::ToConfirm { results, evidence, .. } => {
                Ok((of_claim(db, head, task, results, evidence)?, Extent::Part))
            }
            Claim::Failed { .. } | Claim::Blocked { .. } => Ok((query::part(db, head)?, Extent::Part)),
        },
        Command::Close { .. } => Ok((of_closing(db, head)?, Extent::Whole)),
        _ => Ok((query::snapshot(db, head)?, Extent::Whole)),
    }
}

/// A claim, the tasks that its commits may count for, and for each check that may prove it another task that has it.
fn of_claim(
    db: &Store,
    head: &Head,
    id: &TaskId,
    results: &[CheckResult],
    evidence: &Evidence,
) -> Result<State, Trouble> {
    let mut state = query::part(db, head)?;
    let Some(task) = query::task(db, head.no, id)? else { return Ok(state) };
    let mut has_free = false;
    for commit in &evidence.commits {
        let mut is_free = !task.counts.contains(commit);
        for other in query::counted_for(db, head.no, commit)?.into_iter().filter(|other| other != id) {
            is_free = false;
            load(db, head.no, &mut state, other)?;
        }
        has_free |= is_free;
    }
    if !has_free {
        let is_its =
            |result: &&CheckResult| result.verdict == Verdict::Pass && task.judges.contains(&result.check);
        for result in results.iter().filter(is_its) {
            if let Some(other) = another_with(db, head.no, id, &result.check)? {
                state.load_task(other.id.clone(), Some(other));
            }
        }
    }
    Ok(state)
}

fn load(db: &Store, no: i64, state: &mut State, id: TaskId) -> Result<(), Trouble> {
    let task = query::task(db, no, &id)?;
    state.load_task(id, task);
    Ok(())
}

/// Another task of the plan that has this check.
fn another_with(db: &Store, no: i64, id: &TaskId, check: &Digest) -> Result<Option<Task>, Trouble> {
    let sql = format!(
        "SELECT {TASK_COLUMNS} FROM tasks
         WHERE run = ?1 AND id <> ?2 AND flags & {REMOVED} = 0 AND instr(rest, ?3) > 0"
    );
    let mut select = db.prepare(&sql)?;
    let mut rows = select.query(values![no, id.as_str(), check.as_str()])?;
    while let Some(row) = rows.next()? {
        let task = TaskRow::read(row)?.task()?;
        // The digest may appear in the row for another reason.
        if task.judges.contains(check) {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

/// It only matters whether anything is left to do: one open task stands for all.
fn of_closing(db: &Store, head: &Head) -> Result<State, Trouble> {
    query::part(db, head)?;
    let sql = format!(
        "SELECT {TASK_COLUMNS} FROM tasks WHERE run = ?1 AND flags & {REMOVED} = 0 AND {STATUS} NOT IN (?2, ?3) LIMIT 1"
    );
    let finished = values![head.no, Status::Completed as u32, Status::Skipped as u32];
    let open = db.prepare(&sql)?.first(finished, TaskRow::read)?;
    let open = open.map(TaskRow::task).transpose()?;
    let tasks = open.map(|task| (task, Arc::from([])));
    Ok(State::restore(Some(query::facts(db, head)?), head.seq, tasks))
}
