//! `piton status`: where a run stands. Reads only.

use clap::Args;
use piton_core::plan::{RunId, TaskId};
use piton_engine::clock;
use piton_engine::journal::Journal;

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::show::{self, Listed};
use crate::runs::{document, find, master, standing};
use crate::{plans, ui};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// A task, or a plan's file [default: the whole run]
    pub what: Option<String>,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List every task, however many there are
    #[arg(long)]
    pub all: bool,
}

pub(crate) fn status(args: &StatusArgs) -> Outcome<Exit> {
    let mut which = args.which.clone();
    let mut task = None;
    if let Some(what) = &args.what {
        let path = camino::Utf8Path::new(what);
        let is_named = which.run.is_none() && which.plan.is_none() && plans::is_meant(what);
        if path.exists() || is_named {
            which = Which { plan: Some(path.to_owned()), run: None, ..which };
        } else {
            let id = TaskId::new(what)
                .map_err(|bad| Failure::usage(format!("`{what}` is neither a plan nor a task id: {bad}")))?;
            task = Some(id);
        }
    }
    let listed = which.plan.as_ref().and_then(|plan| Some((plan, master::collection(plan)?)));
    if let Some((plan, collection)) = listed {
        return master::status(plan, collection, which.project_path.as_deref(), args.json);
    }
    let found = task.as_ref().map_or_else(|| find::run(&which), |task| find::run_of(task, &which));
    let FoundRun { project, mut journal, run } = found?;
    match (task, args.json) {
        (Some(task), json) => one(&journal, &run, &task, json)?,
        (None, true) => ui::answer_json(&document::run(&project, &journal, &run, Listed::All)?),
        (None, false) => {
            let listed = if args.all { Listed::All } else { Listed::Some };
            show::show(&project, &mut journal, &run, listed)?;
        }
    }
    Ok(FINE)
}

fn one(journal: &Journal, run: &RunId, id: &TaskId, as_json: bool) -> Outcome {
    let Some(task) = journal.task(run, id)? else {
        return Err(find::no_task(journal, run, id));
    };
    if task.removed {
        return Err(Failure::new(format!("{id} is no longer in the plan")).hint("piton status --all"));
    }
    if as_json {
        ui::answer_json(&document::task(journal, run, &task)?);
    } else {
        let title = show::title(journal, run, id)?;
        ui::answer_line(show::task_line(journal, run, &task, &title, clock::now())?.trim_start());
        if let Some(reason) = standing::facts(journal, run)?.noticed.get(id) {
            ui::answer_line(ui::styled(ui::WARNING, ui::plain(&format!("look at it: {reason}"))));
        }
    }
    Ok(())
}
