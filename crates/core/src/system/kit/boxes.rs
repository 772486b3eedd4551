//! Ticks the boxes of a list: those of tasks, of their steps, and of their parents. Also updates status words. Nothing
//! else of the file changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::outline::{Node, Outline, Role, Word, status};
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::checklist::{self, Checklist, Mark};
use crate::system::kit::problems::{Problems, Spanned};
use crate::system::kit::text;

/// A list after its boxes were ticked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticked {
    /// The whole file as it is to be.
    pub bytes: Vec<u8>,
    /// Tasks that have no box in it.
    pub missing: Vec<TaskId>,
}

/// Tick the boxes of tasks that are completed, and open those of tasks that are not. Boxes are found by their ids in
/// the file as it is now, so it may have changed since it was last read. `None` for a file that is not UTF-8 text,
/// which cannot be written so.
///
/// The steps of a completed task are ticked too, except optional ones. The steps of an open task stay as they are,
/// unless it has no other box. A parent is ticked when all boxes below it are.
pub fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
    let done = |id: &TaskId| stand.get(id).map(|word| *word == Word::Completed);
    let decoded = text::decode(bytes);
    let list = checklist::scan(&decoded.text);
    let mut outline = Outline::read(&list, &decoded.text, &mut Problems::default());
    let was: Vec<Mark> = outline.nodes.iter().map(|node| node.mark).collect();
    let mut wanted = vec![None; outline.nodes.len()];
    let mut missing: BTreeSet<&TaskId> = stand.keys().collect();
    for nth in 0..outline.nodes.len() {
        let node = &outline.nodes[nth];
        let own = match node.role {
            Role::Task if !node.dropped => done(&node.id),
            Role::Step if !node.dropped && !node.optional => {
                let task = node.parent;
                let boxed = task.is_some_and(|task| outline.nodes[task].place.is_some());
                let whole = task.is_some_and(|task| was[task].is_done()) && !boxed;
                task.and_then(|task| wanted[task]).filter(|done| *done || whole)
            }
            Role::Task | Role::Step | Role::Parent => None,
        };
        if node.role == Role::Task && own.is_some() {
            missing.remove(&node.id);
        }
        wanted[nth] = own;
        let node = &mut outline.nodes[nth];
        // An unusual mark of a task that is not done says more than an open box.
        match own {
            Some(true) => node.mark = Mark::Done,
            Some(false) if node.mark.is_done() => node.mark = Mark::Open,
            Some(false) | None => {}
        }
    }
    // Parents of what was named, from the inside out.
    let all_done = outline.done();
    let mut touched: Vec<bool> = wanted.iter().map(Option::is_some).collect();
    for nth in (0..outline.nodes.len()).rev() {
        if !touched[nth] {
            continue;
        }
        if let Some(parent) = outline.nodes[nth].parent {
            touched[parent] = true;
        }
    }
    for (nth, node) in outline.nodes.iter_mut().enumerate() {
        if touched[nth] && node.role == Role::Parent && node.mark.is_done() != all_done[nth] && !node.dropped
        {
            node.mark = if all_done[nth] { Mark::Done } else { Mark::Open };
        }
    }
    let changed = outline.nodes.iter().zip(was).filter(|(node, was)| node.mark != *was);
    let changed = changed.filter_map(|(node, _)| Some((node.place.clone()?, node.mark.sign().to_owned())));
    let words = words(&list, &decoded.text, &outline, stand);
    let all: Vec<(Range<usize>, String)> = changed.chain(words).collect();
    let missing = missing.into_iter().cloned().collect();
    checklist::replace(bytes, &decoded.text, &all).map(|bytes| Ticked { bytes, missing })
}

/// The words that have to change, each as this list writes it elsewhere. What says more than we know stays.
fn words(
    list: &Checklist,
    text: &str,
    outline: &Outline,
    stand: &BTreeMap<TaskId, Word>,
) -> Vec<(Range<usize>, String)> {
    let said: Vec<(&Node, Spanned<Word>)> =
        outline.tasks().filter_map(|(_, node)| Some((node, status(list, text, node)?))).collect();
    let mut own: BTreeMap<Word, &str> = BTreeMap::new();
    for (_, said) in &said {
        let spelled = &text[said.at.clone()];
        if Word::read(spelled) == Some(said.value) {
            own.entry(said.value).or_insert(spelled);
        }
    }
    let mut changed = Vec::new();
    for (node, said) in &said {
        let Some(is) = stand.get(&node.id) else { continue };
        let stays = match is {
            Word::Pending => said.value != Word::Completed,
            Word::Blocked => matches!(said.value, Word::Blocked | Word::Failed),
            Word::InProgress | Word::Completed | Word::Failed => said.value == *is,
        };
        if !stays {
            let like = &text[said.at.clone()];
            let known = own.get(is).map(|own| (*own).to_owned());
            changed.push((said.at.clone(), known.unwrap_or_else(|| is.like(like))));
        }
    }
    changed
}

/// The tasks whose boxes are ticked, with the reason why that does not count, if any: then the plan's reader does not
/// take them for done, either.
pub fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let outline = Outline::read(&list, &text, &mut Problems::default());
    let done = outline.done();
    let against = |nth: usize, node: &Node| {
        let says_otherwise =
            || status(&list, &text, node).is_some_and(|status| status.value != Word::Completed);
        match done[nth] {
            false => Some("its steps are open"),
            true => says_otherwise().then_some("its status says otherwise"),
        }
    };
    let ticked = outline.tasks().filter(|(_, node)| node.mark.is_done());
    ticked.map(|(nth, node)| (node.id.clone(), against(nth, node))).into_map()
}

/// Whether a text has a box at all.
pub fn has_boxes(bytes: &[u8]) -> bool {
    let text = text::decode(bytes).text;
    text.contains("[ ]") || checklist::scan(&text).items().next().is_some()
}

/// The text without what changes during the work: every box is open, and there are no status words.
pub fn bare(bytes: &[u8]) -> String {
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let outline = Outline::read(&list, &text, &mut Problems::default());
    let items = list.items().map(|(_, _, item)| item.place.clone());
    let places = items.chain(outline.nodes.iter().filter_map(|node| node.place.clone()));
    let mut changes: BTreeMap<usize, (Range<usize>, &str)> =
        places.map(|place| (place.start, (place, Mark::Open.sign()))).into_map();
    let words = outline.tasks().filter_map(|(_, node)| status(&list, &text, node)).map(|said| said.at);
    changes.extend(words.map(|at| (at.start, (at, ""))));
    let changes: Vec<_> = changes.into_values().collect();
    let bare = checklist::replace(text.as_bytes(), &text, &changes);
    bare.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(text)
}
