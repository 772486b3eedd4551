//! Piton's own queue: the real core decides, and what an engine would do is done to the simulated world.

use std::collections::BTreeMap;

use piton_core::plan::{Exhausted, Oid, Schedule, Settings, TaskId};
use piton_core::run::flakes::{Earlier, Habit, Look, Looks};
use piton_core::run::line::{ProofEnd, Proving, Stage};
use piton_core::run::{
    Action, AgentEnd, Carried, CheckRun, Closing, Command, Intent, Note, State, Status, Task, Waived,
    is_current, next,
};
use piton_core::time::{Span, Timestamp};

use super::stream::{Change, Stream, Tree, fingerprint};
use super::world::{News, Queue, RunNo, World};
use crate::bare::{self, failed, index, oid, passed, spec, work};

/// When every run begins.
const START: i64 = 1_800_000_000_000;

#[derive(Debug)]
pub(super) struct Ours {
    state: State,
    arrived: Vec<bool>,
    running: BTreeMap<RunNo, Running>,
}

/// A proof whose checks run.
#[derive(Clone, Debug)]
struct Running {
    action: Action,
    number: u64,
    chain: Vec<TaskId>,
    tip: Oid,
    tree: Tree,
    phase: Phase,
    /// What the checks have said about the tree of the phase.
    looks: Looks,
    /// Of each phase, what is counted.
    ran: Vec<CheckRun>,
}

/// What a proof runs checks on, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Merge,
    /// The one candidate without the target, if it is red.
    ByItself,
    /// The merge again, if it is green by itself.
    MergeAgain,
}

impl Ours {
    pub(super) fn new(stream: &Stream, slots: usize) -> Ours {
        let settings = Settings {
            schedule: Schedule::Flow,
            // Work takes no time here.
            max_parallel: 64,
            exhausted: Exhausted::Continue,
            ..Settings::default()
        };
        let tasks = (0..stream.len()).map(|change| spec(change, &[])).collect();
        let slots = u32::try_from(slots).unwrap_or(u32::MAX);
        Ours {
            state: bare::begin(tasks, settings, slots, Timestamp(START)),
            arrived: vec![false; stream.len()],
            running: BTreeMap::new(),
        }
    }

    /// Whether the core accepts it.
    fn submit(&mut self, world: &World<'_>, command: &Command) -> bool {
        bare::submit(&mut self.state, command, now(world)).is_ok()
    }

    fn task(&self, id: &TaskId) -> Option<&Task> {
        self.state.task(id).ok().flatten()
    }

    fn proof(&self, number: u64) -> Option<&Proving> {
        self.state.run().and_then(|run| run.line.proof(number))
    }

    /// Do what should be under way, and cancel what should not, until there is nothing new to do.
    fn pump(&mut self, world: &mut World<'_>) {
        loop {
            let over: Vec<RunNo> = self
                .running
                .iter()
                .filter(|(_, running)| !is_current(&self.state, &running.action))
                .map(|(run, _)| *run)
                .collect();
            for run in over {
                world.cancel(run);
                self.running.remove(&run);
            }
            let mut is_new = false;
            for action in next(&self.state, now(world)) {
                is_new |= self.perform(world, &action);
            }
            if !is_new {
                return;
            }
        }
    }

    /// Begin an action, and finish it if it takes no time; whether anything came of it.
    fn perform(&mut self, world: &mut World<'_>, action: &Action) -> bool {
        if let Action::Start { task } = action
            && !self.arrived[index(task)]
        {
            return false;
        }
        if let Some(decision) = action.decision() {
            return self.submit(world, &decision);
        }
        let Some(task) = action.task().cloned() else { return false };
        let fence = action.fence().unwrap_or_default();
        let landed = self.state.run().map_or(0, |run| run.landed);
        let own = oid(u64::MAX - index(&task) as u64);
        let command = match action {
            Action::Start { .. }
            | Action::Unstack { .. }
            | Action::BeginProof { .. }
            | Action::Context
            | Action::Request { .. }
            | Action::Ask { .. } => {
                return false;
            }
            Action::Prepare { .. } => Command::Prepared { task, fence, base: oid(0), landed },
            Action::Work { pass, .. } => Command::AgentEnded {
                task,
                fence,
                pass: *pass,
                end: AgentEnd::Done,
                took: Span(0),
                report: None,
                closing: Closing::default(),
            },
            Action::Capture { pass, .. } => Command::Captured { task, fence, pass: *pass, work: work(own) },
            Action::Check { .. } => unreachable!("every change is judged where it lands"),
            Action::Prove { proof, .. } => return self.prove(world, action, *proof),
            Action::Land { proof, .. } => return self.land(world, *proof),
            Action::Move { .. } => return self.move_head(world, &task),
            Action::Clean { .. } => Command::CleanedUp { task, fence },
        };
        self.submit(world, &command)
    }

