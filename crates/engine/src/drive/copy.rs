//! State files that agents were taught to edit. Each agent gets copies in its worktree, and what it writes there is its
//! report. The files themselves belong to Piton.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::run::{Command, Note, Report};
use piton_core::system::edit::What;
use piton_core::system::state_files::AgentReport;

use super::order::{Order, Trouble};
use crate::agent::{Message, Said};
use crate::keeper::Job;
use crate::{disk, files};

/// The files that are copied, with their places in the project. An agent that works in place gets no copies: it writes
/// into the log itself, if its system has one.
fn places(order: &Order) -> Result<Vec<(&'static str, Utf8PathBuf)>, Trouble> {
    let files = order.run.settings.system().files();
    if let Some(log) = files.log_in_place.filter(|_| order.run.settings.no_commits) {
        return Ok(vec![(log, Utf8Path::new(&order.run.plan).join(log))]);
    }
    let Some(inside) = inside(order)? else { return Ok(Vec::new()) };
    let names = files.offered.iter();
    Ok(names.map(|name| (*name, inside.join(name))).collect())
}

/// Where in the project its system's files are, if agents work elsewhere.
fn inside(order: &Order) -> Result<Option<Utf8PathBuf>, Trouble> {
    if order.run.settings.no_commits {
        return Ok(None);
    }
    let plan = Utf8Path::new(&order.run.plan);
    Ok(files::folder_in_project(&order.site.project, order.run.settings.system(), plan))
}

/// Where one of these files really is: with the plan, which may lie outside of the project.
fn source(order: &Order, name: &str) -> Utf8PathBuf {
    match order.run.settings.system().files().of_project {
        true => order.site.project.root.join(name),
        false => Utf8Path::new(&order.run.plan).join(name),
    }
}

/// Put the copies where the agent looks for them. They are never part of the work.
pub(super) fn offer(order: &Order, job: &Job) -> Result<(), Trouble> {
    let places = places(order)?;
    if !places.is_empty() {
        // The agent relies on what earlier tasks reported.
        (order.site.settle_files)();
    }
    for (name, place) in places {
        let found = fs::read(source(order, name));
        // What the copy was when the agent began.
        let before = kept_at(job, name);
        if before.exists() {
            continue;
        }
        if order.run.settings.no_commits {
            disk::write(&before, &found.unwrap_or_default())?;
            continue;
        }
        let Ok(text) = found else { continue };
        disk::write_below(&order.workplace()?, &place, &text)?;
        disk::write(&before, &text)?;
    }
    show(order)
}

/// Copy files that the agent should read into its worktree, if they are not there because they are not committed.
fn show(order: &Order) -> Result<(), Trouble> {
    let Some(inside) = inside(order)? else { return Ok(()) };
    for name in order.run.settings.system().files().shown_along {
        let place = inside.join(name);
        let copy = order.workplace()?.join(&place);
        if let (false, Ok(text)) = (copy.exists(), fs::read(source(order, name))) {
            disk::write_below(&order.workplace()?, &place, &text)?;
        }
    }
    Ok(())
}

/// Where a copy is kept as it was when the agent began.
fn kept_at(job: &Job, name: &str) -> Utf8PathBuf {
    job.dir().join(Utf8Path::new(name).file_name().unwrap_or(name))
}

/// What the agent wrote about its own task. An agent that works in place wrote into the real state files: they are
/// reconciled now, before the engine records its end.
pub(super) fn reports(order: &Order, job: &Job) -> Vec<AgentReport> {
    let places = places(order).unwrap_or_default();
    if order.run.settings.no_commits && !places.is_empty() {
        (order.site.settle_files)();
    }
    let told = |(name, place): (&str, Utf8PathBuf)| {
        let before = fs::read(kept_at(job, name)).ok()?;
        let after = disk::read_plain(&order.workplace().ok()?.join(place)).ok()?;
        order.run.settings.system().report_in_copy(&order.task.id, name, &before, &after)
    };
    places.into_iter().filter_map(told).collect()
}

/// The same as a message.
pub(super) fn report(all: &[AgentReport]) -> Option<Message> {
    let said = all.iter().find_map(|told| told.what.as_ref()).map(|what| match what {
        What::Failed { reason, .. } => Said::Failed { reason: reason.clone() },
        What::Blocked { reason, .. } => Said::Blocked { reason: reason.clone() },
        _ => Said::Done,
    });
    (!all.is_empty()).then(|| Message {
        said: said.unwrap_or(Said::Done),
        // An agent may report the same in fields and in words. The fields take precedence.
        report: all.iter().fold(Report::default(), |sum, told| sum.or(&told.report)),
    })
}

/// What of it concerns all tasks: entries for the journal, and lessons. In place, reconciling the state files has
/// recorded them already.
pub(super) fn notes(order: &Order, all: &[AgentReport]) -> Vec<Command> {
    if order.run.settings.no_commits {
        return Vec::new();
    }
    let entry = |text: &String| Note::Entry {
        task: Some(order.task.id.clone()),
        text: text.clone(),
        for_next: false,
    };
    let lesson = |text: &String| Note::Guardrail { text: text.clone() };
    let entries = all.iter().flat_map(|told| &told.entries).map(entry);
    let lessons = all.iter().flat_map(|told| &told.guardrails).map(lesson);
    entries.chain(lessons).map(|note| Command::Note { by: order.task.id.to_string(), note }).collect()
}
