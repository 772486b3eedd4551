//! What git says about landings, held against what the journal says.

use piton_core::run::{Command, Proof, Run, State};

use crate::git::{GitError, Repo};
use crate::landed::{Landed, StandIn};

/// The tasks whose landing is no longer part of the target: reverted by a reset, lost in a rewrite. Each is
/// judged on its own commit. A commit that was rewritten is known by its trailers, or by what it does.
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
    let mut missing: Vec<_> = landed.into_iter().filter(|(_, commit)| !reachable.contains(*commit)).collect();
    if !missing.is_empty() {
        let rewritten = repo.landed_by_trailer(&tip, run.id.as_str())?;
        missing.retain(|(task, _)| !rewritten.contains_key(task.as_str()));
    }
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let mut landed = Landed::read(repo, &tip, &state.tasks().map(|task| &task.id).collect())?;
    // One that nobody has any more cannot be compared with anything.
    for (_, commit) in &missing {
        repo.find_commit(commit.as_str())?.into_iter().for_each(|commit| landed.miss(commit));
    }
    let mut lost = Vec::new();
    for (task, commit) in missing {
        match landed.stand_in(task, commit)? {
            StandIn::Found(place, _) => landed.history.give(place, task),
            StandIn::Holds(_) => {}
            StandIn::OfAnother(_) | StandIn::Nothing => lost.push(Command::LandingLost {
                task: task.clone(),
                commit: commit.clone(),
                reason: format!("it is not in the history of `{target}`"),
            }),
        }
    }
    Ok(lost)
}
