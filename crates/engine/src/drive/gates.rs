//! Gates at the end of a run: what each has passed on, held against what the target holds now.

use camino::Utf8Path;
use piton_core::plan::Oid;
use piton_core::run::{Command, Proof, Run, Status, StopReason, Task};

use super::{EngineError, Loop};
use crate::checks;
use crate::git::{GitError, Repo};

/// So many files are named: more would not be read.
const NAMED: usize = 3;

impl Loop<'_> {
    /// The trees that gates may have passed on, for whoever ends the run. `None`: a gate has to look again first.
    pub(super) fn gates_hold(&mut self, reason: &StopReason) -> Result<Option<Vec<Oid>>, EngineError> {
        let (Some(run), Some(repo)) = (self.state.run(), &self.site.repo) else {
            return Ok(Some(Vec::new()));
        };
        if run.gates.is_empty() || !matches!(reason, StopReason::Completed | StopReason::Ended) {
            return Ok(Some(Vec::new()));
        }
        let Some(tip) = self.whole(run, repo)? else { return Ok(Some(Vec::new())) };
        let (mut stale, mut same) = (Vec::new(), vec![tip.clone()]);
        let gates = run.gates.iter().filter_map(|id| self.state.task(id).ok().flatten());
        for gate in gates.filter(|gate| gate.decided == Status::Completed) {
            let Some(seen) = seen(repo, gate) else {
                let reason = "nobody knows which state of the project it has passed on".to_owned();
                stale.push(Command::Reopen { task: gate.id.clone(), reason });
                continue;
            };
            let changed = self.changed(run, repo, &seen, &tip);
            if changed.is_empty() && gate.held_on() == Some(&seen) {
                same.push(seen);
                continue;
            }
            let mut reason =
                format!("changed since it passed: {}", changed[..changed.len().min(NAMED)].join(", "));
            if changed.len() > NAMED {
                reason += &format!(", and {} more", changed.len() - NAMED);
            }
            if changed.is_empty() {
                "it passed before it was known on which state of the project".clone_into(&mut reason);
            }
            stale.push(Command::Reopen { task: gate.id.clone(), reason });
        }
        if stale.is_empty() {
            return Ok(Some(same));
        }
        self.commit(&stale)?;
        Ok(None)
    }

    /// The tree that everything has come to: the target's, or that of the project where work is done in place.
    fn whole(&self, run: &Run, repo: &Repo) -> Result<Option<Oid>, GitError> {
        if run.settings.no_commits {
            let project = &self.site.project;
            let tree = repo.worktree_tree_with(&project.root, &project.outputs(run))?;
            return Ok(Some(repo.settle(tree, &repo.resolve("HEAD")?, &self.site.owned)?));
        }
        let Some(tip) = run.target.as_deref().map(|target| repo.branch_tip(target)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        Ok(Some(repo.tree_of(&tip)?))
    }

    /// The files that differ, but for those that Piton or the plan owns.
    fn changed(&self, run: &Run, repo: &Repo, seen: &Oid, tip: &Oid) -> Vec<String> {
        if seen == tip {
            return Vec::new();
        }
        let is_work = |file: &String| {
            let owned = self.site.owned.iter().any(|own| Utf8Path::new(file).starts_with(own.as_str()));
            !owned && checks::is_work(&self.site.project, run, file)
        };
        match repo.diff_names(seen, tip) {
            Ok(files) => files.into_iter().filter(is_work).collect(),
            // Nobody has that tree any more.
            Err(_) => vec!["files that nobody can compare any more".to_owned()],
        }
    }
}

/// What a gate has passed on. Journals of earlier versions know only the commit that it landed as.
fn seen(repo: &Repo, gate: &Task) -> Option<Oid> {
    gate.held_on().cloned().or_else(|| match gate.proof.as_ref()? {
        Proof::Landed { commit, .. } => repo.tree_of(commit).ok(),
        Proof::Checked { .. } | Proof::Work { .. } | Proof::Reported => None,
    })
}
