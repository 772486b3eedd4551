//! Test support: the simulator that the pure core is proven in.

mod rng;
#[cfg(unix)]
pub mod sandbox;
pub mod sim;
