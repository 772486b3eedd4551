//! The real clients, driven by the real binary, against a scripted model on loopback.
//!
//! `./check` installs them into `.cache/clients`; `PITON_TEST_CLIENTS` names another folder with their programs. A client
//! that is not there is said so on standard error, and its tests pass without having looked: `./check` counts them.
#![cfg(unix)]

mod bench;
mod interrupted;
mod limits;
mod many;
mod others;
mod plans;
mod talk;

use bench::{Bench, Client};

/// Each test runs with every client.
macro_rules! with_each_client {
    ($($name:ident),* $(,)?) => {
        mod claude {
            $(#[test] fn $name() { super::run(crate::Client::Claude, super::$name); })*
        }
        mod codex {
            $(#[test] fn $name() { super::run(crate::Client::Codex, super::$name); })*
        }
    };
}
pub(crate) use with_each_client;

/// Run a test, if its client is here.
#[expect(clippy::print_stderr, reason = "a test that does not look says so")]
fn run(client: Client, test: fn(&Bench)) {
    match Bench::with(client) {
        Some(bench) => test(&bench),
        None => eprintln!("SKIPPED: {} is not installed, see ./check", client.name()),
    }
}
