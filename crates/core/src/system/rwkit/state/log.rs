//! The last part of the file: what has happened, a line each, the newest of it. All of it is in the journal.

use serde::Serialize;

use super::file::Batch;
use super::gates::gate_of;
use super::words::{GateWord, RunWord, TaskWord};
use super::write::{ShownTask, Writer};
use crate::chronicle::{self, Failure, cut};
use crate::order::Arrange;
use crate::run::{Status, StopReason};
use crate::system::kit::projection::Time;
use crate::time::Timestamp;

/// More than people read in a state file, and little enough to write again and again.
const NEWEST: usize = 200;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogEntry {
    pub timestamp: Time,
    pub level: Level,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl Level {
    const ALL: [Level; 3] = [Level::Info, Level::Warning, Level::Error];

    pub fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }

    pub(super) fn parse_lenient(word: &str) -> Option<Level> {
        match word.trim().to_lowercase().as_str() {
            "info" | "debug" | "notice" => Some(Level::Info),
            "warning" | "warn" => Some(Level::Warning),
            "error" | "fatal" | "critical" => Some(Level::Error),
            _ => None,
        }
    }
}

/// A line that was logged, as an entry of the journal. Its level is written before it, unless it goes without
/// saying.
pub(super) fn entry(level: Level, message: &str) -> String {
    match level {
        Level::Info if parts(message).0.is_none() => message.to_owned(),
        level => format!("{}: {message}", level.word()),
    }
}

/// An entry of the journal, as a level, if it begins with one, and the rest.
fn parts(text: &str) -> (Option<Level>, &str) {
    let level = |level: Level| Some((level, text.strip_prefix(level.word())?.strip_prefix(": ")?));
    match Level::ALL.into_iter().find_map(level) {
        Some((level, message)) => (Some(level), message),
        None => (None, text),
    }
}

