//! Lists that are worked on in their order, whatever boxes were ticked before.

use piton_core::plan::{Exhausted, Issue, Plan, Schedule, Settings};
use piton_core::run::{Action, Command, Holder, ImportedTask, Proof, Status, next};
use piton_core::system::Form;

use crate::bench::{Bench, id, plan, session, spec};

/// `1 [x] 2 [ ] 3 [x] 4 [ ]`, each on top of the one before.
fn ticked(settings: Settings) -> Bench {
    let tasks = vec![spec("1", &[]), spec("2", &["1"]), spec("3", &["2"]), spec("4", &["3"])];
    let mut bench = Bench::new(Plan { settings, ..plan(tasks) });
    for done in ["1", "3"] {
        let past = ImportedTask { proof: Some(Proof::Reported), ..ImportedTask::plain(Status::Completed) };
        bench.accept(&Command::Adopt { task: id(done), by: "the list".to_owned(), past: Box::new(past) });
    }
    bench
}

fn starts(bench: &Bench) -> Vec<Action> {
    next(&bench.state, bench.now)
}

#[test]
fn a_ticked_box_lets_no_later_one_overtake() {
    let settings = Settings { exhausted: Exhausted::Stop, ..Settings::default() };
    let issue = Settings { form: Form::Issue(Issue::default()), ..settings.clone() };
    let said = Settings { in_sequence: true, ..settings };
    [issue, said].into_iter().for_each(lets_none_overtake);
}

fn lets_none_overtake(settings: Settings) {
    let mut bench = ticked(settings);
    let ann = Holder::Ledger("ann".to_owned());
    let refused = bench.refuse(&Command::Start { task: id("4"), holder: ann });
    assert_eq!(
        refused.reason,
        "4 has to wait: a task before it is not done, and this plan runs one task at a time"
    );
    let session = session(Schedule::Layered);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    assert_eq!(starts(&bench), [Action::Start { task: id("2") }]);
    bench.land("2", 1);
    assert!(starts(&bench).contains(&Action::Start { task: id("4") }));
}

/// Where tasks name what they wait for, that is all they wait for.
#[test]
fn in_a_graph_a_task_waits_for_what_it_names() {
    let mut bench = ticked(Settings::default());
    let session = session(Schedule::Layered);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    assert_eq!(starts(&bench), [Action::Start { task: id("2") }, Action::Start { task: id("4") }]);
}

/// Where a run goes on without what it had to give up, a box after it is begun if it depends on nothing of that.
#[test]
fn what_was_given_up_holds_back_nothing_but_what_depends_on_it() {
    let mut bench = ticked(Settings { in_sequence: true, ..Settings::default() });
    let session = session(Schedule::Flow);
    bench.accept(&Command::Attach { engine: "e1".to_owned(), session });
    assert_eq!(starts(&bench), [Action::Start { task: id("2") }]);
    bench.accept(&Command::Abandon { task: id("2"), by: "ann".to_owned(), reason: "hopeless".to_owned() });
    assert_eq!(starts(&bench), [Action::Start { task: id("4") }]);
}
