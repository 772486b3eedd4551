use super::*;
use crate::run::{Command, Holder};
use crate::system::issue::state::tests::{fresh, lands, over};

fn next(bench: &crate::chronicle::bench::Bench) -> String {
    Next::new(&bench.state, &bench.chronicle).to_string()
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("a valid id")
}

#[test]
fn progress_is_counted_and_drawn() {
    insta::assert_snapshot!(Progress::new(&over().state), @r"
    ## Progress: 2/3 (66%)

    [█████████████░░░░░░░] 66%

    - Completed: 2
    - In Progress: 0
    - Pending: 0
    - Failed: 1
    ");
    let nothing = Progress::default();
    assert_eq!((nothing.percent(), nothing.to_string().lines().next()), (0, Some("## Progress: 0/0 (0%)")));
    assert!(nothing.to_string().contains("[░░░░░░░░░░░░░░░░░░░░] 0%"));
    let all = Progress { completed: 7, ..nothing };
    assert!(all.to_string().contains("[████████████████████] 100%"));
}

#[test]
fn what_is_begun_comes_first_and_what_is_given_up_halts() {
    let mut bench = fresh();
    assert_eq!(next(&bench), "NEXT_TASK: {\"id\":\"1\",\"description\":\"Add part 1\"}");
    bench.accept(&Command::Start { task: id("1"), holder: Holder::Ledger("ann".to_owned()) });
    assert_eq!(next(&bench), "RESUME: Found in_progress task\n{\"id\":\"1\",\"description\":\"Add part 1\"}");
    let mut bench = over();
    assert_eq!(next(&bench), "HALTED: Found failed task\n{\"id\":\"10\",\"description\":\"Add part 10\"}");
    bench.accept(&Command::Skip { task: id("10"), by: "ann".to_owned(), reason: String::new() });
    assert_eq!(next(&bench), "ALL_COMPLETE: No pending tasks");
}

#[test]
fn the_order_is_that_of_the_plan_and_a_failure_with_attempts_left_is_tried_again() {
    let mut bench = fresh();
    bench.attach();
    lands(&mut bench, "1", None, [&[], &["a"]]);
    bench.fails("2", &[(41, "Try")], "wrong");
    assert_eq!(next(&bench), "NEXT_TASK: {\"id\":\"2\",\"description\":\"Add part 2\"}");
    assert_eq!(Next::new(&State::new(), &Chronicle::default()), Next::NoTasks);
}
