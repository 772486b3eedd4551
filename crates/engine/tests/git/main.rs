//! The safety catalogue of the git room: real git, a home of its own, and every odd surrounding we know.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exact;
mod finding;
#[cfg(target_os = "linux")]
mod killed;
mod merging;
mod planted;
mod private;
mod refs;
mod removal;
mod sandbox;
mod slots;
mod target;
mod worktrees;
