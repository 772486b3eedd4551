//! Ticking the boxes of a list: those of tasks, of their steps, and of what they are part of. Nothing else of the file
//! changes.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Node, Outline, Role, Word, status};
use crate::dialect::checklist::{self, Mark};
use crate::dialect::found::Found;
use crate::dialect::text;
use crate::plan::TaskId;

/// What became of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticked {
    /// The whole file as it is to be.
    pub bytes: Vec<u8>,
    /// Tasks that have no box in it.
    pub missing: Vec<TaskId>,
}

/// Tick the boxes of tasks that are done, and open those of tasks that are not. The file is read as it is now, and
/// boxes are found by their ids, so it may have changed since anybody looked. Nothing comes out for a file that cannot
/// be written so: one that is no UTF-8 text.
///
/// Of a task that is done the steps are, too, but for optional ones; of one that is not, its steps stay as they are. A
/// parent is ticked when all below it are.
pub fn tick(bytes: &[u8], done: &BTreeMap<TaskId, bool>) -> Option<Ticked> {
    let decoded = text::decode(bytes, false);
    let list = checklist::scan(&decoded.text);
    let mut outline = Outline::of(&list, &decoded.text, &mut Found::new(false));
    let was: Vec<Mark> = outline.nodes.iter().map(|node| node.mark).collect();
    let mut wanted = vec![None; outline.nodes.len()];
    let mut missing: BTreeSet<&TaskId> = done.keys().collect();
    for nth in 0..outline.nodes.len() {
        let node = &mut outline.nodes[nth];
        let own = match node.role {
            Role::Task if !node.dropped => done.get(&node.id).copied(),
            Role::Step if !node.dropped && !node.optional => {
                node.parent.and_then(|task| wanted[task]).filter(|done| *done)
            }
            Role::Task | Role::Step | Role::Parent => None,
        };
        if node.role == Role::Task && own.is_some() {
            missing.remove(&node.id);
        }
        wanted[nth] = own;
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
    let changed: Vec<_> = outline
        .nodes
        .iter()
        .zip(was)
        .filter(|(node, was)| node.mark != *was)
        .map(|(node, _)| (node.place.clone(), node.mark))
        .collect();
    let missing = missing.into_iter().cloned().collect();
    checklist::tick(bytes, &decoded.text, &changed).map(|bytes| Ticked { bytes, missing })
}

/// The tasks whose boxes are ticked, and what speaks against it: then the plan's reader takes them for not done, too.
pub fn ticked(bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
    let text = text::decode(bytes, false).text;
    let list = checklist::scan(&text);
    let outline = Outline::of(&list, &text, &mut Found::new(false));
    let done = outline.done();
    let against = |nth: usize, node: &Node| {
        let says_otherwise = || status(&list, &text, node).is_some_and(|status| status != Word::Completed);
        match done[nth] {
            false => Some("its steps are open"),
            true => says_otherwise().then_some("its status says otherwise"),
        }
    };
    let ticked = outline.tasks().filter(|(_, node)| node.mark.is_done());
    ticked.map(|(nth, node)| (node.id.clone(), against(nth, node))).collect()
}
