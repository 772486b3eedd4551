//! What one seed stands for: a plan, how its agents behave, and how rough the world is.

use std::collections::BTreeMap;

use piton_core::plan::{
    Agent, Argv, Check, Digest, Exhausted, Group, GroupId, Land, MergeBy, Per, Plan, Requests, Schedule,
    Settings, TaskId, TaskSpec, Whole,
};
use piton_core::system::Form;
use piton_core::time::Span;

use super::content::{Predicate, Subjects};
use crate::rng::Rng;

/// What an agent does when it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Good,
    /// Works, wrongly, and says it is done.
    Lies,
    /// Says it is done and has done nothing.
    Idle,
    /// Says that nothing had to be done, and has done nothing.
    SaysAlready,
    SaysFailed,
    /// Killed at its time limit.
    Hangs,
    LeavesMarkers,
    Crashes,
    /// A usage limit that ends after so many minutes.
    Limit(u64),
    /// A limit of ten minutes, reported as one that is over.
    LimitMistold,
    /// The servers of its provider fail for so many minutes.
    Down(u64),
    /// Its provider rejects its login.
    Refused,
    SaysBlocked,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// For the first runs of its agent; good ones follow.
    pub(super) runs: Vec<Behaviour>,
    /// Passes that confirm and still find something.
    pub(super) finds: u32,
}

/// How rough the world is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    /// Things that go wrong before the world calms down.
    pub(super) faults: u32,
    pub(super) people: bool,
    pub(super) crashes: bool,
    /// Crashes that take the keepers along.
    pub(super) deadly: u32,
    pub(super) clock_jumps: bool,
    /// In a hundred: a check that fails without a reason.
    pub(super) flaky: u64,
    /// In a hundred: a check that says fail on a tree that is green.
    pub(super) false_fail: u64,
    /// In a hundred: a check that says pass on a tree that is red.
    pub(super) false_pass: u64,
    /// In a hundred: a landing for which the engine leaves out some of the checks.
    pub(super) sloppy: u64,
    /// People commit to the target what has nothing to do with the plan.
    pub(super) movers: bool,
    /// In a hundred: an action of the engine that fails.
    pub(super) trouble: u64,
    /// So many agents in a row cannot be run at all.
    pub(super) outage: u32,
    /// Usage limits are of one model each.
    pub(super) limits_models: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) plan: Plan,
    pub(super) subjects: Subjects,
    pub(super) scripts: Vec<Script>,
    pub(super) predicates: BTreeMap<Digest, Predicate>,
    /// A task whose check names a program that does not exist.
    pub(super) impossible: Option<usize>,
    pub(super) weather: Weather,
    /// No person interferes and every agent succeeds within its budget: all tasks have to complete.
    pub(super) promise: bool,
    /// Tasks that the plan gets only when it is read again.
    pub(super) later: Vec<TaskSpec>,
}

pub(super) fn task_id(index: usize) -> TaskId {
    TaskId::new(&format!("T{}", index + 1)).expect("a letter and digits")
}

pub(super) fn index(id: &TaskId) -> usize {
    id.as_str()[1..].parse::<usize>().map_or(0, |n| n - 1)
}

impl Scenario {
    /// What a client calls the model whose usage limit it met.
    pub(super) fn limited_model(&self) -> Option<String> {
        self.weather.limits_models.then(|| "its model".to_owned())
    }

