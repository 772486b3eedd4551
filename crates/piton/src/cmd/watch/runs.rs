//! `piton runs` and `piton close`: the runs of a project as a whole; and the one that a bare `piton run` resumes.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::RunId;
use piton_core::run::{Command, Status, Task};
use piton_core::view::RunStatus;
use piton_engine::clock;
use piton_engine::drive::{self, LeftJob};
use piton_engine::journal::{Journal, RunSummary};
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::args::Which;
use crate::cmd::steer::people;
use crate::cmd::watch::status;
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::runs::begin;
use crate::runs::find::{self, typed};
use crate::runs::flags::RunArgs;
use crate::{plans, ui};

#[derive(Debug, Args)]
#[command(after_help = "Example: piton runs --json | jq '.runs[] | select(.finished | not) | .run'")]
pub(crate) struct RunsArgs {
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: piton close plan-1a2b3c --reason 'the new plan replaces it'\n\
    Nothing is removed: `piton clean` removes worktrees later, and `piton run PLAN` opens the run again.")]
pub(crate) struct CloseArgs {
    /// The run, or an unambiguous beginning of its id; or its plan
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Why nobody wants it any more
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub reason: String,
    /// The project [default: the one around this folder, or around the plan]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Every run, newest first. Reads only.
pub(crate) fn runs(args: &RunsArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let journal = Journal::open_existing(&project.home)?;
    let all = journal.as_ref().map(Journal::runs).transpose()?.unwrap_or_default();
    let mut rows = Vec::new();
    for run in journal.iter().flat_map(|journal| all.iter().map(move |run| (journal, run))) {
        rows.push(Row::of(&project, run.0, run.1, &all)?);
    }
    if args.json {
        ui::answer_json(&json!({ "runs": rows.iter().map(Row::document).collect::<Vec<_>>() }));
        return Ok(FINE);
    }
    if rows.is_empty() {
        ui::say(format!("there is no run in {}", project.root));
        plan_hints(&project.root).iter().for_each(ui::hint);
        return Ok(FINE);
    }
    let width = rows.iter().map(|row| row.run.id.as_str().len()).max().unwrap_or(0);
    let words = rows.iter().map(|row| row.word().chars().count()).max().unwrap_or(0);
    let now = clock::now();
    for row in &rows {
        let done = row.run.counts.of(Status::Completed);
        let counts = format!("{done}/{}", row.run.counts.total());
        let touched = format!("{} ago", now.since(row.touched));
        let plan = ui::plain(&find::shown(Utf8Path::new(&row.run.plan)));
        ui::answer_line(format!(
            "{}{:pad$}  {:words$}  {counts:>7} done  {touched:>12}  {plan}",
            ui::styled(ui::BOLD, row.run.id.as_str()),
            "",
            row.word(),
            pad = width - row.run.id.as_str().len(),
        ));
    }
    Ok(FINE)
}

/// A run as it is listed.
struct Row {
    run: RunSummary,
    status: RunStatus,
    alive: bool,
    /// When its journal was written last.
    touched: piton_core::time::Timestamp,
    /// A newer run of the same plan has taken its place.
    replaced: bool,
}

impl Row {
    fn of(project: &Project, journal: &Journal, run: &RunSummary, all: &[RunSummary]) -> Outcome<Row> {
        let facts = status::facts(journal, &run.id)?;
        let stale = status::stale(project, journal, &facts, &run.counts)?;
        let last = journal.event(&run.id, run.seq)?;
        let newest = all.iter().find(|other| other.plan == run.plan);
        Ok(Row {
            status: status::state(project, &facts, &run.counts, &stale),
            alive: project.engine_lives(&run.id),
            touched: last.map_or(run.created, |last| last.at),
            replaced: newest.is_some_and(|newest| newest.id != run.id),
            run: run.clone(),
        })
    }

    fn word(&self) -> String {
        let word = match &self.status {
            RunStatus::Stale { .. } => "not complete",
            RunStatus::Ended => "ended",
            status => status.word(),
        };
        if self.replaced { format!("{word}, replaced") } else { word.to_owned() }
    }

