//! The request of a run that lands as a whole: what it brings to its target.

use piton_core::message;
use piton_core::plan::Oid;
use piton_core::run::{CONFLICT, Command, Pointers};

use super::follow::bring_run_branch;
use super::land::{Chain, nothing_to_land};
use super::order::{Order, Trouble};
use crate::git::Merged;

/// Merge the branch of the run, and what agents changed for its request, into the target's tip; or what became clear on the way.
pub(super) fn merge(order: &Order) -> Result<Result<Chain<'_>, Vec<Command>>, Trouble> {
    let repo = order.repo()?;
    let (tip, branch, verified) = (order.tip()?, order.tip_of(order.run_branch()?)?, order.commit()?);
    let mut works: Vec<&Oid> = Vec::new();
    // What agents changed comes first: that is where conflicts with the target are solved.
    for (work, other) in [(verified, &branch), (&branch, verified)] {
        let is_in_other = work != other && repo.is_ancestor(work, other)?;
        if !is_in_other && !works.contains(&work) && !repo.is_ancestor(work, &tip)? {
            works.push(work);
        }
    }
    let count = repo.beyond(&tip, &works)?.len();
    let group = order.run.group(order.task.group).map_or("main", |group| group.id.as_str());
    let settings = &order.run.settings;
    let text = message::merge(&order.spec, &order.run.id, group, count, settings.commit_prefix.as_deref());
    let tip_tree = repo.tree_of(&tip)?;
    let (mut at, mut tree) = (tip.clone(), tip_tree.clone());
    for work in works {
        tree = match repo.merge(&at, work)? {
            Merged::Clean { tree } => repo.settle(tree, &at, &order.site.owned)?,
            Merged::Conflict { files, messages: feedback } => {
                let has_own = matches!(repo.merge(&tip, verified)?, Merged::Conflict { .. });
                let pointers = Box::new(Pointers { files: files.clone(), ..Pointers::default() });
                return Ok(Err(vec![Command::LandingFailed {
                    task: order.task.id.clone(),
                    fence: order.fence(),
                    // What the next agent is to bring in.
                    tip: if has_own { tip } else { branch },
                    reason: format!("{CONFLICT}{}", files.join(", ")),
                    feedback,
                    pointers,
                }]));
            }
        };
        at = repo.commit_work(&tree, &[&at, work], &text, settings.author.as_deref())?;
        repo.sync_objects([&at])?;
    }
    if tree == tip_tree {
        // The target has all of it, perhaps by other commits.
        return Ok(Err(match bring_run_branch(order, &at)? {
            Ok(()) => nothing_to_land(order, &tip)?,
            Err(reason) => {
                vec![Command::LandingWaits { task: order.task.id.clone(), fence: order.fence(), reason }]
            }
        }));
    }
    Ok(Ok(Chain { ground: tip.clone(), tip, tree, members: vec![(&order.task, at)] }))
}
