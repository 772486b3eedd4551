//! An engine: what it does whenever it wakes, and how its actions end.

use std::collections::BTreeMap;

use piton_core::plan::{Budget, Fences, Oid, Schedule, Settings};
use piton_core::run::request::Step;
use piton_core::run::{
    Action, AgentEnd, Closing, Command, Selection, Session, StopReason, is_current, next, owes_context,
    wake_at,
};
use piton_core::time::{Span, Timestamp};

use super::Sabotage;
use super::attempts;
use super::driver::{Answer, Happening, Sim};
use super::keeper::{Keeper, Key};
use super::laws::{self, Broken, named};
use super::providers;
use super::scenario::{Behaviour, index, task_id};

/// An engine process and what it has under way.
#[derive(Debug, Default)]
pub(super) struct Engine {
    pub(super) name: String,
    pub(super) ops: BTreeMap<u64, Op>,
    pub(super) wake: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) action: Action,
    /// The candidate of a move when the action was offered.
    pub(super) candidate: Option<Oid>,
    /// Set once the effect is done.
    pub(super) results: Option<Vec<Command>>,
}

/// Whether the engine that reports a result is still the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    InTime,
    Late,
}

impl Sim {
    /// A person runs the plan now.
    pub(super) fn start_now(&mut self) -> Result<(), Broken> {
        self.start_engine()?;
        self.pump()
    }

    pub(super) fn start_engine(&mut self) -> Result<(), Broken> {
        if self.engine.is_some() {
            return Ok(());
        }
        if self.sabotage == Some(Sabotage::ForgetLastEvent) && self.journal.len() > 20 {
            self.journal.pop();
        }
        // A new engine knows nothing but the journal.
        self.state = laws::fold_agrees(self)?;
        if self.scenario.weather.people && !self.calm && self.rng.chance(25) {
            self.replan()?;
        }
        self.engines += 1;
        let name = format!("engine-{}", self.engines);
        let settings = self.scenario.plan.settings.clone();
        let mut session = Session {
            schedule: settings.schedule,
            max_parallel: settings.max_parallel,
            landing_parallel: settings.landing_parallel.unwrap_or(1),
            landing_by_load: false,
            selection: Selection::All,
            agent: None,
            budget: Budget::default(),
            fences: Fences::default(),
            verbose: false,
            quiet: false,
        };
        if !self.calm && self.scenario.weather.people {
            self.vary(&mut session);
        }
        let attach = Command::Attach { engine: name.clone(), session };
        if let Answer::Refused(_) = self.submit(&attach)? {
            let delay = self.rng.between(1000, 60_000);
            self.at(delay, Happening::EngineStarts);
            return Ok(());
        }
        self.engine = Some(Engine { name, ..Engine::default() });
        for command in self.look_at_git() {
            self.submit(&self.of_engine(command))?;
        }
        Ok(())
    }

    /// A command as the engine at work says it.
    pub(super) fn of_engine(&self, command: Command) -> Command {
        match &self.engine {
            Some(engine) => command.of_engine(&engine.name),
            None => command,
        }
    }

    /// A person asks for a part of the plan, another schedule, more or fewer slots.
    fn vary(&mut self, session: &mut Session) {
        if self.rng.chance(30) {
            session.max_parallel =
                if self.scenario.plan.settings.no_commits { 1 } else { self.rng.small(1, 8) };
        }
        if self.rng.chance(20) {
            let all = [Schedule::Layered, Schedule::Batch, Schedule::Flow];
            session.schedule = *self.rng.pick(&all).expect("not empty");
        }
        let group = self.rng.pick(&self.scenario.plan.groups).map(|group| group.id.clone());
        session.selection = match (self.rng.below(12), group) {
            (0, Some(group)) => Selection::Group(group),
            (1, Some(group)) => Selection::From(group),
            (2, _) => Selection::Task(task_id(self.rng.below(self.scenario.scripts.len()))),
            _ => Selection::All,
        };
    }

