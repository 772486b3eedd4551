//! What is peculiar to runs of the iterative system: what was done before them, and what is told of them.

use std::collections::BTreeMap;

use camino::Utf8Path;
use piton_core::plan::{Iterative, Mode, TaskId};
use piton_core::run::{Command, Note, Status, Task};
use piton_core::system::issue::plan::Word;
use piton_core::system::iterative::progress;
use piton_core::system::kit::boxes;
use piton_core::view::counted;
use piton_engine::disk;
use piton_engine::takeover::text_of;

use crate::failure::{Failure, Outcome};
use crate::plans::FoundPlan;
use crate::{paths, ui};

/// What there is to do, in the words of this system.
pub(crate) fn size(about: &Iterative) -> String {
    let unit = if about.mode == Mode::Development { "task" } else { "phase" };
    format!("{} and a review", counted(about.units.len() as u64, unit))
}

/// For a run that begins anew: ticks of the one before are no claims, so the boxes are opened; and whoever reads the log,
/// which only grows, is told from where on it is about this run.
pub(crate) fn begin_anew(found: &FoundPlan) -> Outcome<Vec<Command>> {
    let Some(reading) = &found.iterative else { return Ok(Vec::new()) };
    let path = found.path.join(reading.list);
    let bytes = std::fs::read(&path).map_err(Failure::io(format!("cannot read {path}")))?;
    let ticked = boxes::ticked(&bytes).len();
    let open: BTreeMap<TaskId, Word> =
        reading.about.units.keys().map(|id| (id.clone(), Word::Pending)).collect();
    if let Some(opened) = boxes::tick(&bytes, &open).filter(|opened| opened.bytes != bytes) {
        let real = path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))?;
        disk::write(&real, &opened.bytes).map_err(Failure::io(format!("cannot write {path}")))?;
        let ticks = counted(ticked as u64, "tick");
        ui::say(format!("{ticks} taken out of {}: everything is done anew", paths::shown(&path)));
    }
    if text_of(&found.path.join(progress::FILE)).trim().is_empty() {
        return Ok(Vec::new());
    }
    let note = Note::Entry { task: None, text: progress::ANEW.to_owned(), for_next: false };
    Ok(vec![Command::Note { by: "piton".to_owned(), note }])
}

/// What the log warns of: units whose last iterations went round in circles, and are not done yet.
pub(crate) fn warnings(plan: &Utf8Path, tasks: &[Task]) -> Vec<String> {
    let open = tasks.iter().filter(|task| task.decided != Status::Completed);
    let log = text_of(&plan.join(progress::FILE));
    open.filter_map(|task| progress::saturation(&log, &task.id)).collect()
}
