//! Piton's own queue: the real core decides, and what an engine would do is done to the simulated world.

use std::collections::BTreeMap;

use piton_core::plan::{Exhausted, Oid, Schedule, Settings, TaskId};
use piton_core::run::flakes::{Look, Looks};
use piton_core::run::line::{Doubt, ProofEnd, Proving, Stage};
use piton_core::run::{
    Action, AgentEnd, Carried, CheckRun, Closing, Command, Intent, Note, Progress, State, Status, Task,
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

/// Checks that run.
#[derive(Clone, Debug)]
struct Running {
    action: Action,
    of: Subject,
    tree: Tree,
    /// What they have said about the tree.
    looks: Looks,
    ran: CheckRun,
}

/// What checks run for.
#[derive(Clone, Debug)]
enum Subject {
    /// A chain, merged into this tip.
    Proof { number: u64, chain: Vec<TaskId>, tip: Oid },
    /// A change by itself.
    Work { tree: Oid },
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
        let Some(progress) = self.task(&task).map(|task| task.progress.clone()) else { return false };
        let own = oid(u64::MAX - index(&task) as u64);
        let command = match action {
            Action::Start { .. } | Action::BeginProof { .. } | Action::Context | Action::Ask { .. } => {
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
            Action::Check { .. } => return self.check(world, action, &task, &progress),
            Action::Prove { proof, .. } => return self.prove(world, action, *proof),
            Action::Land { proof, .. } => return self.land(world, *proof),
            Action::Move { .. } => return self.move_head(world, &task),
            Action::Clean { .. } => Command::CleanedUp { task, fence },
        };
        self.submit(world, &command)
    }

    fn prove(&mut self, world: &mut World<'_>, action: &Action, number: u64) -> bool {
        let Some(proof) = self.proof(number).filter(|_| self.may_run(world, action)) else { return false };
        let chain = proof.chain.clone();
        let changes: Vec<Change> = chain.iter().map(index).collect();
        let mut tree = world.landed.clone();
        tree.extend(&changes);
        let doubt = self.task(&chain[chain.len() - 1]).and_then(|task| task.progress.doubt.clone());
        let looks = self.looks(world, &oid(fingerprint(&tree)), doubt.as_ref());
        let (tip, run) = (head(world), world.start(&changes));
        let of = Subject::Proof { number, chain, tip };
        self.running.insert(run, Running { action: action.clone(), of, tree, looks, ran: ran() });
        true
    }

    /// Check a change by itself: only those checks that were red where it was to land.
    fn check(&mut self, world: &mut World<'_>, action: &Action, task: &TaskId, progress: &Progress) -> bool {
        if !self.may_run(world, action) {
            return false;
        }
        let own = progress.tree.clone().expect("captured before");
        let looks = self.looks(world, &own, progress.doubt.as_ref());
        let tree = Tree::from([index(task)]);
        let run = world.start_failed(&tree);
        let of = Subject::Work { tree: own };
        self.running.insert(run, Running { action: action.clone(), of, tree, looks, ran: ran() });
        true
    }

    fn may_run(&self, world: &World<'_>, action: &Action) -> bool {
        world.free() > 0 && !self.running.values().any(|running| running.action == *action)
    }

    fn looks(&self, world: &World<'_>, tree: &Oid, doubt: Option<&Doubt>) -> Looks {
        let check = passed().check;
        let is_known = self.state.run().is_some_and(|run| run.flakes.knows(&check, now(world)));
        Looks::new(is_known, &check, tree, doubt)
    }

    /// Checks have run, once.
    fn ended(&mut self, world: &mut World<'_>, run: RunNo, is_green: bool) {
        let Some(mut running) = self.running.remove(&run) else { return };
        let Some(id) = running.action.task().cloned() else { return };
        running.ran.add(is_green, Span(0));
        // The first red ends the proof of several, and of one that was never seen to be green by itself.
        let is_open = match &running.of {
            Subject::Proof { chain, .. } => chain.len() > 1 || self.is_unverified(&id),
            Subject::Work { .. } => false,
        };
        let look = running.looks.saw(is_green);
        if look == Look::Again && !is_open {
            let run = world.start_failed(&running.tree);
            self.running.insert(run, running);
            return;
        }
        running.ran.flaked |= running.looks.has_flaked();
        let note = Note::ChecksRan { task: id.clone(), runs: vec![running.ran.clone()] };
        self.submit(world, &Command::Note { by: "Piton".to_owned(), note });
        match &running.of {
            Subject::Work { tree } => self.checked(world, &id, tree.clone(), look),
            Subject::Proof { number, chain, tip } if is_green => {
                self.passed(world, *number, chain, tip, &running.tree);
            }
            Subject::Proof { number, chain, .. } if is_open => {
                let tree = oid(fingerprint(&running.tree));
                let doubt = (chain.len() == 1).then(|| Doubt { tree, checks: vec![passed().check] });
                let end = ProofEnd::Red { reason: "red".to_owned(), doubt };
                self.say(world, *number, Command::ProofEnded { proof: *number, end, results: Vec::new() });
                let line = self.state.run().map(|run| &run.line);
                let times = chain.iter().filter_map(|task| line.map(|line| line.times_set_aside(task)));
                world.tally.set_aside = times.chain([world.tally.set_aside]).max().unwrap_or(0);
            }
            Subject::Proof { number, tip, .. } => {
                let fence = self.task(&id).map_or(0, |task| task.fence);
                let failed = Command::LandingFailed {
                    task: id.clone(),
                    fence,
                    tip: tip.clone(),
                    reason: "red".to_owned(),
                    feedback: String::new(),
                    pointers: Box::default(),
                };
                if self.say(world, *number, failed) {
                    self.eject(world, id);
                }
            }
        }
    }

    /// A change was checked by itself.
    fn checked(&mut self, world: &mut World<'_>, id: &TaskId, tree: Oid, look: Look) {
        let fence = self.task(id).map_or(0, |task| task.fence);
        let is_red = look == Look::Red;
        let results = vec![if is_red { failed() } else { passed() }];
        let ended = Command::ChecksEnded { task: id.clone(), fence, tree, results };
        if self.submit(world, &ended) && is_red {
            self.eject(world, id.clone());
        }
    }

    /// Its agent would repair it. Then it would be another change.
    fn eject(&mut self, world: &mut World<'_>, id: TaskId) {
        world.eject(index(&id));
        let by = "author".to_owned();
        self.submit(world, &Command::Skip { task: id, by, reason: "it is red".to_owned() });
    }

    fn is_unverified(&self, id: &TaskId) -> bool {
        self.task(id).is_some_and(|task| task.decided == Status::Verifying)
    }

    fn passed(&mut self, world: &World<'_>, number: u64, chain: &[TaskId], tip: &Oid, tree: &Tree) {
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
        let intent = Intent { old, candidate: here.clone() };
        let (tree, results) = (here.clone(), vec![passed()]);
        let prepare =
            Command::PrepareLanding { task, fence, tree, intent, before, results, untouched: Vec::new() };
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
        self.passed(world, number, &proof.chain, &head(world), &tree);
        self.state.run().is_some_and(|run| run.merging.is_some())
    }

    /// Move the head to the candidate, if it is where the candidate was built.
    fn move_head(&mut self, world: &mut World<'_>, id: &TaskId) -> bool {
        let Some(task) = self.task(id).cloned() else { return false };
        let Some(Intent { old, candidate }) = task.progress.intent else { return false };
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

/// Of checks that have not run yet.
fn ran() -> CheckRun {
    CheckRun::new(passed().check, String::new())
}

fn head(world: &World<'_>) -> Oid {
    oid(fingerprint(&world.landed))
}
