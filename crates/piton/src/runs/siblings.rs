//! Tasks of other lists that a list waits for: whether they are completed, by the other list's run, else by its state file
//! and its boxes.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use piton_core::plan::{Outside, RepoPath, RunId, TaskId};
use piton_core::run::{Command, Status};
use piton_core::system::{Elsewhere, SystemRef};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::Outcome;

/// Look at the other lists, and record what has become of the tasks that this run waits for.
pub(crate) fn look(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome {
    let Some(system) = journal.facts(run)?.map(|facts| facts.settings.form.system()) else { return Ok(()) };
    if system.done_elsewhere().is_none() {
        return Ok(());
    }
    let state = journal.load(run)?;
    let waiting = state.tasks().filter(|task| !task.removed && task.decided != Status::Completed);
    let awaited: Vec<(TaskId, Outside, bool)> = waiting
        .flat_map(|task| task.outside.iter().map(|known| (task.id.clone(), known.need.clone(), known.done)))
        .collect();
    let mut completed: BTreeMap<String, BTreeSet<TaskId>> = BTreeMap::new();
    for (task, need, known) in awaited {
        if !completed.contains_key(&need.list) {
            completed.insert(need.list.clone(), completed_in(project, journal, system, &need.list)?);
        }
        let done = completed.get(&need.list).is_some_and(|ids| ids.contains(&need.task));
        if done != known {
            journal.command(run, &Command::SeeOutside { task, need, done }, clock::now())?;
        }
    }
    Ok(())
}

/// The tasks of a list that those who wait for them need not wait for any more.
fn completed_in(
    project: &Project,
    journal: &mut Journal,
    system: SystemRef,
    list: &str,
) -> Outcome<BTreeSet<TaskId>> {
    let path = project.root.join(list);
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.clone());
    if let Some(run) = journal.runs()?.into_iter().find(|run| run.plan == real) {
        let state = journal.load(&run.id)?;
        let is_done = |status: Status| status.satisfies();
        let done = state.tasks().filter(|task| !task.removed && is_done(task.status()));
        return Ok(done.map(|task| task.id.clone()).collect());
    }
    let (Some(done), Ok(bytes)) = (system.done_elsewhere(), std::fs::read(&path)) else {
        return Ok(BTreeSet::new());
    };
    let state = system.files().state.and_then(|file| std::fs::read(project.root.join(file)).ok());
    let other = Elsewhere {
        plan: list,
        bytes: &bytes,
        state: state.as_deref(),
        root: project.root.as_str(),
        is_there: &|file| is_there(&project.root, file),
    };
    Ok(done(&other).into_iter().collect())
}

fn is_there(root: &Utf8Path, file: &RepoPath) -> bool {
    let path = root.join(file.as_str());
    path.is_dir() || file.as_str().contains(['*', '?']) || path.metadata().is_ok_and(|data| data.len() > 0)
}
