//! One truth, whichever way it is written: parts, groups and the fold come to the same.

use std::collections::BTreeMap;

use piton_core::plan::{Budget, Digest, Fences, GroupId, Oid, Plan, Schedule, TaskId};
use piton_core::run::{
    Action, AgentEnd, ByModel, CheckResult, Claim, Class, Closing, Command, Evidence, Holder, Intent, Note,
    Recorded, Refusal, Report, Selection, Session, State, Status, Stop, StopReason, Task, Tests, Usage,
    Verdict, Waived, Work, decide, startable,
};
use piton_core::time::{Span, Timestamp};
use piton_engine::journal::CommandError;

use crate::bench::{Engine, at, blocked, check, create, id, oid, on_each_engine, plan, report, run_id, spec};

on_each_engine! {
    parts_groups_and_the_fold_come_to_the_same,
    a_long_chain_falls_as_one,
}

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
        ran: None,
    };
    judges.iter().map(result).collect()
}

fn all_judges(state: &State) -> Vec<Digest> {
    let mut judges: Vec<Digest> = state.tasks().flat_map(|task| task.judges.clone()).collect();
    judges.sort();
    judges.dedup();
    judges
}

fn random_files(dice: &mut Dice) -> Vec<String> {
    (0..dice.below(3)).map(|_| format!("src/{}.rs", dice.below(4))).collect()
}

fn random_report(dice: &mut Dice) -> Report {
    let text =
        |dice: &mut Dice| if dice.one_in(3) { " ".to_owned() } else { format!("text {}", dice.below(9)) };
    let tests = Tests { passed: dice.below(9) as u64, ..Tests::default() };
    Report {
        note: text(dice),
        decisions: vec![text(dice)],
        patterns: (0..dice.below(2)).map(|_| text(dice)).collect(),
        exports: (0..dice.below(3)).map(|_| text(dice)).collect(),
        files: random_files(dice),
        tests: dice.one_in(2).then_some(tests),
        ..Report::default()
    }
}

