//! `piton new`: a plan to begin with.

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use piton_core::client::Adapter;
use piton_core::plan::{Check, Domain};
use piton_core::run::Refusal;
use piton_core::system::config::{Config, DEFAULT_AGENT};
use piton_core::system::{
    Asked, ListText, Starter, System, SystemRef, UsualChecks, Worker, named, own, systems,
};
use piton_engine::clock;
use piton_engine::takeover::archived;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{self, typed};
use crate::programs::is_runnable;
use crate::{plans, ui};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The plan's name, after the system it is for: `piton new NAME` writes NAME.toml, `piton new execute NAME` a
    /// folder docs/tasks/NAME, or NAME itself if it is a path, `piton new issue NUMBER SLUG` a folder
    /// .claude/plans/issue-NUMBER-SLUG, `piton new iterative NAME` a folder .claude/iterative/NAME
    #[arg(value_name = "[SYSTEM] NAME", num_args = 1..=3, required_unless_present = "from")]
    pub words: Vec<String>,
    /// Make a plan of the list in this file: its boxes, bullets or numbered lines become tasks
    #[arg(long, value_name = "FILE")]
    pub from: Option<Utf8PathBuf>,
    /// Write every key, each with an explanation
    #[arg(long, conflicts_with = "from")]
    pub full: bool,
    /// For `iterative`: something to be read instead of code
    #[arg(long, value_name = "DOMAIN")]
    pub knowledge: Option<DomainArg>,
    /// Replace a file that exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DomainArg {
    Research,
    Writing,
    Analysis,
    Planning,
}

impl From<DomainArg> for Domain {
    fn from(arg: DomainArg) -> Domain {
        match arg {
            DomainArg::Research => Domain::Research,
            DomainArg::Writing => Domain::Writing,
            DomainArg::Analysis => Domain::Analysis,
            DomainArg::Planning => Domain::Planning,
        }
    }
}

pub(crate) fn new(args: &NewArgs) -> Outcome<Exit> {
    let (first, rest) =
        args.words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    // A single word is the name of the plan, even if it is also the name of a system whose plans have names.
    let named = named(first).filter(|system| !rest.is_empty() || system.policy().name_words > 1);
    let makes_knowledge = |system: &SystemRef| system.policy().makes_knowledge;
    if args.knowledge.is_some() && named.filter(makes_knowledge).is_none() {
        let names: Vec<&str> = systems().filter(makes_knowledge).map(System::name).collect();
        return Err(Failure::usage(format!("--knowledge is for `piton new {} NAME`", names.join("|"))));
    }
    let is_own = named.is_none_or(|system| system.policy().holds_settings);
    if (args.full || args.from.is_some()) && !is_own {
        let flag = if args.full { "--full" } else { "--from" };
        return Err(Failure::usage(format!("{flag} is for plans of Piton's own: piton new NAME {flag}")));
    }
    if let (true, Some(from)) = (args.words.is_empty(), &args.from) {
        let name = from.file_stem().unwrap_or("plan").to_owned();
        return begin(own(), &[name], args);
    }
    match named {
        Some(system) => begin(system, rest, args),
        None if rest.is_empty() => begin(own(), &args.words, args),
        None => {
            let known: Vec<&str> = systems().map(System::name).collect();
            let failure = Failure::usage(format!("there is no system `{first}`"));
            Err(failure.hint(format!("there are {}", known.join(", "))))
        }
    }
}

