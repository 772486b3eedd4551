//! Everything about one task: what it asks for, why it is where it is, its attempts and their jobs.

use camino::Utf8Path;
use piton_core::plan::{RunId, TaskId};
use piton_core::view;
use piton_engine::journal::Journal;
use piton_engine::keeper::Job;
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::runs::jobs::{Listed, TaskJobs};
use crate::runs::{document, explain, find, standing};
use crate::{commands, paths};

pub(crate) fn detail(project: &Project, journal: &Journal, run: &RunId, id: &TaskId) -> Outcome<Value> {
    let task = journal.task(run, id)?.ok_or_else(|| find::no_task(journal, run, id))?;
    let facts = standing::facts(journal, run)?;
    let plan = paths::typed(Utf8Path::new(&facts.plan));
    // Commands name the run where they could mean another one.
    let is_one_of_several = find::unfinished(&journal.runs()?).len() > 1;
    let named = Some(run).filter(|_| is_one_of_several);
    let complete = |text: &str| commands::complete_for(text, named, &plan);
    let mut why = explain::why(project, journal, &facts, id)?;
    if let Some(why) = &mut why {
        why.helps.iter_mut().for_each(|help| *help = complete(help));
        why.causes.iter_mut().for_each(|cause| cause.text = complete(&cause.text));
    }
    let events = journal.events(run, 0, Some(id), usize::MAX)?;
    let links = journal.links(run, id)?;
    let jobs = TaskJobs::find(project, journal, run, id)?;
    // A folder of a later start is not part of the past.
    let known = jobs.all.iter().filter(|job| job.fence <= task.fence);
    let jobs: Vec<Value> = known.map(|job| job_document(project, job, jobs.attempt_of(job))).collect();
    let guardrails = journal.guardrails(run)?;
    Ok(json!({
        "run": run,
        "task": document::task(journal, run, &task)?,
        "spec": journal.spec(run, id)?,
        "group": facts.groups.get(task.group as usize).map(|group| group.id.to_string()),
        "needs": links.needs, "dependents": links.dependents,
        "why": why,
        "attempts": view::attempts(&events),
        "jobs": jobs,
        "guardrails": guardrails.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(),
        "now_ms": standing::now(journal).0,
    }))
}

/// The name by which a job is asked for. It is compared with those that there are, and never made into a path.
pub(crate) fn job_name(job: &Listed) -> String {
    job.path.file_name().unwrap_or_default().to_owned()
}

fn job_document(project: &Project, listed: &Listed, attempt: Option<u32>) -> Value {
    let job = Job::at(&listed.path);
    let outcome = job.outcome().ok().flatten();
    json!({
        "job": job_name(listed), "attempt": attempt, "fence": listed.fence,
        "kind": if listed.what.contains("check") { "check" } else { "agent" },
        "title": listed.title(), "ended": listed.ended(), "is_running": outcome.is_none(),
        "started": job.started_at_ms(), "took_ms": outcome.map(|outcome| outcome.ended_at_ms - outcome.started_at_ms),
        "bytes": job.output().end().unwrap_or(0),
        // As the results of checks name it.
        "log": listed.path.strip_prefix(&project.home).ok(),
    })
}
