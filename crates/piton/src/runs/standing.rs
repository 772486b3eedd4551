//! Where a run stands.

use anstyle::Style;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{self, Bill, Event, Run as Facts, Status, Task};
use piton_core::time::Timestamp;
use piton_core::view::{self, RunStatus, Summary};
use piton_engine::clock;
use piton_engine::gates::{self, Stale};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
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

/// Whether an engine works on the run. Of the past only the journal knows: one that had begun and not stopped.
pub(crate) fn engine_lives(project: &Project, journal: &Journal, facts: &run::Run) -> bool {
    match journal.moment() {
        Some(_) => facts.engine.is_some(),
        None => project.is_led(journal, &facts.id) || has_stopped_since(journal, facts),
    }
}

/// Whether an engine has stopped since these facts were read. It records that before it lets go of its lock, so one that
/// is not known to have stopped, and holds no lock, is dead.
fn has_stopped_since(journal: &Journal, facts: &run::Run) -> bool {
    let now = || journal.facts(&facts.id).ok().flatten();
    facts.engine.is_some() && now().is_some_and(|now| now.engine != facts.engine)
}

/// The time that ages are counted up to.
pub(crate) fn now(journal: &Journal) -> Timestamp {
    journal.moment().unwrap_or_else(clock::now)
}

/// Gates that have not passed on the current work, of a run whose tasks are all completed according to the journal. Nothing
/// is known of that in the past.
pub(crate) fn stale(
    project: &Project,
    journal: &Journal,
    facts: &run::Run,
    counts: &run::Counts,
) -> Outcome<Vec<Stale>> {
    if !counts.is_complete() || facts.gates.is_empty() || journal.moment().is_some() {
        return Ok(Vec::new());
    }
    Ok(gates::stale(project, facts, &gates_of(journal, facts)?)?)
}

/// Where a run stands.
pub(crate) fn state(
    project: &Project,
    journal: &Journal,
    facts: &run::Run,
    counts: &run::Counts,
    stale: &[Stale],
) -> RunStatus {
    match RunStatus::of(facts, counts, engine_lives(project, journal, facts)) {
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
        Some(branch) => match facts.whole() {
            Some(whole) => format!(", landing on {branch}, and by one request on {}", whole.into),
            None => format!(", landing on {branch}"),
        },
        None => String::new(),
    }
}

pub(crate) fn describe(status: &RunStatus) -> String {
    let (style, text) = words(status);
    ui::styled(style, text)
}

/// The same without a colour.
pub(crate) fn sentence(status: &RunStatus) -> String {
    words(status).1
}

fn words(status: &RunStatus) -> (Style, String) {
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
    (style, commands::complete(&text))
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
    json!(view::Used::new(bill))
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

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use piton_core::plan::{Budget, Fences, Plan, Schedule, Settings};
    use piton_core::run::{Command, NewRun, Selection, Session, StopReason};
    use piton_testkit::bare;

    use super::*;

    fn session() -> Session {
        Session {
            schedule: Schedule::Flow,
            max_parallel: 1,
            landing_parallel: 1,
            landing_by_load: false,
            selection: Selection::All,
            agent: None,
            budget: Budget::default(),
            fences: Fences::default(),
            verbose: false,
            quiet: false,
        }
    }

    #[test]
    fn an_engine_that_stopped_after_its_run_was_read_has_not_died() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = Utf8Path::from_path(folder.path()).expect("UTF-8");
        let project = Project::around(folder).expect("a project without git");
        let mut journal = project.journal().expect("a journal");
        let run = RunId::new("run").expect("an id");
        let (name, groups, tasks, settings) =
            ("p".to_owned(), Vec::new(), vec![bare::spec(1, &[])], Settings::default());
        let plan = Plan { name, groups, tasks, settings };
        let (plan_path, target, base, worktree_dir) = ("p".to_owned(), None, None, None);
        let mut say = |command: Command| journal.command(&run, &command, clock::now()).map(drop);
        let new = NewRun { run: run.clone(), plan, plan_path, target, base, worktree_dir };
        say(Command::Create(Box::new(new))).expect("a run");
        let engine = "e1".to_owned();
        say(Command::Attach { engine: engine.clone(), session: session() }).expect("an engine");
        let read = facts(&journal, &run).expect("facts");
        assert!(
            !engine_lives(&project, &journal, &read),
            "it holds no lock, and nobody wrote that it stopped"
        );
        let (reason, tip) = (StopReason::Person, Vec::new());
        journal.command(&run, &Command::Detach { engine, reason, tip }, clock::now()).expect("its stop");
        assert!(engine_lives(&project, &journal, &read), "it did when this was read");
        let read = facts(&journal, &run).expect("facts");
        assert!(!engine_lives(&project, &journal, &read));
    }
}
