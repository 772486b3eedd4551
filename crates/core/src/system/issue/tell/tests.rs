use super::*;
use crate::chronicle::bench::{Bench, id, plan, spec};
use crate::run::Command;
use crate::system::issue::plan::VALIDATION;
use crate::system::issue::progress::Next;
use crate::system::issue::state::tests::{issue, lands, told};

/// One task, and the validation behind it.
fn validated() -> Bench {
    let mut last = spec(VALIDATION, &["1"]);
    last.attempts = 3;
    last.title = "Validate the whole".to_owned();
    let mut bench = Bench::new(plan(&["tasks"], vec![spec("1", &[]), last]));
    bench.attach();
    lands(&mut bench, "1", Some(told()), [&["src/export.rs"], &["src/lib.rs"]]);
    bench
}

fn report(bench: &Bench) -> String {
    verification(&issue(), &bench.state, &bench.chronicle).expect("it has ended")
}

fn next(bench: &Bench) -> String {
    Next::new(&bench.state, &bench.chronicle).to_string()
}

#[test]
fn a_validation_that_passes_is_reported_and_its_checks_are_in_the_pull_request() {
    let mut bench = validated();
    assert_eq!(verification(&issue(), &bench.state, &bench.chronicle), None, "it has not begun");
    bench.fails(VALIDATION, &[(41, "Try")], "\u{1b}[31m1 test\u{1b}[0m is wrong");
    assert_eq!(verification(&issue(), &bench.state, &bench.chronicle), None, "it has not ended");
    bench.finish(VALIDATION, 42);
    insta::assert_snapshot!("report_of_a_validation_that_passed", report(&bench));
    let request = pull_request(&issue(), &bench.state, &bench.chronicle);
    insta::assert_snapshot!("pull_request", format!("{}\n\n{}", request.title, request.body));
}

/// Every task of the list is done, and yet the command must not say that all is complete.
#[test]
fn a_validation_that_was_given_up_halts() {
    let mut bench = validated();
    assert_eq!(next(&bench), "ALL_COMPLETE: No pending tasks");
    for n in 0..3 {
        bench.fails(VALIDATION, &[(41 + n, "Try")], "wrong");
    }
    assert_eq!(
        next(&bench),
        "HALTED: Found failed task\n{\"id\":\"final-validation\",\"description\":\"Validate the whole\"}"
    );
    insta::assert_snapshot!("report_of_a_validation_that_was_given_up", report(&bench));
    insta::assert_snapshot!(
        "comment_on_a_validation_that_was_given_up",
        comment(&bench.state, &bench.chronicle)
    );
    bench.accept(&Command::Skip { task: id(VALIDATION), by: "ann".to_owned(), reason: String::new() });
    assert_eq!(next(&bench), "ALL_COMPLETE: No pending tasks");
}
