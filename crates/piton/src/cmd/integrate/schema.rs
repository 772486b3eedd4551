//! The JSON Schemas of our files.

use clap::{Args, ValueEnum};
use piton_core::system::{execute, issue, iterative, native, rwkit};

use crate::cmd::{Exit, FINE};
use crate::failure::Outcome;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    pub name: SchemaName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaName {
    /// plan.toml
    Plan,
    /// piton.toml
    Config,
    /// execute-state.json
    ExecuteState,
    /// execution-state.json
    ExecutionState,
    /// rw-kit.state.json
    #[value(name = "rw-kit-state")]
    RwKitState,
    /// state.json
    IterativeState,
}

pub(crate) fn schema(args: &SchemaArgs) -> Outcome<Exit> {
    ui::answer_json(&match args.name {
        SchemaName::Plan => native::schema(),
        SchemaName::Config => native::config_schema(),
        SchemaName::ExecuteState => execute::state::schema(),
        SchemaName::ExecutionState => issue::state::schema(),
        SchemaName::RwKitState => rwkit::state::schema(),
        SchemaName::IterativeState => iterative::state::schema(),
    });
    Ok(FINE)
}