    fn document(&self) -> Value {
        let Row { run, status, alive, touched, replaced } = self;
        json!({
            "run": run.id, "plan": run.plan, "name": run.name, "state": status, "engine_alive": alive,
            "done": run.counts.of(Status::Completed), "total": run.counts.total(),
            "finished": run.is_finished(), "closed": run.closed.is_some(), "replaced": replaced,
            "created": run.created.to_string(), "touched": touched.to_string(),
        })
    }
}

/// Nobody wants a run any more. Nothing of it is removed.
pub(crate) fn close(args: &CloseArgs) -> Outcome<Exit> {
    let plan = Some(Utf8PathBuf::from(&args.run)).filter(|plan| plan.exists());
    let run = if plan.is_some() { None } else { Some(args.run.clone()) };
    let which = Which { run, plan, project_path: args.project_path.clone() };
    let mut found = find::run_to_change(&which, None)?;
    let (project, run) = (found.project.clone(), found.run.clone());
    let left = drive::left_running(&project, &run);
    if !left.is_empty() && !project.engine_lives(&run) {
        let names: Vec<String> = left.iter().map(LeftJob::told).collect();
        let failure = Failure::new(format!(
            "the engine of the run {run} is gone, and left running: {}",
            names.join(", ")
        ));
        return Err(failure.hint(format!("piton stop --run {run}   ends it first")));
    }
    if !project.engine_lives(&run) && left_at_work(&mut found.journal, &run)? {
        ui::say(format!("the engine of the run {run} is gone; what it was at is taken in first"));
        people::end_jobs(&mut found, &[], args.json)?;
    }
    begin::forget_dead_engine(&project, &mut found.journal, &run)?;
    let events = found.command(&Command::Close { by: people::you(), reason: args.reason.clone() })?;
    people::tell(&events, args.json);
    if events.is_empty() {
        ui::say(format!("the run {run} is closed already"));
    }
    if !args.json {
        let plan = status::facts(&found.journal, &run)?.plan;
        ui::say("its worktrees, its branches and its journal stay");
        ui::hint("piton clean   removes its worktrees; what is only there is kept under refs/piton/rescue");
        ui::hint(format!("piton run {}   opens it again", typed(Utf8Path::new(&plan))));
    }
    Ok(FINE)
}

/// Whether the journal has tasks at work for an engine that did not come to say what became of them.
fn left_at_work(journal: &mut Journal, run: &RunId) -> Outcome<bool> {
    let state = journal.load(run)?;
    let attached = state.run().is_some_and(|run| run.engine.is_some());
    let is_left = |task: &Task| {
        task.is_engines() && (task.decided == Status::InProgress || attached && task.decided.holds_slot())
    };
    Ok(state.tasks().any(is_left))
}

/// `piton run` without a plan: the only run that is unfinished is resumed.
pub(crate) fn resumed(args: &RunArgs) -> Outcome<RunArgs> {
    if args.reset {
        return Err(Failure::usage("--reset begins a new run: say of which plan"));
    }
    let project = find::project(args.project_path.as_deref())?;
    let journal = Journal::open_existing(&project.home)?;
    let all = journal.as_ref().map(Journal::runs).transpose()?.unwrap_or_default();
    if args.run.is_some() {
        let which = Which { run: args.run.clone(), plan: None, project_path: args.project_path.clone() };
        let found = find::run(&which)?;
        let plan = status::facts(&found.journal, &found.run)?.plan;
        return Ok(RunArgs { plan: Some(plan.into()), ..args.clone() });
    }
    match &find::unfinished(&all)[..] {
        [run] => {
            let plan = Utf8PathBuf::from(&run.plan);
            if !args.loudness.json && !args.loudness.quiet {
                ui::say(format!("the run {} of {} is resumed", run.id, find::shown(&plan)));
            }
            Ok(RunArgs { plan: Some(plan), run: Some(run.id.to_string()), ..args.clone() })
        }
        [] => {
            let failure = Failure::usage(format!("no run is unfinished in {}: say which plan", project.root));
            Err(plan_hints(&project.root).into_iter().fold(failure, Failure::hint))
        }
        several => {
            let failure = Failure::usage(format!("several runs are unfinished in {}", project.root));
            Err(several.iter().take(10).fold(failure, |failure, run| {
                let done = run.counts.of(Status::Completed);
                let told = format!("resumes {}, {done}/{} done", run.id, run.counts.total());
                failure.hint(format!("piton run {}   {told}", typed(Utf8Path::new(&run.plan))))
            }))
        }
    }
}

/// The commands that begin with the plans that lie in a project, or how to get a first one.
pub(crate) fn plan_hints(root: &Utf8Path) -> Vec<String> {
    const MOST: usize = 10;
    let plans = plans::seen(root);
    let mut hints: Vec<String> =
        plans.iter().take(MOST).map(|plan| format!("piton run {}", typed(plan))).collect();
    if plans.len() > MOST {
        hints.push(format!("and {} more plans", plans.len() - MOST));
    }
    if hints.is_empty() {
        hints.push("piton new NAME   writes a plan to begin with".to_owned());
    }
    hints
}
