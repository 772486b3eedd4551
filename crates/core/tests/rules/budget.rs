//! What a run and its tasks may use, and what happens when that is used up.

use piton_core::client::Adapter;
use piton_core::plan::{Agent, Budget, Schedule};
use piton_core::run::{
    Action, AgentEnd, Bound, ByModel, Class, Command, Live, Note, Session, Status, StopReason, Usage,
    bound_reached, next, wake_at,
};
use piton_core::time::Span;
use piton_core::view;

use crate::bench::{Bench, id, oid, session, spec, work};

fn with(budget: Budget) -> Bench {
    let mut bench = Bench::new(crate::bench::plan(vec![spec("a", &[]), spec("b", &[])]));
    attach(&mut bench, budget);
    bench
}

fn attach(bench: &mut Bench, budget: Budget) {
    let session = Session { max_parallel: 1, budget, ..session(Schedule::Flow) };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
}

/// An agent of the task used so much, and failed.
fn spend(bench: &mut Bench, task: &str, used: Option<Usage>) {
    cut_off(bench, task, used, None);
}

/// The same, with what is estimated.
fn cut_off(bench: &mut Bench, task: &str, used: Option<Usage>, estimate: Option<Usage>) {
    bench.start(task);
    bench.ready(task, 0, 0);
    let fence = bench.task(task).fence;
    let of_model = |usage| ByModel::from([("m".to_owned(), usage)]);
    let (used, estimate) = (used.map(of_model), estimate.map(of_model).unwrap_or_default());
    let (agent, took, job) = ("default".to_owned(), Span::default(), String::new());
    let note = Note::Spent { task: id(task), fence, agent, used, estimate, took, job };
    bench.accept(&Command::Note { by: "default".to_owned(), note });
    let end = AgentEnd::Failed { reason: "not finished".to_owned(), feedback: String::new() };
    bench.accept(&bench.agent_ends(task, end));
}

fn dollars(cost: u64) -> Usage {
    Usage { cost: Some(cost * 1_000_000), ..Usage::default() }
}

#[test]
fn no_agent_starts_once_a_run_has_used_what_it_may() {
    let budgets = [
        (Budget { run_usd: Some(3_000_000), ..Budget::default() }, "$3.00 of $3.00 are used"),
        (Budget { run_tokens: Some(80), ..Budget::default() }, "80 of 80 tokens are used"),
        (Budget { run_time: Some(Span::seconds(2)), ..Budget::default() }, "agents have worked for 2s of 2s"),
    ];
    for (budget, told) in budgets {
        let mut bench = with(budget);
        let used = Usage { input: Some(30), output: Some(10), cost: Some(1_500_000), cached: None };
        spend(&mut bench, "a", Some(used));
        assert!(!next(&bench.state, bench.now).is_empty(), "half is left");
        spend(&mut bench, "b", Some(used));
        assert_eq!(next(&bench.state, bench.now), [], "{told}");
        assert_eq!(wake_at(&bench.state, bench.now), None, "nothing comes by waiting");
        let reason = view::at_rest(&bench.state);
        assert_eq!(reason, StopReason::Budget { detail: format!("the budget is spent: {told}") });
        assert_eq!(view::exit_code(&reason), 3);
        let refused =
            bench.refuse(&Command::Start { task: id("a"), holder: piton_core::run::Holder::Engine });
        assert!(refused.reason.contains(told), "{}", refused.reason);

        // With a larger budget the run goes on from there.
        let name = "e1".to_owned();
        bench.accept(&Command::Detach { engine: name, reason, tip: Vec::new() });
        attach(&mut bench, Budget::default());
        assert_eq!(next(&bench.state, bench.now), [Action::Start { task: id("a") }]);
    }
}

#[test]
fn a_task_that_has_used_what_it_may_waits_for_a_person_and_the_others_go_on() {
    let mut bench = with(Budget { task_usd: Some(2_000_000), ..Budget::default() });
    spend(&mut bench, "a", Some(dollars(1)));
    assert_eq!(bench.task("a").decided, Status::Failed);
    spend(&mut bench, "a", Some(dollars(1)));
    assert_eq!(bench.task("a").decided, Status::Blocked);
    assert_eq!(next(&bench.state, bench.now), [Action::Start { task: id("b") }]);
}

#[test]
fn what_is_estimated_counts_against_every_bound() {
    let tokens = |n| Usage { input: Some(n), ..Usage::default() };
    let mut bench = with(Budget { run_tokens: Some(100), ..Budget::default() });
    cut_off(&mut bench, "a", Some(tokens(30)), Some(tokens(80)));
    assert_eq!(next(&bench.state, bench.now), []);
    let detail = "the budget is spent: 110 of 100 tokens are used (1 try is estimated)".to_owned();
    assert_eq!(view::at_rest(&bench.state), StopReason::Budget { detail });
    let mut bench = with(Budget { task_tokens: Some(100), ..Budget::default() });
    cut_off(&mut bench, "a", None, Some(tokens(100)));
    assert_eq!(bench.task("a").decided, Status::Blocked);
    let bill = bench.task("a").used;
    assert_eq!((bill.tries, bill.unmeasured, bill.estimated, bill.usage.input), (1, 0, 1, None));
}

