//! What is peculiar to runs of the iterative system: what was done before them, and what is told of them.

use camino::Utf8Path;
use piton_core::plan::{Iterative, Mode};
use piton_core::run::{Status, Task};
use piton_core::system::iterative::progress;
use piton_core::view::counted;
use piton_engine::takeover::text_of;

/// What there is to do, in the words of this system.
pub(crate) fn size(about: &Iterative) -> String {
    let unit = if about.mode == Mode::Development { "task" } else { "phase" };
    format!("{} and a review", counted(about.units.len() as u64, unit))
}

/// What the log warns of: units whose last iterations went round in circles, and are not done yet.
pub(crate) fn warnings(plan: &Utf8Path, tasks: &[Task]) -> Vec<String> {
    let open = tasks.iter().filter(|task| task.decided != Status::Completed);
    let log = text_of(&plan.join(progress::FILE));
    open.filter_map(|task| progress::saturation(&log, &task.id)).collect()
}
