//! What is true: the fold of the journal.
//!
//! A state is either complete, or holds the part that one command touches. In a part, a task that was not loaded is
//! [`Missing`], never absent: no decision rests on data that was not loaded.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::effort::{Effort, Efforts};
use super::event::{CheckResult, ContextUpdate, Event, Selection, Session, StopMode, StopReason, Verdict};
use super::flakes::Flakes;
use super::line::Line;
use super::load::CheckLoad;
use super::note::ConflictAhead;
use super::overload::Overloads;
use super::provider::Outages;
use super::tally::{Cell, Counts, Horizon, Tally};
use super::task::{Status, Task};
use super::usage::Bills;
use crate::plan::{Digest, Group, Oid, RunId, Schedule, Settings, TaskId};
use crate::time::{Span, Timestamp};

/// What a decision needs and the view does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    Tasks(Vec<TaskId>),
    Links(TaskId),
}

/// Who closed a run, and why. The reason is empty if none was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A stop that may wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// The engine that stopped first.
    pub engine: String,
    pub since: Timestamp,
    pub reason: StopReason,
}

/// The facts about the run as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub name: String,
    pub plan: String,
    pub plan_hash: Digest,
    pub groups: Vec<Group>,
    pub settings: Settings,
    pub target: Option<String>,
    pub base: Option<Oid>,
    pub worktree_dir: Option<String>,
    pub created: Timestamp,
    /// The engine that started last, until it reports its stop. It may have died since: only its lock shows that.
    pub engine: Option<String>,
    pub session: Session,
    /// A stop asked for since the engine began.
    pub stop: Option<StopMode>,
    pub stopped: Option<StopReason>,
    /// The last stop, until there is progress again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<Halt>,
    /// A person closed it, and it has not been worked on since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    /// Tasks that have landed.
    pub landed: u32,
    /// Tasks that judge the whole, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<TaskId>,
    /// An engine has ended the run as complete, on a tree that every gate has seen, and nothing was added since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Tasks holding a parallel slot of the engine.
    pub slots: u32,
    /// Candidates among them, whose checks run where they are to land.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub judged_there: u32,
    /// Tasks abandoned or blocked.
    pub dead: u32,
    /// Transient failures in a row.
    pub streak: u32,
    /// Providers that let no agent work at the moment.
    #[serde(default, skip_serializing_if = "Outages::is_empty")]
    pub outages: Outages,
    /// Providers whose servers fail.
    #[serde(default, skip_serializing_if = "Overloads::is_empty")]
    pub overloads: Overloads,
    /// How long all agents have worked.
    #[serde(default)]
    pub worked: Span,
    /// The task whose landing is being carried out.
    pub merging: Option<TaskId>,
    /// The landing line: tasks that are proven together.
    #[serde(default, skip_serializing_if = "Line::is_new")]
    pub line: Line,
    /// Checks that were red and then passed on the same tree.
    #[serde(default, skip_serializing_if = "Flakes::is_empty")]
    pub flakes: Flakes,
    /// What check runs use of the machine.
    #[serde(default, skip_serializing_if = "CheckLoad::is_unknown")]
    pub check_load: CheckLoad,
    /// How the last context update ended, until more is completed.
    #[serde(default)]
    pub context: Option<ContextUpdate>,
    /// What its agents have used, as far as their clients report it.
    #[serde(default, skip_serializing_if = "Bills::is_empty")]
    pub used: Bills,
    /// What a person should look at in work that passed, by task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noticed: BTreeMap<TaskId, String>,
    /// Conflicts that are coming, by the task that will have to resolve them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts_ahead: BTreeMap<TaskId, Vec<ConflictAhead>>,
    /// What waits for a person and was seen, by who saw it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, BTreeSet<String>>,
    /// When settings were last adopted while this engine was running, and which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<(Timestamp, Vec<String>)>,
    /// How often its tasks were tried, and how many tests ran.
    #[serde(default, skip_serializing_if = "Efforts::is_empty")]
    pub efforts: Efforts,
}

