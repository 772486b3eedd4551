//! Reading: whole states, parts of them, and single facts.

use piton_core::chronicle::Chronicle;
use piton_core::plan::{RunId, TaskId, TaskSpec};
use piton_core::run::{Counts, Links, Recorded, Run, State, Status, Task, startable};
use piton_core::time::Timestamp;
use rusqlite::{Connection, params};

use super::error::{JournalError, Trouble};
use super::query::{self, Head};
use super::rows::{PASSED_OVER, TASK_COLUMNS, TaskRow, WAITING, key, lane, unsigned};
use super::{Cell, Journal, RunSummary};

impl Journal {
    /// Every run, newest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, JournalError> {
        self.reading(|db| {
            let mut select = db.prepare_cached(
                "SELECT no, id, name, plan, created, seq, moving FROM runs ORDER BY no DESC",
            )?;
            let mut rows = select.query(())?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                let moving = query::moving(row.get_ref(6)?.as_str().unwrap_or_default())?;
                let mut counts = Counts::default();
                query::cells(db, row.get(0)?)?.iter().for_each(|(_, cell)| counts.merge(&cell.counts()));
                runs.push(RunSummary {
                    id: query::run_id(row.get_ref(1)?.as_str().unwrap_or_default())?,
                    name: row.get(2)?,
                    plan: row.get(3)?,
                    created: Timestamp(row.get(4)?),
                    seq: unsigned(row.get(5)?),
                    engine: moving.engine,
                    stop: moving.stop,
                    stopped: moving.stopped,
                    closed: moving.closed,
                    counts,
                });
            }
            Ok(runs)
        })
    }

    /// The complete state of a run. It comes from the snapshot; where that is missing, old or damaged,
    /// from the events, and the snapshot is made anew.
    pub fn load(&mut self, run: &RunId) -> Result<State, JournalError> {
        let version = self.reading(query::data_version)?;
        let found = self.reading(|db| {
            let head = query::head(db, run)?.ok_or_else(|| Trouble::NoRun(run.clone()))?;
            match query::snapshot(db, &head) {
                Ok(state) => Ok(Some(state)),
                Err(Trouble::Snapshot { .. } | Trouble::Sqlite(_)) if self.writable => Ok(None),
                Err(Trouble::Snapshot { .. } | Trouble::Sqlite(_)) => {
                    query::replay(db, run, head.no).map(Some)
                }
                Err(trouble) => Err(trouble),
            }
        })?;
        let state = match found {
            Some(state) => state,
            None => self.rebuild(run)?,
        };
        self.seen = Some((run.clone(), version, state.seq()));
        Ok(state)
    }

    /// Fold what others appended since, and tell what it was. Costs next to nothing if nobody did.
    pub fn catch_up(&mut self, run: &RunId, state: &mut State) -> Result<Vec<Recorded>, JournalError> {
        self.check_footing().map_err(|trouble| self.error(trouble))?;
        let (version, news) = self.reading(|db| {
            let version = query::data_version(db)?;
            if self.seen.as_ref().is_some_and(|(r, v, s)| r == run && *v == version && *s == state.seq()) {
                return Ok((version, Vec::new()));
            }
            Ok((version, query::foreign(db, run, query::head(db, run)?.as_ref(), state.seq())?))
        })?;
        query::fold(state, &news).map_err(|trouble| JournalError { spoiled: true, ..self.error(trouble) })?;
        // The process that appended them has written their rows too.
        state.take_changes();
        self.seen = Some((run.clone(), version, state.seq()));
        Ok(news)
    }

    /// The facts about a run, without its tasks.
    pub fn facts(&self, run: &RunId) -> Result<Option<Run>, JournalError> {
        self.reading(|db| query::head(db, run)?.map(|head| query::facts(db, &head)).transpose())
    }

    /// A view of a run that holds no task: for what needs the facts and the barriers.
    pub fn view(&self, run: &RunId) -> Result<Option<State>, JournalError> {
        self.reading(|db| query::head(db, run)?.map(|head| query::part(db, &head)).transpose())
    }

    pub fn task(&self, run: &RunId, id: &TaskId) -> Result<Option<Task>, JournalError> {
        self.in_run(run, |db, head| query::task(db, head.no, id))
    }

    /// Who a task waits for, and who waits for it.
    pub fn links(&self, run: &RunId, id: &TaskId) -> Result<Links, JournalError> {
        self.in_run(run, |db, head| query::links(db, head.no, id))
    }

    /// How many tasks have each status, by group and level.
    pub fn cells(&self, run: &RunId) -> Result<Vec<(Cell, Counts)>, JournalError> {
        self.in_run(run, |db, head| {
            let cells = query::cells(db, head.no)?;
            Ok(cells.iter().filter(|(_, c)| !c.is_empty()).map(|(at, cell)| (*at, cell.counts())).collect())
        })
    }

    /// Tasks that may start now, in order, at most `limit` of them. Looks at no others, whatever the
    /// size of the plan.
    pub fn ready(&self, run: &RunId, now: Timestamp, limit: usize) -> Result<Vec<Task>, JournalError> {
        self.in_run(run, |db, head| {
            let mut state = query::part(db, head)?;
            for task in query::candidates(db, head.no, &state, limit)? {
                state.load_task(task.id.clone(), Some(task));
            }
            let Some(run) = state.run() else { return Ok(Vec::new()) };
            let tasks: Vec<Task> = startable(&state, run, now).take(limit).cloned().collect();
            Ok(tasks)
        })
    }

    /// Tasks in progress: the engine's, and those of ledger holders.
    pub fn under_way(&self, run: &RunId) -> Result<Vec<Task>, JournalError> {
        self.in_run(run, |db, head| query::in_lane(db, head.no, lane::UNDER_WAY))
    }

    /// Tasks of one status, in order, at most `limit` of them. Those under way, abandoned or blocked are
    /// found at once, others by looking through all.
    pub fn tasks_in(&self, run: &RunId, status: Status, limit: usize) -> Result<Vec<Task>, JournalError> {
        let lane = match status {
            Status::Abandoned | Status::Blocked => "lane = 4",
            Status::InProgress
            | Status::Confirming
            | Status::Verifying
            | Status::Verified
            | Status::Merging => "lane = 3",
            _ => "flags & 4 = 0",
        };
        // As [`Task::status`] has it: pending and failed tasks behind dead ones are unreachable, some wait for others,
        // and not every skipped one was skipped by a person.
        let sql = format!(
            "SELECT {TASK_COLUMNS} FROM tasks
             WHERE run = ?1 AND {lane} AND CASE
                WHEN decided IN (0, 7) AND dead > 0 THEN 11
                WHEN decided IN (0, 7) AND flags & {WAITING} > 0 THEN 12
                WHEN decided = 10 AND flags & {PASSED_OVER} > 0 THEN 13
                ELSE decided END = ?2
             ORDER BY grp, level, priority, turn LIMIT ?3"
        );
        self.in_run(run, |db, head| {
            let mut select = db.prepare_cached(&sql)?;
            let rows =
                select.query_map(params![head.no, status as u32, query::bound(limit)], TaskRow::read)?;
            rows.map(|row| row?.task()).collect()
        })
    }

    /// What a task asks for, as of the plan last adopted.
    pub fn spec(&self, run: &RunId, id: &TaskId) -> Result<Option<TaskSpec>, JournalError> {
        self.in_run(run, |db, head| {
            let Some(task) = query::task(db, head.no, id)? else { return Ok(None) };
            query::event(db, run, head.no, task.spec_seq)?.map(query::spec_of).transpose()
        })
    }

    /// What the journal tells beyond the state.
    pub fn chronicle(&self, run: &RunId) -> Result<Chronicle, JournalError> {
        const PAGE: usize = 4096;
        let mut chronicle = Chronicle::default();
        loop {
            let page = self.events(run, chronicle.seq, None, PAGE)?;
            page.iter().for_each(|recorded| chronicle.apply(recorded));
            if page.len() < PAGE {
                return Ok(chronicle);
            }
        }
    }

    /// The specs of all tasks, in the order of the plan.
    pub fn specs(&self, run: &RunId) -> Result<Vec<TaskSpec>, JournalError> {
        self.in_run(run, |db, head| {
            let mut select = db.prepare_cached(
                "SELECT e.no, e.at, e.body FROM tasks t JOIN events e ON e.no = ?2 + t.spec_seq
                 WHERE t.run = ?1 AND t.flags & 4 = 0 ORDER BY e.no",
            )?;
            let mut rows = select.query(params![head.no, key(head.no, 0)])?;
            let mut specs = Vec::new();
            while let Some(row) = rows.next()? {
                specs.push(query::spec_of(query::recorded(run, row)?)?);
            }
            Ok(specs)
        })
    }

    pub fn event(&self, run: &RunId, seq: u64) -> Result<Option<Recorded>, JournalError> {
        self.in_run(run, |db, head| query::event(db, run, head.no, seq))
    }

    /// Events after a position, of one task or of all, at most `limit` of them.
    pub fn events(
        &self,
        run: &RunId,
        after: u64,
        task: Option<&TaskId>,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError> {
        self.in_run(run, |db, head| match task {
            None => query::events(db, run, head.no, after, limit),
            Some(task) => {
                let mut select = db.prepare_cached(
                    "SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no < ?3 ORDER BY no LIMIT ?4",
                )?;
                let (from, to) = (key(head.no, after), key(head.no + 1, 0));
                query::collect(run, select.query(params![task.as_str(), from, to, query::bound(limit)])?)
            }
        })
    }

    /// Events that are about no task: those of the run as a whole, in order.
    pub fn events_of_no_task(&self, run: &RunId) -> Result<Vec<Recorded>, JournalError> {
        self.in_run(run, |db, head| {
            let mut select = db.prepare_cached(
                "SELECT no, at, body FROM events WHERE no > ?1 AND no < ?2 AND task IS NULL ORDER BY no",
            )?;
            query::collect(run, select.query(params![key(head.no, 0), key(head.no + 1, 0)])?)
        })
    }

    /// The last events of a run, or of one of its tasks, in order.
    pub fn last_events(
        &self,
        run: &RunId,
        task: Option<&TaskId>,
        limit: usize,
    ) -> Result<Vec<Recorded>, JournalError> {
        self.in_run(run, |db, head| {
            let (from, to, limit) = (key(head.no, 0), key(head.no + 1, 0), query::bound(limit));
            let mut last = match task {
                None => {
                    let mut select = db.prepare_cached(
                        "SELECT no, at, body FROM events WHERE no > ?1 AND no < ?2 ORDER BY no DESC LIMIT ?3",
                    )?;
                    query::collect(run, select.query(params![from, to, limit])?)?
                }
                Some(task) => {
                    let mut select = db.prepare_cached(
                        "SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no < ?3
                         ORDER BY no DESC LIMIT ?4",
                    )?;
                    query::collect(run, select.query(params![task.as_str(), from, to, limit])?)?
                }
            };
            last.reverse();
            Ok(last)
        })
    }

    /// Look into a run; one that does not exist holds nothing.
    fn in_run<T: Default>(
        &self,
        run: &RunId,
        look: impl FnOnce(&Connection, &Head) -> Result<T, Trouble>,
    ) -> Result<T, JournalError> {
        self.reading(|db| match query::head(db, run)? {
            Some(head) => look(db, &head),
            None => Ok(T::default()),
        })
    }
}
