//! Landing: the merge is built and proven beside everything, then the target moves in one step.

use std::thread;

use piton_core::message;
use piton_core::plan::{Check, Oid, TaskId};
use piton_core::run::flakes::Earlier;
use piton_core::run::line::ProofEnd;
use piton_core::run::{
    AgentEnd, CONFLICT, Carried, CheckResult, Class, Command, Intent, Pointers, Status, TOGETHER, Task,
    Verdict, Waived, verdict,
};

use super::order::{Neighbour, Order, Trouble, commit_of};
use super::round::{self, OnRed, Passes, Subject};
use super::{check, feedback, follow, stack, whole, work};
use crate::git::{GitError, LandedState, LandingLease, Merged, Moved, RefChange, Repo};
use crate::{checks, clock, crash};

/// What is pinned for a task until it has landed and its worktree is gone.
pub const PINS: [&str; 3] = ["candidate", "captured", "shown"];

/// So many tasks that landed before are named to an agent whose work does not fit in with them.
const MOST_OTHERS: usize = 5;
/// Of so many it is looked at what they changed.
const LOOKED_AT: usize = 50;

/// A chain as it is merged into the target's tip.
pub(super) struct Chain<'o> {
    pub tip: Oid,
    /// What they are merged into: the tip, or what open requests make of it.
    pub ground: Oid,
    pub tree: Oid,
    /// The merge that brings each member. One that has just landed has none.
    pub members: Vec<(&'o Task, Oid)>,
}

