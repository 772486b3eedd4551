//! `piton cost`: what tries have used, by task, attempt, agent, model, run or day.

use clap::{Args, ValueEnum};
use piton_core::view::{self, By};

use crate::args::Which;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{figures, find};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// What the rows are; runs and days are of all runs here, unless one is named
    #[arg(long = "by", id = "rows", value_name = "WHAT", default_value = "task")]
    pub by: CostBy,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    Task,
    Attempt,
    Agent,
    Model,
    Run,
    Day,
}

impl From<CostBy> for By {
    fn from(by: CostBy) -> By {
        match by {
            CostBy::Task => By::Task,
            CostBy::Attempt => By::Attempt,
            CostBy::Agent => By::Agent,
            CostBy::Model => By::Model,
            CostBy::Run => By::Run,
            CostBy::Day => By::Day,
        }
    }
}

pub(crate) fn cost(args: &CostArgs) -> Outcome<Exit> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let runs = match args.by {
        // The costs of all runs here, unless one is named.
        CostBy::Run | CostBy::Day if args.which.run.is_none() && args.which.plan.is_none() => {
            journal.runs()?.into_iter().map(|summary| summary.id).collect()
        }
        _ => vec![run],
    };
    let costs = figures::costs(&journal, &runs, args.by.into())?;
    if args.json {
        ui::answer_json(&figures::cost(&costs, args.by.into()));
        return Ok(FINE);
    }
    let (rows, total) = (costs.by(args.by.into()), costs.total());
    if total.bill.is_empty() {
        ui::say("no agent has worked yet");
        return Ok(FINE);
    }
    let named = |name: &str| if name.is_empty() { "(not named)".to_owned() } else { ui::plain(name) };
    let width = rows.keys().map(|name| named(name).chars().count()).max().unwrap_or(0).max("total".len());
    for (name, row) in &rows {
        ui::answer_line(format!("{:width$}  {}", named(name), view::cost(row)));
    }
    ui::answer_line(format!("{:width$}  {}", "total", view::cost(&total)));
    Ok(FINE)
}
