//! Marks are written where they stand: those of a task, of its steps, and of what is above it once all of that is done.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Depth, NumberedList, Part};
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist::{self, Checklist, Mark};
use crate::system::kit::outline::Word;
use crate::system::kit::problems::Problems;
use crate::system::kit::text;

fn read(bytes: &[u8], depth: Depth) -> (String, Checklist, NumberedList) {
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let read = NumberedList::read(&list, &text, depth, &mut Problems::default());
    (text, list, read)
}

/// The tasks whose boxes are ticked, with the reason why that does not count, if any.
pub(in crate::system) fn ticked(bytes: &[u8], depth: Depth) -> BTreeMap<TaskId, Option<&'static str>> {
    let (_, _, read) = read(bytes, depth);
    let done = read.done();
    let tasks = read.tasks().filter(|(nth, _, one)| (one.mark.is_done() || done[*nth]) && !one.dropped);
    tasks.map(|(nth, id, _)| (id.clone(), (!done[nth]).then_some("its steps are open"))).into_map()
}

/// What the list calls each of its tasks.
pub(in crate::system) fn titles(bytes: &[u8], depth: Depth) -> BTreeMap<TaskId, String> {
    let (_, _, read) = read(bytes, depth);
    read.tasks().map(|(_, id, one)| (id.clone(), one.title.clone())).into_map()
}

/// Tick the boxes of tasks that are completed, and open those of tasks that are not. Boxes are found by their numbers in
/// the file as it is now. `None` for a file that is not UTF-8 text, which cannot be written so.
///
/// The steps of a completed task are ticked too. A parent is ticked when all that is required of it is done, and opened
/// when a task below it is opened. An unusual mark of a task that is not done says more than an open box, and stays.
pub(in crate::system) fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>, depth: Depth) -> Option<Ticked> {
    let (text, list, mut read) = read(bytes, depth);
    let was: Vec<Mark> = read.boxes.iter().map(|one| one.mark).collect();
    let before = read.done();
    let mut missing: BTreeSet<&TaskId> = stand.keys().collect();
    let mut wanted = vec![None; read.boxes.len()];
    for nth in 0..read.boxes.len() {
        let one = &read.boxes[nth];
        let above = one.parent.and_then(|above| Some((above, wanted[above]?)));
        let own = match (one.part, above) {
            _ if one.dropped => None,
            (Part::Task, _) => one.id.as_ref().and_then(|id| stand.get_key_value(id)).map(|(id, word)| {
                missing.remove(id);
                *word == Word::Completed
            }),
            (Part::Step, Some((_, true))) if !one.optional => Some(true),
            // A heading is opened by its steps, since it has no box.
            (Part::Step, Some((above, false))) => {
                let above_it = &read.boxes[above];
                let is_heading = above_it.place.is_none() && before[above];
                (is_heading || above_it.part == Part::Step).then_some(false)
            }
            (Part::Step | Part::Parent | Part::Criterion, _) => None,
        };
        wanted[nth] = own;
        let one = &mut read.boxes[nth];
        match own {
            Some(true) if one.place.is_some() => one.mark = Mark::Done,
            Some(false) if one.mark.is_done() => one.mark = Mark::Open,
            Some(_) | None => {}
        }
    }
    parents(&mut read, &was, &wanted);
    let sign = sign(&list, &text);
    let changed = read.boxes.iter().zip(was).filter(|(one, was)| one.mark != *was);
    let changed = changed.filter_map(|(one, _)| {
        let sign = if one.mark.is_done() { sign } else { one.mark.sign() };
        Some((one.place.clone()?, sign))
    });
    let changed: Vec<(Range<usize>, &str)> = changed.collect();
    let missing = missing.into_iter().cloned().collect();
    checklist::replace(bytes, &text, &changed).map(|bytes| Ticked { bytes, missing })
}

/// What is above tasks follows from them, as far as any of them was asked about.
fn parents(read: &mut NumberedList, was: &[Mark], wanted: &[Option<bool>]) {
    let done = read.done();
    let mut closed: Vec<bool> = wanted.iter().map(|own| *own == Some(true)).collect();
    let mut opened = vec![false; read.boxes.len()];
    for nth in (0..read.boxes.len()).rev() {
        let one = &mut read.boxes[nth];
        opened[nth] |= was[nth].is_done() && !one.mark.is_done();
        if one.part == Part::Parent && !one.dropped && one.place.is_some() {
            match done[nth] {
                true if closed[nth] => one.mark = Mark::Done,
                false if opened[nth] && one.mark.is_done() => one.mark = Mark::Open,
                true | false => {}
            }
        }
        if let Some(parent) = one.parent {
            closed[parent] |= closed[nth];
            opened[parent] |= opened[nth];
        }
    }
}

/// How most of the boxes are ticked.
fn sign(list: &Checklist, text: &str) -> &'static str {
    let (mut small, mut large) = (0, 0);
    for (_, _, item) in list.items() {
        match &text[item.place.clone()] {
            "x" => small += 1,
            "X" => large += 1,
            _ => {}
        }
    }
    if large > small { "X" } else { "x" }
}

/// The text with every box open, and without a mark at its start.
fn bare(bytes: &[u8]) -> String {
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let changes: Vec<_> = list.items().map(|(_, _, item)| (item.place.clone(), Mark::Open.sign())).collect();
    let bare = checklist::replace(text.as_bytes(), &text, &changes);
    bare.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(text)
}

/// Whether everything of one version is in the other, marks aside.
pub(in crate::system) fn holds(now: &[u8], left: &[u8]) -> bool {
    bare(now).starts_with(&bare(left))
}
