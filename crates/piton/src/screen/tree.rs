//! The tree of groups and tasks: what is folded, what is filtered, where one is. It holds numbers of rows, so that ten
//! thousand tasks cost no more than their numbers.

use std::collections::BTreeMap;

use piton_core::plan::TaskId;
use piton_core::run::Status;
use piton_core::view::GroupStatus;

use crate::screen::pane::Move;
use crate::screen::picture::{GroupRow, Picture, TaskRow};

/// A plan with more tasks than this shows only the groups that are in progress or stuck, until one unfolds others.
const SMALL: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Group(usize),
    Task(usize),
}

/// What is selected, by its name: numbers change when the plan does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Selected {
    Group(String),
    Task(TaskId),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    rows: Vec<Row>,
    cursor: usize,
    top: usize,
    selected: Option<Selected>,
    /// What the person folded or unfolded.
    folds: BTreeMap<String, bool>,
    filter: String,
    matches: usize,
}

impl Tree {
    /// Make the rows again, for another picture, filter or fold. One stays at what is selected.
    pub(super) fn build(&mut self, picture: &Picture, height: usize) {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let is_match = |task: &TaskRow| words.iter().all(|word| task.matches(word));
        self.rows.clear();
        self.matches = 0;
        for (number, group) in picture.groups.iter().enumerate() {
            if words.is_empty() {
                self.rows.push(Row::Group(number));
                if !self.is_folded(picture, group) {
                    self.rows.extend(group.tasks.clone().map(Row::Task));
                }
                continue;
            }
            let found = group.tasks.clone().filter(|task| picture.tasks.get(*task).is_some_and(is_match));
            let begin = self.rows.len();
            self.rows.push(Row::Group(number));
            self.rows.extend(found.map(Row::Task));
            let found = self.rows.len() - begin - 1;
            self.matches += found;
            if found == 0 {
                self.rows.truncate(begin);
            }
        }
        self.find_again(picture);
        self.settle(height);
    }

    fn find_again(&mut self, picture: &Picture) {
        let is_selected = |row: &Row| match (&self.selected, row) {
            (Some(Selected::Group(id)), Row::Group(at)) => picture.groups[*at].id == *id,
            (Some(Selected::Task(id)), Row::Task(at)) => picture.tasks[*at].id == *id,
            _ => false,
        };
        let place = self.rows.iter().position(is_selected);
        if let Some(place) = place {
            self.cursor = place;
            return;
        }
        if self.selected.is_none() || !self.filter.is_empty() {
            // At first, and in what a filter found, the first task that is in progress or needs a person.
            let tasks = || self.rows.iter().enumerate().filter_map(task_of);
            let first = tasks().find(|(_, task)| picture.tasks[*task].is_notable());
            let first = first.or_else(|| tasks().next());
            self.cursor = first.map_or(0, |(row, _)| row);
        }
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        self.select(picture);
    }

    fn select(&mut self, picture: &Picture) {
        self.selected = self.rows.get(self.cursor).map(|row| match row {
            Row::Group(at) => Selected::Group(picture.groups[*at].id.clone()),
            Row::Task(at) => Selected::Task(picture.tasks[*at].id.clone()),
        });
    }

