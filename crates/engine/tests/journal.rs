//! The journal against its promises: one truth whatever the way it was written, nothing lost, nothing
//! taken for what it is not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::process::Command as Process;
use std::sync::{Arc, Barrier};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{
    Argv, Check, Digest, Exhausted, Group, GroupId, Oid, Plan, RunId, Schedule, Settings, TaskId, TaskSpec,
};
use piton_core::run::{
    Action, AgentEnd, CheckResult, Claim, Class, Command, Event, Holder, Intent, NewRun, Proof, Recorded,
    Refusal, Report, Selection, Session, State, Status, Stop, StopReason, Task, Verdict, Work, decide,
    startable,
};
use piton_core::time::{Span, Timestamp};
use piton_engine::journal::{CommandError, Journal, Trouble};
use rusqlite::Connection;

// ---------------------------------------------------------------------------------------------- plans

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn run_id() -> RunId {
    RunId::new("run-1").unwrap()
}

fn oid(n: u64) -> Oid {
    Oid::new(&format!("{n:040x}")).unwrap()
}

fn check(name: &str) -> Check {
    Check { name: name.to_owned(), run: Argv::parse(name), timeout: Span::minutes(1), cwd: None }
}

fn spec(name: &str, group: u32, needs: &[String]) -> TaskSpec {
    TaskSpec {
        id: id(name),
        title: format!("Task {name}"),
        prompt: "Do it.".to_owned(),
        group,
        depends_on: needs.iter().map(|need| id(need)).collect(),
        files: Vec::new(),
        criteria: Vec::new(),
        checks: Vec::new(),
        priority: 5,
        agent: "a".to_owned(),
        attempts: 2,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        timeout: Span::minutes(5),
        silence: None,
        exports: Vec::new(),
    }
}

fn plan(groups: u32, tasks: Vec<TaskSpec>) -> Plan {
    let groups =
        (0..groups).map(|n| Group { id: GroupId::new(&format!("g{n}")).unwrap(), title: String::new() });
    Plan {
        name: "demo".to_owned(),
        groups: groups.collect(),
        tasks,
        settings: Settings { max_parallel: 4, exhausted: Exhausted::Continue, ..Settings::default() },
    }
}

/// `a` and `c` stand alone, `b` needs `a`, `d` needs `b`.
fn small() -> Plan {
    let needs = |name: &str| vec![name.to_owned()];
    plan(1, vec![spec("a", 0, &[]), spec("b", 0, &needs("a")), spec("c", 0, &[]), spec("d", 0, &needs("b"))])
}

fn create(plan: Plan) -> Command {
    Command::Create(Box::new(NewRun {
        run: run_id(),
        plan,
        plan_path: "/p/plan.toml".to_owned(),
        target: Some("main".to_owned()),
        base: Some(oid(1)),
        worktree_dir: None,
    }))
}

fn start(task: &str) -> Command {
    Command::Start { task: id(task), holder: Holder::Ledger("me".to_owned()) }
}

fn report(task: &str, claim: Claim) -> Command {
    Command::Report {
        task: id(task),
        by: "me".to_owned(),
        fence: None,
        claim,
        report: Box::new(Report { note: "noted".to_owned(), ..Report::default() }),
    }
}

fn done(task: &str) -> Command {
    report(task, Claim::Done { tree: None, results: Vec::new() })
}

fn blocked(task: &str) -> Command {
    report(task, Claim::Blocked { reason: "stuck".to_owned() })
}

fn at(n: i64) -> Timestamp {
    Timestamp(1_790_000_000_000 + n)
}

struct Folder {
    path: Utf8PathBuf,
    _temp: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(temp.path().to_owned()).unwrap().join("piton");
        Folder { path, _temp: temp }
    }

    fn open(&self) -> Journal {
        Journal::open(&self.path).unwrap()
    }

    fn db(&self) -> Utf8PathBuf {
        self.path.join("piton.db")
    }

    /// Behind the journal's back.
    fn sql(&self, sql: &str) {
        Connection::open(self.db()).unwrap().execute_batch(sql).unwrap();
    }

    /// Every byte of the database: its file and its log. The index of the log is memory, not content.
    fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        let files = std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path());
        files
            .map(|path| {
                (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())
            })
            .filter(|(name, bytes)| !name.ends_with("-shm") && !name.ends_with(".lock") && !bytes.is_empty())
            .collect()
    }
}

fn with_small() -> (Folder, Journal) {
    let folder = Folder::new();
    let mut journal = folder.open();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    (folder, journal)
}

fn status(journal: &Journal, task: &str) -> Status {
    journal.task(&run_id(), &id(task)).unwrap().unwrap().status()
}

// ---------------------------------------------------------------------------------------- round trips

