//! Many processes write one run while an engine works on it. What each of them prints must be what the
//! rules say at the place in the journal where it took effect, or, if it changed nothing, at some place
//! between its start and its end.
//!
//! `PITON_CONTENTION=32x200` makes it long: processes at once, and commands of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use piton_core::plan::TaskId;
use piton_core::run::{
    Claim, Command, Event, Evidence, Holder, Recorded, Refusal, Report, State, Status, Stop, decide,
    startable,
};
use piton_core::time::Timestamp;
use piton_engine::journal::Journal;
use piton_testkit::Rng;
use piton_testkit::cases::told;
use piton_testkit::sandbox::{Output, Sandbox, task};
use serde_json::Value;

use crate::sandbox;

/// Tasks of the ledger, in chains of three.
const LEDGER: usize = 15;
/// Tasks that fail until the storm is over, so that the engine has something to do all the time.
const RESTLESS: [&str; 3] = ["E1", "E2", "E3"];
/// Tasks that land.
const STEADY: [&str; 3] = ["E4", "E5", "E6"];

/// One call of the binary: what was asked, what was answered, and the journal's length around it.
struct Call {
    asked: Asked,
    output: Output,
    before: u64,
    after: u64,
    took: Duration,
}

#[derive(Clone, Debug)]
enum Asked {
    Change(Command),
    /// A report is decided on the fence that was seen before.
    Report(Command),
    Next,
    Status,
}

#[test]
fn whoever_writes_at_once_is_answered_as_if_one_after_the_other() {
    let (processes, commands) = size();
    let sandbox = storm_plan();
    // The run exists before the processes start. Another test covers its creation.
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let journal = Journal::open_existing(&sandbox.own()).expect("a journal").expect("a run was made");
    let run = journal.runs().expect("readable")[0].id.clone();
    let mut engine = sandbox.piton("run plan.toml --layer 2-engine --max-parallel 2".split(' ')).spawn();
    engine.until_says("E1");
    let begun = Instant::now();
    let calls = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for number in 0..processes {
            let (sandbox, calls) = (&sandbox, &calls);
            scope.spawn(move || {
                let mut dice = Rng::new(number as u64);
                let journal = Journal::open_existing(&sandbox.own()).expect("a journal").expect("it exists");
                let length = || journal.runs().expect("readable")[0].seq;
                for _ in 0..commands {
                    let (line, asked) = ask(&mut dice);
                    let (before, since) = (length(), Instant::now());
                    let output = sandbox.run(&line);
                    let call = Call { asked, output, before, after: length(), took: since.elapsed() };
                    calls.lock().expect("nobody panics in here").push(call);
                }
            });
        }
    });
    let took = begun.elapsed();
    assert!(!engine.has_ended(), "the engine ended within the storm:\n{}", engine.said());
    sandbox.write(sandbox.root().join("over"), "");
    let calls = calls.into_inner().expect("nobody panics in here");
    let worst = calls.iter().map(|call| call.took).max().unwrap_or_default();
    told(&format!(
        "{} commands of {processes} processes in {took:.1?}; the longest took {worst:.1?}",
        calls.len()
    ));
    let ended = engine.wait();
    assert!(matches!(ended.code, Some(0 | 3 | 4)), "{ended}");
    let _ = sandbox.run("doctor").exits(0);
    let events = journal.events(&run, 0, None, usize::MAX).expect("readable");
    judge(calls, &events);
    finish(&sandbox);
}

fn size() -> (usize, usize) {
    let wish = std::env::var("PITON_CONTENTION").unwrap_or_else(|_| "32x12".to_owned());
    let (processes, commands) = wish.split_once('x').expect("PITON_CONTENTION=PROCESSESxCOMMANDS");
    (processes.parse().expect("a number"), commands.parse().expect("a number"))
}