    pub(super) fn settle(&mut self, height: usize) {
        let lowest = (self.cursor + 1).saturating_sub(height.max(1));
        self.top = self.top.clamp(lowest, self.cursor);
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    fn is_folded(&self, picture: &Picture, group: &GroupRow) -> bool {
        let usual = picture.tasks.len() > SMALL
            && matches!(group.status, GroupStatus::Completed | GroupStatus::Pending)
            && picture.groups.len() > 1;
        self.folds.get(&group.id).copied().unwrap_or(usual)
    }

    /// Whether a group that is drawn shows its tasks.
    pub(super) fn is_open(&self, picture: &Picture, group: usize) -> bool {
        !self.filter.is_empty() || !self.is_folded(picture, &picture.groups[group])
    }

    pub(super) fn go(&mut self, to: Move, picture: &Picture, height: usize) {
        let last = self.rows.len().saturating_sub(1);
        let page = height.saturating_sub(1).max(1);
        self.cursor = to.from(self.cursor, last, page);
        self.select(picture);
        self.settle(height);
    }

    /// Go to the next task that is in progress or needs a person, or to the one before, whatever is folded. False if there
    /// is none.
    pub(super) fn go_to_notable(&mut self, forward: bool, picture: &Picture, height: usize) -> bool {
        let here = match self.rows.get(self.cursor) {
            Some(Row::Task(task)) => *task,
            Some(Row::Group(group)) => picture.groups[*group].tasks.start.wrapping_sub(usize::from(forward)),
            None => return false,
        };
        let len = picture.tasks.len();
        let step = |step: usize| match forward {
            true => here.wrapping_add(step) % len.max(1),
            false => (here.wrapping_add(len * 2) - step) % len.max(1),
        };
        let Some(task) = (1..=len).map(step).find(|at| picture.tasks[*at].is_notable()) else { return false };
        self.show(&picture.tasks[task].id.clone(), picture, height);
        true
    }

    /// Select a task. Its group is unfolded, and a filter that hides it is dropped.
    pub(super) fn show(&mut self, id: &TaskId, picture: &Picture, height: usize) {
        let Some(at) = picture.tasks.iter().position(|task| task.id == *id) else { return };
        let group = picture.groups.iter().find(|group| group.tasks.contains(&at));
        if let Some(group) = group.filter(|group| self.is_folded(picture, group)) {
            self.folds.insert(group.id.clone(), false);
        }
        if !self.filter.split_whitespace().all(|word| picture.tasks[at].matches(&word.to_lowercase())) {
            self.filter.clear();
        }
        self.selected = Some(Selected::Task(id.clone()));
        self.build(picture, height);
    }

    /// Fold or unfold the group of the cursor.
    pub(super) fn fold(&mut self, folded: Option<bool>, picture: &Picture, height: usize) {
        let Some(group) = self.group(picture) else { return };
        let folded = folded.unwrap_or(!self.is_folded(picture, group));
        self.folds.insert(group.id.clone(), folded);
        if folded {
            self.selected = Some(Selected::Group(group.id.clone()));
        }
        self.build(picture, height);
    }

    /// The group of the cursor.
    fn group<'p>(&self, picture: &'p Picture) -> Option<&'p GroupRow> {
        match self.rows.get(self.cursor)? {
            Row::Group(at) => picture.groups.get(*at),
            Row::Task(at) => picture.groups.iter().find(|group| group.tasks.contains(at)),
        }
    }

    pub(super) fn is_at_group(&self) -> bool {
        matches!(self.rows.get(self.cursor), Some(Row::Group(_)))
    }

    /// The selected task.
    pub(super) fn task<'p>(&self, picture: &'p Picture) -> Option<&'p TaskRow> {
        match self.rows.get(self.cursor)? {
            Row::Task(at) => picture.tasks.get(*at),
            Row::Group(_) => None,
        }
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    pub(super) fn matches(&self) -> usize {
        self.matches
    }

    pub(super) fn set_filter(&mut self, filter: &str, picture: &Picture, height: usize) {
        filter.clone_into(&mut self.filter);
        self.build(picture, height);
    }

    /// The rows that are visible, and whether each is selected.
    pub(super) fn visible(&self, height: usize) -> impl Iterator<Item = (Row, bool)> {
        let rows = self.rows.iter().enumerate().skip(self.top).take(height);
        rows.map(|(at, row)| (*row, at == self.cursor))
    }
}

fn task_of((row, at): (usize, &Row)) -> Option<(usize, usize)> {
    match at {
        Row::Task(task) => Some((row, *task)),
        Row::Group(_) => None,
    }
}

