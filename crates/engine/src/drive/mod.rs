//! The loop: compute what should be under way, see to it, append what happened, repeat.
//!
//! One thread decides and writes the journal; each action runs in a thread of its own and answers with
//! commands. Nothing but the state says what is next, so starting and going on are the same thing.

mod ahead;
mod append;
mod ask;
mod briefing;
mod budget;
mod check;
mod comments;
mod context;
mod copy;
mod feedback;
mod fence;
mod follow;
mod gates;
mod gather;
mod iteration;
mod land;
mod lanes;
mod metadata;
mod order;
mod perform;
mod plan;
mod reconcile;
mod remarks;
mod round;
mod stack;
mod whole;
mod wind_up;
mod work;
mod workers;
mod worktrees;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use piton_core::plan::{Oid, RepoPath, RunId, Sandbox, TaskId, TaskSpec};
use piton_core::prompt::{Advice, Prompts};
use piton_core::run::{
    self, Action, Command, Note, Recorded, Refusal, Run, Selection, Session, State, StopReason, Task,
    waits_for_the_host,
};
use piton_core::time::Timestamp;
use piton_core::view;

use crate::checks::Passed;
use crate::git::GitError;
use crate::journal::{Journal, JournalError};
use crate::keeper::{Job, KeeperError};
use crate::lead::{Lead, NoLead};
use crate::lock::Lock;
use crate::project::Project;
use crate::{clock, crash, disk, memory};
use ahead::Outlook;
pub use briefing::{NoPrompt, next_prompt};
use budget::Gauges;
use follow::HostRest;
pub use follow::place as place_of_requests;
pub use land::PINS;
use order::{Called, RedTip, Running, Site, Slots};
pub use plan::PlanRead;
use plan::PlanSeen;
use reconcile::Rescues;
pub use reconcile::lost_landings;
pub use wind_up::{LeftJob, left_running};
use workers::Workers;
use worktrees::SlotMaker;

/// How often the engine looks for what other processes appended, and at the plan.
const LOOK: Duration = Duration::from_millis(200);
/// How long an action that changed nothing, such as a landing that waits, rests before the next try.
const REST: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error("{0}")]
    Refused(Refusal),
    #[error(transparent)]
    NoLead(#[from] NoLead),
    #[error("another engine has taken over this run")]
    Overtaken,
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
}

/// Who watches: a screen, a log, a stream of JSON.
pub trait Observer {
    fn event(&mut self, recorded: &Recorded, state: &State);
    /// Called now and then, so that clocks on a screen go on.
    fn tick(&mut self, state: &State);
}

/// What an engine is started with.
#[expect(missing_debug_implementations, reason = "a closure has none")]
pub struct Engine {
    pub project: Project,
    pub journal: Journal,
    pub run: RunId,
    /// The proof that no other engine works on this run.
    pub lock: Lock,
    pub session: Session,
    /// The command line in front of a job's folder.
    pub keeper: Vec<String>,
    pub prompts: Prompts,
    pub owned: Vec<RepoPath>,
    /// What this start was asked for about the sandbox, if anything.
    pub sandbox: Option<Sandbox>,
    pub plan_now: PlanNow,
    pub settle_files: SettleFiles,
    pub reserve: Reserve,
    pub undecided: Undecided,
    pub summary: Summary,
    /// End where nothing is left to do but wait for the end of a usage limit.
    pub no_wait: bool,
}

/// The plan as its files say it, or why it cannot be read, if they were written since it was asked for last. Asked
/// often: it must be cheap.
pub type PlanNow = Box<dyn FnMut() -> Option<Result<PlanRead, String>>>;

/// Brings the files of the plan's system up to date: asked before an agent gets its copies of them.
pub type SettleFiles = Box<dyn Fn() + Send + Sync>;

/// Reserves a task where others look for work, too: asked before an attempt has a worktree. `Err` says who else works on it.
pub type Reserve = Box<dyn Fn(&TaskId) -> Result<(), String> + Send + Sync>;

