//! `piton orient`: what a newcomer to a run has to know. Changes nothing.

use clap::Args;
use piton_core::plan::TaskId;
use piton_core::view::{Format, Orientation};

use crate::args::Which;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct OrientArgs {
    /// Add the text of this task, and the feedback on its last try
    pub task: Option<TaskId>,
    /// Leave out the oldest entries beyond this size
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub max_bytes: usize,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn orient(args: &OrientArgs) -> Outcome<Exit> {
    let FoundRun { journal, run, .. } = match &args.task {
        Some(task) => find::run_of(task, &args.which),
        None => find::run(&args.which),
    }?;
    let (facts, specs) = (standing::facts(&journal, &run)?, journal.specs(&run)?);
    let chronicle = journal.chronicle(&run)?;
    let task = match &args.task {
        None => None,
        Some(id) => {
            let spec = specs.iter().find(|spec| spec.id == *id);
            let spec = spec.ok_or_else(|| find::no_task(&journal, &run, id))?;
            let spent = journal.task(&run, id)?.map_or(0, |task| task.spent);
            Some((spec, spent + 1))
        }
    };
    let mut orientation = Orientation::new(&facts, &specs, &chronicle, task);
    if args.json {
        orientation.cut_to(args.max_bytes, Format::Json);
        ui::answer_json(&orientation.document());
    } else {
        orientation.cut_to(args.max_bytes, Format::Text);
        ui::answer(orientation.to_string());
    }
    Ok(FINE)
}
