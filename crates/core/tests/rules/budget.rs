//! What a run and its tasks may use, and what happens when that is used up.

use piton_core::plan::{Budget, Schedule};
use piton_core::run::{
    Action, AgentEnd, Bound, ByModel, Class, Command, Live, Note, Session, Status, StopReason, Usage,
    bound_reached, next, wake_at,
};
use piton_core::time::Span;
use piton_core::view;

use crate::bench::{Bench, id, session, spec};

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
    bench.start(task);
    bench.ready(task, 0, 0);
    let fence = bench.task(task).fence;
    let used = used.map(|usage| ByModel::from([("m".to_owned(), usage)]));
    let note = Note::Spent { task: id(task), fence, agent: "default".to_owned(), used };
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

        // Who raises it goes on from there.
        let name = "e1".to_owned();
        bench.accept(&Command::Detach { engine: name, reason });
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
        bound_reached(run, bench.task("a"), own, all)
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
