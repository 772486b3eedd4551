//! Let people and programs see and steer: the command line.

mod args;
mod clients;
mod cmd;
mod columns;
mod commands;
mod failure;
mod notify;
mod own_command;
mod paths;
mod picture;
mod plans;
mod preflight;
mod programs;
mod progress;
mod runs;
mod screen;
mod serve;
mod ui;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::cmd::integrate::completions;
use crate::cmd::mistyped;
use crate::runs::location;

/// All of the program. A program that adds a system of its own calls it, too.
#[must_use]
pub fn main() -> ExitCode {
    // A keeper is this binary in a small mode of its own: no thread, no arguments parsed, little memory.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "keeper") {
        let rest: Vec<_> = words.collect();
        return match piton_engine::keeper::enter(&rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                ui::say(error.to_string());
                ExitCode::FAILURE
            }
        };
    }
    if completions::answer(cmd::Cli::command) {
        return ExitCode::SUCCESS;
    }
    commands::set_command_line(cmd::Cli::command);
    let cli = match cmd::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let typed: Vec<String> =
                std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            let Some(failure) = mistyped::failure(&error, &cmd::Cli::command(), &typed) else { error.exit() };
            ui::fail(&failure);
            return ExitCode::from(failure.exit);
        }
    };
    location::set(cli.journal);
    match cmd::dispatch(&cli.command) {
        Ok(exit) => ExitCode::from(exit),
        Err(failure) => {
            ui::fail(&failure);
            ExitCode::from(failure.exit)
        }
    }
}