/// Merge a chain of candidates into the tip, prove it, pin it, make it durable. The target is not touched.
pub(super) fn prove(order: &Order, proof: u64) -> Result<Vec<Command>, Trouble> {
    let repo = order.repo()?;
    if order.run.requests_of(&order.task.id).is_some()
        && let Err(reason) = follow::bring_target(order)?
    {
        let (task, fence) = (order.task.id.clone(), order.fence());
        return Ok(vec![Command::LandingWaits { task, fence, reason }]);
    }
    let merged = match order.is_request_of_run() {
        true => whole::merge(order)?,
        false if order.task.progress.stacked => stack::merge(order, proof)?,
        false => merge(order, proof)?,
    };
    let Chain { tip, ground, tree, members } = match merged {
        Ok(chain) => chain,
        Err(commands) => return Ok(commands),
    };
    let ended = |end, results| Command::ProofEnded { proof, end, results };
    if order.passed.as_ref().is_some_and(|passed| *passed != tree) {
        let reason = format!("`{}` has moved", order.target()?);
        return Ok(vec![ended(ProofEnd::Dropped { reason }, Vec::new())]);
    }
    // Whom agents judge, or who meets somebody they judged, is proven alone.
    let mut waived = match order.is_request_of_run() {
        true => whole::waived(order, &tree)?,
        false if order.ahead.is_empty() => {
            Waived { untouched: untouched(order, &ground, &tree)?, ..Waived::default() }
        }
        false => Waived::default(),
    };
    let all = judges(order, &waived);
    let stands = order.on.as_ref().is_some_and(|on| !on.is_empty());
    if let Some(reason) = order.site.red_tip.reason_for(&ground, &all) {
        if stands {
            return Ok(vec![stack::unstack(order, Some(reason))]);
        }
        let (task, fence) = (order.task.id.clone(), order.fence());
        return Ok(vec![Command::LandingWaits { task, fence, reason }]);
    }
    let Some((_, candidate)) = members.last().cloned() else { return Ok(Vec::new()) };
    let on_red = match order.ahead.is_empty() {
        false => OnRed::Stop,
        true if is_unverified(&order.task) => OnRed::GoOn,
        true => OnRed::Confirm,
    };
    let mut results = run_unproven(order, &candidate, &tree, &all, on_red)?;
    if let Some(reason) = verdict::reason(&results).filter(|_| on_red == OnRed::Stop) {
        let of = verdict::whose(order.chain(), &verdict::red(&results));
        return Ok(vec![ended(ProofEnd::Red { reason, of }, Vec::new())]);
    }
    if let Some(reason) = target_is_red(order, &ground, &all, &results)? {
        let (task, fence) = (order.task.id.clone(), order.fence());
        return Ok(vec![match stands {
            true => stack::unstack(order, Some(reason)),
            false => Command::LandingWaits { task, fence, reason },
        }]);
    }
    if on_red == OnRed::GoOn && is_doubtful(&results) {
        // If the target has not moved, the merge has the very files of the work.
        let is_its_own = tree == *order.tree()?;
        let mut by_itself = if is_its_own { Vec::new() } else { check_by_itself(order, &results)? };
        if verdict::reason(&by_itself).is_none() {
            look_again(order, &candidate, &tree, &all, &mut results)?;
            by_itself = if is_its_own { results.clone() } else { Vec::new() };
        }
        if verdict::reason(&by_itself).is_some() {
            return red_by_itself(order, by_itself);
        }
    }
    let mut onto = &ground;
    if order.is_request_of_run() {
        waived.excused.extend(whole::red_before(order, &mut results)?);
        // Its next agent needs all of it, and the target may be to blame.
        onto = &candidate;
    }
    if let Some(failed) = red(order, onto, &all, &results) {
        if onto == &candidate {
            whole::keep(order, &candidate)?;
        }
        return Ok(vec![failed]);
    }
    repo.sync_objects(members.iter().map(|(_, commit)| commit))?;
    // The last merge holds all before it. Those may land meanwhile and be cleaned up, so nothing is pinned for them.
    let pins = [("candidate", &candidate), ("captured", order.commit()?)];
    let pins = pins.map(|(what, commit)| RefChange::pin(&order.pin_name(what), commit));
    repo.change_refs(&pins.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    crash::point("land.durable");
    let carried = |(task, commit): &(&Task, Oid)| {
        let (task, fence) = (task.id.clone(), task.fence);
        Carried { task, fence, commit: commit.clone() }
    };
    let before = members[..members.len() - 1].iter().map(carried).collect();
    let (task, fence, intent) = (
        order.task.id.clone(),
        order.fence(),
        Intent { old: tip, candidate, on: order.on.clone().unwrap_or_default() },
    );
    // While another lands, this one is known to have passed.
    let passed = ended(ProofEnd::Passed { tree: tree.clone() }, results.clone());
    Ok(vec![Command::PrepareLanding { task, fence, tree, intent, before, results, waived }, passed])
}

/// Merge each member of the chain into what those before it make of the tip; or what became clear on the way.
fn merge(order: &Order, proof: u64) -> Result<Result<Chain<'_>, Vec<Command>>, Trouble> {
    let repo = order.repo()?;
    // No lease yet: if the target is moved while this is proven, the move notices it.
    let tip = order.tip()?;
    let (mut at, mut tree, mut members) = (tip.clone(), None, Vec::new());
    let specs = order.ahead.iter().map(|member| &member.spec).chain([&order.spec]);
    for (task, spec) in order.chain().zip(specs) {
        let (id, verified, base) = (task.id.clone(), commit_of(task)?, task.progress.base.as_ref());
        // What is not in the target: the work, and its base should the target have been moved off it.
        let work: Vec<&Oid> = [verified].into_iter().chain(base).collect();
        // Everybody waits for a landing: what does not depend on each other is asked at the same time.
        let (ahead, merged) = thread::scope(|scope| {
            let merged = scope.spawn(|| repo.merge(&at, verified));
            (repo.beyond(&tip, &work), merged.join())
        });
        let ahead = ahead?;
        if !ahead.contains(verified) {
            let nothing = base == Some(verified) || task.may_stay_as_it_is();
            let reason = "its commit is in the target's history".to_owned();
            if nothing && order.ahead.is_empty() {
                return nothing_to_land(order, &tip).map(Err);
            }
            if task.id != order.task.id {
                // It landed since this was begun, or somebody merged it: then its own proof will tell.
                continue;
            }
            if is_unverified(task) {
                let end = ProofEnd::NotHere { reason };
                return Ok(Err(vec![Command::ProofEnded { proof, end, results: Vec::new() }]));
            }
            return Ok(Err(vec![Command::LandingFound { task: id, commit: verified.clone(), reason }]));
        }
        let aside = |files| Command::ProofEnded {
            proof,
            end: ProofEnd::Conflict { task: id.clone(), files },
            results: Vec::new(),
        };
        let gone = base.filter(|base| *base != verified && ahead.contains(*base));
        if let Some(base) = gone
            && !repo.is_rewritten(base, &tip)?
        {
            if !order.ahead.is_empty() {
                return Ok(Err(vec![aside(Vec::new())]));
            }
            return Err(Trouble::Defect(format!(
                "`{}` no longer contains {}, which this work was built on: landing it would bring back what was removed. `piton clean --unfinished` and `piton reset {id}` do it again on the current branch",
                order.target()?,
                base.short()
            )));
        }
        let merged = merged.map_err(|_| Trouble::Transient("an internal error in a merge".to_owned()))?;
        let now = match merged? {
            Merged::Clean { tree } => repo.settle(tree, &at, &order.site.owned)?,
            Merged::Conflict { files, .. } if at != tip && is_clean(repo, &tip, verified)? => {
                return Ok(Err(vec![aside(files)]));
            }
            Merged::Conflict { .. } if !order.ahead.is_empty() => {
                // It is told what it conflicts with when it is alone.
                return Ok(Err(vec![aside(Vec::new())]));
            }
            Merged::Conflict { files, messages: feedback } => {
                let (reason, others) =
                    (format!("{CONFLICT}{}", files.join(", ")), changed_by(order, &files)?);
                let pointers = Box::new(Pointers { files, others, ..Pointers::default() });
                let fence = task.fence;
                return Ok(Err(vec![Command::LandingFailed {
                    task: id,
                    fence,
                    tip,
                    reason,
                    feedback,
                    pointers,
                }]));
            }
        };
        crash::point("land.merged");
        let group = order.run.group(task.group).map_or("main", |group| group.id.as_str());
        let settings = &order.run.settings;
        let text = message::merge(spec, &order.run.id, group, ahead.len(), settings.commit_prefix.as_deref());
        at = repo.commit_work(&now, &[&at, verified], &text, settings.author.as_deref())?;
        tree = Some(now);
        members.push((task, at.clone()));
    }
    let tree = tree.ok_or_else(|| Trouble::Transient("there is nothing to land".to_owned()))?;
    Ok(Ok(Chain { ground: tip.clone(), tip, tree, members }))
}

