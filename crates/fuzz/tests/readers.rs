//! The corpus and variations of it, as plain tests. For longer: `cargo xtask fuzz`.

use std::panic::catch_unwind;

use piton_fuzz::{TARGETS, Target, Variations};

/// Seconds per target in an unoptimised build.
const VARIATIONS: usize = 500;

fn holds(name: &str) {
    let target = Target::named(name).expect("a target of that name");
    let corpus = target.corpus();
    assert!(!corpus.is_empty());
    for input in corpus.into_iter().chain(Variations::of(&target).take(VARIATIONS)) {
        if catch_unwind(|| (target.check)(&input)).is_err() {
            // A file with these bytes in `corpus/NAME/` repeats it.
            panic!("{name} breaks its promise on b\"{}\"", input.escape_ascii());
        }
    }
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        #[test]
        fn every_target_is_tested() {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(known, [$(stringify!($name)),*]);
        }
    };
}

targets![
    plan,
    config,
    names,
    time,
    signal,
    unit_signal,
    message,
    text,
    events,
    jobs,
    execute,
    decode,
    list,
    issue,
    rwkit,
    state,
    edits,
    issue_state,
    issue_edits,
    rwkit_state,
    rwkit_edits,
    iterative,
    iterative_state,
    iterative_edits,
    journal,
    progress,
    guardrails,
    git,
    runners,
    redact,
    context,
    clients,
    review,
    answer,
    settings,
    refs,
    templates,
    requests,
    stops,
];

/// A reader that breaks its word is found by the variations alone.
#[test]
fn a_promise_that_does_not_hold_is_noticed() {
    let target = Target {
        check: |bytes| assert!(!bytes.windows(2).any(|pair| pair == b"[["), "two brackets in a row"),
        ..Target::named("config").expect("a target of that name")
    };
    assert!(
        Variations::of(&target)
            .take(VARIATIONS)
            .any(|input| catch_unwind(|| (target.check)(&input)).is_err())
    );
}