    /// What an engine does whenever it wakes up.
    pub(super) fn pump(&mut self) -> Result<(), Broken> {
        loop {
            if self.engine.is_none() {
                return Ok(());
            }
            self.stop_what_is_over();
            let actions = next(&self.state, self.now());
            laws::offers_are_current(self, &actions)?;
            let mut started = false;
            for action in &actions {
                if let Some(decision) = action.decision() {
                    if let Answer::Refused(refusal) = self.submit(&self.of_engine(decision))? {
                        return Err(("offers_are_allowed", format!("{action:?}: {refusal}")));
                    }
                    started = true;
                } else {
                    self.begin(action);
                }
            }
            if started {
                continue;
            }
            providers::nobody_waits_in_vain(self)?;
            if laws::waits_for_its_turn(self) {
                self.coverage.saw("a sequence holds back a task that waits for no other");
            }
            let wake = wake_at(&self.state, self.now());
            let idle = self.engine.as_ref().is_some_and(|engine| engine.ops.is_empty());
            if idle && actions.is_empty() && wake.is_none() {
                return self.detach();
            }
            return self.sleep_until(wake);
        }
    }

    fn sleep_until(&mut self, wake: Option<Timestamp>) -> Result<(), Broken> {
        let Some(wake) = wake else { return Ok(()) };
        let now = self.now();
        let late = || format!("woken at {wake}, and it is {now}");
        named("wakes_lie_ahead", if wake > now { Ok(()) } else { Err(late()) })?;
        let delay = u64::try_from(wake.0 - now.0).unwrap_or(0);
        let due = self.time + delay;
        let Some(engine) = &mut self.engine else { return Ok(()) };
        if engine.wake.is_none_or(|at| due < at) {
            engine.wake = Some(due);
            let name = engine.name.clone();
            self.at(delay, Happening::Wake(name));
        }
        Ok(())
    }

    fn detach(&mut self) -> Result<(), Broken> {
        if self.run().stop.is_none() && self.reopen_gates()? {
            return self.pump();
        }
        let tip = vec![self.whole()];
        let Some(engine) = self.engine.take() else { return Ok(()) };
        let run = self.run();
        if run.streak >= Settings::TRANSIENT_STREAK {
            self.coverage.saw("streak of transient failures");
        }
        let run = self.run();
        let all = self.state.tasks().all(|t| t.removed || super::bounds::is_finished(t));
        let reason = match () {
            () if all && !owes_context(&self.state, run) => StopReason::Completed,
            () if run.stop.is_some() => StopReason::Person,
            () => StopReason::Ended,
        };
        self.submit(&Command::Detach { engine: engine.name, reason, tip })?;
        if !self.calm && self.faults_left > 0 {
            let delay = self.rng.between(1000, 1_800_000);
            self.at(delay, Happening::EngineStarts);
        }
        Ok(())
    }

    fn begin(&mut self, action: &Action) {
        let Some(engine) = &mut self.engine else { return };
        if engine.ops.values().any(|op| &op.action == action) {
            return;
        }
        self.happenings += 1;
        let no = self.happenings;
        let candidate = None;
        engine.ops.insert(no, Op { action: action.clone(), candidate, results: None });
        let name = engine.name.clone();
        if let Action::Work { task, fence, pass } = action {
            if self.take_up((index(task), *fence, *pass)) {
                self.agent_ended((index(task), *fence, *pass));
            }
            return;
        }
        let task = action.task().and_then(|id| self.task(id));
        let waits = task.is_some_and(|task| task.progress.waits.is_some());
        let delay = if waits { 60_000 } else { self.rng.between(50, 20_000) };
        self.at(delay, Happening::Effect(name, no));
    }

    pub(super) fn effect(&mut self, engine: &str, no: u64) {
        let Some(op) = self.engine.as_ref().filter(|e| e.name == engine).and_then(|e| e.ops.get(&no)) else {
            return;
        };
        let action = op.action.clone();
        let candidate = self.candidate(&action);
        let current = is_current(&self.state, &action);
        // An action that is no longer wanted does not begin.
        let results = if current { self.perform(&action) } else { Vec::new() };
        self.note(|| format!("done: {action:?}"));
        let is_merge = matches!(action, Action::Request { step: Step::Merge, .. });
        let Some(engine) = &mut self.engine else { return };
        let name = engine.name.clone();
        if let Some(op) = engine.ops.get_mut(&no) {
            (op.results, op.candidate) = (Some(results), candidate);
        }
        // A host may answer late that it has merged: what can go wrong meanwhile is what the intent is for.
        let is_slow = if is_merge { 60 } else { 10 };
        let delay =
            if self.rng.chance(is_slow) { self.rng.between(0, 120_000) } else { self.rng.between(0, 5_000) };
        self.at(delay, Happening::Report(name, no));
    }

