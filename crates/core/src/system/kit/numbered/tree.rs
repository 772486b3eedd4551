//! What each box is, and what it is called.

use std::collections::{HashMap, HashSet};

use super::{Depth, NumberedBox, NumberedList, Part};
use crate::diagnostic::Diagnostic;
use crate::plan::{Digest, TaskId};
use crate::system::kit::draft::{named, slug};
use crate::system::kit::problems::{Problems, cut};

pub(super) fn settle(list: &mut NumberedList, depth: Depth, found: &mut Problems) {
    parts(list, depth);
    name(list, found);
    compare(list, found);
}

/// Above tasks there are parents, and below them steps.
fn parts(list: &mut NumberedList, depth: Depth) {
    let boxes = &mut list.boxes;
    if depth == Depth::Two {
        for nth in 0..boxes.len() {
            let above = boxes[nth].parent.map(|above| &boxes[above]);
            let is_step = above.is_some_and(|above| above.part == Part::Step || above.number.contains('.'));
            if is_step && boxes[nth].part == Part::Task {
                boxes[nth].part = Part::Step;
            }
        }
    }
    // Whatever has a numbered box below it, directly or not, is above tasks.
    for nth in (0..boxes.len()).rev() {
        let one = &boxes[nth];
        let is_above = one.part == Part::Parent || one.part == Part::Task && !one.number.is_empty();
        if let Some(parent) = one.parent.filter(|_| is_above && !one.dropped) {
            boxes[parent].part = Part::Parent;
        }
    }
    // What has no number is a step of its task. Directly below a parent it is a task: nothing else would do it.
    for nth in 0..boxes.len() {
        let above = boxes[nth].parent.map(|above| boxes[above].part);
        let is_bare = boxes[nth].number.is_empty() && boxes[nth].part == Part::Task;
        match above {
            Some(Part::Task | Part::Step) if is_bare => boxes[nth].part = Part::Step,
            Some(Part::Parent) if boxes[nth].part == Part::Step && boxes[nth].number.is_empty() => {
                boxes[nth].part = Part::Task;
            }
            Some(Part::Criterion) if is_bare => boxes[nth].part = Part::Criterion,
            _ => {}
        }
    }
}

/// The longest id. A longer one is cut, so that a number still fits behind it.
const LONGEST: usize = 44;

/// Each task and each parent gets an id of its own. The first of a number has it, and others the heading before it.
fn name(list: &mut NumberedList, found: &mut Problems) {
    let mut taken: HashSet<String> = HashSet::new();
    let mut next: HashMap<TaskId, usize> = HashMap::new();
    for nth in 0..list.boxes.len() {
        let one = &list.boxes[nth];
        if matches!(one.part, Part::Step | Part::Criterion) {
            continue;
        }
        let own = if one.number.is_empty() { short(&slug(&one.title)) } else { short(&one.number) };
        let own = own.unwrap_or_else(|| hashed(&one.title));
        let section = one.section.map(|nth| slug(&list.sections[nth].title)).filter(|slug| !slug.is_empty());
        let mut id = own.clone();
        if taken.contains(&id.folded()) {
            id = section.and_then(|section| short(&format!("{section}-{own}"))).unwrap_or(id);
        }
        let base = id.clone();
        while taken.contains(&id.folded()) {
            let count = next.entry(base.clone()).or_insert(1);
            *count += 1;
            id = TaskId::new(&format!("{base}-{count}")).expect("a short id and a number");
        }
        taken.insert(id.folded());
        if id != own && !one.number.is_empty() && !one.dropped {
            let message = format!("the number `{}` is used twice", cut(&one.number));
            found.repair(one.at.clone(), message, format!("called `{id}` here"));
        }
        list.boxes[nth].id = Some(id);
    }
}

/// An id of a title without letters of the alphabet, which is the same wherever that stands.
fn hashed(title: &str) -> TaskId {
    let digest = Digest::of_bytes(title.as_bytes());
    short(&format!("task-{}", &digest.as_str()[..8])).expect("a word and hex digits")
}

/// An id of a text, and not all of a long one.
fn short(text: &str) -> Option<TaskId> {
    let id = named(text)?;
    let end = id.as_str().len().min(LONGEST);
    TaskId::new(id.as_str()[..end].trim_end_matches(|c: char| !c.is_ascii_alphanumeric())).ok()
}

/// Say where boxes disagree with those below them.
fn compare(list: &NumberedList, found: &mut Problems) {
    let done = list.done();
    let parents: HashSet<usize> = list.boxes.iter().filter_map(|one| one.parent).collect();
    let told = |nth: usize, one: &NumberedBox| {
        let ticked = one.mark.is_done();
        let is_above = parents.contains(&nth) && one.place.is_some() && !one.dropped;
        Some(match one.part {
            Part::Parent if is_above && ticked && !done[nth] => {
                ("this box is ticked, but one below it is not", "those below it decide")
            }
            Part::Parent if is_above && !ticked && done[nth] => {
                ("this box is open, but all below it are ticked", "those below it decide")
            }
            Part::Task if is_above && ticked && !done[nth] => {
                ("this box is ticked, but one of its steps is not", "not done")
            }
            _ => return None,
        })
    };
    for (nth, one) in list.boxes.iter().enumerate() {
        if let Some((message, label)) = told(nth, one) {
            found.repair(one.at.clone(), message, label);
        }
    }
    let criteria: Vec<&NumberedBox> = list.boxes.iter().filter(|one| one.part == Part::Criterion).collect();
    if let Some(first) = criteria.first() {
        let message = "boxes in this part of the file say when all is done";
        found.push(Diagnostic::warning(first.at.clone(), message).label("not tasks; nor are those below it"));
    }
}
