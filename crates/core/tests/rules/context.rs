//! The project's description at the end of a run of the execute system.

use piton_core::plan::{Plan, Schedule, Settings};
use piton_core::run::{Action, AgentEnd, Command, Holder, Selection, Session, StopReason, is_current, next};
use piton_core::view::at_rest;

use crate::bench::{Bench, id, oid, plan, session, spec};

/// One task, completed, with an engine at work.
fn done(settings: Settings, selection: Selection) -> Bench {
    let mut bench = Bench::new(Plan { settings, ..plan(vec![spec("a", &[])]) });
    let session = Session { selection, ..session(Schedule::Layered) };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    assert!(!next(&bench.state, bench.now).contains(&Action::Context));
    bench.land("a", 1);
    bench
}

fn execute() -> Settings {
    Settings { form: piton_core::system::Form::Execute, ..Settings::default() }
}

fn settled() -> Command {
    Command::ContextUpdated(Box::default())
}

#[test]
fn it_is_settled_once_and_before_the_end() {
    let mut bench = done(execute(), Selection::All);
    assert!(next(&bench.state, bench.now).contains(&Action::Context));
    assert!(is_current(&bench.state, &Action::Context));
    assert_ne!(at_rest(&bench.state), StopReason::Completed);
    bench.accept(&settled());
    assert!(!next(&bench.state, bench.now).contains(&Action::Context));
    assert_eq!(at_rest(&bench.state), StopReason::Completed);
    assert!(bench.refuse(&settled()).stale);
}

#[test]
fn a_stop_at_once_leaves_it_to_the_next_engine() {
    let mut bench = done(execute(), Selection::All);
    bench.accept(&Command::RequestStop { by: "ann".to_owned(), now: true });
    assert!(!is_current(&bench.state, &Action::Context));
    assert_eq!(at_rest(&bench.state), StopReason::Person);
}

#[test]
fn a_stop_that_finishes_what_runs_ends_complete_where_nothing_else_is_left() {
    let stop = Command::RequestStop { by: "ann".to_owned(), now: false };
    let mut bench = done(execute(), Selection::All);
    bench.accept(&stop);
    assert!(is_current(&bench.state, &Action::Context), "it is the last thing that runs");
    assert!(next(&bench.state, bench.now).contains(&Action::Context));
    bench.accept(&settled());
    assert_eq!(at_rest(&bench.state), StopReason::Completed);
    // The same for a part of the plan.
    let tasks = vec![spec("a", &[]), spec("b", &["a"])];
    let mut bench = Bench::new(plan(tasks));
    let session = Session { selection: Selection::Task(id("a")), ..session(Schedule::Layered) };
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    bench.land("a", 1);
    bench.accept(&stop);
    assert_eq!(at_rest(&bench.state), StopReason::Filter);
}

#[test]
fn nobody_owes_it_who_does_not_keep_it() {
    for bench in [done(Settings::default(), Selection::All), done(execute(), Selection::Task(id("a")))] {
        assert!(!next(&bench.state, bench.now).contains(&Action::Context));
        assert_eq!(at_rest(&bench.state), StopReason::Completed);
    }
    let native = done(Settings::default(), Selection::All);
    assert_eq!(
        native.refuse(&settled()).to_string(),
        "only plans of the execute system keep a project's description"
    );
    let open = Bench::new(Plan { settings: execute(), ..plan(vec![spec("a", &[])]) });
    assert_eq!(open.refuse(&settled()).to_string(), "not every task is completed");
}

/// The fence names the attempt. The engine's name says who reports.
#[test]
fn an_engine_that_has_lost_its_run_settles_nothing_and_begins_nothing() {
    let mut bench = done(execute(), Selection::All);
    let late = settled().of_engine("e1");
    bench.accept(&Command::Attach { engine: "e2".to_owned(), session: session(Schedule::Layered) });
    assert!(bench.refuse(&late).stale);
    let commit = oid(3);
    let reason = "it is gone".to_owned();
    let fence = bench.task("a").fence;
    for said in [
        Command::Start { task: id("a"), holder: Holder::Engine },
        Command::CleanedUp { task: id("a"), fence },
        Command::Reopen { task: id("a"), reason: reason.clone() },
        Command::LandingFound { task: id("a"), commit: commit.clone(), reason: reason.clone() },
        Command::LandingLost { task: id("a"), commit, reason },
        Command::Asked { provider: "p".to_owned(), nth: 0, end: None },
        Command::HelperCut { task: id("a"), agent: "p".to_owned(), end: AgentEnd::Stopped },
    ] {
        let refusal = bench.refuse(&said.of_engine("e1"));
        assert_eq!(
            (refusal.stale, refusal.reason.as_str()),
            (true, "another engine has taken over this run")
        );
    }
    bench.accept(&settled().of_engine("e2"));
}

#[test]
fn what_an_engine_tells_stays_true_when_it_has_lost_its_run() {
    let mut bench = done(execute(), Selection::All);
    bench.accept(&Command::Attach { engine: "e2".to_owned(), session: session(Schedule::Layered) });
    let rescued = Command::Rescued { task: id("a"), reference: "refs/x".to_owned(), commit: oid(5) };
    bench.accept(&rescued.of_engine("e1"));
}