impl Run {
    pub fn stops_at_once(&self) -> bool {
        self.stop == Some(StopMode::AtOnce)
    }

    /// Whether this is all that is known of conflicts of a task that are coming.
    pub(super) fn is_told_ahead(&self, task: &TaskId, conflicts: &[ConflictAhead]) -> bool {
        self.conflicts_ahead.get(task).map_or(&[][..], Vec::as_slice) == conflicts
    }

    /// A task has come to another status: which conflicts are not coming any more?
    fn look_back(&mut self, task: &Task) {
        let after = task.status();
        let is_over = after == Status::Pending || after.is_settled();
        // From here on the landing tells.
        if is_over || task.is_candidate() || after == Status::Merging {
            self.conflicts_ahead.remove(&task.id);
        }
        if is_over && after != Status::Completed {
            let conflicts = self.conflicts_ahead.values_mut();
            conflicts.for_each(|all| all.retain(|conflict| conflict.with.as_ref() != Some(&task.id)));
            self.conflicts_ahead.retain(|_, all| !all.is_empty());
        }
    }

    /// How many of the engine's places for agents are taken. A candidate whose checks run where it is to land leaves its
    /// place to the next task, so that larger groups are proven together. No more than that run ahead: work on an old
    /// target meets more conflicts, and of tasks that are done one at a time none does.
    pub fn places_taken(&self) -> u32 {
        let ahead = self.session.max_parallel.saturating_sub(1).min(self.judged_there);
        self.slots.saturating_sub(ahead).min(self.session.max_parallel)
    }

    /// How many checks of candidates for landing run at the same time.
    pub fn landing_checks_at_once(&self) -> u32 {
        let most = self.session.landing_parallel;
        if self.session.landing_by_load { self.check_load.checks(most) } else { most }
    }

    /// How many of them may be those of one proof. Each has a worktree of its own, which may have to be built first. The
    /// first proof has one, and shows what a check takes.
    pub fn lanes_at_once(&self) -> u32 {
        let is_seen = !self.session.landing_by_load || self.check_load.is_seen();
        if is_seen { self.landing_checks_at_once() } else { 1 }
    }

    /// How many proofs there are at the same time.
    pub fn landing_window(&self) -> u32 {
        self.check_load.proofs(self.landing_checks_at_once())
    }

    pub fn group(&self, index: u32) -> Option<&Group> {
        self.groups.get(index as usize)
    }

    /// Keep what the checks of a task noticed, for a bounded number of tasks: it is shown with the run.
    pub(super) fn notice(&mut self, task: &TaskId, results: &[CheckResult]) {
        const MOST: usize = 200;
        let reason = results.iter().find_map(|result| match &result.verdict {
            Verdict::Noticed { reason } => Some(reason.clone()),
            _ => None,
        });
        if let Some(reason) = reason.filter(|_| self.noticed.len() < MOST || self.noticed.contains_key(task))
        {
            self.noticed.insert(task.clone(), reason);
        }
    }

    /// An engine has got on with the work.
    pub(super) fn moves_on(&mut self) {
        if self.engine.is_some() {
            self.halt = None;
        }
    }

    /// The engine stops. If it met nothing but what the one before had stopped for, that stop goes on.
    pub(super) fn halts(&mut self, engine: &str, reason: &StopReason, at: Timestamp) {
        // Each engine dies once.
        let is_same = |halt: &Halt| {
            discriminant(&halt.reason) == discriminant(reason)
                && !halt.reason.is_death()
                && !reason.is_death()
        };
        let before = self.halt.take().filter(is_same);
        let (engine, since) =
            before.map_or_else(|| (engine.to_owned(), at), |halt| (halt.engine, halt.since));
        self.halt = Some(Halt { engine, since, reason: reason.clone() });
    }

