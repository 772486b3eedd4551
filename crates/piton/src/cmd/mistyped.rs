//! A command line that clap rejects, in Piton's own words: the cause, and the command that was probably meant.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use piton_core::diagnostic::nearest;
use piton_core::run::shell_word;

use crate::failure::Failure;
use crate::ui;

/// Words that people know from other programs, and what says the same here.
const KNOWN_ELSEWHERE: [(&str, &str); 11] = [
    ("version", "--version"),
    ("-v", "--version"),
    ("continue", "run"),
    ("cancel", "stop"),
    ("abort", "stop"),
    ("kill", "stop"),
    ("tasks", "status"),
    ("web", "serve"),
    ("ui", "watch"),
    ("--port", "--listen"),
    ("--jobs", "--max-parallel"),
];

/// `None` where nothing is wrong, such as `--help`. `typed` is the command line behind the program's name.
pub(crate) fn failure(error: &clap::Error, cli: &Command, typed: &[String]) -> Option<Failure> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let (command, names) = typed_command(cli, typed);
    let this = [&["piton"], &names[..]].concat().join(" ");
    let context = |kind| error.get(kind).map(texts).unwrap_or_default();
    let words = |kind| context(kind).first().map(|word| ui::plain(word));
    let invalid = words(ContextKind::InvalidSubcommand).or_else(|| words(ContextKind::InvalidArg));
    let help = format!("{this} --help");
    let failure = match (error.kind(), invalid) {
        (ErrorKind::InvalidSubcommand, Some(word)) => {
            let what = [&names[..], &[word.as_str()]].concat().join(" ");
            let failure = Failure::usage(format!("there is no command `{what}`"));
            match known_elsewhere(&word, typed).or_else(|| corrected(typed, &word, closest(command, &word)?))
            {
                Some(command) => failure.hint(command),
                None if names.is_empty() => failure.hint("piton help   lists the commands"),
                None => failure.hint(help),
            }
        }
        (ErrorKind::UnknownArgument, Some(word)) => {
            let failure = if word.starts_with('-') {
                Failure::usage(format!("`{this}` has no option `{word}`"))
            } else {
                Failure::usage(format!("`{this}` does not know what to do with `{word}`"))
            };
            let near = words(ContextKind::SuggestedArg);
            let near = known_elsewhere(&word, typed).or_else(|| corrected(typed, &word, near?));
            near.into_iter().fold(failure, Failure::hint).hint(help)
        }
        (ErrorKind::MissingRequiredArgument, _) => {
            let lacking = context(ContextKind::InvalidArg);
            if let [one] = &lacking[..]
                && let Some(options) = alternatives(one)
            {
                let line: Vec<String> = typed.iter().map(|word| shell_word(&ui::plain(word))).collect();
                let failure = Failure::usage(format!("`{this}` needs {}", options.join(" or ")));
                return Some(failure.hint(format!("piton {} {}", line.join(" "), options[0])).hint(help));
            }
            let lacking = lacking.join(", ");
            let failure = Failure::usage(format!("`{this}` needs {lacking}"));
            let usage =
                words(ContextKind::Usage).and_then(|usage| Some(usage.split_once("Usage: ")?.1.to_owned()));
            usage.into_iter().fold(failure, |failure, usage| failure.hint(usage.trim().to_owned())).hint(help)
        }
        _ => {
            let value = words(ContextKind::InvalidValue).zip(words(ContextKind::SuggestedValue));
            let near = value.and_then(|(wrong, right)| corrected(typed, &wrong, right));
            near.into_iter().fold(said_by_clap(error), Failure::hint).hint(help)
        }
    };
    Some(failure)
}

/// The options of which one is wanted, where clap says `<--land <HOW>|--pr <WHAT>>`.
fn alternatives(lacking: &str) -> Option<Vec<&str>> {
    let options = lacking.strip_prefix('<')?.strip_suffix('>')?;
    options.starts_with("--").then(|| options.split('|').collect())
}

/// The command that the line begins with, and its name.
fn typed_command<'c>(cli: &'c Command, typed: &'c [String]) -> (&'c Command, Vec<&'c str>) {
    let (mut command, mut names) = (cli, Vec::new());
    for word in typed.iter().take_while(|word| !word.starts_with('-')) {
        let Some(next) = command.find_subcommand(word) else { break };
        command = next;
        names.push(word.as_str());
    }
    (command, names)
}

