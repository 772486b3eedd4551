//! Claims: a person or a program says that a task is done. `evidence` sees what work there is, and the task's checks run
//! where it is.
//!
//! The tasks of an issue land on a branch of their own, and each begins at its tip. So what counts is that branch. For
//! other plans, the project's own checkout counts.

mod evidence;
mod place;

use piton_core::chronicle::BY_GIT;
use piton_core::plan::{Oid, TaskId};
use piton_core::run::{Command, Note, Proof, Report, Run, State, Status, Task, Verdict};

use crate::checks::is_work;
use crate::gates;
use crate::git::GitError;
use crate::project::Project;

pub use evidence::{Looked, look, mark, uncommitted};
pub use place::{Judgement, Place};

/// Why a task is pending again that was never begun, and whose claim was refused. The refusal says the rest.
pub const ONLY_CLAIMED: &str = "it was only reported done, and the report was rejected";

/// At most so many files that a task made or changed are reported.
const FILES: usize = 200;

/// For a report that names no file: what git says was made since the last task was completed. Only if tasks run one
/// after the other, this tells which task made it.
pub fn seen(
    project: &Project,
    state: &State,
    task: &TaskId,
    report: &Report,
    judged: &Judgement,
) -> Option<Command> {
    let (tree, results) = judged;
    let passed = results.iter().all(|result| result.verdict == Verdict::Pass);
    let run = state.run().filter(|run| run.settings.worktree.shared.is_some() && passed)?;
    let (repo, tree) = (project.repo().ok()??, tree.as_ref()?);
    let done = state.tasks().filter(|task| task.decided == Status::Completed);
    let trees = done.filter_map(|task| match task.proof.as_ref()? {
        Proof::Landed { commit, .. } => Some((task.since, commit)),
        Proof::Checked { tree, .. } => Some((task.since, tree.as_ref()?)),
        Proof::Work { commits, .. } => Some((task.since, commits.last()?)),
        Proof::Reported => None,
    });
    let last = trees.max_by_key(|(since, _)| *since).map(|(_, tree)| tree).or(run.base.as_ref())?;
    let (mut created, mut files) = repo.changed_files(last, tree).ok()?;
    for list in [&mut created, &mut files] {
        list.retain(|file| is_work(project, run, file));
        list.truncate(FILES);
    }
    files.extend(created.iter().cloned());
    let told = !report.files.is_empty() || !report.created.is_empty() || files.is_empty();
    let report = Box::new(Report { files, created, ..Report::default() });
    let note = Note::Told { task: task.clone(), report };
    (!told).then(|| Command::Note { by: BY_GIT.to_owned(), note })
}

/// Add to the evidence the tree that a gate would see with this claim in it, and the trees gates have passed on that
/// are the same to them.
pub fn see_whole<'t>(
    project: &Project,
    run: &Run,
    gates: impl IntoIterator<Item = &'t Task>,
    looked: &mut Looked,
) -> Result<(), GitError> {
    let Some(repo) = project.repo()?.filter(|_| !run.gates.is_empty()) else { return Ok(()) };
    let owned = gates::settings_file();
    let whole = gates::Whole { project, repo, run, owned: &owned };
    let tree = match &looked.place {
        Place::Commit { commit } => Some(repo.tree_of(commit)?),
        Place::Folder(_) => whole.tree()?,
    };
    if let Some(tree) = tree {
        looked.evidence.same = whole.compare(gates, &tree).same;
        looked.evidence.whole = Some(tree);
    }
    Ok(())
}

/// The tree of what is to be confirmed as it was judged before, if nothing but the plan's own files has changed since.
pub fn as_before(
    project: &Project,
    run: &Run,
    task: &Task,
    tree: Option<Oid>,
) -> Result<Option<Oid>, GitError> {
    let before = task.progress.passes.last().map(|pass| &pass.tree);
    if let (Some(repo), Some(before), Some(after)) = (project.repo()?, before, &tree)
        && !repo.diff_names(before, after)?.iter().any(|file| is_work(project, run, file))
    {
        return Ok(Some(before.clone()));
    }
    Ok(tree)
}
