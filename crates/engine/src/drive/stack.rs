//! Tasks that begin on the open requests of what they depend on. They stand on the target's tip with the heads of those
//! requests merged into it, which is a commit that only Piton has.

use piton_core::message;
use piton_core::plan::Oid;
use piton_core::run::line::ProofEnd;
use piton_core::run::{CONFLICT, Command, Pointers, Status};

use super::land::{Chain, nothing_to_land};
use super::order::{Order, Trouble};
use crate::crash;
use crate::git::Merged;

/// What a task stands on.
pub(super) enum Ground {
    At(Oid),
    /// One of the requests is not there at the moment.
    Gone,
    /// They do not fit together, or not with the target.
    Conflict(String),
}

/// Merge the requests that a task stands on into the target's tip. It is the tip itself where there are none. The same
/// commits come to the same commit, so this can be repeated.
pub(super) fn ground(order: &Order, tip: &Oid) -> Result<Ground, Trouble> {
    let Some(on) = &order.on else { return Ok(Ground::Gone) };
    let repo = order.repo()?;
    let mut at = tip.clone();
    for footing in on {
        let head = &footing.head;
        if repo.is_ancestor(head, &at)? {
            continue;
        }
        if repo.is_ancestor(&at, head)? {
            at = head.clone();
            continue;
        }
        let tree = match repo.merge(&at, head)? {
            Merged::Clean { tree } => repo.settle(tree, &at, &order.site.owned)?,
            Merged::Conflict { files, .. } => {
                let files = files.join(", ");
                return Ok(Ground::Conflict(format!(
                    "the request of {} cannot be merged with what else it stands on: {files}",
                    footing.task
                )));
            }
        };
        at = repo.commit_again(&tree, &[&at, head], "What open requests make of the target")?;
        repo.sync_objects([&at])?;
        crash::point("stack.merged");
    }
    Ok(Ground::At(at))
}

/// The command for a task that has nothing to stand on: it waits, and its work is kept.
pub(super) fn unstack(order: &Order, reason: Option<String>) -> Command {
    Command::Unstack { task: order.task.id.clone(), fence: order.fence(), reason }
}

/// A commit with the files of `at` that has the base of the work in its history. Merging with it brings what the work
/// changed, and not what it was built on: that may have been merged by other commits, or be something else by now.
pub(super) fn instead_of_base(order: &Order, at: &Oid) -> Result<Oid, Trouble> {
    let (repo, progress) = (order.repo()?, &order.task.progress);
    let Some(base) = progress.base.as_ref().filter(|_| progress.stacked) else { return Ok(at.clone()) };
    if repo.is_ancestor(base, at)? {
        return Ok(at.clone());
    }
    let commit =
        repo.commit_again(&repo.tree_of(at)?, &[at, base], "What the work was built on, as it is now")?;
    repo.sync_objects([&commit])?;
    Ok(commit)
}

/// Merge the work of a task into what it stands on; or what became clear on the way.
pub(super) fn merge(order: &Order, proof: u64) -> Result<Result<Chain<'_>, Vec<Command>>, Trouble> {
    let (repo, tip, verified) = (order.repo()?, order.tip()?, order.commit()?);
    let ended = |end| vec![Command::ProofEnded { proof, end, results: Vec::new() }];
    let at = match ground(order, &tip)? {
        Ground::At(at) => at,
        Ground::Gone => {
            let reason = "what it stands on is proven again".to_owned();
            return Ok(Err(ended(ProofEnd::Dropped { reason })));
        }
        Ground::Conflict(reason) => return Ok(Err(vec![unstack(order, Some(reason))])),
    };
    let is_on_target = at == tip;
    let may_stay = order.task.may_stay_as_it_is();
    if repo.is_ancestor(verified, &at)? {
        let reason = "its commit is in the target's history".to_owned();
        return Ok(Err(match order.task.decided {
            _ if !is_on_target => {
                vec![unstack(order, Some("what it stands on has its work already".to_owned()))]
            }
            _ if may_stay || order.task.progress.base.as_ref() == Some(verified) => {
                nothing_to_land(order, &tip)?
            }
            Status::Verifying => ended(ProofEnd::NotHere { reason }),
            _ => {
                vec![Command::LandingFound { task: order.task.id.clone(), commit: verified.clone(), reason }]
            }
        }));
    }
    let onto = instead_of_base(order, &at)?;
    let tree = match repo.merge(&onto, verified)? {
        Merged::Clean { tree } => repo.settle(tree, &at, &order.site.owned)?,
        Merged::Conflict { files, messages: feedback } => {
            let reason = format!("{CONFLICT}{}", files.join(", "));
            let pointers = Box::new(Pointers { files, ..Pointers::default() });
            let (task, fence) = (order.task.id.clone(), order.fence());
            return Ok(Err(vec![Command::LandingFailed {
                task,
                fence,
                tip: at,
                reason,
                feedback,
                pointers,
            }]));
        }
    };
    if may_stay && is_on_target && tree == repo.tree_of(&tip)? {
        return nothing_to_land(order, &tip).map(Err);
    }
    let count = repo.beyond(&onto, &[verified])?.len();
    let group = order.run.group(order.task.group).map_or("main", |group| group.id.as_str());
    let settings = &order.run.settings;
    let text = message::merge(&order.spec, &order.run.id, group, count, settings.commit_prefix.as_deref());
    // What was carried over leaves the commits behind that it was built on: the host would show and merge them, too.
    let parents = if onto == at { vec![&at, verified] } else { vec![&at] };
    let commit = repo.commit_work(&tree, &parents, &text, settings.author.as_deref())?;
    Ok(Ok(Chain { tip, ground: at, tree, members: vec![(&order.task, commit)] }))
}
