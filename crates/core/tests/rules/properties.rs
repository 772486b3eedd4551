//! Whatever is asked of a run, in whatever order: decisions are total, repeatable, foldable and readable
//! again, and a part of the state decides as the whole does.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use piton_core::plan::{Budget, Fences, Plan, Schedule, TaskId, TaskSpec};
use piton_core::run::{
    Action, AgentEnd, Claim, Class, Closing, Command, Counts, Event, Holder, Links, Missing, Proof, Recorded,
    Report, Selection, Session, State, Stop, StopReason, Verdict, Waived, Work, decide, next, wake_at,
};
use piton_core::time::{Span, Timestamp};
use proptest::prelude::*;

use crate::bench::{Bench, evidence, id, oid, plan, spec, work};
use crate::timeline::{bars_agree_with_the_state, spans_are_nested};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn plans() -> impl Strategy<Value = Plan> {
    let task = (any::<[bool; 3]>(), 0_u32..3, 1_u32..3, any::<[bool; 3]>());
    (prop::collection::vec(task, 1..=4), 0..3_usize, any::<[bool; 2]>()).prop_map(
        |(rows, schedule, flags)| {
            let tasks =
                rows.iter().enumerate().map(|(at, (needs, group, attempts, [confirm, idle, checked]))| {
                    let needs: Vec<&str> = (0..at).filter(|&n| needs[n]).map(|n| NAMES[n]).collect();
                    let mut task = TaskSpec { group: *group, attempts: *attempts, ..spec(NAMES[at], &needs) };
                    (task.confirm, task.may_change_nothing) = (*confirm, *idle);
                    if !checked {
                        task.checks.clear();
                    }
                    task
                });
            let mut plan = plan(tasks.collect());
            plan.settings.schedule = [Schedule::Layered, Schedule::Batch, Schedule::Flow][schedule];
            plan.settings.no_commits = flags[0] && flags[1];
            plan
        },
    )
}

/// Dice for one command: which, about whom, how near the truth, and what comes with it.
type Dice = (u8, usize, u8, u8);

