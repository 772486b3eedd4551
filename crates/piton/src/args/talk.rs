//! What can be typed about agents: what they are told, and how they talk back.

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
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

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The client that is to keep the ledger with Piton
    #[arg(long = "for", value_name = "CLIENT")]
    pub client: Client,
    /// Take it out again, exactly
    #[arg(long)]
    pub remove: bool,
    /// Write without asking
    #[arg(long)]
    pub yes: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// When the client calls
    pub at: HookAt,
    /// Of an agent that Piton started: whether it has said what came of its task
    #[arg(long)]
    pub attempt: bool,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookAt {
    Stop,
}