/// Whether a claim that was made in those files may still be undecided: asked before the engine leaves a task to others.
pub type Undecided = Box<dyn FnMut() -> bool>;

/// What people read about the run as a whole, as Markdown, if it can be had.
pub type Summary = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The way in for signals.
#[derive(Clone, Debug)]
pub struct Handle(Sender<Wake>);

impl Handle {
    /// Once: nothing new begins. Twice: stop at once.
    pub fn interrupt(&self) {
        // If the loop is gone there is nothing left to interrupt.
        let _ = self.0.send(Wake::Interrupt);
    }

    /// The terminal that showed the run is closed. Nobody asked for an end, so the run goes on.
    pub fn terminal_closed(&self) {
        let _ = self.0.send(Wake::TerminalClosed);
    }
}

/// Everything that can wake the loop.
#[derive(Debug)]
enum Wake {
    Done(Action, Vec<Command>),
    LookedAhead(ahead::Looked),
    Interrupt,
    TerminalClosed,
}

pub fn channels() -> (Handle, Inbox) {
    let (sender, receiver) = channel();
    (Handle(sender.clone()), Inbox { sender, receiver })
}

/// The loop's end of a [`Handle`].
#[derive(Debug)]
pub struct Inbox {
    sender: Sender<Wake>,
    receiver: Receiver<Wake>,
}

impl Engine {
    /// Work until nothing is left to do, or somebody stops it.
    pub fn run(self, inbox: Inbox, observer: &mut dyn Observer) -> Result<StopReason, EngineError> {
        Loop::begin(self, inbox, observer)?.drive()
    }
}

struct Loop<'o> {
    journal: Journal,
    state: State,
    run: RunId,
    name: String,
    /// Given back before the run's lock, which the site holds.
    lead: Lead,
    site: Arc<Site>,
    plan_now: PlanNow,
    undecided: Undecided,
    no_wait: bool,
    plan_seen: PlanSeen,
    /// Changed settings that wait for `--replan`, as they were last reported.
    settings_wait: Vec<&'static str>,
    inbox: Inbox,
    workers: Workers,
    observer: &'o mut dyn Observer,
    under_way: HashMap<Action, Running>,
    resting: HashMap<Action, Instant>,
    specs: HashMap<TaskId, Arc<TaskSpec>>,
    /// What everybody has to heed, once an agent was to be told.
    guardrails: Option<Vec<Advice>>,
    interrupts: u32,
    rescues: Rescues,
    gauges: Gauges,
    outlook: Outlook,
    looked: Instant,
    /// Since when nothing but waiting landings is left.
    idle_since: Option<Instant>,
    /// Tasks that wait for a slot, and since when.
    awaiting_slot: HashMap<TaskId, Instant>,
    slot_maker: SlotMaker,
    /// What is dispatched may only find out how its jobs have ended.
    begins_nothing: bool,
}