/// What a line is about; it becomes text only if it is among the newest.
enum Line<'a> {
    Began,
    Stopped(&'a StopReason),
    BatchDone(u32),
    Started(&'a ShownTask<'a>),
    Failed(&'a ShownTask<'a>, &'a Failure),
    Reset(&'a ShownTask<'a>, &'a str),
    Ended(&'a ShownTask<'a>),
    Entry(&'a chronicle::Entry),
    Guardrail(&'a str),
    Refused(&'a chronicle::Refused),
}

impl Writer<'_> {
    pub(super) fn logs(&self, status: RunWord, batches: &[Batch]) -> Vec<LogEntry> {
        let mut lines = self.lines(status, batches);
        lines.arrange_by_key(|(at, _)| *at);
        let older = lines.len().saturating_sub(NEWEST);
        let left_out = older.checked_sub(1).map(|last| LogEntry {
            timestamp: Time(lines[last].0),
            level: Level::Info,
            message: format!("{older} older lines are left out: `piton log` has them all"),
        });
        let entry = |(at, line): &(Timestamp, Line)| {
            let (level, message) = tell(line);
            LogEntry { timestamp: Time(*at), level, message: cut(&message, chronicle::TEXT) }
        };
        left_out.into_iter().chain(lines[older..].iter().map(entry)).collect()
    }

    fn lines(&self, status: RunWord, batches: &[Batch]) -> Vec<(Timestamp, Line<'_>)> {
        let mut lines = Vec::new();
        let chronicle = self.chronicle;
        lines.extend(chronicle.started_at.map(|at| (at, Line::Began)));
        for told in self.tasks.iter().chain(&self.gates) {
            let story = told.story;
            for earlier in &story.earlier {
                lines.extend(earlier.started_at.map(|at| (at, Line::Started(told))));
                lines.extend(failures(told, &earlier.failures));
                lines.push((earlier.at, Line::Reset(told, &earlier.by)));
            }
            lines.extend(story.started_at.map(|at| (at, Line::Started(told))));
            lines.extend(failures(told, &story.failures));
            if told.status.is_settled() {
                lines.push((told.ended_at(), Line::Ended(told)));
            }
        }
        let done = batches.iter().filter_map(|batch| Some((batch.completed_at?.0, batch.batch_id)));
        lines.extend(done.map(|(at, id)| (at, Line::BatchDone(id))));
        lines.extend(chronicle.entries.iter().map(|entry| (entry.at, Line::Entry(entry))));
        lines.extend(chronicle.guardrails.iter().map(|said| (said.at, Line::Guardrail(&said.text))));
        lines.extend(chronicle.refused.iter().map(|refused| (refused.at, Line::Refused(refused))));
        if let Some(stopped) = chronicle.stopped.as_ref().filter(|_| status != RunWord::Running) {
            lines.push((stopped.at, Line::Stopped(&stopped.reason)));
        }
        lines
    }
}

fn failures<'a>(told: &'a ShownTask, failures: &'a [Failure]) -> impl Iterator<Item = (Timestamp, Line<'a>)> {
    failures.iter().filter_map(move |failure| Some((failure.at?, Line::Failed(told, failure))))
}

fn tell(line: &Line) -> (Level, String) {
    use Level::{Info, Warning};
    match line {
        Line::Began => (Info, "Execution started".to_owned()),
        Line::Stopped(reason) => stopped(reason),
        Line::BatchDone(id) => (Info, format!("Batch {id} completed")),
        Line::Started(told) => (Info, format!("{} started", told.name())),
        Line::Failed(told, failure) => {
            let Failure { attempt, message, .. } = failure;
            (Warning, format!("{} failed in attempt {attempt}: {}", told.name(), one_line(message)))
        }
        Line::Reset(told, by) => (Info, format!("{} reset by {by}", told.name())),
        Line::Ended(told) => ended(told),
        Line::Entry(entry) => {
            let (level, message) = parts(&entry.text);
            let about = entry.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
            (level.unwrap_or(Info), format!("{about}{message}"))
        }
        Line::Guardrail(text) => (Info, format!("Guardrail: {text}")),
        Line::Refused(refused) => {
            (Warning, format!("Rejected an edit: {}: {}", refused.edit, refused.reason))
        }
    }
}

fn ended(told: &ShownTask) -> (Level, String) {
    use Level::{Error, Info, Warning};
    let why = |said: Option<&str>| said.map(|text| format!(": {}", one_line(text))).unwrap_or_default();
    let skipped = || why(told.story.skipped.as_ref().map(|said| said.text.as_str()));
    if let Some(gate) = gate_of(&told.task.id) {
        return match GateWord::from_status(gate, told.status) {
            Some(GateWord::Degraded) => (Warning, format!("Phase {gate} DEGRADED{}", why(told.error()))),
            Some(word) => (Info, format!("Gate {gate} {}", word.word())),
            None => (Warning, format!("Gate {gate} skipped{}", told.in_vain())),
        };
    }
    match told.word {
        TaskWord::Blocked => (Error, format!("{} BLOCKED{}", told.name(), why(told.error()))),
        TaskWord::Skipped if told.status == Status::Unreachable => {
            (Warning, format!("{} skipped{}", told.name(), told.in_vain()))
        }
        TaskWord::Skipped => (Warning, format!("{} skipped{}", told.name(), skipped())),
        word => (Info, format!("{} {}", told.name(), word.word())),
    }
}

fn stopped(reason: &StopReason) -> (Level, String) {
    use Level::{Error, Info, Warning};
    match reason {
        StopReason::Completed => (Info, "Full pipeline completed".to_owned()),
        StopReason::Ended => (Warning, "Pipeline ended with unfinished work".to_owned()),
        StopReason::Filter => (Info, "What was selected is completed".to_owned()),
        StopReason::Person => (Info, "Paused on request".to_owned()),
        StopReason::LandingWaits { detail } => (Warning, format!("Paused because landing waits: {detail}")),
        StopReason::PlanChanged { detail } => {
            (Warning, format!("Paused because the list changed: {}", one_line(detail)))
        }
        StopReason::Elsewhere { detail } | StopReason::Siblings { detail } => {
            (Info, format!("Paused: {detail}"))
        }
        StopReason::Budget { detail } => (Info, format!("Stopped: {detail}")),
        StopReason::Environment { detail } => (Error, format!("Failed: {detail}")),
    }
}

fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