/// Work, or none, or commits that may count for another task.
fn random_evidence(dice: &mut Dice) -> Evidence {
    let commit = |dice: &mut Dice| match dice.below(3) {
        // What the engine lands.
        0 => oid(9000 + dice.below(60) as u64),
        _ => oid(4000 + dice.below(12) as u64),
    };
    let commits: Vec<Oid> = (0..1 + dice.below(2)).map(|_| commit(dice)).collect();
    match dice.below(7) {
        0 => Evidence::file("work"),
        1 => Evidence::default(),
        2 => Evidence::named(commits),
        3 | 4 => Evidence { commits, uncommitted: vec!["x".to_owned()], ..Evidence::default() },
        _ => Evidence { commits, ..Evidence::default() },
    }
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
        return match dice.below(5) {
            4 => Command::Close { by, reason: String::new() },
            0 => Command::Attach {
                engine: "e".into(),
                session: Session {
                    schedule,
                    max_parallel: 3,
                    landing_parallel: 1,
                    landing_by_load: false,
                    selection,
                    agent: None,
                    budget: Budget::default(),
                    fences: Fences::default(),
                    verbose: false,
                    quiet: false,
                },
            },
            1 => Command::Detach { engine: "e".into(), reason: StopReason::Person, tip: Vec::new() },
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
        return match dice.below(13) {
            11 => Command::Note { by, note: Note::Told { task: id, report: Box::new(random_report(dice)) } },
            12 => {
                let text = ["one", "two", "three"][dice.below(3)].to_owned();
                let task = Some(id).filter(|_| dice.one_in(2));
                let note = match dice.below(3) {
                    0 => Note::Guardrail { text },
                    1 => Note::GuardrailRemoved { text },
                    _ => Note::Entry { task, text, for_next: false },
                };
                Command::Note { by, note }
            }
            0 => Command::Retry { task: id, by },
            1 => Command::Reset { task: id, by },
            2 => Command::Skip { task: id, by, reason: text() },
            3 => Command::Unblock { task: id, by, note: String::new() },
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
            9 => {
                let usage = Usage { input: Some(fence), output: Some(1), ..Usage::default() };
                let used = (!dice.one_in(3)).then(|| ByModel::from([("m".to_owned(), usage)]));
                let (took, of) = if dice.one_in(2) { (Span(fence), "check") } else { (Span(0), "agent0") };
                let (agent, job) = ("default".into(), format!("{}.{of}", dice.below(3)));
                let estimate = ByModel::default();
                Command::Note { by, note: Note::Spent { task: id, fence, agent, used, estimate, took, job } }
            }
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
                3 => AgentEnd::Limit { reason: text(), until: now.plus(Span(2)), model: Some(text()) },
                _ => AgentEnd::Done,
            };
            Command::AgentEnded {
                task: id,
                fence,
                pass: task.progress.confirmations,
                end,
                took: Span(9),
                report: dice.one_in(2).then(|| Box::new(random_report(dice))),
                closing: Closing::default(),
            }
        }
        Status::InProgress | Status::Confirming if task.is_engines() => {
            let work = Work {
                commit: Some(oid(500 + fence)),
                tree: oid(600 + fence),
                changed: !dice.one_in(5),
                found_work: dice.one_in(2),
                touches_judges: dice.one_in(2),
                markers: Vec::new(),
                commits: Vec::new(),
                created: random_files(dice),
                modified: random_files(dice),
            };
            Command::Captured { task: id, fence, pass: task.progress.confirmations, work }
        }
        Status::InProgress => {
            let results = results(dice, &task.judges);
            let evidence = random_evidence(dice);
            report(id.as_str(), Claim::Done { tree: Some(oid(3)), results, evidence })
        }
        Status::Verifying if !task.is_candidate() => {
            let results = results(dice, &task.judges);
            Command::ChecksEnded { task: id, fence, tree: oid(600 + fence), results }
        }
        Status::Verifying | Status::Verified if dice.one_in(4) => Command::LandingFailed {
            task: id,
            fence,
            tip: oid(8),
            reason: text(),
            feedback: text(),
            pointers: Box::default(),
        },
        Status::Verifying | Status::Verified => {
            let results = results(dice, &all_judges(state));
            let intent = Intent { old: oid(1), candidate: oid(9000 + fence), on: Vec::new() };
            Command::PrepareLanding {
                task: id,
                fence,
                tree: oid(700 + fence),
                intent,
                before: Vec::new(),
                results,
                waived: Waived::default(),
            }
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

fn parts_groups_and_the_fold_come_to_the_same(engine: Engine) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let everywhere = matches!(engine, Engine::Sqlite);
    // On a server each question is a way there and back: two walks are enough for how it differs.
    let seeds: u64 = if everywhere { 6 } else { 2 };
    for seed in 1..=seeds {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (one, many) = (engine.place(), engine.place());
        let (mut parts, mut groups) = (one.open(), many.open());
        let run = run_id();
        let plan = random_plan(&mut dice, 24);
        let (mut model, mut state) = (State::new(), State::new());
        let mut group: Vec<Command> = vec![create(plan.clone())];
        let mut expected = vec![fold(&mut model, &group[0], at(0))];
        let mut before: Vec<(State, Timestamp)> = Vec::new();
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
            if step % 26 == 0 {
                assert_eq!(parts.prove(&run).unwrap(), [""; 0], "seed {seed}, step {step}");
                let ready = parts.ready(&run, now, 5).unwrap();
                let told: Vec<Task> = startable(&model, model.run().unwrap(), now).take(5).cloned().collect();
                assert_eq!(ready, told, "seed {seed}, step {step}");
                crate::views::agree(&parts, &run, &model, now);
                for status in Status::ALL {
                    let told: Vec<&TaskId> =
                        model.tasks().filter(|t| !t.removed && t.status() == status).map(|t| &t.id).collect();
                    let kept = parts.tasks_in(&run, status, usize::MAX).unwrap();
                    let mut kept: Vec<&TaskId> = kept.iter().map(|task| &task.id).collect();
                    kept.sort();
                    assert_eq!(kept, told, "{status:?}");
                }
            }
            if step % 65 == 0 {
                before.push((model.clone(), now));
            }
        }
        let committed = groups.commit(&run, &mut state, &group, at(259 / 4)).unwrap();
        assert_eq!(committed.outcomes, expected);
        assert!(state.agrees_with(&model));
        for journal in [&mut parts, &mut groups] {
            assert_eq!(journal.prove(&run).unwrap(), [""; 0]);
            assert!(journal.load(&run).unwrap().agrees_with(&model), "seed {seed}");
        }
        for (model, now) in &before {
            let past = parts.as_of(&run, model.seq()).unwrap().expect("an event that there is");
            assert_eq!(past.prove(&run).unwrap(), [""; 0], "seed {seed}, event {}", model.seq());
            crate::views::agree(&past, &run, model, *now);
            assert_eq!(past.moment(), parts.event(&run, model.seq()).unwrap().map(|last| last.at));
        }
        assert!(parts.as_of(&run, 0).unwrap().is_none());
        assert!(parts.moment().is_none());
    }
    if !everywhere {
        return;
    }
    // The walks went everywhere that matters.
    for event in [
        "Failed",
        "Completed",
        "LandingPrepared",
        "PlanAdopted",
        "Reset",
        "Skipped",
        "EngineStarted",
        "Noted",
        "RunClosed",
        "ClaimWaits",
    ] {
        assert!(seen.contains_key(event), "no {event} in {seen:?}");
    }
}

fn a_long_chain_falls_as_one(engine: Engine) {
    let place = engine.place();
    let mut journal = place.open();
    let needs = |n: usize| if n == 0 { Vec::new() } else { vec![format!("T{}", n - 1)] };
    let tasks = (0..300).map(|n| spec(&format!("T{n}"), 0, &needs(n))).collect();
    journal.command(&run_id(), &create(plan(1, tasks)), at(0)).unwrap();
    journal.command(&run_id(), &blocked("T0"), at(1)).unwrap();
    assert_eq!(journal.load(&run_id()).unwrap().counts().of(Status::Unreachable), 299);
    assert_eq!(journal.prove(&run_id()).unwrap(), [""; 0]);
    journal
        .command(&run_id(), &Command::Unblock { task: id("T0"), by: "me".into(), note: String::new() }, at(2))
        .unwrap();
    assert_eq!(journal.load(&run_id()).unwrap().counts().of(Status::Unreachable), 0);
}
