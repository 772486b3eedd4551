//! Everything about one task, gathered from the journal.

use piton_core::plan::{RunId, TaskId};
use piton_core::view::{self, DetailSources, TaskDetail};
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::commands;
use crate::failure::Outcome;
use crate::runs::{explain, find, standing};

/// The page of a task. Commands in it can be typed as they are.
pub(crate) fn of_task(project: &Project, journal: &Journal, run: &RunId, id: &TaskId) -> Outcome<TaskDetail> {
    let unknown = || find::no_task(journal, run, id);
    let facts = standing::facts(journal, run)?;
    let task = journal.task(run, id)?.ok_or_else(unknown)?;
    let spec = journal.spec(run, id)?.ok_or_else(unknown)?;
    let mut why = explain::why(project, journal, &facts, id)?.ok_or_else(unknown)?;
    why.helps.iter_mut().for_each(|help| *help = commands::complete(help));
    why.causes.iter_mut().for_each(|cause| cause.text = commands::complete(&cause.text));
    let guardrails = journal.guardrails(run)?.into_iter().map(|said| said.text).collect();
    let events = journal.events(run, 0, Some(id), usize::MAX)?;
    let dependents = journal.links(run, id)?.dependents;
    let sources = DetailSources { run: &facts, task: &task, spec: &spec, why, dependents, guardrails };
    Ok(view::task_detail(sources, &events))
}
