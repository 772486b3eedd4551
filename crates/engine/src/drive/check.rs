//! Checks of a commit: run where no agent works, and again where they are red, until they are believed.

use piton_core::plan::{Argv, Check, Oid};
use piton_core::run::flakes::{Earlier, Look, Looks};
use piton_core::run::{CheckResult, CheckRun, Command, Verdict};

use super::order::{Order, Trouble};
use super::work::tree_in_place;
use super::{budget, feedback, fence};
use crate::check_worktrees::{Places, WorkFolder};
use crate::checks::{self, Bench, Cut, First, NoResult};
use crate::keeper::Job;
use crate::{clock, crash};

/// Run the task's checks on its commit.
pub(super) fn check(order: &Order) -> Result<Vec<Command>, Trouble> {
    let tree = order.tree()?;
    let mut wanted = checks::unproven(&order.spec.checks, tree, &order.task.progress.passes);
    if order.task.awaits_confirmation() {
        // Agents judge what is finished: they are dear, and what is found meanwhile they would have to judge again.
        wanted.retain(|check| !matches!(check.run, Argv::Review { .. }));
    }
    // They may be stopped at any of them, and what passed before need not be paid for again.
    wanted.sort_by_key(|check| check.reviewer().is_some());
    let ran = match order.run.settings.no_commits {
        false => {
            let work_folder = work_folder(order)?;
            let (commit, on_red, earlier) = (order.commit()?, OnRed::Confirm, Earlier::Nothing);
            let passes = Passes::Count;
            run_on(order, &wanted, Subject { commit, tree, work_folder, on_red, earlier, passes })
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

/// How it is dealt with that a check is red.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnRed {
    /// It runs again, until it is clear whether it flakes; then the others run.
    Confirm,
    /// The others run: what it means is found out on another tree.
    GoOn,
    /// Nothing else runs: smaller groups will find out why.
    Stop,
}

/// What checks run on.
pub(super) struct Subject<'a> {
    pub commit: &'a Oid,
    pub tree: &'a Oid,
    /// Where the agent worked, to tell it what is not committed.
    pub work_folder: Option<WorkFolder>,
    pub on_red: OnRed,
    pub earlier: Earlier,
    pub passes: Passes,
}

/// Whether a check runs on a tree on which it has passed before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passes {
    Count,
    /// It runs: what it said before does not tell whether the machine is in order now.
    AreSeenAgain,
}

/// Run checks on exactly that commit, in worktrees that no agent works in.
pub(super) fn run_on(
    order: &Order,
    wanted: &[&Check],
    subject: Subject<'_>,
) -> Result<Vec<CheckResult>, Trouble> {
    let Subject { commit, tree, work_folder, on_red, earlier, passes } = subject;
    let proof = order.proof().filter(|_| wanted.iter().all(|check| check.reviewer().is_none()));
    let jobs = if proof.is_some() { order.shared_jobs() } else { order.jobs() };
    let dir = order.worktree_dir()?;
    let mut bench = order.bench(&jobs, tree);
    if let Some(proof) = proof {
        bench.name = format!("{proof}.check.{}", tree.short());
    }
    let setup = &order.run.settings.worktree;
    let places = Places::new(order.pool(&dir)?, commit, tree, setup);
    let mut places = places.with_work_folder(work_folder);
    let name = bench.name.clone();
    let mut results = Vec::new();
    for check in wanted {
        // What was red here is looked at again, whatever it was before.
        let counts = passes == Passes::Count && earlier != Earlier::RedHere;
        let known = order.site.passed.find(check, tree, setup).filter(|_| counts);
        if let Some(passed) = known {
            results.push(passed);
            continue;
        }
        let digest = check.digest();
        let mut looks = Looks::new(order.run.flakes.habit(&digest, clock::now()), earlier);
        let mut ran = CheckRun::new(digest, check.name.clone());
        ran.for_several = on_red == OnRed::Stop;
        let result = loop {
            bench.name.clone_from(&name);
            let before = ran.runs + u32::from(earlier == Earlier::RedHere);
            if before > 0 {
                bench.name += &format!(".again{before}");
            }
            let begin = |job: &Job| order.running.begin(job, None);
            let result = checks::on_commit(&mut bench, &mut places, check, &begin, |bench, note| {
                judged(order, bench, check, &mut results, note)
            })?;
            let passed = result.verdict.lets_pass();
            ran.add(passed, result.took);
            ran.use_cpu(order.cpu_of(&result));
            let is_clear = !may_flake(check, &result) || places.is_spoilt || on_red != OnRed::Confirm;
            if is_clear || looks.saw(passed) != Look::Again {
                break result;
            }
        };
        ran.flaked |= looks.has_flaked();
        ran.pass = order.site.passed.keep(check, tree, setup, &result);
        order.ran(ran);
        let is_red = !result.verdict.lets_pass();
        results.push(result);
        if places.is_spoilt || is_red && on_red == OnRed::Stop {
            break;
        }
    }
    Ok(results)
}

/// Whether another run may say something else. What took all of its time would take it again.
pub(super) fn may_flake(check: &Check, result: &CheckResult) -> bool {
    let is_verdict = matches!(result.verdict, Verdict::Pass | Verdict::Fail { .. } | Verdict::Broken { .. });
    is_verdict && check.reviewer().is_none() && result.took < check.timeout
}

fn all_pass(results: &[CheckResult]) -> bool {
    results.iter().all(|result| result.verdict.lets_pass())
}

/// A result. A reviewer that was cut off, or has to wait, takes along what was found before. `note` is asked before it begins.
fn judged<'a>(
    order: &'a Order,
    bench: &mut Bench<'a>,
    check: &Check,
    earlier: &mut Vec<CheckResult>,
    note: &dyn Fn(&Job) -> bool,
) -> Result<CheckResult, Trouble> {
    let is_review = check.reviewer().is_some();
    let spent = if is_review { budget::spent(order) } else { None };
    if is_review {
        bench.agents = budget::all_held(order);
    }
    let begin = |job: &Job, agent: Option<&str>| {
        // One that has begun is waited for: it is paid for.
        let may = spent.is_none() || agent.is_none() || job.is_begun().unwrap_or(false);
        order.running.begin(job, agent) && may && note(job)
    };
    let result = bench.run(check, &begin);
    let bound = match &result {
        _ if !is_review => None,
        Err(NoResult::Stopped) => budget::stopped_at(order).or(spent),
        Ok(result) if !result.verdict.lets_pass() => budget::stopped_at(order),
        _ => None,
    };
    let result = match (bound, order.running.agents().pop()) {
        (Some(bound), Some(at)) => {
            let end = budget::end_of_review(bound, &at.agent);
            Err(NoResult::Cut(Box::new(bench.cut(check, at, end))))
        }
        _ => result,
    };
    match result {
        Err(NoResult::Cut(cut)) => {
            Err(Trouble::Cut(Box::new(Cut { earlier: std::mem::take(earlier), ..*cut })))
        }
        Err(NoResult::First(first)) => {
            Err(Trouble::First(First { earlier: std::mem::take(earlier), ..first }))
        }
        result => Ok(result?),
    }
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
