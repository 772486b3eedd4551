//! Test support: the simulator that the pure core is proven in, and the clock of its scheduler.

pub mod makespan;
mod rng;
#[cfg(unix)]
pub mod sandbox;
pub mod sim;
