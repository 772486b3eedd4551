//! `piton plan`: what a plan says, before anything is done.

mod encoding;
mod every;
pub(crate) mod new;
pub(crate) mod rehearse;

use camino::Utf8PathBuf;
use clap::Args;

use crate::args::SystemArg;
use crate::failure::{Exit, FINE, Outcome};
use crate::plans::{self, How};
use crate::runs::master;
use crate::runs::preview::{self, PreviewForm};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct PlanArgs {
    /// The plan's file or folder, the number or slug that it goes by, or issues, as in gh:label:NAME
    pub plan: Utf8PathBuf,
    /// The system the plan is of [default: as its files tell]
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: Option<SystemArg>,
    /// Reject what would be repaired or only warned about
    #[arg(long)]
    pub strict: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List every task, however many there are; with --every, each line that was not understood
    #[arg(long)]
    pub all: bool,
    /// Read every plan below this folder, and only count: boxes seen, tasks made, lines not understood
    #[arg(long, conflicts_with = "fix_encoding")]
    pub every: bool,
    /// Correct characters that were decoded wrongly, like `âœ…`; the old file is kept next to it
    #[arg(long)]
    pub fix_encoding: bool,
}

pub(crate) fn plan(args: &PlanArgs) -> Outcome<Exit> {
    let how =
        How { system: args.dialect.map(|arg| arg.0), strict: args.strict, lint: true, ..How::default() };
    if args.every {
        return every::plans(&args.plan, how, args.all, args.json);
    }
    let form = match (args.json, args.all) {
        (true, _) => PreviewForm::Json,
        (false, true) => PreviewForm::EveryTask,
        (false, false) => PreviewForm::Short,
    };
    if args.fix_encoding {
        encoding::fix(&args.plan, how.system)?;
    }
    if let Some(collection) = master::collection(&args.plan) {
        return master::plan(&args.plan, collection, How { system: None, ..how }, form);
    }
    let found = plans::plan(&args.plan, how)?;
    preview::show(&found, &preview::session(&found.plan), form, &preview::missing(&found)?);
    // The program ends here, and taking a large plan apart takes a while.
    std::mem::forget(found);
    Ok(FINE)
}
