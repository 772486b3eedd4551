//! Landing: the merge is built and proven beside everything, then the target moves in one step.

use std::thread;

use piton_core::message;
use piton_core::plan::Oid;
use piton_core::run::{CheckResult, Class, Command, Intent, Verdict, verdict};

use super::order::{Order, Trouble};
use super::work;
use crate::git::{GitError, LandedState, LandingLease, Merged, Moved, RefChange, Worktree};
use crate::{checks, clock, crash};

/// What is pinned for a task until it has landed and its worktree is gone.
pub const PINS: [&str; 3] = ["candidate", "captured", "shown"];

/// Build the candidate, prove it, pin it, make it durable. The target is not touched.
pub(super) fn land(order: &Order) -> Result<Vec<Command>, Trouble> {
    let (task, fence) = (order.task.id.clone(), order.fence());
    let (repo, verified) = (order.repo()?, order.commit()?);
    // No lease yet: whoever moves the target while this is proven is noticed before it moves again.
    let tip = order.tip()?;
    let base = order.task.progress.base.as_ref();
    // What is not in the target: the work, and its base should the target have been moved off it.
    let work: Vec<&Oid> = [verified].into_iter().chain(base).collect();
    // Everybody waits for a landing: what does not depend on each other is asked at the same time.
    let (ahead, merged) = thread::scope(|scope| {
        let merged = scope.spawn(|| repo.merge(&tip, verified));
        (repo.beyond(&tip, &work), merged.join())
    });
    let ahead = ahead?;
    if !ahead.contains(verified) {
        let nothing = base == Some(verified) || order.task.may_stay_as_it_is();
        let reason = "its commit is in the target's history".to_owned();
        return Ok(vec![if nothing {
            Command::NothingToLand { task, fence }
        } else {
            Command::LandingFound { task, commit: verified.clone(), reason }
        }]);
    }
    let gone = base.filter(|base| *base != verified && ahead.contains(*base));
    if let Some(base) = gone
        && !repo.is_rewritten(base, &tip)?
    {
        return Err(Trouble::Defect(format!(
            "`{}` no longer contains {}, which this work was built on: landing it would bring back what was removed. \
             `piton clean --unfinished` and `piton reset {task}` do it anew on what is there now",
            order.target()?,
            base.short()
        )));
    }
    let merged = merged.map_err(|_| Trouble::Transient("an internal error in a merge".to_owned()))?;
    let tree = match merged? {
        Merged::Clean { tree } => repo.settle(tree, &tip, &order.site.owned)?,
        Merged::Conflict { files, messages } => {
            let files = files.join(", ");
            let reason = format!("merge conflict in {files}");
            let feedback = format!(
                "Your work conflicts with what landed in the meantime. The target has been merged into your worktree:\n\
                 resolve the conflict markers in {files}, keeping both sides' intent.\n\n{messages}\n"
            );
            return Ok(vec![Command::LandingFailed { task, fence, tip, reason, feedback }]);
        }
    };
    crash::point("land.merged");
    let commits = ahead.len();
    let group = order.run.group(order.task.group).map_or("main", |group| group.id.as_str());
    let settings = &order.run.settings;
    let text = message::merge(&order.spec, &order.run.id, group, commits, settings.commit_prefix.as_deref());
    let candidate = repo.commit_tree(&tree, &[&tip, verified], &text, settings.author.as_deref())?;
    let results = prove(order, &candidate, &tree)?;
    if let Some(reason) = verdict::reason(&results) {
        let feedback = format!(
            "Your work passes alone, but not together with what landed in the meantime, which is now merged\n\
             into your worktree.\n\n{}",
            verdict::feedback(&results)
        );
        let impossible = results.iter().any(|result| matches!(result.verdict, Verdict::Impossible { .. }));
        let failed = if impossible {
            Command::TryFailed { action: order.action.clone(), class: Class::Defect, reason, feedback }
        } else {
            Command::LandingFailed {
                task,
                fence,
                tip,
                reason: format!("together with what landed before: {reason}"),
                feedback,
            }
        };
        return Ok(vec![failed]);
    }
    repo.sync_objects([&candidate])?;
    repo.change_refs(&[
        RefChange::pin(&order.pin_name("captured"), verified)?,
        RefChange::pin(&order.pin_name("candidate"), &candidate)?,
    ])?;
    crash::point("land.durable");
    let intent = Intent { old: tip, candidate };
    Ok(vec![Command::PrepareLanding { task, fence, tree, intent, results }])
}