/// Its checks have passed nowhere yet.
fn is_unverified(task: &Task) -> bool {
    task.decided == Status::Verifying
}

fn is_clean(repo: &Repo, tip: &Oid, commit: &Oid) -> Result<bool, GitError> {
    Ok(matches!(repo.merge(tip, commit)?, Merged::Clean { .. }))
}

/// What changed nothing is proven on what the target holds now.
pub(super) fn nothing_to_land(order: &Order, tip: &Oid) -> Result<Vec<Command>, Trouble> {
    let tree = order.repo()?.tree_of(tip)?;
    // A gate is about this very tree, also where an agent judges.
    let asked = |check: &&Check| order.task.gate || check.reviewer().is_none();
    let all: Vec<&Check> = order.spec.checks.iter().filter(asked).collect();
    let results = run_unproven(order, tip, &tree, &all, OnRed::Confirm)?;
    Ok(vec![red(order, tip, &all, &results).unwrap_or_else(|| Command::NothingToLand {
        task: order.task.id.clone(),
        fence: order.fence(),
        tree,
        results,
    })])
}

/// The landing waits, and no task is to blame, if the checks that failed and are not the task's own are red on the target
/// itself.
fn target_is_red(
    order: &Order,
    tip: &Oid,
    all: &[&Check],
    results: &[CheckResult],
) -> Result<Option<String>, Trouble> {
    if results.iter().any(|result| matches!(result.verdict, Verdict::Impossible { .. })) {
        return Ok(None);
    }
    let red = verdict::red(results);
    let is_foreign = |check: &&Check| {
        let is_own = order.spec.checks.iter().any(|own| own.digest() == check.digest());
        !is_own && check.reviewer().is_none() && red.contains(&check.digest())
    };
    // What the tasks of a request of the run are for is not on the target yet.
    let landing: Vec<&Check> = order.run.settings.landing_checks.iter().collect();
    let all = if order.is_request_of_run() { &landing[..] } else { all };
    let mut foreign: Vec<&Check> = all.iter().copied().filter(is_foreign).collect();
    foreign.dedup_by_key(|check| check.digest());
    if foreign.is_empty() {
        return Ok(None);
    }
    let tree = order.repo()?.tree_of(tip)?;
    let (on_red, earlier, passes) = (OnRed::Confirm, Earlier::Nothing, Passes::AreSeenAgain);
    let bare = Subject { commit: tip, tree: &tree, work_folder: None, on_red, earlier, passes };
    let found = round::run_on(order, &foreign, &bare)?;
    let Some(reason) = verdict::reason(&found) else { return Ok(None) };
    let target = order.target()?;
    let reason = match order.on.as_deref() {
        None | Some([]) => format!(
            "`{target}` itself is red at {}, without any task: {reason}. Nothing lands until somebody commits a fix to it",
            tip.short()
        ),
        Some(_) => format!("the open requests below it are red on `{target}` without it: {reason}"),
    };
    order.site.red_tip.keep(tip, verdict::red(&found), &reason);
    Ok(Some(reason))
}

