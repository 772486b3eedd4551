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