impl<'o> Loop<'o> {
    fn begin(engine: Engine, inbox: Inbox, observer: &'o mut dyn Observer) -> Result<Loop<'o>, EngineError> {
        let Engine {
            project,
            mut journal,
            run,
            lock,
            session,
            keeper,
            prompts,
            owned,
            sandbox,
            plan_now,
            settle_files,
            reserve,
            undecided,
            summary,
            no_wait,
        } = engine;
        let lead = Lead::take(&project, &run)?;
        let state = journal.load(&run)?;
        let passes = journal.passes(&run, Passed::since(clock::now()), Passed::MOST)?;
        // Git children of this engine hold its lock, so that none of them outlives it unseen.
        let repo = match state.run().is_some_and(|run| run.settings.no_commits) {
            true => Some(project.repo_or_new_store()?),
            false => project.repo()?,
        };
        let repo = repo.map(|repo| repo.guarded_by(Arc::new(lock)));
        let name = format!("{}-{}", std::process::id(), clock::now().0);
        let mut this = Loop {
            journal,
            state,
            run,
            name: name.clone(),
            lead,
            site: Arc::new(Site {
                project,
                repo,
                keeper,
                prompts,
                owned,
                sandbox,
                settle_files,
                summary,
                reserve,
                slots: Slots::new(),
                lanes: Arc::default(),
                called: Called::default(),
                red_tip: RedTip::default(),
                passed: Passed::new(passes),
                host_rest: HostRest::default(),
            }),
            plan_now,
            undecided,
            no_wait,
            plan_seen: PlanSeen::default(),
            settings_wait: Vec::new(),
            inbox,
            workers: Workers::default(),
            observer,
            under_way: HashMap::new(),
            resting: HashMap::new(),
            specs: HashMap::new(),
            guardrails: None,
            interrupts: 0,
            rescues: Rescues::default(),
            gauges: Gauges::default(),
            outlook: Outlook::new(),
            looked: Instant::now(),
            idle_since: None,
            awaiting_slot: HashMap::new(),
            slot_maker: SlotMaker::default(),
            begins_nothing: false,
        };
        let attached = this.commit(&[Command::Attach { engine: name, session }])?;
        if let Some(Err(refusal)) = attached.into_iter().next() {
            return Err(EngineError::Refused(refusal));
        }
        crash::point("engine.attached");
        this.clear_dead_locks()?;
        this.settle_dead_proofs()?;
        this.reconcile()?;
        Ok(this)
    }

    /// What the last engine's gits left when they were killed would be in the way of ours.
    fn clear_dead_locks(&self) -> Result<(), EngineError> {
        let (Some(repo), Some(run)) = (&self.site.repo, self.state.run()) else { return Ok(()) };
        repo.clear_dead_locks(run.id.as_str(), clock::system_time(run.created))?;
        Ok(())
    }

    /// End the checks of proofs that nobody goes on with, should the last engine have left any, and remove what was half
    /// written when it died.
    fn settle_dead_proofs(&self) -> Result<(), EngineError> {
        let Some(run) = self.state.run() else { return Ok(()) };
        let folder = self.site.project.landing_folder(&run.id);
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            let number = entry.file_name().split('.').next().and_then(|number| number.parse::<u64>().ok());
            let is_open = number.is_some_and(|number| run.line.proof(number).is_some());
            let job = Job::at(entry.path());
            if !is_open && job.outcome()?.is_none() {
                job.settle()?;
            }
            if number.is_some_and(|number| run.line.is_recent(number)) && !job.is_at_work()? {
                disk::sweep(entry.path());
            }
        }
        Ok(())
    }

    /// Git beats the journal about what has landed, and about what was rescued.
    fn reconcile(&mut self) -> Result<(), EngineError> {
        let (Some(repo), Some(run)) = (self.site.repo.clone(), self.state.run()) else { return Ok(()) };
        let mut commands = reconcile::lost_landings(&repo, run, &self.state)?;
        let (rescues, untold) = Rescues::read(&self.journal, &repo, run, &self.state)?;
        self.rescues = rescues;
        commands.extend(untold);
        if !commands.is_empty() {
            self.commit(&commands)?;
        }
        Ok(())
    }

    fn drive(mut self) -> Result<StopReason, EngineError> {
        loop {
            self.owns_the_run()?;
            // One time for both: what comes due in between is neither begun by one nor waited for by the other.
            let now = clock::now();
            let started = self.step(now)?;
            self.stop_what_is_unwanted();
            if !started
                && let Some(reason) = self.finished(now)
                && self.is_final(&reason)?
                && let Some(tip) = self.gates_hold(&reason)?
                && self.end(&reason, tip)?
            {
                self.journal.close()?;
                return Ok(reason);
            }
            if !started {
                self.prepare_slots_ahead();
                self.wait()?;
            }
        }
    }

