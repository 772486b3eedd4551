//! Many cases, a few at a time.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Two cores are kept busy by three, since each waits for its processes now and then.
const AT_ONCE: usize = 3;

/// Run all cases; a failure names those that failed. Says how many there were.
#[track_caller]
pub(crate) fn in_parallel<C: Sync + Debug>(cases: &[C], run: impl Fn(&C) + Sync) -> usize {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let begun = Instant::now();
                    if catch_unwind(AssertUnwindSafe(|| run(case))).is_err() {
                        failed.lock().expect("nobody panics in here").push(case);
                    }
                    if std::env::var_os("PITON_TEST_TIMES").is_some() {
                        told(&format!("{:?} {case:?}", begun.elapsed()));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics in here");
    assert!(failed.is_empty(), "{} of {} failed: {failed:?}", failed.len(), cases.len());
    cases.len()
}

#[expect(clippy::print_stderr, reason = "figures for whoever asks with --nocapture")]
pub(crate) fn told(text: &str) {
    eprintln!("{text}");
}

/// Numbers that are the same every time (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).expect("below a usize")
    }
}
