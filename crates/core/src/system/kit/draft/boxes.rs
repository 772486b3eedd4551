//! Tasks that are boxes of one Markdown list: which of them are ticked, and how they are ticked. Reader and writer derive
//! the ids from the same draft, so a box is found in the file as it is now.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Draft, Standing};
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist::{self, Checklist, Item, Mark};
use crate::system::kit::outline::Word;
use crate::system::kit::text;

/// A box in the text of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct BoxAt {
    /// Between the brackets; may be empty.
    pub(in crate::system) place: Range<usize>,
    pub(in crate::system) is_done: bool,
}

impl BoxAt {
    pub(in crate::system) fn new(item: &Item) -> BoxAt {
        BoxAt { place: item.place.clone(), is_done: item.mark.is_done() }
    }
}

/// How far a task is whose box has this mark. `steps` are its required boxes: a ticked task with an open step is open.
pub(in crate::system) fn standing(item: &Item, steps: &[BoxAt]) -> Standing {
    match item.mark {
        _ if item.struck => Standing::Dropped,
        Mark::Done if steps.iter().all(|step| step.is_done) => Standing::Claimed,
        Mark::InProgress => Standing::NotOurs("`[-]` is in progress elsewhere, or was dropped"),
        Mark::Partial => Standing::NotOurs("`[~]` is done in part, or was deferred"),
        Mark::Open | Mark::Done | Mark::Other => Standing::Open,
    }
}

/// The sign for done that a list has most often.
pub(in crate::system) fn sign_of(list: &Checklist, text: &str, usual: &'static str) -> &'static str {
    let count = |sign: &str| list.items().filter(|(_, _, item)| &text[item.place.clone()] == sign).count();
    match (count("x"), count("X")) {
        (small, large) if small > large => "x",
        (small, large) if small < large => "X",
        _ => usual,
    }
}

/// The tasks whose boxes are ticked, with the reason why that does not count, if any.
pub(in crate::system) fn ticked_in(mut draft: Draft) -> BTreeMap<TaskId, Option<&'static str>> {
    let ids = draft.ids();
    let mut ticked = BTreeMap::new();
    for (id, task) in ids.into_iter().zip(&draft.tasks) {
        let is_ticked = task.mark.as_ref().is_some_and(|mark| mark.is_done);
        if is_ticked && task.standing != Standing::Dropped {
            let is_open = task.steps.iter().any(|step| !step.is_done);
            ticked.insert(id, is_open.then_some("its steps are open"));
        }
    }
    ticked
}

/// What the file calls each of its tasks.
pub(in crate::system) fn titles_in(mut draft: Draft) -> BTreeMap<TaskId, String> {
    let ids = draft.ids();
    ids.into_iter().zip(draft.tasks).map(|(id, task)| (id, task.title)).into_map()
}

/// The file with the boxes of these tasks as they stand. The steps of a completed task are ticked with it; those of an
/// open one stay as they are. A mark that says something else than open or done stays until its task is done. `None` if
/// the bytes are not this text.
pub(in crate::system) fn tick_in(
    mut draft: Draft,
    bytes: &[u8],
    text: &str,
    done: &str,
    stand: &BTreeMap<TaskId, Word>,
) -> Option<Ticked> {
    let ids = draft.ids();
    let mut changes: Vec<(Range<usize>, &str)> = Vec::new();
    let mut missing: std::collections::BTreeSet<&TaskId> = stand.keys().collect();
    for (id, task) in ids.iter().zip(&draft.tasks).filter(|(_, task)| task.standing != Standing::Dropped) {
        let Some(word) = stand.get(id) else { continue };
        missing.remove(id);
        let is_done = *word == Word::Completed;
        let own = task.mark.iter().filter(|mark| mark.is_done != is_done);
        changes.extend(own.map(|mark| (mark.place.clone(), if is_done { done } else { " " })));
        let steps = task.steps.iter().filter(|step| is_done && !step.is_done);
        changes.extend(steps.map(|step| (step.place.clone(), done)));
    }
    let missing = missing.into_iter().cloned().collect();
    checklist::replace(bytes, text, &changes).map(|bytes| Ticked { bytes, missing })
}

/// Whether everything of the second version of a list is in the first, marks aside.
pub(in crate::system) fn holds(now: &[u8], left: &[u8]) -> bool {
    bare(now) == bare(left)
}

/// A list with every box open.
fn bare(bytes: &[u8]) -> String {
    let text = text::decode(bytes).text;
    let places =
        checklist::scan(&text).items().map(|(_, _, item)| (item.place.clone(), " ")).collect::<Vec<_>>();
    let bare = checklist::replace(text.as_bytes(), &text, &places);
    bare.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(text)
}