fn storm_plan() -> Sandbox {
    let sandbox = sandbox();
    let mut tasks = "[[group]]\nid = \"1-ledger\"\n[[group]]\nid = \"2-engine\"\n".to_owned();
    for number in 0..LEDGER {
        let needs =
            if number % 3 == 0 { String::new() } else { format!("depends_on = [\"L{}\"]\n", number - 1) };
        let more = format!("group = \"1-ledger\"\nchecks = []\nattempts = 4\n{needs}");
        tasks += &task(&format!("L{number}"), &more);
    }
    let mut script = String::new();
    for id in RESTLESS {
        tasks += &task(id, "group = \"2-engine\"\nattempts = 100\n");
        script += &format!("[{id}]\nrun sh SIDE/restless.sh {id}\n");
    }
    for id in STEADY {
        tasks += &task(id, "group = \"2-engine\"\n");
        script += &format!("[{id}]\nwrite {id}.txt done\n");
    }
    sandbox.plan(&tasks);
    sandbox.script(&script);
    let restless = "test -e SIDE/over || { sleep 0.2; exit 1; }\necho done > $1.txt\n";
    sandbox.write(sandbox.root().join("restless.sh"), &restless.replace("SIDE", sandbox.root().as_str()));
    sandbox
}

/// Roll a command: its line, and what the rules are to be asked.
fn ask(dice: &mut Rng) -> (String, Asked) {
    let ledgers = format!("L{}", dice.below(LEDGER));
    let anybodys = match dice.below(10) {
        0 | 1 => RESTLESS[dice.below(3)].to_owned(),
        2 => STEADY[dice.below(3)].to_owned(),
        3 if dice.below(4) == 0 => "X1".to_owned(),
        _ => ledgers.clone(),
    };
    let (by, you) = (format!("w{}", dice.below(4)), || "you".to_owned());
    let (line, command) = match dice.below(20) {
        0..5 => {
            let command = Command::Start { task: id(&ledgers), holder: Holder::Ledger(by.clone()) };
            (format!("start {ledgers} --by {by} --json"), command)
        }
        5..11 => {
            let (words, claim) = match dice.below(40) {
                0 => (
                    "done",
                    Claim::Done { tree: None, results: Vec::new(), evidence: Evidence::file("work") },
                ),
                1..6 => ("blocked --reason no", Claim::Blocked { reason: "no".to_owned() }),
                _ => ("failed --reason no", Claim::Failed { reason: "no".to_owned() }),
            };
            let report = Box::new(Report::default());
            let command = Command::Report { task: id(&ledgers), by: by.clone(), fence: None, claim, report };
            return (format!("report {ledgers} {words} --by {by} --json"), Asked::Report(command));
        }
        11 => {
            // The `E` tasks keep the engine at work, so they are not skipped.
            let task = if anybodys.starts_with('E') { STEADY[dice.below(3)] } else { &anybodys };
            let command = Command::Skip { task: id(task), by: you(), reason: "no".to_owned() };
            (format!("skip {task} --reason no --json"), command)
        }
        12 | 13 => (format!("retry {anybodys} --json"), Command::Retry { task: id(&anybodys), by: you() }),
        14 | 15 => (format!("reset {anybodys} --json"), Command::Reset { task: id(&anybodys), by: you() }),
        16 => (
            format!("unblock {anybodys} --json"),
            Command::Unblock { task: id(&anybodys), by: you(), note: String::new() },
        ),
        17 => {
            let attempts = 1 + u32::try_from(dice.below(9)).expect("a small number");
            let command = Command::Raise { task: id(&ledgers), by: you(), attempts };
            (format!("raise {ledgers} --attempts {attempts} --json"), command)
        }
        18 => return ("next --count 100 --json".to_owned(), Asked::Next),
        _ => return ("status --json".to_owned(), Asked::Status),
    };
    (line, Asked::Change(command))
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("a valid id")
}

/// Hold every answer against the rules, and every event of the ledger's against the answers.
fn judge(mut calls: Vec<Call>, events: &[Recorded]) {
    calls.sort_by_key(|call| call.before);
    let mut model = Model { events, states: VecDeque::from([State::new()]), claimed: BTreeSet::new() };
    let (mut changed, mut refused, mut looked) = (0, 0, 0);
    for call in &calls {
        model.hold(call.before, call.after);
        match (&call.asked, call.output.code) {
            (Asked::Change(_) | Asked::Report(_), Some(0)) => {
                model.assert_changed(call);
                changed += 1;
            }
            (Asked::Change(_) | Asked::Report(_), Some(1)) => {
                model.assert_refused(call);
                refused += 1;
            }
            (Asked::Next | Asked::Status, Some(0)) => {
                model.assert_seen(call);
                looked += 1;
            }
            _ => panic!("{:?} ended so:\n{}", call.asked, call.output),
        }
    }
    for recorded in events {
        let claimed = model.claimed.contains(&recorded.seq);
        assert_eq!(
            claimed,
            is_ledgers(recorded, events),
            "nobody, or the wrong one, was told of {recorded:?}"
        );
    }
    told(&format!("{changed} changes, {refused} refusals, {looked} looks, {} events", events.len()));
    assert!(changed > 0 && refused > 0 && looked > 0, "a storm of everything");
}

