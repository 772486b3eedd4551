//! What work has cost. What a client reports is kept apart from what is estimated because it was cut off before it could
//! report. Both count against bounds. What is neither is unknown, never nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::event::Note;
use super::{Run, Task};
use crate::order::Pairs;
use crate::time::Span;

/// Tokens and money. Any part may be unknown.
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

    /// The sum over all models.
    pub fn sum(of: &ByModel) -> Usage {
        of.values().copied().reduce(Usage::plus).unwrap_or(Usage::NOTHING)
    }

    pub fn is_unknown(&self) -> bool {
        *self == Usage::default()
    }

    /// Read and written, as far as they are known.
    pub fn tokens(self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
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

/// What tries have used together, and how many of them did not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bill {
    pub tries: u32,
    pub unmeasured: u32,
    /// As clients report it.
    #[serde(flatten)]
    pub usage: Usage,
    /// What comes on top of that, as an estimate, and how many tries it is for.
    #[serde(skip_serializing_if = "Usage::is_unknown")]
    pub estimate: Usage,
    #[serde(skip_serializing_if = "is_zero")]
    pub estimated: u32,
    /// The tokens that the reported cost is for.
    #[serde(skip_serializing_if = "is_none")]
    pub priced: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Bill {
    pub fn is_empty(&self) -> bool {
        self.tries == 0
    }

    /// What bounds are compared with: reported and estimated together.
    pub fn all(&self) -> Usage {
        self.usage.plus(self.estimate)
    }

    /// Add a try, with its reported and its estimated usage.
    pub fn add(&mut self, used: Option<Usage>, estimate: Option<Usage>) {
        self.tries = self.tries.saturating_add(1);
        match (used, estimate) {
            (None, None) => self.unmeasured = self.unmeasured.saturating_add(1),
            (used, estimate) => {
                if let Some(usage) = used {
                    self.usage = self.usage.plus(usage);
                    let priced = usage.cost.map_or(0, |_| usage.tokens());
                    self.priced = self.priced.saturating_add(priced);
                }
                if let Some(usage) = estimate {
                    self.estimate = self.estimate.plus(usage);
                    self.estimated = self.estimated.saturating_add(1);
                }
            }
        }
    }

    pub fn merge(&mut self, more: &Bill) {
        self.tries = self.tries.saturating_add(more.tries);
        self.unmeasured = self.unmeasured.saturating_add(more.unmeasured);
        self.usage = self.usage.plus(more.usage);
        self.estimate = self.estimate.plus(more.estimate);
        self.estimated = self.estimated.saturating_add(more.estimated);
        self.priced = self.priced.saturating_add(more.priced);
    }
}

/// Add a try to the bills by model. A client may have used several models, or none before it failed.
pub(super) fn book(bills: &mut BTreeMap<String, Bill>, used: Option<&ByModel>, estimate: &ByModel) {
    let models: BTreeSet<&String> = used.into_iter().chain([estimate]).flat_map(ByModel::keys).collect();
    for model in &models {
        let bill = bills.entry((*model).clone()).or_default();
        bill.add(used.and_then(|used| used.get(*model)).copied(), estimate.get(*model).copied());
    }
    if models.is_empty() {
        bills.entry(String::new()).or_default().add(used.map(|_| Usage::NOTHING), None);
    }
}

/// Whether a job of this name is the work on a task. Journals of earlier versions do not name it.
pub(crate) fn is_of_a_worker(job: &str) -> bool {
    job.is_empty() || job.contains(".agent")
}

/// The assumed cost of a token, in millionths of a dollar, while a client has not reported any cost: that of large
/// models. Cached tokens cost a tenth.
const INPUT: u64 = 5;
const OUTPUT: u64 = 25;

/// Add an estimate of the cost to a note of what was used, if the client would have reported the cost only at its end.
/// The estimate uses what tokens of that model have cost in this run.
pub(super) fn priced(run: &Run, note: &mut Note) {
    let Note::Spent { agent, used, estimate, .. } = note else { return };
    let client = run.settings.agents.get(agent.as_str());
    if !client.is_some_and(|client| client.adapter.facts().reports_cost) {
        return;
    }
    let bills = run.used.get(agent.as_str());
    for (model, sum) in estimate {
        let known = bills.and_then(|bills| bills.get(model)).filter(|bill| bill.priced > 0);
        let cost = |usage: Usage| match known.and_then(|bill| Some((bill.usage.cost?, bill.priced))) {
            Some((cost, tokens)) => {
                let cost = u128::from(usage.tokens()) * u128::from(cost) / u128::from(tokens);
                u64::try_from(cost).unwrap_or(u64::MAX)
            }
            None => assumed(usage),
        };
        let reported = used.as_ref().and_then(|used| used.get(model)).copied();
        let unpriced = [reported, Some(*sum)].into_iter().flatten().filter(|usage| usage.cost.is_none());
        sum.cost = unpriced.map(cost).reduce(u64::saturating_add).or(sum.cost);
    }
}

fn assumed(usage: Usage) -> u64 {
    let cached = usage.cached.unwrap_or(0);
    let read = usage.input.unwrap_or(0).saturating_sub(cached);
    let written = usage.output.unwrap_or(0).saturating_mul(OUTPUT);
    read.saturating_mul(INPUT).saturating_add(cached.saturating_mul(INPUT) / 10).saturating_add(written)
}

/// What a run has used: by agent, then by model.
pub type Bills = BTreeMap<String, BTreeMap<String, Bill>>;

/// What a run has used of its budget, if that is all of it.
pub fn over_budget(run: &Run) -> Option<String> {
    run_over(run, Live::default())
}

/// The same for one task.
pub(super) fn task_over_budget(run: &Run, task: &Task) -> Option<String> {
    task_over(run, task, Live::default())
}

/// What running agents have used so far. It is not booked yet.
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
    /// The budget of this run of the agent: the try fails.
    Attempt(String),
    /// The budget of its task: a person decides whether it may have more.
    Task(String),
    /// The budget of the whole run, which stops.
    Run(String),
}

