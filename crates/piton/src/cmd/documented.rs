//! Every command that the documentation names can be typed: its subcommands, options and values exist.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cmd::Cli;

/// The pages at the top of the repository, and folders with more of them.
const PLACES: [&str; 6] =
    ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "docs", "examples"];

#[test]
fn every_command_in_the_documentation_can_be_typed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = Vec::new();
    PLACES.iter().for_each(|place| collect(&root.join(place), &mut pages));
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for command in commands(&text) {
            seen += 1;
            if let Some(why) = mistake(&command) {
                wrong.push(format!("{}: `{command}`: {why}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 300, "only {seen} commands were found");
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    // Not in backticks here: these sources are read for commands as well.
    let page = "'piton run PLAN' and 'piton rnu'\n'''sh\nls; x\npiton stop --nwo   # now\n  piton why T1 | cat\n'''\n'piton run --agent'\n";
    let commands = commands(&page.replace('\'', "`"));
    assert_eq!(
        commands,
        ["piton stop --nwo", "piton why T1", "piton run PLAN", "piton rnu", "piton run --agent"]
    );
    let wrong: Vec<&String> = commands.iter().filter(|command| mistake(command).is_some()).collect();
    assert_eq!(wrong, ["piton stop --nwo", "piton rnu"]);
    assert!(mistake("piton raise TASK --attempts=many").is_some());
    assert!(mistake("piton raise TASK --attempts=N").is_none());
}

fn collect(path: &Path, pages: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder");
        entries.for_each(|entry| collect(&entry.expect("an entry").path(), pages));
    } else if path.extension().is_some_and(|ending| ending == "md") {
        pages.push(path.to_owned());
    }
}

/// The lines of shell blocks that begin with `piton`, and those that stand as code in a text.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut prose, mut block) = (Vec::new(), String::new(), None);
    for line in page.replace("\\\n", " ").lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(kind), None) => block = Some(kind.starts_with("sh")),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) => found.push(line.trim().to_owned()),
            (None, Some(false)) => {}
            (None, None) => prose += &format!("{line} "),
        }
    }
    found.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    let ends = [" | ", " > ", " && ", "; ", " #"];
    let alone = |line: String| {
        ends.iter().fold(line, |line, end| line.split(end).next().unwrap_or_default().trim().to_owned())
    };
    found.retain(|line| line.starts_with("piton "));
    found.into_iter().map(alone).collect()
}

/// Why a command cannot be typed. Arguments that are left out are no mistake, nor is a word that stands for a value.
fn mistake(command: &str) -> Option<String> {
    let words = shell_words::split(&command.replace(['[', ']'], "")).ok()?;
    // What stands for more, or for one of several.
    let is_open = |word: &String| word.contains(['…', '|']) || word == "COMMAND";
    let words: Vec<String> = words.into_iter().take_while(|word| !is_open(word)).collect();
    let error = Cli::command().try_get_matches_from(words).err()?;
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    let stands_for_another = value.starts_with('$') || !value.chars().any(char::is_lowercase);
    match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand | ErrorKind::ArgumentConflict => {}
        ErrorKind::InvalidValue | ErrorKind::ValueValidation if !stands_for_another => {}
        _ => return None,
    }
    Some(error.to_string().lines().next().unwrap_or_default().to_owned())
}
