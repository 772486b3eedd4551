//! The journal against its promises: one truth whatever the way it was written, nothing lost, nothing
//! taken for what it is not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod crashes;
mod damage;
#[cfg(target_os = "linux")]
mod logins;
#[cfg(target_os = "linux")]
mod postgres;
mod snapshots;
mod trips;
mod truth;
mod views;
mod writers;
