//! Lists whose boxes are ticked. A tick is a claim; unticking the box of a completed task is rejected.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Companion, Put, Reconciled};
use crate::chronicle::Chronicle;
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::run::{Report, State, Status, Task};
use crate::system::edit::{Edit, What};
use crate::system::kit::boxes::{self, Ticked};
use crate::system::kit::outline::Word;

/// Why a ticked box does not claim a task whose work was on the branch before.
const LOST: &str = "its work is no longer on the branch; `piton report ID done` claims it again";
/// How many boxes are named one by one: if `git` restores an older version of a list, all of them are unticked.
const NAMED: usize = 3;

/// The completed tasks whose boxes a list has ticked, each with its title there. A task whose title has changed since is another
/// one under the same id: it stays here with the title that it was completed under.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TicksAsWritten")]
pub struct Ticks(pub(super) BTreeMap<TaskId, Tick>);

/// A ticked box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tick {
    title: String,
    /// Where the spec of the task stood in the journal then. If it stands elsewhere now, the run has adopted what the list
    /// says since. 0: that is not known.
    spec: u64,
}

/// Earlier versions kept the titles alone, or the ids.
#[derive(Deserialize)]
#[serde(untagged)]
enum TicksAsWritten {
    Whole(BTreeMap<TaskId, Tick>),
    Titles(BTreeMap<TaskId, String>),
    Ids(BTreeSet<TaskId>),
}

impl From<TicksAsWritten> for Ticks {
    fn from(written: TicksAsWritten) -> Ticks {
        match written {
            TicksAsWritten::Whole(ticks) => Ticks(ticks),
            TicksAsWritten::Titles(titles) => titles.into_iter().collect(),
            TicksAsWritten::Ids(ids) => ids.into_iter().map(|id| (id, String::new())).collect(),
        }
    }
}

impl FromIterator<(TaskId, String)> for Ticks {
    fn from_iter<I: IntoIterator<Item = (TaskId, String)>>(ticks: I) -> Ticks {
        Ticks(ticks.into_iter().map(|(id, title)| (id, Tick { title, spec: 0 })).into_map())
    }
}

impl Ticks {
    /// Whether a list calls a task otherwise than when it was completed.
    fn knows_otherwise(&self, task: &Task, titles: &BTreeMap<TaskId, String>) -> bool {
        let (was, now) = (self.0.get(&task.id), titles.get(&task.id));
        matches!((was, now), (Some(was), Some(now)) if was.says(task) && was.title != *now)
    }
}

impl Tick {
    /// Whether it says what the list called this task when it was completed.
    fn says(&self, task: &Task) -> bool {
        !self.title.is_empty() && (self.spec == 0 || self.spec == task.spec_seq)
    }
}

/// A list in which boxes are ticked, and how its system reads and writes it.
#[derive(Clone, Copy, Debug)]
pub struct TickedList {
    /// What it is called in the plan's folder; `None` if it is the plan itself.
    pub name: Option<&'static str>,
    /// Tasks whose boxes are ticked, with the reason why that does not count, if any.
    pub ticked: fn(&[u8]) -> BTreeMap<TaskId, Option<&'static str>>,
    /// What it calls each of its tasks. Empty: titles say nothing in this system.
    pub titles: fn(&[u8]) -> BTreeMap<TaskId, String>,
    /// The list with its boxes as these tasks stand.
    pub tick: fn(&[u8], &BTreeMap<TaskId, Word>) -> Option<Ticked>,
    /// Whether everything of the second version is in the first, ticks and words for a status aside.
    pub holds: fn(&[u8], &[u8]) -> bool,
    /// Whether a text could be a version of it.
    pub is_like: fn(&[u8]) -> bool,
}

/// What is read from a file whose tasks are ticked, and written into it. Such a file is a [`Companion`].
pub(in crate::system) trait Ticking: Sync {
    /// See [`TickedList::name`].
    fn name(&self) -> Option<&str> {
        None
    }

    /// See [`TickedList::ticked`].
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>>;

    /// See [`TickedList::titles`].
    fn titles(&self, bytes: &[u8]) -> BTreeMap<TaskId, String>;

    /// See [`TickedList::tick`].
    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked>;

    /// See [`TickedList::holds`].
    fn holds(&self, now: &[u8], left: &[u8]) -> bool;

