//! How long a run takes under the real scheduler, against the least time it could take.
//!
//! Time is simulated; every decision is [`run::next`]'s. The world is one in which nothing fails: preparing,
//! capturing and checking take no time, agents take the durations of the plan, which the scheduler does not
//! know, and landings go one after the other and take [`LANDING`] each. No schedule beats the longest chain of
//! agents nor the work divided by the slots; landings come on top, and are not part of that bound.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use piton_core::plan::{Graph, Schedule, Settings, TaskId, TaskSpec};
use piton_core::run::{Action, AgentEnd, Carried, Closing, Command, Intent, State, Status, Waived, next};
use piton_core::time::{Span, Timestamp};

use crate::bare::{self, index, oid, passed, spec, work};
use crate::rng::Rng;

/// A landing in milliseconds: a merge, its checks and a move of a ref, where an agent works for minutes.
pub const LANDING: u64 = 1_000;

/// When every run begins.
const START: i64 = 1_800_000_000_000;

/// The middle of the durations: most agents take some minutes, a few take an hour.
const USUAL: u64 = 2 * 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Layers, each task with a few needs in the one before.
    Layered,
    /// Chains of different lengths side by side.
    Chains,
    /// One after the other: a task, many that need it, one that needs them all.
    Wide,
    /// Needs anywhere before.
    Random,
}

impl Shape {
    pub const ALL: [Shape; 4] = [Shape::Layered, Shape::Chains, Shape::Wide, Shape::Random];
}

/// How long a plan took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Makespan {
    pub shape: Shape,
    pub tasks: usize,
    pub parallel: u32,
    pub took: u64,
    /// The longest chain, or the work divided by the slots, whichever is more.
    pub bound: u64,
}

impl Makespan {
    /// 1 is the best possible value. It is often impossible, since both bounds cannot be met at once.
    pub fn ratio(&self) -> f64 {
        self.took as f64 / self.bound as f64
    }
}

/// The plan of a seed, lived through. Shapes and slots take turns.
pub fn makespan(seed: u64) -> Makespan {
    let mut rng = Rng::new(seed);
    let shape = Shape::ALL[rng.below(Shape::ALL.len())];
    let parallel = rng.small(2, 16);
    let needs = needs(&mut rng, shape);
    let durations: Vec<u64> = needs.iter().map(|_| duration(&mut rng)).collect();
    let mut tasks: Vec<TaskSpec> = needs.iter().enumerate().map(|(task, needs)| spec(task, needs)).collect();
    let graph = Graph::new(&tasks).expect("needs come before");
    let longest = graph.critical_path(|task| durations[task]).1;
    let bound = longest.max(durations.iter().sum::<u64>().div_ceil(parallel.into()));
    // The order in the file says nothing about the order of needs.
    rng.shuffle(&mut tasks);
    let took = World::new(tasks, durations, parallel).live();
    Makespan { shape, tasks: needs.len(), parallel, took, bound }
}

/// What each task needs, all of it earlier ones.
fn needs(rng: &mut Rng, shape: Shape) -> Vec<Vec<usize>> {
    let count = usize::try_from(rng.between(40, 300)).unwrap_or(40);
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); count];
    match shape {
        Shape::Layered => {
            let width = usize::try_from(rng.between(4, 40)).unwrap_or(4);
            for (task, needs) in needs.iter_mut().enumerate().skip(width) {
                let before = (task / width - 1) * width;
                *needs = (0..=rng.below(3)).map(|_| before + rng.below(width)).collect();
            }
        }
        Shape::Chains => {
            // The first tasks of chains are random, so that some chains are long and some are short.
            let heads = usize::try_from(rng.between(2, 30)).unwrap_or(2);
            let mut ends: Vec<usize> = Vec::new();
            for (task, needs) in needs.iter_mut().enumerate() {
                if ends.len() < heads {
                    ends.push(task);
                } else {
                    let chain = rng.below(ends.len()).min(rng.below(ends.len()));
                    needs.push(std::mem::replace(&mut ends[chain], task));
                }
            }
        }
        Shape::Wide => {
            let (mut fork, mut left) = (0, 0);
            for (task, needs) in needs.iter_mut().enumerate() {
                if left == 0 {
                    *needs = (fork..task).collect();
                    (fork, left) = (task, usize::try_from(rng.between(10, 80)).unwrap_or(10));
                } else {
                    needs.push(fork);
                    left -= 1;
                }
            }
        }
        Shape::Random => {
            for (task, needs) in needs.iter_mut().enumerate() {
                *needs = (0..rng.below(4)).filter(|_| task > 0).map(|_| rng.below(task)).collect();
            }
        }
    }
    needs.iter_mut().for_each(|needs| {
        needs.sort_unstable();
        needs.dedup();
    });
    needs
}

