//! The runs that a journal knows of a plan.

use camino::Utf8Path;
use piton_core::plan::{Dialect, RunId};
use piton_core::system::iterative::state;
use piton_engine::journal::{Journal, RunSummary};

use crate::failure::Outcome;

/// The newest run of a plan, unless the folder that it was about is put away and another has its name.
pub(crate) fn run_of_plan(journal: &Journal, plan: &Utf8Path) -> Outcome<Option<RunId>> {
    match journal.runs()?.into_iter().find(|run| run.plan == plan) {
        Some(run) if !is_put_away(journal, &run)? => Ok(Some(run.id)),
        _ => Ok(None),
    }
}

/// Whether the folder of a run of the iterative system was archived: it says so itself, and what is there now is not its.
pub(crate) fn is_put_away(journal: &Journal, run: &RunSummary) -> Outcome<bool> {
    let dialect = journal.facts(&run.id)?.map(|facts| facts.settings.dialect());
    if dialect != Some(Dialect::Iterative) || run.engine.is_some() {
        return Ok(false);
    }
    let chronicle = journal.chronicle(&run.id)?;
    let phase = chronicle.carried.get(state::FILE).and_then(|fields| fields["phase"].as_str());
    let shown = || std::fs::read_to_string(Utf8Path::new(&run.plan).join(state::FILE)).unwrap_or_default();
    Ok(phase == Some(state::PhaseWord::Complete.word()) && !shown().contains(run.id.as_str()))
}
