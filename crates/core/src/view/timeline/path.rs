//! The chain of tasks that decided when a run ended.

use std::collections::HashSet;

use super::fold::Row;
use super::{Bar, Cause, Step, Totals};
use crate::time::Timestamp;

/// A task from the moment at which it could start until it is over. One that is opened again lives again.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) ready: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) end: End,
    /// The task without which it could have started earlier, and until when.
    pub(super) after: Option<(usize, Timestamp, Cause)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Done,
    Abandoned,
    Skipped,
}

impl Life {
    /// Every moment in it.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        let after = self.after.as_mut().map(|(_, at, _)| at);
        [&mut self.ready].into_iter().chain(&mut self.ended).chain(after)
    }
}

/// From the task that ended last, go back to what each one waited for last.
pub(super) fn steps(rows: &[Row], end: Timestamp) -> Vec<Step> {
    let last = rows.iter().enumerate().filter_map(|(number, row)| {
        let life = row.lives.last()?;
        // What was given up, or waits for a person, has not decided anything, unless there is nothing else.
        let counts = if life.ended.is_some() { life.end == End::Done } else { !row.is_held() };
        Some(((counts, life.ended.unwrap_or(end), std::cmp::Reverse(life.ready)), number))
    });
    let Some((_, mut number)) = last.max() else { return Vec::new() };
    let mut until = end;
    let mut steps = Vec::new();
    let mut seen = HashSet::new();
    while seen.insert(number) {
        let row = &rows[number];
        let Some(life) = row.lives.iter().rfind(|life| life.ready <= until) else { break };
        let ended = if steps.is_empty() { life.ended.unwrap_or(end) } else { until };
        let (from, after) = life.after.map_or((life.ready, Cause::Nothing), |(_, at, cause)| (at, cause));
        steps.push(Step { task: row.task.clone(), from: from.min(ended), to: ended, after });
        match life.after {
            Some((before, at, _)) => (number, until) = (before, at),
            None => break,
        }
    }
    if let Some(first) = steps.last_mut() {
        // It would go round, or begin with a task of which nothing is known.
        first.after = Cause::Nothing;
    }
    steps.reverse();
    steps
}

/// What the chain did with its time.
pub(super) fn totals(steps: &[Step], bars: &[Bar], end: Timestamp) -> Totals {
    let mut totals = Totals::default();
    let on_path: std::collections::HashMap<_, _> = steps.iter().map(|step| (&step.task, step)).collect();
    for bar in bars {
        if let Some(step) = on_path.get(&bar.task) {
            let (from, to) = (bar.from.max(step.from), bar.to.unwrap_or(end).min(step.to));
            totals.add(bar.phase, to.since(from));
        }
    }
    totals
}
