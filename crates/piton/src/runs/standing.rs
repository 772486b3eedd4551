//! Where a run stands.

use piton_core::plan::{RunId, TaskId};
use piton_core::run::{self, Bill, Event, Run as Facts, Status, Task};
use piton_core::view::{self, RunStatus, Summary};
use piton_engine::gates::{self, Stale};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands;
use crate::failure::{Failure, Outcome};
use crate::ui::{self, DIM};

pub(crate) fn facts(journal: &Journal, run: &RunId) -> Outcome<piton_core::run::Run> {
    journal.facts(run)?.ok_or_else(|| Failure::new(format!("the run {run} has no beginning")))
}

pub(crate) fn summary(journal: &Journal, facts: &piton_core::run::Run) -> Outcome<Summary> {
    let cells = journal.cells(&facts.id)?;
    Ok(Summary::new(facts, cells.iter().map(|(cell, counts)| (*cell, counts))))
}

/// Gates that have not passed on the current work, of a run whose tasks are all completed according to the journal.
pub(crate) fn stale(
    project: &Project,
    journal: &Journal,
    facts: &run::Run,
    counts: &run::Counts,
) -> Outcome<Vec<Stale>> {
    if !counts.is_complete() || facts.gates.is_empty() {
        return Ok(Vec::new());
    }
    Ok(gates::stale(project, facts, &gates_of(journal, facts)?)?)
}

/// Where a run stands.
pub(crate) fn state(project: &Project, facts: &run::Run, counts: &run::Counts, stale: &[Stale]) -> RunStatus {
    match RunStatus::of(facts, counts, project.engine_lives(&facts.id)) {
        RunStatus::Completed { .. } if !stale.is_empty() => {
            RunStatus::Stale { gates: stale.iter().map(|stale| stale.gate.clone()).collect() }
        }
        status => status,
    }
}

/// Where its work goes.
pub(crate) fn onto(facts: &piton_core::run::Run) -> String {
    match &facts.target {
        _ if facts.settings.no_commits => ", in place".to_owned(),
        Some(target) => format!(", landing on {target}"),
        None => String::new(),
    }
}

pub(crate) fn describe(status: &RunStatus) -> String {
    use piton_core::run::StopReason;
    let (style, text) = match status {
        RunStatus::Completed { skipped: 0 } => (ui::GOOD, "every task is completed".to_owned()),
        RunStatus::Completed { skipped } => (ui::GOOD, format!("completed, {skipped} skipped")),
        RunStatus::Running => (ui::BUSY, "running".to_owned()),
        RunStatus::Stopping { now: true } => (ui::BUSY, "stopping at once".to_owned()),
        RunStatus::Stopping { now: false } => (
            ui::BUSY,
            "stopping: tasks in progress finish first; `piton stop --now` does not wait".to_owned(),
        ),
        RunStatus::NotStarted => (DIM, "not started".to_owned()),
        RunStatus::Interrupted => {
            (ui::WARNING, "interrupted: its engine has ended; `piton run` resumes it".to_owned())
        }
        RunStatus::Closed(run::Closed { by, reason }) => {
            let why = if reason.is_empty() { String::new() } else { format!(": {}", ui::plain(reason)) };
            (DIM, format!("closed by {by}{why}; `piton run PLAN` opens it again"))
        }
        RunStatus::Ended | RunStatus::Stale { .. } => (ui::BAD, status.word().to_owned()),
        RunStatus::Stopped(reason) => (
            ui::WARNING,
            match reason {
                StopReason::Filter => "stopped: what was selected is done".to_owned(),
                StopReason::Person => "stopped on request".to_owned(),
                StopReason::LandingWaits { detail }
                | StopReason::Elsewhere { detail }
                | StopReason::Siblings { detail }
                | StopReason::Budget { detail }
                | StopReason::Environment { detail } => {
                    format!("stopped: {detail}")
                }
                StopReason::PlanChanged { .. } => "stopped: the plan changed".to_owned(),
                StopReason::Completed | StopReason::Ended => "stopped".to_owned(),
            },
        ),
    };
    ui::styled(style, commands::complete(&text))
}

/// What a person skipped, each with the reason.
pub(crate) fn skipped(journal: &Journal, run: &RunId) -> Outcome<Vec<(TaskId, String)>> {
    let tasks = journal.tasks_in(run, Status::Skipped, usize::MAX)?;
    tasks.into_iter().map(|task| Ok((task.id.clone(), reason(journal, run, &task)?))).collect()
}

/// The same for programs.
pub(crate) fn skipped_document(skipped: &[(TaskId, String)]) -> Value {
    skipped.iter().map(|(task, reason)| json!({ "task": task, "reason": reason })).collect()
}

/// What was used, in units that need no explanation; `null` is unknown.
pub(crate) fn used_document(bill: &Bill) -> Value {
    json!(Used::new(bill))
}

/// The same, to be written without a copy of it.
#[derive(Debug, Serialize)]
pub(crate) struct Used {
    tries: u32,
    unmeasured_tries: u32,
    estimated_tries: u32,
    input_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
    estimated_input_tokens: Option<u64>,
    estimated_output_tokens: Option<u64>,
    estimated_cost_usd: Option<f64>,
}

impl Used {
    pub(crate) fn new(bill: &Bill) -> Used {
        Used {
            tries: bill.tries,
            unmeasured_tries: bill.unmeasured,
            estimated_tries: bill.estimated,
            input_tokens: bill.usage.input,
            cached_tokens: bill.usage.cached,
            output_tokens: bill.usage.output,
            cost_usd: bill.usage.cost.map(view::dollars),
            estimated_input_tokens: bill.estimate.input,
            estimated_output_tokens: bill.estimate.output,
            estimated_cost_usd: bill.estimate.cost.map(view::dollars),
        }
    }
}

pub(crate) fn reason(journal: &Journal, run: &RunId, task: &Task) -> Outcome<String> {
    let Some(seq) = task.failure_seq else { return Ok(String::new()) };
    Ok(match journal.event(run, seq)?.map(|recorded| recorded.event) {
        Some(Event::Failed { reason, .. } | Event::Skipped { reason, .. }) => {
            reason.lines().next().unwrap_or_default().to_owned()
        }
        Some(Event::Adopted { past, .. }) => past
            .failure()
            .map(|(reason, _)| reason.lines().next().unwrap_or_default().to_owned())
            .unwrap_or_default(),
        _ => String::new(),
    })
}

/// The gates of a run, as they stand.
pub(crate) fn gates_of(journal: &Journal, facts: &Facts) -> Outcome<Vec<Task>> {
    let mut gates = Vec::new();
    for id in &facts.gates {
        gates.extend(journal.task(&facts.id, id)?);
    }
    Ok(gates)
}
