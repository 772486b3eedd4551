//! What can be typed about the runs of a project.

use camino::Utf8PathBuf;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: piton close plan-1a2b3c --reason 'the new plan replaces it'\n\
    Nothing is removed: `piton clean` removes worktrees later, and `piton run PLAN` opens the run again.")]
pub(crate) struct Close {
    /// The run, or an unambiguous beginning of its id; or its plan
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Why nobody wants it any more
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub reason: String,
    /// The project [default: the one around this folder, or around the plan]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    #[arg(long)]
    pub json: bool,
}
