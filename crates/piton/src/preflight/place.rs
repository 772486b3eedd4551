//! What about the place would hold a run up: little room on its disk, a folder that agents are to write to and that is not
//! there, and a target that cannot be moved at the moment.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Plan;
use piton_core::run::shell_word;
use piton_engine::disk;
use piton_engine::git::{Wait, not_in_git};
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};

/// With less room than this a run is likely to stop: each agent has a checkout of the project, and builds in it.
const LITTLE_ROOM: u64 = 2 << 30;
/// A command with more files than this is not one to type.
const MOST_NAMED: usize = 5;

/// Disks that are almost full. Worktrees and Piton's own files may be on two.
pub(super) fn room(project: &Project) -> Vec<Failure> {
    let mut findings = Vec::new();
    for folder in [project.worktree_dir(), project.home.clone()] {
        let Some(left) = disk::room(&folder).filter(|left| *left < LITTLE_ROOM) else { continue };
        let failure = Failure::new(format!(
            "only {} MiB are free on the disk of {folder}: worktrees and builds may fill it",
            left >> 20
        ));
        findings.push(failure.hint("piton clean --dry-run   shows what can go"));
        // Both are on one disk.
        if disk::room(&project.home) == Some(left) {
            break;
        }
    }
    findings
}

/// Files that agents are to read, and that their worktrees lack, as no commit has them. What git ignores is copied.
pub(super) fn unseen(root: &Utf8Path, named: &[String]) -> Outcome<Option<Failure>> {
    let files = not_in_git(root, named)?.untracked;
    let Some(first) = files.first() else { return Ok(None) };
    let what = match files.len() {
        1 => format!("agents are to read {first}, which is not committed: their worktrees lack it"),
        many => format!(
            "agents are to read {many} files that are not committed, such as {first}: their worktrees lack them"
        ),
    };
    let words: Vec<String> = files.iter().take(MOST_NAMED).map(|file| shell_word(file)).collect();
    let rest = if files.len() > MOST_NAMED { " …" } else { "" };
    Ok(Some(Failure::new(what).hint(format!("git add {}{rest} && git commit", words.join(" ")))))
}

/// Folders that the plan opens for agents and that are not there: a fence has no way to open those.
pub(super) fn closed(opened: &mut dyn Iterator<Item = (&str, Utf8PathBuf)>) -> Vec<Failure> {
    let missing = opened.filter(|(_, place)| !place.exists());
    let told = missing.map(|(said, place)| {
        let what = format!("`{said}` in `writable` is not there, so agents cannot write to it");
        Failure::new(what).hint(format!("mkdir -p {}", shell_word(place.as_str())))
    });
    told.collect()
}

/// What a landing would wait for if it came now.
pub(super) fn waits(
    plan: &Plan,
    path: &Utf8Path,
    project: &Project,
    target: Option<&str>,
) -> Outcome<Option<Failure>> {
    let settings = &plan.settings;
    // A plan whose tasks share a worktree is worked on there, on a branch of its own.
    let lands_here = !settings.no_commits && !settings.policy().shared_worktree;
    let Some(repo) = project.repo()?.filter(|_| lands_here) else { return Ok(None) };
    let target = match target {
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
            let plan = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
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
    Ok(Some(told))
}