/// Whether checks are red that may be so for several reasons.
fn is_doubtful(results: &[CheckResult]) -> bool {
    let is_impossible = |result: &CheckResult| matches!(result.verdict, Verdict::Impossible { .. });
    verdict::reason(results).is_some() && !results.iter().any(is_impossible)
}

/// Run those checks on the work by itself that are red on the merge. The checks of other tasks are not asked: they judge what
/// this work does not have.
fn check_by_itself(order: &Order, results: &[CheckResult]) -> Result<Vec<CheckResult>, Trouble> {
    let red = verdict::red(results);
    let own = order.spec.checks.iter().chain(&order.run.settings.landing_checks);
    let mut doubted: Vec<&Check> = own.filter(|check| red.contains(&check.digest())).collect();
    doubted.dedup_by_key(|check| check.digest());
    let itself = subject(order, order.commit()?, order.tree()?, OnRed::Confirm, Earlier::RedOnAnotherTree)?;
    round::run_on(order, &doubted, &itself)
}

/// The work is to blame.
fn red_by_itself(order: &Order, results: Vec<CheckResult>) -> Result<Vec<Command>, Trouble> {
    let advice = feedback::written(order, order.commit()?, &results)?;
    let (task, fence, tree) = (order.task.id.clone(), order.fence(), order.tree()?.clone());
    let ended = Command::ChecksEnded { task, fence, tree, results };
    // After the failure it is about.
    Ok([ended].into_iter().chain(advice).collect())
}

/// Run those again that are red on the merge, and not on the work by itself: do they flake?
fn look_again(
    order: &Order,
    candidate: &Oid,
    tree: &Oid,
    all: &[&Check],
    results: &mut [CheckResult],
) -> Result<(), Trouble> {
    for result in results.iter_mut().filter(|result| !result.verdict.lets_pass()) {
        let check = all.iter().find(|check| check.digest() == result.check);
        let Some(check) = check.filter(|check| round::may_flake(check, result)) else { continue };
        let here = subject(order, candidate, tree, OnRed::Confirm, Earlier::RedHere)?;
        if let Some(last) = round::run_on(order, &[check], &here)?.pop() {
            *result = last;
        }
    }
    Ok(())
}

