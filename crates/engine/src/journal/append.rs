//! What a transaction appends to the journal of a run, and the rows that it changes.

use std::borrow::Cow;

use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Changes, CheckRun, Event, Note, Pass, Recorded, Run, State};
use piton_core::time::{Span, Timestamp};
use piton_core::view::Costs;

use super::error::Trouble;
use super::lanes::may_keep_lanes;
use super::made::Touched;
use super::query::{self, Head};
use super::rows::{
    Begun, CellRow, LAYOUT, Moving, Planned, TaskRow, by_cell, commit_key, commits_of, json, key, signed,
};
use super::store::{Row, Store, values};
use super::{costs, made, remarks};

/// So many rows or events are worth a second thread.
pub(super) const MANY: usize = 2000;

/// Write the rows of a run again from its events. `look` sees each of them.
pub(super) fn rebuild_rows(
    db: &Store,
    run: &RunId,
    mut look: impl FnMut(&Recorded),
) -> Result<State, Trouble> {
    let head = query::head(db, run)?;
    let head = head.ok_or_else(|| Trouble::NoRun(run.clone()))?;
    let mut around = Around::default();
    let mut state = query::replay_and(db, run, head.no, |recorded| {
        around.see(run, recorded);
        look(recorded);
    })?;
    for table in ["tasks", "needs", "cells", "worktrees", "remarks"] {
        db.execute(&format!("DELETE FROM {table} WHERE run = ?1"), values![head.no])?;
    }
    let changes = state.take_changes();
    write_snapshot(db, head.no, &state, &changes, Rows::None)?;
    around.remarks.iter().try_for_each(|row| remarks::put(db, head.no, *row))?;
    costs::write(db, head.no, &around.costs)?;
    made::clear(db, head.no)?;
    around.completed.write(db, run, head.no, &state)?;
    write_facts(db, head.no, &state)?;
    write_plan_facts(db, head.no, &state, around.begun.begun)?;
    Ok(state)
}

/// What the rows of a run hold beside its state, as all its events say it.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub begun: Begun,
    pub costs: Costs,
    pub remarks: Vec<(i64, i64)>,
    /// Every task that was ever completed.
    pub completed: Touched,
}

impl Around {
    pub(super) fn see(&mut self, run: &RunId, recorded: &Recorded) {
        self.begun.see(recorded);
        self.costs.read(run, recorded);
        self.remarks.extend(remarks::row(recorded));
        self.completed.see_turns(&recorded.event);
    }
}

/// Append events that `state` has folded, each with its JSON if there is one already, and write the rows they changed.
/// Returns the number of the run, unless there was nothing to append.
pub(super) fn record<'e>(
    db: &Store,
    run: &RunId,
    head: Option<&Head>,
    state: &mut State,
    events: impl Iterator<Item = (&'e Recorded, Option<&'e str>)>,
) -> Result<Option<i64>, Trouble> {
    let mut appended = Appended::new(run, head);
    appended.append(db, events)?;
    appended.write_rows(db, state)
}

/// What one transaction appends to the journal of a run.
pub(super) struct Appended<'r> {
    run: &'r RunId,
    /// The run has rows already.
    rows: Rows,
    /// The layout of these rows, if it is another one.
    outdated: Option<i64>,
    no: Option<i64>,
    is_empty: bool,
    planned: bool,
    begun: Begun,
    touched: Touched,
}

