//! Several checks on one commit: in lanes, as many at once as the machine bears, and again where they are red.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{thread, vec};

use camino::Utf8PathBuf;
use piton_core::plan::{Check, Digest, Oid};
use piton_core::run::flakes::{Earlier, Look, Looks};
use piton_core::run::{CheckResult, CheckRun, Verdict};

use super::budget;
use super::lanes::{self, Lane};
use super::order::{Order, Trouble};
use crate::check_worktrees::{Places, WorkFolder};
use crate::checks::{self, Bench, Cut, First, NoResult};
use crate::keeper::Job;
use crate::{clock, memory};

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
    subject: &Subject<'_>,
) -> Result<Vec<CheckResult>, Trouble> {
    let setup = &order.run.settings.worktree;
    // What was red here is looked at again, whatever it was before.
    let counts = subject.passes == Passes::Count && subject.earlier != Earlier::RedHere;
    let known = |check: &&Check| order.site.passed.find(check, subject.tree, setup).filter(|_| counts);
    let mut results: Vec<Option<CheckResult>> = wanted.iter().map(known).collect();
    let open: Vec<usize> = (0..wanted.len()).filter(|&at| results[at].is_none()).collect();
    let proof = order.proof().filter(|_| wanted.iter().all(|check| check.reviewer().is_none()));
    let (lanes, jobs) = match proof {
        Some(_) => {
            let lanes = lanes::split(&open, |at| wanted[at].digest(), &checks_by_task(order));
            order.could_run_at_once(lanes.len());
            (lanes, order.shared_jobs())
        }
        None => (vec![open], order.jobs()),
    };
    let most = if memory::is_short() { 0 } else { order.run.lanes_at_once() as usize };
    let more: Vec<Lane> = (1..lanes.len()).map_while(|_| order.site.lanes.enter_below(most)).collect();
    let (lanes, is_over, dir) =
        (Mutex::new(lanes.into_iter()), AtomicBool::new(false), order.worktree_dir()?);
    let round = Round { order, wanted, subject, proof, jobs, dir, lanes, is_over };
    let found = thread::scope(|scope| {
        let beside = |lane: Lane| {
            let found = round.work(None);
            drop(lane);
            found
        };
        let others: Vec<_> = more.into_iter().map(|lane| scope.spawn(move || beside(lane))).collect();
        let mut found = vec![round.work(subject.work_folder.as_ref())];
        let broken = || Err(Trouble::Transient("an internal error in a check".to_owned()));
        found.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|_| broken())));
        found
    });
    for found in found {
        for (at, result) in found? {
            results[at] = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

/// The lists of checks whose order counts: of the task with what every landing is checked by, and of all others.
fn checks_by_task(order: &Order) -> Vec<BTreeSet<Digest>> {
    let own = order.spec.checks.iter().chain(&order.run.settings.landing_checks);
    let ahead = order.ahead.iter().map(|member| &member.spec.checks);
    let others = ahead.chain(order.neighbours.iter().map(|other| &other.checks));
    let others = others.map(|checks| checks.iter().map(Check::digest).collect());
    [own.map(Check::digest).collect()].into_iter().chain(others).collect()
}

/// Checks that run at the same time on one commit.
struct Round<'a> {
    order: &'a Order,
    wanted: &'a [&'a Check],
    subject: &'a Subject<'a>,
    proof: Option<u64>,
    jobs: Utf8PathBuf,
    dir: Utf8PathBuf,
    lanes: Mutex<vec::IntoIter<Vec<usize>>>,
    /// The answer is known, and what else runs is of no use.
    is_over: AtomicBool,
}

type Found = Vec<(usize, CheckResult)>;

impl Round<'_> {
    /// Run one lane after the other in a worktree, until none is left.
    fn work(&self, work_folder: Option<&WorkFolder>) -> Result<Found, Trouble> {
        let (mut at, mut found) = (Vec::new(), Vec::new());
        match self.run_lanes(work_folder, &mut at, &mut found) {
            Err(Trouble::Stopped) if self.is_over() && !self.order.running.is_stopped() => {}
            Err(trouble) => {
                self.is_over.store(true, Ordering::Relaxed);
                return Err(trouble);
            }
            Ok(()) => {}
        }
        Ok(at.into_iter().zip(found).collect())
    }

    fn run_lanes(
        &self,
        work_folder: Option<&WorkFolder>,
        ran: &mut Vec<usize>,
        found: &mut Vec<CheckResult>,
    ) -> Result<(), Trouble> {
        let (order, subject) = (self.order, self.subject);
        let mut bench = order.bench(&self.jobs, subject.tree);
        if let Some(proof) = self.proof {
            bench.name = format!("{proof}.check.{}", subject.tree.short());
        }
        let setup = &order.run.settings.worktree;
        let places = Places::new(order.pool(&self.dir)?, subject.commit, subject.tree, setup);
        let mut places = places.with_work_folder(work_folder.cloned());
        let next = || self.lanes.lock().unwrap_or_else(PoisonError::into_inner).next();
        for at in std::iter::from_fn(next).flatten() {
            if self.is_over() {
                break;
            }
            let result = self.run(self.wanted[at], &mut bench, &mut places, found)?;
            let is_red = !result.verdict.lets_pass();
            ran.push(at);
            found.push(result);
            let is_known = places.is_spoilt || is_red && subject.on_red == OnRed::Stop;
            if is_known && !self.is_over.swap(true, Ordering::Relaxed) {
                order.running.end_jobs();
            }
        }
        Ok(())
    }

    /// Run a check until it is believed.
    fn run<'b>(
        &'b self,
        check: &Check,
        bench: &mut Bench<'b>,
        places: &mut Places<'_>,
        found: &mut Vec<CheckResult>,
    ) -> Result<CheckResult, Trouble> {
        let (order, Subject { tree, on_red, earlier, .. }) = (self.order, self.subject);
        let (digest, name) = (check.digest(), bench.name.clone());
        let mut looks = Looks::new(order.run.flakes.habit(&digest, clock::now()), *earlier);
        let mut ran = CheckRun::new(digest, check.name.clone());
        ran.for_several = *on_red == OnRed::Stop;
        let result = loop {
            let before = ran.runs + u32::from(*earlier == Earlier::RedHere);
            let again = if before > 0 { format!(".again{before}") } else { String::new() };
            bench.name = name.clone() + &again;
            let begin = |job: &Job| order.running.begin(job, None) && !self.is_over();
            let result = checks::on_commit(bench, places, check, &begin, |bench, note| {
                judged(order, bench, check, found, &|job| !self.is_over() && note(job))
            });
            bench.name.clone_from(&name);
            let result = result?;
            let passed = result.verdict.lets_pass();
            ran.add(passed, result.took);
            ran.use_cpu(order.cpu_of(&result));
            let is_clear = !may_flake(check, &result) || places.is_spoilt || *on_red != OnRed::Confirm;
            if is_clear || looks.saw(passed) != Look::Again {
                break result;
            }
        };
        ran.flaked |= looks.has_flaked();
        ran.pass = order.site.passed.keep(check, tree, &order.run.settings.worktree, &result);
        order.ran(ran);
        Ok(result)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A result. A reviewer that was cut off, or has to wait, takes along what was found before. `note` is asked before it begins.
pub(super) fn judged<'a>(
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

/// Whether another run may say something else. What took all of its time would take it again.
pub(super) fn may_flake(check: &Check, result: &CheckResult) -> bool {
    let is_verdict = matches!(result.verdict, Verdict::Pass | Verdict::Fail { .. } | Verdict::Broken { .. });
    is_verdict && check.reviewer().is_none() && result.took < check.timeout
}
