//! What can be typed about providers and what agents use.

use clap::Args;

use super::Which;

#[derive(Debug, Args)]
pub(crate) struct Unpark {
    /// The provider, as `piton status` names it
    pub provider: String,
    /// Ask no test question
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// What the rows are; runs and days are of all runs here, unless one is named
    #[arg(long = "by", id = "rows", value_name = "WHAT", default_value = "task")]
    pub by: CostBy,
    #[command(flatten)]
    pub which: Which,
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CostBy {
    Task,
    Attempt,
    Agent,
    Model,
    Run,
    Day,
}

impl CostBy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CostBy::Task => "task",
            CostBy::Attempt => "attempt",
            CostBy::Agent => "agent",
            CostBy::Model => "model",
            CostBy::Run => "run",
            CostBy::Day => "day",
        }
    }
}
