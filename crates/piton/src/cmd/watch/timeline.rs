//! `piton timeline`: where the time of a run went.

use std::collections::{BTreeMap, BTreeSet};

use anstyle::Style;
use clap::Args;
use piton_core::plan::{RunId, TaskId};
use piton_core::time::{Span, Timestamp};
use piton_core::view::counted;
use piton_core::view::timeline::{self, Bar, Cause, Phase, Step, Timeline};
use serde_json::{Value, json};

use crate::args::Which;
use crate::columns;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, timeline as gathered};
use crate::ui::{self, BAD, BOLD, BUSY, DIM, GOOD, WARNING};

/// How many tasks have a row without `--all`.
const MOST: usize = 20;
/// Columns for a task's name, unless all names are shorter, and for what is behind its bar.
const NAME: usize = 16;
const BEHIND: usize = 14;
/// Fewer cells show nothing.
const NARROWEST: usize = 16;
/// Columns where no terminal says it.
const USUAL: usize = 80;
/// So many steps of the critical path are named at its beginning and at its end.
const STEPS: usize = 6;
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

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
        ui::answer(drawn(&run, &timeline, args.all));
    }
    Ok(FINE)
}

/// One task's row.
struct Row<'t> {
    task: &'t TaskId,
    bars: Vec<&'t Bar>,
    took: Span,
    attempts: u32,
    is_critical: bool,
}

fn rows(timeline: &Timeline) -> Vec<Row<'_>> {
    let mut bars: BTreeMap<&TaskId, Vec<&Bar>> = BTreeMap::new();
    for bar in &timeline.bars {
        bars.entry(&bar.task).or_default().push(bar);
    }
    let critical: BTreeSet<&TaskId> = timeline.critical.iter().map(|step| &step.task).collect();
    let mut rows = Vec::new();
    for (task, bars) in bars {
        let took = bars.iter().fold(Span(0), |sum, bar| sum.plus(bar.took(timeline.to)));
        let attempts = bars.iter().map(|bar| bar.attempt).max().unwrap_or(0);
        rows.push(Row { task, bars, took, attempts, is_critical: critical.contains(task) });
    }
    rows
}

fn drawn(run: &RunId, timeline: &Timeline, all: bool) -> String {
    let columns = columns::columns().unwrap_or(USUAL);
    let mut rows = rows(timeline);
    let whole = timeline.to.since(timeline.from);
    let attempts = rows.iter().map(|row| u64::from(row.attempts)).sum();
    let verb = if timeline.bars.iter().any(|bar| bar.to.is_none()) { "has taken" } else { "took" };
    let tasks = counted(rows.len() as u64, "task");
    let mut text = format!(
        "{} {verb} {whole}: {tasks}, {}\n\n",
        ui::styled(BOLD, run.as_str()),
        counted(attempts, "attempt")
    );

    let started = rows.len();
    if !all && rows.len() > MOST {
        rows.sort_by_key(|row| std::cmp::Reverse((row.is_critical, row.took)));
        rows.truncate(MOST);
    }
    rows.sort_by_key(|row| (row.bars.first().map(|bar| bar.from), row.task));
    let name = rows.iter().map(|row| row.task.as_str().chars().count()).max().unwrap_or(0).clamp(7, NAME);
    let width = columns.saturating_sub(2 + name + 1 + BEHIND).max(NARROWEST);
    let span = (timeline.from, timeline.to);
    for row in &rows {
        let cells: String =
            timeline::cells(row.bars.iter().copied(), span, width).into_iter().map(cell).collect();
        let mark = if row.is_critical { "*" } else { " " };
        let again = if row.attempts > 1 { format!(" ×{}", row.attempts) } else { String::new() };
        text += &format!(
            "{mark} {} {cells} {:>8}{again}\n",
            ui::styled(
                if row.is_critical { BOLD } else { Style::new() },
                format!("{:name$.name$}", row.task.as_str())
            ),
            row.took.to_string(),
        );
    }
    if started > rows.len() {
        text += &format!("  … and {} more (--all shows them)\n", started - rows.len());
    }
    let most = timeline.most_at_once();
    let strip: String =
        timeline::strip(&timeline.at_once, span, width).iter().map(|&count| spark(count, most)).collect();
    text += &format!("  {:name$} {} up to {most}\n", "at once", ui::styled(BUSY, strip));
    let end = whole.to_string();
    text += &format!("  {:name$} 0s{end:>rest$}\n\n", "", rest = width.saturating_sub(2));

    text += &key();
    text += &format!(
        "\n{:30}  {:>10}  {:>13}\n",
        ui::styled(BOLD, format!("{:30}", "where the time went")),
        "all tasks",
        "critical path"
    );
    for phase in Phase::ALL {
        let (all, path) = (timeline.totals.of(phase).to_string(), timeline.decided.of(phase).to_string());
        text += &format!("{:30}  {all:>10}  {path:>13}\n", phase.words());
    }
    text += &critical(&timeline.critical, columns);
    text
}

