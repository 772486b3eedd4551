//! The request of a run that lands as a whole: what it brings to its target.

use std::collections::BTreeSet;

use piton_core::message;
use piton_core::order::Arrange;
use piton_core::plan::{Check, Digest, Oid};
use piton_core::run::flakes::Earlier;
use piton_core::run::{CONFLICT, CheckResult, Command, Pointers, Verdict, Waived};

use super::follow::bring_run_branch;
use super::land::{Chain, nothing_to_land, untouched};
use super::order::{Neighbour, Order, Trouble};
use super::round::{OnRed, Passes, Subject, run_on};
use crate::git::{Merged, RefChange};

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

/// What the checks of its tasks are not asked about the tree: the target had some of the tasks' work before, and if the tree is
/// that of the run's branch, they had their say when the tasks landed there.
pub(super) fn waived(order: &Order, tree: &Oid) -> Result<Waived, Trouble> {
    let repo = order.repo()?;
    let branch = order.tip_of(order.run_branch()?)?;
    let is_that_of_branch = repo.tree_of(&branch)? == *tree;
    let (mut excused, mut asked) = (Vec::new(), BTreeSet::new());
    for other in &order.neighbours {
        let is_excused = is_that_of_branch || was_brought(order, other)?;
        let checks = other.checks.iter().map(Check::digest);
        if is_excused { excused.extend(checks) } else { asked.extend(checks) }
    }
    // It may be a check of another task as well.
    excused.retain(|check| !asked.contains(check));
    Ok(Waived { untouched: untouched(order, &branch, tree)?, excused })
}

/// Whether the host has merged the work of a task, as it landed on the run's branch.
fn was_brought(order: &Order, task: &Neighbour) -> Result<bool, Trouble> {
    let (repo, Some(landed)) = (order.repo()?, &task.landed) else { return Ok(false) };
    for head in &order.brought {
        if repo.is_ancestor(landed, head)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Take those of the red checks out that are red on the run's branch by itself as well: a later task has made them so, and nobody
/// else is to blame.
pub(super) fn red_before(order: &Order, results: &mut Vec<CheckResult>) -> Result<Vec<Digest>, Trouble> {
    // What took all of its time has not said anything.
    let is_red_in = |check: &Check, results: &[CheckResult]| {
        let is_red =
            |result: &CheckResult| matches!(result.verdict, Verdict::Fail { .. } | Verdict::Broken { .. });
        let is = |result: &CheckResult| result.check == check.digest() && result.took < check.timeout;
        results.iter().any(|result| is(result) && is_red(result))
    };
    let others = order.neighbours.iter().flat_map(|other| &other.checks);
    let mut doubted: Vec<&Check> =
        others.filter(|check| check.reviewer().is_none() && is_red_in(check, results)).collect();
    doubted.arrange_by_key(|check| check.digest());
    doubted.dedup_by_key(|check| check.digest());
    if doubted.is_empty() {
        return Ok(Vec::new());
    }
    let branch = order.tip_of(order.run_branch()?)?;
    let tree = order.repo()?.tree_of(&branch)?;
    let (on_red, earlier, passes) = (OnRed::Confirm, Earlier::RedOnAnotherTree, Passes::Count);
    let before = Subject { commit: &branch, tree: &tree, work_folder: None, on_red, earlier, passes };
    let ran = run_on(order, &doubted, &before)?;
    let red: Vec<Digest> =
        doubted.iter().filter(|check| is_red_in(check, &ran)).map(|check| check.digest()).collect();
    let landing: Vec<Digest> = order.run.settings.landing_checks.iter().map(Check::digest).collect();
    results.retain(|result| !red.contains(&result.check) || landing.contains(&result.check));
    Ok(red)
}

/// A merge that did not pass is what the next agent begins with: nothing may take it away until then.
pub(super) fn keep(order: &Order, merge: &Oid) -> Result<(), Trouble> {
    let repo = order.repo()?;
    repo.sync_objects([merge])?;
    Ok(repo.change_refs(&[RefChange::pin(&order.pin_name("candidate"), merge)?])?)
}
