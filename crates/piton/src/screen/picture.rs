//! The run at one moment, as the screen needs it: narrow rows, made from the state that the journal holds.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use piton_core::order::Arrange;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Bill, Bills, Counts, State, Status};
use piton_core::time::Timestamp;
use piton_core::view::{self, GroupStatus, RunStatus};

use crate::screen::text::Ink;

#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub run: RunId,
    /// Where the work goes: `, landing on main`.
    pub onto: String,
    pub status: RunStatus,
    /// An engine works on it.
    pub alive: bool,
    pub groups: Vec<GroupRow>,
    /// By group, then by id.
    pub tasks: Vec<TaskRow>,
    pub counts: Counts,
    /// What was spent so far, as far as it is known.
    pub cost: Option<String>,
    /// What holds the whole run up, such as a usage limit.
    pub held_up: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct GroupRow {
    pub id: String,
    pub title: String,
    pub status: GroupStatus,
    pub counts: Counts,
    /// Its tasks, by their numbers in the picture.
    pub tasks: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    pub id: TaskId,
    pub title: Arc<str>,
    pub status: Status,
    pub since: Timestamp,
    pub attempt: u32,
    pub budget: u32,
    /// What a filter looks at, in lower case: id, title and group.
    known_by: Arc<str>,
}

impl TaskRow {
    /// Whether a word of a filter, in lower case, is in its id, its title, its group or its status.
    pub(super) fn matches(&self, word: &str) -> bool {
        self.known_by.contains(word) || self.status.name().contains(word)
    }
}

/// Titles as the screen shows them, and what filters look at. They are made once: titles seldom change.
#[derive(Debug, Default)]
pub(crate) struct Titles(HashMap<TaskId, (Arc<str>, Arc<str>)>);

impl Titles {
    pub(crate) fn insert(&mut self, id: &TaskId, title: &str, group: &str) {
        let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let known_by = format!("{id} {title} {group}").to_lowercase();
        self.0.insert(id.clone(), (title.into(), known_by.into()));
    }
}

/// What the state does not say.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub status: RunStatus,
    pub onto: String,
    pub alive: bool,
    pub held_up: Vec<String>,
}

/// `None` if the run has no beginning.
pub(crate) fn picture(state: &State, titles: &Titles, around: Surroundings) -> Option<Picture> {
    let run = state.run()?;
    let summary = view::Summary::new(run, state.cells());
    let none: (Arc<str>, Arc<str>) = ("".into(), "".into());
    let mut tasks: Vec<(u32, TaskRow)> = state
        .tasks()
        .filter(|task| !task.removed)
        .map(|task| {
            let (title, known_by) = titles.0.get(&task.id).unwrap_or(&none).clone();
            let row = TaskRow {
                id: task.id.clone(),
                title,
                known_by,
                status: task.status(),
                since: task.since,
                attempt: task.attempt,
                budget: task.budget,
            };
            (task.group, row)
        })
        .collect();
    tasks.arrange_by(|(group, one), (other_group, other)| (group, &one.id).cmp(&(other_group, &other.id)));
    let mut from = 0;
    let mut groups = Vec::new();
    for (number, group) in (0..).zip(summary.groups) {
        let many = tasks[from..].iter().take_while(|(of, _)| *of == number).count();
        let (id, title, status, counts) = (group.id, group.title, group.status, group.counts);
        groups.push(GroupRow { id, title, status, counts, tasks: from..from + many });
        from += many;
    }
    Some(Picture {
        run: run.id.clone(),
        onto: around.onto,
        status: around.status,
        alive: around.alive,
        groups,
        tasks: tasks.into_iter().map(|(_, row)| row).collect(),
        counts: summary.counts,
        cost: cost(&run.used),
        held_up: around.held_up,
    })
}

/// `$4.20`; at least that, if some of it was not reported. `None` if nothing was.
fn cost(bills: &Bills) -> Option<String> {
    let mut sum = Bill::default();
    bills.values().flat_map(|models| models.values()).for_each(|bill| sum.merge(bill));
    let least = if sum.estimated + sum.unmeasured > 0 { "≥ " } else { "" };
    sum.all().cost.map(|micros| format!("{least}${:.2}", view::dollars(micros)))
}

/// A sign and an ink for a status; the sign alone is enough.
pub(super) fn sign(status: Status) -> (&'static str, Ink) {
    let ink = match status {
        Status::Pending | Status::Waiting => Ink::Dim,
        Status::InProgress | Status::Confirming | Status::Verifying => Ink::Busy,
        Status::Verified | Status::Merging => Ink::Busy,
        Status::Completed => Ink::Good,
        Status::Failed | Status::Skipped | Status::Unreachable | Status::PassedOver => Ink::Warning,
        Status::Abandoned | Status::Blocked => Ink::Bad,
    };
    (crate::ui::status_sign(status).0, ink)
}

#[cfg(test)]
pub(super) mod testing {
    use crate::screen::picture::*;

    /// A picture in a few words.
    pub(crate) struct Sketch<'s> {
        pub groups: &'s [&'s str],
        /// Id, title, group, status.
        pub tasks: &'s [(&'s str, &'s str, u32, Status)],
    }

    pub(crate) fn sketch(sketch: &Sketch<'_>) -> Picture {
        let mut all = Counts::default();
        let mut groups = Vec::new();
        let mut from = 0;
        for (number, name) in (0..).zip(sketch.groups) {
            let its: Vec<_> = sketch.tasks.iter().filter(|(_, _, group, _)| *group == number).collect();
            let mut counts = Counts::default();
            its.iter().for_each(|(_, _, _, status)| counts.add(*status, 1));
            all.merge(&counts);
            groups.push(GroupRow {
                id: (*name).to_owned(),
                title: format!("The {name}"),
                status: view::group_status(&counts, piton_core::plan::Exhausted::Continue),
                counts,
                tasks: from..from + its.len(),
            });
            from += its.len();
        }
        let mut titles = Titles::default();
        let tasks = sketch.tasks.iter().map(|(id, title, group, status)| {
            let id = TaskId::new(id).expect("an id");
            titles.insert(&id, title, sketch.groups[*group as usize]);
            let (title, known_by) = titles.0[&id].clone();
            TaskRow { id, title, known_by, status: *status, since: Timestamp(0), attempt: 1, budget: 3 }
        });
        Picture {
            tasks: tasks.collect(),
            run: RunId::new("plan-1a2b3c").expect("an id"),
            onto: ", landing on main".to_owned(),
            status: RunStatus::Running,
            alive: true,
            groups,
            counts: all,
            cost: Some("$4.20".to_owned()),
            held_up: Vec::new(),
        }
    }
}