impl<'r> Appended<'r> {
    pub(super) fn new(run: &'r RunId, head: Option<&Head>) -> Appended<'r> {
        let rows = if head.is_none() { Rows::None } else { Rows::Some };
        let outdated = head.map(|head| head.layout).filter(|layout| *layout != LAYOUT);
        let (begun, touched) = (Begun::default(), Touched::default());
        let no = head.map(|head| head.no);
        Appended { run, rows, outdated, no, is_empty: true, planned: false, begun, touched }
    }

    pub(super) fn append<'e>(
        &mut self,
        db: &Store,
        events: impl Iterator<Item = (&'e Recorded, Option<&'e str>)>,
    ) -> Result<(), Trouble> {
        let mut insert = db.prepare("INSERT INTO events (no, at, task, body) VALUES (?1, ?2, ?3, ?4)")?;
        for (recorded, text) in events {
            if let Some(layout) = self.outdated {
                return Err(Trouble::snapshot(format!("layout {layout}")));
            }
            let Recorded { seq, at, event } = recorded;
            let no = match self.no {
                Some(no) => no,
                None => *self.no.insert(number_run(db, self.run, recorded)?),
            };
            self.is_empty = false;
            self.begun.see(recorded);
            self.planned |= matches!(
                event,
                Event::RunCreated { .. } | Event::PlanAdopted { .. } | Event::SettingsAdopted { .. }
            );
            let task = event.task().map(TaskId::as_str);
            let body = text.map_or_else(|| json(event).map(Cow::from), |text| Ok(Cow::from(text)))?;
            insert.execute(values![key(no, *seq), at.0, task, body])?;
            if let Event::Noted { note: Note::ChecksRan { runs, .. }, .. } = event {
                count_checks(db, no, runs)?;
                keep_passes(db, no, runs, *at)?;
            }
            remarks::row(recorded).into_iter().try_for_each(|row| remarks::put(db, no, row))?;
            costs::book(db, self.run, no, recorded)?;
            self.touched.see(event);
        }
        Ok(())
    }

    /// Write the rows that the events have changed in `state`, which has folded them.
    pub(super) fn write_rows(self, db: &Store, state: &mut State) -> Result<Option<i64>, Trouble> {
        let changes = state.take_changes();
        let Some(no) = self.no.filter(|_| !self.is_empty) else { return Ok(None) };
        write_snapshot(db, no, state, &changes, self.rows)?;
        self.touched.write(db, self.run, no, state)?;
        write_facts(db, no, state)?;
        if self.planned {
            let begun = if self.rows == Rows::None { self.begun.begun } else { query::begun(db, no)? };
            write_plan_facts(db, no, state, begun)?;
        }
        Ok(Some(no))
    }
}

pub(super) fn count_checks(db: &Store, no: i64, runs: &[CheckRun]) -> Result<(), Trouble> {
    let mut count = db.prepare(
        "INSERT INTO checks (run, digest, name, runs, passes, flakes, took) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (run, digest) DO UPDATE SET name = ?3, runs = checks.runs + ?4, passes = checks.passes + ?5,
         flakes = checks.flakes + ?6, took = checks.took + ?7",
    )?;
    for run in runs {
        let (check, took) = (run.check.as_str(), signed(run.took.0));
        count.execute(values![no, check, run.name, run.runs, run.passes, u32::from(run.flaked), took])?;
    }
    Ok(())
}

/// Keep where checks have passed, for a week.
pub(super) fn keep_passes(db: &Store, no: i64, runs: &[CheckRun], at: Timestamp) -> Result<(), Trouble> {
    for Pass { tree, check, environment } in runs.iter().filter_map(|run| run.pass.as_ref()) {
        let mut keep = db.prepare(
            "INSERT INTO passes (tree, digest, environment, run, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (tree, digest, environment) DO UPDATE SET run = ?4, at = ?5",
        )?;
        keep.execute(values![tree.as_str(), check.as_str(), environment.as_str(), no, at.0])?;
        let week = signed(Span::minutes(7 * 24 * 60).0);
        db.prepare("DELETE FROM passes WHERE at < ?1")?.execute(values![at.0 - week])?;
    }
    Ok(())
}

/// Give a new run its number: one that no event has had, even if the list of runs was lost.
pub(super) fn number_run(db: &Store, id: &RunId, first: &Recorded) -> Result<i64, Trouble> {
    let (name, plan) = match &first.event {
        Event::RunCreated { run, name, plan, .. } if run == id => (name, plan),
        _ => return Err(Trouble::inconsistent(format!("{id} is not the run that is created"))),
    };
    let mut next = db.prepare(
        "SELECT 1 + coalesce(max(no), 0) FROM
         (SELECT max(no) AS no FROM runs UNION ALL SELECT max(no) >> 40 FROM events) AS numbers",
    )?;
    let no: i64 = next.first(values![], |row| row.get(0))?.unwrap_or(1);
    let mut insert = db.prepare(
        "INSERT INTO runs (no, id, seq, layout, name, plan, created, moving) VALUES (?1, ?2, 0, 0, ?3, ?4, ?5, '')",
    )?;
    insert.execute(values![no, id.as_str(), name, plan, first.at.0])?;
    Ok(no)
}

