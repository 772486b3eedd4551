//! Piton's real binary, killed wherever it hurts, has to end as if nothing had happened.
#![cfg(target_os = "linux")]

mod batch;
mod clean;
mod disk;
mod engines;
mod kept;
mod killed;
mod matrix;
mod order;
mod person;
mod points;
mod power;
mod reference;
mod rules;
mod sandbox;
mod syscalls;
mod windows;
