//! Test support: the simulator that the pure core is proven in.

#[cfg(unix)]
mod aftermath;
#[cfg(unix)]
pub mod sandbox;
pub mod sim;
