//! The queries: what is read, and how rows become a state again.

use std::collections::HashMap;
use std::sync::Arc;

use piton_core::plan::{Oid, RunId, Schedule, TaskId, TaskSpec};
use piton_core::run::{Event, Horizon, Links, Missing, Recorded, Run, Selection, State, Status, Task};
use piton_core::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::Trouble;
use super::lanes::lane;
use super::rows::{Begun, CellRow, LAYOUT, Moving, TASK_COLUMNS, TaskRow, commit_key, key, unkey};
pub(super) use super::store::Head;
use super::store::{Row, Rows, Store, Transaction, values};
use super::{Cell, Outline};

impl Head {
    /// Of a run that this connection has just written, and no other connection since.
    pub(super) fn current(no: i64, seq: u64) -> Head {
        Head { no, seq, layout: LAYOUT, moving: String::new() }
    }
}

pub(super) fn head(db: &Store, run: &RunId) -> Result<Option<Head>, Trouble> {
    db.first("SELECT no, seq, layout, moving FROM runs WHERE id = ?1", values![run.as_str()], Head::read)
}

/// The same inside of a transaction, which may have read it when it locked the run.
pub(super) fn locked_head(
    db: &Store,
    moment: &Transaction<'_>,
    run: &RunId,
) -> Result<Option<Head>, Trouble> {
    moment.head().map_or_else(|| head(db, run), |head| Ok(head.cloned()))
}

pub(super) fn moving(text: &str) -> Result<Moving, Trouble> {
    serde_json::from_str(text).map_err(|error| Trouble::snapshot(format!("facts of the run: {error}")))
}

pub(super) fn run_id(text: &str) -> Result<RunId, Trouble> {
    RunId::new(text).map_err(|error| Trouble::snapshot(format!("run {text:?}: {error}")))
}

pub(super) fn facts(db: &Store, head: &Head) -> Result<Run, Trouble> {
    let mut select = db.prepare("SELECT facts FROM plans WHERE run = ?1")?;
    let text: Option<String> = select.first(values![head.no], |row| row.get(0))?;
    let text = text.ok_or_else(|| Trouble::snapshot("the facts of the plan are missing"))?;
    let run: Run = serde_json::from_str(&text)
        .map_err(|error| Trouble::snapshot(format!("facts of the plan: {error}")))?;
    Ok(moving(&head.moving)?.over(run))
}

/// The place of the last event of the plan as the run began with it: the first event makes the run, and its tasks follow.
/// Zero where that is not known.
pub(super) fn begun(db: &Store, no: i64) -> Result<u64, Trouble> {
    let mut select = db.prepare("SELECT facts FROM plans WHERE run = ?1")?;
    let text: Option<String> = select.first(values![no], |row| row.get(0))?;
    let facts = text.and_then(|text| serde_json::from_str::<Begun>(&text).ok());
    Ok(facts.map_or(0, |facts| facts.begun))
}

/// A state that holds the facts and the barriers, and no task yet.
pub(super) fn part(db: &Store, head: &Head) -> Result<State, Trouble> {
    if head.layout != LAYOUT {
        return Err(Trouble::snapshot(format!("layout {}", head.layout)));
    }
    let run = facts(db, head)?;
    let horizon = horizon(db, head.no, run.first_group())?;
    Ok(State::partial(Some(run), head.seq, horizon))
}

fn horizon(db: &Store, no: i64, first_group: u32) -> Result<Horizon, Trouble> {
    let first = |sql: &str| -> Result<Option<Cell>, Trouble> {
        let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?));
        db.prepare(sql)?.first(values![no, first_group], read)
    };
    let unmet = first(
        "SELECT grp, level FROM cells WHERE run = ?1 AND unmet = 1 AND grp >= ?2 ORDER BY grp, level LIMIT 1",
    )?;
    let unsettled = first(
        "SELECT grp, level FROM cells WHERE run = ?1 AND unsettled = 1 AND grp >= ?2 ORDER BY grp, level LIMIT 1",
    )?;
    Ok(Horizon { unmet_group: unmet.map(|(group, _)| group), unmet_cell: unmet, unsettled_cell: unsettled })
}

pub(super) fn cells(db: &Store, no: i64) -> Result<Vec<(Cell, CellRow)>, Trouble> {
    let mut select = db.prepare(
        "SELECT grp, level, unmet, unsettled, counts FROM cells WHERE run = ?1 ORDER BY grp, level",
    )?;
    let mut rows = select.query(values![no])?;
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        let counts = row.text(4)?;
        cells.push(((row.get(0)?, row.get(1)?), CellRow::read(row.get(2)?, row.get(3)?, counts)?));
    }
    Ok(cells)
}