fn style(phase: Phase) -> Style {
    match phase {
        Phase::Waiting => DIM,
        Phase::Working => BUSY,
        Phase::Checking => GOOD,
        Phase::Landing => WARNING,
        Phase::Held => BAD,
    }
}

fn cell(phase: Option<Phase>) -> String {
    phase.map_or_else(|| " ".to_owned(), |phase| ui::styled(style(phase), phase.sign().to_string()))
}

fn key() -> String {
    let part = |phase: Phase| format!("{} {}", cell(Some(phase)), phase.words());
    let [agents, checks, landing, place, person] = Phase::ALL.map(part);
    format!("  {agents}  {checks}  {landing}\n  {place}  {person}  * critical path\n")
}

fn spark(count: u32, most: u32) -> char {
    let level = (u64::from(count) * SPARKS.len() as u64).div_ceil(u64::from(most.max(1)));
    match usize::try_from(level).unwrap_or(SPARKS.len()) {
        0 => ' ',
        level => SPARKS[level.min(SPARKS.len()) - 1],
    }
}

/// The chain, with how long each task held it up. A long one is cut in the middle.
fn critical(steps: &[Step], columns: usize) -> String {
    let mut words: Vec<String> = Vec::new();
    for (nth, step) in steps.iter().enumerate() {
        if steps.len() > 2 * STEPS + 1 && nth == STEPS {
            words.push(format!("→ … {} more …", steps.len() - 2 * STEPS));
        }
        if steps.len() > 2 * STEPS + 1 && (STEPS..steps.len() - STEPS).contains(&nth) {
            continue;
        }
        let arrow = match step.after {
            Cause::Nothing => "",
            Cause::Dependency => "→ ",
            Cause::Place | Cause::Group => "⇢ ",
        };
        words.push(format!("{arrow}{} {}", step.task, step.to.since(step.from)));
    }
    let mut text = format!("\n{}\n", ui::styled(BOLD, "critical path"));
    let mut line = String::new();
    for word in words {
        if !line.is_empty() && line.chars().count() + word.chars().count() + 3 > columns {
            text += &format!(" {line}\n");
            line.clear();
        }
        line += &format!(" {word}");
    }
    text += &format!(" {line}\n");
    if steps.iter().any(|step| matches!(step.after, Cause::Place | Cause::Group)) {
        text += "  ⇢ waited for the place of the task before it, or for its group to end\n";
    }
    text
}

fn show_task(run: &RunId, task: &TaskId, timeline: &Timeline, as_json: bool) {
    let bars: Vec<&Bar> = timeline.bars_of(task).collect();
    if as_json {
        return ui::answer_json(&json!({
            "run": run, "task": task, "from_ms": timeline.from, "to_ms": timeline.to, "bars": bars,
        }));
    }
    let Some(first) = bars.first() else { return ui::say(format!("{task} has not started yet")) };
    let took = bars.iter().fold(Span(0), |sum, bar| sum.plus(bar.took(timeline.to)));
    let verb = if bars.iter().any(|bar| bar.to.is_none()) { "has taken" } else { "took" };
    let since = |at: Timestamp| at.since(timeline.from);
    let mut text = format!(
        "{} {verb} {took}; it could start {} after the run began\n",
        ui::styled(BOLD, task.as_str()),
        since(first.from)
    );
    for bar in bars {
        let goes_on = if bar.to.is_none() { "so far" } else { "" };
        let attempt = if bar.attempt == 0 { String::new() } else { format!("attempt {}", bar.attempt) };
        let line = format!(
            "  {:>9}  {attempt:10}  {} {:29} {:>8} {}",
            format!("+{}", since(bar.from)),
            cell(Some(bar.phase)),
            bar.phase.words(),
            bar.took(timeline.to).to_string(),
            ui::plain(bar.end.as_deref().unwrap_or(goes_on)),
        );
        text += line.trim_end();
        text.push('\n');
    }
    ui::answer(text);
}
