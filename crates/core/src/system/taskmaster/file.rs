//! What stands where in the file: tags, their tasks, and the ids that Piton calls these by.

use super::status;
use crate::plan::TaskId;
use crate::system::config::Subtasks;
use crate::system::kit::draft::{Draft, DraftTask, Phase, Standing, slug};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::json_texts::{one_line, text_of};

/// The tag that tasks without one belong to.
pub(super) const MASTER: &str = "master";

/// A list of tasks.
#[derive(Clone, Debug)]
pub(super) struct Tag<'n> {
    pub(super) name: &'n str,
    /// The list, with what in it is not a task.
    pub(super) list: &'n Node,
    pub(super) tasks: Vec<Item<'n>>,
}

/// A task, or a step of one.
#[derive(Clone, Debug)]
pub(super) struct Item<'n> {
    pub(super) node: &'n Node,
    /// As the file has it; of a step with the number of its task. Empty: the file has none.
    pub(super) id: String,
    pub(super) steps: Vec<Item<'n>>,
}

/// What becomes a task of a plan.
#[derive(Clone, Debug)]
pub(super) struct Unit<'t, 'n> {
    pub(super) item: &'t Item<'n>,
    /// The task of the file that it is or belongs to, by its position.
    pub(super) task: usize,
    /// Whether it is a subtask: a task of its own then.
    pub(super) is_subtask: bool,
    /// What it is called in Piton, as far as an id can be that.
    pub(super) name: String,
}

/// The lists of a file. Empty: it is not one of Task Master. Files of before 2025 are one list without a name.
pub(super) fn tags(root: &Node) -> Vec<Tag<'_>> {
    let entries = root.entries().unwrap_or_default();
    let lists = entries.iter().filter_map(|(name, node)| Some((name.as_str(), list_of(node)?)));
    let mut tags: Vec<Tag<'_>> = lists.map(|(name, list)| Tag::new(name, list)).collect();
    if tags.is_empty() {
        tags.extend(list_of(root).map(|list| Tag::new(MASTER, list)));
    }
    tags
}

fn list_of(node: &Node) -> Option<&Node> {
    node.get("tasks").filter(|list| list.items().is_some())
}

/// Whether a file is one of Task Master: other programs have files of this name, too.
pub(super) fn is_one(root: &Node) -> bool {
    let tags = tags(root);
    let has = |item: &Item<'_>, name: &str| item.node.get(name).is_some();
    let mut tasks = tags.iter().flat_map(|tag| &tag.tasks).peekable();
    if tasks.peek().is_none() {
        return !tags.is_empty()
            && root.entries().is_some_and(|entries| entries.iter().all(is_list_or_about));
    }
    tasks.any(|item| has(item, "id") && (has(item, "status") || has(item, "dependencies")))
}

/// A tag, or what a file without tags says besides its tasks.
fn is_list_or_about((name, node): &(String, Node)) -> bool {
    list_of(node).is_some() || ["tasks", "metadata", "meta"].contains(&name.as_str())
}