/// What only one of the calls can have appended.
fn is_ledgers(recorded: &Recorded, events: &[Recorded]) -> bool {
    match &recorded.event {
        Event::Reported { .. }
        | Event::Retried { .. }
        | Event::Reset { .. }
        | Event::Skipped { .. }
        | Event::Unblocked { .. }
        | Event::Answered { .. }
        | Event::Raised { .. } => true,
        Event::AttemptStarted { holder, .. } => *holder != Holder::Engine,
        // What a report came to stands right behind it.
        Event::Failed { .. } | Event::Completed { .. } => {
            let last = events.iter().find(|other| other.seq + 1 == recorded.seq);
            last.is_some_and(|last| matches!(last.event, Event::Reported { .. }))
        }
        _ => false,
    }
}

struct Model<'a> {
    events: &'a [Recorded],
    /// The states after each event of a stretch of the journal.
    states: VecDeque<State>,
    /// Events that a command has printed.
    claimed: BTreeSet<u64>,
}

impl Model<'_> {
    /// Have the states from one place in the journal to another. The first must not go back.
    fn hold(&mut self, from: u64, to: u64) {
        while let Some(last) = self.states.back().filter(|state| state.seq() < to) {
            let mut next = last.clone();
            let recorded = &self.events[usize::try_from(last.seq()).expect("small")];
            next.apply(recorded).expect("the whole state misses nothing");
            next.take_changes();
            self.states.push_back(next);
        }
        while self.states.front().is_some_and(|state| state.seq() < from) {
            self.states.pop_front();
        }
    }

    fn within<'s>(&'s self, call: &Call) -> impl Iterator<Item = &'s State> + use<'s> {
        let last = call.after;
        self.states.iter().take_while(move |state| state.seq() <= last)
    }

    fn assert_changed(&mut self, call: &Call) {
        let told: Vec<Value> =
            call.output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let Some(first) = told.first() else {
            let silent = |command: Command, state: &State| matches!(decide(state, &command, Timestamp(0)), Ok(events) if events.is_empty());
            assert!(
                self.possible(call, silent),
                "{:?} changed nothing, though it should have:\n{}",
                call.asked,
                call.output
            );
            return;
        };
        let first = first["seq"].as_u64().expect("a place");
        assert!(
            call.before < first && first <= call.after,
            "{:?} is told of {first}, which was not its time",
            call.asked
        );
        let state = self.within(call).find(|state| state.seq() + 1 == first).expect("held");
        let at = self.events[usize::try_from(first).expect("small") - 1].at;
        let fits = variants(call, &mut [state].into_iter()).into_iter().any(|command| {
            let Ok(events) = decide(state, &command, at) else { return false };
            let places = first..;
            let said = events.iter().zip(places).map(|(event, seq)| {
                let recorded = &self.events[usize::try_from(seq).expect("small") - 1];
                assert!(
                    recorded.event == *event,
                    "{seq} is not what {:?} came to: {recorded:?}, {event:?}",
                    call.asked
                );
                let mut said = serde_json::to_value(event).expect("JSON");
                said["seq"] = seq.into();
                said["at"] = recorded.at.to_string().into();
                said
            });
            said.collect::<Vec<_>>() == told
        });
        assert!(fits, "{:?} may not be at {first}:\n{}", call.asked, call.output);
        for seq in first..first + told.len() as u64 {
            assert!(self.claimed.insert(seq), "two were told of {seq}, {:?} one of them", call.asked);
        }
    }

    fn assert_refused(&self, call: &Call) {
        assert_eq!(call.output.stdout, "", "{:?} was refused and answered:\n{}", call.asked, call.output);
        let first = call.output.stderr.lines().next().unwrap_or_default();
        let refused = |command: Command, state: &State| match decide(state, &command, Timestamp(0)) {
            Err(Stop::Refused(Refusal { reason, .. })) => first == format!("error: {reason}"),
            _ => false,
        };
        // A report looks its task up before it asks.
        let unknown =
            matches!(&call.asked, Asked::Report(_)) && first.starts_with("error: there is no task ");
        assert!(
            unknown || self.possible(call, refused),
            "{:?} was refused for no reason:\n{}",
            call.asked,
            call.output
        );
    }

    /// Whether it is so at some place between the start and the end of the call.
    fn possible(&self, call: &Call, so: impl Fn(Command, &State) -> bool) -> bool {
        self.within(call).any(|state| {
            let mut seen = self.within(call).take_while(|earlier| earlier.seq() <= state.seq());
            variants(call, &mut seen).into_iter().any(|command| so(command, state))
        })
    }

    fn assert_seen(&self, call: &Call) {
        let told: Value = serde_json::from_str(&call.output.stdout).expect("JSON");
        let so = match call.asked {
            Asked::Next => {
                // Two looks: at what is held, then at what is ready.
                let so = |(held, ready): (&State, &State)| {
                    let mut all = of_ledger(held);
                    all.extend(ready_in(ready));
                    listed(&told) == all
                };
                let pairs = self.within(call).flat_map(|held| {
                    self.within(call)
                        .skip_while(|ready| ready.seq() < held.seq())
                        .map(move |ready| (held, ready))
                });
                pairs.into_iter().any(so)
            }
            _ => self.within(call).any(|state| {
                let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
                for status in Status::ALL {
                    *counts.entry(status.name()).or_default() += u64::from(state.counts().of(status));
                }
                counts.iter().all(|(name, count)| told["counts"][name] == *count)
            }),
        };
        assert!(
            so,
            "{:?} was never so between {} and {}:\n{}",
            call.asked, call.before, call.after, call.output
        );
    }
}

