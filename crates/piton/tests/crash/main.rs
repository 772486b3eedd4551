//! Piton's real binary, killed wherever it hurts, has to end as if nothing had happened.
#![cfg(target_os = "linux")]

mod cases;
mod engines;
mod killed;
mod matrix;
mod points;
mod reference;
mod rules;
mod sandbox;
mod syscalls;
