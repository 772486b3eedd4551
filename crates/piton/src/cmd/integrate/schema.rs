//! The JSON Schemas of our files, as `cargo xtask generate` writes them: what makes them is not part of the program.

use clap::{Args, ValueEnum};

use crate::failure::{Exit, FINE, Outcome};
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
    ui::answer(match args.name {
        SchemaName::Plan => include_str!("../../../../../schemas/plan.schema.json"),
        SchemaName::Config => include_str!("../../../../../schemas/config.schema.json"),
        SchemaName::ExecuteState => include_str!("../../../../../schemas/execute-state.schema.json"),
        SchemaName::ExecutionState => include_str!("../../../../../schemas/execution-state.schema.json"),
        SchemaName::RwKitState => include_str!("../../../../../schemas/rw-kit.state.schema.json"),
        SchemaName::IterativeState => include_str!("../../../../../schemas/iterative-state.schema.json"),
    });
    Ok(FINE)
}