#[test]
fn a_rehearsal_says_what_would_be_refused_and_records_nothing() {
    let folder = Folder::new();
    let mut journal = folder.open();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    let before = journal.events(&run_id(), 0, None, 100).unwrap();
    journal.rehearse(&run_id(), &start("a"), at(1)).unwrap();
    let refused = journal.rehearse(&run_id(), &start("b"), at(1));
    assert!(matches!(refused, Err(CommandError::Refused(_))), "b needs a: {refused:?}");
    assert_eq!(journal.events(&run_id(), 0, None, 100).unwrap(), before);
    assert_eq!(journal.load(&run_id()).unwrap().task(&id("a")).unwrap().unwrap().status(), Status::Pending);
    journal.command(&run_id(), &start("a"), at(2)).unwrap();
}

#[test]
fn what_was_written_is_read_again() {
    let (folder, mut journal) = with_small();
    let run = run_id();
    let started = journal.command(&run, &start("a"), at(1)).unwrap();
    assert_eq!(started.iter().map(|r| r.seq).collect::<Vec<_>>(), [6]);
    journal.command(&run, &done("a"), at(2)).unwrap();
    drop(journal);

    let mut journal = folder.open();
    let state = journal.load(&run).unwrap();
    assert_eq!(state.seq(), 8);
    assert_eq!(state.run().unwrap().name, "demo");
    assert_eq!(state.task(&id("a")).unwrap().unwrap().proof, Some(Proof::Reported));
    assert_eq!(state.links(&id("a")).unwrap().dependents, [id("b")]);
    assert_eq!(journal.prove(&run).unwrap(), [""; 0]);
    assert_eq!(journal.integrity().unwrap(), [""; 0]);

    assert_eq!(journal.spec(&run, &id("b")).unwrap().unwrap().depends_on, [id("a")]);
    let specs = journal.specs(&run).unwrap();
    assert_eq!(specs.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(journal.event(&run, 6).unwrap(), Some(started[0].clone()));
    assert_eq!(journal.event(&run, 99).unwrap(), None);
    let seqs = |events: Vec<Recorded>| events.iter().map(|r| r.seq).collect::<Vec<_>>();
    assert_eq!(seqs(journal.events(&run, 5, None, 2).unwrap()), [6, 7]);
    assert_eq!(seqs(journal.events(&run, 0, Some(&id("a")), 10).unwrap()), [2, 6, 7, 8]);
    assert_eq!(seqs(journal.last_events(&run, Some(&id("a")), 2).unwrap()), [7, 8]);
    assert_eq!(seqs(journal.last_events(&run, None, 1).unwrap()), [8]);

    let runs = journal.runs().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].counts.of(Status::Completed), runs[0].counts.total(), runs[0].seq), (1, 4, 8));
    let ready = journal.ready(&run, at(3), 10).unwrap();
    assert_eq!(ready.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn a_refusal_changes_nothing() {
    let (folder, mut journal) = with_small();
    let before = folder.bytes();
    let refused = journal.command(&run_id(), &start("d"), at(1)).unwrap_err();
    assert!(matches!(&refused, CommandError::Refused(r) if r.reason.contains("b (pending)")), "{refused}");
    let unknown = journal.command(&run_id(), &start("z"), at(1)).unwrap_err();
    assert!(matches!(&unknown, CommandError::Refused(r) if r.reason.contains("no task z")), "{unknown}");
    let other = RunId::new("other").unwrap();
    let nowhere = journal.command(&other, &start("a"), at(1)).unwrap_err();
    assert!(matches!(nowhere, CommandError::Refused(_)));
    let twice = journal.command(&run_id(), &create(small()), at(1)).unwrap_err();
    assert!(matches!(twice, CommandError::Refused(_)));
    assert!(matches!(journal.load(&other).unwrap_err().trouble, Trouble::NoRun(_)));
    assert_eq!(folder.bytes(), before);
}

#[test]
fn runs_live_side_by_side() {
    let (_folder, mut journal) = with_small();
    let second = RunId::new("run-2").unwrap();
    let Command::Create(mut new) = create(small()) else { unreachable!() };
    new.run = second.clone();
    journal.command(&second, &Command::Create(new), at(5)).unwrap();
    journal.command(&run_id(), &blocked("a"), at(6)).unwrap();
    assert_eq!(status(&journal, "d"), Status::Unreachable);
    let untouched = journal.load(&second).unwrap();
    assert_eq!(untouched.counts().of(Status::Pending), 4);
    let names: Vec<_> = journal.runs().unwrap().iter().map(|run| run.id.to_string()).collect();
    assert_eq!(names, ["run-2", "run-1"]);
    assert_eq!(journal.events(&run_id(), 0, None, 99).unwrap().len(), 8);
    for run in [run_id(), second] {
        assert_eq!(journal.prove(&run).unwrap(), [""; 0]);
    }
}

// --------------------------------------------------------------- one truth, whichever way it is written

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn random_plan(dice: &mut Dice, size: usize) -> Plan {
    let mut tasks = Vec::new();
    for n in 0..size {
        let needs: Vec<String> =
            (0..n).filter(|_| dice.one_in(n.max(3))).map(|need| format!("T{need}")).collect();
        let mut task = spec(&format!("T{n}"), u32::try_from(n * 3 / size).unwrap(), &needs);
        task.priority = u32::try_from(dice.below(3)).unwrap();
        task.confirm = dice.one_in(5);
        task.may_change_nothing = dice.one_in(5);
        if dice.one_in(2) {
            task.checks.push(check(if dice.one_in(2) { "make test" } else { "make lint" }));
        }
        tasks.push(task);
    }
    let mut plan = plan(3, tasks);
    plan.settings.schedule = [Schedule::Layered, Schedule::Batch, Schedule::Flow][dice.below(3)];
    plan
}

fn results(dice: &mut Dice, judges: &[Digest]) -> Vec<CheckResult> {
    let verdict = match dice.below(6) {
        0 => Verdict::Fail { exit: 1 },
        1 => Verdict::Broken { reason: "timed out".to_owned() },
        _ => Verdict::Pass,
    };
    let result = |judge: &Digest| CheckResult {
        name: "check".to_owned(),
        check: judge.clone(),
        command: "make".to_owned(),
        verdict: verdict.clone(),
        environment: Digest::of_bytes(b"env"),
        took: Span(3),
        log: "log".to_owned(),
        tail: String::new(),
        tests: None,
    };
    judges.iter().map(result).collect()
}

fn all_judges(state: &State) -> Vec<Digest> {
    let mut judges: Vec<Digest> = state.tasks().flat_map(|task| task.judges.clone()).collect();
    judges.sort();
    judges.dedup();
    judges
}

/// Something that may well be allowed at this state, or not.
fn random_command(dice: &mut Dice, state: &State, plan: &Plan, now: Timestamp) -> Command {
    let tasks: Vec<&Task> = state.tasks().collect();
    let mut task = tasks[dice.below(tasks.len())];
    // Mostly a task something can be done about.
    for _ in 0..6 {
        if matches!(task.status(), Status::Completed | Status::Unreachable | Status::Pending) {
            task = tasks[dice.below(tasks.len())];
        }
    }
    if dice.one_in(3) {
        let free: Vec<&Task> = startable(state, state.run().unwrap(), now).collect();
        task = if free.is_empty() { task } else { free[dice.below(free.len())] };
    }
    let (id, fence, by) = (task.id.clone(), task.fence, "me".to_owned());
    let text = || "because".to_owned();
    if dice.one_in(8) {
        let selection = match dice.below(4) {
            0 => Selection::From(GroupId::new("g1").unwrap()),
            1 => Selection::Task(id.clone()),
            _ => Selection::All,
        };
        let schedule = [Schedule::Layered, Schedule::Batch, Schedule::Flow][dice.below(3)];
        return match dice.below(4) {
            0 => Command::Attach {
                engine: "e".into(),
                session: Session { schedule, max_parallel: 3, selection, agent: None },
            },
            1 => Command::Detach { engine: "e".into(), reason: StopReason::Person },
            2 => Command::RequestStop { by, now: dice.one_in(2) },
            _ => {
                let mut changed = plan.clone();
                changed.tasks.retain(|_| !dice.one_in(20));
                let kept: Vec<TaskId> = changed.tasks.iter().map(|task| task.id.clone()).collect();
                for task in &mut changed.tasks {
                    task.depends_on.retain(|need| kept.contains(need) && !dice.one_in(10));
                }
                Command::Replan(Box::new(changed))
            }
        };
    }
    if dice.one_in(4) {
        return match dice.below(10) {
            0 => Command::Retry { task: id, by },
            1 => Command::Reset { task: id, by },
            2 => Command::Skip { task: id, by, reason: text() },
            3 => Command::Unblock { task: id, by },
            4 => Command::Raise { task: id, by, attempts: 3 },
            5 => Command::LandingFound { task: id, commit: oid(77), reason: text() },
            6 => Command::Rescued { task: id, reference: "refs/x".into(), commit: oid(5) },
            7 => Command::TryFailed {
                action: Action::Check { task: id, fence },
                class: Class::Transient,
                reason: text(),
                feedback: text(),
            },
            8 => blocked(id.as_str()),
            _ => Command::LandingLost { task: id, commit: oid(9000 + fence), reason: text() },
        };
    }
    match task.status() {
        Status::InProgress if task.is_engines() && !task.progress.ready => {
            let landed = state.run().unwrap().landed;
            Command::Prepared { task: id, fence, base: oid(1), landed }
        }
        Status::InProgress | Status::Confirming if task.is_engines() && !task.progress.agent_done => {
            let end = match dice.below(8) {
                0 => AgentEnd::Failed { reason: text(), feedback: text() },
                1 => AgentEnd::Blocked { reason: text() },
                2 => AgentEnd::Transient { reason: text() },
                3 => AgentEnd::Limit { reason: text(), until: now.plus(Span(2)) },
                _ => AgentEnd::Done,
            };
            Command::AgentEnded {
                task: id,
                fence,
                pass: task.progress.confirmations,
                end,
                took: Span(9),
                report: None,
            }
        }
        Status::InProgress | Status::Confirming if task.is_engines() => {
            let work = Work {
                commit: Some(oid(500 + fence)),
                tree: oid(600 + fence),
                changed: !dice.one_in(5),
                found_work: dice.one_in(2),
                markers: Vec::new(),
                commits: Vec::new(),
                created: Vec::new(),
                modified: Vec::new(),
            };
            Command::Captured { task: id, fence, pass: task.progress.confirmations, work }
        }
        Status::InProgress => {
            let results = results(dice, &task.judges);
            report(id.as_str(), Claim::Done { tree: Some(oid(3)), results })
        }
        Status::Verifying => {
            let results = results(dice, &task.judges);
            Command::ChecksEnded { task: id, fence, tree: oid(600 + fence), results }
        }
        Status::Verified if dice.one_in(4) => {
            Command::LandingFailed { task: id, fence, tip: oid(8), reason: text(), feedback: text() }
        }
        Status::Verified => {
            let results = results(dice, &all_judges(state));
            let intent = Intent { old: oid(1), candidate: oid(9000 + fence) };
            Command::PrepareLanding { task: id, fence, tree: oid(700 + fence), intent, results }
        }
        Status::Merging => Command::Landed { task: id, fence, commit: oid(9000 + fence) },
        Status::Completed => Command::CleanedUp { task: id, fence },
        _ if dice.one_in(3) => Command::Start { task: id, holder: Holder::Ledger(by) },
        _ => Command::Start { task: id, holder: Holder::Engine },
    }
}

fn fold(state: &mut State, command: &Command, now: Timestamp) -> Result<Vec<Recorded>, Refusal> {
    let events = match decide(state, command, now) {
        Ok(events) => events,
        Err(Stop::Refused(refusal)) => return Err(refusal),
        Err(Stop::Missing(missing)) => panic!("a complete state misses {missing:?}"),
    };
    let recorded: Vec<Recorded> = events
        .into_iter()
        .zip(state.seq() + 1..)
        .map(|(event, seq)| Recorded { seq, at: now, event })
        .collect();
    recorded.iter().for_each(|recorded| state.apply(recorded).unwrap());
    Ok(recorded)
}

#[test]
fn parts_groups_and_the_fold_come_to_the_same() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 1..=12_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (one, many) = (Folder::new(), Folder::new());
        let (mut parts, mut groups) = (one.open(), many.open());
        let run = run_id();
        let plan = random_plan(&mut dice, 24);
        let (mut model, mut state) = (State::new(), State::new());
        let mut group: Vec<Command> = vec![create(plan.clone())];
        let mut expected = vec![fold(&mut model, &group[0], at(0))];
        assert_eq!(parts.command(&run, &group[0], at(0)).unwrap(), *expected[0].as_ref().unwrap());
        for step in 1..260 {
            // A group is decided at one time; so is what it is compared with.
            let now = at(step / 4);
            let command = random_command(&mut dice, &model, &plan, now);
            if step % 4 == 0 || dice.one_in(3) {
                let committed = groups.commit(&run, &mut state, &group, at((step - 1) / 4)).unwrap();
                assert_eq!(committed.outcomes, expected, "seed {seed}, step {step}");
                (group, expected) = (Vec::new(), Vec::new());
            }
            let folded = fold(&mut model, &command, now);
            match (parts.command(&run, &command, now), &folded) {
                (Ok(events), Ok(told)) => assert_eq!(&events, told, "seed {seed}, step {step}"),
                (Err(CommandError::Refused(refusal)), Err(told)) => assert_eq!(&refusal, told),
                (outcome, told) => panic!("seed {seed}, step {step}, {command:?}: {outcome:?}, not {told:?}"),
            }
            let told = folded.iter().flatten().map(|recorded| format!("{:?}", recorded.event));
            told.for_each(|event| *seen.entry(event.split(' ').next().unwrap().to_owned()).or_default() += 1);
            group.push(command);
            expected.push(folded);
            if step % 13 == 0 {
                assert_eq!(parts.prove(&run).unwrap(), [""; 0], "seed {seed}, step {step}");
                let ready = parts.ready(&run, now, 5).unwrap();
                let told: Vec<Task> = startable(&model, model.run().unwrap(), now).take(5).cloned().collect();
                assert_eq!(ready, told, "seed {seed}, step {step}");
                for status in Status::ALL {
                    let told: Vec<&TaskId> =
                        model.tasks().filter(|t| !t.removed && t.status() == status).map(|t| &t.id).collect();
                    let kept = parts.tasks_in(&run, status, usize::MAX).unwrap();
                    let mut kept: Vec<&TaskId> = kept.iter().map(|task| &task.id).collect();
                    kept.sort();
                    assert_eq!(kept, told, "{status:?}");
                }
            }
        }
        let committed = groups.commit(&run, &mut state, &group, at(259 / 4)).unwrap();
        assert_eq!(committed.outcomes, expected);
        assert!(state.agrees_with(&model));
        for journal in [&mut parts, &mut groups] {
            assert_eq!(journal.prove(&run).unwrap(), [""; 0]);
            assert!(journal.load(&run).unwrap().agrees_with(&model), "seed {seed}");
        }
    }
    // The walk went everywhere that matters.
    for event in
        ["Failed", "Completed", "LandingPrepared", "PlanAdopted", "Reset", "Skipped", "EngineStarted"]
    {
        assert!(seen.contains_key(event), "no {event} in {seen:?}");
    }
}