/// Heavy-tailed: of a hundred, some take ten times as long as the usual one, at most thirty times.
fn duration(rng: &mut Rng) -> u64 {
    let u = (rng.between(1, 1 << 32) as f64) / f64::from(1_u32 << 31) / 2.0;
    let factor = u.powf(-1.0 / 1.5).min(30.0);
    (USUAL as f64 * factor) as u64
}

/// A world in which nothing fails.
struct World {
    state: State,
    durations: Vec<u64>,
    time: u64,
    /// What is under way, and when its result comes.
    under_way: BTreeSet<Action>,
    results: BinaryHeap<Reverse<(u64, Action)>>,
    trees: u64,
}

impl World {
    fn new(tasks: Vec<TaskSpec>, durations: Vec<u64>, parallel: u32) -> World {
        let settings = Settings { schedule: Schedule::Flow, max_parallel: parallel, ..Settings::default() };
        let state = bare::begin(tasks, settings, 1, Timestamp(START));
        World { state, durations, time: 0, under_way: BTreeSet::new(), results: BinaryHeap::new(), trees: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp(START + i64::try_from(self.time).unwrap_or(0))
    }

    fn submit(&mut self, command: &Command) {
        let now = self.now();
        bare::submit(&mut self.state, command, now).expect("nothing is refused here");
    }

    /// Until everything has landed; how long that took.
    fn live(mut self) -> u64 {
        loop {
            let now = self.now();
            let mut news = false;
            for action in next(&self.state, now) {
                if self.under_way.contains(&action) {
                    continue;
                }
                news = true;
                match self.takes(&action) {
                    0 => self.done(&action),
                    ms => {
                        self.under_way.insert(action.clone());
                        self.results.push(Reverse((self.time + ms, action)));
                    }
                }
            }
            if news {
                continue;
            }
            let Some(Reverse((time, action))) = self.results.pop() else { break };
            self.time = time;
            self.under_way.remove(&action);
            self.done(&action);
        }
        assert!(self.state.tasks().all(|task| task.decided == Status::Completed), "all of it lands");
        self.time
    }

    /// Those that land in the move of the last of a chain.
    fn before(&self, proof: u64) -> Vec<Carried> {
        let chain = self.state.run().and_then(|run| run.line.proof(proof)).map(|proof| proof.chain.clone());
        let mut chain = chain.unwrap_or_default();
        chain.pop();
        let fence = |id: &TaskId| self.state.task(id).ok().flatten().map_or(0, |task| task.fence);
        chain.into_iter().map(|task| Carried { fence: fence(&task), commit: oid(0), task }).collect()
    }

    fn takes(&self, action: &Action) -> u64 {
        match action {
            Action::Work { task, .. } => self.durations[index(task)],
            Action::Prove { .. } => LANDING,
            _ => 0,
        }
    }

    fn done(&mut self, action: &Action) {
        if let Some(decision) = action.decision() {
            self.submit(&decision);
            return;
        }
        // No other action here is about the run as a whole.
        let Some(task) = action.task().cloned() else { return };
        let fence = action.fence().unwrap_or_default();
        let landed = self.state.run().map_or(0, |run| run.landed);
        self.trees += 1;
        let tree = oid(self.trees);
        let progress =
            self.state.task(&task).ok().flatten().map(|task| (*task.progress).clone()).unwrap_or_default();
        let command = match action {
            Action::Start { .. } | Action::Unstack { .. } | Action::BeginProof { .. } => return,
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
            Action::Capture { pass, .. } => Command::Captured { task, fence, pass: *pass, work: work(tree) },
            Action::Check { .. } => {
                let tree = progress.tree.expect("captured before");
                Command::ChecksEnded { task, fence, tree, results: vec![passed()] }
            }
            Action::Prove { proof, .. } | Action::Land { proof, .. } => {
                let intent = Intent { old: oid(0), candidate: tree.clone(), on: Vec::new() };
                let before = self.before(*proof);
                Command::PrepareLanding {
                    task,
                    fence,
                    tree,
                    intent,
                    before,
                    results: vec![passed()],
                    waived: Waived::default(),
                }
            }
            Action::Move { .. } => {
                let commit = progress.intent.expect("a move has an intent").candidate;
                Command::Landed { task, fence, commit }
            }
            // Nothing here lands by requests.
            Action::Request { .. } => return,
            Action::Clean { .. } => Command::CleanedUp { task, fence },
            Action::Context => Command::ContextUpdated(Box::default()),
            Action::Ask { provider, nth } => {
                Command::Asked { provider: provider.clone(), nth: *nth, end: None }
            }
        };
        self.submit(&command);
    }
}

/// The value below which this part of the ratios lies.
pub fn quantile(all: &[Makespan], part: f64) -> f64 {
    let mut ratios: Vec<f64> = all.iter().map(Makespan::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let at = ((ratios.len() as f64 - 1.0) * part).round() as usize;
    ratios.get(at).copied().unwrap_or(f64::NAN)
}