/// What it means that not every check passed on a merged tree.
fn red(order: &Order, tip: &Oid, all: &[&Check], results: &[CheckResult]) -> Option<Command> {
    let reason = verdict::reason(results)?;
    let (task, fence) = (order.task.id.clone(), order.fence());
    if let Some(agent) = silent(all, results) {
        // The reviewer is to blame, not the work.
        let (tree, end) = (order.task.progress.tree.clone()?, AgentEnd::Transient { reason });
        return Some(Command::ReviewerCut {
            task,
            fence,
            lands: true,
            tree,
            results: Vec::new(),
            agent,
            end,
        });
    }
    let feedback = verdict::feedback(results);
    let impossible = results.iter().any(|result| matches!(result.verdict, Verdict::Impossible { .. }));
    Some(if impossible {
        Command::TryFailed { action: order.action.clone(), class: Class::Defect, reason, feedback }
    } else {
        let reason = format!("{TOGETHER}{reason}");
        let pointers = Box::new(Pointers { others: judged_by(order, results), ..Pointers::to_logs(results) });
        Command::LandingFailed { task, fence, tip: tip.clone(), reason, feedback, pointers }
    })
}

/// The tasks that changed these files since this one began, or all that landed since, where none of them did: the newest.
fn changed_by(order: &Order, files: &[String]) -> Result<Vec<TaskId>, Trouble> {
    let repo = order.repo()?;
    let mut others = Vec::new();
    for other in order.neighbours.iter().rev().take(LOOKED_AT) {
        let Some(landed) = &other.landed else { continue };
        let Some(before) = repo.parent(landed)? else { continue };
        if repo.diff_names(&before, landed)?.iter().any(|changed| files.contains(changed)) {
            others.push(other.task.clone());
        }
    }
    if others.is_empty() {
        others = order.neighbours.iter().rev().map(|other| other.task.clone()).collect();
    }
    others.truncate(MOST_OTHERS);
    Ok(others)
}

/// The tasks whose checks failed on the merged tree, or all that landed since this one began, where none did: the newest.
fn judged_by(order: &Order, results: &[CheckResult]) -> Vec<TaskId> {
    let failed = |check: &Check| {
        results.iter().any(|result| !result.verdict.lets_pass() && result.check == check.digest())
    };
    let newest = || order.neighbours.iter().rev();
    let all = |other: &&Neighbour| other.checks.iter().any(failed);
    let mut others: Vec<TaskId> = newest().filter(all).map(|other| other.task.clone()).collect();
    if others.is_empty() {
        others = newest().map(|other| other.task.clone()).collect();
    }
    others.truncate(MOST_OTHERS);
    others
}

/// The reviewer that came to no verdict, where nothing else is wrong.
fn silent(all: &[&Check], results: &[CheckResult]) -> Option<String> {
    let mut agent = None;
    for result in results.iter().filter(|result| !result.verdict.lets_pass()) {
        let check = all.iter().find(|check| check.digest() == result.check)?;
        let is_silent = matches!(result.verdict, Verdict::Broken { .. });
        agent = Some(check.reviewer().filter(|_| is_silent)?.to_owned());
    }
    agent
}

/// The tasks whose files this landing leaves as they are. Nobody asks git about tasks that no agent judges. A gate is open
/// again after a landing, so nobody asks its agents before; its own landing is about the whole.
pub(super) fn untouched(order: &Order, tip: &Oid, tree: &Oid) -> Result<Vec<TaskId>, Trouble> {
    let repo = order.repo()?;
    let is_reviewed = |checks: &[Check]| checks.iter().any(|check| check.reviewer().is_some());
    let apart = |files: &[String], changed: &[String]| !files.iter().any(|file| changed.contains(file));
    let mut untouched = Vec::new();
    let is_own = is_reviewed(&order.spec.checks) && !order.task.gate;
    if let Some(base) = order.task.progress.base.as_ref().filter(|_| is_own) {
        let (own, others) = (repo.diff_names(base, order.commit()?)?, repo.diff_names(order.tree()?, tree)?);
        untouched.extend(apart(&own, &others).then(|| order.task.id.clone()));
    }
    let reviewed: Vec<_> = order.neighbours.iter().filter(|other| is_reviewed(&other.checks)).collect();
    let changed = if reviewed.is_empty() { Vec::new() } else { repo.diff_names(tip, tree)? };
    for other in reviewed {
        if other.gate {
            untouched.push(other.task.clone());
            continue;
        }
        let Some(landed) = &other.landed else { continue };
        let Some(before) = repo.parent(landed)? else { continue };
        untouched.extend(apart(&repo.diff_names(&before, landed)?, &changed).then(|| other.task.clone()));
    }
    Ok(untouched)
}

