//! The run for work by hand.

use camino::Utf8Path;
use piton_core::plan::TaskId;

use crate::args::{Loudness, Which};
use crate::failure::Outcome;
use crate::plans::{self, How, Stamp};
use crate::runs::find::{self, beginning, run_to_change};
use crate::runs::flags::RunArgs;
use crate::runs::found::FoundRun;
use crate::runs::{attempt, begin, in_place, known, same_plan};

/// The same for commands of the ledger: a plan named for the first time gets its run here, without
/// an engine and, if need be, without git.
pub(crate) fn run_for_ledger(which: &Which, task: Option<&TaskId>) -> Outcome<FoundRun> {
    attempt::outside_of_attempts()?;
    let Some(given) = &which.plan else { return run_to_change(which, task) };
    let (path, system) = plans::place(given, None)?;
    let stamp = Stamp::of(&path, system);
    if let Some(found) = stamp.as_ref().map(|stamp| known_run(&path, stamp, which)).transpose()?.flatten() {
        return Ok(found);
    }
    let how = How { project: which.project_path.as_deref(), ..How::default() };
    let mut found = plans::plan(given, how)?;
    let flags = RunArgs {
        project_path: which.project_path.clone(),
        ..RunArgs::of_plan(given.clone(), Loudness::default())
    };
    let project = begin::project_of(&flags, &found)?;
    let mut journal = project.journal()?;
    if let Some(run) = known::run_of_plan(&journal, &found.path)? {
        if let Some(stamp) = stamp {
            stamp.keep(&project, &found, &found.plan.hash());
        }
        return Ok(FoundRun { project, journal, run });
    }
    let _beginning = beginning(&project)?;
    if let Some(run) = known::run_of_plan(&journal, &found.path)? {
        return Ok(FoundRun { project, journal, run });
    }
    in_place::settle_in_place(&mut found, &project)?;
    let same = same_plan::look(&found, &project, &journal, None)?;
    if let Some(run) = same.settle(&found.path)? {
        return Ok(FoundRun { project, journal, run });
    }
    let run = begin::create_for_ledger(&flags, &mut found, &project, &mut journal)?;
    if let (Some(stamp), Some(facts)) = (stamp, journal.facts(&run)?) {
        stamp.keep(&project, &found, &facts.plan_hash);
    }
    let mut found = FoundRun { project, journal, run };
    found.settle_file()?;
    Ok(found)
}

/// The run of a plan whose file was read before and has not changed since: nothing in it can be new.
fn known_run(plan: &Utf8Path, stamp: &Stamp, which: &Which) -> Outcome<Option<FoundRun>> {
    // An error here occurs again when the plan is read, and is reported then.
    let project = find::of_plan(plan, which.project_path.as_deref()).ok();
    let Some(project) = project.filter(|project| stamp.hash(project).is_some()) else { return Ok(None) };
    if !project.may_have_journal() {
        return Ok(None);
    }
    let journal = project.journal()?;
    let run = known::run_of_plan(&journal, plan)?;
    Ok(run.map(|run| FoundRun { project, journal, run }))
}
