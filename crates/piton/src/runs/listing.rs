//! The runs of a project, as `piton runs` lists them.

use piton_core::run::Status;
use piton_core::time::Timestamp;
use piton_core::view::RunStatus;
use piton_engine::journal::{Journal, RunSummary};
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::runs::standing;

/// Every run, newest first.
pub(crate) fn rows(project: &Project) -> Outcome<Vec<Row>> {
    let Some(journal) = project.existing_journal()? else { return Ok(Vec::new()) };
    let all = journal.runs()?;
    all.iter().map(|run| Row::new(project, &journal, run, &all)).collect()
}

/// The same for programs.
pub(crate) fn document(rows: &[Row]) -> Value {
    json!({ "runs": rows.iter().map(Row::document).collect::<Vec<_>>() })
}

/// A run in the list.
pub(crate) struct Row {
    pub run: RunSummary,
    pub status: RunStatus,
    pub alive: bool,
    /// When its journal was written last.
    pub touched: Timestamp,
    /// A newer run of the same plan has taken its place.
    pub replaced: bool,
}

impl Row {
    fn new(project: &Project, journal: &Journal, run: &RunSummary, all: &[RunSummary]) -> Outcome<Row> {
        let facts = standing::facts(journal, &run.id)?;
        let stale = standing::stale(project, journal, &facts, &run.counts)?;
        let last = journal.event(&run.id, run.seq)?;
        let newest = all.iter().find(|other| other.plan == run.plan);
        Ok(Row {
            status: standing::state(project, journal, &facts, &run.counts, &stale),
            alive: standing::engine_lives(project, journal, &facts),
            touched: last.map_or(run.created, |last| last.at),
            replaced: newest.is_some_and(|newest| newest.id != run.id),
            run: run.clone(),
        })
    }

    pub(crate) fn word(&self) -> String {
        let word = match &self.status {
            RunStatus::Stale { .. } => "not complete",
            RunStatus::Ended => "ended",
            status => status.word(),
        };
        if self.replaced { format!("{word}, replaced") } else { word.to_owned() }
    }

    pub(crate) fn document(&self) -> Value {
        let Row { run, status, alive, touched, replaced } = self;
        json!({
            "run": run.id, "plan": run.plan, "name": run.name, "state": status, "engine_alive": alive,
            "done": run.counts.of(Status::Completed), "total": run.counts.total(),
            "finished": run.is_finished(), "closed": run.closed.is_some(), "replaced": replaced,
            "created": run.created.to_string(), "touched": touched.to_string(), "seq": run.seq,
        })
    }
}
