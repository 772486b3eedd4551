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
    let (facts, chronicle) = (standing::facts(&journal, &run)?, journal.happened(&run)?);
    let planned = standing::summary(&journal, &facts)?.counts.total() as usize;
    let specs = journal.specs_of(&run, chronicle.completed())?;
    let own = match &args.task {
        None => None,
        Some(id) => {
            let known = journal.task(&run, id)?.filter(|task| !task.removed);
            let known = known.ok_or_else(|| find::no_task(&journal, &run, id))?;
            journal.spec(&run, id)?.map(|spec| (spec, known.spent + 1))
        }
    };
    let task = own.as_ref().map(|(spec, attempt)| (spec, *attempt));
    let mut orientation = Orientation::of_part(&facts, planned, &specs, &chronicle, task);
    if args.json {
        orientation.cut_to(args.max_bytes, Format::Json);
        ui::answer_json(&orientation.document());
    } else {
        orientation.cut_to(args.max_bytes, Format::Text);
        ui::answer(orientation.to_string());
    }
    Ok(FINE)
}