    pub(super) fn new(rng: &mut Rng) -> Scenario {
        let promise = rng.chance(30);
        let count = match rng.below(4) {
            0 => rng.between(1, 3),
            1 | 2 => rng.between(2, 9),
            _ => rng.between(5, 25),
        };
        let count = usize::try_from(count).unwrap_or(1);
        let weather = Weather {
            faults: if rng.chance(15) { 0 } else { rng.small(1, 40) },
            people: !promise,
            crashes: rng.chance(80),
            deadly: if promise { 1 } else { 99 },
            clock_jumps: rng.chance(50),
            flaky: if promise || rng.chance(60) { 0 } else { rng.between(1, 10) },
            false_fail: 0,
            false_pass: 0,
            sloppy: 0,
            movers: false,
            trouble: if promise || rng.chance(60) { 0 } else { rng.between(1, 10) },
            outage: if !promise && rng.chance(15) { rng.small(1, 50) } else { 0 },
            limits_models: rng.chance(30),
        };
        let subjects = subjects(rng, count);
        let scripts: Vec<Script> = (0..count).map(|_| script(rng, promise)).collect();
        let mut predicates = BTreeMap::new();
        let mut plan = plan(rng, &subjects, &scripts, promise, &mut predicates);
        let mut later = Vec::new();
        if !promise && rng.chance(30) {
            for _ in 0..rng.below(plan.tasks.len()).min(4) {
                let at = rng.below(plan.tasks.len());
                later.push(plan.tasks.remove(at));
            }
            let known: Vec<TaskId> = plan.tasks.iter().map(|spec| spec.id.clone()).collect();
            plan.tasks.iter_mut().for_each(|spec| spec.depends_on.retain(|id| known.contains(id)));
        }
        let impossible = (!promise && rng.chance(5)).then(|| rng.below(count));
        Scenario { plan, subjects, scripts, predicates, impossible, weather, promise, later }
    }

    /// Few tasks that mostly do not wait for each other, so that they meet where they land.
    pub(super) fn queue(rng: &mut Rng) -> Scenario {
        let count = usize::try_from(rng.between(3, 9)).unwrap_or(3);
        let weather = Weather {
            faults: rng.small(0, 8),
            crashes: rng.chance(50),
            deadly: 1,
            false_fail: if rng.chance(50) { rng.between(1, 30) } else { 0 },
            // A check that lies lets red in. Less can be promised then, so most queues have none.
            false_pass: if rng.chance(25) { rng.between(1, 30) } else { 0 },
            sloppy: if rng.chance(30) { rng.between(1, 50) } else { 0 },
            movers: rng.chance(60),
            trouble: if rng.chance(20) { rng.between(1, 5) } else { 0 },
            ..Weather::default()
        };
        let mut subjects = subjects(rng, count);
        for _ in 0..count {
            let (a, b) = (rng.below(count), rng.below(count));
            if a != b && !subjects.pairs.contains(&(a, b)) && !subjects.pairs.contains(&(b, a)) {
                subjects.pairs.push((a, b));
            }
        }
        let wrong = [Behaviour::Lies, Behaviour::Idle, Behaviour::LeavesMarkers, Behaviour::Crashes];
        let scripts: Vec<Script> = (0..count)
            .map(|_| Script {
                runs: rng.pick(&wrong).filter(|_| rng.chance(20)).copied().into_iter().collect(),
                finds: 0,
            })
            .collect();
        let mut predicates = BTreeMap::new();
        let promise = false;
        let mut plan = plan(rng, &subjects, &scripts, promise, &mut predicates);
        let settings = &mut plan.settings;
        (settings.schedule, settings.no_commits) = (Schedule::Flow, false);
        (settings.max_parallel, settings.exhausted) = (rng.small(2, 6), Exhausted::Continue);
        for spec in &mut plan.tasks {
            (spec.confirm, spec.attempts) = (false, rng.small(2, 5));
            if rng.chance(70) {
                spec.depends_on.clear();
            }
        }
        Scenario {
            plan,
            subjects,
            scripts,
            predicates,
            impossible: None,
            weather,
            promise,
            later: Vec::new(),
        }
    }

