//! Arguments that several commands share.

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use piton_core::plan::{Dialect, TaskId};

const WHICH: &str = "Which run";

/// Which run is meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Which {
    /// The run, or an unambiguous beginning of its id [default: the newest unfinished one here]
    #[arg(long = "run", value_name = "RUN", env = "PITON_RUN", help_heading = WHICH)]
    pub run: Option<String>,
    /// The newest run of this plan
    #[arg(long, value_name = "PLAN", help_heading = WHICH)]
    pub plan: Option<Utf8PathBuf>,
    /// The project [default: the one around this folder, or around the plan]
    #[arg(long, value_name = "DIR", help_heading = WHICH)]
    pub project_path: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// plan.toml
    Native,
    /// manifest.json, layer_plan.json and an XML file for each task
    Execute,
    /// An issue's folder with tasks.md, or plan.md
    Issue,
    /// A todolist with stories and tags, of rw-kit
    Rwkit,
    /// A folder with brief.md and tasks.md, or plan.md, worked on in iterations
    Iterative,
}

impl From<DialectArg> for Dialect {
    fn from(arg: DialectArg) -> Dialect {
        match arg {
            DialectArg::Native => Dialect::Native,
            DialectArg::Execute => Dialect::Execute,
            DialectArg::Issue => Dialect::Issue,
            DialectArg::Rwkit => Dialect::Rwkit,
            DialectArg::Iterative => Dialect::Iterative,
        }
    }
}

/// How much is said while something runs.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Loudness {
    /// Print everything
    #[arg(long, short, conflicts_with_all = ["quiet", "json"], help_heading = "Output")]
    pub verbose: bool,
    /// Print only what went wrong, and the end
    #[arg(long, short, conflicts_with = "json", help_heading = "Output")]
    pub quiet: bool,
    /// Print one JSON object per event
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfTask {
    /// The task's id
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OfRun {
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct By {
    /// Who does it
    #[arg(long, value_name = "NAME", env = "PITON_HOLDER", default_value = "you")]
    pub by: String,
}
