//! Commands of Piton that it names to people. Each can be typed as it stands: it says which run it is about where several
//! could be context, and which plan.

use std::sync::OnceLock;

use clap::{ArgMatches, Command};
use piton_core::plan::RunId;

/// How the command line is made, which only the list of commands knows.
static COMMAND_LINE: OnceLock<fn() -> Command> = OnceLock::new();

pub(crate) fn set_command_line(make: fn() -> Command) {
    let _ = COMMAND_LINE.set(make);
}

/// The whole command line, with every subcommand built: clap builds only the one that was typed.
pub(crate) fn command_line() -> Command {
    let mut all = COMMAND_LINE.get().map(|make| make()).unwrap_or_default();
    all.build();
    all
}

/// The run that commands in hints are about.
#[derive(Debug)]
struct Context {
    /// `None` if there is no other run that a command could mean.
    run: Option<RunId>,
    /// Its plan, as it is typed.
    plan: String,
}

static CONTEXT: OnceLock<Context> = OnceLock::new();

/// From now on, commands are about this run.
pub(crate) fn about(run: &RunId, plan: String, is_one_of_several: bool) {
    // The first run that is found is the one that the command is about.
    let _ = CONTEXT.set(Context { run: is_one_of_several.then(|| run.clone()), plan });
}

/// A text for people with each command in it complete: one that the text begins with, up to three spaces, and those in
/// backticks.
pub(crate) fn complete(text: &str) -> String {
    match CONTEXT.get() {
        Some(context) => context.complete(text),
        None => text.to_owned(),
    }
}

/// The same for a run that not the whole command is about.
pub(crate) fn complete_for(text: &str, run: Option<&RunId>, plan: &str) -> String {
    Context { run: run.cloned(), plan: plan.to_owned() }.complete(text)
}

impl Context {
    fn complete(&self, text: &str) -> String {
        if text.starts_with("piton ") {
            let (command, rest) = text.find("   ").map_or((text, ""), |at| text.split_at(at));
            return self.command(command) + &self.quoted(rest);
        }
        self.quoted(text)
    }

