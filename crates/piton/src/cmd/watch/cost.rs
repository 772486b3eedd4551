//! `piton cost`: what tries have used, by task, attempt, agent, model, run or day.

use clap::{Args, ValueEnum};
use piton_core::view::{self, By, Cost, Costs};
use piton_engine::journal::Journal;
use serde_json::{Value, json};

use crate::args::Which;
use crate::failure::{Exit, FINE, Outcome};
use crate::runs::find;
use crate::runs::found::FoundRun;
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

impl CostBy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CostBy::Task => "task",
            CostBy::Attempt => "attempt",
            CostBy::Agent => "agent",
            CostBy::Model => "model",
            CostBy::Run => "run",
            CostBy::Day => "day",
        }
    }
}

/// How many events are read at once.
const PAGE: usize = 1000;

pub(crate) fn cost(args: &CostArgs) -> Outcome<Exit> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let mut costs = Costs::default();
    let runs = match args.by {
        // The costs of all runs here, unless one is named.
        CostBy::Run | CostBy::Day if args.which.run.is_none() && args.which.plan.is_none() => {
            journal.runs()?.into_iter().map(|summary| summary.id).collect()
        }
        _ => vec![run],
    };
    for run in &runs {
        read(&journal, run, &mut costs)?;
    }
    let rows = costs.by(match args.by {
        CostBy::Task => By::Task,
        CostBy::Attempt => By::Attempt,
        CostBy::Agent => By::Agent,
        CostBy::Model => By::Model,
        CostBy::Run => By::Run,
        CostBy::Day => By::Day,
    });
    let total = costs.total();
    if args.json {
        let documents = rows.iter().map(|(name, row)| {
            let mut document = document(row);
            document["name"] = if name.is_empty() { Value::Null } else { json!(name) };
            document
        });
        let rows: Vec<Value> = documents.collect();
        ui::answer_json(&json!({ "by": args.by.name(), "rows": rows, "total": document(&total) }));
        return Ok(FINE);
    }
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

fn read(journal: &Journal, run: &piton_core::plan::RunId, costs: &mut Costs) -> Outcome {
    // What was only planned has cost nothing.
    let mut after = journal.begun(run)?;
    loop {
        let page = journal.events(run, after, None, PAGE)?;
        for recorded in &page {
            after = recorded.seq;
            costs.read(run, recorded);
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// `null` is unknown. What is estimated comes on top of what is reported.
fn document(cost: &Cost) -> Value {
    let mut document = crate::runs::standing::used_document(&cost.bill);
    document["unpriced_tokens"] = json!(cost.unpriced);
    document["worked_ms"] = json!(cost.worked.0);
    document
}
