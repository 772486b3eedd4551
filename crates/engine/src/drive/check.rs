//! The checks of a task, on its own work.

use piton_core::order::Arrange;
use piton_core::plan::{Argv, Check, Oid};
use piton_core::run::flakes::Earlier;
use piton_core::run::{CheckResult, Command, Verdict};

use super::order::{Order, Trouble};
use super::round::{OnRed, Passes, Subject, judged, run_on};
use super::work::tree_in_place;
use super::{feedback, fence};
use crate::check_worktrees::WorkFolder;
use crate::checks;
use crate::crash;

/// Run the task's checks on its commit.
pub(super) fn check(order: &Order) -> Result<Vec<Command>, Trouble> {
    let tree = order.tree()?;
    let mut wanted = checks::unproven(&order.spec.checks, tree, &order.task.progress.passes);
    if order.task.awaits_confirmation() {
        // Agents judge what is finished: they are dear, and what is found meanwhile they would have to judge again.
        wanted.retain(|check| !matches!(check.run, Argv::Review { .. }));
    }
    // They may be stopped at any of them, and what passed before need not be paid for again.
    wanted.arrange_by_key(|check| check.reviewer().is_some());
    let ran = match order.run.settings.no_commits {
        false => {
            let work_folder = work_folder(order)?;
            let (commit, on_red, earlier) = (order.commit()?, OnRed::Confirm, Earlier::Nothing);
            let passes = Passes::Count;
            run_on(order, &wanted, &Subject { commit, tree, work_folder, on_red, earlier, passes })
        }
        true => run_in_place(order, &wanted, tree),
    };
    let mut results = match ran {
        // What has failed has failed, whatever a reviewer would have said.
        Err(Trouble::Cut(cut)) if !all_pass(&cut.earlier) => cut.earlier,
        Err(Trouble::First(first)) if !all_pass(&first.earlier) => first.earlier,
        ran => ran?,
    };
    results.extend(fence::protected(order, tree)?);
    let advice = match order.run.settings.no_commits {
        false => feedback::written(order, order.commit()?, &results)?,
        true => Vec::new(),
    };
    crash::point("check.ended");
    let ended = Command::ChecksEnded {
        task: order.task.id.clone(),
        fence: order.fence(),
        tree: tree.clone(),
        results,
    };
    // After the failure it is about.
    Ok([ended].into_iter().chain(advice).collect())
}

/// Where the agent worked.
pub(super) fn work_folder(order: &Order) -> Result<Option<WorkFolder>, Trouble> {
    let path = Some(order.workplace()?).filter(|path| path.is_dir());
    let commit = order.commit()?.clone();
    Ok(path.map(|path| WorkFolder { path, commit, is_agents: true }))
}

fn all_pass(results: &[CheckResult]) -> bool {
    results.iter().all(|result| result.verdict.lets_pass())
}

fn run_in_place(order: &Order, wanted: &[&Check], tree: &Oid) -> Result<Vec<CheckResult>, Trouble> {
    let jobs = order.jobs();
    let mut bench = order.bench(&jobs, tree);
    let mut results = Vec::new();
    for check in wanted {
        let clean = tree_in_place(order)? == *tree;
        let mut result = judged(order, &mut bench, check, &mut results, &|_| true)?;
        if !clean || tree_in_place(order)? != *tree {
            result.verdict = Verdict::Broken { reason: "files changed while it ran".to_owned() };
        }
        results.push(result);
    }
    Ok(results)
}
