//! Everything about one task: what it asks for, why it is where it is, its attempts and their jobs.

use camino::Utf8Path;
use piton_core::chronicle::Chronicle;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Event, Recorded};
use piton_core::time::Timestamp;
use piton_core::view::{self, Attempt};
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
    // A folder of a later start is not part of the past, and neither is a later end.
    let moment = journal.moment();
    let is_known = |job: &&Listed| {
        let is_begun = |moment| Job::at(&job.path).started_at().is_none_or(|at| at <= moment);
        job.fence <= task.fence && moment.is_none_or(is_begun)
    };
    let known = jobs.all.iter().filter(is_known);
    let jobs: Vec<Value> =
        known.map(|job| job_document(project, job, jobs.attempt_of(job), moment)).collect();
    let guardrails = journal.guardrails(run)?;
    Ok(json!({
        "run": run,
        "task": document::task(journal, run, &task)?,
        "spec": journal.spec(run, id)?,
        "group": facts.groups.get(task.group as usize).map(|group| group.id.to_string()),
        "needs": links.needs, "dependents": links.dependents,
        "why": why,
        "attempts": attempts(journal, run, &events)?,
        "jobs": jobs,
        "guardrails": guardrails.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(),
        "now_ms": standing::now(journal).0,
    }))
}

/// The attempts, each with what it was told to heed and what it was fenced in by, as it stood when it was started last.
fn attempts(journal: &Journal, run: &RunId, events: &[Recorded]) -> Outcome<Vec<Value>> {
    let (said, of_run) = (journal.guardrail_events(run)?, journal.events_of_no_task(run)?);
    let of_start = |seq: u64| {
        let earlier = |recorded: &&Recorded| recorded.seq < seq;
        let texts = Chronicle::of(said.iter().filter(earlier)).guardrails;
        let fences = of_run.iter().rev().filter(earlier).find_map(|recorded| match &recorded.event {
            Event::EngineStarted { session, .. } => Some(&session.fences),
            Event::SettingsAdopted { session: Some(session), .. } => Some(&session.fences),
            _ => None,
        });
        json!({ "texts": texts.into_iter().map(|said| said.text).collect::<Vec<_>>(), "fences": fences })
    };
    let start_of = |attempt: &Attempt| {
        let is_it = |recorded: &&Recorded| match &recorded.event {
            Event::AttemptStarted { fence, .. } => attempt.fences.last() == Some(fence),
            _ => false,
        };
        events.iter().rfind(is_it).map(|recorded| recorded.seq)
    };
    let document = |attempt: Attempt| {
        let mut document = json!(attempt);
        document["guardrails"] = start_of(&attempt).map(of_start).unwrap_or_default();
        document
    };
    Ok(view::attempts(events).into_iter().map(document).collect())
}

/// The name by which a job is asked for. It is compared with those that there are, and never made into a path.
pub(crate) fn job_name(job: &Listed) -> String {
    job.path.file_name().unwrap_or_default().to_owned()
}

/// A job as it is, or as it was at a moment: what it had printed by then is not known before it ended.
fn job_document(
    project: &Project,
    listed: &Listed,
    attempt: Option<u32>,
    moment: Option<Timestamp>,
) -> Value {
    let job = Job::at(&listed.path);
    let is_over_then = |at| moment.is_none_or(|moment| at <= moment);
    let outcome = job.outcome().ok().flatten().filter(|outcome| is_over_then(outcome.ended_at()));
    let (ended, bytes) = match (&outcome, moment) {
        (None, Some(_)) => ("running".to_owned(), None),
        _ => (listed.ended(), Some(job.output().end().unwrap_or(0))),
    };
    json!({
        "job": job_name(listed), "attempt": attempt, "fence": listed.fence,
        "kind": if listed.what.contains("check") { "check" } else { "agent" },
        "title": listed.title(), "ended": ended, "is_running": outcome.is_none(),
        "started": job.started_at(), "took_ms": outcome.map(|outcome| outcome.ended_at_ms - outcome.started_at_ms),
        "bytes": bytes,
        // As the results of checks name it.
        "log": listed.path.strip_prefix(&project.home).ok(),
    })
}
