//! What tries have used, by run, day, task, attempt, agent or model.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::usage::{of_bill, short};
use crate::order::Pairs;
use crate::plan::{RunId, TaskId};
use crate::run::{Bill, ByModel, Event, Note, Recorded, Usage, is_of_a_worker};
use crate::time::Span;

/// What costs are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Run,
    Day,
    Task,
    Attempt,
    Agent,
    Model,
}

impl By {
    pub const ALL: [By; 6] = [By::Run, By::Day, By::Task, By::Attempt, By::Agent, By::Model];

    /// The word that people type.
    pub fn name(self) -> &'static str {
        match self {
            By::Run => "run",
            By::Day => "day",
            By::Task => "task",
            By::Attempt => "attempt",
            By::Agent => "agent",
            By::Model => "model",
        }
    }
}

/// What the tries of some runs have used, by all that costs are sorted by.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    rows: BTreeMap<(By, String), Cost>,
    /// The attempt of each fence, by task.
    attempts: BTreeMap<(RunId, TaskId, u64), u32>,
    /// Tries of workers that were booked: their end follows, and is the same try.
    booked: BTreeMap<(RunId, TaskId, u64), Try>,
}

/// What belongs together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    pub bill: Bill,
    /// Tokens without a known price.
    pub unpriced: u64,
    pub worked: Span,
}

/// What an event adds to one row.
pub type Share = ((By, String), Cost);

/// One run of an agent: the rows that it belongs to.
#[derive(Clone, Debug)]
struct Try {
    run: RunId,
    /// In UTC, when it ended.
    day: String,
    task: TaskId,
    attempt: u32,
    agent: String,
    models: Vec<String>,
}

impl Costs {
    /// Add an event of a run. Those of one task come in their order. Returns what it adds, row by row.
    pub fn read(&mut self, run: &RunId, recorded: &Recorded) -> Vec<Share> {
        let key = |task: &TaskId, fence: u64| (run.clone(), task.clone(), fence);
        let shares = match &recorded.event {
            Event::AttemptStarted { task, attempt, fence, .. } => {
                self.attempts.insert(key(task, *fence), *attempt);
                return Vec::new();
            }
            Event::Noted { note: Note::Spent { task, fence, agent, used, estimate, took, job }, .. } => {
                let mut one = self.begin(key(task, *fence), agent, recorded);
                let models: BTreeSet<&String> =
                    used.iter().chain([estimate]).flat_map(ByModel::keys).collect();
                one.models = models.into_iter().cloned().collect();
                let shares = one.shares(used.as_ref(), estimate, *took);
                if took.is_zero() && is_of_a_worker(job) {
                    self.booked.insert(key(task, *fence), one);
                }
                shares
            }
            Event::AgentEnded { task, fence, agent, took, .. } => {
                match self.booked.remove(&key(task, *fence)) {
                    Some(known) => known.time(*took),
                    None => {
                        let one = self.begin(key(task, *fence), agent, recorded);
                        one.shares(None, &ByModel::new(), *took)
                    }
                }
            }
            _ => return Vec::new(),
        };
        shares.iter().cloned().for_each(|share| self.add(share));
        shares
    }

    /// Add what a row has from elsewhere.
    pub fn add(&mut self, (row, cost): Share) {
        self.rows.entry(row).or_default().merge(&cost);
    }

    fn begin(&self, key: (RunId, TaskId, u64), agent: &str, recorded: &Recorded) -> Try {
        let mut day = recorded.at.to_string();
        day.truncate("2026-11-15".len());
        let attempt = self.attempts.get(&key).copied().unwrap_or(0);
        let (run, task, _) = key;
        Try { run, day, task, attempt, agent: agent.to_owned(), models: Vec::new() }
    }

    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.by(By::Run).values().for_each(|cost| total.merge(cost));
        total
    }

    /// Summed up by the given key, in the order of the names; attempts are `TASK NUMBER`.
    pub fn by(&self, by: By) -> BTreeMap<String, Cost> {
        let rows = self.rows.iter().filter(|((of, _), _)| *of == by);
        rows.map(|((_, name), cost)| (name.clone(), cost.clone())).into_map()
    }

    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = (&(By, String), &Cost)> {
        self.rows.iter()
    }
}

impl Try {
    /// The rows that it belongs to as a whole.
    fn rows(&self) -> [(By, String); 5] {
        [
            (By::Run, self.run.to_string()),
            (By::Day, self.day.clone()),
            (By::Task, self.task.to_string()),
            (By::Attempt, format!("{} {}", self.task, self.attempt)),
            (By::Agent, self.agent.clone()),
        ]
    }

    fn shares(&self, used: Option<&ByModel>, estimate: &ByModel, worked: Span) -> Vec<Share> {
        let whole = Cost::of_try(used, estimate, worked);
        let mut shares: Vec<Share> = self.rows().map(|row| (row, whole.clone())).into();
        // Taken apart by model. How long each of several models worked is not known.
        for model in &self.models {
            let only = |of: &ByModel| -> ByModel {
                of.get(model).map(|usage| (model.clone(), *usage)).into_iter().into_map()
            };
            let used = used.map(only).filter(|used| !used.is_empty());
            let worked = if self.models.len() == 1 { worked } else { Span::default() };
            let part = Cost::of_try(used.as_ref(), &only(estimate), worked);
            shares.push(((By::Model, model.clone()), part));
        }
        if self.models.is_empty() {
            shares.push(((By::Model, String::new()), whole));
        }
        shares
    }

