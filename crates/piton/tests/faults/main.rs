//! Many at once, a person in the way, and a machine that fails: the real binary has to say so plainly, and
//! to end well once the fault is gone.
#![cfg(target_os = "linux")]

mod contention;

use piton_testkit::sandbox::Sandbox;

/// A repository with one commit on `main`.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_piton"))
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
