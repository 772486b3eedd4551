//! What about the place would hold a run up: little room on its disk, a folder that agents are to write to and that is not
//! there, and a target that cannot be moved at the moment.

use piton_core::plan::Plan;
use piton_core::run::shell_word;
use piton_engine::disk;
use piton_engine::git::Wait;
use piton_engine::sandbox;

use super::{Finding, Start};
use crate::failure::{Failure, Outcome};

/// With less room than this a run is likely to stop: each agent has a checkout of the project, and builds in it.
const LITTLE_ROOM: u64 = 2 << 30;

/// Disks that are almost full. Worktrees and Piton's own files may be on two.
pub(super) fn room(start: Start<'_>) -> Vec<Finding> {
    let Some(project) = start.project else { return Vec::new() };
    let mut findings = Vec::new();
    for folder in [project.worktree_dir(), project.home.clone()] {
        let Some(left) = disk::room(&folder).filter(|left| *left < LITTLE_ROOM) else { continue };
        let failure = Failure::new(format!(
            "only {} MiB are free on the disk of {folder}: worktrees and builds may fill it",
            left >> 20
        ));
        findings
            .push(Finding::warning("little_room", failure.hint("piton clean --dry-run   shows what can go")));
        // Both are on one disk.
        if disk::room(&project.home) == Some(left) {
            break;
        }
    }
    findings
}

/// Folders that the plan opens for agents and that are not there: a fence has no way to open those.
pub(super) fn opened(plan: &Plan, start: Start<'_>) -> Vec<Finding> {
    if !sandbox::is_in_force(start.mode(plan)) {
        return Vec::new();
    }
    let missing = super::opened(plan).filter(|(_, place)| !place.exists());
    let told = missing.map(|(said, place)| {
        let what = format!("`{said}` in `writable` is not there, so agents cannot write to it");
        Finding::warning(
            "writable_missing",
            Failure::new(what).hint(format!("mkdir -p {}", shell_word(place.as_str()))),
        )
    });
    told.collect()
}

/// What a landing would wait for if it came now.
pub(super) fn target(plan: &Plan, start: Start<'_>) -> Outcome<Option<Finding>> {
    let settings = &plan.settings;
    // A plan whose tasks share a worktree is worked on there, on a branch of its own.
    let lands_here = !settings.no_commits && !settings.policy().shared_worktree;
    let Some(project) = start.project.filter(|_| lands_here) else { return Ok(None) };
    let Some(repo) = project.repo()? else { return Ok(None) };
    let target = match start.target {
        Some(target) => target.to_owned(),
        // On no branch, the run itself says what to do.
        None => match repo.current_branch() {
            Ok(branch) => branch,
            Err(_) => return Ok(None),
        },
    };
    let Some(mut wait) = repo.in_the_way(&target)? else { return Ok(None) };
    let told = match &mut wait {
        Wait::Files { checkout, files } => {
            // No task changes its plan.
            let plan = start.plan.canonicalize_utf8().unwrap_or_else(|_| start.plan.to_owned());
            files.retain(|file| !checkout.join(file).starts_with(&plan));
            if files.is_empty() {
                return Ok(None);
            }
            let hint = format!("git -C {} status", shell_word(checkout.as_str()));
            Failure::new(format!("{wait}: a task that changes one of them waits to land")).hint(hint)
        }
        Wait::Operation { .. }
        | Wait::Locked { .. }
        | Wait::SeveralCheckouts { .. }
        | Wait::Away { .. }
        | Wait::Refused { .. } => Failure::new(format!("nothing could land on `{target}` now: {wait}")),
    };
    Ok(Some(Finding::warning("target_not_clean", told)))
}
