//! Arguments that several commands share.

use camino::Utf8PathBuf;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParserFactory};
use piton_core::plan::TaskId;
use piton_core::system::{SystemRef, named, systems};

const WHICH: &str = "Which run";

/// Which run a command is about.
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

/// A system by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SystemArg(pub SystemRef);

impl ValueParserFactory for SystemArg {
    type Parser = clap::builder::ValueParser;

    fn value_parser() -> Self::Parser {
        let value = |system: SystemRef| PossibleValue::new(system.name()).help(system.about());
        let names = PossibleValuesParser::new(systems().map(value));
        names.map(|name| SystemArg(named(&name).expect("it is one of the names"))).into()
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
