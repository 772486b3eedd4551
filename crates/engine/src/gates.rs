//! Gates judge the whole project: the tree that each has passed on, compared with what the target holds now.

use camino::Utf8Path;
use piton_core::plan::{Oid, RepoPath, TaskId};
use piton_core::run::{Proof, Run, Status, Task};

use crate::checks;
use crate::git::{GitError, Repo};
use crate::project::Project;

/// At most so many files are named: people would not read more.
const NAMED: usize = 3;

/// A gate that has passed, but not on the current tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    pub gate: TaskId,
    pub reason: String,
}

/// What gates have passed on, compared with what there is.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    pub stale: Vec<Stale>,
    /// The current tree, and trees that differ from it only in the plan's own files.
    pub same: Vec<Oid>,
}

/// A project as gates see it.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    pub project: &'a Project,
    pub repo: &'a Repo,
    pub run: &'a Run,
    /// Files of the plan, which do not count as work.
    pub owned: &'a [RepoPath],
}

impl Whole<'_> {
    /// The current tree: the target's, or the project's if work is done in place.
    pub fn tree(&self) -> Result<Option<Oid>, GitError> {
        let Whole { project, repo, run, owned } = self;
        if run.settings.no_commits {
            let tree = repo.worktree_tree_with(&project.root, &project.outputs(run))?;
            return Ok(Some(repo.settle(tree, &repo.resolve("HEAD")?, owned)?));
        }
        let Some(tip) = run.target.as_deref().map(|target| repo.branch_tip(target)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        Ok(Some(repo.tree_of(&tip)?))
    }

    /// Compare the trees that gates have passed on with this tree.
    pub fn compare<'t>(&self, gates: impl IntoIterator<Item = &'t Task>, tree: &Oid) -> Compared {
        let mut compared = Compared { stale: Vec::new(), same: vec![tree.clone()] };
        for gate in gates.into_iter().filter(|gate| gate.gate && gate.decided == Status::Completed) {
            match self.why_stale(gate, tree) {
                None => compared.same.extend(gate.held_on().cloned()),
                Some(reason) => compared.stale.push(Stale { gate: gate.id.clone(), reason }),
            }
        }
        compared
    }

    fn why_stale(&self, gate: &Task, tree: &Oid) -> Option<String> {
        let Some(seen) = self.seen(gate) else {
            return Some("the state of the project that it passed on is unknown".to_owned());
        };
        let changed = self.changed(&seen, tree);
        if changed.is_empty() {
            return match gate.held_on() {
                Some(_) => None,
                None => Some("it passed before Piton recorded the state of the project".to_owned()),
            };
        }
        let mut reason =
            format!("changed since it passed: {}", changed[..changed.len().min(NAMED)].join(", "));
        if changed.len() > NAMED {
            reason += &format!(", and {} more", changed.len() - NAMED);
        }
        Some(reason)
    }

    /// The tree that a gate has passed on. Journals of earlier versions record only the commit that it landed as.
    fn seen(&self, gate: &Task) -> Option<Oid> {
        gate.held_on().cloned().or_else(|| match gate.proof.as_ref()? {
            Proof::Landed { commit, .. } => self.repo.tree_of(commit).ok(),
            Proof::Checked { .. } | Proof::Work { .. } | Proof::Reported => None,
        })
    }

    /// The files that differ, but for those that Piton or the plan owns.
    fn changed(&self, seen: &Oid, tree: &Oid) -> Vec<String> {
        if seen == tree {
            return Vec::new();
        }
        let is_work = |file: &String| {
            let owned = self.owned.iter().any(|own| Utf8Path::new(file).starts_with(own.as_str()));
            !owned && checks::is_work(self.project, self.run, file)
        };
        match self.repo.diff_names(seen, tree) {
            Ok(files) => files.into_iter().filter(is_work).collect(),
            // That tree is no longer in the repository.
            Err(_) => vec!["files that can no longer be compared".to_owned()],
        }
    }
}

/// The gates of a ledger run that have not passed on the current tree. A run that an engine has ended as complete stays
/// complete, whatever is committed later.
pub fn stale<'t>(
    project: &Project,
    run: &Run,
    gates: impl IntoIterator<Item = &'t Task>,
) -> Result<Vec<Stale>, GitError> {
    if run.gates.is_empty() || run.held {
        return Ok(Vec::new());
    }
    let Some(repo) = project.repo()? else { return Ok(Vec::new()) };
    let (repo, owned) = (repo.for_looking()?, settings_file());
    let whole = Whole { project, repo: &repo, run, owned: &owned };
    let Some(tree) = whole.tree()? else { return Ok(Vec::new()) };
    Ok(whole.compare(gates, &tree).stale)
}

/// The plan's own files are not work in any case. These hold its defaults.
pub(crate) fn settings_file() -> Vec<RepoPath> {
    RepoPath::new("piton.toml").into_iter().collect()
}
