//! State files that agents were taught to edit: each gets copies in its worktree, and what it writes there is its
//! report. The files themselves are not theirs.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::edit::What;
use piton_core::dialect::kept::{self, Told};
use piton_core::run::{Command, Note, Report};

use super::order::{Order, Trouble};
use crate::agent::{Message, Said};
use crate::disk;
use crate::keeper::Job;

/// The files of which there are copies, with their places in the project, if the plan lies in it.
fn places(order: &Order) -> Result<Vec<(&'static str, Utf8PathBuf)>, Trouble> {
    if order.run.settings.no_commits {
        return Ok(Vec::new());
    }
    let (dialect, root) = (order.run.settings.dialect, order.site.project.root.canonicalize_utf8()?);
    let inside = match kept::is_of_project(dialect) {
        true => Ok(Utf8Path::new("")),
        false => Utf8Path::new(&order.run.plan).strip_prefix(&root),
    };
    let Ok(inside) = inside else { return Ok(Vec::new()) };
    let names = kept::offered(dialect).iter();
    Ok(names.map(|name| (*name, inside.join(name))).collect())
}

/// Put the copies where the agent looks for them. They are never part of the work.
pub(super) fn offer(order: &Order, job: &Job) -> Result<(), Trouble> {
    let places = places(order)?;
    if !places.is_empty() && !job.is_begun()? {
        // What the tasks before it told is what the agent goes by.
        (order.site.settle_files)();
    }
    for (name, place) in places {
        let Ok(text) = fs::read(order.site.project.root.join(&place)) else { continue };
        // What the copy was when the agent began.
        let before = kept_at(job, name);
        if before.exists() {
            continue;
        }
        disk::write_below(&order.workplace()?, &place, &text)?;
        disk::write(&before, &text)?;
    }
    Ok(())
}

/// Where a copy is kept as it was when the agent began.
fn kept_at(job: &Job, name: &str) -> Utf8PathBuf {
    job.dir().join(Utf8Path::new(name).file_name().unwrap_or(name))
}

/// What the agent wrote about its own task.
fn told(order: &Order, job: &Job) -> Vec<Told> {
    let told = |(name, place): (&str, Utf8PathBuf)| {
        let before = fs::read(kept_at(job, name)).ok()?;
        let after = disk::read_plain(&order.workplace().ok()?.join(place)).ok()?;
        kept::told(order.run.settings.dialect, &order.task.id, name, &before, &after)
    };
    places(order).unwrap_or_default().into_iter().filter_map(told).collect()
}

/// The same as a message, and entries for the journal.
pub(super) fn report(order: &Order, job: &Job) -> (Option<Message>, Vec<Command>) {
    let all = told(order, job);
    let by = order.task.id.to_string();
    let entry = |text: &String| {
        let note = Note::Entry { task: Some(order.task.id.clone()), text: text.clone() };
        Command::Note { by: by.clone(), note }
    };
    let entries = all.iter().flat_map(|told| &told.entries).map(entry).collect();
    let said = all.iter().find_map(|told| told.what.as_ref()).map(|what| match what {
        What::Failed { reason, .. } => Said::Failed { reason: reason.clone() },
        What::Blocked { reason, .. } => Said::Blocked { reason: reason.clone() },
        _ => Said::Done,
    });
    let message = (!all.is_empty()).then(|| Message {
        said: said.unwrap_or(Said::Done),
        // The same is told twice, in fields and in words: where both say it, the fields do.
        report: all.iter().fold(Report::default(), |sum, told| sum.or(&told.report)),
    });
    (message, entries)
}