#[test]
fn a_long_chain_falls_as_one() {
    let folder = Folder::new();
    let mut journal = folder.open();
    let needs = |n: usize| if n == 0 { Vec::new() } else { vec![format!("T{}", n - 1)] };
    let tasks = (0..300).map(|n| spec(&format!("T{n}"), 0, &needs(n))).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    journal.command(&run_id(), &blocked("T0"), at(1)).unwrap();
    assert_eq!(journal.load(&run_id()).unwrap().counts().of(Status::Unreachable), 299);
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    journal.command(&run_id(), &Command::Unblock { task: id("T0"), by: "me".into() }, at(2)).unwrap();
    assert_eq!(journal.load(&run_id()).unwrap().counts().of(Status::Unreachable), 0);
}

// ------------------------------------------------------------------------------------------ snapshots

#[test]
fn a_spoiled_snapshot_is_proven_wrong_and_made_anew() {
    let damages = [
        "DELETE FROM tasks WHERE id = 'c'",
        "UPDATE tasks SET decided = 6 WHERE id = 'c'",
        "UPDATE tasks SET decided = 99 WHERE id = 'c'",
        "UPDATE tasks SET rest = '{' WHERE id = 'c'",
        "DELETE FROM cells",
        "UPDATE cells SET counts = '[]'",
        "UPDATE runs SET layout = 0",
        "UPDATE runs SET seq = 3",
        "UPDATE runs SET moving = ''",
        "DELETE FROM plans",
    ];
    for damage in damages {
        let (folder, mut journal) = with_small();
        journal.command(&run_id(), &start("a"), at(1)).unwrap();
        let truth = journal.load(&run_id()).unwrap();
        folder.sql(damage);
        let told = journal.prove(&run_id());
        assert!(!told.as_ref().is_ok_and(Vec::is_empty), "{damage}");
        // A reader cannot mend it, and is not misled by it.
        let mut reader = Journal::open_existing(&folder.path).unwrap().unwrap();
        assert!(reader.load(&run_id()).unwrap().agrees_with(&truth), "{damage}");
        drop(reader);
        assert!(journal.load(&run_id()).unwrap().agrees_with(&truth), "{damage}");
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{damage}");
    }
}

