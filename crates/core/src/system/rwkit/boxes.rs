//! Ticking the boxes of a list: those of tasks and of their steps. Nothing else of the file changes, and boxes are found
//! by where their tasks stand, so it does not matter whether a line is there twice.

use std::collections::{BTreeMap, BTreeSet};

use super::todolist::Todolist;
use crate::order::Pairs;
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist::{self, Mark};
use crate::system::kit::outline::Word;
use crate::system::kit::problems::Problems;
use crate::system::kit::text;

/// Tick the boxes of tasks that are completed, and open those of other tasks. The file is read as it is now. `None` if it is
/// not UTF-8 text. A task that only a table has, without a box, is not missing.
pub fn tick(bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
    let decoded = text::decode(bytes);
    let list = checklist::scan(&decoded.text);
    let list = Todolist::read(&list, &decoded.text, &mut Problems::default());
    let mut missing: BTreeSet<&TaskId> = stand.keys().collect();
    let mut marks = Vec::new();
    for task in &list.tasks {
        let Some(word) = stand.get(&task.id) else { continue };
        let done = *word == Word::Completed;
        missing.remove(&task.id);
        // An unusual mark of a task that is not done says more than an open box.
        let wanted = match (done, task.mark.is_done()) {
            (true, false) => Some(Mark::Done),
            (false, true) => Some(Mark::Open),
            (true, true) | (false, false) => None,
        };
        marks.extend(task.place.clone().zip(wanted));
        let steps = task.steps.iter().filter(|step| done && !step.optional && !step.mark.is_done());
        marks.extend(steps.map(|step| (step.place.clone(), Mark::Done)));
    }
    let missing = missing.into_iter().cloned().collect();
    checklist::tick(bytes, &decoded.text, &marks).map(|bytes| Ticked { bytes, missing })
}

/// The tasks whose boxes are ticked, with the reason why that does not count, if any: then the plan's reader does not
/// take them for done, either.
pub fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    let text = text::decode(bytes).text;
    let list = Todolist::read(&checklist::scan(&text), &text, &mut Problems::default());
    let ticked = list.tasks.iter().filter(|task| task.mark.is_done());
    ticked.map(|task| (task.id.clone(), (!task.is_done()).then_some("its steps are open"))).into_map()
}

/// How many tasks of a list are done, of how many; `None` if there are none.
pub fn count(bytes: &[u8]) -> Option<(usize, usize)> {
    let text = text::decode(bytes).text;
    let list = Todolist::read(&checklist::scan(&text), &text, &mut Problems::default());
    let done = list.tasks.iter().filter(|task| task.is_done()).count();
    (!list.tasks.is_empty()).then_some((done, list.tasks.len()))
}