    /// See [`TickedList::is_like`].
    fn is_like(&self, bytes: &[u8]) -> bool;

    /// What is reported about a task that is ticked.
    fn report(&self) -> Report {
        Report::default()
    }

    /// Tasks that are not to be done any more, each with the reason.
    fn unwanted(&self, _bytes: &[u8]) -> Vec<(TaskId, &'static str)> {
        Vec::new()
    }

    /// The changed file with the times of its changes, if the system writes them.
    fn stamped(&self, _before: &[u8], _after: &[u8], _chronicle: &Chronicle) -> Option<Vec<u8>> {
        None
    }

    /// The task whose file it is. `None`: it has all of them.
    fn task(&self) -> Option<&TaskId> {
        None
    }

    /// The file without its ticks; `None` if it has none, or they cannot be taken away.
    fn without_ticks(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let open = self.ticked(bytes).into_keys().map(|id| (id, Word::Pending)).into_map();
        let new = self.tick(bytes, &open)?.bytes;
        (new != bytes).then_some(new)
    }
}

impl Ticking for TickedList {
    fn name(&self) -> Option<&str> {
        self.name
    }

    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        (self.ticked)(bytes)
    }

    fn titles(&self, bytes: &[u8]) -> BTreeMap<TaskId, String> {
        (self.titles)(bytes)
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        (self.tick)(bytes, stand)
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        (self.holds)(now, left)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        (self.is_like)(bytes)
    }
}

impl<T: Ticking> Companion for T {
    fn name(&self) -> Option<&str> {
        Ticking::name(self)
    }

    fn is_list(&self) -> bool {
        true
    }

    fn reconcile(
        &self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        claimed: &[TaskId],
        shown: &Ticks,
    ) -> Reconciled {
        let Some(before) = found else { return Reconciled::default() };
        let mut reconciled = reconcile_ticks(self, before, (state, chronicle), claimed, shown);
        // What lands in this moment is done.
        let may_skip = |task: &Task| {
            !task.removed && !matches!(task.decided, Status::Completed | Status::Skipped | Status::Merging)
        };
        for (id, why) in self.unwanted(before) {
            if matches!(state.task(&id), Ok(Some(task)) if may_skip(task)) {
                let what = What::Unwanted { reason: why.to_owned() };
                reconciled.edits.push(Edit { task: Some(id), what });
            }
        }
        if let Put::Whole(after) = &reconciled.put
            && let Some(stamped) = self.stamped(before, after, chronicle)
        {
            reconciled.put = Put::Whole(stamped);
        }
        reconciled
    }

    fn opened(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.without_ticks(bytes)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        Ticking::is_like(self, bytes)
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        Ticking::holds(self, now, left)
    }
}

impl TickedList {
    /// A file of the plan's folder that is an outline of tasks.
    pub const fn outline(name: &'static str) -> TickedList {
        TickedList {
            name: Some(name),
            ticked: boxes::ticked,
            titles: |_| BTreeMap::new(),
            tick: boxes::tick,
            holds: |now, left| boxes::bare(now).starts_with(&boxes::bare(left)),
            is_like: boxes::has_boxes,
        }
    }
}