    pub(super) fn candidate(&self, action: &Action) -> Option<Oid> {
        Some(self.task(action.task()?)?.progress.intent.as_ref()?.candidate.clone())
    }

    pub(super) fn outcome(&self, (task, fence, pass): Key) -> Option<Command> {
        let Some(Keeper::Ended(end)) = self.keepers.all.get(&(task, fence, pass)).cloned() else {
            return None;
        };
        let task = task_id(task);
        Some(Command::AgentEnded {
            task,
            fence,
            pass,
            end,
            took: Span::minutes(1),
            report: None,
            closing: Closing::default(),
        })
    }

    /// An agent's outcome is on disk: the action that waits for it takes it.
    pub(super) fn agent_ended(&mut self, key: Key) {
        let Some(command) = self.outcome(key) else { return };
        let action = Action::Work { task: task_id(key.0), fence: key.1, pass: key.2 };
        let Some(engine) = &mut self.engine else { return };
        let Some((&no, op)) = engine.ops.iter_mut().find(|(_, op)| op.action == action) else { return };
        if op.results.is_none() {
            op.results = Some(vec![command]);
            let name = engine.name.clone();
            let delay = self.rng.between(0, 5_000);
            self.at(delay, Happening::Report(name, no));
        }
    }

    pub(super) fn agent_will_end(&mut self, key: Key, behaviour: Behaviour) {
        let delay = match behaviour {
            Behaviour::Hangs => 30 * 60_000,
            Behaviour::Crashes
            | Behaviour::Down(_)
            | Behaviour::Limit(_)
            | Behaviour::LimitMistold
            | Behaviour::Refused => self.rng.between(500, 30_000),
            _ => self.rng.between(10_000, 20 * 60_000),
        };
        self.at(delay, Happening::AgentEnds(key));
    }

    /// Append the results of an action. A result that is no longer true must be refused.
    pub(super) fn report(&mut self, op: Op, engine: &str, arrival: Arrival) -> Result<(), Broken> {
        for mut command in op.results.unwrap_or_default() {
            let about = (&op.action, op.candidate.as_ref());
            let fresh = attempts::is_still_true(self, &command, engine, about);
            let mut name = engine.to_owned();
            if arrival == Arrival::Late && self.sabotage == Some(Sabotage::ForgeFences) {
                self.forge(&mut command);
                name = self.run().engine.clone().unwrap_or(name);
            }
            let told = format!("{command:?}");
            let answer = self.submit(&command.of_engine(&name))?;
            match answer {
                Answer::Done(1..) if !fresh => {
                    return Err(("stale_is_refused", format!("of {:?}: {told}", op.action)));
                }
                Answer::Refused(_) if arrival == Arrival::Late => self.coverage.saw("late result refused"),
                _ => {}
            }
        }
        Ok(())
    }

    fn forge(&self, command: &mut Command) {
        use Command::*;
        if let Captured { task, fence, pass, .. } | AgentEnded { task, fence, pass, .. } = command
            && let Some(now) = self.task(task)
        {
            (*fence, *pass) = (now.fence, now.progress.confirmations);
        } else if let Prepared { task, fence, .. } | ChecksEnded { task, fence, .. } = command
            && let Some(now) = self.task(task)
        {
            *fence = now.fence;
        }
    }

    /// Stop actions and agents whose task has changed; all of them if a person asked to stop at once.
    fn stop_what_is_over(&mut self) {
        let at_once = self.run().stops_at_once();
        for key in self.keepers.running() {
            let action = Action::Work { task: task_id(key.0), fence: key.1, pass: key.2 };
            let current = is_current(&self.state, &action);
            if !current || at_once {
                let stopped = Keeper::Ended(AgentEnd::Stopped);
                self.keepers.kill(&mut self.git, key, &mut self.rng, stopped);
                self.agent_ended(key);
                if current {
                    self.coverage.saw("stopped at once");
                }
            }
        }
        let over = |op: &Op| {
            let work = matches!(op.action, Action::Work { .. });
            let current = is_current(&self.state, &op.action);
            // A result that is on its way arrives, whatever happened to its task.
            op.results.is_none() && (!current || (at_once && !work && !finishes(&op.action)))
        };
        if let Some(engine) = &mut self.engine {
            engine.ops.retain(|_, op| !over(op));
        }
    }
}

fn finishes(action: &Action) -> bool {
    matches!(action, Action::Move { .. } | Action::Clean { .. } | Action::Capture { .. })
}
