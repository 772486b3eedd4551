//! Limits and outages of providers: which tasks wait, which agents stand in, and which one tests whether it is over.

use piton_core::plan::{Agent, Argv, Check, Plan, Schedule, TaskSpec};
use piton_core::run::{
    Action, AgentEnd, Command, Event, Recorded, State, Status, Verdict, next, reviewer, wake_at,
};
use piton_core::time::Span;

use crate::bench::{Bench, check, id, oid, plan, session, spec, work};

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
    bench.accept(
        &bench.agent_ends(name, AgentEnd::Limit { reason: "used up".to_owned(), until, model: None }),
    );
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

/// A limit of one model holds up the agents with that model. Other agents of the provider go on, and may stand in.
#[test]
fn a_limit_of_one_model_holds_up_the_agents_that_have_it() {
    let agent = |model: Option<&str>, fallback: Option<&str>| Agent {
        provider: Some("anthropic".to_owned()),
        model: model.map(str::to_owned),
        fallback: fallback.map(str::to_owned),
        ..Agent::default()
    };
    let task = |name: &str, agent: &str| TaskSpec { agent: agent.to_owned(), ..spec(name, &[]) };
    let mut plan = plan(vec![
        task("o1", "big"),
        task("o2", "same"),
        task("d1", "plain"),
        task("h1", "small"),
        task("s1", "stood for"),
    ]);
    plan.settings.agents = [
        ("big", agent(Some("opus"), None)),
        ("same", agent(Some("opus"), None)),
        ("plain", agent(None, None)),
        ("small", agent(Some("haiku"), None)),
        ("stood for", agent(Some("opus"), Some("small"))),
    ]
    .map(|(name, agent)| (name.to_owned(), agent))
    .into();
    let mut bench = Bench::new(plan);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session: session(Schedule::Flow) });
    let sorted = |bench: &Bench| {
        let mut starts = starts(bench);
        starts.sort();
        starts
    };
    bench.start("o1");
    bench.ready("o1", 0, 0);
    let until = bench.now.plus(Span::minutes(10));
    let limit = |model: Option<&str>| AgentEnd::Limit {
        reason: "used up".to_owned(),
        until,
        model: model.map(str::to_owned),
    };
    bench.accept(&bench.agent_ends("o1", limit(Some("opus"))));
    assert_eq!(sorted(&bench), ["d1", "h1", "s1"]);
    let outages = |bench: &Bench| {
        bench.state.run().expect("there is a run").outages.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(outages(&bench), ["anthropic/opus"]);
    // The same of whatever its client takes by itself.
    bench.start("d1");
    bench.ready("d1", 0, 0);
    bench.accept(&bench.agent_ends("d1", limit(Some("sonnet"))));
    assert_eq!(outages(&bench), ["anthropic/default", "anthropic/opus"]);
    assert_eq!(sorted(&bench), ["h1", "s1"]);
    // One looks whether it is over, and only for its model.
    bench.now = bench.now.plus(Span::minutes(10));
    assert_eq!(sorted(&bench), ["d1", "h1", "o1"]);
    bench.start("o1");
    assert_eq!(sorted(&bench), ["d1", "h1", "s1"]);
    bench.ready("o1", 0, 0);
    bench.accept(&bench.agent_ends("o1", AgentEnd::Done));
    assert_eq!(outages(&bench), ["anthropic/default"]);
    assert_eq!(sorted(&bench), ["d1", "h1", "o2"]);
    // A limit of the provider holds up all of them, and a word of a person lifts all.
    bench.start("h1");
    bench.ready("h1", 0, 0);
    bench.accept(&bench.agent_ends("h1", limit(None)));
    assert_eq!(sorted(&bench), [""; 0]);
    bench.accept(&Command::Unpark { provider: "anthropic".to_owned(), by: "ann".to_owned() });
    assert_eq!(outages(&bench), [""; 0]);
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
    assert_eq!(refused.reason, "first rejects the login of `first`: old key");
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

/// Two tasks that a judge of another provider looks at, whose usage limit is just over.
fn to_be_judged() -> Bench {
    let ask = Argv::Review { agent: "judge".to_owned(), ask: "Is it good?".to_owned() };
    let judged = |name: &str| TaskSpec {
        checks: vec![Check { run: ask.clone(), ..check(&format!("check {name}")) }],
        ..spec(name, &[])
    };
    let mut bench = Bench::running(vec![judged("a"), judged("b")]);
    for (name, tree) in [("a", 7), ("b", 8)] {
        bench.start(name);
        bench.ready(name, 0, 0);
        bench.accept(&bench.agent_ends(name, AgentEnd::Done));
        bench.accept(&bench.captured(name, work(tree)));
    }
    let until = bench.now.plus(Span::minutes(10));
    let end = AgentEnd::Limit { reason: "used up".to_owned(), until, model: None };
    bench.accept(&Command::HelperCut { task: id("a"), agent: "judge".to_owned(), end });
    bench.now = until;
    bench
}

fn begins(name: &str, tree: u64) -> Command {
    let (tree, results, agent) = (oid(tree), Vec::new(), "judge".to_owned());
    Command::ReviewerBegins { task: id(name), fence: 1, tree, results, agent }
}

/// Whether a review of each of the two may begin, and whether it has to say so.
fn entries(bench: &Bench) -> [Option<bool>; 2] {
    let run = bench.state.run().expect("it runs");
    ["a", "b"].map(|name| Some(reviewer(run, "judge", &id(name), bench.now).ok()?.is_first))
}

#[test]
fn after_a_limit_one_reviewer_looks_first() {
    let mut bench = to_be_judged();
    assert_eq!(entries(&bench), [Some(true), Some(true)]);
    bench.accept(&begins("a", 7));
    assert_eq!(entries(&bench), [Some(false), None]);
    assert!(bench.refuse(&begins("b", 8)).stale, "it came too late");
    // It has judged, so others may.
    let (task, tree, results) = (id("a"), oid(7), Vec::new());
    bench.record(vec![Event::ChecksEnded { task, fence: 1, tree, results }]);
    assert_eq!(entries(&bench), [Some(false), Some(false)]);
}

#[test]
fn a_reviewer_that_looked_first_and_was_taken_away_has_told_nothing() {
    let mut bench = to_be_judged();
    bench.accept(&begins("a", 7));
    bench.accept(&Command::Reset { task: id("a"), by: "me".to_owned() });
    assert_eq!(entries(&bench)[1], Some(true));
    bench.accept(&begins("b", 8));
    bench.now = bench.now.plus(Span::minutes(1));
    assert_eq!(entries(&bench)[0], Some(false), "it has looked for a minute");
}

#[test]
fn who_only_looks_whether_a_task_is_done_already_is_held_up_by_no_limit_and_tells_nothing_about_it() {
    let of_first = |name: &str| TaskSpec { agent: "first".to_owned(), ..spec(name, &[]) };
    let looks = TaskSpec { check_first: true, ..of_first("looks") };
    let mut bench = Bench::running(vec![of_first("f1"), of_first("f2"), looks]);
    limited(&mut bench, "f1");
    assert_eq!(starts(&bench), ["looks"]);
    bench.now = bench.now.plus(Span::minutes(10));
    bench.start("looks");
    assert_eq!(bench.task("looks").progress.agent, "");
    bench.now = bench.now.plus(Span::minutes(2));
    assert_eq!(starts(&bench), ["f1"], "and f2 once that one has looked");
}

/// Journals of earlier versions do not name the agent.
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
