//! Many cases, a few at a time.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Three keep two cores busy, since each sometimes waits for its processes.
const AT_ONCE: usize = 3;
/// How many cases run between two lines of progress.
const WORD: usize = 100;

/// Run all cases; a failure names those that failed. Returns the results in the order of the cases.
#[track_caller]
pub fn in_parallel<C: Sync + Debug, T: Send>(cases: &[C], run: impl Fn(&C) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let one_by_one = || {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            let Some(case) = cases.get(number) else { return };
            let begun = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| run(case))).ok();
            if std::env::var_os("PITON_TEST_TIMES").is_some() {
                told(&format!("{:?} {case:?}", begun.elapsed()));
            }
            let mut done = done.lock().expect("no case panics while it holds the lock");
            done.push((number, outcome));
            if done.len().is_multiple_of(WORD) {
                told(&format!("{} of {}", done.len(), cases.len()));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(one_by_one);
        }
    });
    let mut done = done.into_inner().expect("no case panics while it holds the lock");
    done.sort_by_key(|(number, _)| *number);
    let failed: Vec<&C> =
        done.iter().filter(|(_, outcome)| outcome.is_none()).map(|(number, _)| &cases[*number]).collect();
    assert!(failed.is_empty(), "{} of {} failed: {failed:?}", failed.len(), cases.len());
    done.into_iter().filter_map(|(_, outcome)| outcome).collect()
}

#[expect(clippy::print_stderr, reason = "figures for a person who runs with --nocapture")]
pub fn told(text: &str) {
    eprintln!("{text}");
}