pub(super) fn task(db: &Store, no: i64, id: &TaskId) -> Result<Option<Task>, Trouble> {
    let sql = format!("SELECT {TASK_COLUMNS} FROM tasks WHERE run = ?1 AND id = ?2");
    let row = db.prepare(&sql)?.first(values![no, id.as_str()], TaskRow::read)?;
    row.map(TaskRow::task).transpose()
}

pub(super) fn links(db: &Store, no: i64, id: &TaskId) -> Result<Links, Trouble> {
    let ids = |sql: &str| -> Result<Vec<TaskId>, Trouble> {
        let mut select = db.prepare(sql)?;
        let mut rows = select.query(values![no, id.as_str()])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            ids.push(task_id(row, 0)?);
        }
        Ok(ids)
    };
    Ok(Links {
        needs: ids("SELECT need FROM needs WHERE run = ?1 AND task = ?2 AND pos >= 0 ORDER BY pos")?.into(),
        dependents: ids("SELECT task FROM needs WHERE run = ?1 AND need = ?2")?,
    })
}

/// The tasks that a commit counts for, and perhaps some that it counted for once.
pub(super) fn counted_for(db: &Store, no: i64, commit: &Oid) -> Result<Vec<TaskId>, Trouble> {
    let mut select = db.prepare("SELECT task FROM needs WHERE run = ?1 AND need = ?2")?;
    let mut rows = select.query(values![no, commit_key(commit)])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.push(task_id(row, 0)?);
    }
    Ok(ids)
}

pub(super) fn task_id(row: Row<'_>, column: usize) -> Result<TaskId, Trouble> {
    let text = row.text(column)?;
    TaskId::new(text).map_err(|error| Trouble::snapshot(format!("task {text:?}: {error}")))
}

/// A status by its number.
pub(super) fn status(row: Row<'_>, column: usize) -> Result<Status, Trouble> {
    let number: u32 = row.get(column)?;
    Status::ALL.get(number as usize).copied().ok_or_else(|| Trouble::snapshot(format!("status {number}")))
}

/// Which tasks a caller that lacks the links of a task will need next.
#[derive(Clone, Copy)]
pub(super) enum NextTasks {
    Needs,
    Dependents,
}

/// Load what was missing in a partial state. With the links of a task, also load the tasks that will be needed next.
pub(super) fn fill(
    db: &Store,
    no: i64,
    state: &mut State,
    missing: Missing,
    next: NextTasks,
) -> Result<usize, Trouble> {
    let mut ids = match missing {
        Missing::Tasks(ids) => ids,
        Missing::Links(id) => {
            let links = links(db, no, &id)?;
            let ids = match next {
                NextTasks::Needs => links.needs.to_vec(),
                NextTasks::Dependents => links.dependents.clone(),
            };
            state.load_links(id, links);
            ids
        }
    };
    ids.retain(|id| state.task(id).is_err());
    let count = ids.len();
    for id in ids {
        let task = task(db, no, &id)?;
        if task.is_none() && was_ever(db, no, &id)? {
            return Err(Trouble::snapshot(format!("task {id} is missing")));
        }
        state.load_task(id, task);
    }
    Ok(count)
}

/// Whether the events know a task that the snapshot does not.
fn was_ever(db: &Store, no: i64, id: &TaskId) -> Result<bool, Trouble> {
    let mut select = db.prepare("SELECT 1 FROM events WHERE task = ?1 AND no > ?2 AND no < ?3 LIMIT 1")?;
    Ok(select.first(values![id.as_str(), key(no, 0), key(no + 1, 0)], |_| Ok(()))?.is_some())
}

/// The complete state from its rows, if they fit together.
pub(super) fn snapshot(db: &Store, head: &Head) -> Result<State, Trouble> {
    if head.layout != LAYOUT {
        return Err(Trouble::snapshot(format!("layout {}", head.layout)));
    }
    if last_seq(db, head.no)? != head.seq {
        return Err(Trouble::snapshot("it shows another position of the journal"));
    }
    let mut needs: HashMap<String, Vec<TaskId>> = HashMap::new();
    let mut select =
        db.prepare("SELECT task, need FROM needs WHERE run = ?1 AND pos >= 0 ORDER BY task, pos")?;
    let mut rows = select.query(values![head.no])?;
    while let Some(row) = rows.next()? {
        needs.entry(row.get(0)?).or_default().push(task_id(row, 1)?);
    }
    let none: Arc<[TaskId]> = Arc::from([]);
    let mut tasks = Vec::new();
    for row in task_rows(db, head.no)? {
        let needs = needs.remove(&row.id).map_or_else(|| none.clone(), Arc::from);
        tasks.push((row.task()?, needs));
    }
    let state = State::restore(Some(facts(db, head)?), head.seq, tasks);
    let kept = cells(db, head.no)?;
    let told: Vec<_> = state.cells().map(|(at, counts)| (at, CellRow::from_counts(counts))).collect();
    if !needs.is_empty() || !kept.iter().filter(|(_, cell)| !cell.is_empty()).eq(told.iter()) {
        return Err(Trouble::snapshot("its tasks and its counts do not fit"));
    }
    Ok(state)
}

