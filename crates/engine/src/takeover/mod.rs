//! Taking over what another system left: this module collects what a system asks about git, the worktrees and the disk.
//! `piton_core::system` decides what the answers mean.

mod files;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::history::{Recorded, Target};
use piton_core::plan::{Oid, RunId, TaskId, TaskSpec};
use piton_core::system::kit::takeover::{Branch, Compared, Evidence, Place, Questions, Tip, Worktree};

pub use files::{archived, text_of};
pub use worktrees::{AdoptError, adopt as adopt_worktrees};

use crate::git::{self, GitError, Repo};
use crate::journal::{Journal, JournalError};
use crate::project::Project;
use crate::{clock, landed, slots};

/// The places to look at.
#[derive(Debug)]
pub struct Site<'a> {
    pub project: &'a Project,
    /// The repository, and the tip of the branch that work lands on.
    pub target: Option<(&'a Repo, &'a Oid)>,
    pub worktree_dir: Utf8PathBuf,
    /// Runs whose worktrees are theirs.
    pub others: Vec<RunId>,
}

/// The runs that keep their worktrees. An earlier run of this plan is abandoned for this one, unless it is worked on.
pub fn other_runs(project: &Project, journal: &Journal, plan: &Utf8Path) -> Result<Vec<RunId>, JournalError> {
    let mut others = journal.runs()?;
    others.retain(|run| run.plan != plan || project.is_led(journal, &run.id));
    Ok(others.into_iter().map(|run| run.id).collect())
}

/// Everything that a system asks about the tasks of a plan. `begins`: a run begins with the answers.
pub fn gather(
    site: &Site<'_>,
    specs: &[TaskSpec],
    questions: &Questions,
    begins: bool,
) -> Result<Evidence, GitError> {
    let (mut worktrees, mut branches) = (BTreeMap::new(), BTreeMap::new());
    let mut target = None;
    if let (Some((repo, tip)), Some(commits)) = (site.target, &questions.commits) {
        target = Some(in_target(repo, tip, specs, questions, commits)?);
        for (id, place) in &questions.places {
            let found = site.worktree(repo, tip, id, place)?;
            if place.is_done && found != Worktree::Taken {
                branches.extend(branch(repo, tip, place)?.map(|branch| (id.clone(), branch)));
            }
            worktrees.insert(id.clone(), found);
        }
    }
    let (missing, onto) = files::look_for(site.project, &questions.files)?;
    Ok(Evidence { now: clock::now(), begins, target, worktrees, branches, missing, onto })
}

/// What the target holds, and what it has in place of recorded commits that it does not hold.
fn in_target(
    repo: &Repo,
    tip: &Oid,
    specs: &[TaskSpec],
    questions: &Questions,
    commits: &BTreeMap<TaskId, Vec<String>>,
) -> Result<Target, GitError> {
    let mut target = landed::target(repo, tip, &specs.iter().map(|spec| &spec.id).collect())?;
    questions.give(&mut target);
    for hash in commits.values().flatten() {
        landed::look_elsewhere(repo, &mut target, hash)?;
    }
    let (mut missed, mut asked) = (BTreeSet::new(), Vec::new());
    for (task, hashes) in commits {
        let lost: Vec<Oid> = match questions.compared {
            Compared::Newest => match target.recorded(task, hashes.iter().map(String::as_str)) {
                Recorded::Lost(commit) => vec![commit],
                _ => Vec::new(),
            },
            Compared::Each => hashes.iter().filter_map(|hash| target.elsewhere.get(hash).cloned()).collect(),
        };
        missed.extend(lost.iter().cloned());
        let Some(spec) = specs.iter().find(|spec| spec.id == *task) else { continue };
        let is_done = questions.places.get(task).is_some_and(|place| place.is_done);
        if questions.compared == Compared::Each || is_done || target.history.naming(spec).is_empty() {
            asked.extend(lost.into_iter().map(|commit| (task.clone(), commit)));
        }
    }
    landed::compare(repo, tip, &mut target, &missed, &asked)?;
    Ok(target)
}

impl Site<'_> {
    /// The worktree of a task, where Piton would look for it.
    fn worktree(&self, repo: &Repo, tip: &Oid, id: &TaskId, place: &Place) -> Result<Worktree, GitError> {
        let path = self.worktree_dir.join(id.as_str());
        let Some(worktree) = git::Worktree::open(repo, &slots::place_of(self.project, &path))? else {
            let named = place.worktree.as_deref().map(Utf8Path::new);
            let named = named.filter(|named| *named != path && named.exists());
            return Ok(named.map_or(Worktree::Gone, |named| Worktree::Elsewhere {
                named: named.to_string(),
                dir: self.worktree_dir.to_string(),
            }));
        };
        let owner = self.project.owner(&path);
        if owner.is_some_and(|owner| self.others.iter().any(|run| run.as_str() == owner)) {
            return Ok(Worktree::Taken);
        }
        let found = worktree.head()?.map(|head| tip_of(repo, tip, head)).transpose()?;
        let is_clean = place.is_done && worktree.status()?.is_clean();
        Ok(Worktree::There { path: path.into_string(), tip: found, is_clean })
    }
}

/// The branch of a task.
fn branch(repo: &Repo, tip: &Oid, place: &Place) -> Result<Option<Branch>, GitError> {
    let head = match repo.branch_tip(&place.branch) {
        // If git rejects the name, there is no such branch.
        Err(GitError::BadName(_)) => None,
        head => head?,
    };
    let Some(head) = head else { return Ok(None) };
    Ok(Some(Branch { name: place.branch.clone(), tip: tip_of(repo, tip, head)? }))
}

fn tip_of(repo: &Repo, target: &Oid, head: Oid) -> Result<Tip, GitError> {
    Ok(Tip { tree: repo.tree_of(&head)?, base: repo.merge_base(&head, target)?, head })
}