impl TaskRow {
    /// Something happens with it, or a person is needed.
    pub(super) fn is_notable(&self) -> bool {
        use Status::{Abandoned, Blocked, Confirming, Failed, InProgress, Merging, Verified, Verifying};
        matches!(
            self.status,
            InProgress | Confirming | Verifying | Verified | Merging | Failed | Abandoned | Blocked
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::picture::testing::{Sketch, sketch};

    fn shown(tree: &Tree, picture: &Picture, height: usize) -> Vec<String> {
        tree.visible(height)
            .map(|(row, selected)| {
                let name = match row {
                    Row::Group(at) => format!("[{}]", picture.groups[at].id),
                    Row::Task(at) => picture.tasks[at].id.to_string(),
                };
                format!("{}{name}", if selected { ">" } else { "" })
            })
            .collect()
    }

    fn two_groups() -> Picture {
        sketch(&Sketch {
            groups: &["base", "climb"],
            tasks: &[
                ("T1", "Pitch the tent", 0, Status::Completed),
                ("T2", "Tie the rope", 0, Status::Failed),
                ("T3", "Climb", 1, Status::Pending),
            ],
        })
    }

    #[test]
    fn one_begins_at_what_goes_on_and_stays_at_it_when_the_plan_changes() {
        let picture = two_groups();
        let mut tree = Tree::default();
        tree.build(&picture, 10);
        assert_eq!(shown(&tree, &picture, 10), ["[base]", "T1", ">T2", "[climb]", "T3"]);
        let grown = sketch(&Sketch {
            groups: &["base", "climb"],
            tasks: &[
                ("T0", "Look", 0, Status::InProgress),
                ("T1", "Pitch the tent", 0, Status::Completed),
                ("T2", "Tie the rope", 0, Status::Failed),
                ("T3", "Climb", 1, Status::Pending),
            ],
        });
        tree.build(&grown, 10);
        assert_eq!(shown(&tree, &grown, 10), ["[base]", "T0", "T1", ">T2", "[climb]", "T3"]);
        assert_eq!(shown(&tree, &grown, 2), ["[base]", "T0"], "the caller settles what it draws");
        tree.settle(2);
        assert_eq!(shown(&tree, &grown, 2), ["T1", ">T2"]);
    }

    #[test]
    fn a_filter_looks_at_ids_titles_statuses_and_groups_and_all_of_its_words_count() {
        let picture = two_groups();
        let mut tree = Tree::default();
        for (filter, found) in [
            ("rope", vec!["[base]", ">T2"]),
            ("t3", vec!["[climb]", ">T3"]),
            ("FAILED tie", vec!["[base]", ">T2"]),
            ("climb", vec!["[climb]", ">T3"]),
            ("nothing like it", vec![]),
            ("", vec!["[base]", "T1", ">T2", "[climb]", "T3"]),
        ] {
            tree.set_filter(filter, &picture, 10);
            assert_eq!(shown(&tree, &picture, 10), found, "{filter}");
        }
    }

    #[test]
    fn a_folded_group_keeps_its_tasks_and_opens_for_one_that_is_shown() {
        let picture = two_groups();
        let mut tree = Tree::default();
        tree.build(&picture, 10);
        tree.fold(None, &picture, 10);
        assert_eq!(shown(&tree, &picture, 10), [">[base]", "[climb]", "T3"]);
        assert!(tree.task(&picture).is_none());
        assert!(tree.go_to_notable(true, &picture, 10));
        assert_eq!(shown(&tree, &picture, 10), ["[base]", "T1", ">T2", "[climb]", "T3"]);
        assert!(tree.go_to_notable(false, &picture, 10), "the only one is its own neighbour");
        tree.set_filter("climb", &picture, 10);
        tree.show(&TaskId::new("T1").expect("an id"), &picture, 10);
        assert_eq!(shown(&tree, &picture, 10)[1], ">T1", "the filter would hide it");
    }

    #[test]
    fn of_a_large_plan_only_what_goes_on_is_unfolded() {
        let names: Vec<String> = (0..1000).map(|n| format!("T{n}")).collect();
        let tasks: Vec<(&str, &str, u32, Status)> = names
            .iter()
            .enumerate()
            .map(|(n, name)| {
                let status = match n {
                    0..400 => Status::Completed,
                    500 => Status::InProgress,
                    _ => Status::Pending,
                };
                (name.as_str(), "x", u32::try_from(n / 400).expect("few groups"), status)
            })
            .collect();
        let picture = sketch(&Sketch { groups: &["one", "two", "three"], tasks: &tasks });
        let mut tree = Tree::default();
        tree.build(&picture, 10);
        assert_eq!(tree.rows.len(), 3 + 400);
        assert_eq!(tree.task(&picture).map(|task| task.id.as_str()), Some("T500"));
        tree.go(Move::Home, &picture, 10);
        assert_eq!(shown(&tree, &picture, 3), [">[one]", "[two]", "T400"]);
    }
}