fn command(bench: &Bench, plan: &Plan, (kind, who, off, with): Dice) -> Command {
    let name = NAMES[who % NAMES.len()];
    let known = bench.state.task(&id(name)).ok().flatten();
    let task = id(name);
    // Mostly the current attempt, now and then another.
    let fence = known.map_or(0, |t| t.fence) + u64::from(off % 8 == 0);
    let pass = known.map_or(0, |t| t.progress.confirmations) + u32::from(off % 16 == 1);
    let tree = known.and_then(|t| t.progress.tree.clone()).filter(|_| off % 8 != 2).unwrap_or(oid(5));
    let candidate = known.and_then(|t| Some(t.progress.intent.as_ref()?.candidate.clone())).unwrap_or(oid(6));
    let by = ["ann", "bob"][usize::from(off % 2)].to_owned();
    let text = "so it is".to_owned();
    let verdicts = [
        Verdict::Pass,
        Verdict::Pass,
        Verdict::Fail { exit: 1 },
        Verdict::Broken { reason: text.clone() },
        Verdict::Impossible { reason: text.clone() },
    ];
    let verdict = verdicts[usize::from(with) % 5].clone();
    let mut results: Vec<_> = NAMES.iter().map(|name| evidence(name, verdict.clone())).collect();
    results.truncate(usize::from(with / 5) % 6);
    let report = Box::new(Report { note: text.clone(), ..Report::default() });
    let until = Timestamp(bench.now.0 + i64::from(with) * 60_000);
    let groups = &plan.groups;
    match kind % 30 {
        0 | 1 => Command::Start { task, holder: Holder::Engine },
        2 => Command::Start { task, holder: Holder::Ledger(by) },
        3 | 4 => Command::Prepared { task, fence, base: oid(4), landed: u32::from(with % 3) },
        5..=7 => {
            let (reason, feedback) = (text.clone(), text);
            let end = match with % 10 {
                0..5 => AgentEnd::Done,
                5 => AgentEnd::Failed { reason, feedback },
                6 => AgentEnd::Blocked { reason },
                7 => AgentEnd::Transient { reason },
                8 => AgentEnd::Limit { reason, until, model: None },
                _ => AgentEnd::Stopped,
            };
            let report = (with % 2 == 0).then_some(report);
            Command::AgentEnded {
                task,
                fence,
                pass,
                end,
                took: Span::seconds(1),
                report,
                closing: Closing::default(),
            }
        }
        8..=10 => {
            let markers = if with % 9 == 0 { vec!["file".to_owned()] } else { Vec::new() };
            let (changed, found_work) = (with % 5 != 0, with % 3 == 0);
            Command::Captured { task, fence, pass, work: Work { changed, found_work, markers, ..work(5) } }
        }
        11 | 12 => Command::ChecksEnded { task, fence, tree, results },
        13 => {
            let offered = next(&bench.state, bench.now);
            let action = offered.into_iter().find(|a| a.task() == Some(&task) && a.fence().is_some());
            let action = action.unwrap_or(Action::Check { task, fence });
            let class = [Class::Code, Class::Conflict, Class::Transient, Class::Limit, Class::Defect];
            let class = class[usize::from(with) % 5];
            Command::TryFailed { action, class, reason: text.clone(), feedback: text }
        }
        14 | 15 => {
            let intent = piton_core::run::Intent { old: oid(4), candidate: oid(6), on: Vec::new() };
            let before = Vec::new();
            Command::PrepareLanding { task, fence, tree, intent, before, results, waived: Waived::default() }
        }
        16 => Command::LandingFailed {
            task,
            fence,
            tip: oid(4),
            reason: text.clone(),
            feedback: text,
            pointers: Box::default(),
        },
        17 => Command::LandingWaits { task, fence, reason: text },
        18 => Command::LandingReturned { task, fence, candidate, reason: text },
        19 => Command::Landed { task, fence, commit: candidate },
        20 if with % 2 == 0 => Command::NothingToLand { task, fence, tree: oid(2), results: Vec::new() },
        20 => Command::Rescued { task, reference: text, commit: oid(8) },
        21 if with % 2 == 0 => Command::CleanedUp { task, fence },
        21 => Command::CleanupRefused { task, fence, reason: text },
        22 => {
            let claim = match with % 4 {
                0 => Claim::Failed { reason: text },
                1 => Claim::Blocked { reason: text },
                _ => Claim::Done {
                    tree: Some(tree),
                    results,
                    evidence: piton_core::run::Evidence::file("work"),
                },
            };
            Command::Report { task, by, fence: (off % 4 == 0).then_some(fence), claim, report }
        }
        23 => Command::Retry { task, by },
        24 if with % 2 == 0 => Command::Reset { task, by },
        24 => Command::Skip { task, by, reason: text },
        25 if with % 3 == 0 => {
            let follow_up = (off % 5 == 0).then(|| task.clone());
            Command::SendComments { task, by, comments: vec![u64::from(with)], follow_up }
        }
        25 if with % 2 == 0 => Command::Unblock { task, by, note: text },
        25 => Command::Answer { task, by, text },
        26 => Command::Raise { task, by, attempts: u32::from(with % 6) },
        27 => match known.and_then(|t| t.proof.clone()) {
            Some(Proof::Landed { commit, .. }) => Command::LandingLost { task, commit, reason: text },
            _ => Command::LandingFound { task, commit: oid(9), reason: text },
        },
        28 => {
            let group = groups[usize::from(with) % groups.len()].id.clone();
            let selection = match off % 6 {
                0 => Selection::Group(group),
                1 => Selection::From(group),
                2 => Selection::Task(task),
                _ => Selection::All,
            };
            let schedule = [Schedule::Layered, Schedule::Batch, Schedule::Flow][usize::from(with) % 3];
            let max_parallel = u32::from(off % 5);
            let session = Session {
                schedule,
                max_parallel,
                landing_parallel: 2,
                landing_by_load: false,
                selection,
                agent: None,
                budget: Budget::default(),
                fences: Fences::default(),
                verbose: false,
                quiet: false,
            };
            Command::Attach { engine: by, session }
        }
        _ => match with % 5 {
            3 => {
                let mut plan = plan.clone();
                let more = TaskSpec { id: id("more"), depends_on: vec![task], ..plan.tasks[0].clone() };
                plan.tasks.insert(who % (plan.tasks.len() + 1), more);
                Command::Extend(Box::new(plan))
            }
            0 => Command::RequestStop { by, now: off % 3 == 0 },
            1 => Command::Detach {
                engine: by,
                reason: StopReason::Environment { detail: text },
                tip: Vec::new(),
            },
            2 => Command::Create(Box::new(piton_core::run::NewRun {
                run: bench.state.run().expect("created").id.clone(),
                plan: plan.clone(),
                plan_path: text,
                target: None,
                base: None,
                worktree_dir: None,
            })),
            _ => {
                let mut plan = plan.clone();
                let gone = plan.tasks.remove(who % plan.tasks.len());
                plan.tasks.iter_mut().for_each(|spec| spec.depends_on.retain(|need| *need != gone.id));
                if off % 2 == 0 {
                    plan.tasks.push(TaskSpec { attempts: 1, depends_on: Vec::new(), ..gone });
                }
                Command::Replan(Box::new(plan))
            }
        },
    }
}