/// A ticked box of an open task is a claim. Boxes of completed tasks get ticked, all others opened. If the list calls a
/// completed task otherwise by now, its box is about something that nobody has done, and stays as it is.
fn reconcile_ticks(
    list: &dyn Ticking,
    bytes: &[u8],
    (state, chronicle): (&State, &Chronicle),
    claimed: &[TaskId],
    shown: &Ticks,
) -> Reconciled {
    let (ticked, titles) = (list.ticked(bytes), list.titles(bytes));
    let (mut edits, mut stand) = (Vec::new(), BTreeMap::new());
    let is_claim = |id: &TaskId| {
        let is_open = |task: &Task| task.decided != Status::Completed && !task.removed;
        ticked.contains_key(id) && matches!(state.task(id), Ok(Some(task)) if is_open(task))
    };
    // Of several claims that depend on each other, the first is made now and the others after it.
    let waits = |id: &TaskId| state.links(id).is_ok_and(|links| links.needs.iter().any(is_claim));
    let about: Box<dyn Iterator<Item = &Task>> = match list.task() {
        Some(id) => Box::new(state.task(id).ok().flatten().into_iter()),
        None => Box::new(state.tasks()),
    };
    for task in about.filter(|task| !task.removed) {
        if is_claim(&task.id) && waits(&task.id) {
            continue;
        }
        let is_done = task.decided == Status::Completed;
        let is_lost = chronicle.task(&task.id).is_some_and(|story| story.lost);
        if let Some(against) = ticked.get(&task.id).filter(|_| !is_done) {
            // The tick may be from when it was done: a new one looks the same.
            let against = against.or(is_lost.then_some(LOST));
            let what = match against {
                None => What::ReportDone { report: list.report() },
                Some(why) => {
                    What::Rejected { what: format!("the box of {} was ticked", task.id), why: why.to_owned() }
                }
            };
            edits.push(Edit { task: Some(task.id.clone()), what });
        }
        let is_another = is_done && shown.knows_otherwise(task, &titles);
        if !claimed.contains(&task.id) && !is_another {
            stand.insert(task.id.clone(), word(task.outcome()));
        }
    }
    let put = match list.tick(bytes, &stand) {
        Some(new) if new.bytes != bytes => Put::Whole(new.bytes),
        _ => Put::Nothing,
    };
    let is_done = |id: &TaskId| matches!(state.task(id), Ok(Some(task)) if task.decided == Status::Completed && !task.removed);
    let without_doubt = |ticked: BTreeMap<TaskId, Option<&str>>| -> BTreeSet<TaskId> {
        ticked
            .into_iter()
            .filter(|(id, against)| against.is_none() && is_done(id))
            .map(|(id, _)| id)
            .collect()
    };
    let before = without_doubt(ticked);
    let after = match &put {
        Put::Whole(new) => without_doubt(list.ticked(new)),
        Put::Nothing | Put::Append(_) => before.clone(),
    };
    // A removed line is a change of the plan.
    let is_unticked = |id: &&TaskId| after.contains(*id) && !before.contains(*id);
    let unticked: Vec<&TaskId> = shown.0.keys().filter(is_unticked).collect();
    edits.extend(rejected(&unticked));
    let task_of = |id: &TaskId| state.task(id).ok().flatten();
    let known =
        shown.0.iter().filter(|(id, tick)| is_done(id) && task_of(id).is_some_and(|task| tick.says(task)));
    let mut ticks: BTreeMap<TaskId, Tick> = known.map(|(id, tick)| (id.clone(), tick.clone())).into_map();
    for id in after {
        let title = || titles.get(&id).cloned().unwrap_or_default();
        let tick = || Tick { title: title(), spec: task_of(&id).map_or(0, |task| task.spec_seq) };
        ticks.entry(id.clone()).or_insert_with(tick);
    }
    let ticks = Ticks(ticks);
    Reconciled { notes: Vec::new(), edits, put, ticks }
}

/// Boxes of completed tasks that were unticked. One rejection for all.
fn rejected(unticked: &[&TaskId]) -> Option<Edit> {
    let names: Vec<&str> = unticked.iter().take(NAMED).map(|id| id.as_str()).collect();
    let first = unticked.first()?;
    let (what, why) = match unticked.len() - names.len() {
        0 if names.len() == 1 => {
            (format!("the box of {first} was unticked"), "it is completed, and is ticked again")
        }
        0 => (
            format!("the boxes of {} were unticked", names.join(", ")),
            "they are completed, and are ticked again",
        ),
        more => (
            format!("the boxes of {} and {more} more were unticked", names.join(", ")),
            "they are completed, and are ticked again",
        ),
    };
    let why = format!("{why}; to change or undo what was done, add a task to the plan");
    Some(Edit { task: Some((*first).clone()), what: What::Rejected { what, why } })
}

/// What a list that has words for it says of such a task.
fn word(status: Status) -> Word {
    match status {
        Status::Completed => Word::Completed,
        Status::Abandoned | Status::Blocked => Word::Blocked,
        Status::Pending
        | Status::Failed
        | Status::Skipped
        | Status::Unreachable
        | Status::Waiting
        | Status::PassedOver => Word::Pending,
        Status::InProgress | Status::Confirming | Status::Verifying | Status::Verified | Status::Merging => {
            Word::InProgress
        }
    }
}