    /// The first group this session looks at.
    pub fn first_group(&self) -> u32 {
        match &self.session.selection {
            Selection::From(id) | Selection::Group(id) => {
                self.groups.iter().position(|g| &g.id == id).and_then(|i| u32::try_from(i).ok()).unwrap_or(0)
            }
            Selection::All | Selection::Task(_) => 0,
        }
    }
}

/// The tasks that a task waits for, and those that wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    pub needs: Arc<[TaskId]>,
    pub dependents: Vec<TaskId>,
}

/// The place of a task in the ready queue. The order of the fields is the order of the queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReadyKey {
    /// The group and the level are zero where the schedule ignores them.
    group: u32,
    level: u32,
    priority: u32,
    /// The task with the longest chain of dependents comes first.
    tail: Reverse<u32>,
    pub(super) task: TaskId,
}

impl ReadyKey {
    /// No key of this group or a later one is less.
    pub(super) fn least_of(group: u32) -> ReadyKey {
        let task = TaskId::new("0").expect("a digit is a valid id");
        ReadyKey { group, level: 0, priority: 0, tail: Reverse(u32::MAX), task }
    }
}

#[derive(Clone, Debug, Default)]
pub struct State {
    pub(super) run: Option<Run>,
    pub(super) seq: u64,
    /// Every task of the run is in here, so one that is not does not exist.
    complete: bool,
    pub(super) tasks: BTreeMap<TaskId, Task>,
    absent: BTreeSet<TaskId>,
    pub(super) links: BTreeMap<TaskId, Links>,
    /// Of a partial state, in place of the tally.
    horizon: Option<Horizon>,
    tally: Tally,
    pub(super) ready: BTreeSet<ReadyKey>,
    pub(super) later: BTreeSet<(Timestamp, ReadyKey)>,
    pub(super) active: BTreeSet<TaskId>,
    pub(super) queue: BTreeSet<(u64, TaskId)>,
    pub(super) cleaning: BTreeSet<TaskId>,
    landings: BTreeMap<u32, TaskId>,
    /// The landings among them of tasks that agents judge.
    reviewed: BTreeSet<u32>,
    pub(super) changes: Changes,
}

/// What the events since the last look have changed: what a snapshot has to write.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub tasks: BTreeSet<TaskId>,
    pub links: BTreeSet<TaskId>,
    pub cells: BTreeMap<(Cell, Status), i64>,
    /// Tasks that got a worktree, or have none any more.
    pub worktrees: BTreeSet<TaskId>,
}

impl State {
    /// The state before the first event of a run.
    pub fn new() -> State {
        State { complete: true, ..State::default() }
    }

    /// A view of a run, to be filled with what a command touches.
    pub fn partial(run: Option<Run>, seq: u64, horizon: Horizon) -> State {
        State { run, seq, horizon: Some(horizon), ..State::default() }
    }

    /// A complete state from its snapshot.
    pub fn restore(
        run: Option<Run>,
        seq: u64,
        tasks: impl IntoIterator<Item = (Task, Arc<[TaskId]>)>,
    ) -> State {
        let mut state = State { run, seq, ..State::new() };
        for (task, needs) in tasks {
            let id = task.id.clone();
            state.link(&id, &needs);
            state.index(&task);
            state.tasks.insert(id, task);
        }
        state.changes = Changes::default();
        state
    }

    /// Fill a partial state.
    pub fn load_task(&mut self, id: TaskId, task: Option<Task>) {
        match task {
            Some(task) => {
                self.index(&task);
                self.tasks.insert(id, task);
            }
            None => {
                self.absent.insert(id);
            }
        }
        self.changes = Changes::default();
    }

    pub fn load_links(&mut self, id: TaskId, links: Links) {
        self.links.insert(id, links);
    }

    pub fn seq(&self) -> u64 {
        self.seq
    }

    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// The task, or `None` if the run has no such task.
    pub fn task(&self, id: &TaskId) -> Result<Option<&Task>, Missing> {
        match self.tasks.get(id) {
            Some(task) => Ok(Some(task)),
            None if self.complete || self.absent.contains(id) => Ok(None),
            None => Err(Missing::Tasks(vec![id.clone()])),
        }
    }

