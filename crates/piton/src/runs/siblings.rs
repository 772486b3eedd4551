//! Tasks of other lists that a list waits for: whether they are completed, by the other list's run, else by its state file
//! and its boxes.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use piton_core::plan::{Dialect, Outside, RepoPath, RunId, TaskId};
use piton_core::run::{Command, Status};
use piton_core::system::kit::text;
use piton_core::system::rwkit::Sibling;
use piton_core::system::rwkit::state::{self, TaskWord};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::Outcome;

/// Look at the other lists, and record what has become of the tasks that this run waits for.
pub(crate) fn look(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome {
    if !journal.facts(run)?.is_some_and(|facts| facts.settings.dialect() == Dialect::Rwkit) {
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
            completed.insert(need.list.clone(), completed_in(project, journal, &need.list)?);
        }
        let done = completed.get(&need.list).is_some_and(|ids| ids.contains(&need.task));
        if done != known {
            journal.command(run, &Command::SeeOutside { task, need, done }, clock::now())?;
        }
    }
    Ok(())
}

/// The tasks of a list that those who wait for them need not wait for any more.
fn completed_in(project: &Project, journal: &mut Journal, list: &str) -> Outcome<BTreeSet<TaskId>> {
    let path = project.root.join(list);
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.clone());
    if let Some(run) = journal.runs()?.into_iter().find(|run| run.plan == real) {
        let state = journal.load(&run.id)?;
        let is_done = |status: Status| status.satisfies();
        let done = state.tasks().filter(|task| !task.removed && is_done(task.status()));
        return Ok(done.map(|task| task.id.clone()).collect());
    }
    // As a run of it would take it over: what is called done counts if the files that it names are there.
    let Ok(bytes) = std::fs::read(&path) else { return Ok(BTreeSet::new()) };
    let said = said_in_state_file(project, list);
    let is_there = |file: &RepoPath| is_there(&project.root, file);
    let tasks = Sibling::read(list, &bytes).tasks.into_iter();
    let done = tasks.filter(|task| (task.done || said.contains(&task.id)) && task.files.iter().all(is_there));
    Ok(done.map(|task| task.id).collect())
}

/// What a state file that somebody else left calls completed, if it is about this list.
fn said_in_state_file(project: &Project, list: &str) -> BTreeSet<TaskId> {
    let Ok(bytes) = std::fs::read(project.root.join(state::FILE)) else { return BTreeSet::new() };
    let found = state::read(&text::decode(&bytes).text).state;
    let is_ours = found.piton_run.is_some();
    let is_about = found.todolist_path.as_deref().is_some_and(|path| {
        let path = Utf8Path::new(path.trim());
        path == Utf8Path::new(list) || path.strip_prefix(&project.root).is_ok_and(|path| path == list)
    });
    let done = found.tasks.iter().filter(|(_, task)| task.status == TaskWord::Completed);
    done.filter(|_| is_about && !is_ours).map(|(id, _)| id.clone()).collect()
}

fn is_there(root: &Utf8Path, file: &RepoPath) -> bool {
    let path = root.join(file.as_str());
    path.is_dir() || file.as_str().contains(['*', '?']) || path.metadata().is_ok_and(|data| data.len() > 0)
}