/// Every check that has a say in the merged tree, except those that have passed on it.
fn prove(order: &Order, candidate: &Oid, tree: &Oid) -> Result<Vec<CheckResult>, Trouble> {
    let all = order.spec.checks.iter().chain(&order.neighbours).chain(&order.run.settings.landing_checks);
    let wanted = checks::unproven(all, tree, &order.task.progress.passes);
    work::run_on(order, candidate, &wanted, tree, None)
}

/// Move the target, or find out what became of the last try to do so.
pub(super) fn move_target(order: &Order) -> Result<Vec<Command>, Trouble> {
    let (task, fence) = (order.task.id.clone(), order.fence());
    let (repo, target) = (order.repo()?, order.target()?);
    let intent = order.task.progress.intent.as_ref();
    let Intent { old, candidate } =
        intent.ok_or_else(|| Trouble::Transient("no landing is under way".to_owned()))?;
    let lease = LandingLease::take(repo, target)?;
    let landed = Command::Landed { task: task.clone(), fence, commit: candidate.clone() };
    let rewound = |tip: Option<&Oid>| {
        let short = old.short();
        Trouble::Defect(match tip {
            None => format!(
                "`{target}` was at {short} and is gone: `git branch {target} {short}` and `piton retry {task}` go on"
            ),
            Some(tip) => format!(
                "`{target}` was moved away from {short} and is at {}: `git reflog {target}` tells how; \
                 `piton clean --unfinished` and `piton reset {task}` do it anew on what is there now",
                tip.short()
            ),
        })
    };
    let returned = |tip: &Oid| Command::LandingReturned {
        task: task.clone(),
        fence,
        candidate: candidate.clone(),
        reason: format!("`{target}` was moved to {} by somebody else", tip.short()),
    };
    // Whatever a killed git left in the checkout since the intent was journaled is ours.
    let since = clock::system_time(order.task.since);
    match repo.landed_state(target, old, candidate)? {
        LandedState::Landed => {
            return Ok(vec![match repo.settle_target(&lease, old, candidate, since)? {
                Some(wait) => Command::LandingWaits { task, fence, reason: wait.to_string() },
                None => landed,
            }]);
        }
        LandedState::MovedForward { tip } => return Ok(vec![returned(&tip)]),
        // Somebody rebased it: what it was built on is still there, by other names.
        LandedState::Elsewhere { tip: Some(tip) } if repo.is_rewritten(old, &tip)? => {
            return Ok(vec![returned(&tip)]);
        }
        LandedState::Elsewhere { tip } => return Err(rewound(tip.as_ref())),
        LandedState::AtOld => {}
    }
    Ok(vec![match repo.move_target(&lease, old, candidate, Some(since))? {
        Moved::Done => landed,
        Moved::Waits(wait) => Command::LandingWaits { task, fence, reason: wait.to_string() },
        Moved::TargetMoved { now: Some(tip) }
            if repo.is_ancestor(old, &tip)? || repo.is_rewritten(old, &tip)? =>
        {
            returned(&tip)
        }
        Moved::TargetMoved { now } => return Err(rewound(now.as_ref())),
    }])
}

/// Take the worktree, the branch and the pins of a completed task away.
pub(super) fn clean(order: &Order) -> Result<Vec<Command>, Trouble> {
    let (task, fence) = (order.task.id.clone(), order.fence());
    if order.run.settings.no_commits {
        return Ok(vec![Command::CleanedUp { task, fence }]);
    }
    let _slot = order.site.slots.take();
    let repo = order.repo()?;
    let mut commands = Vec::new();
    // Where the worktree is shared, the next task works in it.
    if order.run.settings.worktree.shared.is_none() {
        match Worktree::remove(repo, &order.workplace()?, &work::rescue(order)) {
            Ok(removed) => commands.extend(removed.rescued.map(|kept| order.rescued(kept))),
            Err(
                error @ (GitError::NestedRepositories { .. }
                | GitError::ForeignFolder { .. }
                | GitError::Swapped { .. }),
            ) => {
                return Ok(vec![Command::CleanupRefused { task, fence, reason: error.to_string() }]);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let tip = order.tip()?;
    // The pin tells whose branch it is, so it goes last: git takes them away one after the other.
    let mut away = Vec::new();
    if let Some(shown) = repo.pin_at(&order.pin_name("shown"))? {
        for name in order.branches() {
            if repo.branch_tip(&name)?.as_ref() == Some(&shown) {
                away.extend(repo.branch_removal(&name, &tip)?);
            }
        }
    }
    for what in PINS {
        away.push(RefChange::unpin(&order.pin_name(what))?);
    }
    repo.change_refs(&away)?;
    crash::point("clean.done");
    commands.push(Command::CleanedUp { task, fence });
    Ok(commands)
}
