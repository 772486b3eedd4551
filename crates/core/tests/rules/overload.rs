//! Providers whose servers fail: when that is believed, what it costs, and how it ends.

use piton_core::plan::{Agent, Schedule, TaskSpec};
use piton_core::run::{Action, AgentEnd, Command, Status, next, wake_at};
use piton_core::time::Span;

use crate::bench::{Bench, id, plan, session, spec};

/// Tasks of `first` are called f…, those of `second` s….
fn bench(names: &[&str]) -> Bench {
    let whose = |name: &str| if name.starts_with('f') { "first" } else { "second" };
    let tasks =
        names.iter().map(|name| TaskSpec { agent: whose(name).to_owned(), ..spec(name, &[]) }).collect();
    let mut plan = plan(tasks);
    plan.settings.agents = ["first", "second"].map(|name| (name.to_owned(), Agent::default())).into();
    let mut bench = Bench::new(plan);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench
}

fn down() -> AgentEnd {
    AgentEnd::Unavailable { reason: "overloaded".to_owned() }
}

fn fails(bench: &mut Bench, name: &str) {
    bench.start(name);
    bench.ready(name, 0, 0);
    bench.accept(&bench.agent_ends(name, down()));
}

fn starts(bench: &Bench) -> Vec<String> {
    let starts = next(&bench.state, bench.now).into_iter().filter_map(|action| match action {
        Action::Start { task } => Some(task.to_string()),
        _ => None,
    });
    starts.collect()
}

fn question(bench: &Bench) -> Option<u32> {
    next(&bench.state, bench.now).into_iter().find_map(|action| match action {
        Action::Ask { provider, nth } if provider == "first" => Some(nth),
        _ => None,
    })
}

fn asked(bench: &mut Bench, nth: u32, end: Option<AgentEnd>) {
    bench.accept(&Command::Asked { provider: "first".to_owned(), nth, end });
}

#[test]
fn one_conversation_that_fails_makes_a_question_and_an_answer_blames_the_task() {
    let mut bench = bench(&["f1", "f2", "s1"]);
    fails(&mut bench, "f1");
    assert_eq!((bench.task("f1").transient, question(&bench)), (1, Some(0)));
    assert_eq!(starts(&bench), ["f2", "s1"], "nobody else waits for the answer");
    asked(&mut bench, 0, None);
    assert_eq!((bench.task("f1").transient, question(&bench)), (1, None));
    assert!(bench.refuse(&Command::Asked { provider: "first".to_owned(), nth: 0, end: None }).stale);
    // As often as any other failure of that kind, and no more.
    for _ in 0..5 {
        bench.now = bench.now.plus(Span::minutes(60));
        fails(&mut bench, "f1");
        let nth = question(&bench).expect("each time anew");
        asked(&mut bench, nth, None);
    }
    assert_eq!(bench.task("f1").decided, Status::Blocked);
}

#[test]
fn a_second_conversation_that_fails_parks_the_provider_and_costs_nothing() {
    let mut bench = bench(&["f1", "f2", "f3", "s1"]);
    bench.start("f2");
    bench.ready("f2", 0, 0);
    fails(&mut bench, "f1");
    bench.accept(&bench.agent_ends("f2", down()));
    assert_eq!((bench.task("f2").transient, bench.task("f2").spent), (0, 0));
    assert_eq!((starts(&bench), question(&bench)), (vec!["s1".to_owned()], None));
    // Past the pause of the first one.
    bench.now = bench.now.plus(Span::seconds(50));
    assert_eq!(question(&bench), None);
    assert_eq!(wake_at(&bench.state, bench.now), Some(bench.now.plus(Span::seconds(10))));
    // An hour is the longest pause.
    let mut pauses = Vec::new();
    for nth in 0..8 {
        bench.now = wake_at(&bench.state, bench.now).expect("it is asked again");
        assert_eq!(question(&bench), Some(nth));
        asked(&mut bench, nth, Some(down()));
        let next = wake_at(&bench.state, bench.now).expect("and again");
        pauses.push(next.since(bench.now).0 / 60_000);
        assert_eq!(starts(&bench), ["s1"]);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(bench.task("f1").transient, 0, "it was not to blame");
    bench.now = wake_at(&bench.state, bench.now).expect("it is asked again");
    asked(&mut bench, 8, None);
    assert_eq!(starts(&bench), ["f1", "f2", "f3", "s1"]);
}

#[test]
fn a_question_that_is_not_answered_parks_as_well() {
    let mut bench = bench(&["f1", "f2"]);
    fails(&mut bench, "f1");
    asked(&mut bench, 0, Some(AgentEnd::Transient { reason: "no answer".to_owned() }));
    assert_eq!((starts(&bench), bench.task("f1").transient), (Vec::new(), 0));
    // An agent that began before and ends now has had answers.
    let mut bench = self::bench(&["f1", "f2", "f3"]);
    bench.start("f2");
    bench.ready("f2", 0, 0);
    fails(&mut bench, "f1");
    asked(&mut bench, 0, Some(down()));
    bench.accept(&bench.agent_ends("f2", AgentEnd::Done));
    assert_eq!(starts(&bench), ["f3"]);
}

#[test]
fn an_answer_may_be_a_limit_and_a_person_or_a_new_engine_asks_at_once() {
    let mut bench = bench(&["f1", "f2"]);
    fails(&mut bench, "f1");
    let until = bench.now.plus(Span::minutes(20));
    asked(&mut bench, 0, Some(AgentEnd::Limit { reason: "used up".to_owned(), until, model: None }));
    assert_eq!(
        wake_at(&bench.state, bench.now),
        Some(bench.task("f1").not_before.expect("a pause").min(until))
    );
    assert_eq!((starts(&bench), question(&bench)), (Vec::new(), None));
    let by = "me".to_owned();
    bench.accept(&Command::Unpark { provider: "first".to_owned(), by: by.clone() });
    assert_eq!(starts(&bench), ["f2"]);
    assert!(
        bench
            .refuse(&Command::Unpark { provider: "first".to_owned(), by })
            .reason
            .contains("are not held back")
    );

    let mut bench = self::bench(&["f1", "f2"]);
    fails(&mut bench, "f1");
    asked(&mut bench, 0, Some(down()));
    assert_eq!(question(&bench), None);
    bench.accept(&Command::Attach { engine: "e2".to_owned(), session: session(Schedule::Flow) });
    assert_eq!(question(&bench), Some(1));
    // With no task left, no agent asks the provider.
    for name in ["f1", "f2"] {
        bench.accept(&Command::Skip { task: id(name), by: "me".to_owned(), reason: "no".to_owned() });
    }
    assert_eq!((question(&bench), wake_at(&bench.state, bench.now)), (None, None));
}