    /// See to everything that should be under way. Says whether the state changed on the way.
    fn step(&mut self, now: Timestamp) -> Result<bool, EngineError> {
        let wanted = run::next(&self.state, now);
        self.resting.retain(|action, _| wanted.contains(action));
        let cleans = wanted.iter().filter(|action| matches!(action, Action::Clean { .. })).count();
        let at_most = self.state.run().map_or(0, |run| run.session.max_parallel as usize);
        let may_clean = |action: &&Action| match action {
            Action::Clean { task, .. } => !self.rests(action) && self.leaves_much(task),
            _ => false,
        };
        let (mut awaiting, soon_free) = (0, wanted.iter().filter(may_clean).count());
        for action in wanted.clone() {
            match action {
                Action::Start { .. } | Action::Unstack { .. } | Action::BeginProof { .. } => {}
                action if self.under_way.contains_key(&action) => {}
                Action::Prove { .. } if !self.has_room_for_a_proof() => {}
                // The slot of a task that is over has its caches, and a new one has none.
                Action::Prepare { ref task, .. } if awaiting < soon_free && self.awaits_slot(task) => {
                    awaiting += 1;
                }
                // What is over gives way to what begins, on a disk that is slow for both, unless it becomes too much or
                // is waited for.
                Action::Clean { .. } if awaiting == 0 && cleans <= at_most && self.is_starting_agents() => {}
                // A proof that is over may be about to pin something.
                Action::Clean { ref task, .. } if self.is_proven(task) => {}
                action if self.rests(&action) => {}
                action => self.dispatch(action)?,
            }
        }
        let begins = wanted.iter().any(|action| matches!(action, Action::Start { .. }));
        let is_held = begins && self.look_at_plan()?;
        let decisions = decisions(&wanted, is_held);
        if decisions.is_empty() {
            return Ok(false);
        }
        Ok(self
            .commit(&decisions)?
            .iter()
            .any(|outcome| outcome.as_ref().is_ok_and(|events| !events.is_empty())))
    }

    fn rests(&self, action: &Action) -> bool {
        self.resting.get(action).is_some_and(|until| *until > Instant::now())
    }

    /// A proof that is over takes its place until its processes are gone.
    fn has_room_for_a_proof(&self) -> bool {
        let proofs = self.under_way.keys().filter(|action| matches!(action, Action::Prove { .. })).count();
        let fits = |run: &Run| {
            let checks = run.landing_checks_at_once() as usize;
            proofs < run.landing_window() as usize && self.site.lanes.in_use() < checks
        };
        self.state.run().is_some_and(fits) && (proofs == 0 || !memory::is_short())
    }

    /// Whether a proof that ends with this task is under way, or about to be over.
    fn is_proven(&self, id: &TaskId) -> bool {
        let proves = |action: &Action| match action {
            Action::Prove { task, .. } | Action::Land { task, .. } => task == id,
            _ => false,
        };
        self.under_way.keys().any(proves)
    }

    fn is_starting_agents(&self) -> bool {
        self.under_way.iter().any(|(action, running)| match action {
            Action::Prepare { .. } => true,
            Action::Work { .. } => !running.has_begun(),
            _ => false,
        })
    }

    fn dispatch(&mut self, action: Action) -> Result<(), EngineError> {
        let (running, work): (Running, Box<dyn FnOnce() -> Vec<Command> + Send>) = match &action {
            Action::Context => {
                let Some(errand) = self.errand()? else { return Ok(()) };
                (errand.running.clone(), Box::new(move || context::perform(&errand)))
            }
            Action::Ask { provider, .. } => {
                let Some(question) = self.question(provider) else { return Ok(()) };
                (question.running.clone(), Box::new(move || ask::perform(&question)))
            }
            action => {
                let Some(order) = self.order(action)? else { return Ok(()) };
                (order.running.clone(), Box::new(move || perform::perform(&order)))
            }
        };
        self.under_way.insert(action.clone(), running);
        let done = self.inbox.sender.clone();
        let carry_out = move || {
            // What it was made from holds the engine's lock: once the loop has heard of the end, nothing of it
            // may be left.
            let commands = work();
            // The loop may have ended: then the next engine finds out what was done.
            let _ = done.send(Wake::Done(action, commands));
        };
        self.workers
            .give(Box::new(carry_out))
            .map_err(|source| EngineError::Io { what: "cannot start a thread".to_owned(), source })
    }