#[test]
fn links_are_proven_too() {
    for damage in ["DELETE FROM needs WHERE task = 'b'", "UPDATE needs SET need = 'c' WHERE task = 'b'"] {
        let (folder, mut journal) = with_small();
        folder.sql(damage);
        assert_eq!(journal.prove(&run_id()).unwrap().len(), 1, "{damage}");
        journal.rebuild(&run_id()).unwrap();
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    }
}

#[test]
fn a_command_that_meets_a_spoiled_snapshot_mends_it() {
    for damage in ["DELETE FROM tasks WHERE id = 'a'", "UPDATE runs SET layout = 0", "DELETE FROM cells"] {
        let (folder, mut journal) = with_small();
        folder.sql(damage);
        journal.command(&run_id(), &start("a"), at(1)).unwrap();
        assert_eq!(status(&journal, "a"), Status::InProgress);
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{damage}");
    }
}

// -------------------------------------------------------------------------------------- many at a time

#[test]
fn many_writers_lose_nothing() {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let folder = Folder::new();
    let tasks = (0..WRITERS * EACH).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    folder.open().command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    let together = Arc::new(Barrier::new(WRITERS));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (path, together) = (folder.path.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                let mut journal = Journal::open(&path).unwrap();
                together.wait();
                for n in 0..EACH {
                    journal.command(&run_id(), &done(&format!("T{}", n * WRITERS + writer)), at(1)).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut journal = folder.open();
    let state = journal.load(&run_id()).unwrap();
    assert_eq!(state.counts().of(Status::Completed) as usize, WRITERS * EACH);
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
}

#[test]
fn one_task_is_claimed_by_one() {
    let (folder, _journal) = with_small();
    let together = Arc::new(Barrier::new(4));
    let claims: Vec<_> = (0..4)
        .map(|n| {
            let (path, together) = (folder.path.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                let mut journal = Journal::open(&path).unwrap();
                together.wait();
                let claim = Command::Start { task: id("a"), holder: Holder::Ledger(format!("w{n}")) };
                journal.command(&run_id(), &claim, at(1)).is_ok()
            })
        })
        .collect();
    assert_eq!(claims.into_iter().filter_map(|claim| claim.join().ok()).filter(|won| *won).count(), 1);
}

#[test]
fn two_may_create_the_database_at_once() {
    let folder = Folder::new();
    let together = Arc::new(Barrier::new(4));
    let makers: Vec<_> = (0..4)
        .map(|_| {
            let (path, together) = (folder.path.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                together.wait();
                Journal::open(&path).unwrap().command(&run_id(), &create(small()), at(0)).is_ok()
            })
        })
        .collect();
    assert_eq!(makers.into_iter().filter_map(|maker| maker.join().ok()).filter(|made| *made).count(), 1);
}