/// The facts of a run that change as it goes.
fn write_facts(db: &Store, no: i64, state: &State) -> Result<(), Trouble> {
    let run = run_of(state)?;
    let mut update = db.prepare("UPDATE runs SET seq = ?2, layout = ?3, moving = ?4 WHERE no = ?1")?;
    update.execute(values![no, signed(state.seq()), LAYOUT, json(&Moving::from_run(run))?])?;
    Ok(())
}

/// The facts of a run that change with the plan.
fn write_plan_facts(db: &Store, no: i64, state: &State, begun: u64) -> Result<(), Trouble> {
    let run = run_of(state)?;
    let facts = json(&Planned { begun, run })?;
    db.prepare("INSERT INTO plans (run, facts) VALUES (?1, ?2) ON CONFLICT (run) DO UPDATE SET facts = ?2")?
        .execute(values![no, facts])?;
    let mut update = db.prepare("UPDATE runs SET name = ?2, plan = ?3, created = ?4 WHERE no = ?1")?;
    update.execute(values![no, run.name, run.plan, run.created.0])?;
    Ok(())
}

fn run_of(state: &State) -> Result<&Run, Trouble> {
    state.run().ok_or_else(|| Trouble::inconsistent("the journal does not begin with a run"))
}

/// Without the columns of the index, which then need not change: most changes keep a task in its lane.
const TOUCH: &str = "UPDATE tasks SET decided = ?8, since = ?9, attempt = ?10, spent = ?11, budget = ?12,
    transient = ?13, conflicts = ?14, fence = ?15, not_before = ?16, waiting = ?17, dead = ?18, flags = ?19,
    spec_seq = ?20, failure_seq = ?21, rest = ?22, room = ?23
    WHERE run = ?1 AND id = ?2 AND lane IS ?3 AND grp = ?4 AND level = ?5 AND priority = ?6 AND turn IS ?7";
/// In the order of the table, which begins as [`super::rows::TASK_COLUMNS`] does.
const PUT: &str =
    "INSERT INTO tasks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
    ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23) ON CONFLICT (run, id) DO UPDATE SET lane = ?3, grp = ?4, level = ?5,
    priority = ?6, turn = ?7, decided = ?8, since = ?9, attempt = ?10, spent = ?11, budget = ?12, transient = ?13,
    conflicts = ?14, fence = ?15, not_before = ?16, waiting = ?17, dead = ?18, flags = ?19, spec_seq = ?20,
    failure_seq = ?21, rest = ?22, room = ?23";

/// The commits by which a task is found. A commit that no longer counts may stay: the query checks the task it finds.
const COUNT: &str = "INSERT INTO needs (run, task, pos, need) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (run, task, pos) DO UPDATE SET need = excluded.need WHERE needs.need <> excluded.need";

/// Which rows a snapshot has before it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    None,
    Some,
}

/// Rows that are handed over at once, so that the threads seldom wait for each other, and how many such chunks may wait.
const CHUNK: usize = 256;
const AHEAD: usize = 16;

fn write_tasks(
    db: &Store,
    no: i64,
    tasks: impl Iterator<Item = Result<(TaskRow, Vec<String>), Trouble>>,
    may_touch: bool,
) -> Result<(), Trouble> {
    // Statements that are not needed are not prepared.
    let mut touch = may_touch.then(|| db.prepare(TOUCH)).transpose()?;
    let mut put = None;
    for row in tasks {
        let (row, commits) = row?;
        let room = row.room();
        let values = values![
            no,
            row.id,
            row.lane,
            row.grp,
            row.level,
            row.priority,
            row.turn,
            row.decided,
            row.since,
            row.attempt,
            row.spent,
            row.budget,
            row.transient,
            row.conflicts,
            row.fence,
            row.not_before,
            row.waiting,
            row.dead,
            row.flags,
            row.spec_seq,
            row.failure_seq,
            row.rest,
            room
        ];
        for (commit, place) in commits.iter().zip(1_i64..) {
            let mut count = db.prepare(COUNT)?;
            count.execute(values![no, row.id, -place, commit])?;
        }
        let touched = touch.as_mut().map_or(Ok(None), |touch| touch.execute(values))?;
        if touched.is_none_or(|touched| touched == 0) {
            let put = match &mut put {
                Some(put) => put,
                None => put.insert(db.prepare(PUT)?),
            };
            put.execute(values)?;
        }
    }
    Ok(())
}

