//! Reading: whole states, parts of them, and single facts.

use std::collections::BTreeSet;

use piton_core::chronicle::Chronicle;
use piton_core::order::Arrange;
use piton_core::plan::{Digest, Oid, RunId, TaskId, TaskSpec};
use piton_core::run::{
    Counts, Efforts, Links, Missing, Pass, Proof, Recorded, Run, State, Status, Task, startable,
};
use piton_core::time::{Span, Timestamp};

use super::confirmed::Confirmed;
use super::error::{JournalError, Trouble};
use super::lanes::{has_turn, lane, lanes_of};
use super::query::{self, Head, NextTasks};
use super::rows::{LAYOUT, REMOVED, STATUS, TASK_COLUMN_COUNT, TASK_COLUMNS, TaskRow, key, unsigned};
use super::store::{Store, values};
use super::{Cell, CheckCount, Journal, Outline, RunSummary, write};

/// Few tasks have a worktree. A plain join may go through all tasks and look for the worktree of each.
pub(super) const OF_WORKTREES: &str = "FROM worktrees CROSS JOIN tasks USING (run, id) WHERE run = ?1";

impl Journal {
    /// Every run, newest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, JournalError> {
        self.reading(|db| {
            let mut select =
                db.prepare("SELECT no, id, name, plan, created, seq, moving FROM runs ORDER BY no DESC")?;
            let mut rows = select.query(values![])?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                let moving = query::moving(row.text(6)?)?;
                let mut counts = Counts::default();
                query::cells(db, row.get(0)?)?.iter().for_each(|(_, cell)| counts.merge(&cell.counts()));
                runs.push(RunSummary {
                    id: query::run_id(row.text(1)?)?,
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

    /// The complete state of a run. It comes from the snapshot. If that is missing, old or damaged, it comes from the
    /// events, and the snapshot is made again.
    pub fn load(&mut self, run: &RunId) -> Result<State, JournalError> {
        let version = self.reading(Store::version)?;
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

    /// Fold what other processes appended since, and return it. Costs next to nothing if they appended nothing.
    pub fn catch_up(&mut self, run: &RunId, state: &mut State) -> Result<Vec<Recorded>, JournalError> {
        self.check_footing().map_err(|trouble| self.error(trouble))?;
        let is_sure = self.confirmed.as_ref().is_some_and(|confirmed| confirmed.is_by(&self.store, run));
        if is_sure && !self.broken && self.store.ends_at(run, state.seq()) {
            return Ok(Vec::new());
        }
        let (version, news) = self.reading(|db| {
            let version = db.version()?;
            self.confirmed.as_ref().map_or(Ok(()), |confirmed| confirmed.check(db))?;
            if self.seen.as_ref().is_some_and(|(r, v, s)| r == run && *v == version && *s == state.seq()) {
                return Ok((version, Vec::new()));
            }
            Ok((version, query::foreign(db, run, query::head(db, run)?.as_ref(), state.seq())?))
        })?;
        query::fold(state, &news).map_err(|trouble| JournalError { spoiled: true, ..self.error(trouble) })?;
        // The process that appended them has written their rows too.
        state.take_changes();
        self.seen = Some((run.clone(), version, state.seq()));
        match news.last() {
            Some(last) => {
                let confirmed = Confirmed::by(&self.store, run, last);
                self.confirmed = confirmed.map_err(|trouble| self.error(trouble))?;
            }
            None => self.confirmed.iter_mut().for_each(|confirmed| confirmed.renew(&self.store)),
        }
        Ok(news)
    }

    /// The facts about a run, without its tasks.
    pub fn facts(&self, run: &RunId) -> Result<Option<Run>, JournalError> {
        self.reading(|db| query::head(db, run)?.map(|head| query::facts(db, &head)).transpose())
    }

    /// How often its tasks were tried, and how many tests ran.
    pub fn efforts(&self, run: &RunId) -> Result<Efforts, JournalError> {
        self.in_run(run, |db, head| {
            if head.layout == LAYOUT {
                return Ok(query::facts(db, head)?.efforts);
            }
            let state = query::replay(db, run, head.no)?;
            Ok(state.run().map(|run| run.efforts).unwrap_or_default())
        })
    }

    /// A view of a run that holds no task: for what needs the facts and the barriers.
    pub fn view(&self, run: &RunId) -> Result<Option<State>, JournalError> {
        self.reading(|db| query::head(db, run)?.map(|head| query::part(db, &head)).transpose())
    }

    /// What `ask` answers about a run. It gets a view that is filled with what it asks for, or the whole state if it
    /// asks for too much or the snapshot cannot be used.
    pub fn ask<T>(
        &self,
        run: &RunId,
        ask: impl Fn(&State) -> Result<T, Missing>,
    ) -> Result<Option<T>, JournalError> {
        self.reading(|db| {
            let Some(head) = query::head(db, run)? else { return Ok(None) };
            let whole = match part_by_part(db, &head, &ask) {
                Ok(Some(answer)) => return Ok(Some(answer)),
                Err(trouble @ (Trouble::Snapshot { .. } | Trouble::Sqlite(_))) => Err(trouble),
                Err(trouble) => return Err(trouble),
                Ok(None) => query::snapshot(db, &head),
            };
            let whole = whole.or_else(|_| query::replay(db, run, head.no))?;
            ask(&whole).map(Some).map_err(|missing| write::incomplete(&missing))
        })
    }

    pub fn task(&self, run: &RunId, id: &TaskId) -> Result<Option<Task>, JournalError> {
        self.in_run(run, |db, head| query::task(db, head.no, id))
    }

    /// The tasks that a task waits for, and those that wait for it.
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
            let state = if head.layout == LAYOUT {
                let mut state = query::part(db, head)?;
                for task in query::candidates(db, head.no, &state, limit)? {
                    state.load_task(task.id.clone(), Some(task));
                }
                state
            } else {
                query::replay(db, run, head.no)?
            };
            let Some(run) = state.run() else { return Ok(Vec::new()) };
            let tasks: Vec<Task> = startable(&state, run, now).take(limit).cloned().collect();
            Ok(tasks)
        })
    }

    /// Tasks in progress: the engine's, and those of ledger holders.
    pub fn under_way(&self, run: &RunId) -> Result<Vec<Task>, JournalError> {
        self.in_run(run, |db, head| query::in_lane(db, head.no, lane::UNDER_WAY))
    }

    /// Tasks that are part of the target.
    pub fn landed(&self, run: &RunId) -> Result<Vec<Task>, JournalError> {
        self.in_run(run, |db, head| {
            if head.layout == LAYOUT {
                return query::in_lane(db, head.no, lane::LANDED);
            }
            let has_landed = |task: &&Task| {
                let is_done = !task.removed && task.status() == Status::Completed;
                is_done && matches!(task.proof, Some(Proof::Landed { .. }))
            };
            let state = query::replay(db, run, head.no)?;
            Ok(state.tasks().filter(has_landed).cloned().collect())
        })
    }

    /// Tasks that are reported as done without a proof, in the order of their ids.
    pub fn only_reported(&self, run: &RunId) -> Result<Vec<TaskId>, JournalError> {
        self.in_run(run, |db, head| {
            let mut ids = match head.layout {
                LAYOUT => query::ids_in_lane(db, head.no, lane::REPORTED)?,
                _ => {
                    let state = query::replay(db, run, head.no)?;
                    let is_it = |task: &&Task| !task.removed && task.proof == Some(Proof::Reported);
                    state.tasks().filter(is_it).map(|task| task.id.clone()).collect()
                }
            };
            ids.sort();
            Ok(ids)
        })
    }

    /// Tasks of one status, in order, at most `limit` of them. Only pending ones are looked for among all.
    pub fn tasks_in(&self, run: &RunId, status: Status, limit: usize) -> Result<Vec<Task>, JournalError> {
        self.of_status(run, status, limit, false)
    }

    /// Those that have had this status for longest, with the oldest first.
    pub fn oldest_in(&self, run: &RunId, status: Status, limit: usize) -> Result<Vec<Task>, JournalError> {
        self.of_status(run, status, limit, true)
    }

    fn of_status(
        &self,
        run: &RunId,
        status: Status,
        limit: usize,
        by_age: bool,
    ) -> Result<Vec<Task>, JournalError> {
        self.in_run(run, |db, head| {
            let mut rows = Vec::new();
            if head.layout == LAYOUT {
                let of_lane =
                    |lane: &i64| (format!("lane = {lane}"), if has_turn(*lane) { "turn" } else { "id" });
                let anywhere = || vec![(format!("flags & {REMOVED} = 0"), "turn NULLS FIRST, id")];
                let places = lanes_of(status).map(|lanes| lanes.iter().map(of_lane).collect());
                for (place, order) in places.unwrap_or_else(anywhere) {
                    let order = match by_age {
                        true => "since, id".to_owned(),
                        false => format!("grp, level, priority, {order}"),
                    };
                    let sql = format!(
                        "SELECT {TASK_COLUMNS} FROM tasks WHERE run = ?1 AND {place} AND {STATUS} = ?2
                         ORDER BY {order} LIMIT ?3"
                    );
                    let mut select = db.prepare(&sql)?;
                    rows.extend(
                        select.all(values![head.no, status as u32, query::bound(limit)], TaskRow::read)?,
                    );
                }
            } else {
                let state = query::replay(db, run, head.no)?;
                let has_it = |task: &&Task| !task.removed && task.status() == status;
                rows = state.tasks().filter(has_it).map(TaskRow::from_task).collect::<Result<_, _>>()?;
            }
            if by_age {
                rows.sort_by(|one, other| (one.since, &one.id).cmp(&(other.since, &other.id)));
            } else {
                rows.sort_by_cached_key(|row| {
                    let turn = row.turn.clone().filter(|_| row.lane.is_some_and(has_turn));
                    (row.grp, row.level, row.priority, turn, row.id.clone())
                });
            }
            rows.truncate(limit);
            rows.into_iter().map(TaskRow::task).collect()
        })
    }

    /// The tasks that are not finished, each with its status, in the order of their ids.
    pub fn unfinished(&self, run: &RunId) -> Result<Vec<(TaskId, Status)>, JournalError> {
        self.in_run(run, |db, head| {
            if head.layout != LAYOUT {
                let state = query::replay(db, run, head.no)?;
                let open = state.tasks().filter(|task| !task.removed && !task.status().is_finished());
                return Ok(open.map(|task| (task.id.clone(), task.status())).collect());
            }
            let sql = format!("SELECT id, {STATUS} FROM tasks WHERE run = ?1 AND flags & {REMOVED} = 0");
            let mut select = db.prepare(&sql)?;
            let mut rows = select.query(values![head.no])?;
            let mut open = Vec::new();
            while let Some(row) = rows.next()? {
                let status = query::status(row, 1)?;
                if !status.is_finished() {
                    open.push((query::task_id(row, 0)?, status));
                }
            }
            open.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(open)
        })
    }

    /// Every task that the plan has, in the order of the plan.
    pub fn ids(&self, run: &RunId) -> Result<Vec<TaskId>, JournalError> {
        self.in_run(run, |db, head| {
            let sql =
                format!("SELECT id FROM tasks WHERE run = ?1 AND flags & {REMOVED} = 0 ORDER BY spec_seq");
            let mut select = db.prepare(&sql)?;
            let mut rows = select.query(values![head.no])?;
            let mut ids = Vec::new();
            while let Some(row) = rows.next()? {
                ids.push(query::task_id(row, 0)?);
            }
            Ok(ids)
        })
    }

    /// Every task that the plan has, with its title, in the order of their ids. Nothing else of their specs is decoded.
    pub fn titled(&self, run: &RunId) -> Result<Vec<(Task, String)>, JournalError> {
        self.planned(run, query::title_of, |spec| spec.title)
    }

    /// The same with what each waits for.
    pub fn outlined(&self, run: &RunId) -> Result<Vec<(Task, Outline)>, JournalError> {
        let of_spec = |spec: TaskSpec| Outline { title: spec.title, depends_on: spec.depends_on };
        self.planned(run, query::outline_of, of_spec)
    }

    fn planned<T: Default>(
        &self,
        run: &RunId,
        of_body: impl Fn(&str) -> Result<T, Trouble>,
        of_spec: impl Fn(TaskSpec) -> T,
    ) -> Result<Vec<(Task, T)>, JournalError> {
        self.in_run(run, |db, head| {
            let mut tasks = Vec::new();
            if head.layout == LAYOUT {
                let sql = format!(
                    "SELECT {TASK_COLUMNS}, body FROM tasks JOIN events ON no = ?2 + spec_seq
                     WHERE run = ?1 AND flags & {REMOVED} = 0"
                );
                let mut select = db.prepare(&sql)?;
                let mut rows = select.query(values![head.no, key(head.no, 0)])?;
                while let Some(row) = rows.next()? {
                    let planned = of_body(row.text(TASK_COLUMN_COUNT)?)?;
                    tasks.push((TaskRow::read(row)?.task()?, planned));
                }
            } else {
                for task in query::replay(db, run, head.no)?.tasks().filter(|task| !task.removed) {
                    let spec =
                        query::event(db, run, head.no, task.spec_seq)?.map(query::spec_of).transpose()?;
                    tasks.push((task.clone(), spec.map(&of_spec).unwrap_or_default()));
                }
            }
            tasks.sort_unstable_by(|(one, _), (other, _)| one.id.cmp(&other.id));
            Ok(tasks)
        })
    }

    /// Tasks that have a worktree, or may have one, also if the plan does not have them any more.
    pub fn with_worktree(&self, run: &RunId) -> Result<Vec<Task>, JournalError> {
        self.in_run(run, |db, head| {
            let has_one = |task: &Task| task.progress.worktree;
            if head.layout != LAYOUT {
                return Ok(query::replay(db, run, head.no)?
                    .tasks()
                    .filter(|task| has_one(task))
                    .cloned()
                    .collect());
            }
            let sql = format!("SELECT {TASK_COLUMNS} {OF_WORKTREES}");
            let mut select = db.prepare(&sql)?;
            select.all(values![head.no], |row| TaskRow::read(row)?.task())
        })
    }

    /// The first task of a group, by its id, that cannot complete as things stand.
    pub fn first_dead(&self, run: &RunId, group: u32) -> Result<Option<TaskId>, JournalError> {
        self.in_run(run, |db, head| {
            if head.layout != LAYOUT {
                let state = query::replay(db, run, head.no)?;
                let is_dead = |task: &&Task| !task.removed && task.group == group && task.status().is_dead();
                return Ok(state.tasks().find(is_dead).map(|task| task.id.clone()));
            }
            let mut select = db.prepare("SELECT id FROM tasks WHERE run = ?1 AND lane = ?2 AND grp = ?3")?;
            let mut first: Option<TaskId> = None;
            for lane in [lane::NEEDS_A_PERSON, lane::UNREACHABLE] {
                let mut rows = select.query(values![head.no, lane, group])?;
                while let Some(row) = rows.next()? {
                    let id = query::task_id(row, 0)?;
                    first = Some(first.map_or_else(|| id.clone(), |first| first.min(id.clone())));
                }
            }
            Ok(first)
        })
    }

    /// What a task asks for, as of the plan last adopted.
    pub fn spec(&self, run: &RunId, id: &TaskId) -> Result<Option<TaskSpec>, JournalError> {
        self.in_run(run, |db, head| {
            let Some(task) = query::task(db, head.no, id)? else { return Ok(None) };
            query::event(db, run, head.no, task.spec_seq)?.map(query::spec_of).transpose()
        })
    }

    /// The events of the run as a whole, and of the tasks that something has happened to, in order. What was only planned is
    /// not read, so the cost depends on what has happened, and not on the size of the plan.
    pub fn events_that_happened(&self, run: &RunId) -> Result<Vec<Recorded>, JournalError> {
        self.in_run(run, |db, head| {
            let begun = query::begun(db, head.no)?;
            if begun == 0 {
                return query::events(db, run, head.no, 0, usize::MAX);
            }
            let since = query::events(db, run, head.no, begun, usize::MAX)?;
            // A story begins with what was planned.
            let mut events: Vec<Recorded> = query::event(db, run, head.no, 1)?.into_iter().collect();
            let mut first = db.prepare(
                "SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no <= ?3 ORDER BY no LIMIT 1",
            )?;
            let (from, to) = (key(head.no, 0), key(head.no, begun));
            let touched: BTreeSet<&TaskId> = since.iter().filter_map(|recorded| recorded.event.task()).collect();
            for task in touched {
                events.extend(query::collect(run, first.query(values![task.as_str(), from, to])?)?);
            }
            events.arrange_by_key(|recorded| recorded.seq);
            events.extend(since);
            Ok(events)
        })
    }

    /// How often each check has run: those that flake first, then those that ran most.
    pub fn check_counts(&self, run: &RunId, most: usize) -> Result<Vec<CheckCount>, JournalError> {
        self.in_run(run, |db, head| {
            let mut select = db.prepare(
                "SELECT name, runs, passes, flakes, took FROM checks WHERE run = ?1
                 ORDER BY flakes DESC, runs DESC, name LIMIT ?2",
            )?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            select.all(values![head.no, most], |row| {
                Ok(CheckCount {
                    name: row.get(0)?,
                    runs: row.get(1)?,
                    passes: row.get(2)?,
                    flakes: row.get(3)?,
                    took: Span(unsigned(row.get(4)?)),
                })
            })
        })
    }

    /// Where checks have passed in this run, or since then in any: the newest, so many at most.
    pub fn passes(&self, run: &RunId, since: Timestamp, most: usize) -> Result<Vec<Pass>, JournalError> {
        self.in_run(run, |db, head| {
            let mut select = db.prepare(
                "SELECT tree, digest, environment FROM passes WHERE run = ?1 OR at >= ?2
                 ORDER BY at DESC LIMIT ?3",
            )?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut rows = select.query(values![head.no, since.0, most])?;
            let mut passes = Vec::new();
            while let Some(row) = rows.next()? {
                let text = |at: usize| row.get::<String>(at);
                let (check, environment) = (Digest::from_hex(&text(1)?), Digest::from_hex(&text(2)?));
                // What is not a name of anything proves nothing.
                if let (Ok(tree), Some(check), Some(environment)) = (Oid::new(&text(0)?), check, environment)
                {
                    passes.push(Pass { tree, check, environment });
                }
            }
            Ok(passes)
        })
    }

    /// What the journal holds about some tasks beyond their state.
    pub fn stories<'t>(
        &self,
        run: &RunId,
        tasks: impl IntoIterator<Item = &'t TaskId>,
    ) -> Result<Chronicle, JournalError> {
        let tasks: Vec<&TaskId> = tasks.into_iter().collect();
        self.in_run(run, |db, head| {
            let mut chronicle = Chronicle::default();
            for task in &tasks {
                let events = query::events_of(db, run, head.no, task, 0, usize::MAX)?;
                events.iter().for_each(|recorded| chronicle.apply(recorded));
            }
            Ok(chronicle)
        })
    }

    /// Where the plan that a run began with ends in the journal. Later events tell what has happened. Zero if that is
    /// unknown.
    pub fn begun(&self, run: &RunId) -> Result<u64, JournalError> {
        self.in_run(run, |db, head| query::begun(db, head.no))
    }

    /// What the journal holds beyond the state.
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
            let mut select = db.prepare(
                "SELECT e.no, e.at, e.body FROM tasks t JOIN events e ON e.no = ?2 + t.spec_seq
                 WHERE t.run = ?1 AND t.flags & 4 = 0 ORDER BY e.no",
            )?;
            let mut rows = select.query(values![head.no, key(head.no, 0)])?;
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
            Some(task) => query::events_of(db, run, head.no, task, after, limit),
        })
    }

    /// Events that are about no task: those of the run as a whole, in order.
    pub fn events_of_no_task(&self, run: &RunId) -> Result<Vec<Recorded>, JournalError> {
        self.in_run(run, |db, head| {
            let mut select = db.prepare(
                "SELECT no, at, body FROM events INDEXED BY events_of_no_task
                 WHERE no > ?1 AND no < ?2 AND task IS NULL ORDER BY no",
            )?;
            let begun = query::begun(db, head.no)?;
            let mut events: Vec<Recorded> = Vec::new();
            if begun > 0 {
                events.extend(query::event(db, run, head.no, 1)?);
            }
            let since = select.query(values![key(head.no, begun), key(head.no + 1, 0)])?;
            events.extend(query::collect(run, since)?);
            Ok(events)
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
                    let mut select = db.prepare(
                        "SELECT no, at, body FROM events WHERE no > ?1 AND no < ?2 ORDER BY no DESC LIMIT ?3",
                    )?;
                    query::collect(run, select.query(values![from, to, limit])?)?
                }
                Some(task) => {
                    let mut select = db.prepare(
                        "SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no < ?3
                         ORDER BY no DESC LIMIT ?4",
                    )?;
                    query::collect(run, select.query(values![task.as_str(), from, to, limit])?)?
                }
            };
            last.reverse();
            Ok(last)
        })
    }

    /// Query a run; one that does not exist gives the default.
    fn in_run<T: Default>(
        &self,
        run: &RunId,
        look: impl Fn(&Store, &Head) -> Result<T, Trouble>,
    ) -> Result<T, JournalError> {
        self.reading(|db| match query::head(db, run)? {
            Some(head) => look(db, &head),
            None => Ok(T::default()),
        })
    }
}

/// Load what is asked for until there is an answer; `None` if that takes too long.
fn part_by_part<T>(
    db: &Store,
    head: &Head,
    ask: impl Fn(&State) -> Result<T, Missing>,
) -> Result<Option<T>, Trouble> {
    let mut state = query::part(db, head)?;
    for _ in 0..write::ROUNDS {
        match ask(&state) {
            Ok(answer) => return Ok(Some(answer)),
            Err(missing) => drop(query::fill(db, head.no, &mut state, missing, NextTasks::Needs)?),
        }
    }
    Ok(None)
}