#[test]
fn an_engine_hears_what_others_append() {
    let (folder, mut engine) = with_small();
    let run = run_id();
    let mut state = engine.load(&run).unwrap();
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());
    let mut other = folder.open();
    other.command(&run, &done("a"), at(1)).unwrap();
    let heard = engine.catch_up(&run, &mut state).unwrap();
    assert!(matches!(heard.last().map(|r| &r.event), Some(Event::Completed { .. })));
    assert_eq!(state.task(&id("b")).unwrap().unwrap().waiting, 0);
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());

    // A group is decided on what others did in the meantime.
    other.command(&run, &start("b"), at(2)).unwrap();
    let group = [start("c"), Command::Start { task: id("b"), holder: Holder::Ledger("x".into()) }, done("c")];
    let committed = engine.commit(&run, &mut state, &group, at(3)).unwrap();
    assert_eq!(committed.foreign.len(), 1);
    let outcomes: Vec<bool> = committed.outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(outcomes, [true, false, true]);
    assert!(engine.catch_up(&run, &mut state).unwrap().is_empty());
    // One's own one-shot command is news to one's state as well.
    engine.command(&run, &Command::Reset { task: id("b"), by: "me".into() }, at(4)).unwrap();
    assert_eq!(engine.catch_up(&run, &mut state).unwrap().len(), 1);
    assert!(other.load(&run).unwrap().agrees_with(&state));
    assert_eq!(other.prove(&run).unwrap(), [""; 0]);
}

