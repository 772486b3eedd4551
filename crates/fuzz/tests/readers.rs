//! The corpus and variations of it, as plain tests. For longer, with other variations: `PITON_FUZZ_SECONDS`, for all targets
//! together, from `PITON_FUZZ_SEED`; and `cargo xtask fuzz`.

use std::num::NonZero;
use std::panic::catch_unwind;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use piton_fuzz::{TARGETS, Target, Variations};

/// Seconds per target in an unoptimised build.
const VARIATIONS: usize = 500;
/// The same ones every time.
const SEED: u64 = 0x0050_6974_6f6e;

fn holds(name: &str) {
    let target = Target::named(name).expect("a target of that name");
    let corpus = target.corpus();
    assert!(!corpus.is_empty());
    let Some(time) = time_for_each() else {
        let known = Variations::of(&target, SEED).take(VARIATIONS);
        return corpus.into_iter().chain(known).for_each(|input| holds_for(&target, &input));
    };
    let seed = number("PITON_FUZZ_SEED").unwrap_or(1);
    let begun = Instant::now();
    let new = Variations::of(&target, seed).take_while(|_| begun.elapsed() < time);
    new.for_each(|input| holds_for(&target, &input));
}

fn holds_for(target: &Target, input: &[u8]) {
    if catch_unwind(|| (target.check)(input)).is_err() {
        // A file with these bytes in `corpus/NAME/` repeats it.
        panic!("{} breaks its promise on b\"{}\"", target.name, input.escape_ascii());
    }
}

fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().expect("a number"))
}

/// How long each target gets, of the time for all.
fn time_for_each() -> Option<Duration> {
    let seconds = u32::try_from(number("PITON_FUZZ_SECONDS")?).expect("a few seconds");
    let at_once = u32::try_from(available_parallelism().map_or(1, NonZero::get)).unwrap_or(1);
    let targets = u32::try_from(TARGETS.len()).expect("there are few");
    Some(Duration::from_secs(1) * seconds * at_once / targets)
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
    todo,
    speckit,
    openspec,
    kiro,
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
    places,
    failures,
    host_answers,
    templates,
    taskmaster,
    ralph,
    gsd,
    bmad,
    bmad_v4,
    bmad_stories,
    backlog,
    tracker,
    requests,
    stops,
    project,
    list_plan,
];

/// A reader that breaks its word is found by the variations alone.
#[test]
fn a_promise_that_does_not_hold_is_noticed() {
    let target = Target {
        check: |bytes| assert!(!bytes.windows(2).any(|pair| pair == b"[["), "two brackets in a row"),
        ..Target::named("config").expect("a target of that name")
    };
    assert!(
        Variations::of(&target, SEED)
            .take(VARIATIONS)
            .any(|input| catch_unwind(|| (target.check)(&input)).is_err())
    );
}
