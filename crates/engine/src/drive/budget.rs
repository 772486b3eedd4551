//! Budgets, enforced from outside while agents work. The engine reads their streams as they grow, and stops an agent
//! that reaches a bound. Without a budget it reads nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use piton_core::client::{Adapter, Meter};
use piton_core::order::Pairs;
use piton_core::plan::Agent;
use piton_core::run::{
    Action, AgentEnd, Bound, ByModel, Command, Live, Run, State, Task, Usage, bound_reached, verdict,
};
use piton_core::time::{Span, Timestamp};

use super::order::{Order, Running};
use crate::checks::{AgentJob, Billed};
use crate::keeper::{Ended, Job};
use crate::{agent, disk};

/// How often the engine looks at agents. What one uses in between is less than any sensible bound.
const LOOK: Duration = Duration::from_millis(500);
/// At most so much of a stream is read at one look; the rest at the next.
const READ: usize = 1024 * 1024;
/// Subtracted from the time an agent has worked. The time recorded at its end must not be less than the bound it was
/// stopped at, and the engine and the keeper read the clock at different moments.
const DOUBT: Span = Span(250);

/// A gauge for each agent at work, and for earlier agents whose use is not recorded yet, by the folders of their jobs.
#[derive(Default)]
pub(super) struct Gauges {
    looked: Option<Instant>,
    all: HashMap<Utf8PathBuf, Gauge>,
}

struct Gauge {
    job: Job,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// For a client that reports what it uses.
    meter: Option<Meter>,
    before: ByModel,
    read_to: u64,
}

/// What was found about one action.
struct Seen<'a> {
    running: &'a Running,
    task: &'a Task,
    /// The job of the agent that is at work.
    at: AgentJob,
    own: Live,
    /// Of all agents of the action.
    of_task: Live,
}

impl Gauges {
    /// Look at what agents use, and stop those that have reached a bound.
    pub(super) fn look(&mut self, state: &State, under_way: &HashMap<Action, Running>, now: Timestamp) {
        let Some(run) = state.run().filter(|run| !run.session.budget.is_unbounded()) else { return };
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        let mut before = std::mem::take(&mut self.all);
        let (mut seen, mut all) = (Vec::new(), Live::default());
        for (action, running) in under_way {
            let Some(task) = action.task().and_then(|id| state.task(id).ok().flatten()) else { continue };
            let mut of_task = Live::default();
            let mut at_work = None;
            for at in running.agents().into_iter().filter(|at| !is_booked(task, at)) {
                let dir = at.job.dir().to_owned();
                let mut gauge = before.remove(&dir).unwrap_or_else(|| {
                    let client = agent::as_begun(&at.job, run.settings.agents.get(&at.agent));
                    Gauge::on(at.job.clone(), client.map(|client| client.adapter).unwrap_or_default())
                });
                let own = gauge.live(now);
                of_task = of_task.plus(own);
                at_work = gauge.ended.is_none().then_some((at, own));
                self.all.insert(dir, gauge);
            }
            all = all.plus(of_task);
            seen.extend(at_work.map(|(at, own)| Seen { running, task, at, own, of_task }));
        }
        for Seen { running, task, at, own, of_task } in seen {
            if let Some(bound) = bound_reached(run, task, own, of_task, all)
                && !running.is_stopped()
                && note(&at.job, &bound).is_ok()
            {
                running.stop_at(&at.job);
            }
        }
    }
}

impl Gauge {
    fn on(job: Job, adapter: Adapter) -> Gauge {
        let meter = (!adapter.is_command()).then(|| Meter::new(adapter));
        Gauge { started: None, ended: None, meter, before: agent::before(&job), read_to: 0, job }
    }

    fn live(&mut self, now: Timestamp) -> Live {
        if self.started.is_none() {
            self.started = self.job.started_at();
        }
        let Some(started) = self.started else { return Live::default() };
        if self.ended.is_none() {
            self.ended = self.job.outcome().ok().flatten().map(|outcome| outcome.ended_at());
        }
        let worked = Span(self.ended.unwrap_or(now).since(started).0.saturating_sub(DOUBT.0));
        let Some(meter) = &mut self.meter else { return Live { worked, ..Live::default() } };
        // A stream that cannot be read now is read the next time.
        if let Ok(chunk) = self.job.output().read_from(self.read_to, READ) {
            self.read_to = chunk.next();
            meter.read(&chunk.bytes);
        }
        let used = meter.used(&self.before);
        Live { usage: meter.unreported().map_or(used, |estimate| used.plus(estimate)), worked }
    }
}

fn is_booked(task: &Task, at: &AgentJob) -> bool {
    task.progress.booked.iter().any(|job| job == at.name())
}

/// Write why a job is stopped into its folder before it is stopped, so that a later engine knows it, too.
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
        // Like any other limit of an attempt: the next agent reads it, and may need less.
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