// ------------------------------------------------------------------------------------------- bad luck

#[test]
fn a_newer_database_is_left_as_it_is() {
    let (folder, journal) = with_small();
    journal.close().unwrap();
    folder.sql("PRAGMA user_version = 99");
    let before = folder.bytes();
    for error in [Journal::open(&folder.path).unwrap_err(), Journal::open_existing(&folder.path).unwrap_err()]
    {
        assert!(matches!(error.trouble, Trouble::Newer { found: 99, .. }), "{error}");
    }
    assert!(matches!(Journal::recover(&folder.path).unwrap_err().trouble, Trouble::Newer { .. }));
    assert_eq!(folder.bytes(), before);
}

#[test]
fn a_newer_version_still_in_the_log_is_seen() {
    let (folder, _journal) = with_small();
    let newer = Connection::open(folder.db()).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    let before = folder.bytes();
    let error = Journal::open(&folder.path).unwrap_err();
    assert!(matches!(error.trouble, Trouble::Newer { found: 99, .. }), "{error}");
    assert_eq!(folder.bytes(), before);
}

#[test]
fn what_is_not_ours_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.path).unwrap();
    folder.sql("CREATE TABLE somebodys (x)");
    let before = folder.bytes();
    assert!(matches!(Journal::open(&folder.path).unwrap_err().trouble, Trouble::Foreign));
    assert!(matches!(Journal::open_existing(&folder.path).unwrap_err().trouble, Trouble::Foreign));
    assert_eq!(folder.bytes(), before);
    std::fs::write(folder.db(), "this is a letter, not a database".repeat(9)).unwrap();
    assert!(matches!(Journal::open(&folder.path).unwrap_err().trouble, Trouble::Damaged { .. }));
}

