//! What can be typed for `piton init`.

use camino::Utf8PathBuf;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use piton_core::client::Adapter;

#[derive(Debug, Args)]
#[command(
    after_help = "Without --for, it writes piton.toml: the agent, checks and files of worktrees that it found. \
    It asks nothing, runs nothing of the project, and never changes a piton.toml that exists."
)]
pub(crate) struct InitArgs {
    /// Set up this client to keep the ledger with Piton: skill, hook and MCP entry
    #[arg(long = "for", value_name = "CLIENT", value_parser = able())]
    pub client: Option<Adapter>,
    /// With --for: take it out again, exactly
    #[arg(long, requires = "client")]
    pub remove: bool,
    /// With --for: write without asking
    #[arg(long, requires = "client")]
    pub yes: bool,
    /// Show what was found and what would be written
    #[arg(long, conflicts_with = "client")]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "client")]
    pub json: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
}

/// One of the clients that can keep the ledger.
fn able() -> impl TypedValueParser<Value = Adapter> {
    let able = Adapter::known().filter(|client| client.ledger().is_some());
    PossibleValuesParser::new(able.map(|client| client.name()))
        .map(|name| Adapter::named(&name).unwrap_or_default())
}
