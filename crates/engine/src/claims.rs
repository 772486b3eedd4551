//! Claims: somebody says that a task is done. Its checks decide, run where its work is.
//!
//! The tasks of an issue land on a branch of their own, and each begins at its tip. So what counts is that branch: as the
//! checkout has it that somebody works on it in, else its tip. Checks of a whole project pass as well where nothing was
//! done, so a branch that has nothing new proves nothing. For other plans, the project's own checkout counts.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::chronicle::BY_GIT;
use piton_core::plan::{Check, Oid, RunId, TaskId, TaskSpec};
use piton_core::run::{
    CheckResult, Command, CommitMade, Note, Proof, Report, Run, State, Status, Task, Verdict,
};

use crate::checks::{self, NoReport, is_work};
use crate::crash;
use crate::git::{GitError, Repo};
use crate::project::Project;

/// So many files that a task made or changed are told.
const FILES: usize = 200;

/// What the checks said, and about which tree.
pub type Judgement = (Option<Oid>, Vec<CheckResult>);

/// Where a claim is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A checkout, as it is.
    Folder(Utf8PathBuf),
    /// A commit that is checked out nowhere.
    Commit { commit: Oid },
}

/// Why a claim is not judged at all.
#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    #[error("nothing of it is on `{branch}`: commit it there first")]
    Nothing { branch: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Place {
    /// Where the work on a task is. `named` are commits that it is said to be: one that the branch has will do.
    pub fn of(
        project: &Project,
        state: &State,
        task: &TaskId,
        named: &[CommitMade],
    ) -> Result<Place, NoPlace> {
        let here = Place::Folder(project.root.clone());
        let Some(run) = state.run().filter(|run| !run.settings.no_commits) else { return Ok(here) };
        let (shared, dir) = (run.settings.worktree.shared.as_deref(), run.worktree_dir.as_deref());
        let (Some(shared), Some(dir), Some(branch)) = (shared, dir.map(Utf8Path::new), run.target.as_deref())
        else {
            return Ok(here);
        };
        let Some(repo) = project.repo()? else { return Ok(here) };
        let Some(tip) = repo.branch_tip(branch)? else { return Ok(here) };
        // While the engine is at work there, it is somebody else's.
        let shared = project.worktree_path_if_owned(&run.id, dir, shared).filter(|path| path.is_dir());
        let busy = |path: &Utf8PathBuf| run.slots > 0 && Some(path) == shared.as_ref();
        let checkout = repo.checked_out_at(branch)?.filter(|path| path.is_dir() && !busy(path));
        let tree = match &checkout {
            Some(path) => repo.worktree_tree(path)?,
            None => repo.tree_of(&tip)?,
        };
        let is_named = |made: &CommitMade| {
            repo.resolve(&made.hash).is_ok_and(|commit| repo.is_ancestor(&commit, &tip).unwrap_or(false))
        };
        let may_be_empty = state.task(task).ok().flatten().is_some_and(Task::may_stay_as_it_is);
        if !may_be_empty
            && is_untouched(project, repo, state, run, &tip, &tree)?
            && !named.iter().any(is_named)
        {
            return Err(NoPlace::Nothing { branch: branch.to_owned() });
        }
        if let Some(checkout) = checkout {
            return Ok(Place::Folder(checkout));
        }
        // What is installed there stays, so it is preferred; but only if it is exactly what is claimed.
        if let Some(path) = shared.as_ref().filter(|path| !busy(path))
            && repo.worktree_tree(path)? == tree
        {
            return Ok(Place::Folder(path.clone()));
        }
        Ok(Place::Commit { commit: tip })
    }

    /// Run the checks there, now. `tell` hears of each.
    pub fn judge(
        &self,
        project: &Project,
        run: &RunId,
        spec: &TaskSpec,
        name: &str,
        keeper: &[String],
        tell: &dyn Fn(&Check),
    ) -> Result<Judgement, NoReport> {
        let judged = match self {
            Place::Folder(path) => checks::run_all(project, run, spec, path, name, keeper, tell),
            Place::Commit { commit } => checks::run_all_on(project, run, spec, commit, name, keeper, tell),
        };
        crash::point("claims.judged");
        judged
    }
}

/// For a report that names no file: what git says was made since the last task was completed. Only where tasks come one
/// after the other does that tell who made it.
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
        Proof::Checked { tree } => Some((task.since, tree.as_ref()?)),
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

/// Whether the branch has nothing but what was there when the run began and what landed since.
fn is_untouched(
    project: &Project,
    repo: &Repo,
    state: &State,
    run: &Run,
    tip: &Oid,
    tree: &Oid,
) -> Result<bool, GitError> {
    let landed = state.tasks().filter_map(|task| match &task.proof {
        Some(Proof::Landed { commit, .. }) => Some(commit),
        _ => None,
    });
    if landed.chain(&run.base).all(|known| known != tip) {
        return Ok(false);
    }
    Ok(!repo.diff_names(tip, tree)?.iter().any(|file| is_work(project, run, file)))
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
