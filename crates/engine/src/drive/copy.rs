//! A state file that agents were taught to edit: each gets a copy in its worktree, and what it writes there is its
//! report. The file itself is not theirs.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::execute::state::{self as file, What};
use piton_core::plan::Dialect;
use serde_json::Value;

use super::order::{Order, Trouble};
use crate::agent::{Message, Said};
use crate::disk;
use crate::keeper::Job;

/// What the copy was when the agent began, in its job's folder.
const BEFORE: &str = "state.json";

/// Where the copy is, if the plan lies in the project.
fn place(order: &Order) -> Result<Option<Utf8PathBuf>, Trouble> {
    if order.run.settings.dialect != Dialect::Execute || order.run.settings.no_commits {
        return Ok(None);
    }
    let root = order.site.project.root.canonicalize_utf8()?;
    let Ok(inside) = Utf8Path::new(&order.run.plan).strip_prefix(&root) else { return Ok(None) };
    Ok(Some(inside.join(file::FILE)))
}

/// Put the copy where the agent looks for it. It is never part of the work.
pub(super) fn offer(order: &Order, job: &Job) -> Result<(), Trouble> {
    let Some(place) = place(order)? else { return Ok(()) };
    let Ok(text) = fs::read(order.site.project.root.join(&place)) else { return Ok(()) };
    let before = job.dir().join(BEFORE);
    if before.exists() {
        return Ok(());
    }
    // With what may lie beside it: what was put aside, and the recipes' lock. Nobody commits these by accident.
    let beside = ["", ".bak", ".bad", ".refused"].map(|ending| format!("{place}{ending}"));
    for path in beside.into_iter().chain([place.with_extension("lock").into_string()]) {
        order.repo()?.exclude(&path)?;
    }
    let copy = order.workplace()?.join(&place);
    if let Some(folder) = copy.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&copy, &text)?;
    Ok(disk::write(&before, &text)?)
}

/// What the agent wrote about its own task.
pub(super) fn report(order: &Order, job: &Job) -> Option<Message> {
    let place = place(order).ok()??;
    let read = |path: &Utf8Path| serde_json::from_slice::<Value>(&fs::read(path).ok()?).ok();
    let before = read(&job.dir().join(BEFORE))?;
    let after = read(&order.workplace().ok()?.join(place))?;
    let mut told: Option<Message> = None;
    for edit in file::edits(&before, &after) {
        if edit.task.as_ref() != Some(&order.task.id) {
            continue;
        }
        let (said, report) = match edit.what {
            What::ReportDone { report } => (Said::Done, report),
            What::Failed { reason, report } => (Said::Failed { reason }, report),
            What::Blocked { reason, report } => (Said::Blocked { reason }, report),
            What::Told { report } => (Said::Done, report),
            _ => continue,
        };
        told = Some(Message { said, report });
    }
    told
}