/// The known command that is most like the one that was typed.
pub(crate) fn closest(command: &Command, word: &str) -> Option<String> {
    let known = command.get_subcommands().filter(|known| !known.is_hide_set());
    let names: Vec<&str> = known.flat_map(Command::get_name_and_visible_aliases).collect();
    nearest(word, names).map(str::to_owned)
}

fn known_elsewhere(word: &str, typed: &[String]) -> Option<String> {
    let (_, here) = KNOWN_ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == word)?;
    let command = typed.first().map(String::as_str);
    match *here {
        // Behind a command it means something else elsewhere.
        "--version" => (command == Some(word)).then(|| "piton --version".to_owned()),
        "--listen" => (command == Some("serve")).then(|| "piton serve --listen PORT".to_owned()),
        here => corrected(typed, word, here.to_owned()),
    }
}

/// The typed line with another word in the place of a wrong one, which may be followed by its value.
fn corrected(typed: &[String], wrong: &str, right: String) -> Option<String> {
    let at = typed.iter().position(|word| word == wrong || word.split('=').next() == Some(wrong))?;
    let mut words: Vec<String> = typed.iter().map(|word| shell_word(&ui::plain(word))).collect();
    let rest = typed[at].strip_prefix(wrong).unwrap_or_default();
    words[at] = right + &ui::plain(rest);
    Some(format!("piton {}", words.join(" ")))
}

/// What clap says, without its own hints.
fn said_by_clap(error: &clap::Error) -> Failure {
    let said = error.render().to_string();
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    let is_hint = |line: &str| {
        ["  tip:", "Usage:", "For more information"].iter().any(|beginning| line.starts_with(beginning))
    };
    let lines: Vec<&str> = said.lines().take_while(|line| !is_hint(line)).collect();
    let words = lines.join("\n").trim_end().to_owned();
    Failure::usage(words.replace(": invalid digit found in string", ": it is not a whole number"))
}

fn texts(value: &ContextValue) -> Vec<String> {
    match value {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        ContextValue::StyledStr(text) => vec![text.to_string()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cmd::Cli;

    fn mistake(line: &str) -> String {
        let typed: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let words = std::iter::once("piton").chain(line.split(' '));
        let error = Cli::command().try_get_matches_from(words).expect_err(line);
        let failure = failure(&error, &Cli::command(), &typed).expect("a mistake");
        assert_eq!(failure.exit, crate::failure::USAGE);
        format!("$ piton {line}\n{}\n  {}\n", failure.message, failure.hints.join("\n  "))
    }

    #[test]
    fn a_mistake_names_its_cause_and_the_command_that_was_probably_meant() {
        let lines = [
            "rnu plan.toml",
            "banana",
            "version",
            "cancel --run x",
            "agents nope",
            "journal ad x",
            "run plan.toml --max-paralel 3",
            "run plan.toml --max-paralel=3",
            "run plan.toml extra.toml",
            "run --max-parallel abc plan.toml",
            "run --max-parallel 0 plan.toml",
            "run plan.toml --reset --resume",
            "serve --port 80",
            "status -v",
            "-v",
            "raise T1",
            "output",
            "init --for clade",
        ];
        let mistakes: Vec<String> = lines.into_iter().map(mistake).collect();
        insta::assert_snapshot!(mistakes.join("\n"));
    }

    #[test]
    fn every_word_of_another_program_leads_to_one_that_exists() {
        let mut cli = Cli::command();
        cli.build();
        for (elsewhere, here) in KNOWN_ELSEWHERE {
            assert!(cli.find_subcommand(elsewhere).is_none(), "{elsewhere} is a command");
            let is_option = |option: &str| {
                let has =
                    |command: &Command| command.get_arguments().any(|arg| arg.get_long() == Some(option));
                has(&cli) || cli.get_subcommands().any(has)
            };
            assert!(
                here.strip_prefix("--").map_or_else(|| cli.find_subcommand(here).is_some(), is_option),
                "{here}"
            );
        }
    }
}
