//! What work has cost, as far as clients tell. What was not told is unknown, never nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Run, Task};
use crate::time::Span;

/// Tokens and money. Each part is known or not by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens that were read, those of a cache included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// How many of them came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

/// By model; the empty name is a model that the client did not name.
pub type ByModel = BTreeMap<String, Usage>;

impl Usage {
    /// Known to be nothing.
    pub const NOTHING: Usage = Usage { input: Some(0), cached: Some(0), output: Some(0), cost: Some(0) };

    /// Of all models together.
    pub fn sum(of: &ByModel) -> Usage {
        of.values().copied().reduce(Usage::plus).unwrap_or(Usage::NOTHING)
    }

    /// Both together. What one of them does not know stays known from the other: it is a lower bound then.
    #[must_use]
    pub fn plus(self, more: Usage) -> Usage {
        self.zip(more, u64::saturating_add)
    }

    /// What has come since, where a client counts on from earlier.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        let rest = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
        Usage {
            input: rest(self.input, before.input),
            cached: rest(self.cached, before.cached),
            output: rest(self.output, before.output),
            cost: rest(self.cost, before.cost),
        }
    }

    fn zip(self, other: Usage, both: fn(u64, u64) -> u64) -> Usage {
        let part = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(both(a, b)),
            (known, None) | (None, known) => known,
        };
        Usage {
            input: part(self.input, other.input),
            cached: part(self.cached, other.cached),
            output: part(self.output, other.output),
            cost: part(self.cost, other.cost),
        }
    }
}

/// What tries have used together, and how many of them did not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bill {
    pub tries: u32,
    pub unmeasured: u32,
    #[serde(flatten)]
    pub usage: Usage,
}

impl Bill {
    pub fn is_empty(&self) -> bool {
        self.tries == 0
    }

    /// One try more, of which this is known.
    pub fn add(&mut self, used: Option<Usage>) {
        self.tries = self.tries.saturating_add(1);
        match used {
            Some(usage) => self.usage = self.usage.plus(usage),
            None => self.unmeasured = self.unmeasured.saturating_add(1),
        }
    }

    pub fn merge(&mut self, more: &Bill) {
        self.tries = self.tries.saturating_add(more.tries);
        self.unmeasured = self.unmeasured.saturating_add(more.unmeasured);
        self.usage = self.usage.plus(more.usage);
    }
}

/// What a run has used: by agent, then by model.
pub type Bills = BTreeMap<String, BTreeMap<String, Bill>>;

/// What a run has used of its budget, if that is all of it.
pub fn over_budget(run: &Run) -> Option<String> {
    run_over(run, Live::default())
}

/// The same of one task.
pub(super) fn task_over_budget(run: &Run, task: &Task) -> Option<String> {
    task_over(run, task, Live::default())
}

/// What agents at work have used so far: nobody has booked it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    pub usage: Usage,
    pub worked: Span,
}

impl Live {
    #[must_use]
    pub fn plus(self, more: Live) -> Live {
        Live { usage: self.usage.plus(more.usage), worked: self.worked.plus(more.worked) }
    }
}

/// A bound that is reached while an agent works, with what is used of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Of this run of the agent: it has failed.
    Attempt(String),
    /// Of its task: a person decides whether it may have more.
    Task(String),
    /// Of the whole run, which stops.
    Run(String),
}

/// The bound that an agent at work has reached, if any. `own` is what it has used, `of_task` what all have that were at its
/// task since something was booked, `all` what all at work have.
pub fn bound_reached(run: &Run, task: &Task, own: Live, of_task: Live, all: Live) -> Option<Bound> {
    let budget = &run.session.budget;
    let attempt = || {
        over(own.usage, budget.attempt_usd, budget.attempt_tokens)
            .or_else(|| over_time(own.worked, budget.attempt_time))
    };
    run_over(run, all)
        .map(Bound::Run)
        .or_else(|| task_over(run, task, of_task).map(Bound::Task))
        .or_else(|| attempt().map(Bound::Attempt))
}

fn run_over(run: &Run, live: Live) -> Option<String> {
    let budget = &run.session.budget;
    let mut used = Bill::default();
    run.used.values().flat_map(BTreeMap::values).for_each(|bill| used.merge(bill));
    over(used.usage.plus(live.usage), budget.run_usd, budget.run_tokens)
        .or_else(|| over_time(run.worked.plus(live.worked), budget.run_time))
}

fn task_over(run: &Run, task: &Task, live: Live) -> Option<String> {
    let budget = &run.session.budget;
    over(task.used.usage.plus(live.usage), budget.task_usd, budget.task_tokens)
        .or_else(|| over_time(task.worked.plus(live.worked), budget.task_time))
}

fn over(used: Usage, usd: Option<u64>, tokens: Option<u64>) -> Option<String> {
    let (cost, count) =
        (used.cost.unwrap_or(0), used.input.unwrap_or(0).saturating_add(used.output.unwrap_or(0)));
    if let Some(most) = usd.filter(|most| cost >= *most) {
        let dollars = |micros: u64| format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000);
        return Some(format!("{} of {} are used", dollars(cost), dollars(most)));
    }
    tokens.filter(|most| count >= *most).map(|most| format!("{count} of {most} tokens are used"))
}

fn over_time(worked: Span, most: Option<Span>) -> Option<String> {
    most.filter(|most| worked >= *most).map(|most| format!("agents have worked for {worked} of {most}"))
}

/// What a session has come to since it stood at `before`.
pub fn usage_since(now: &ByModel, before: &ByModel) -> ByModel {
    let rest = |(model, usage): (&String, &Usage)| {
        (model.clone(), usage.since(before.get(model).copied().unwrap_or_default()))
    };
    now.iter().map(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_stays_unknown() {
        let told = Usage { input: Some(5), output: Some(1), ..Usage::default() };
        assert_eq!(told.plus(told).input, Some(10));
        assert_eq!(told.plus(told).cost, None);
        assert_eq!(told.since(Usage { input: Some(7), cost: Some(9), ..told }).input, Some(0));
        assert_eq!(told.since(Usage { input: Some(2), cost: Some(9), ..told }).cost, None);
        assert_eq!(Usage::default().plus(told), told);
    }
}
