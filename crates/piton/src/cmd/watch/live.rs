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
    let FoundRun { project, run, .. } = find::run(&args.which)?;
    // Another run may begin at any time, so each command names the run that is shown.
    let mut which = vec!["--run".to_owned(), run.to_string()];
    let around = find::project(None).ok().map(|around| around.root);
    if args.which.project_path.is_some() || around.as_ref() != Some(&project.root) {
        which.extend(["--project-path".to_owned(), project.root.to_string()]);
    }
    screen::watch(&project, &run, which)
}