/// What is missing in a part, taken from the whole.
fn load(part: &mut State, whole: &State, missing: Missing) {
    match missing {
        Missing::Tasks(ids) => {
            for id in ids {
                let task = whole.task(&id).expect("complete").cloned();
                part.load_task(id, task);
            }
        }
        Missing::Links(id) => {
            let links = whole.links(&id).cloned().unwrap_or(Links::default());
            part.load_links(id, links);
        }
    }
}

/// Decide, and fold, in a part of the state that holds nothing but what was asked for.
fn in_part(whole: &State, command: &Command, now: Timestamp) -> (Result<Vec<Event>, Stop>, State) {
    let mut known: Vec<Missing> = Vec::new();
    'again: loop {
        assert!(known.len() < 100, "it never has enough: {command:?}");
        let mut part = State::partial(whole.run().cloned(), whole.seq(), whole.horizon());
        known.iter().for_each(|missing| load(&mut part, whole, missing.clone()));
        let decision = decide(&part, command, now);
        match &decision {
            Err(Stop::Missing(missing)) => {
                known.push(missing.clone());
                continue 'again;
            }
            Err(Stop::Refused(_)) => {}
            Ok(events) => {
                for event in events {
                    let recorded = Recorded { seq: part.seq() + 1, at: now, event: event.clone() };
                    if let Err(missing) = part.apply(&recorded) {
                        known.push(missing);
                        continue 'again;
                    }
                }
            }
        }
        return (decision, part);
    }
}

fn fold(journal: &[Recorded]) -> State {
    let mut state = State::new();
    journal.iter().for_each(|recorded| state.apply(recorded).expect("complete"));
    state
}

/// The schedule offers only what the rules allow, all of it as far as slots are free, and in order. It keeps
/// its sets as tasks move; this looks at every task.
fn schedule_agrees_with_rules(bench: &Bench) -> Result<(), TestCaseError> {
    let state = &bench.state;
    let run = state.run().expect("it was created");
    let offered: Vec<_> = next(state, bench.now)
        .into_iter()
        .filter_map(|action| if let Action::Start { task } = action { Some(task) } else { None })
        .collect();
    let start = |task| Command::Start { task, holder: Holder::Engine };
    for task in &offered {
        prop_assert!(bench.decide(&start(task.clone())).is_ok(), "{} is offered and refused", task);
    }
    let free = run.session.max_parallel.saturating_sub(run.places_taken()) as usize;
    prop_assert!(offered.len() <= free);
    if free == 0 {
        let allowed = state.tasks().find(|task| bench.decide(&start(task.id.clone())).is_ok());
        prop_assert!(allowed.is_none(), "{:?} would be one too many", allowed);
    }
    let paused = |id| state.task(id).expect("complete").is_some_and(|task| task.not_before.is_some());
    // Beside those that are offered: where a provider's limit may be over, one at a time looks.
    let mut all_begun = state.clone();
    for task in &offered {
        for event in decide(&all_begun, &start(task.clone()), bench.now).unwrap_or_default() {
            let recorded = Recorded { seq: all_begun.seq() + 1, at: bench.now, event };
            all_begun.apply(&recorded).expect("a complete state misses nothing");
        }
    }
    let selected = run.session.selection == Selection::All;
    for task in state.tasks().filter(|task| offered.len() < free && selected && task.not_before.is_none()) {
        let allowed = decide(&all_begun, &start(task.id.clone()), bench.now).is_ok();
        prop_assert!(!allowed, "{} is allowed and not offered", task.id);
    }
    let keys: Vec<_> = offered.iter().filter(|id| !paused(id)).map(|id| order(state, id)).collect();
    prop_assert!(keys.is_sorted(), "out of order: {:?}", offered);
    Ok(())
}

