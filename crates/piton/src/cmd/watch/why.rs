//! `piton why`: the chain of causes.

use crate::args::OfTask;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{explain, find, standing};
use crate::{commands, ui};

pub(crate) fn why(args: &OfTask) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let why = explain::why(&project, &journal, &facts, &args.task)?;
    let mut why = why.ok_or_else(|| find::no_task(&journal, &run, &args.task))?;
    why.helps.iter_mut().for_each(|help| *help = commands::complete(help));
    why.causes.iter_mut().for_each(|cause| cause.text = commands::complete(&cause.text));
    if args.json {
        ui::answer_json(&serde_json::to_value(&why).unwrap_or_default());
    } else {
        ui::answer(why.to_string());
    }
    Ok(FINE)
}
