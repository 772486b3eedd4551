//! What git says about landings, held against what the journal says.

use piton_core::run::{Command, Proof, Run, State};

use crate::git::{GitError, Repo};

/// The tasks whose landing is no longer part of the target: reverted by a reset, lost in a rewrite. Each is
/// judged on its own commit. A commit that was rewritten is known by its trailers.
pub fn lost_landings(repo: &Repo, run: &Run, state: &State) -> Result<Vec<Command>, GitError> {
    let landed: Vec<_> = state
        .tasks()
        .filter_map(|task| match &task.proof {
            Some(Proof::Landed { commit, .. }) => Some((&task.id, commit)),
            _ => None,
        })
        .collect();
    let Some(target) = run.target.as_deref().filter(|_| !landed.is_empty()) else { return Ok(Vec::new()) };
    let Some(tip) = repo.branch_tip(target)? else { return Ok(Vec::new()) };
    let reachable = repo.reachable_from(&tip)?;
    let missing: Vec<_> = landed.into_iter().filter(|(_, commit)| !reachable.contains(*commit)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let rewritten = repo.landed_by_trailer(&tip, run.id.as_str())?;
    Ok(missing
        .into_iter()
        .filter(|(task, _)| !rewritten.contains_key(task.as_str()))
        .map(|(task, commit)| Command::LandingLost {
            task: task.clone(),
            commit: commit.clone(),
            reason: format!("it is not in the history of `{target}`"),
        })
        .collect())
}
