//! `piton watch`: a run on the whole screen. Reads only; what is done from there are commands.

use std::io::IsTerminal;

use clap::Args;

use crate::args::Which;
use crate::failure::{Exit, Failure, Outcome};
use crate::runs::find;
use crate::runs::found::FoundRun;
use crate::screen;

#[derive(Debug, Args)]
#[command(after_help = "`?` lists the keys. Leaving it does not stop the run.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub which: Which,
}

pub(crate) fn watch(args: &WatchArgs) -> Outcome<Exit> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if is_dumb || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage("`piton watch` needs a terminal")
            .hint("piton log --follow   prints what happens, line by line")
            .hint("piton status"));
    }
    let FoundRun { project, journal, run } = find::run(&args.which)?;
    let runs = journal.runs()?;
    let is_one_of_several = find::unfinished(&runs).iter().any(|other| other.id != run);
    drop(journal);
    let mut which = Vec::new();
    if is_one_of_several || args.which.run.is_some() || args.which.plan.is_some() {
        which.extend(["--run".to_owned(), run.to_string()]);
    }
    if args.which.project_path.is_some() || args.which.plan.is_some() {
        which.extend(["--project-path".to_owned(), project.root.to_string()]);
    }
    screen::watch(&project, &run, which)
}
