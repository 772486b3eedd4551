//! What can be typed for a command, put together only when that command is typed. There are fifty commands, and to put all
//! of them together takes a third of the instructions of a `piton status`.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// The arguments of one command.
#[derive(Debug)]
pub(crate) struct Deferred<T>(T);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        command.defer(|command| {
            // Arguments that several commands share say what they are, and not what the command is about.
            let about = Resettable::from(command.get_about().cloned());
            let long_about = Resettable::from(command.get_long_about().cloned());
            T::augment_args(command).about(about).long_about(long_about)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Deferred)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::cmd::Cli;

    #[test]
    fn only_the_command_that_is_typed_is_put_together() {
        let cli = Cli::command();
        let why = cli.find_subcommand("why").expect("a command");
        assert_eq!(why.get_arguments().count(), 0);
        let help = cli.try_get_matches_from(["piton", "why", "--help"]).expect_err("help").to_string();
        assert!(help.starts_with("Explain why a task is where it is"), "{help}");
        assert!(help.contains("--run <RUN>"), "{help}");
    }
}
