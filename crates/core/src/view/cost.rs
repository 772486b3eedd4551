//! What tries have used, by run, day, task, attempt, agent or model.

use std::collections::BTreeMap;

use super::usage::{of_bill, short};
use crate::plan::{RunId, TaskId};
use crate::run::{Bill, ByModel, Event, Note, Recorded, Usage, is_of_a_worker};
use crate::time::Span;

/// What costs are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Run,
    Day,
    Task,
    Attempt,
    Agent,
    Model,
}

/// One run of an agent.
#[derive(Clone, Debug)]
struct Try {
    run: RunId,
    /// In UTC, when it ended.
    day: String,
    task: TaskId,
    attempt: u32,
    agent: String,
    used: Option<ByModel>,
    estimate: ByModel,
    worked: Span,
}

/// All tries, as journals record them.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    tries: Vec<Try>,
    /// The attempt of each fence, by task.
    attempts: BTreeMap<(RunId, TaskId, u64), u32>,
    /// Tries of workers that were booked: their end follows, and is the same try.
    booked: BTreeMap<(RunId, TaskId, u64), usize>,
}

/// What belongs together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub bill: Bill,
    /// Tokens without a known price.
    pub unpriced: u64,
    pub worked: Span,
}

impl Costs {
    /// Add an event of a run. Those of one run come in their order.
    pub fn read(&mut self, run: &RunId, recorded: &Recorded) {
        let mut day = recorded.at.to_string();
        day.truncate("2026-11-15".len());
        match &recorded.event {
            Event::AttemptStarted { task, attempt, fence, .. } => {
                self.attempts.insert((run.clone(), task.clone(), *fence), *attempt);
            }
            Event::Noted { note: Note::Spent { task, fence, agent, used, estimate, took, job }, .. } => {
                let key = (run.clone(), task.clone(), *fence);
                let attempt = self.attempts.get(&key).copied().unwrap_or(0);
                if took.is_zero() && is_of_a_worker(job) {
                    self.booked.insert(key, self.tries.len());
                }
                let (used, estimate) = (used.clone(), estimate.clone());
                let (run, task, agent) = (run.clone(), task.clone(), agent.clone());
                self.tries.push(Try { run, day, task, attempt, agent, used, estimate, worked: *took });
            }
            Event::AgentEnded { task, fence, agent, took, .. } => {
                let key = (run.clone(), task.clone(), *fence);
                if let Some(known) = self.booked.remove(&key).and_then(|at| self.tries.get_mut(at)) {
                    known.worked = known.worked.plus(*took);
                    return;
                }
                let attempt = self.attempts.get(&key).copied().unwrap_or(0);
                let (run, task, agent) = (run.clone(), task.clone(), agent.clone());
                let (used, estimate) = (None, ByModel::new());
                self.tries.push(Try { run, day, task, attempt, agent, used, estimate, worked: *took });
            }
            _ => {}
        }
    }

    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.tries.iter().for_each(|one| total.add(one));
        total
    }

    /// Summed up by the given key, in the order of the names; attempts are `TASK NUMBER`.
    pub fn by(&self, by: By) -> BTreeMap<String, Cost> {
        let mut rows: BTreeMap<String, Cost> = BTreeMap::new();
        for one in &self.tries {
            let key = match by {
                By::Run => one.run.to_string(),
                By::Day => one.day.clone(),
                By::Task => one.task.to_string(),
                By::Attempt => format!("{} {}", one.task, one.attempt),
                By::Agent => one.agent.clone(),
                By::Model => {
                    for (model, part) in one.models() {
                        rows.entry(model).or_default().add(&part);
                    }
                    continue;
                }
            };
            rows.entry(key).or_default().add(one);
        }
        rows
    }
}

impl Try {
    /// The same, taken apart. How long each of several models worked is not known.
    fn models(&self) -> Vec<(String, Try)> {
        let mut names: Vec<&String> =
            self.used.iter().chain([&self.estimate]).flat_map(ByModel::keys).collect();
        names.sort();
        names.dedup();
        let part = |name: &&String| {
            let only = |of: &ByModel| -> ByModel {
                of.get(*name).map(|usage| ((*name).clone(), *usage)).into_iter().collect()
            };
            let used = self.used.as_ref().map(only).filter(|used| !used.is_empty());
            let estimate = only(&self.estimate);
            let worked = if names.len() == 1 { self.worked } else { Span::default() };
            ((*name).clone(), Try { used, estimate, worked, ..self.clone() })
        };
        match names.as_slice() {
            [] => vec![(String::new(), self.clone())],
            names => names.iter().map(part).collect(),
        }
    }
}

impl Cost {
    fn add(&mut self, one: &Try) {
        let estimate = Some(Usage::sum(&one.estimate)).filter(|_| !one.estimate.is_empty());
        self.bill.add(one.used.as_ref().map(Usage::sum), estimate);
        self.worked = self.worked.plus(one.worked);
        let models = one.used.iter().chain([&one.estimate]).flatten();
        for (model, usage) in models {
            let of = |by: &ByModel| by.get(model).is_some_and(|usage| usage.cost.is_some());
            if !one.used.as_ref().is_some_and(of) && !of(&one.estimate) {
                self.unpriced = self.unpriced.saturating_add(usage.tokens());
            }
        }
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