    fn prove(&mut self, world: &mut World<'_>, action: &Action, number: u64) -> bool {
        let is_running = self.running.values().any(|running| running.action == *action);
        let Some(proof) = self.proof(number).filter(|_| !is_running && world.free() > 0) else {
            return false;
        };
        let chain = proof.chain.clone();
        let changes: Vec<Change> = chain.iter().map(index).collect();
        let mut tree = world.landed.clone();
        tree.extend(&changes);
        let (phase, looks) = (Phase::Merge, self.looks(world, Earlier::Nothing));
        let ran = vec![CheckRun::new(passed().check, String::new())];
        let (tip, run) = (head(world), world.start(&changes));
        self.running
            .insert(run, Running { action: action.clone(), number, chain, tip, tree, phase, looks, ran });
        true
    }

    fn looks(&self, world: &World<'_>, earlier: Earlier) -> Looks {
        let run = self.state.run();
        let habit = run.map(|run| run.flakes.habit(&passed().check, now(world)));
        Looks::new(habit.unwrap_or(Habit::Steady), earlier)
    }

    /// The checks of a proof have run.
    fn ended(&mut self, world: &mut World<'_>, run: RunNo, is_green: bool) {
        let Some(mut running) = self.running.remove(&run) else { return };
        let look = running.looks.saw(is_green);
        if let Some(ran) = running.ran.last_mut() {
            ran.add(is_green, Span(0));
            ran.flaked |= running.looks.has_flaked();
            ran.for_several = running.chain.len() > 1;
        }
        let is_one = running.chain.len() == 1;
        match running.phase {
            Phase::Merge if is_green => {
                self.end(world, running, |ours, world, proof| ours.passed(world, proof));
            }
            Phase::Merge if is_one => self.go_on(world, running, Phase::ByItself),
            Phase::Merge => self.end(world, running, Ours::red),
            Phase::ByItself | Phase::MergeAgain if look == Look::Again => {
                let phase = running.phase;
                self.again(world, running, phase);
            }
            Phase::ByItself if look == Look::Red => self.end(world, running, Ours::red_by_itself),
            Phase::ByItself => self.go_on(world, running, Phase::MergeAgain),
            Phase::MergeAgain if look == Look::Red => self.end(world, running, Ours::red_together),
            Phase::MergeAgain => self.end(world, running, |ours, world, proof| ours.passed(world, proof)),
        }
    }

    fn go_on(&mut self, world: &mut World<'_>, mut running: Running, phase: Phase) {
        let earlier = if phase == Phase::ByItself { Earlier::RedOnAnotherTree } else { Earlier::RedHere };
        running.looks = self.looks(world, earlier);
        running.ran.push(CheckRun::new(passed().check, String::new()));
        self.again(world, running, phase);
    }

    /// Run what failed once more.
    fn again(&mut self, world: &mut World<'_>, mut running: Running, phase: Phase) {
        running.phase = phase;
        let run = match phase {
            Phase::ByItself => world.start_failed(&running.chain.iter().map(index).collect()),
            Phase::Merge | Phase::MergeAgain => world.start_failed(&running.tree),
        };
        self.running.insert(run, running);
    }