fn begin(system: SystemRef, words: &[String], args: &NewArgs) -> Outcome<Exit> {
    let starter = system.starter(words).map_err(refused)?;
    let path = place(&starter)?;
    let is_file = system.files().plan_is_file;
    let is_used = match is_file {
        true => path.exists(),
        false => path.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some()),
    };
    if is_used && !args.force {
        let failure = Failure::new(format!("{path} already exists"));
        if let Some(from) = &args.from {
            let hint = format!("piton new {} --from {} --force", typed(&path), typed(from));
            return Err(failure.hint(hint));
        }
        return Err(starter.taken.into_iter().fold(failure, Failure::hint));
    }
    let list = args.from.as_deref().map(list_in).transpose()?;
    // Elsewhere piton.toml alone holds settings.
    let config = match system.policy().holds_settings {
        true => Some(plans::config(&paths::here()?)?.unwrap_or_default()),
        false => None,
    };
    let found = config.as_ref().map(checks).transpose()?.flatten();
    let begun = system
        .begin(&Asked {
            words,
            domain: args.knowledge.map(Into::into),
            path: path.as_str(),
            typed: &typed(&path),
            worker: config.as_ref().map_or(Worker::OfProject, worker),
            checks: found.as_deref().map_or(UsualChecks::OfProject, UsualChecks::Found),
            is_full: args.full,
            list: args
                .from
                .as_ref()
                .zip(list.as_deref())
                .map(|(name, bytes)| ListText { name: name.as_str(), bytes }),
            now: clock::now(),
            read: &|name| std::fs::read_to_string(path.join(name)).ok(),
            archived: &|name| match (path.parent(), system.files().archive) {
                (Some(around), Some(archive)) => archived(&around.join(archive.place), name),
                _ => Vec::new(),
            },
        })
        .map_err(refused)?;
    for (file, text) in &begun.files {
        paths::write(&if is_file { path.clone() } else { path.join(file) }, text)?;
    }
    ui::say(format!("wrote {path}"));
    begun.said.iter().for_each(ui::say);
    begun.hints.iter().for_each(ui::hint);
    Ok(FINE)
}

fn refused(refusal: Refusal) -> Failure {
    refusal.hint.into_iter().fold(Failure::usage(refusal.reason), Failure::hint)
}

/// Where a plan begins: from here, or from the project's top.
fn place(starter: &Starter) -> Outcome<Utf8PathBuf> {
    if starter.below.is_empty() {
        return Ok(Utf8PathBuf::from(&starter.path));
    }
    let here = paths::here()?;
    let is_top = |above: &&Utf8Path| starter.below.iter().any(|name| above.join(name).exists());
    let top = here.ancestors().find(is_top).unwrap_or(&here);
    Ok(Utf8PathBuf::from(paths::shown(&top.join(&starter.path))))
}

/// The agent for a new plan: the one that the project names, or the first known client that is installed.
fn worker(config: &Config) -> Worker {
    let usual = config.defaults.agent.as_deref().unwrap_or(DEFAULT_AGENT);
    if config.agents.contains_key(usual) {
        return Worker::OfProject;
    }
    let found = Adapter::known().find(|adapter| is_runnable(adapter.name(), Utf8Path::new(".")));
    found.map_or(Worker::Missing, Worker::Client)
}

/// A larger list was not written by a person.
const LARGEST: u64 = 4 << 20;

fn list_in(path: &Utf8Path) -> Outcome<Vec<u8>> {
    let cannot = || Failure::io(format!("cannot read {path}"));
    let data = std::fs::metadata(path).map_err(cannot())?;
    if !data.is_file() {
        return Err(Failure::new(format!("{path} is not a file")));
    }
    if data.len() > LARGEST {
        let size = paths::size(LARGEST);
        return Err(Failure::new(format!("{path} is larger than {size}")).hint("split it into several files"));
    }
    std::fs::read(path).map_err(cannot())
}

/// The checks for a new plan, each with what speaks for it. `None`: the project names them.
fn checks(config: &Config) -> Outcome<Option<Vec<(Check, String)>>> {
    if config.defaults.checks.is_some() {
        return Ok(None);
    }
    let here = paths::here()?;
    let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here);
    let runnable = plans::checks(root)?.into_iter().filter(|seen| seen.missing.is_none());
    Ok(Some(runnable.map(|seen| (seen.check, seen.why)).collect()))
}
