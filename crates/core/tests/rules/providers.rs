//! Providers that let nobody work: whom that holds up, who stands in, and who looks whether it is over.

use piton_core::plan::{Agent, Plan, Schedule, TaskSpec};
use piton_core::run::{Action, AgentEnd, Command, Event, Recorded, State, Status, Verdict, next, wake_at};
use piton_core::time::Span;

use crate::bench::{Bench, id, oid, plan, session, spec, work};

/// Tasks of `first` are called f…, those of `second` s…; the two have providers of their own.
fn bench(fallback: Option<&str>, names: &[&str]) -> Bench {
    let agent = |fallback: Option<&str>| Agent { fallback: fallback.map(str::to_owned), ..Agent::default() };
    let whose = |name: &str| if name.starts_with('f') { "first" } else { "second" };
    let tasks =
        names.iter().map(|name| TaskSpec { agent: whose(name).to_owned(), ..spec(name, &[]) }).collect();
    let mut plan: Plan = plan(tasks);
    plan.settings.agents = [("first", agent(fallback)), ("second", agent(None))]
        .map(|(name, agent)| (name.to_owned(), agent))
        .into();
    let mut bench = Bench::new(plan);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    bench
}

fn limited(bench: &mut Bench, name: &str) {
    bench.start(name);
    bench.ready(name, 0, 0);
    let until = bench.now.plus(Span::minutes(10));
    bench.accept(&bench.agent_ends(name, AgentEnd::Limit { reason: "used up".to_owned(), until }));
}

fn starts(bench: &Bench) -> Vec<String> {
    let starts = next(&bench.state, bench.now).into_iter().filter_map(|action| match action {
        Action::Start { task } => Some(task.to_string()),
        _ => None,
    });
    starts.collect()
}

#[test]
fn a_limit_holds_up_the_agents_of_its_provider_alone() {
    let mut bench = bench(None, &["f1", "f2", "s1"]);
    limited(&mut bench, "f1");
    assert_eq!(starts(&bench), ["s1"]);
    assert_eq!(wake_at(&bench.state, bench.now), Some(bench.now.plus(Span::minutes(10))));
    // One looks whether it is over.
    bench.now = bench.now.plus(Span::minutes(10));
    assert_eq!(starts(&bench), ["f1", "s1"]);
    bench.start("f1");
    assert_eq!(starts(&bench), ["s1"]);
    bench.now = bench.now.plus(Span::minutes(1));
    assert_eq!(starts(&bench), ["f2", "s1"]);
}

#[test]
fn whoever_stands_in_is_journaled_and_gives_back_what_is_not_its_own() {
    let mut bench = bench(Some("second"), &["f1", "f2"]);
    limited(&mut bench, "f1");
    assert_eq!((bench.task("f1").spent, starts(&bench)), (0, vec!["f1".to_owned(), "f2".to_owned()]));
    bench.start("f2");
    assert_eq!(bench.task("f2").progress.agent, "second");
    bench.now = bench.now.plus(Span::minutes(11));
    bench.start("f1");
    assert_eq!(bench.task("f1").progress.agent, "first", "the limit is over");
}

#[test]
fn a_provider_that_refuses_is_asked_again_by_the_next_engine() {
    let mut bench = bench(None, &["f1", "f2", "s1"]);
    bench.start("f1");
    bench.ready("f1", 0, 0);
    bench.accept(&bench.agent_ends("f1", AgentEnd::Refused { reason: "old key".to_owned() }));
    assert_eq!((starts(&bench), wake_at(&bench.state, bench.now)), (vec!["s1".to_owned()], None));
    let refused = bench.refuse(&Command::Start { task: id("f2"), holder: piton_core::run::Holder::Engine });
    assert_eq!(refused.reason, "first does not let `first` in: old key");
    bench.accept(&Command::Attach { engine: "e2".to_owned(), session: session(Schedule::Flow) });
    assert_eq!((starts(&bench).len(), bench.task("f1").spent), (3, 0));
}

#[test]
fn what_is_to_be_confirmed_waits_for_whoever_confirms_and_is_not_done_again() {
    let mut bench = Bench::running(vec![TaskSpec { confirm: true, ..spec("f1", &[]) }, spec("f2", &[])]);
    bench.start("f1");
    bench.ready("f1", 0, 0);
    bench.accept(&bench.agent_ends("f1", AgentEnd::Done));
    bench.accept(&bench.captured("f1", work(7)));
    limited(&mut bench, "f2");
    bench.accept(&bench.checks_end("f1", 7, Verdict::Pass));
    assert_eq!((bench.task("f1").status(), starts(&bench).len()), (Status::Failed, 0));
    bench.now = bench.now.plus(Span::minutes(10));
    bench.start("f1");
    assert_eq!(bench.task("f1").status(), Status::Verifying, "its work is there");
    let nothing_new = Command::ChecksEnded { task: id("f1"), fence: 2, tree: oid(7), results: Vec::new() };
    bench.accept(&nothing_new);
    assert_eq!(bench.task("f1").status(), Status::Confirming);
}

/// Before this version nobody wrote down who worked.
#[test]
fn journals_that_do_not_name_the_agent_are_read_as_if_it_were_the_planned_one() {
    let mut bench = bench(None, &["f1", "f2", "s1"]);
    limited(&mut bench, "f1");
    let mut state = State::new();
    for recorded in &bench.journal {
        let mut value = serde_json::to_value(&recorded.event).expect("an event");
        value.as_object_mut().expect("an object").remove("agent");
        let event: Event = serde_json::from_value(value).expect("it is still read");
        state.apply(&Recorded { event, ..recorded.clone() }).expect("it is complete");
    }
    assert!(state.agrees_with(&bench.state));
}
