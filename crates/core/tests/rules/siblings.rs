//! Tasks that wait for a task of another list.

use piton_core::plan::{Exhausted, Outside, Schedule, TaskSpec};
use piton_core::run::{Action, Command, Status, next};

use crate::bench::{Bench, id, spec};

fn need() -> Outside {
    Outside { list: "plans/b-todolist.md".to_owned(), task: id("T9") }
}

fn waiting() -> TaskSpec {
    TaskSpec { outside: vec![need()], ..spec("a", &[]) }
}

fn starts(bench: &Bench, name: &str) -> bool {
    next(&bench.state, bench.now).contains(&Action::Start { task: id(name) })
}

#[test]
fn a_task_waits_until_the_other_list_was_seen_to_have_completed_it() {
    let mut bench = Bench::running(vec![waiting()]);
    assert_eq!((bench.task("a").status(), starts(&bench, "a")), (Status::Waiting, false));
    bench.accept(&Command::SeeOutside { task: id("a"), need: need(), done: true });
    assert_eq!((bench.task("a").status(), starts(&bench, "a")), (Status::Pending, true));
}

/// Whether groups pass over what was given up or not.
#[test]
fn what_waits_for_another_list_holds_back_nothing_in_the_groups_behind_it() {
    for exhausted in [Exhausted::Continue, Exhausted::Pass] {
        let behind = TaskSpec { group: 1, ..spec("b", &[]) };
        let bench = Bench::running_as(Schedule::Layered, exhausted, vec![waiting(), behind]);
        assert!(starts(&bench, "b"), "{exhausted:?}");
    }
}