/// Every check that has a say in the merged tree: an agent's only where the files that it judged differ.
fn judges<'o>(order: &'o Order, waived: &Waived) -> Vec<&'o Check> {
    let neighbours = order.neighbours.iter().map(|other| (&other.task, &other.checks));
    let ahead = order.ahead.iter().map(|member| (&member.task.id, &member.spec.checks));
    let all = ahead.chain([(&order.task.id, &order.spec.checks)]).chain(neighbours);
    let wanted = all.flat_map(|(task, checks)| {
        let carried = waived.untouched.contains(task);
        checks.iter().filter(move |check| !carried || check.reviewer().is_none())
    });
    let asked = wanted.filter(|check| !waived.excused.contains(&check.digest()));
    asked.chain(&order.run.settings.landing_checks).collect()
}

/// Those of the checks that have not passed on the tree.
fn run_unproven(
    order: &Order,
    candidate: &Oid,
    tree: &Oid,
    all: &[&Check],
    on_red: OnRed,
) -> Result<Vec<CheckResult>, Trouble> {
    let passes = order.chain().flat_map(|task| &task.progress.passes);
    let mut wanted = checks::unproven(all.iter().copied(), tree, passes);
    // A proof that has passed has run them.
    wanted.retain(|check| !check.uncached || order.passed.is_none());
    round::run_on(order, &wanted, &subject(order, candidate, tree, on_red, Earlier::Nothing)?)
}

/// Run checks on a merge. If it has the very files of the work, the agent can be told what it has not committed.
fn subject<'a>(
    order: &'a Order,
    candidate: &'a Oid,
    tree: &'a Oid,
    on_red: OnRed,
    earlier: Earlier,
) -> Result<Subject<'a>, Trouble> {
    let is_its_own = order.task.progress.tree.as_ref() == Some(tree);
    let work_folder = if is_its_own { check::work_folder(order)? } else { None };
    Ok(Subject { commit: candidate, tree, work_folder, on_red, earlier, passes: Passes::Count })
}

/// Move the target, or find out what became of the last try to do so.
pub(super) fn move_target(order: &Order) -> Result<Vec<Command>, Trouble> {
    let (task, fence) = (order.task.id.clone(), order.fence());
    let (repo, target) = (order.repo()?, order.target()?);
    let intent = order.task.progress.intent.as_ref();
    let Intent { old, candidate, .. } =
        intent.ok_or_else(|| Trouble::Transient("no landing is under way".to_owned()))?;
    let lease = LandingLease::take(repo, target)?;
    let landed = Command::Landed { task: task.clone(), fence, commit: candidate.clone() };
    let rewound = |tip: Option<&Oid>| {
        let short = old.short();
        Trouble::Defect(match tip {
            None => format!(
                "`{target}` was at {short} and no longer exists: `git branch {target} {short}` and `piton retry {task}` continue"
            ),
            Some(tip) => format!(
                "`{target}` was moved away from {short} and is at {}: `git reflog {target}` shows how; `piton clean --unfinished` and `piton reset {task}` do it again on the current branch",
                tip.short()
            ),
        })
    };
    let returned = |tip: &Oid| Command::LandingReturned {
        task: task.clone(),
        fence,
        candidate: candidate.clone(),
        reason: format!("`{target}` was moved to {}, but not by Piton", tip.short()),
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
        let dir = order.worktree_dir()?;
        let pool = order.slot_pool(&dir)?;
        match pool.give_back(&order.named_place()?, &order.tip()?, &work::rescue(order)) {
            Ok(rescued) => {
                commands.extend(rescued.map(|kept| order.rescued(kept)));
                // What cannot go now goes when the run ends.
                let _ = pool.trim(false);
            }
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
