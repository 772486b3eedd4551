//! Writing back that a task is done: the bytes of its mark change, and nothing else of its file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist;
use crate::system::kit::outline::Word;

/// Where a task's mark stands in the text of its file, and what it says now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct Marked {
    pub(in crate::system) task: TaskId,
    pub(in crate::system) place: Range<usize>,
    pub(in crate::system) is_done: bool,
}

/// How a file writes its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::system) struct Signs<'s> {
    pub(in crate::system) done: &'s str,
    pub(in crate::system) open: &'s str,
}

impl Signs<'_> {
    /// The file with the marks of these tasks as they stand. A mark that says something else than open or done stays
    /// until its task is done. `None` if the bytes are not this text.
    pub(in crate::system) fn write(
        self,
        bytes: &[u8],
        text: &str,
        marks: &[Marked],
        stand: &BTreeMap<TaskId, Word>,
    ) -> Option<Ticked> {
        let mut changes: Vec<(Range<usize>, &str)> = Vec::new();
        for mark in marks {
            let Some(word) = stand.get(&mark.task) else { continue };
            let is_done = *word == Word::Completed;
            if is_done != mark.is_done {
                changes.push((mark.place.clone(), if is_done { self.done } else { self.open }));
            }
        }
        let marked: BTreeSet<&TaskId> = marks.iter().map(|mark| &mark.task).collect();
        let missing = stand.keys().filter(|id| !marked.contains(id)).cloned().collect();
        let bytes = checklist::replace(bytes, text, &changes)?;
        Some(Ticked { bytes, missing })
    }
}

/// The tasks whose marks say done.
pub(in crate::system) fn ticked(marks: &[Marked]) -> BTreeMap<TaskId, Option<&'static str>> {
    marks.iter().filter(|mark| mark.is_done).map(|mark| (mark.task.clone(), None)).into_map()
}