pub(super) fn task_rows(db: &Store, no: i64) -> Result<Vec<TaskRow>, Trouble> {
    let mut select = db.prepare(&format!("SELECT {TASK_COLUMNS} FROM tasks WHERE run = ?1"))?;
    select.all(values![no], TaskRow::read)
}

pub(super) fn last_seq(db: &Store, no: i64) -> Result<u64, Trouble> {
    let mut select = db.prepare("SELECT max(no) FROM events WHERE no > ?1 AND no < ?2")?;
    let last: Option<i64> = select.first(values![key(no, 0), key(no + 1, 0)], |row| row.get(0))?.flatten();
    Ok(last.map_or(0, |key| unkey(key).1))
}

pub(super) fn recorded(run: &RunId, row: Row<'_>) -> Result<Recorded, Trouble> {
    let (_, seq) = unkey(row.get(0)?);
    let body = row.text(2)?;
    decode(run, seq, Timestamp(row.get(1)?), body)
}

pub(super) fn decode(run: &RunId, seq: u64, at: Timestamp, body: &str) -> Result<Recorded, Trouble> {
    match serde_json::from_str::<Event>(body) {
        Ok(event) => Ok(Recorded { seq, at, event }),
        Err(error) => Err(Trouble::UnknownEvent { run: run.clone(), seq, reason: error.to_string() }),
    }
}

pub(super) fn collect(run: &RunId, mut rows: Rows<'_>) -> Result<Vec<Recorded>, Trouble> {
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(recorded(run, row)?);
    }
    Ok(events)
}

pub(super) fn event(db: &Store, run: &RunId, no: i64, seq: u64) -> Result<Option<Recorded>, Trouble> {
    let mut select = db.prepare("SELECT no, at, body FROM events WHERE no = ?1")?;
    Ok(collect(run, select.query(values![key(no, seq)])?)?.pop())
}

pub(super) fn events(
    db: &Store,
    run: &RunId,
    no: i64,
    after: u64,
    limit: usize,
) -> Result<Vec<Recorded>, Trouble> {
    let mut select =
        db.prepare("SELECT no, at, body FROM events WHERE no > ?1 AND no < ?2 ORDER BY no LIMIT ?3")?;
    collect(run, select.query(values![key(no, after), key(no + 1, 0), bound(limit)])?)
}

pub(super) fn events_of(
    db: &Store,
    run: &RunId,
    no: i64,
    task: &TaskId,
    after: u64,
    limit: usize,
) -> Result<Vec<Recorded>, Trouble> {
    let mut select = db.prepare(
        "SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no < ?3 ORDER BY no LIMIT ?4",
    )?;
    let (from, to) = (key(no, after), key(no + 1, 0));
    collect(run, select.query(values![task.as_str(), from, to, bound(limit)])?)
}

pub(super) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn spec_of(recorded: Recorded) -> Result<TaskSpec, Trouble> {
    match recorded.event {
        Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. } => Ok(*spec),
        _ => Err(Trouble::snapshot(format!("event {} holds no task", recorded.seq))),
    }
}

/// The title in an event that holds a task, without the rest of its spec.
pub(super) fn title_of(body: &str) -> Result<String, Trouble> {
    #[derive(Deserialize)]
    struct Titled {
        title: String,
    }
    part_of_spec::<Titled>(body).map(|part| part.title)
}

/// The part of a spec that an outline of the plan shows.
pub(super) fn outline_of(body: &str) -> Result<Outline, Trouble> {
    part_of_spec(body)
}

fn part_of_spec<T: DeserializeOwned>(body: &str) -> Result<T, Trouble> {
    #[derive(Deserialize)]
    struct Planned<T> {
        spec: T,
    }
    let planned: Result<Planned<T>, _> = serde_json::from_str(body);
    planned.map(|planned| planned.spec).map_err(|error| Trouble::snapshot(format!("a spec: {error}")))
}

/// The events of a run after `seq`.
pub(super) fn foreign(
    db: &Store,
    run: &RunId,
    head: Option<&Head>,
    seq: u64,
) -> Result<Vec<Recorded>, Trouble> {
    let found = head.map_or(0, |head| head.seq);
    match head {
        _ if found == seq => Ok(Vec::new()),
        Some(head) if found > seq => events(db, run, head.no, seq, usize::MAX),
        _ => Err(Trouble::inconsistent(format!("the journal of {run} ends at {found}, before {seq}"))),
    }
}