/// The counts are kept as tasks move; this counts every task.
fn counts_agree_with_a_count_of_all(state: &State) -> Result<(), TestCaseError> {
    let mut counted: BTreeMap<(u32, u32), Counts> = BTreeMap::new();
    for task in state.tasks().filter(|task| !task.removed) {
        counted.entry((task.group, task.level)).or_default().add(task.status(), 1);
    }
    let kept: BTreeMap<_, _> = state.cells().map(|(cell, counts)| (cell, *counts)).collect();
    prop_assert_eq!(kept, counted);
    Ok(())
}

fn order(state: &State, id: &TaskId) -> (u32, u32, u32, Reverse<u32>, TaskId) {
    let task = state.task(id).expect("complete").expect("offered");
    let (group, level) = match state.run().expect("it was created").session.schedule {
        Schedule::Layered => (task.group, 0),
        Schedule::Batch => (task.group, task.level),
        Schedule::Flow => (0, 0),
    };
    (group, level, task.priority, Reverse(task.tail), id.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_command_at_any_time(
        plan in plans(),
        dice in prop::collection::vec(any::<(u8, usize, u8, u8)>(), 1..80),
    ) {
        let mut bench = Bench::new(plan.clone());
        let session = Session { max_parallel: 2, ..crate::bench::session(plan.settings.schedule) };
        bench.accept(&Command::Attach { engine: "ann".to_owned(), session });
        for dice in dice {
            let command = command(&bench, &plan, dice);
            let decision = bench.decide(&command);
            prop_assert_eq!(&decision, &bench.decide(&command), "decided twice");
            let whole = bench.state.clone();
            if let Err(Stop::Refused(refusal)) = &decision {
                prop_assert!(!refusal.reason.is_empty());
            }
            bench.state.take_changes();
            if let Ok(events) = &decision {
                for event in events {
                    let json = serde_json::to_string(event).expect("events are JSON");
                    prop_assert_eq!(&serde_json::from_str::<Event>(&json).expect("and back"), event, "{}", json);
                }
                bench.record(events.clone());
            }
            if !command.surveys() {
                let (in_part, mut part) = in_part(&whole, &command, bench.now);
                prop_assert_eq!(&in_part, &decision, "a part decides otherwise: {:?}", command);
                let (mine, theirs) = (bench.state.take_changes(), part.take_changes());
                prop_assert_eq!(&mine.tasks, &theirs.tasks);
                for task in &mine.tasks {
                    prop_assert_eq!(bench.state.task(task), part.task(task));
                }
                let moved = |cells: &BTreeMap<_, i64>| {
                    cells.iter().filter(|(_, n)| **n != 0).map(|(cell, n)| (*cell, *n)).collect::<Vec<_>>()
                };
                prop_assert_eq!(moved(&mine.cells), moved(&theirs.cells));
                prop_assert_eq!(bench.state.run(), part.run());
            }
            schedule_agrees_with_rules(&bench)?;
            counts_agree_with_a_count_of_all(&bench.state)?;
            let wake = wake_at(&bench.state, bench.now);
            prop_assert!(wake.is_none_or(|wake| wake > bench.now));
            // Time goes on, and jumps.
            bench.now = Timestamp(bench.now.0 + i64::from(dice.3) * 7_000 - i64::from(dice.2) * 2_000);
        }
        prop_assert!(fold(&bench.journal).agrees_with(&bench.state));
        bars_agree_with_the_state(&bench.journal, &bench.state, bench.now)?;
        spans_are_nested(&bench.journal, bench.now)?;
    }
}

#[test]
fn an_unknown_event_stops_the_reader() {
    for json in [
        r#"{"event":"task_painted","task":"a"}"#,
        r#"{"event":"retried","task":"../a","by":"ann"}"#,
        r#"{"event":"retried","task":"a"}"#,
        r#"{"task":"a","by":"ann"}"#,
    ] {
        assert!(serde_json::from_str::<Event>(json).is_err(), "{json}");
    }
    let known = serde_json::from_str::<Event>(r#"{"event":"retried","task":"a","by":"ann"}"#);
    assert_eq!(known.expect("as written"), Event::Retried { task: id("a"), by: "ann".to_owned() });
}

#[test]
fn every_decision_needs_a_run() {
    let retry = Command::Retry { task: id("a"), by: "ann".to_owned() };
    assert!(matches!(decide(&State::new(), &retry, Timestamp(0)), Err(Stop::Refused(_))));
}