    /// A queue whose tasks land by requests. The host merges them, or Piton, or people.
    pub(super) fn requests(rng: &mut Rng) -> Scenario {
        let mut scenario = Scenario::queue(rng);
        let merge = MergeBy::ALL[rng.below(3)].1;
        let mut requests = Requests { merge, ..Requests::default() };
        // No random number is drawn, so that seeds keep their meaning.
        // A third of all. Those with seven tasks go one after the other, and cannot be stacked.
        if matches!(scenario.plan.tasks.len(), 4 | 5 | 8) {
            requests.stack = true;
            depend_on_each_other(&mut scenario);
        }
        if scenario.plan.tasks.len().is_multiple_of(3) {
            requests.per = if merge == MergeBy::Host { Per::Run } else { Per::Batch };
            let used = |nth: usize| scenario.plan.tasks.iter().any(|spec| spec.group as usize == nth);
            let groups = scenario.plan.groups.iter().enumerate();
            let mut batches: Vec<GroupId> =
                groups.filter(|(nth, _)| used(*nth)).map(|(_, group)| group.id.clone()).collect();
            batches.pop();
            batches.retain(|_| requests.per == Per::Batch);
            let first = scenario.scripts.len();
            let all = first + batches.len() + 1;
            requests.whole = Some(Whole {
                into: "trunk".to_owned(),
                task: task_id(all - 1),
                groups: batches.into_iter().zip((first..).map(task_id)).collect(),
            });
            scenario.scripts.resize(all, Script::default());
            scenario.subjects.registers.resize(all, None);
            scenario.subjects.overreach.resize(all, None);
        }
        scenario.plan.settings.requests = Some(requests);
        scenario
    }

    /// A plan as another system has them: without gates and without confirmations.
    pub(super) fn taken_over(rng: &mut Rng) -> Scenario {
        let mut scenario = Scenario { promise: false, ..Scenario::new(rng) };
        let settings = &mut scenario.plan.settings;
        (settings.form, settings.no_commits) = (Form::Execute, false);
        for spec in scenario.plan.tasks.iter_mut().chain(&mut scenario.later) {
            (spec.gate, spec.confirm) = (false, false);
            spec.outside.clear();
        }
        scenario
    }

    pub(super) fn spec(&self, id: &TaskId) -> Option<&TaskSpec> {
        self.plan.tasks.iter().find(|spec| &spec.id == id)
    }
}

/// Tasks that wait for none depend on those before them: two beside each other, one on both, two on that one, and so on.
/// Those beside each other may write into the same register.
fn depend_on_each_other(scenario: &mut Scenario) {
    let count = scenario.plan.tasks.len();
    for spec in scenario.plan.tasks.iter_mut().filter(|spec| spec.depends_on.is_empty()) {
        let place = index(&spec.id);
        let before = match place % 3 {
            2 => [place.checked_sub(1), place.checked_sub(2)],
            0 => [place.checked_sub(1), None],
            _ => [place.checked_sub(2), None],
        };
        spec.depends_on = before.into_iter().flatten().map(task_id).collect();
    }
    let beside = if count == 4 { [0, 1] } else { [3, 4] };
    for place in beside {
        if let Some(register) = scenario.subjects.registers.get_mut(place) {
            *register = Some(1);
        }
    }
}

fn subjects(rng: &mut Rng, count: usize) -> Subjects {
    let registers = (0..count).map(|_| rng.chance(20).then(|| rng.below(2))).collect();
    let mut pairs = Vec::new();
    let mut overreach = vec![None; count];
    for _ in 0..rng.below(count / 2 + 1) {
        let (a, b) = (rng.below(count), rng.below(count));
        if a != b && !pairs.contains(&(a, b)) && !pairs.contains(&(b, a)) {
            pairs.push((a, b));
            if rng.chance(25) && overreach[a].is_none() {
                overreach[b] = overreach[b].or(Some(a));
            }
        }
    }
    Subjects { registers, pairs, overreach }
}