    pub fn links(&self, id: &TaskId) -> Result<&Links, Missing> {
        self.links.get(id).ok_or_else(|| Missing::Links(id.clone()))
    }

    /// The tasks that the engine is at work on.
    pub fn active(&self) -> impl Iterator<Item = &Task> {
        self.active.iter().filter_map(|id| self.tasks.get(id))
    }

    /// Every task of a complete state, in the order of ids.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    pub fn horizon(&self) -> Horizon {
        self.horizon.unwrap_or_else(|| self.tally.horizon(self.run.as_ref().map_or(0, Run::first_group)))
    }

    pub fn cells(&self) -> impl Iterator<Item = (Cell, &Counts)> {
        self.tally.cells()
    }

    /// How many tasks may soon be under way at once: with those that are, whatever can begin now; or instead of them, what
    /// can begin when they are done.
    pub fn soon_under_way(&self) -> usize {
        let mut freed: BTreeMap<&TaskId, u32> = BTreeMap::new();
        for links in self.active.iter().filter_map(|id| self.links.get(id)) {
            links.dependents.iter().for_each(|id| *freed.entry(id).or_default() += 1);
        }
        let begins = |(id, met): &(&TaskId, u32)| {
            self.tasks.get(*id).is_some_and(|task| task.waiting <= *met && !task.status().is_settled())
        };
        self.ready.len() + self.active.len().max(freed.into_iter().filter(begins).count())
    }

    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.tally.cells().for_each(|(_, counts)| sum.merge(counts));
        sum
    }

    /// Whether every task of a complete state is completed, or was skipped by a person.
    pub fn is_complete(&self) -> bool {
        let counts = self.counts();
        counts.sum(Status::is_finished) == counts.total()
    }

    /// Tasks that landed when `since` others had, in order.
    pub fn landed_since(&self, since: u32) -> impl Iterator<Item = &TaskId> {
        self.landings.range(since..).map(|(_, task)| task)
    }

    /// Whether one of them is judged by agents.
    pub(super) fn is_reviewed_since(&self, since: u32) -> bool {
        self.reviewed.range(since..).next().is_some()
    }

    pub fn take_changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }

    /// The same truth: equal facts, whatever was changed on the way. For `doctor` and the tests.
    pub fn agrees_with(&self, other: &State) -> bool {
        self.run == other.run
            && self.tasks == other.tasks
            && self.tally == other.tally
            && self.compared_links() == other.compared_links()
    }

    /// Links without the order of dependents, and without names that no task refers to any more.
    fn compared_links(&self) -> BTreeMap<&TaskId, (&[TaskId], BTreeSet<&TaskId>)> {
        self.links
            .iter()
            .filter(|(_, links)| !links.needs.is_empty() || !links.dependents.is_empty())
            .map(|(id, links)| (id, (&*links.needs, links.dependents.iter().collect())))
            .collect()
    }

    pub(super) fn link(&mut self, id: &TaskId, needs: &Arc<[TaskId]>) {
        let links = self.links.entry(id.clone()).or_default();
        let old = std::mem::replace(&mut links.needs, needs.clone());
        for need in old.iter().filter(|need| !needs.contains(need)) {
            if let Some(links) = self.links.get_mut(need) {
                links.dependents.retain(|dependent| dependent != id);
            }
        }
        for need in needs.iter().filter(|need| !old.contains(need)) {
            self.links.entry(need.clone()).or_default().dependents.push(id.clone());
        }
        self.changes.links.insert(id.clone());
    }

    /// Put a new task into a state, and into every set that it belongs to.
    pub(super) fn enter(&mut self, task: Task) {
        self.index(&task);
        self.changes.tasks.insert(task.id.clone());
        self.tasks.insert(task.id.clone(), task);
    }

    pub(super) fn on_run(&mut self, change: impl FnOnce(&mut Run)) {
        if let Some(run) = &mut self.run {
            change(run);
        }
    }

    /// Take an event into account that says how often a task was tried, or how many tests ran. No index depends on that.
    pub(super) fn count_effort(&mut self, event: &Event) -> Result<(), Missing> {
        let Some(id) = event.task().filter(|_| Effort::default().after(event).is_some()) else {
            return Ok(());
        };
        match (self.tasks.get_mut(id), &mut self.run) {
            (Some(task), Some(run)) => {
                if let Some(after) = task.effort.after(event).filter(|after| *after != task.effort) {
                    run.efforts.shift(task.effort, after);
                    task.effort = after;
                    self.changes.tasks.insert(id.clone());
                }
                Ok(())
            }
            // What is said about a task that does not exist counts for none.
            (None, _) if !self.complete && !self.absent.contains(id) => Err(Missing::Tasks(vec![id.clone()])),
            _ => Ok(()),
        }
    }

    /// Change a task and everything derived from it: indexes, counts, and what its dependents wait for.
    pub(super) fn update(
        &mut self,
        id: &TaskId,
        at: Timestamp,
        change: impl FnOnce(&mut Task),
    ) -> Result<(), Missing> {
        let mut change = Some(change);
        self.update_dyn(id, at, &mut |task| change.take().into_iter().for_each(|change| change(task)))
    }

    /// The same, compiled once for all changes.
    fn update_dyn(
        &mut self,
        id: &TaskId,
        at: Timestamp,
        change: &mut dyn FnMut(&mut Task),
    ) -> Result<(), Missing> {
        let mut change = Some(change);
        // An abandoned task makes its dependents unreachable, and they theirs: a list, not recursion.
        let mut todo: Vec<(TaskId, [i64; 4])> = vec![(id.clone(), [0; 4])];
        while let Some((id, [waiting, dead, held, open])) = todo.pop() {
            let Some(mut task) = self.tasks.remove(&id) else { return Err(Missing::Tasks(vec![id])) };
            self.unindex(&task);
            let before = task.status();
            let slot_before = task.is_engines() && before.holds_slot();
            let judged_before = slot_before && task.is_candidate();
            let dead_before = task.is_stuck();
            let open_before = task.has_open_request();
            let worktree_before = task.progress.worktree;
            if let Some(change) = change.take() {
                change(&mut task);
            }
            task.waiting = shifted(task.waiting, waiting);
            task.dead = shifted(task.dead, dead);
            task.held = shifted(task.held, held);
            task.open = shifted(task.open, open);
            let after = task.status();
            if before != after {
                task.since = at;
            }
            let slot_after = task.is_engines() && after.holds_slot();
            let judged_after = slot_after && task.is_candidate();
            let dead_after = task.is_stuck();
            self.on_run(|run| {
                run.slots = shifted(run.slots, i64::from(slot_after) - i64::from(slot_before));
                run.judged_there =
                    shifted(run.judged_there, i64::from(judged_after) - i64::from(judged_before));
                run.dead = shifted(run.dead, i64::from(dead_after) - i64::from(dead_before));
                if !task.is_engines() {
                    run.left_alone(&id);
                }
                if !run.conflicts_ahead.is_empty() && before != after {
                    run.look_back(&task);
                }
                match after {
                    _ if task.is_candidate() => {}
                    Status::Merging if task.progress.intent.is_some() => {}
                    Status::Completed if before != after && task.progress.landed_no.is_some() => {
                        run.line.land(&id, at);
                    }
                    _ if run.line.knows(&id) => run.line.leave(&id),
                    _ => {}
                }
            });
            let waiting = i64::from(before.satisfies()) - i64::from(after.satisfies());
            let dead = i64::from(after.is_dead()) - i64::from(before.is_dead());
            let held = i64::from(after == Status::Waiting) - i64::from(before == Status::Waiting);
            let open = i64::from(task.has_open_request()) - i64::from(open_before);
            self.index(&task);
            if task.progress.worktree != worktree_before {
                self.changes.worktrees.insert(id.clone());
            }
            self.tasks.insert(id.clone(), task);
            let shift = [waiting, dead, held, open];
            if shift != [0; 4] {
                let links = self.links.get(&id).ok_or_else(|| Missing::Links(id.clone()))?;
                todo.extend(links.dependents.iter().map(|dependent| (dependent.clone(), shift)));
            }
            self.changes.tasks.insert(id);
        }
        Ok(())
    }

    fn key(&self, task: &Task) -> ReadyKey {
        let schedule = self.run.as_ref().map_or(Schedule::Layered, |run| run.session.schedule);
        let (group, level) = match schedule {
            Schedule::Layered => (task.group, 0),
            Schedule::Batch => (task.group, task.level),
            Schedule::Flow => (0, 0),
        };
        let tail = Reverse(task.tail);
        ReadyKey { group, level, priority: task.priority, tail, task: task.id.clone() }
    }

    /// Put a task into every set it belongs to. Only this function decides what belongs where.
    pub(super) fn index(&mut self, task: &Task) {
        self.place(task, Change::Enter);
    }

    fn unindex(&mut self, task: &Task) {
        self.place(task, Change::Leave);
    }

    fn place(&mut self, task: &Task, change: Change) {
        let status = task.status();
        self.enqueue(task, change);
        if task.is_engines() && (status.holds_slot() || status == Status::Merging) {
            set(&mut self.active, task.id.clone(), change);
        }
        if let (true, Some(position)) = (task.is_candidate(), task.progress.queued) {
            set(&mut self.queue, (position, task.id.clone()), change);
        }
        if status == Status::Completed && task.progress.worktree && task.progress.kept.is_none() {
            set(&mut self.cleaning, task.id.clone(), change);
        }
        if let (Status::Completed, Some(no)) = (status, task.progress.landed_no) {
            match change {
                Change::Enter => drop(self.landings.insert(no, task.id.clone())),
                Change::Leave => drop(self.landings.remove(&no)),
            }
            if !task.reviews.is_empty() {
                set(&mut self.reviewed, no, change);
            }
        }
        if !task.removed {
            let cell = (task.group, task.level);
            if self.complete {
                match change {
                    Change::Enter => self.tally.enter(cell, status),
                    Change::Leave => self.tally.leave(cell, status),
                }
            }
            *self.changes.cells.entry((cell, status)).or_default() += match change {
                Change::Enter => 1,
                Change::Leave => -1,
            };
        }
    }

    pub(super) fn is_ready(&self, task: &Task) -> bool {
        self.ready.contains(&self.key(task))
    }

    fn enqueue(&mut self, task: &Task, change: Change) {
        let may_begin = matches!(task.status(), Status::Pending | Status::Failed) && !task.removed;
        if may_begin && self.is_met(task) {
            let key = self.key(task);
            match task.not_before {
                None => set(&mut self.ready, key, change),
                Some(time) => set(&mut self.later, (time, key), change),
            }
        }
    }

    /// The schedule changed, and with it the order of the ready queue.
    pub(super) fn reorder(&mut self) {
        self.ready.clear();
        self.later.clear();
        let tasks = std::mem::take(&mut self.tasks);
        tasks.values().for_each(|task| self.enqueue(task, Change::Enter));
        self.tasks = tasks;
    }
}

/// What happens to a task in a set that it belongs to.
#[derive(Clone, Copy)]
enum Change {
    Enter,
    Leave,
}

fn set<T: Ord>(members: &mut BTreeSet<T>, key: T, change: Change) {
    match change {
        Change::Enter => members.insert(key),
        Change::Leave => members.remove(&key),
    };
}

fn shifted(n: u32, by: i64) -> u32 {
    u32::try_from((i64::from(n) + by).max(0)).unwrap_or(u32::MAX)
}
