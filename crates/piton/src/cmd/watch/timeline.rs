//! `piton timeline`: where the time of a run went.

use clap::Args;
use piton_core::plan::{RunId, TaskId};
use piton_core::view::timeline::{Bar, Timeline};
use serde_json::{Value, json};

use crate::args::Which;
use crate::columns::{self, fitted};
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::timeline::draw::{self, Line};
use crate::runs::{find, timeline as gathered};
use crate::ui;

/// How many tasks have a row without `--all`.
const MOST: usize = 20;
/// Columns where no terminal says it.
const USUAL: usize = 80;

#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    /// What one task did with its time, step by step
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// Show every task that has started, not only those that mattered most; JSON has every one
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn timeline(args: &TimelineArgs) -> Outcome<Exit> {
    if let Some(task) = &args.task {
        let FoundRun { project, journal, run } = find::run_of(task, &args.which)?;
        let timeline = gathered::of_task(&project, &journal, &run, task)?;
        show_task(&run, task, &timeline, args.json);
        return Ok(FINE);
    }
    let FoundRun { project, journal, run } = find::run(&args.which)?;
    let timeline = gathered::of_run(&project, &journal, &run)?;
    if args.json {
        let mut document = json!({ "run": run });
        if let (Some(document), Ok(Value::Object(more))) =
            (document.as_object_mut(), serde_json::to_value(&timeline))
        {
            document.extend(more);
        }
        ui::answer_json(&document);
    } else if timeline.bars.is_empty() {
        ui::say("no task has started yet");
    } else {
        answer(&draw::of_run(&run, &timeline, columns(), if args.all { usize::MAX } else { MOST }));
    }
    Ok(FINE)
}

fn show_task(run: &RunId, task: &TaskId, timeline: &Timeline, as_json: bool) {
    if as_json {
        let bars: Vec<&Bar> = timeline.bars_of(task).collect();
        return ui::answer_json(&json!({
            "run": run, "task": task, "from_ms": timeline.from, "to_ms": timeline.to, "bars": bars,
        }));
    }
    match draw::of_task(task, timeline, columns()) {
        lines if lines.is_empty() => ui::say(format!("{task} has not started yet")),
        lines => answer(&lines),
    }
}

fn columns() -> usize {
    columns::columns().unwrap_or(USUAL)
}

fn answer(lines: &[Line]) {
    ui::answer(lines.iter().map(|line| fitted(line, None) + "\n").collect::<String>());
}