impl<'n> Tag<'n> {
    fn new(name: &'n str, list: &'n Node) -> Tag<'n> {
        let items = list.items().unwrap_or_default().iter();
        let tasks = items.filter(|node| node.entries().is_some()).map(|node| Item::new(node, None)).collect();
        Tag { name, list, tasks }
    }

    /// What a task of this tag is called in Piton: ids are used again in every tag.
    pub(super) fn called(&self, id: &str) -> String {
        if self.name == MASTER { id.to_owned() } else { format!("{id}@{}", self.name) }
    }

    /// What becomes a task, in the order of the file.
    pub(super) fn units(&self, subtasks: Subtasks) -> Vec<Unit<'_, 'n>> {
        let tasks = self.tasks.iter().enumerate().map(|(nth, item)| {
            let made = || slug(&item.title());
            let id = Some(item.id.clone()).filter(|id| !id.is_empty()).unwrap_or_else(made);
            let id = if id.is_empty() { format!("task-{}", nth + 1) } else { id };
            Unit { item, task: nth, is_subtask: false, name: self.called(&id) }
        });
        let tasks: Vec<Unit<'_, 'n>> = tasks.collect();
        if subtasks == Subtasks::Steps {
            return tasks;
        }
        // A task has the same id whatever its subtasks are, and no subtask has that of a task.
        let all: Vec<Unit<'_, 'n>> =
            tasks.iter().cloned().chain(tasks.iter().flat_map(|whole| self.subtasks(whole))).collect();
        let ids = self.ids(&all);
        let named = all.into_iter().zip(ids).map(|(unit, id)| Unit { name: id.to_string(), ..unit });
        let mut units: Vec<Unit<'_, 'n>> =
            named.filter(|unit| unit.is_subtask || !unit.item.is_split()).collect();
        units.sort_by_key(|unit| unit.task);
        units
    }

    /// The subtasks of a task that is split.
    fn subtasks<'t>(&self, whole: &Unit<'t, 'n>) -> Vec<Unit<'t, 'n>> {
        let steps = whole.item.steps.iter().filter(|_| whole.item.is_split()).enumerate();
        let subtask = |(place, step): (usize, &'t Item<'n>)| {
            let id = whole.name.split('@').next().unwrap_or_default();
            let name = match step.id.split_once('.') {
                Some((task, own)) if !task.is_empty() && !own.is_empty() => step.id.clone(),
                Some((_, "")) | None => format!("{id}.{}", place + 1),
                Some((_, own)) => format!("{id}.{own}"),
            };
            Unit { item: step, task: whole.task, is_subtask: true, name: self.called(&name) }
        };
        steps.map(subtask).collect()
    }

    /// The ids of these in a plan.
    pub(super) fn ids(&self, units: &[Unit<'_, 'n>]) -> Vec<TaskId> {
        let tasks = units.iter().map(|unit| DraftTask { name: unit.name.clone(), ..DraftTask::default() });
        Draft { tasks: tasks.collect(), groups: self.groups(), ..Draft::default() }.ids()
    }

    /// All of a tag is one group.
    pub(super) fn groups(&self) -> Vec<Phase> {
        vec![Phase { title: one_line(self.name), barrier: false }]
    }
}

impl<'n> Item<'n> {
    fn new(node: &'n Node, task: Option<&str>) -> Item<'n> {
        let own = node.get("id").map(id_text).unwrap_or_default();
        let id = match task {
            // Some write the id of a step in full.
            Some(task) if !own.contains('.') => format!("{task}.{own}"),
            _ => own,
        };
        let steps = node.get("subtasks").and_then(Node::items).filter(|_| task.is_none());
        let steps = steps.unwrap_or_default().iter().filter(|step| step.entries().is_some());
        let steps = steps.map(|step| Item::new(step, Some(&id))).collect();
        Item { node, id, steps }
    }

    /// Whether something of it is to be done in steps.
    pub(super) fn is_split(&self) -> bool {
        !self.is_dropped() && self.steps.iter().any(|step| !step.is_dropped())
    }

    pub(super) fn is_dropped(&self) -> bool {
        status::standing(self.status()) == Some(Standing::Dropped)
    }

    /// A task without a title is called by its description.
    pub(super) fn title(&self) -> String {
        one_line(&self.text("title").or_else(|| self.text("description")).unwrap_or_default())
    }

    /// A text; `None` if there is nothing in it.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        text_of(self.node, name)
    }

    /// What is written under its status. That may be `null`.
    pub(super) fn status(&self) -> Option<&'n Node> {
        self.node.entries()?.iter().find(|(name, _)| name == "status").map(|(_, node)| node)
    }
}

/// An id as text: some files have numbers, some have texts, many have both.
pub(super) fn id_text(node: &Node) -> String {
    match &node.kind {
        Kind::Number(number) => number.to_string(),
        Kind::Text(text) => text.trim().to_owned(),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Object(_) => String::new(),
    }
}
