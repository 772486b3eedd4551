//! `piton gate`, `piton batch` and `piton resume-point`: where a run of a todolist stands, and what is said about it.

use clap::{Args, ValueEnum};
use piton_core::run::{Command, Note};
use piton_core::system::System;
use piton_core::system::rwkit::Rwkit;
use piton_core::system::rwkit::state::{self, StateFile, gate_task};
use serde_json::json;

use crate::args::{By, OfRun, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::judge::Purpose;
use crate::runs::report::{self, ReportArgs, Reported};
use crate::runs::{command, find, standing};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Its name, such as unit_tests [default: all]
    pub name: Option<String>,
    /// What it came to; its check decides whether it has passed
    pub said: Option<GateSaid>,
    /// Why, for failed and degraded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateSaid {
    Passed,
    Approved,
    Failed,
    Degraded,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// Its number, from 0 [default: all]
    pub number: Option<u32>,
    /// Note that the context of the driving agent was compacted after it
    #[arg(long, requires = "number")]
    pub compacted: bool,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn gate(args: &GateArgs) -> Outcome<Exit> {
    let Some(name) = &args.name else { return gates(args) };
    let task = gate_task(name).map_err(|bad| Failure::usage(format!("{name:?} is not a gate: {bad}")))?;
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    if journal.task(&run, &task)?.is_none() {
        return Err(Failure::new(format!("the run {run} has no gate `{name}`"))
            .hint(format!(
                "in piton.toml: [gates.{name}] with `run` or `review`, then piton run PLAN --replan"
            ))
            .hint("piton gate   lists those it has"));
    }
    drop(journal);
    let reason = args.reason.clone();
    match args.said {
        None => gates(args),
        Some(GateSaid::Degraded) => {
            let reason = reason.unwrap_or_else(|| "marked as degraded".to_owned());
            command::say(
                &args.which,
                args.json,
                &Command::Skip { task, by: command::holder(&args.by.by)?, reason },
            )
        }
        Some(said) => {
            let what = if said == GateSaid::Failed { Reported::Failed } else { Reported::Done };
            let by = By { by: args.by.by.clone() };
            let report = ReportArgs::new(task, what, reason, by, args.which.clone(), args.json);
            report::claim(&report, Purpose::Report)
        }
    }
}

fn gates(args: &GateArgs) -> Outcome<Exit> {
    let file = file(&args.which)?;
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let is_there = |name: &str| -> Outcome<bool> {
        let Ok(task) = gate_task(name) else { return Ok(false) };
        Ok(journal.task(&run, &task)?.is_some())
    };
    let gates: Vec<_> = file
        .quality_gates
        .0
        .iter()
        .filter(|(name, _)| args.name.as_ref().is_none_or(|wanted| wanted == name))
        .collect();
    let word = |word: &Option<state::GateWord>| json!(word);
    if args.json {
        let gates: serde_json::Map<_, _> =
            gates.iter().map(|(name, said)| (name.clone(), word(said))).collect();
        ui::answer_json(
            &json!({ "gates": gates, "qa_cycles": file.qa_cycles, "degraded": file.degraded_phases }),
        );
        return Ok(FINE);
    }
    for (name, said) in gates {
        let open = if is_there(name)? { "not yet" } else { "not asked for in piton.toml" };
        let said = word(said).as_str().map_or_else(|| open.to_owned(), str::to_owned);
        ui::answer_line(format!("{name:20} {said}"));
    }
    Ok(FINE)
}

pub(crate) fn batch(args: &BatchArgs) -> Outcome<Exit> {
    let file = file(&args.which)?;
    let batches: Vec<&state::Batch> = file
        .batches
        .iter()
        .filter(|batch| args.number.is_none_or(|number| number == batch.batch_id))
        .collect();
    if let (Some(number), true) = (args.number, batches.is_empty()) {
        return Err(Failure::new(format!("there is no batch {number}")).hint("piton batch   lists them"));
    }
    if let (Some(number), true) = (args.number, args.compacted) {
        let fields = json!({ "batches": { number.to_string(): { "compacted": true } } });
        let note = Note::Carried { file: state::FILE.to_owned(), fields };
        let command = Command::Note { by: command::holder(&args.by.by)?, note };
        let events = find::run_to_change(&args.which, None)?.command(&command)?;
        if args.json {
            command::tell_json(&events);
        } else {
            ui::answer_line(format!("batch {number} was followed by a compaction"));
        }
        return Ok(FINE);
    }
    if args.json {
        ui::answer_json(&json!({ "batches": batches, "current_batch": file.current_batch }));
        return Ok(FINE);
    }
    for batch in batches {
        let word = json!(batch.status);
        let tasks = batch.task_ids.join(", ");
        ui::answer_line(format!("{:>3} {:12} {tasks}", batch.batch_id, word.as_str().unwrap_or_default()));
    }
    Ok(FINE)
}

pub(crate) fn resume_point(args: &OfRun) -> Outcome<Exit> {
    let point = file(&args.which)?.resume_point;
    if args.json {
        ui::answer_json(&json!(point));
    } else if let Some(phase) = &point.phase {
        let batch = point.batch_id.map(|batch| format!(", Batch {batch}")).unwrap_or_default();
        let task = point.task_id.as_ref().map(|task| format!(", Task {task}")).unwrap_or_default();
        ui::answer_line(format!("Resume from: Phase {phase}{batch}{task}"));
    }
    Ok(FINE)
}

/// The state file as it should be now.
fn file(which: &Which) -> Outcome<StateFile> {
    let FoundRun { project, mut journal, run } = find::run(which)?;
    if standing::facts(&journal, &run)?.settings.form.system().name() != Rwkit.name() {
        return Err(Failure::new(format!("the run {run} is not of a todolist")).hint("piton status"));
    }
    let (state, chronicle) = (journal.load(&run)?, journal.chronicle(&run)?);
    state::project(&state, &chronicle, project.root.as_str())
        .ok_or_else(|| Failure::new(format!("the run {run} has no beginning")))
}