/// The same for a reviewer, or for one that may not begin. The task has not failed: its work is there, to be judged
/// once the budget is larger.
pub(super) fn end_of_review(bound: Bound, agent: &str) -> AgentEnd {
    match bound {
        Bound::Attempt(words) => {
            AgentEnd::Blocked { reason: format!("{agent} was stopped at the budget of one attempt: {words}") }
        }
        Bound::Task(_) => AgentEnd::Blocked { reason: words(&bound) },
        Bound::Run(_) => AgentEnd::Stopped,
    }
}

/// A bound that was reached, for people.
pub(super) fn words(bound: &Bound) -> String {
    match bound {
        Bound::Attempt(words) => format!("the budget of one attempt is spent: {words}"),
        Bound::Task(words) => format!("the budget of the task is spent: {words}"),
        Bound::Run(words) => format!("the budget of the run is spent: {words}"),
    }
}

/// A client that accepts a cost limit gets the smallest amount that any bound leaves.
pub(super) fn held(client: &Agent, order: &Order) -> Agent {
    let mut client = client.clone();
    let budget = &order.run.session.budget;
    if client.adapter.facts().takes_budget && !budget.is_unbounded() {
        let more = unbooked(order).usage.cost.unwrap_or(0);
        let left = |most: Option<u64>, used: u64| {
            most.map(|most| most.saturating_sub(used).saturating_sub(more).max(1))
        };
        let of_run = left(budget.run_usd, cost_of(&order.run));
        let of_task = left(budget.task_usd, order.task.used.all().cost.unwrap_or(0));
        client.budget = [client.budget, budget.attempt_usd, of_task, of_run].into_iter().flatten().min();
    }
    client
}

/// All clients, held so.
pub(super) fn all_held(order: &Order) -> Cow<'_, BTreeMap<String, Agent>> {
    let agents = &order.run.settings.agents;
    if order.run.session.budget.is_unbounded() {
        return Cow::Borrowed(agents);
    }
    Cow::Owned(agents.iter().map(|(name, client)| (name.clone(), held(client, order))).into_map())
}

/// The bound reached by a client that ended by itself.
pub(super) fn reached(order: &Order, used: &ByModel) -> Option<Bound> {
    let live = Live { usage: Usage::sum(used), worked: Span::default() };
    bound_reached(&order.run, &order.task, live, live, live)
}

/// The bound that leaves nothing for one more agent.
pub(super) fn spent(order: &Order) -> Option<Bound> {
    let used = unbooked(order);
    bound_reached(&order.run, &order.task, Live::default(), used, used)
}

/// The bound at which the last agent was stopped, or held itself back.
pub(super) fn stopped_at(order: &Order) -> Option<Bound> {
    let at = order.running.agents().pop()?;
    let outcome = at.job.outcome().ok()??;
    if outcome.ended == Ended::Stopped {
        return over(&at.job);
    }
    let client = agent::as_begun(&at.job, order.run.settings.agents.get(&at.agent))?;
    let heard = agent::hear(&client, &at.job, None, &outcome, 0).ok()?;
    let own = Live { usage: Usage::sum(heard.used.as_ref()?), worked: Span::default() };
    let used = unbooked(order);
    bound_reached(&order.run, &order.task, own, used, used).filter(|_| heard.is_used_up())
}

/// Notes of what the reviewers and helpers of an action have used. Workers report it with their end.
pub(super) fn bills(order: &Order) -> Vec<Command> {
    if !matches!(order.action, Action::Check { .. } | Action::Prove { .. }) {
        return Vec::new();
    }
    let agents = &order.run.settings.agents;
    let begun = order.running.agents();
    begun.iter().filter_map(|at| at.spent(agents, &order.task.id, order.fence(), at.name())).collect()
}

/// The note of what a worker has used, if its attempt failed before the engine asked for that.
pub(super) fn bill_of_trouble(order: &Order) -> Option<Command> {
    let at = order.running.agents().pop()?;
    agent::Session::at(&at.job)?;
    at.spent(&order.run.settings.agents, &order.task.id, order.fence(), at.name())
}

/// The same of an earlier try whose end no engine has seen.
pub(super) fn forgotten(order: &Order, fence: u64, job: Job) -> Option<Command> {
    let session = agent::Session::at(&job).filter(|_| fence > order.task.booked)?;
    job.started_at_ms()?;
    let at = AgentJob { agent: session.agent, job };
    at.spent(&order.run.settings.agents, &order.task.id, fence, at.name())
}

/// What the agents of an action have used that is not recorded yet.
fn unbooked(order: &Order) -> Live {
    let begun = order.running.agents().into_iter().filter(|at| !is_booked(&order.task, at));
    let bill = |at: AgentJob| at.bill(&order.run.settings.agents);
    let live = |bill: Billed| {
        let used = bill.used.as_ref().map(Usage::sum).unwrap_or_default();
        Live { usage: used.plus(Usage::sum(&bill.estimate)), worked: bill.took }
    };
    begun.filter_map(bill).map(live).fold(Live::default(), Live::plus)
}

fn cost_of(run: &Run) -> u64 {
    run.used.values().flat_map(|models| models.values()).filter_map(|bill| bill.all().cost).sum()
}
