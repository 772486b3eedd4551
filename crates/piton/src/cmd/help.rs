//! `piton help`: the commands by group, on one screen or with a line for each.

use clap::Args;

use crate::cmd::mistyped::closest;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::ui::{self, BOLD, DIM};

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// The command to explain [default: list all of them]
    #[arg(value_name = "COMMAND")]
    pub words: Vec<String>,
}

/// The commands in the order in which people meet them.
const GROUPS: [(&str, &str, &[&str]); 6] = [
    ("Start", "write a plan and run it", &["demo", "init", "new", "plan", "rehearse", "run"]),
    (
        "Watch",
        "see where a run stands and what happened",
        &[
            "watch", "status", "inbox", "runs", "show", "why", "log", "output", "diff", "queue", "progress",
            "checks", "cost", "timeline", "graph", "summary", "serve",
        ],
    ),
    (
        "Steer",
        "change what a run does",
        &["stop", "answer", "review", "retry", "raise", "skip", "unblock", "reset", "add", "close", "unpark"],
    ),
    ("Tidy", "find what is wrong, remove what is left over", &["doctor", "clean", "rescue", "archive"]),
    (
        "By hand",
        "do the work yourself; the checks still decide",
        &["next", "start", "report", "confirm", "verify", "orient", "journal", "guardrail", "complete"],
    ),
    (
        "Integrate",
        "clients, tools and other systems",
        &["agents", "mcp", "prompt", "schema", "completions", "ops", "import", "export", "system"],
    ),
];

/// What `piton --help` prints: no more than 24 lines of 80 columns.
pub(crate) fn screen() -> String {
    let groups: String = GROUPS
        .iter()
        .map(|(name, about, commands)| format!("{name}: {about}\n{}", wrapped(commands)))
        .collect();
    format!(
        "{{about}}\n\nUsage: piton COMMAND\n\n{groups}\n\
        Try `piton demo` first. `piton help` has a line for each command, and\n\
        `piton COMMAND --help` explains one. `piton --version` prints the version.\n\
        Exit codes: 0 complete, 1 error, 2 usage, 3 stopped, 4 unfinished work"
    )
}

/// Lines of at most 80 columns.
fn wrapped(words: &[&str]) -> String {
    let mut lines = vec![String::new()];
    for word in words {
        if lines.last().is_some_and(|line| line.len() + 2 + word.len() > 80) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str("  ");
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(crate) fn help(args: &HelpArgs, cli: clap::Command) -> Outcome<Exit> {
    let mut command = &cli;
    for word in &args.words {
        let Some(next) = command.find_subcommand(word) else {
            let near = closest(command, word);
            let failure = Failure::usage(format!("there is no command `{}`", ui::plain(word)));
            let hint = near.map_or("piton help".to_owned(), |near| format!("did you mean {near}?"));
            return Err(failure.hint(hint));
        };
        command = next;
    }
    match args.words.is_empty() {
        true => list(&cli),
        // As the command itself says it.
        false => {
            let typed = args.words.iter().map(String::as_str);
            let words = ["piton"].into_iter().chain(typed).chain(["--help"]);
            if let Err(help) = cli.try_get_matches_from(words) {
                ui::answer(help.render().ansi().to_string());
            }
        }
    }
    Ok(FINE)
}

fn list(cli: &clap::Command) {
    for (nth, (name, about, commands)) in GROUPS.iter().enumerate() {
        let gap = if nth == 0 { "" } else { "\n" };
        ui::answer_line(format!("{gap}{}: {about}", ui::styled(BOLD, name)));
        for command in commands.iter().filter_map(|name| cli.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<&str> = command.get_visible_aliases().collect();
            let aliases = match aliases.is_empty() {
                true => String::new(),
                false => format!(" (also: {})", aliases.join(", ")),
            };
            ui::answer_line(format!("  {:10} {about}{}", command.get_name(), ui::styled(DIM, aliases)));
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cmd::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let cli = Cli::command();
        let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> =
            shown.map(clap::Command::get_name).filter(|name| *name != "help").collect();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, _, commands)| commands.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }

    #[test]
    fn help_fits_on_one_screen() {
        let help = Cli::command().render_help().to_string();
        assert!(help.lines().count() <= 24, "{} lines", help.lines().count());
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
