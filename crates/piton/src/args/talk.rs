//! What can be typed about agents: what they are told, and how they talk back.

use clap::Args;
use piton_core::plan::TaskId;

use super::{By, Which};

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Offer every operation of the ledger, not only the few that an agent needs
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub by: By,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
}