    /// A text with the commands in backticks complete.
    fn quoted(&self, text: &str) -> String {
        let parts = text.split('`').enumerate();
        let parts = parts.map(|(number, part)| match number % 2 == 1 && part.starts_with("piton ") {
            true => self.command(part),
            false => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("`")
    }

    fn command(&self, command: &str) -> String {
        let words: Vec<&str> =
            command.split(' ').map(|word| if word == "PLAN" { self.plan.as_str() } else { word }).collect();
        let command = words.join(" ");
        match &self.run {
            Some(run) if lacks_run(&command) => format!("{command} --run {run}"),
            _ => command,
        }
    }
}

/// Whether a command could name a run and names neither that nor a plan.
fn lacks_run(command: &str) -> bool {
    let Ok(words) = shell_words::split(command) else { return false };
    let cli = command_line();
    let Some(known) = words.get(1).and_then(|verb| cli.find_subcommand(verb)) else { return false };
    if !known.get_arguments().any(|arg| arg.get_long() == Some("run")) {
        return false;
    }
    match parsed(cli.clone(), &words) {
        Some(matches) => !["run", "plan"].iter().any(|name| is_given(&matches, name)),
        // A word in it stands for something.
        None => !["--run", "--plan"].iter().any(|flag| words.iter().any(|word| word == flag)),
    }
}

fn parsed(cli: Command, words: &[String]) -> Option<ArgMatches> {
    let (_, matches) = cli.try_get_matches_from(words).ok()?.remove_subcommand()?;
    Some(matches)
}

fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.try_contains_id(name).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use camino::{Utf8Path, Utf8PathBuf};
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cmd::Cli;

    fn context(run: Option<&str>) -> Context {
        Context {
            run: run.map(|run| RunId::new(run).expect("a valid id")),
            plan: "'my plan.toml'".to_owned(),
        }
    }

    #[test]
    fn commands_say_what_they_are_about_where_that_is_not_plain() {
        set_command_line(Cli::command);
        let several = context(Some("plan-1"));
        for (text, complete) in [
            ("piton why T1", "piton why T1 --run plan-1"),
            ("piton retry T1   tries it again", "piton retry T1 --run plan-1   tries it again"),
            ("piton why T1 --plan x.toml", "piton why T1 --plan x.toml"),
            ("piton stop --run other   ends it", "piton stop --run other   ends it"),
            ("gone; `piton run` goes on", "gone; `piton run --run plan-1` goes on"),
            ("piton run PLAN --replan   adopts it", "piton run 'my plan.toml' --replan   adopts it"),
            (
                "`piton run PLAN` opens it; `piton runs` lists",
                "`piton run 'my plan.toml'` opens it; `piton runs` lists",
            ),
            ("piton answer T1 'yes, do'", "piton answer T1 'yes, do' --run plan-1"),
            ("piton agents test claude", "piton agents test claude"),
            ("say `piton` and `git log`", "say `piton` and `git log`"),
        ] {
            assert_eq!(several.complete(text), complete);
        }
        assert_eq!(
            context(None).complete("`piton run PLAN` or piton why T1"),
            "`piton run 'my plan.toml'` or piton why T1"
        );
        assert_eq!(context(None).complete("piton why T1"), "piton why T1");
    }

    /// Every command that the sources name to people, and every one that the snapshots and tests have seen printed.
    #[test]
    fn every_command_that_is_named_to_people_can_be_typed() {
        let crates = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of crates");
        let mut files = Vec::new();
        for folder in ["core/src", "engine/src", "piton/src", "piton/tests"] {
            collect(&crates.join(folder), &mut files);
        }
        let mut found = BTreeSet::new();
        for file in &files {
            let text = std::fs::read_to_string(file).expect("a file that can be read");
            let is_code = file.extension() == Some("rs");
            let lines = text.lines().filter(|line| !(is_code && line.trim_start().starts_with("//")));
            found.extend(lines.flat_map(named));
        }
        let bad: Vec<&String> = found.iter().filter(|command| !can_be_typed(command)).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        assert!(found.len() > 100, "{} commands were found in {} files", found.len(), files.len());
    }

    fn collect(folder: &Utf8Path, files: &mut Vec<Utf8PathBuf>) {
        for entry in folder.read_dir_utf8().expect("a folder").flatten() {
            match entry.path().is_dir() {
                true => collect(entry.path(), files),
                false if matches!(entry.path().extension(), Some("rs" | "snap")) => {
                    files.push(entry.path().to_owned());
                }
                false => {}
            }
        }
    }

    /// The commands in a line: in backticks, after `hint: `, and at the beginning of a text that continues after three
    /// spaces.
    fn named(line: &str) -> Vec<String> {
        let quoted = line.split('`').skip(1).step_by(2).map(str::to_owned);
        let hinted =
            line.split("hint: ").skip(1).filter_map(|rest| rest.split("   ").next()?.split('"').next());
        let hinted = hinted.map(str::to_owned);
        let begun =
            line.split('"').skip(1).step_by(2).filter_map(|text| Some(text.split_once("   ")?.0.to_owned()));
        let all = quoted.chain(hinted).chain(begun);
        let is_one = |command: &String| command.starts_with("piton ") && !command.starts_with("piton {");
        all.filter(|command| is_one(command) && !command.contains('\\')).collect()
    }

    /// Whatever stands for a value, the parser takes the command.
    fn can_be_typed(command: &str) -> bool {
        ["X", "1", "127.0.0.1:1"].iter().any(|value| {
            let mut text = String::new();
            let mut depth = 0;
            for c in command.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => {
                        depth -= 1;
                        text.push_str(value);
                    }
                    c if depth == 0 => text.push(c),
                    _ => {}
                }
            }
            let text = text.replace("[RUN]", value).replace('…', value).replace("COMMAND", "status");
            let Ok(words) = shell_words::split(&text) else { return false };
            let is_known = words.get(1).is_some_and(|verb| Cli::command().find_subcommand(verb).is_some());
            // Its name alone is a name.
            let is_taken = |parsed: Result<ArgMatches, clap::Error>| match parsed {
                Ok(_) => true,
                Err(error) => matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion),
            };
            is_known && words.len() == 2 || is_taken(Cli::command().try_get_matches_from(words))
        })
    }
}
