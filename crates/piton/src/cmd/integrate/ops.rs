//! `piton ops`: what the ledger can do, and what people did by hand before.

use clap::Args;
use piton_core::system::SystemRef;
use piton_core::system::ops::{self, Op};
use serde_json::json;

use crate::args::{SystemArg, Which};
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::ui::{self, DIM};

#[derive(Debug, Args)]
pub(crate) struct OpsArgs {
    /// The system whose recipes are shown [default: that of the current run]
    #[arg(long, value_enum)]
    pub dialect: Option<SystemArg>,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn ops(args: &OpsArgs) -> Outcome<Exit> {
    let system: SystemRef = match args.dialect {
        Some(SystemArg(system)) => system,
        None => {
            let FoundRun { journal, run, .. } = find::run(&args.which)?;
            standing::facts(&journal, &run)?.settings.form.system()
        }
    };
    let all = ops::all(system);
    if args.json {
        let op = |op: &Op| json!({ "name": op.name, "command": op.command, "replaces": op.replaces });
        let operations: Vec<_> = all.iter().map(op).collect();
        ui::answer_json(&json!({ "dialect": system.name(), "operations": operations }));
        return Ok(FINE);
    }
    for Op { name, command, replaces } in all {
        ui::answer_line(format!("{name:15} {command}"));
        if let Some(recipe) = replaces {
            ui::answer_line(ui::styled(DIM, format!("{:15} instead of: {recipe}", "")));
        }
    }
    Ok(FINE)
}
