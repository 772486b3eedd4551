//! The loop: whatever happens, in the order of time, and the journal it ends up in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use piton_core::plan::{Digest, RunId, TaskSpec};
use piton_core::run::{AgentEnd, Command, Event, NewRun, Next, Recorded, Refusal, State, Stop, decide};
use piton_core::time::Timestamp;

use super::content::Tree;
use super::coverage::{Coverage, kind};
use super::engine::{Arrival, Engine};
use super::faults::LateResult;
use super::git::{Git, oid};
use super::keeper::{Keepers, Key};
use super::laws::{self, Broken};
use super::people::People;
use super::providers;
use super::requests::Host;
use super::scenario::Scenario;
use super::takeover::Before;
use super::{Options, Sabotage, World};
use crate::rng::Rng;

/// More steps than any world needs to come to rest.
const MOST_STEPS: u64 = 40_000;

#[derive(Debug)]
pub(super) struct Sim {
    pub(super) rng: Rng,
    pub(super) scenario: Scenario,
    pub(super) git: Git,
    pub(super) host: Host,
    /// The one checkout, where there are no commits.
    pub(super) checkout: Tree,
    /// Checks that were run and passed, by tree: all that can be known.
    pub(super) observed: BTreeSet<(usize, Digest)>,
    /// Checks that were run and did not pass, by tree.
    pub(super) seen_red: BTreeSet<(usize, Digest)>,
    /// Checks that passed on a tree that is red.
    pub(super) lied: BTreeSet<Digest>,
    pub(super) keepers: Keepers,
    pub(super) people: People,
    pub(super) state: State,
    pub(super) journal: Vec<Recorded>,
    /// True time in milliseconds; it only goes forward.
    pub(super) time: u64,
    /// How far the wall clock is ahead or behind, in milliseconds.
    pub(super) offset: i64,
    /// When a usage limit of a provider was last reported, until the clock jumps.
    pub(super) limited_at: BTreeMap<String, u64>,
    /// A review that began although another agent was to look first whether a limit is over.
    pub(super) too_early: Option<String>,
    pub(super) removed: Vec<TaskSpec>,
    pub(super) sabotage: Option<Sabotage>,
    pub(super) coverage: Coverage,
    pub(super) trace: Vec<String>,
    tracing: bool,
    pub(super) engine: Option<Engine>,
    pub(super) engines: u32,
    agenda: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    pub(super) happenings: u64,
    pub(super) late: Vec<LateResult>,
    pub(super) faults_left: u32,
    pub(super) calm: bool,
    takes_over: bool,
    pub(super) before: Before,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    EngineStarts,
    Effect(String, u64),
    Report(String, u64),
    AgentEnds(Key),
    Fault,
    Wake(String),
    /// Results of an engine that was stopped and overtaken: position in `late`.
    Late(usize),
}

#[derive(Debug)]
pub(super) enum Answer {
    Done(usize),
    Refused(Refusal),
}