fn script(rng: &mut Rng, promise: bool) -> Script {
    use Behaviour::*;
    let mut runs = Vec::new();
    let mut crashes = 0;
    while rng.chance(35) && runs.len() < 8 {
        let kind = match rng.below(if promise { 23 } else { 25 }) {
            0..4 => Lies,
            4 | 5 => Idle,
            6 => SaysAlready,
            7 | 8 => SaysFailed,
            9 => Hangs,
            10 | 11 => LeavesMarkers,
            12..16 if promise && crashes == 2 => Idle,
            12..16 => Crashes,
            16 => Limit(5),
            17 => Limit(5 * 60),
            18 => Limit(if rng.chance(50) { 7 * 24 * 60 } else { 30 * 24 * 60 }),
            19 => LimitMistold,
            20 => Refused,
            // Zero minutes: only its own conversation fails.
            21 | 22 if promise && crashes == 2 => Idle,
            21 => Down(0),
            22 => Down(*rng.pick(&[4, 50, 300]).expect("not empty")),
            _ => SaysBlocked,
        };
        crashes += u32::from(matches!(kind, Crashes | Down(_)));
        runs.push(kind);
    }
    Script { runs, finds: if rng.chance(30) { rng.small(1, 3) } else { 0 } }
}

fn plan(
    rng: &mut Rng,
    subjects: &Subjects,
    scripts: &[Script],
    promise: bool,
    predicates: &mut BTreeMap<Digest, Predicate>,
) -> Plan {
    let count = scripts.len();
    let groups = rng.small(1, 4).min(u32::try_from(count).unwrap_or(1));
    let schedule = *rng.pick(&[Schedule::Layered, Schedule::Batch, Schedule::Flow]).expect("not empty");
    let mut of: Vec<u32> = (0..count).map(|_| rng.small(0, groups - 1)).collect();
    // An edge to a later group would be a deadlock, which readers of plans report.
    of.sort_unstable();
    let chained = rng.between(0, 60);
    let mut tasks: Vec<TaskSpec> = Vec::new();
    for task in 0..count {
        let mut depends_on = Vec::new();
        for earlier in 0..task {
            if depends_on.len() < 4 && rng.chance(chained / (task as u64).max(1) + 2) {
                depends_on.push(task_id(earlier));
            }
        }
        let check_first = rng.chance(15);
        // The first look may cost one, too.
        let look = u32::from(check_first);
        let spend = u32::try_from(scripts[task].runs.len()).unwrap_or(0) + scripts[task].finds + 2 + look;
        tasks.push(TaskSpec {
            id: task_id(task),
            title: format!("Task {task}"),
            prompt: String::new(),
            group: of[task],
            depends_on,
            files: Vec::new(),
            criteria: Vec::new(),
            checks: checks(rng, subjects, task, predicates),
            priority: rng.small(1, 5),
            agent: rng.pick(&AGENTS).expect("not empty").0.to_owned(),
            attempts: if promise { spend } else { rng.small(1, 5) },
            confirm: rng.chance(25),
            may_change_nothing: rng.chance(15),
            check_first,
            may_fail: rng.chance(12),
            gate: false,
            by_person: !promise && rng.chance(6),
            timeout: Span::minutes(30),
            silence: None,
            exports: Vec::new(),
            outside: Vec::new(),
            source: None,
        });
    }
    let mut groups = groups;
    if rng.chance(35) {
        groups = gates(rng, &mut tasks, groups, promise, subjects);
    }
    if rng.chance(50) {
        rng.shuffle(&mut tasks);
    }
    super::siblings::give(rng, &mut tasks);
    let mut landing_checks = Vec::new();
    for (name, predicate) in [("clean", Predicate::Clean), ("suite", Predicate::Suite)] {
        if rng.chance(25) {
            landing_checks.push(check(name, predicate, predicates));
        }
    }
    let no_commits = rng.chance(7);
    // No random number is drawn, so that seeds keep their meaning.
    let in_sequence = tasks.len().is_multiple_of(7);
    let landing_parallel = Some([1, 2, 5][tasks.len() % 3]);
    let land = if tasks.len().is_multiple_of(5) { Land::Each } else { Land::Batch };
    let settings = Settings {
        in_sequence,
        land,
        landing_parallel,
        schedule,
        max_parallel: if no_commits { 1 } else { rng.small(1, 6) },
        exhausted: *rng.pick(&Exhausted::ALL).expect("not empty"),
        landing_checks,
        no_commits,
        form: if rng.chance(40) { Form::Execute } else { Form::Native },
        agents: agents(rng),
        ..Settings::default()
    };
    let groups = (0..groups)
        .map(|no| {
            let id = GroupId::new(&format!("g{no}")).expect("a letter and digits");
            Group { id, title: String::new() }
        })
        .collect();
    Plan { name: "sim".to_owned(), groups, tasks, settings }
}

