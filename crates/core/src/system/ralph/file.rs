//! What stands where in the file: its stories, and the ids that Piton calls these by.

use crate::plan::TaskId;
use crate::system::kit::draft::{Draft, DraftTask, slug};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::json_texts::{one_line, text_of, texts};

/// Where the stories are; in some files they are all there is.
const LISTS: [&str; 2] = ["userStories", "stories"];
/// What says that a story is done.
const FLAGS: [&str; 2] = ["passes", "complete"];

/// The stories of a file, in its order.
#[derive(Clone, Debug)]
pub(super) struct Stories<'n> {
    pub(super) list: &'n Node,
    pub(super) stories: Vec<Story<'n>>,
    /// The name of the flag in this file.
    pub(super) flag: &'static str,
}

#[derive(Clone, Debug)]
pub(super) struct Story<'n> {
    pub(super) node: &'n Node,
    /// As the file has it. Empty: the file has none.
    pub(super) id: String,
}

/// The stories, if this is a file of a loop. A product document of the same name has texts there, or nothing.
pub(super) fn stories(root: &Node) -> Option<Stories<'_>> {
    let list = LISTS.iter().find_map(|name| root.get(name)).or_else(|| root.items().map(|_| root))?;
    let objects: Vec<&Node> = list.items()?.iter().filter(|node| node.entries().is_some()).collect();
    let has = |name: &str| objects.iter().any(|node| node.get(name).is_some());
    let has_flag =
        |name: &&str| objects.iter().any(|node| node.get(name).is_some_and(|flag| truth(flag).is_some()));
    let flag = FLAGS.into_iter().find(has_flag);
    let is_one = flag.is_some() && (has("id") || has("title") || has("description"))
        || has("id") && has("acceptanceCriteria");
    let stories = objects.into_iter().map(|node| Story { node, id: id(node) }).collect();
    is_one.then(|| Stories { list, stories, flag: flag.unwrap_or(FLAGS[0]) })
}

fn id(node: &Node) -> String {
    let said = node.get("id").filter(|node| node.items().is_none()).map(texts).unwrap_or_default();
    said.into_iter().next().map(|(id, _)| id).unwrap_or_default()
}

/// A flag as it should be written, or in quotes.
pub(super) fn truth(node: &Node) -> Option<bool> {
    match &node.kind {
        Kind::Bool(yes) => Some(*yes),
        Kind::Text(text) => text.trim().to_lowercase().parse().ok(),
        Kind::Null | Kind::Number(_) | Kind::List(_) | Kind::Object(_) => None,
    }
}

impl Stories<'_> {
    /// The ids of the stories, in the order of the file: the same ones as in the plan.
    pub(super) fn ids(&self) -> Vec<TaskId> {
        let name = |(nth, story): (usize, &Story<'_>)| {
            let made =
                Some(story.id.clone()).filter(|id| !id.is_empty()).unwrap_or_else(|| slug(&story.title()));
            let name = if made.is_empty() { format!("story-{}", nth + 1) } else { made };
            DraftTask { name, ..DraftTask::default() }
        };
        Draft { tasks: self.stories.iter().enumerate().map(name).collect(), ..Draft::default() }.ids()
    }

    pub(super) fn is_done(&self, story: &Story<'_>) -> bool {
        story.node.get(self.flag).and_then(truth) == Some(true)
    }
}

impl Story<'_> {
    /// A story without a title is called by the first line of its description.
    pub(super) fn title(&self) -> String {
        let first = || self.text("description").and_then(|text| text.lines().next().map(str::to_owned));
        one_line(&self.text("title").or_else(first).unwrap_or_default())
    }

    /// A text; `None` if there is nothing in it.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        text_of(self.node, name)
    }
}
