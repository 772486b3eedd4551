//! `piton new`: a plan to begin with.

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use piton_core::plan::{Adapter, Dialect, Domain, GroupId, RepoPath};
use piton_core::run::shell_word;
use piton_core::system::config::DEFAULT_AGENT;
use piton_core::system::{execute, native, rwkit};

use crate::cmd::plan::{new_folder, new_issue};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{self, typed};
use crate::preflight::is_runnable;
use crate::{plans, ui};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The plan's name, after the system it is for: `piton new NAME` writes NAME.toml, `piton new execute NAME` a
    /// folder docs/tasks/NAME, or NAME itself if it is a path, `piton new issue NUMBER SLUG` a folder
    /// .claude/plans/issue-NUMBER-SLUG, `piton new iterative NAME` a folder .claude/iterative/NAME
    #[arg(value_name = "[SYSTEM] NAME", num_args = 1..=3, required = true)]
    pub words: Vec<String>,
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
    let is_iterative = matches!(&args.words[..], [system, _] if system == Dialect::Iterative.name());
    if args.knowledge.is_some() && !is_iterative {
        return Err(Failure::usage("--knowledge is for `piton new iterative NAME`"));
    }
    match &args.words[..] {
        [_, name] if is_iterative => {
            let domain = args.knowledge.map_or(Domain::Feature, Into::into);
            new_folder::new(name, domain, args.force)
        }
        [system, name] if system == Dialect::Execute.name() => new_execute(name, args.force),
        [system, number, slug] if system == Dialect::Issue.name() => new_issue::new(number, slug, args.force),
        [system, ..] if system == Dialect::Issue.name() => {
            Err(Failure::usage("say which issue, and a word for it: piton new issue NUMBER SLUG"))
        }
        [system, name] if system == Dialect::Rwkit.name() => new_list(name, args.force),
        [system, name] if system == Dialect::Native.name() => new_native(name, args.force),
        [system, _] | [system, _, _] => {
            let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
            let failure = Failure::usage(format!("there is no system `{system}`"));
            Err(failure.hint(format!("there are {}", known.join(", "))))
        }
        [name] => new_native(name, args.force),
        _ => Err(Failure::usage("say what it is called: piton new NAME")),
    }
}

fn new_native(name: &str, force: bool) -> Outcome<Exit> {
    let path = if name.ends_with(".toml") { name.to_owned() } else { format!("{name}.toml") };
    let path = Utf8PathBuf::from(path);
    if path.exists() && !force {
        return Err(Failure::new(format!("{path} exists already"))
            .hint(format!("piton new {} --force", shell_word(name))));
    }
    let stem = path.file_stem().unwrap_or("plan");
    let worker = worker()?;
    paths::write(&path, &native::starter(stem, worker))?;
    ui::say(format!("wrote {path}"));
    if worker == native::Worker::Nobody {
        ui::hint("no coding agent was found here: say in [agents.default] who does the work");
    }
    ui::hint(format!("edit it, then: piton plan {}", typed(&path)));
    Ok(FINE)
}

/// Who can work on a new plan: whom the project names, or the first known client that is installed.
fn worker() -> Outcome<native::Worker> {
    let config = plans::config(&paths::here()?)?.unwrap_or_default();
    let usual = config.defaults.agent.as_deref().unwrap_or(DEFAULT_AGENT);
    if config.agents.contains_key(usual) {
        return Ok(native::Worker::OfProject);
    }
    let mut clients = Adapter::ALL.into_iter().filter(|adapter| !adapter.is_command());
    let found = clients.find(|adapter| is_runnable(adapter.name(), Utf8Path::new(".")));
    Ok(found.map_or(native::Worker::Nobody, native::Worker::Client))
}

fn new_list(name: &str, force: bool) -> Outcome<Exit> {
    let named = if rwkit::is_list(name) { name.to_owned() } else { format!("{name}-todolist.md") };
    let stem = rwkit::stem(&named);
    let wrong = |bad| Failure::usage(format!("a list cannot be called {name:?}: {bad}"));
    RepoPath::new(name).map_err(wrong)?;
    GroupId::new(stem).map_err(wrong)?;
    let path =
        if name.contains('/') { Utf8PathBuf::from(&named) } else { Utf8Path::new("plans").join(&named) };
    if path.exists() && !force {
        let failure = Failure::new(format!("{path} exists already"));
        return Err(failure.hint(format!("piton new rwkit {} --force", shell_word(name))));
    }
    paths::write(&path, &rwkit::write::skeleton(rwkit::stem(path.as_str())))?;
    ui::say(format!("wrote {path}"));
    ui::hint(format!("edit its tasks, then: piton plan {}", typed(&path)));
    Ok(FINE)
}

fn new_execute(name: &str, force: bool) -> Outcome<Exit> {
    let folder = if name.contains('/') { name.into() } else { Utf8Path::new("docs/tasks").join(name) };
    let is_used = folder.read_dir_utf8().is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !force {
        let failure = Failure::new(format!("{folder} exists already"));
        return Err(failure.hint(format!("piton new execute {} --force", shell_word(name))));
    }
    for (file, text) in execute::plan::starter(folder.file_name().unwrap_or("plan")) {
        paths::write(&folder.join(file), &text)?;
    }
    ui::say(format!("wrote {folder}"));
    ui::hint(format!("edit its tasks, then: piton plan {}", typed(&folder)));
    Ok(FINE)
}