/// Fold events into a complete state.
pub(super) fn fold<'e>(
    state: &mut State,
    events: impl IntoIterator<Item = &'e Recorded>,
) -> Result<(), Trouble> {
    for recorded in events {
        let (seq, next) = (recorded.seq, state.seq() + 1);
        if seq != next {
            return Err(Trouble::inconsistent(format!("event {next} is missing before {seq}")));
        }
        state.apply(recorded).map_err(|missing| {
            Trouble::inconsistent(format!(
                "event {seq} refers to something that does not exist ({missing:?})"
            ))
        })?;
    }
    Ok(())
}

/// The state as the events alone tell it.
pub(super) fn replay(db: &Store, run: &RunId, no: i64) -> Result<State, Trouble> {
    replay_and(db, run, no, |_| {})
}

/// The same, calling a function for each event.
pub(super) fn replay_and(
    db: &Store,
    run: &RunId,
    no: i64,
    mut look: impl FnMut(&Recorded),
) -> Result<State, Trouble> {
    let mut state = State::new();
    loop {
        // In pieces: a long journal need not be in memory at once.
        let piece = events(db, run, no, state.seq(), 4096)?;
        if piece.is_empty() {
            return Ok(state);
        }
        fold(&mut state, &piece)?;
        piece.iter().for_each(&mut look);
    }
}

pub(super) fn in_lane(db: &Store, no: i64, lane: i64) -> Result<Vec<Task>, Trouble> {
    let sql = format!(
        "SELECT {TASK_COLUMNS} FROM tasks WHERE run = ?1 AND lane = ?2 ORDER BY grp, level, priority, turn"
    );
    let mut select = db.prepare(&sql)?;
    select.all(values![no, lane], |row| TaskRow::read(row)?.task())
}

pub(super) fn ids_in_lane(db: &Store, no: i64, lane: i64) -> Result<Vec<TaskId>, Trouble> {
    let mut select = db.prepare("SELECT id FROM tasks WHERE run = ?1 AND lane = ?2")?;
    let mut rows = select.query(values![no, lane])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.push(task_id(row, 0)?);
    }
    Ok(ids)
}

/// Enough tasks to know the first `limit` that may start: those paused, and the first of each cell as
/// far as the schedule may look. The order of ready tasks depends on the schedule, that of the index
/// does not, so the code that sorts cells merges them.
pub(super) fn candidates(db: &Store, no: i64, state: &State, limit: usize) -> Result<Vec<Task>, Trouble> {
    let Some(run) = state.run() else { return Ok(Vec::new()) };
    if let Selection::Task(id) = &run.session.selection {
        return Ok(task(db, no, id)?.into_iter().collect());
    }
    let mut tasks = in_lane(db, no, lane::PAUSED)?;
    let flow = run.session.schedule == Schedule::Flow;
    let last = match &run.session.selection {
        _ if flow => None,
        Selection::Group(_) => Some(run.first_group()),
        _ => state.horizon().unmet_group,
    };
    let mut next_cell = db.prepare(
        "SELECT grp, level FROM tasks WHERE run = ?1 AND lane = ?2 AND (grp, level) >= (?3, ?4)
         ORDER BY grp, level LIMIT 1",
    )?;
    let of_cell = format!(
        "SELECT {TASK_COLUMNS} FROM tasks WHERE run = ?1 AND lane = ?2 AND grp = ?3 AND level = ?4
         ORDER BY priority, turn LIMIT ?5"
    );
    let mut of_cell = db.prepare(&of_cell)?;
    for lane in [lane::READY, lane::AGAIN] {
        let (mut at, mut group) = ((if flow { 0 } else { run.first_group() }, 0), 0);
        let mut found = 0;
        loop {
            let read = |row: Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let cell: Option<Cell> = next_cell.first(values![no, lane, at.0, at.1], read)?;
            let Some(cell) = cell else { break };
            let enough = !flow && found >= limit && cell.0 != group;
            if enough || last.is_some_and(|last| cell.0 > last) {
                break;
            }
            let before = tasks.len();
            let mut rows = of_cell.query(values![no, lane, cell.0, cell.1, bound(limit)])?;
            while let Some(row) = rows.next()? {
                tasks.push(TaskRow::read(row)?.task()?);
            }
            found += tasks.len() - before;
            group = cell.0;
            at = (cell.0, cell.1.saturating_add(1));
        }
    }
    Ok(tasks)
}