    /// Jobs of attempts that are no longer the current ones, and all of them when the run stops at once.
    fn stop_what_is_unwanted(&self) {
        let at_once = self.state.run().is_some_and(Run::stops_at_once);
        for (action, running) in &self.under_way {
            if at_once || !run::is_current(&self.state, action) {
                running.stop();
            }
        }
    }

    /// Why to end, if there is nothing to wait for.
    fn finished(&mut self, now: Timestamp) -> Option<StopReason> {
        // A change of the plan that is being looked at may bring more to do.
        if !self.under_way.is_empty() || matches!(self.plan_seen, PlanSeen::Fresh(_)) {
            return None;
        }
        let stopping = self.state.run().is_some_and(|run| run.stop.is_some());
        let limited = self.state.run().and_then(|run| {
            let limit = run::limits(run, now).next();
            let limit = limit.map(|(name, until)| format!("the usage limit of {name} lasts until {until}"));
            let parked = || {
                run::parked(run).next().map(|(name, overload)| {
                    format!(
                        "{name} does not answer; Piton asks it again at {}: {}",
                        overload.ask_at, overload.reason
                    )
                })
            };
            limit.or_else(parked).map(|detail| StopReason::Environment { detail })
        });
        if !self.resting.is_empty() && !stopping {
            if let Some(limited) = limited {
                // A landing may wait for a reviewer, and that may take hours.
                return self.no_wait.then_some(limited);
            }
            let is_hosts = |task: &Task| self.state.run().is_some_and(|run| waits_for_the_host(run, task));
            if self.state.active().any(is_hosts) {
                // Its checks may take hours, and nobody is asked for anything.
                self.idle_since = None;
                return None;
            }
            let since = *self.idle_since.get_or_insert_with(Instant::now);
            let patience = self.state.run().map(|run| Duration::from_millis(run.settings.landing_wait.0));
            return (since.elapsed() > patience.unwrap_or_default()).then(|| view::at_rest(&self.state));
        }
        if let Some(limited) = limited.filter(|_| self.no_wait && !stopping)
            && run::paused_until(&self.state, now).is_none()
        {
            return Some(limited);
        }
        let filtered = self.state.run().is_some_and(|run| run.session.selection != Selection::All);
        let selected_is_done = filtered && view::at_rest(&self.state) == StopReason::Filter;
        if run::wake_at(&self.state, now).is_some() && !selected_is_done {
            return None;
        }
        Some(match (self.plan_difference(), view::at_rest(&self.state)) {
            (Some(detail), reason) if reason != StopReason::Completed => {
                StopReason::PlanChanged { detail: detail.to_owned() }
            }
            (_, reason) => reason,
        })
    }

    /// A task that somebody holds whose claim is being decided is done, or ours, in a moment.
    fn is_final(&mut self, reason: &StopReason) -> Result<bool, EngineError> {
        if !matches!(reason, StopReason::Elsewhere { .. }) {
            return Ok(true);
        }
        if (self.undecided)() {
            return Ok(false);
        }
        self.hear_others()?;
        Ok(view::at_rest(&self.state) == *reason)
    }