/// Write the rows that changed. Where there are none yet, there is nothing to replace.
fn write_snapshot(db: &Store, no: i64, state: &State, changes: &Changes, rows: Rows) -> Result<(), Trouble> {
    let gone = |id: &TaskId| Trouble::inconsistent(format!("task {id} was changed and is not there"));
    // In the order of the table: many rows at once then fill one page after the other.
    let mut changed: Vec<&TaskId> = changes.tasks.iter().collect();
    changed.sort_unstable_by_key(|id| id.as_str());
    let row = |id: &&TaskId| -> Result<(TaskRow, Vec<String>), Trouble> {
        let task = state.task(id).ok().flatten().ok_or_else(|| gone(id))?;
        Ok((TaskRow::from_task(task)?, commits_of(task).map(commit_key).collect()))
    };
    let may_touch = db.is_embedded() && rows == Rows::Some && may_keep_lanes(&changes.cells);
    if changed.len() < MANY {
        write_tasks(db, no, changed.iter().map(row), may_touch)?;
    } else {
        // One thread makes the rows, and another writes them.
        std::thread::scope(|scope| {
            let (made, rows) = std::sync::mpsc::sync_channel(AHEAD);
            let changed = &changed;
            scope.spawn(move || {
                // Nobody takes the rest if one could not be written.
                let _ = changed
                    .chunks(CHUNK)
                    .try_for_each(|ids| made.send(ids.iter().map(row).collect::<Vec<_>>()).ok());
            });
            write_tasks(db, no, rows.into_iter().flatten(), may_touch)
        })?;
    }
    if !changes.links.is_empty() {
        let mut cut = db.prepare("DELETE FROM needs WHERE run = ?1 AND task = ?2 AND pos >= 0")?;
        let mut link = db.prepare("INSERT INTO needs (run, task, pos, need) VALUES (?1, ?2, ?3, ?4)")?;
        for id in &changes.links {
            if rows == Rows::Some {
                cut.execute(values![no, id.as_str()])?;
            }
            let links = state.links(id).map_err(|_| gone(id))?;
            for (need, pos) in links.needs.iter().zip(0_i64..) {
                link.execute(values![no, id.as_str(), pos, need.as_str()])?;
            }
        }
    }
    for id in &changes.worktrees {
        let has_one = state.task(id).ok().flatten().is_some_and(|task| task.progress.worktree);
        let sql = match has_one {
            true => "INSERT INTO worktrees (run, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            false => "DELETE FROM worktrees WHERE run = ?1 AND id = ?2",
        };
        db.prepare(sql)?.execute(values![no, id.as_str()])?;
    }
    for ((group, level), shifts) in by_cell(&changes.cells) {
        let mut select = db.prepare(
            "SELECT unmet, unsettled, counts FROM cells WHERE run = ?1 AND grp = ?2 AND level = ?3",
        )?;
        let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<String>(2)?));
        let before = match select.first(values![no, group, level], read)? {
            Some((unmet, unsettled, counts)) => Some(CellRow::read(unmet, unsettled, &counts)?),
            None => None,
        };
        let after = before.clone().unwrap_or_default().shifted(&shifts)?;
        let counts = json(&after.counts)?;
        if before.is_some_and(|before| (before.unmet, before.unsettled) == (after.unmet, after.unsettled)) {
            let mut update =
                db.prepare("UPDATE cells SET counts = ?4 WHERE run = ?1 AND grp = ?2 AND level = ?3")?;
            update.execute(values![no, group, level, counts])?;
        } else {
            let mut put = db.prepare(
                "INSERT INTO cells (run, grp, level, unmet, unsettled, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (run, grp, level) DO UPDATE SET unmet = ?4, unsettled = ?5, counts = ?6",
            )?;
            put.execute(values![no, group, level, after.unmet, after.unsettled, counts])?;
        }
    }
    Ok(())
}
