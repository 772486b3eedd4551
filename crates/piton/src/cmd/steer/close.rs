//! `piton close`: close a run that is not wanted any more.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::RunId;
use piton_core::run::{Command, Status, Task};
use piton_engine::drive::{self, LeftJob};
use piton_engine::journal::{Journal, RunSummary};

use crate::args::Which;
use crate::cmd::steer::overrides;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{shown, typed};
use crate::runs::{command, find, lock, standing};
use crate::ui;

#[derive(Debug, Args)]
#[command(after_help = "Example: piton close plan-1a2b3c --reason 'the new plan replaces it'\n\
    Nothing is removed: `piton clean` removes worktrees later, and `piton run PLAN` opens the run again.")]
pub(crate) struct CloseArgs {
    /// The run, or an unambiguous beginning of its id; or its plan
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Why it is no longer needed
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub reason: String,
    /// The project [default: the one around this folder, or around the plan]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Close a run. Nothing of it is removed.
pub(crate) fn close(args: &CloseArgs) -> Outcome<Exit> {
    let Some(run) = &args.run else { return Err(say_which(args.project_path.as_deref())?) };
    let plan = Some(Utf8PathBuf::from(run)).filter(|plan| plan.exists());
    let run = if plan.is_some() { None } else { Some(run.clone()) };
    let which = Which { run, plan, project_path: args.project_path.clone() };
    let mut found = find::run_to_change(&which, None)?;
    let (project, run) = (found.project.clone(), found.run.clone());
    let left = drive::left_running(&project, &run);
    if !left.is_empty() && !project.is_led(&found.journal, &run) {
        let names: Vec<String> = left.iter().map(LeftJob::describe).collect();
        let failure = Failure::new(format!(
            "the engine of the run {run} has ended but left these running: {}",
            names.join(", ")
        ));
        return Err(failure.hint(format!("piton stop --run {run}   ends it first")));
    }
    if !project.is_led(&found.journal, &run) && left_at_work(&found.journal, &run)? {
        ui::say(format!("the engine of the run {run} has ended; Piton first records what it was doing"));
        overrides::end_jobs(&mut found, &[], args.json)?;
    }
    lock::forget_dead_engine(&project, &mut found.journal, &run)?;
    let events = found.command(&Command::Close { by: command::you(), reason: args.reason.clone() })?;
    command::tell(&events, args.json);
    if events.is_empty() {
        ui::say(format!("the run {run} is already closed"));
    }
    if !args.json {
        let plan = standing::facts(&found.journal, &run)?.plan;
        ui::say("its worktrees, its branches and its journal stay");
        ui::hint("piton clean   removes its worktrees; what is only there is kept under refs/piton/rescue");
        ui::hint(format!("piton run {}   opens it again", typed(Utf8Path::new(&plan))));
    }
    Ok(FINE)
}

/// The runs that can be closed, with the command for each. None is chosen, even if it is the only one.
fn say_which(project: Option<&Utf8Path>) -> Outcome<Failure> {
    let project = find::project(project)?;
    let journal = project.existing_journal()?;
    let runs = journal.as_ref().map(Journal::runs).transpose()?.unwrap_or_default();
    if runs.is_empty() {
        return Ok(find::no_run(&project, None));
    }
    let open: Vec<&RunSummary> = runs.iter().filter(|run| !run.is_over()).collect();
    if open.is_empty() {
        return Ok(Failure::new(format!("every run in {} is closed or complete", project.root)));
    }
    Ok(open.iter().fold(Failure::usage("say which run to close"), |failure, run| {
        let (plan, done) = (shown(Utf8Path::new(&run.plan)), run.counts.of(Status::Completed));
        failure.hint(format!("piton close {}   closes {plan}, {done}/{} done", run.id, run.counts.total()))
    }))
}

/// Whether the journal has tasks in progress of an engine that died before it could record their end.
fn left_at_work(journal: &Journal, run: &RunId) -> Outcome<bool> {
    let attached = standing::facts(journal, run)?.engine.is_some();
    let is_left = |task: &Task| {
        task.is_engines() && (task.decided == Status::InProgress || attached && task.decided.holds_slot())
    };
    Ok(journal.under_way(run)?.iter().any(is_left))
}