/// The command as it may have been decided: a report with each fence that it can have seen.
fn variants(call: &Call, seen: &mut dyn Iterator<Item = &State>) -> Vec<Command> {
    match &call.asked {
        Asked::Change(command) => vec![command.clone()],
        Asked::Report(Command::Report { task, by, claim, report, .. }) => {
            let fences: BTreeSet<u64> =
                seen.filter_map(|state| Some(state.task(task).ok()??.fence)).collect();
            let with = |fence, claim: &Claim| Command::Report {
                task: task.clone(),
                by: by.clone(),
                fence: Some(fence),
                claim: claim.clone(),
                report: report.clone(),
            };
            // Where the task was begun again in that moment, there is nothing yet to compare its file with.
            let mut bare = claim.clone();
            if let Claim::Done { evidence, .. } = &mut bare {
                *evidence = Evidence::default();
            }
            fences.into_iter().flat_map(|fence| [with(fence, claim), with(fence, &bare)]).collect()
        }
        _ => Vec::new(),
    }
}

fn listed(told: &Value) -> BTreeSet<(String, String)> {
    let pair = |task: &Value| {
        let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        (text("id"), text("holder"))
    };
    told.as_array().expect("a list").iter().map(pair).collect()
}

fn of_ledger(state: &State) -> BTreeSet<(String, String)> {
    let held = state.tasks().filter(|task| !task.is_engines());
    held.filter_map(|task| Some((task.id.to_string(), task.holder.as_ref()?.to_string()))).collect()
}

fn ready_in(state: &State) -> BTreeSet<(String, String)> {
    let run = state.run().expect("a run");
    startable(state, run, Timestamp(i64::MAX)).map(|task| (task.id.to_string(), String::new())).collect()
}

/// What the storm left undone is done now, and nothing that it did is done twice.
fn finish(sandbox: &Sandbox) {
    for id in RESTLESS.iter().chain(&STEADY) {
        // Completed and untouched ones need none; all others get one.
        let _ = sandbox.run(&format!("reset {id}"));
    }
    let _ = sandbox.run("run plan.toml --layer 2-engine").exits(0);
    sandbox.assert_landed_once("main", &[RESTLESS, STEADY].concat());
    let _ = sandbox.run("doctor").exits(0);
}