    /// More time of it.
    fn time(&self, worked: Span) -> Vec<Share> {
        let more = Cost { worked, ..Cost::default() };
        let model = match self.models.as_slice() {
            [] => Some(String::new()),
            [model] => Some(model.clone()),
            _ => None,
        };
        let rows = self.rows().into_iter().chain(model.map(|model| (By::Model, model)));
        rows.map(|row| (row, more.clone())).collect()
    }
}

impl Cost {
    fn of_try(used: Option<&ByModel>, estimate: &ByModel, worked: Span) -> Cost {
        let estimated = Some(Usage::sum(estimate)).filter(|_| !estimate.is_empty());
        let mut cost = Cost { worked, ..Cost::default() };
        cost.bill.add(used.map(Usage::sum), estimated);
        for (model, usage) in used.into_iter().chain([estimate]).flatten() {
            let of = |by: &ByModel| by.get(model).is_some_and(|usage| usage.cost.is_some());
            if !used.is_some_and(of) && !of(estimate) {
                cost.unpriced = cost.unpriced.saturating_add(usage.tokens());
            }
        }
        cost
    }

    pub fn merge(&mut self, more: &Cost) {
        self.bill.merge(&more.bill);
        self.unpriced = self.unpriced.saturating_add(more.unpriced);
        self.worked = self.worked.plus(more.worked);
    }
}

/// `≥ 13.3k tokens in, 450 out, $0.50 (3 tries, 1 try estimated), 2k tokens not priced, worked 4m`.
pub fn cost(cost: &Cost) -> String {
    let tries = if cost.bill.tries == 1 { "1 try".to_owned() } else { format!("{} tries", cost.bill.tries) };
    let unpriced = match cost.unpriced {
        0 => String::new(),
        tokens => format!(", {} tokens not priced", short(tokens)),
    };
    format!("{}{unpriced}; {tries}, worked {}", of_bill(&cost.bill), cost.worked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Closing;
    use crate::run::{AgentEnd, Holder};
    use crate::time::Timestamp;

    fn all() -> Costs {
        let (run, id) = (RunId::new("r1").expect("an id"), |name: &str| TaskId::new(name).expect("an id"));
        let usage = |input, cost| Usage { input: Some(input), output: Some(1), cost, ..Usage::default() };
        let by = |model: &str, usage| ByModel::from([(model.to_owned(), usage)]);
        let begins = |task: &str, attempt: u32, fence: u64| Event::AttemptStarted {
            resumed: false,
            task: id(task),
            attempt,
            fence,
            holder: Holder::Engine,
            agent: String::new(),
            instead_of: None,
        };
        let spent =
            |task: &str, fence: u64, agent: &str, used: Option<ByModel>, estimate: ByModel| Event::Noted {
                by: agent.to_owned(),
                note: Note::Spent {
                    task: id(task),
                    fence,
                    agent: agent.to_owned(),
                    used,
                    estimate,
                    took: Span::default(),
                    job: format!("{fence}.agent0"),
                },
            };
        let ends = |task: &str, fence: u64, agent: &str| Event::AgentEnded {
            task: id(task),
            fence,
            agent: agent.to_owned(),
            end: AgentEnd::Done,
            took: Span::minutes(2),
            report: None,
            closing: Closing::default(),
        };
        let events = [
            begins("a", 1, 1),
            spent("a", 1, "c", Some(by("opus", usage(999, Some(500_000)))), ByModel::new()),
            ends("a", 1, "c"),
            begins("a", 2, 2),
            spent("a", 2, "c", None, by("opus", usage(4999, Some(1_000_000)))),
            ends("a", 2, "c"),
            begins("b", 1, 1),
            spent("b", 1, "x", Some(by("gpt", usage(1999, None))), ByModel::new()),
            ends("b", 1, "x"),
            begins("b", 2, 2),
            // A custom command.
            ends("b", 2, "own"),
        ];
        let mut costs = Costs::default();
        for (seq, event) in (1..).zip(events) {
            let at = Timestamp(1_795_000_000_000 + i64::from(seq) * 10_000_000);
            costs.read(&run, &Recorded { seq: u64::try_from(seq).unwrap_or(0), at, event });
        }
        costs
    }

    #[test]
    fn costs_are_sorted_and_what_is_not_known_is_said() {
        let costs = all();
        let shown = |by: By| {
            let rows = costs.by(by);
            rows.iter().map(|(name, row)| format!("{name}: {}", cost(row))).collect::<Vec<_>>()
        };
        assert_eq!(
            shown(By::Task),
            [
                "a: ≥ 5.9k tokens in, 2 out, $1.50 (1 try estimated); 2 tries, worked 4m 00s",
                "b: 1.9k tokens in, 1 out (1 try not measured), 2k tokens not priced; 2 tries, worked 4m 00s",
            ]
        );
        assert_eq!(
            shown(By::Attempt),
            [
                "a 1: 999 tokens in, 1 out, $0.50; 1 try, worked 2m 00s",
                "a 2: ≥ 4.9k tokens in, 1 out, $1.00 (1 try estimated); 1 try, worked 2m 00s",
                "b 1: 1.9k tokens in, 1 out, 2k tokens not priced; 1 try, worked 2m 00s",
                "b 2: an unknown amount (1 try not measured); 1 try, worked 2m 00s",
            ]
        );
        assert_eq!(costs.by(By::Agent).keys().collect::<Vec<_>>(), ["c", "own", "x"]);
        assert_eq!(costs.by(By::Model).keys().collect::<Vec<_>>(), ["", "gpt", "opus"]);
        assert_eq!(costs.by(By::Day).len(), 2);
        assert_eq!(costs.by(By::Run)["r1"], costs.total());
        assert_eq!((costs.total().bill.tries, costs.total().unpriced), (4, 2000));
    }
}