    /// A proof is over.
    fn end(
        &mut self,
        world: &mut World<'_>,
        running: Running,
        then: impl FnOnce(&mut Ours, &mut World<'_>, &Running),
    ) {
        then(self, world, &running);
        if let Some(task) = running.action.task().cloned() {
            let note = Note::ChecksRan { task, runs: running.ran, lanes: None };
            self.submit(world, &Command::Note { by: "Piton".to_owned(), note });
        }
    }

    /// Of several, some are red.
    fn red(&mut self, world: &mut World<'_>, Running { number, chain, .. }: &Running) {
        let end = ProofEnd::Red { reason: "red".to_owned(), of: Vec::new() };
        self.say(world, *number, Command::ProofEnded { proof: *number, end, results: Vec::new() });
        let line = self.state.run().map(|run| &run.line);
        let times = chain.iter().filter_map(|task| line.map(|line| line.times_set_aside(task)));
        world.tally.set_aside = times.chain([world.tally.set_aside]).max().unwrap_or(0);
    }

    fn red_by_itself(&mut self, world: &mut World<'_>, Running { number, chain, .. }: &Running) {
        let Some(task) = self.task(&chain[0]).cloned() else { return };
        let (id, fence, results) = (task.id, task.fence, vec![failed()]);
        let Some(tree) = task.progress.tree.clone() else { return };
        let ended = Command::ChecksEnded { task: id.clone(), fence, tree, results };
        self.say_failed(world, *number, id, ended);
    }

    fn red_together(&mut self, world: &mut World<'_>, Running { number, chain, tip, .. }: &Running) {
        let Some(task) = self.task(&chain[0]) else { return };
        let (id, fence) = (task.id.clone(), task.fence);
        let ended = Command::LandingFailed {
            task: id.clone(),
            fence,
            tip: tip.clone(),
            reason: "red".to_owned(),
            feedback: String::new(),
            pointers: Box::default(),
        };
        self.say_failed(world, *number, id, ended);
    }

    /// Its agent would repair it. Then it would be another change.
    fn say_failed(&mut self, world: &mut World<'_>, number: u64, id: TaskId, command: Command) {
        if self.say(world, number, command) {
            world.eject(index(&id));
            let by = "author".to_owned();
            self.submit(world, &Command::Skip { task: id, by, reason: "it is red".to_owned() });
        }
    }

    fn passed(&mut self, world: &World<'_>, Running { number, chain, tip, tree, .. }: &Running) {
        self.passed_on(world, *number, chain, tip, tree);
    }

    fn passed_on(&mut self, world: &World<'_>, number: u64, chain: &[TaskId], tip: &Oid, tree: &Tree) {
        let here = oid(fingerprint(tree));
        // Of a chain, what has landed meanwhile is in the head.
        let open: Vec<&TaskId> = chain.iter().filter(|id| !world.landed.contains(&index(id))).collect();
        let carried = |id: &&TaskId| {
            let fence = self.task(id).map_or(0, |task| task.fence);
            Carried { task: (*id).clone(), fence, commit: here.clone() }
        };
        let mut before: Vec<Carried> = open.iter().map(carried).collect();
        let Some(Carried { task, fence, .. }) = before.pop() else { return };
        // What was merged into an older head with those that landed since is the same tree.
        let is_same =
            open.iter().map(|id| index(id)).chain(world.landed.iter().copied()).collect::<Tree>() == *tree;
        let old = if is_same { head(world) } else { tip.clone() };
        let intent = Intent { old, candidate: here.clone(), on: Vec::new() };
        let (tree, results) = (here.clone(), vec![passed()]);
        let prepare =
            Command::PrepareLanding { task, fence, tree, intent, before, results, waived: Waived::default() };
        let end = ProofEnd::Passed { tree: here };
        let _ = self.say(world, number, prepare)
            || self.say(world, number, Command::ProofEnded { proof: number, end, results: vec![passed()] });
    }

    /// Land what has passed while another was landing.
    fn land(&mut self, world: &mut World<'_>, number: u64) -> bool {
        let Some(proof) = self.proof(number).cloned() else { return false };
        let mut tree = world.landed.clone();
        tree.extend(proof.chain.iter().map(index));
        if proof.stage != Stage::Passed(oid(fingerprint(&tree))) {
            let end = ProofEnd::Dropped { reason: "the head has moved".to_owned() };
            return self.say(world, number, Command::ProofEnded { proof: number, end, results: Vec::new() });
        }
        self.passed_on(world, number, &proof.chain, &head(world), &tree);
        self.state.run().is_some_and(|run| run.merging.is_some())
    }

    /// Move the head to the candidate, if it is where the candidate was built.
    fn move_head(&mut self, world: &mut World<'_>, id: &TaskId) -> bool {
        let Some(task) = self.task(id).cloned() else { return false };
        let Some(Intent { old, candidate, .. }) = task.progress.intent.clone() else { return false };
        let (id, fence) = (task.id, task.fence);
        if old != head(world) {
            let reason = "the head has moved".to_owned();
            return self.submit(world, &Command::LandingReturned { task: id, fence, candidate, reason });
        }
        let is_open = |id: &&TaskId| self.task(id).is_some_and(|task| task.decided == Status::Verified);
        let carried = task.progress.carries.iter().map(|carried| &carried.task).filter(is_open);
        let changes: Vec<Change> = carried.chain([&id]).map(index).collect();
        world.land(&changes);
        self.submit(world, &Command::Landed { task: id, fence, commit: candidate })
    }

    /// What a proof reports; whether the core accepts it.
    fn say(&mut self, world: &World<'_>, number: u64, command: Command) -> bool {
        self.submit(world, &command.of_proof(number))
    }
}

impl Queue for Ours {
    fn hear(&mut self, world: &mut World<'_>, news: News) {
        match news {
            News::Arrived(change) => self.arrived[change] = true,
            News::Ended { run, passed } => self.ended(world, run, passed),
        }
        self.pump(world);
    }
}

fn now(world: &World<'_>) -> Timestamp {
    Timestamp(START + i64::try_from(world.now).unwrap_or(0))
}

fn head(world: &World<'_>) -> Oid {
    oid(fingerprint(&world.landed))
}
