//! `piton runs`: the runs of a project.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::run::Status;
use piton_core::view::RunStatus;
use piton_engine::clock;
use piton_engine::journal::{Journal, RunSummary};
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::failure::{Exit, FINE, Outcome};
use crate::runs::{find, hints, standing};
use crate::{paths, ui};

#[derive(Debug, Args)]
#[command(after_help = "Example: piton runs --json | jq '.runs[] | select(.finished | not) | .run'")]
pub(crate) struct RunsArgs {
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Every run, newest first. Reads only.
pub(crate) fn runs(args: &RunsArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let journal = Journal::open_existing(&project.home)?;
    let all = journal.as_ref().map(Journal::runs).transpose()?.unwrap_or_default();
    let mut rows = Vec::new();
    for run in journal.iter().flat_map(|journal| all.iter().map(move |run| (journal, run))) {
        rows.push(Row::new(&project, run.0, run.1, &all)?);
    }
    if args.json {
        ui::answer_json(&json!({ "runs": rows.iter().map(Row::document).collect::<Vec<_>>() }));
        return Ok(FINE);
    }
    if rows.is_empty() {
        ui::say(format!("there is no run in {}", project.root));
        hints::plan_hints(&project.root).iter().for_each(ui::hint);
        return Ok(FINE);
    }
    let width = rows.iter().map(|row| row.run.id.as_str().len()).max().unwrap_or(0);
    let words = rows.iter().map(|row| row.word().chars().count()).max().unwrap_or(0);
    let now = clock::now();
    for row in &rows {
        let done = row.run.counts.of(Status::Completed);
        let counts = format!("{done}/{}", row.run.counts.total());
        let touched = format!("{} ago", now.since(row.touched));
        let plan = ui::plain(&paths::shown(Utf8Path::new(&row.run.plan)));
        ui::answer_line(format!(
            "{}{:pad$}  {:words$}  {counts:>7} done  {touched:>12}  {plan}",
            ui::styled(ui::BOLD, row.run.id.as_str()),
            "",
            row.word(),
            pad = width - row.run.id.as_str().len(),
        ));
    }
    Ok(FINE)
}

/// A run in the list.
struct Row {
    run: RunSummary,
    status: RunStatus,
    alive: bool,
    /// When its journal was written last.
    touched: piton_core::time::Timestamp,
    /// A newer run of the same plan has taken its place.
    replaced: bool,
}

impl Row {
    fn new(project: &Project, journal: &Journal, run: &RunSummary, all: &[RunSummary]) -> Outcome<Row> {
        let facts = standing::facts(journal, &run.id)?;
        let stale = standing::stale(project, journal, &facts, &run.counts)?;
        let last = journal.event(&run.id, run.seq)?;
        let newest = all.iter().find(|other| other.plan == run.plan);
        Ok(Row {
            status: standing::state(project, &facts, &run.counts, &stale),
            alive: project.engine_lives(&run.id),
            touched: last.map_or(run.created, |last| last.at),
            replaced: newest.is_some_and(|newest| newest.id != run.id),
            run: run.clone(),
        })
    }

    fn word(&self) -> String {
        let word = match &self.status {
            RunStatus::Stale { .. } => "not complete",
            RunStatus::Ended => "ended",
            status => status.word(),
        };
        if self.replaced { format!("{word}, replaced") } else { word.to_owned() }
    }

    fn document(&self) -> Value {
        let Row { run, status, alive, touched, replaced } = self;
        json!({
            "run": run.id, "plan": run.plan, "name": run.name, "state": status, "engine_alive": alive,
            "done": run.counts.of(Status::Completed), "total": run.counts.total(),
            "finished": run.is_finished(), "closed": run.closed.is_some(), "replaced": replaced,
            "created": run.created.to_string(), "touched": touched.to_string(),
        })
    }
}