/// A client that reports its cost at its end alone, and never came to it.
#[test]
fn what_a_try_cost_that_was_cut_off_is_estimated_by_what_others_cost() {
    let agent = Agent { adapter: Adapter::named("claude").expect("a known client"), ..Agent::default() };
    let mut plan = crate::bench::plan(vec![spec("a", &[]), spec("b", &[])]);
    plan.settings.agents.insert("default".to_owned(), agent);
    let mut bench = Bench::new(plan);
    attach(&mut bench, Budget { run_usd: Some(10_000), ..Budget::default() });
    let tokens = |n| Usage { input: Some(n), ..Usage::default() };
    // Nothing is known: as much as large models cost.
    cut_off(&mut bench, "a", Some(tokens(100)), Some(tokens(100)));
    assert_eq!(bench.task("a").used.estimate.cost, Some(1000));
    spend(&mut bench, "b", Some(Usage { cost: Some(2000), ..tokens(1000) }));
    cut_off(&mut bench, "b", None, Some(tokens(1000)));
    assert_eq!(bench.task("b").used.estimate.cost, Some(2000));
    assert_eq!(bench.task("b").used.all().cost, Some(4000));
    cut_off(&mut bench, "b", None, Some(tokens(2500)));
    assert_eq!(next(&bench.state, bench.now), [], "$0.01 are used");
}

#[test]
fn what_nobody_measured_uses_up_nothing() {
    let mut bench = with(Budget { run_usd: Some(1), task_tokens: Some(1), ..Budget::default() });
    spend(&mut bench, "a", None);
    assert_eq!(bench.task("a").decided, Status::Failed);
    bench.start("b");
    bench.fail("b", Class::Code);
    assert!(!next(&bench.state, bench.now).is_empty());
}

/// What is used at this moment counts beside what is booked: of the run by all of them, else by each alone.
#[test]
fn a_bound_is_reached_while_agents_work() {
    let live = |tokens: u64, worked: Span| Live { usage: used_tokens(tokens), worked };
    let reached = |budget: Budget, own: Live, all: Live| {
        let bench = with(budget);
        let run = bench.state.run().expect("a run");
        bound_reached(run, bench.task("a"), own, own, all)
    };
    let (some, more) = (live(60, Span::seconds(6)), live(110, Span::seconds(11)));
    let tokens = Budget { run_tokens: Some(100), ..Budget::default() };
    assert_eq!(reached(tokens, some, some), None);
    let told = "110 of 100 tokens are used".to_owned();
    assert_eq!(reached(tokens, some, more), Some(Bound::Run(told.clone())));
    let time = Budget { run_time: Some(Span::seconds(10)), ..Budget::default() };
    assert!(matches!(reached(time, some, more), Some(Bound::Run(_))));
    let task = Budget { task_tokens: Some(100), ..Budget::default() };
    assert_eq!(
        (reached(task, some, more), reached(task, more, more)),
        (None, Some(Bound::Task(told.clone())))
    );
    let attempt = Budget { attempt_tokens: Some(100), ..Budget::default() };
    assert_eq!(
        (reached(attempt, some, more), reached(attempt, more, more)),
        (None, Some(Bound::Attempt(told)))
    );
}

fn used_tokens(count: u64) -> Usage {
    Usage { input: Some(count), ..Usage::default() }
}

#[test]
fn a_reviewer_that_may_use_no_more_fails_nothing_and_is_booked_once() {
    let told = "the budget of the task is spent: 9 of 5 tokens are used".to_owned();
    let ends = [(AgentEnd::Stopped, Status::Pending), (AgentEnd::Blocked { reason: told }, Status::Blocked)];
    for (end, status) in ends {
        let mut bench = Bench::running(vec![spec("a", &[])]);
        bench.start("a");
        bench.ready("a", 0, 0);
        bench.accept(&bench.agent_ends("a", AgentEnd::Done));
        bench.accept(&bench.captured("a", work(7)));
        let (agent, took, job) = ("judge".to_owned(), Span::seconds(3), "1.check.x".to_owned());
        let (used, estimate) = (None, ByModel::new());
        let note = Note::Spent { task: id("a"), fence: 1, agent: agent.clone(), used, estimate, took, job };
        let worked = bench.task("a").worked;
        for _ in 0..2 {
            bench.accept(&Command::Note { by: agent.clone(), note: note.clone() });
        }
        assert_eq!((bench.task("a").used.tries, bench.task("a").used.unmeasured), (1, 1));
        assert_eq!(bench.task("a").worked, worked.plus(took));
        let (tree, results) = (oid(7), Vec::new());
        bench.accept(&Command::ReviewerCut {
            task: id("a"),
            fence: 1,
            lands: false,
            tree,
            results,
            agent,
            end,
        });
        assert_eq!((bench.task("a").decided, bench.task("a").spent), (status, 0));
        if status == Status::Blocked {
            bench.accept(&Command::Unblock { task: id("a"), by: "me".to_owned(), note: String::new() });
        }
        bench.start("a");
        assert_eq!(bench.task("a").decided, Status::Verifying, "its work is there");
    }
}
