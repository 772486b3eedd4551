//! Writing back that a story is done: the bytes of one flag.

use std::collections::{BTreeMap, BTreeSet};

use super::file;
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::json::{self, Node};
use crate::system::kit::json_edit::{self, Change};
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::TickedList;

/// The plan's own file, as a list whose stories are ticked off.
pub(super) static LIST: TickedList = TickedList { name: None, ticked, titles, tick, holds, is_like };

fn is_like(bytes: &[u8]) -> bool {
    read(bytes).is_some_and(|(_, root)| file::stories(&root).is_some())
}

fn read(bytes: &[u8]) -> Option<(String, Node)> {
    let text = text::decode(bytes).text;
    let (root, _) = json::parse(&text).ok()?;
    Some((text, root))
}

/// The stories whose flags say that they are done.
pub fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    let Some((_, root)) = read(bytes) else { return BTreeMap::new() };
    let Some(stories) = file::stories(&root) else { return BTreeMap::new() };
    let all = stories.ids().into_iter().zip(&stories.stories);
    all.filter(|(_, story)| stories.is_done(story)).map(|(id, _)| (id, None)).into_map()
}

/// What the file calls each of its stories.
fn titles(bytes: &[u8]) -> BTreeMap<TaskId, String> {
    let Some((_, root)) = read(bytes) else { return BTreeMap::new() };
    let Some(stories) = file::stories(&root) else { return BTreeMap::new() };
    stories.ids().into_iter().zip(&stories.stories).map(|(id, story)| (id, story.title())).into_map()
}

/// The file with the flags of these stories as they stand. `None` if it is not JSON, or not UTF-8.
pub fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
    let (text, root) = read(bytes)?;
    let stories = file::stories(&root)?;
    let ids = stories.ids();
    let mut changes: Vec<Change> = Vec::new();
    for (id, story) in ids.iter().zip(&stories.stories) {
        let Some(word) = stand.get(id) else { continue };
        let is_done = *word == Word::Completed;
        if is_done != stories.is_done(story) {
            let value = if is_done { "true" } else { "false" };
            changes.extend(json_edit::set(&text, story.node, stories.flag, value));
        }
    }
    let known: BTreeSet<&TaskId> = ids.iter().collect();
    let missing = stand.keys().filter(|id| !known.contains(id)).cloned().collect();
    let bytes = json_edit::write(bytes, &text, changes)?;
    Some(Ticked { bytes, missing })
}

/// Whether everything of the second version is in the first, but for the flags.
fn holds(now: &[u8], left: &[u8]) -> bool {
    let bare = |bytes: &[u8]| {
        let (text, root) = read(bytes)?;
        let stories = file::stories(&root)?;
        let open = stories.stories.iter().filter(|story| story.node.get(stories.flag).is_some());
        let changes = open.filter_map(|story| json_edit::set(&text, story.node, stories.flag, "false"));
        json_edit::write(bytes, &text, changes.collect())
    };
    matches!((bare(now), bare(left)), (Some(now), Some(left)) if now == left)
}
