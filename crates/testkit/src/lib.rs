//! Test support: the simulator that the pure core is proven in, the clock of its scheduler, its landing line
//! against other queues, models for real clients to
//! talk to, and what tests of the real binary share.

#[cfg(unix)]
mod aftermath;
pub mod bare;
#[cfg(unix)]
pub mod browser;
pub mod cases;
#[cfg(unix)]
pub mod hosts;
pub mod http;
pub mod lines;
pub mod makespan;
pub mod models;
#[cfg(target_os = "linux")]
pub mod postgres;
pub mod prompts;
pub mod queues;
mod rng;
#[cfg(unix)]
pub mod sandbox;
pub mod sim;
mod skipped;
pub mod text;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod trace;

pub use rng::Rng;
pub use skipped::skipped;