    fn wait(&mut self) -> Result<(), EngineError> {
        let now = clock::now();
        let until_wake =
            run::wake_at(&self.state, now).map(|time| Duration::from_millis(time.since(now).0.max(1)));
        let until_rested =
            self.resting.values().map(|until| until.saturating_duration_since(Instant::now())).min();
        let patience = until_wake.into_iter().chain(until_rested).chain([LOOK]).min().unwrap_or(LOOK);
        let mut commands = Vec::new();
        match self.inbox.receiver.recv_timeout(patience) {
            Ok(wake) => self.take(wake, &mut commands),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        // Whatever else waits goes into the same transaction.
        while let Ok(wake) = self.inbox.receiver.try_recv() {
            self.take(wake, &mut commands);
        }
        let is_held = self.look_at_plan()?;
        if commands.is_empty() {
            self.hear_others()?;
        } else {
            crash::point("engine.before-commit");
            // What can start now need not wait for a transaction of its own.
            let follow = |state: &State| decisions(&run::next(state, clock::now()), is_held);
            self.commit_with(&commands, follow)?;
            crash::point("engine.after-commit");
        }
        self.gauges.look(&self.state, &self.under_way, clock::now());
        self.look_ahead()?;
        self.observer.tick(&self.state);
        Ok(())
    }

    /// How long an action that is still wanted is left alone. A host is asked less often the longer it takes.
    fn rest_after(&self, action: &Action) -> Duration {
        let task = action.task().and_then(|id| self.state.task(id).ok().flatten());
        let request = task.and_then(|task| task.progress.request.as_deref());
        match (action, request, self.state.run().and_then(|run| run.settings.requests.as_ref())) {
            (Action::Request { .. }, Some(request), Some(settings)) => {
                Duration::from_millis(request.pause(settings, clock::now()).0)
            }
            _ => REST,
        }
    }

    fn take(&mut self, wake: Wake, commands: &mut Vec<Command>) {
        match wake {
            Wake::Done(action, mut results) => {
                self.under_way.remove(&action);
                self.rescues.leave_out_told(&mut results);
                // Should it still be wanted afterwards, it changed nothing: not again at once.
                let rest = self.rest_after(&action);
                self.resting.insert(action, Instant::now() + rest);
                commands.extend(results);
            }
            Wake::LookedAhead(looked) => {
                self.outlook.heard(&looked);
                commands.extend(looked.commands);
            }
            Wake::Interrupt => {
                self.interrupts += 1;
                commands.push(Command::RequestStop { by: "Ctrl-C".to_owned(), now: self.interrupts > 1 });
            }
            Wake::TerminalClosed => {
                let text = "the terminal was closed; the run continues without it".to_owned();
                let note = Note::Entry { task: None, text, for_next: false };
                commands.push(Command::Note { by: "Piton".to_owned(), note });
            }
        }
    }

    /// Leave the run. `false`: somebody added a task in this moment, so there is more to do.
    fn end(&mut self, reason: &StopReason, tip: Vec<Oid>) -> Result<bool, EngineError> {
        self.slot_maker.stop();
        if *reason == StopReason::Completed
            && let (Some(repo), Some(dir)) =
                (&self.site.repo, self.state.run().and_then(|run| run.worktree_dir.clone()))
        {
            self.tidy(repo, camino::Utf8Path::new(&dir));
        }
        if let (Some(repo), Some(run)) = (&self.site.repo, self.state.run()) {
            // While other git processes were at work, some of what a killed one left may have had to stay.
            repo.clear_if_lost(run.id.as_str(), clock::system_time(run.created));
        }
        let detach = Command::Detach { engine: self.name.clone(), reason: reason.clone(), tip };
        let left = self.commit(&[detach])?;
        Ok(!matches!(left.last(), Some(Err(refusal)) if !refusal.stale))
    }
}

/// What is decided by the actions, as commands. A plan that has changed holds back what begins, and not what is to land.
fn decisions(wanted: &[Action], is_held: bool) -> Vec<Command> {
    let may = |action: &&Action| !is_held || !matches!(action, Action::Start { .. });
    wanted.iter().filter(may).filter_map(Action::decision).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_has_changed_holds_back_what_begins_and_not_what_is_to_land() {
        let id = |name: &str| TaskId::new(name).expect("an id");
        let lands = Action::BeginProof { chain: vec![id("T1")], alone: false };
        let wanted = [Action::Start { task: id("T2") }, lands];
        let both = decisions(&wanted, false);
        assert!(matches!(&both[..], [Command::Start { .. }, Command::BeginProof { .. }]), "{both:?}");
        let held = decisions(&wanted, true);
        assert!(matches!(&held[..], [Command::BeginProof { .. }]), "{held:?}");
    }
}
