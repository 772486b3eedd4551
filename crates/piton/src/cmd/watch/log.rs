//! `piton log`: what happened, in order.

use std::time::Duration;

use clap::{Args, ValueEnum};
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Event, Recorded};
use piton_core::time::{Span, Timestamp};
use piton_core::view::{self, Tone};
use piton_engine::clock;
use piton_engine::journal::Journal;

use crate::args::Which;
use crate::failure::{Exit, FINE, Outcome};
use crate::progress::{self, line};
use crate::runs::found::FoundRun;
use crate::runs::{find, timeline};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only what concerns this task
    pub task: Option<TaskId>,
    #[command(flatten)]
    pub which: Which,
    /// Follow new events as they happen
    #[arg(long, short)]
    pub follow: bool,
    /// One JSON object per event
    #[arg(long)]
    pub json: bool,
    /// Print the run as a trace: OTLP/JSON, as OpenTelemetry collectors take it
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["task", "follow", "json", "verbose", "last", "since"])]
    pub format: Option<LogFormat>,
    /// Show every event, also the minor ones
    #[arg(long, short)]
    pub verbose: bool,
    /// Only the last N
    #[arg(long, short = 'n', value_name = "N")]
    pub last: Option<usize>,
    /// Only the last while, such as `2h` or `30m`
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub since: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// An `ExportTraceServiceRequest`: run, tasks, attempts, checks and landings as spans
    OtlpJson,
}

fn span(text: &str) -> Result<Span, String> {
    Span::parse(text)
        .ok_or_else(|| "a span is a number with its unit, such as `2h`, `30m` or `90s`".to_owned())
}

/// Events read at once.
const PAGE: usize = 500;
/// How often a followed journal is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// The position before the last `wanted` events that are shown. It is found by reading more and more of the journal.
fn before_last(
    wanted: usize,
    last: impl Fn(usize) -> Outcome<Vec<Recorded>>,
    is_shown: impl Fn(&Event) -> bool,
) -> Outcome<u64> {
    let mut many = wanted.max(16);
    loop {
        let events = last(many)?;
        let shown: Vec<&Recorded> = events.iter().filter(|recorded| is_shown(&recorded.event)).collect();
        if shown.len() >= wanted || events.len() < many {
            let first = shown.get(shown.len().saturating_sub(wanted)).map(|first| first.seq - 1);
            return Ok(first.or(events.last().map(|last| last.seq)).unwrap_or(0));
        }
        many *= 4;
    }
}

/// The position of the last event before this time. Only what came after it is read, and a little more.
fn before(time: Timestamp, last: impl Fn(usize) -> Outcome<Vec<Recorded>>) -> Outcome<u64> {
    let mut many = 64;
    loop {
        let events = last(many)?;
        match events.iter().rfind(|recorded| recorded.at < time) {
            Some(older) => return Ok(older.seq),
            None if events.len() < many => return Ok(0),
            None => many *= 4,
        }
    }
}

/// The last events. Those that the plan added, up to `begun`, are left out, except the first.
fn last_of(
    journal: &Journal,
    run: &RunId,
    task: Option<&TaskId>,
    begun: u64,
    many: usize,
) -> Outcome<Vec<Recorded>> {
    if begun == 0 {
        return Ok(journal.last_events(run, task, many)?);
    }
    let end = journal.last_events(run, None, 1)?.last().map_or(0, |last| last.seq);
    let all = usize::try_from(end.saturating_sub(begun)).unwrap_or(usize::MAX);
    let mut events = journal.last_events(run, None, many.min(all))?;
    if many > all {
        events.splice(0..0, journal.event(run, 1)?);
    }
    Ok(events)
}

pub(crate) fn log(args: &LogArgs) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run(&args.which)?;
    if args.format == Some(LogFormat::OtlpJson) {
        let events = journal.events_that_happened(&run)?;
        let now = timeline::now(&project, &journal, &run, &events)?;
        ui::answer_json(&view::otlp(&run, &events, now));
        return Ok(FINE);
    }
    let is_shown = |event: &Event| args.verbose || args.json || view::describe(event).tone != Tone::Quiet;
    // The tasks that the run began with are not shown, and there may be many.
    let shows_plan = args.verbose || args.json || args.task.is_some();
    let begun = if shows_plan { 0 } else { journal.begun(&run)? };
    let last = |many| last_of(&journal, &run, args.task.as_ref(), begun, many);
    let mut after = args.last.map_or(Ok(0), |wanted| before_last(wanted, last, is_shown))?;
    if let Some(span) = args.since {
        after = after.max(before(clock::now().minus(span), last)?);
    }
    if after == 0 && begun > 0 {
        let first = journal.event(&run, 1)?;
        first.iter().for_each(|first| ui::answer_line(line::line(first)));
    }
    after = after.max(begun);
    loop {
        let page = journal.events(&run, after, args.task.as_ref(), PAGE)?;
        for recorded in &page {
            after = recorded.seq;
            if is_shown(&recorded.event) {
                match args.json {
                    true => ui::answer_json_line(&progress::json(recorded)),
                    false => ui::answer_line(line::line(recorded)),
                }
            }
        }
        if page.len() == PAGE {
            continue;
        }
        // Only commands that people type add to a run without an engine. The log does not wait for those.
        if !args.follow || !project.is_led(&journal, &run) {
            return Ok(FINE);
        }
        std::thread::sleep(LOOK);
    }
}
