//! Budgets, held from outside while agents work: their streams are looked at as they grow, and whoever reaches a bound is
//! stopped. Without a budget nothing is looked at.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use piton_core::client::Meter;
use piton_core::plan::{Adapter, Agent};
use piton_core::run::{Action, AgentEnd, Bound, ByModel, Live, Run, State, Usage, bound_reached, verdict};
use piton_core::time::{Span, Timestamp};

use super::order::{Order, Running};
use crate::keeper::Job;
use crate::{agent, disk};

/// How often agents are looked at: what one uses in between is less than the smallest bound anybody sets.
const LOOK: Duration = Duration::from_millis(500);
/// So much is read of one stream at a look; the rest at the next.
const READ: usize = 1024 * 1024;
/// What is booked at the end must not be less than what an agent was stopped for, whoever's clock is asked.
const DOUBT: Span = Span(250);

/// One for each agent at work.
#[derive(Default)]
pub(super) struct Gauges {
    looked: Option<Instant>,
    all: HashMap<Action, Gauge>,
}

struct Gauge {
    job: Job,
    started: Option<Timestamp>,
    /// Of a client that tells what it uses.
    meter: Option<Meter>,
    before: ByModel,
    read_to: u64,
}

impl Gauges {
    /// Look at what agents use, and stop those that have reached a bound.
    pub(super) fn look(&mut self, state: &State, under_way: &HashMap<Action, Running>, now: Timestamp) {
        let Some(run) = state.run().filter(|run| !run.session.budget.is_unbounded()) else { return };
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        self.all.retain(|action, _| under_way.contains_key(action));
        let mut lives = Vec::new();
        for (action, running) in under_way {
            let Action::Work { task, .. } = action else { continue };
            let (Some(job), Ok(Some(task))) = (running.job(), state.task(task)) else { continue };
            let agent = run.settings.agents.get(&task.progress.agent);
            let adapter = agent.map_or(Adapter::Command, |agent| agent.adapter);
            let gauge = self.all.entry(action.clone()).or_insert_with(|| Gauge::on(job, adapter));
            lives.push((running, task, gauge.live(now), action));
        }
        let all = lives.iter().fold(Live::default(), |sum, (_, _, live, _)| sum.plus(*live));
        for (running, task, live, action) in lives {
            if let Some(bound) = bound_reached(run, task, live, all)
                && !running.is_stopped()
                && self.all.get(action).is_some_and(|gauge| note(&gauge.job, &bound).is_ok())
            {
                running.stop();
            }
        }
    }
}

impl Gauge {
    fn on(job: Job, adapter: Adapter) -> Gauge {
        let meter = (!adapter.is_command()).then(|| Meter::new(adapter));
        Gauge { started: None, meter, before: agent::before(&job), read_to: 0, job }
    }

    fn live(&mut self, now: Timestamp) -> Live {
        if self.started.is_none() {
            self.started = self.job.started_at_ms().map(Timestamp);
        }
        let Some(started) = self.started else { return Live::default() };
        let worked = Span(now.since(started).0.saturating_sub(DOUBT.0));
        let Some(meter) = &mut self.meter else { return Live { worked, ..Live::default() } };
        // A stream that cannot be read now is read the next time.
        if let Ok(chunk) = self.job.output().read_from(self.read_to, READ) {
            self.read_to = chunk.next();
            meter.read(&chunk.bytes);
        }
        Live { usage: meter.used(&self.before), worked }
    }
}

/// Why a job is stopped stands in its folder before it is: an engine that comes later knows it too.
fn note(job: &Job, bound: &Bound) -> std::io::Result<()> {
    let (whose, words) = match bound {
        Bound::Attempt(words) => ("attempt", words),
        Bound::Task(words) => ("task", words),
        Bound::Run(words) => ("run", words),
    };
    disk::write(&job.dir().join(agent::OVER_BUDGET), format!("{whose} {words}").as_bytes())
}

/// The bound that a job was stopped at, if it was.
pub(super) fn over(job: &Job) -> Option<Bound> {
    let text = fs::read_to_string(job.dir().join(agent::OVER_BUDGET)).ok()?;
    let (whose, words) = text.split_once(' ')?;
    let words = words.to_owned();
    match whose {
        "attempt" => Some(Bound::Attempt(words)),
        "task" => Some(Bound::Task(words)),
        "run" => Some(Bound::Run(words)),
        _ => None,
    }
}

/// What it means that an agent was stopped at a bound.
pub(super) fn end_at(bound: Bound, said: &str) -> AgentEnd {
    match bound {
        // Like any other limit of a try: the next one is told, and may do it with less.
        Bound::Attempt(words) => {
            let reason = format!("it was stopped at the budget of one attempt: {words}");
            let tail = verdict::excerpt(said, 4000);
            let feedback = format!("{reason}\nDo it in smaller steps. The end of its output:\n{tail}\n");
            AgentEnd::Failed { reason, feedback }
        }
        Bound::Task(words) => {
            AgentEnd::Blocked { reason: format!("the budget of the task is spent: {words}") }
        }
        Bound::Run(_) => AgentEnd::Stopped,
    }
}

/// A client that can be told what it may cost is told the least of what is left.
pub(super) fn held(client: &Agent, order: &Order) -> Agent {
    let mut client = client.clone();
    if client.adapter == Adapter::Claude {
        let budget = &order.run.session.budget;
        let left = |most: Option<u64>, used: u64| most.map(|most| most.saturating_sub(used).max(1));
        let of_run = left(budget.run_usd, cost_of(&order.run));
        let of_task = left(budget.task_usd, order.task.used.usage.cost.unwrap_or(0));
        client.budget = [client.budget, budget.attempt_usd, of_task, of_run].into_iter().flatten().min();
    }
    client
}

/// The bound that a client reached which ended by itself.
pub(super) fn reached(order: &Order, used: &ByModel) -> Option<Bound> {
    let live = Live { usage: Usage::sum(used), worked: Span::default() };
    bound_reached(&order.run, &order.task, live, live)
}

fn cost_of(run: &Run) -> u64 {
    run.used.values().flat_map(|models| models.values()).filter_map(|bill| bill.usage.cost).sum()
}