/// The budget that a running agent has reached, if any. `own` is what it has used, `of_task` what the agents of its
/// task have used since the last booking, `all` what all running agents have used.
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
    over_bill(&used, live, budget.run_usd, budget.run_tokens)
        .or_else(|| over_time(run.worked.plus(live.worked), budget.run_time))
}

fn task_over(run: &Run, task: &Task, live: Live) -> Option<String> {
    let budget = &run.session.budget;
    over_bill(&task.used, live, budget.task_usd, budget.task_tokens)
        .or_else(|| over_time(task.worked.plus(live.worked), budget.task_time))
}

fn over_bill(bill: &Bill, live: Live, usd: Option<u64>, tokens: Option<u64>) -> Option<String> {
    let words = over(bill.all().plus(live.usage), usd, tokens)?;
    let tries = if bill.estimated == 1 { "1 try is" } else { &format!("{} tries are", bill.estimated) };
    Some(if bill.estimated > 0 { format!("{words} ({tries} estimated)") } else { words })
}

fn over(used: Usage, usd: Option<u64>, tokens: Option<u64>) -> Option<String> {
    let (cost, count) = (used.cost.unwrap_or(0), used.tokens());
    if let Some(most) = usd.filter(|most| cost >= *most) {
        let dollars = |micros: u64| format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000);
        return Some(format!("{} of {} are used", dollars(cost), dollars(most)));
    }
    tokens.filter(|most| count >= *most).map(|most| format!("{count} of {most} tokens are used"))
}

fn over_time(worked: Span, most: Option<Span>) -> Option<String> {
    most.filter(|most| worked >= *most).map(|most| format!("agents have worked for {worked} of {most}"))
}

/// What a session has used since `before`.
pub fn usage_since(now: &ByModel, before: &ByModel) -> ByModel {
    let rest = |(model, usage): (&String, &Usage)| {
        (model.clone(), usage.since(before.get(model).copied().unwrap_or_default()))
    };
    now.iter().map(rest).into_map()
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

    #[test]
    fn an_estimate_is_kept_apart_and_counts_all_the_same() {
        let usage = |input, cost| Usage { input: Some(input), cost, ..Usage::default() };
        let by = |usage| ByModel::from([("m".to_owned(), usage)]);
        let mut bills = BTreeMap::new();
        book(&mut bills, Some(&by(usage(100, Some(50)))), &ByModel::new());
        book(&mut bills, Some(&by(usage(100, None))), &by(usage(7, Some(3))));
        book(&mut bills, None, &by(usage(1000, None)));
        book(&mut bills, None, &ByModel::new());
        let bill = bills["m"];
        assert_eq!((bill.tries, bill.estimated, bill.unmeasured, bill.priced), (3, 2, 0, 100));
        assert_eq!((bill.usage, bill.estimate), (usage(200, Some(50)), usage(1007, Some(3))));
        assert_eq!(bill.all(), usage(1207, Some(53)));
        assert_eq!(bills[""].unmeasured, 1, "of that nobody knows anything");
        assert_eq!(assumed(Usage { input: Some(30), cached: Some(20), output: Some(2), cost: None }), 110);
    }
}
