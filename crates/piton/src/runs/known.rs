//! The runs that a journal knows of a plan.

use camino::Utf8Path;
use piton_core::plan::RunId;
use piton_engine::journal::{Journal, RunSummary};

use crate::failure::Outcome;

/// The newest run of a plan, unless the folder that it was about is put away and another has its name.
pub(crate) fn run_of_plan(journal: &Journal, plan: &Utf8Path) -> Outcome<Option<RunId>> {
    match journal.runs()?.into_iter().find(|run| run.plan == plan) {
        Some(run) if !is_put_away(journal, &run)? => Ok(Some(run.id)),
        _ => Ok(None),
    }
}

/// Whether the folder of a run was archived: the last state that the run read said so, and the state file at its old
/// place does not name this run.
pub(crate) fn is_put_away(journal: &Journal, run: &RunSummary) -> Outcome<bool> {
    let Some(facts) = journal.facts(&run.id)?.filter(|_| run.engine.is_none()) else { return Ok(false) };
    let files = facts.settings.form.system().files();
    let last_word = files.archive.and_then(|archive| archive.last_word);
    let (Some(file), Some(last)) = (files.state, last_word) else { return Ok(false) };
    let chronicle = journal.chronicle(&run.id)?;
    let said = chronicle.carried.get(file).and_then(|fields| fields[last.field].as_str());
    let shown = || std::fs::read_to_string(Utf8Path::new(&run.plan).join(file)).unwrap_or_default();
    Ok(said == Some(last.word) && !shown().contains(run.id.as_str()))
}