#[test]
fn readers_change_no_byte_and_create_nothing() {
    let folder = Folder::new();
    assert!(Journal::open_existing(&folder.path).unwrap().is_none());
    assert!(!folder.path.exists());
    let mut journal = folder.open();
    journal.command(&run_id(), &create(small()), at(0)).unwrap();
    for closed in [false, true] {
        if closed {
            folder.open().close().unwrap();
        }
        let before = folder.bytes();
        let mut reader = Journal::open_existing(&folder.path).unwrap().unwrap();
        assert_eq!(reader.runs().unwrap().len(), 1);
        assert_eq!(reader.load(&run_id()).unwrap().tasks().count(), 4);
        assert_eq!(reader.prove(&run_id()).unwrap(), [""; 0]);
        assert_eq!(reader.ready(&run_id(), at(1), 1).unwrap().len(), 1);
        let refused = reader.command(&run_id(), &start("a"), at(1)).unwrap_err();
        assert!(
            matches!(&refused, CommandError::Journal(error) if matches!(error.trouble, Trouble::ReadOnly)),
            "{refused}"
        );
        drop(reader);
        assert_eq!(folder.bytes(), before);
        if !closed {
            journal = folder.open();
        }
    }
    drop(journal);
}

#[test]
fn an_unknown_event_stops_the_reader() {
    let (folder, mut journal) = with_small();
    journal.command(&run_id(), &start("a"), at(1)).unwrap();
    folder.sql("UPDATE events SET body = '{\"event\":\"teleported\",\"task\":\"a\"}' WHERE body LIKE '%attempt_started%'");
    let error = journal.events(&run_id(), 0, None, 99).unwrap_err();
    assert!(matches!(&error.trouble, Trouble::UnknownEvent { seq: 6, .. }), "{error}");
    let error = journal.prove(&run_id()).unwrap_err();
    assert!(matches!(&error.trouble, Trouble::UnknownEvent { seq: 6, .. }), "{error}");
    assert!(journal.rebuild(&run_id()).is_err());
}

/// A run long enough to fill many pages, closed, so that all of it is in the file.
fn long_run() -> (Folder, u64) {
    let folder = Folder::new();
    let mut journal = folder.open();
    let tasks = (0..400).map(|n| spec(&format!("T{n}"), 0, &[])).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    for n in 0..100 {
        journal.command(&run_id(), &done(&format!("T{n}")), at(1)).unwrap();
    }
    let last = journal.load(&run_id()).unwrap().seq();
    journal.close().unwrap();
    (folder, last)
}

/// Overwrite the page on which an event lies.
fn ruin(folder: &Folder, needle: &str) {
    let mut bytes = std::fs::read(folder.db()).unwrap();
    let found = bytes.windows(needle.len()).rposition(|window| window == needle.as_bytes()).unwrap();
    let page = found / 4096 * 4096;
    bytes[page..page + 4096].fill(0xa5);
    std::fs::write(folder.db(), bytes).unwrap();
}

