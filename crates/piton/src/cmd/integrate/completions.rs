//! `piton completions SHELL`: the script by which a shell completes commands, flags, and the ids of tasks and runs.
//!
//! The script asks this program for each completion. So a new command needs no new script, and ids are those of the moment.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};

use camino::Utf8PathBuf;
use clap::builder::PossibleValue;
use clap::{Args, Command, ValueEnum, ValueHint};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use piton_core::plan::TaskId;
use piton_engine::journal::Journal;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::{command, find, inbox};
use crate::ui;

/// A shell that asks for completions says so here, with its own name.
const ASKS: &str = "PITON_COMPLETE";

#[derive(Debug, Args)]
#[command(after_help = "Bash:        source <(piton completions bash)                  in ~/.bashrc
Zsh:         source <(piton completions zsh)                   in ~/.zshrc, after compinit
Fish:        piton completions fish | source                   in ~/.config/fish/config.fish
Elvish:      eval (piton completions elvish | slurp)           in ~/.config/elvish/rc.elv
PowerShell:  piton completions powershell | Out-String | Invoke-Expression")]
pub(crate) struct CompletionsArgs {
    /// The shell that is to complete
    pub shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Outcome<Exit> {
    let value = args.shell.to_possible_value();
    let name = value.as_ref().map(PossibleValue::get_name).unwrap_or_default();
    let shells = Shells::builtins();
    let shell = shells.completer(name).ok_or_else(|| Failure::usage(format!("unknown shell `{name}`")))?;
    let mut script = Vec::new();
    let written = shell.write_registration(ASKS, "piton", "piton", "piton", &mut script);
    written.map_err(Failure::io("cannot write the script"))?;
    ui::answer_raw(&script);
    Ok(FINE)
}

/// Answer a shell, if one asks.
pub(crate) fn answer(command_line: fn() -> Command) -> bool {
    if std::env::var_os(ASKS).is_none() {
        return false;
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let here = std::env::current_dir().ok();
    let complete = CompleteEnv::with_factory(move || with_ids(command_line())).var(ASKS);
    // A shell has no place for an error: it completes nothing.
    complete.try_complete(words, here.as_deref()).unwrap_or(true)
}

/// The command line with all that is known of this project.
fn with_ids(mut command: Command) -> Command {
    command.build();
    known(command)
}

fn known(command: Command) -> Command {
    let makes_a_task = command.get_name() == "add";
    let command = command.mut_args(|arg| {
        let holds = arg.get_value_parser().type_id();
        match arg.get_id().as_str() {
            // A new task has an id of its own.
            "task" if makes_a_task => arg,
            "run" | "of_run" => arg.add(ArgValueCandidates::new(runs)),
            "seen" => arg.add(ArgValueCandidates::new(waiting)),
            // It is a task, or the file of a plan.
            "what" if holds == TypeId::of::<String>() => arg.add(ArgValueCompleter::new(tasks_and_files)),
            "project_path" | "worktree_dir" | "dir" | "folder" => arg.value_hint(ValueHint::DirPath),
            _ if holds == TypeId::of::<TaskId>() => arg.add(ArgValueCandidates::new(tasks)),
            _ if holds == TypeId::of::<Utf8PathBuf>() => arg.value_hint(ValueHint::AnyPath),
            _ => arg,
        }
    });
    command.mut_subcommands(known)
}

fn tasks_and_files(begun: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = tasks();
    all.retain(|task| task.get_value().as_encoded_bytes().starts_with(begun.as_encoded_bytes()));
    all.extend(PathCompleter::any().complete(begun));
    all
}

/// The keys of what waits for a person, as `piton inbox` shows them.
fn waiting() -> Vec<CompletionCandidate> {
    let project = find::project(None).ok();
    let items = project.and_then(|project| inbox::of_project(&project).ok()).unwrap_or_default();
    let you = command::you();
    let new = items.iter().filter(|item| !item.seen_by.contains(&you));
    let new = new.map(|item| candidate(&item.key, &item.reason));
    new.chain([candidate("all", "everything that waits for you")]).collect()
}

/// The tasks of the run that the command line names, or of the newest unfinished one.
fn tasks() -> Vec<CompletionCandidate> {
    let Some(journal) = journal() else { return Vec::new() };
    let all = journal.runs().unwrap_or_default();
    let words: Vec<String> = std::env::args().collect();
    let named = words.iter().position(|word| word == "--run").and_then(|at| words.get(at + 1));
    let named = named.and_then(|name| all.iter().find(|run| run.id.as_str().starts_with(name.as_str())));
    let newest = || find::unfinished(&all).first().copied().or(all.first());
    let Some(run) = named.or_else(newest) else { return Vec::new() };
    let tasks = journal.titled(&run.id).unwrap_or_default();
    let tasks = tasks.into_iter().filter(|(task, _)| !task.removed);
    tasks.map(|(task, title)| candidate(task.id.as_str(), &title)).collect()
}

fn runs() -> Vec<CompletionCandidate> {
    let all = journal().and_then(|journal| journal.runs().ok()).unwrap_or_default();
    all.iter().map(|run| candidate(run.id.as_str(), &run.plan)).collect()
}

fn candidate(value: &str, about: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(ui::plain(about).into()))
}

/// The journal around this folder, if there is one.
fn journal() -> Option<Journal> {
    let project = find::project(None).ok()?;
    project.existing_journal().ok().flatten()
}
