//! `piton orient`: what a newcomer to a run has to know. Changes nothing.

use clap::Args;
use piton_core::plan::TaskId;
use piton_core::run::Status;
use piton_core::terminal::clean_text;
use piton_core::view::{Asked, Format};

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
    let facts = standing::facts(&journal, &run)?;
    let counts = standing::summary(&journal, &facts)?.counts;
    let own = match &args.task {
        None => None,
        Some(id) => {
            let known = journal.task(&run, id)?.filter(|task| !task.removed);
            let known = known.ok_or_else(|| find::no_task(&journal, &run, id))?;
            let story = journal.stories(&run, [id])?;
            journal.spec(&run, id)?.map(|spec| (spec, known.spent + 1, story))
        }
    };
    let orientation = journal.orientation(Asked {
        run: &run,
        done: counts.of(Status::Completed) as usize,
        planned: counts.total() as usize,
        task: own.as_ref().map(|(spec, attempt, story)| (spec, *attempt, story.task(&spec.id))),
        most: args.max_bytes,
        form: if args.json { Format::Json } else { Format::Text },
    })?;
    if args.json {
        ui::answer_json(&orientation.document());
    } else {
        ui::answer(clean_text(orientation.to_string().as_bytes()));
    }
    Ok(FINE)
}