/// The last tasks judge the whole. They come in a group of their own, or one after the other in groups.
fn gates(rng: &mut Rng, tasks: &mut [TaskSpec], groups: u32, promise: bool, subjects: &Subjects) -> u32 {
    let first = tasks.len().saturating_sub(1 + rng.below(3));
    let in_turn = rng.chance(50);
    for (nth, spec) in tasks[first..].iter_mut().enumerate() {
        (spec.gate, spec.check_first, spec.may_change_nothing) = (true, true, true);
        (spec.confirm, spec.may_fail) = (false, !promise && rng.chance(50));
        spec.group = groups + if in_turn { u32::try_from(nth).unwrap_or(0) } else { 0 };
        // Each that lands after it may make it red once more.
        let more = u32::try_from(subjects.pairs.len() * 2).unwrap_or(0) + 3;
        spec.attempts += if promise { more } else { 0 };
    }
    tasks.last().map_or(groups, |spec| spec.group + 1)
}

/// The agents and their providers. Two share a provider.
const AGENTS: [(&str, &str); 4] = [("default", "a"), ("quick", "a"), ("other", "b"), ("third", "c")];
/// The model of one of the two. The other takes whatever its client takes.
const QUICK: &str = "small";

fn agents(rng: &mut Rng) -> BTreeMap<String, Agent> {
    let mut agents = BTreeMap::new();
    for (nth, (name, provider)) in AGENTS.iter().enumerate() {
        // Only on those after it: so no circle closes.
        let fallback = AGENTS[nth + 1..].iter().find(|_| rng.chance(25)).map(|(name, _)| (*name).to_owned());
        let model = (*name == "quick").then(|| QUICK.to_owned());
        let agent = Agent { provider: Some((*provider).to_owned()), fallback, model, ..Agent::default() };
        agents.insert((*name).to_owned(), agent);
    }
    agents
}

fn checks(
    rng: &mut Rng,
    subjects: &Subjects,
    task: usize,
    predicates: &mut BTreeMap<Digest, Predicate>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    if rng.chance(85) {
        let mut own = check(&format!("own {task}"), Predicate::Own(task), predicates);
        if rng.chance(15) {
            own.run = Argv::Review { agent: "third".to_owned(), ask: own.name.clone() };
            predicates.insert(own.digest(), Predicate::Own(task));
        }
        checks.push(own);
    }
    for (no, &(a, b)) in subjects.pairs.iter().enumerate() {
        // The judge of a pair is with one of the two, now and then with both.
        if a == task || (b == task && rng.chance(30)) {
            checks.push(check(&format!("pair {no}"), Predicate::Pair(no), predicates));
        }
    }
    if rng.chance(20) {
        checks.push(check("clean", Predicate::Clean, predicates));
    }
    checks
}

pub(super) fn check(
    command: &str,
    predicate: Predicate,
    predicates: &mut BTreeMap<Digest, Predicate>,
) -> Check {
    let check = Check::new(command.to_owned(), Argv::parse(command), Span::minutes(5));
    predicates.insert(check.digest(), predicate);
    check
}