#[test]
fn a_damaged_database_is_kept_and_its_readable_part_saved() {
    let (folder, last) = long_run();
    ruin(&folder, r#""event":"completed","task":"T50""#);
    let ruined = std::fs::read(folder.db()).unwrap();

    let told = match Journal::open(&folder.path) {
        Ok(journal) => journal.prove(&run_id()).map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(told.trouble, Trouble::Damaged { .. }), "{told}");

    let open = folder.open();
    assert!(matches!(Journal::recover(&folder.path).unwrap_err().trouble, Trouble::Occupied));
    drop(open);
    let recovery = Journal::recover(&folder.path).unwrap();
    let kept = recovery.kept.clone().unwrap();
    assert_eq!(kept.file_name(), Some("piton.db.damaged-1"));
    assert_eq!(std::fs::read(&kept).unwrap(), ruined);
    assert!(!recovery.found.is_empty());
    let salvaged = &recovery.runs[0];
    assert!(salvaged.lost.as_ref().is_some_and(|why| why.contains("cannot be read")), "{salvaged}");
    assert!(salvaged.events > 401 && salvaged.events < last, "{salvaged}");
    assert!(!salvaged.plan_incomplete);

    let mut journal = folder.open();
    let state = journal.load(&run_id()).unwrap();
    assert_eq!((state.seq(), state.tasks().count()), (salvaged.events, 400));
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    assert_eq!(journal.integrity().unwrap(), [""; 0]);
    journal.command(&run_id(), &done("T399"), at(9)).unwrap();
    drop(journal);
    assert!(Journal::recover(&folder.path).unwrap().kept.is_none(), "there is nothing to recover any more");
}

#[test]
fn a_lost_piece_of_the_plan_is_told() {
    let (folder, _) = long_run();
    ruin(&folder, r#""event":"task_added","spec":{"id":"T200""#);
    let recovery = Journal::recover(&folder.path).unwrap();
    assert!(recovery.runs[0].plan_incomplete, "{:?}", recovery.runs);
    assert!(recovery.runs[0].to_string().contains("adopt the plan again"));
}

#[test]
fn a_gap_ends_what_can_be_saved() {
    let (folder, mut journal) = with_small();
    journal.command(&run_id(), &start("a"), at(1)).unwrap();
    journal.command(&run_id(), &start("c"), at(1)).unwrap();
    drop(journal);
    folder.sql("DELETE FROM events WHERE body LIKE '%attempt_started%\"a\"%'");
    let recovery = Journal::recover(&folder.path).unwrap();
    assert_eq!(recovery.runs[0].events, 5);
    assert_eq!(recovery.runs[0].lost.as_deref(), Some("event 6 is missing"));
    let journal = folder.open();
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    assert_eq!(status(&journal, "c"), Status::Pending);
}

#[test]
fn a_file_without_a_head_is_kept_aside() {
    let (folder, journal) = with_small();
    journal.close().unwrap();
    let mut bytes = std::fs::read(folder.db()).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(folder.db(), &bytes).unwrap();
    assert!(matches!(Journal::open(&folder.path).unwrap_err().trouble, Trouble::Damaged { .. }));
    let recovery = Journal::recover(&folder.path).unwrap();
    assert_eq!(std::fs::read(recovery.kept.unwrap()).unwrap(), bytes);
    assert!(folder.open().runs().unwrap().is_empty());
}

#[test]
fn an_interrupted_recovery_is_finished_by_whoever_comes() {
    let (folder, journal) = with_small();
    journal.close().unwrap();
    // As if the process had died after the new database was complete and before it was in place.
    std::fs::copy(folder.db(), folder.path.join("piton.db.recovered")).unwrap();
    std::fs::write(folder.db(), "damaged").unwrap();
    let journal = folder.open();
    assert_eq!(journal.runs().unwrap().len(), 1);
    assert_eq!(std::fs::read(folder.path.join("piton.db.damaged-1")).unwrap(), b"damaged");
    assert!(!folder.path.join("piton.db.recovered").exists());
}

// -------------------------------------------------------------------------------------------- crashes

/// Run as a child by the tests below: writes until its crash point stops it.
#[test]
fn crash_child() {
    let Some(path) = std::env::var_os("PITON_TEST_FOLDER") else { return };
    let path = Utf8PathBuf::from(path.into_string().unwrap());
    let mut journal = Journal::open(&path).unwrap();
    let _ = journal.command(&run_id(), &blocked("a"), at(1));
    unreachable!("the crash point was passed");
}

fn crash_at(folder: &Utf8Path, point: &str) {
    let status = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash_child"])
        .env("PITON_TEST_FOLDER", folder.as_str())
        .env("PITON_CRASH", point)
        .output()
        .unwrap()
        .status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(6), "it should have aborted");
}

#[test]
fn a_crash_leaves_all_or_nothing() {
    for (point, expected) in [("journal.before-commit", 5), ("journal.after-commit", 8)] {
        let (folder, journal) = with_small();
        drop(journal);
        crash_at(&folder.path, point);
        let mut journal = folder.open();
        assert_eq!(journal.load(&run_id()).unwrap().seq(), expected, "{point}");
        assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0], "{point}");
        journal.command(&run_id(), &done("c"), at(2)).unwrap();
    }
}

// ----------------------------------------------------------------------------------------------- size

#[test]
fn a_command_touches_no_more_in_a_plan_of_100_000_tasks() {
    const SIZE: usize = 100_000;
    let folder = Folder::new();
    let mut journal = folder.open();
    let needs = |n: usize| if n < 1000 { Vec::new() } else { vec![format!("T{}", n - 1000)] };
    let tasks = (0..SIZE).map(|n| spec(&format!("T{n}"), 0, &needs(n))).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    drop(journal);
    let mut journal = folder.open();
    let before = std::fs::metadata(folder.path.join("piton.db-wal")).map_or(0, |facts| facts.len());
    assert!(before < 16 << 20, "the log of the plan was moved over");
    journal.command(&run_id(), &start("T500"), at(1)).unwrap();
    assert_eq!(journal.tasks_loaded(), 1);
    journal.command(&run_id(), &done("T500"), at(2)).unwrap();
    assert_eq!(journal.tasks_loaded(), 2, "the task and the one that waits for it");
    journal.command(&run_id(), &start("T1501"), at(3)).unwrap_err();
    assert_eq!(journal.tasks_loaded(), 2, "the task and the one it waits for");
    let written = std::fs::metadata(folder.path.join("piton.db-wal")).unwrap().len();
    assert!(written < 40 * 4096, "{written} bytes for two changes");
    let ready = journal.ready(&run_id(), at(4), 3).unwrap();
    assert_eq!(ready.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(), ["T0", "T1", "T2"]);
    assert_eq!(journal.runs().unwrap()[0].counts.total() as usize, SIZE);
}
