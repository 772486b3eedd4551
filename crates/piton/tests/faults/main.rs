//! Many at once, a person in the way, and a machine that fails: the real binary has to say so plainly, and
//! to end well once the fault is gone.
#![cfg(target_os = "linux")]

mod clocks;
mod contention;
mod descriptors;
mod disks;
mod engines;
mod locks;
mod people;
#[cfg(target_arch = "x86_64")]
mod syscalls;
mod vanished;

use piton_testkit::sandbox::Sandbox;

/// A repository with one commit on `main`.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_piton"))
}

/// Whether every case is wanted, where a few have to do otherwise: `PITON_THOROUGH=1`.
fn thorough() -> bool {
    std::env::var_os("PITON_THOROUGH").is_some()
}

/// Numbers that are the same every time (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).expect("below a usize")
    }
}

#[expect(clippy::print_stderr, reason = "figures for whoever asks with --nocapture")]
fn told(text: &str) {
    eprintln!("{text}");
}

/// Run all cases, a few at a time; a failure names those that failed. What each came to, in their order.
#[track_caller]
fn in_parallel<C: Sync + std::fmt::Debug, T: Send>(cases: &[C], run: impl Fn(&C) -> T + Sync) -> Vec<T> {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    // Two cores are kept busy by three, since each waits for its processes now and then.
    const AT_ONCE: usize = 3;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(case) = cases.get(number) else { break };
                    let outcome = catch_unwind(AssertUnwindSafe(|| run(case))).ok();
                    done.lock().expect("nobody panics in here").push((number, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics in here");
    done.sort_by_key(|(number, _)| *number);
    let failed: Vec<&C> =
        done.iter().filter(|(_, outcome)| outcome.is_none()).map(|(n, _)| &cases[*n]).collect();
    assert!(failed.is_empty(), "{} of {} failed: {failed:?}", failed.len(), cases.len());
    done.into_iter().filter_map(|(_, outcome)| outcome).collect()
}