impl Sim {
    pub(super) fn new(seed: u64, options: Options) -> Sim {
        let mut rng = Rng::new(seed);
        let mut scenario = match options.world {
            World::Any => Scenario::new(&mut rng),
            World::Queue => Scenario::queue(&mut rng),
            World::Requests => Scenario::requests(&mut rng),
            World::TakeOver => Scenario::taken_over(&mut rng),
        };
        Sim {
            git: Git::new(),
            host: Host::default(),
            checkout: Tree::new(),
            observed: BTreeSet::new(),
            seen_red: BTreeSet::new(),
            lied: BTreeSet::new(),
            keepers: Keepers::default(),
            people: People::default(),
            state: State::new(),
            journal: Vec::new(),
            time: 0,
            offset: 1_790_000_000_000,
            limited_at: BTreeMap::new(),
            too_early: None,
            removed: std::mem::take(&mut scenario.later),
            sabotage: options.sabotage,
            coverage: Coverage::default(),
            trace: Vec::new(),
            tracing: options.trace,
            engine: None,
            engines: 0,
            agenda: BinaryHeap::new(),
            happenings: 0,
            late: Vec::new(),
            faults_left: scenario.weather.faults,
            calm: false,
            takes_over: options.world == World::TakeOver,
            before: Before::default(),
            scenario,
            rng,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp(self.offset + i64::try_from(self.time).unwrap_or(i64::MAX))
    }

    pub(super) fn note(&mut self, text: impl FnOnce() -> String) {
        if self.tracing {
            let line = format!("{:>10}.{:03}  {}", self.time / 1000, self.time % 1000, text());
            self.trace.push(line);
        }
    }

    pub(super) fn at(&mut self, delay: u64, happening: Happening) {
        self.happenings += 1;
        self.agenda.push(Reverse((self.time + delay, self.happenings, happening)));
    }

    /// From the first event to rest.
    pub(super) fn live(&mut self) -> Result<(), Broken> {
        let left = self.takes_over.then(|| self.others_leave_a_plan());
        let new = NewRun {
            run: RunId::new("sim").expect("a word"),
            plan: self.scenario.plan.clone(),
            plan_path: "plan.toml".to_owned(),
            target: (!self.scenario.plan.settings.no_commits).then(|| "main".to_owned()),
            base: Some(oid(self.git.target)),
            worktree_dir: None,
        };
        let plan = self.scenario.plan.clone();
        self.note(|| describe(&plan));
        self.submit(&Command::Create(Box::new(new)))?;
        if let Some(left) = &left {
            self.take_over_plan(left)?;
        }
        self.at(0, Happening::EngineStarts);
        if self.faults_left > 0 {
            let delay = self.rng.between(1, 600_000);
            self.at(delay, Happening::Fault);
        }
        self.run_down()?;
        self.come_to_rest()
    }

    /// Run until no event is left.
    pub(super) fn run_down(&mut self) -> Result<(), Broken> {
        while let Some(Reverse((time, _, happening))) = self.agenda.pop() {
            self.time = self.time.max(time);
            self.coverage.steps += 1;
            if self.coverage.steps > MOST_STEPS {
                return Err(("comes_to_rest", format!("still going after {MOST_STEPS} steps")));
            }
            self.happen(happening)?;
            self.pump()?;
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Broken> {
        match happening {
            Happening::EngineStarts => self.start_engine(),
            Happening::Effect(engine, op) => {
                self.effect(&engine, op);
                Ok(())
            }
            Happening::Report(engine, op) => {
                let Some(mine) = self.engine.as_mut().filter(|e| e.name == engine) else { return Ok(()) };
                let Some(op) = mine.ops.remove(&op) else { return Ok(()) };
                self.report(op, &engine, Arrival::InTime)
            }
            Happening::AgentEnds(key) => {
                let (time, now) = (self.time, self.now());
                self.keepers.end(&self.scenario, &mut self.git, key, time, now);
                self.agent_ended(key);
                Ok(())
            }
            Happening::Fault => self.fault(),
            Happening::Wake(engine) => {
                if let Some(mine) = self.engine.as_mut().filter(|e| e.name == engine) {
                    mine.wake = None;
                }
                Ok(())
            }
            Happening::Late(at) => self.goes_on(at),
        }
    }

    /// Decide and fold one command, and check the laws for each of its events.
    pub(super) fn submit(&mut self, command: &Command) -> Result<Answer, Broken> {
        let now = self.now();
        let events = match decide(&self.state, command, now) {
            Ok(events) => events,
            Err(Stop::Missing(missing)) => {
                return Err(("complete_states_miss_nothing", format!("{missing:?}: {command:?}")));
            }
            Err(Stop::Refused(refusal)) => {
                self.note(|| format!("refused: {refusal}"));
                if refusal.reason.is_empty() {
                    return Err(("refusals_have_reasons", format!("{command:?}")));
                }
                let reason = &refusal.reason;
                self.coverage.saw(match () {
                    () if refusal.stale => "refused: stale",
                    () if reason.contains("depends on tasks that are not done") => {
                        "refused: waits for others"
                    }
                    () if reason.contains("has to wait") => "refused: barrier",
                    () => "refused: otherwise",
                });
                return Ok(Answer::Refused(refusal));
            }
        };
        let count = events.len();
        for event in events {
            self.record(event, now)?;
        }
        laws::between(self)?;
        Ok(Answer::Done(count))
    }

    fn record(&mut self, event: Event, at: Timestamp) -> Result<(), Broken> {
        self.note(|| told(&event));
        self.coverage.saw(kind(&event));
        self.coverage.events += 1;
        if matches!(event, Event::Failed { next: Next::Skipped, .. }) {
            self.coverage.saw("went on without a task");
        }
        if laws::goes_past_the_dead(self, &event) {
            self.coverage.saw("went on past a group that is not complete");
        }
        laws::before(self, &event)?;
        self.notice_gates(&event);
        self.notice_requests(&event);
        let old = event.task().and_then(|id| self.task(id));
        let recorded = Recorded { seq: self.state.seq() + 1, at, event };
        let folded = self.state.apply(&recorded);
        folded.map_err(|missing| ("decisions_fold", format!("{missing:?}: {:?}", recorded.event)))?;
        self.journal.push(recorded);
        let event = &self.journal[self.journal.len() - 1].event;
        if let Event::AgentEnded { end: AgentEnd::Limit { .. }, agent, .. }
        | Event::ReviewerEnded { end: AgentEnd::Limit { .. }, agent, .. } = event
        {
            self.limited_at.insert(providers::limiter(self, agent), self.time);
            self.coverage.saw(match self.scenario.weather.limits_models {
                true => "usage limit of one model",
                false => "usage limit",
            });
        }
        if let Event::ProviderUnparked { provider, .. } = event {
            self.limited_at.retain(|name, _| name != provider && !name.starts_with(&format!("{provider}/")));
        }
        if let Event::AgentEnded { end: AgentEnd::Refused { .. }, .. } = event {
            self.coverage.saw("provider lets nobody in");
        }
        if let Event::AttemptStarted { instead_of: Some(_), .. }
        | Event::ConfirmationStarted { instead_of: Some(_), .. } = event
        {
            self.coverage.saw("somebody stands in");
        }
        let event = &self.journal[self.journal.len() - 1].event;
        if !self.lied.is_empty() && matches!(event, Event::Completed { .. }) && laws::is_red(self) {
            self.coverage.saw("red by a check that lied");
        }
        let event = &self.journal[self.journal.len() - 1].event;
        laws::after(self, event, old.as_ref())?;
        if self.journal.len().is_multiple_of(50) {
            laws::fold_agrees(self)?;
        }
        Ok(())
    }
}

fn describe(plan: &piton_core::plan::Plan) -> String {
    let mut text = format!("{:?}", plan.settings.schedule);
    for spec in &plan.tasks {
        let needs: Vec<&str> = spec.depends_on.iter().map(piton_core::plan::TaskId::as_str).collect();
        text += &format!(
            "\n    {} group {} budget {} checks {} needs [{}]{}{}",
            spec.id,
            spec.group,
            spec.attempts,
            spec.checks.len(),
            needs.join(" "),
            if spec.confirm { " confirm" } else { "" },
            if spec.may_change_nothing { " may_change_nothing" } else { "" },
        );
    }
    text
}

/// An event in one line, without long fields.
fn told(event: &Event) -> String {
    let mut text = match event {
        Event::RunCreated { .. } | Event::PlanAdopted { .. } | Event::SettingsAdopted { .. } => {
            kind(event).to_owned()
        }
        Event::TaskAdded { spec, level, .. } => format!("TaskAdded {} level {level}", spec.id),
        Event::TaskChanged { spec, level, .. } => format!("TaskChanged {} level {level}", spec.id),
        event => format!("{event:?}"),
    };
    if text.len() > 400 {
        text = text.chars().take(400).collect();
    }
    text.replace(&"0".repeat(30), "")
}
