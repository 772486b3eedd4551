//! The real clients, driven by the real binary, against a scripted model on loopback.
//!
//! `./check` installs them into `.cache/clients`; `PITON_TEST_CLIENTS` names another folder with their programs. A client
//! that is not there is said so, and its tests pass without having looked: `./check` counts them. It does not install
//! gemini and opencode; their tests run if the environment names a folder that has them.
#![cfg(unix)]

mod bench;
mod cost;
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

/// And with the clients that `./check` does not install.
macro_rules! with_the_others {
    ($($name:ident),* $(,)?) => {
        mod gemini {
            $(#[test] fn $name() { super::run(crate::Client::Gemini, super::$name); })*
        }
        mod opencode {
            $(#[test] fn $name() { super::run(crate::Client::Opencode, super::$name); })*
        }
    };
}
pub(crate) use with_the_others;

/// Run a test, if its client is here.
fn run(client: Client, test: fn(&Bench)) {
    match Bench::with(client) {
        Some(bench) => test(&bench),
        None => piton_testkit::skipped(&format!("{} is not installed, see CONTRIBUTING.md", client.name())),
    }
}
