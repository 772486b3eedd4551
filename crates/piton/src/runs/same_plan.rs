//! One plan is one run per repository: finds the run of a plan, whichever checkout the plan is named from.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RunId;
use piton_engine::journal::Journal;
use piton_engine::lead;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::paths::{self, typed};
use crate::plans::FoundPlan;
use crate::runs::known;
use crate::ui;

/// Runs of the same plan, if none began with exactly the file that is named.
#[derive(Debug, Default)]
pub(crate) struct SamePlan {
    /// The run that has this plan and lands on the same branch, and the file that it began with.
    known: Option<(RunId, Utf8PathBuf)>,
    /// That file is the same one of another checkout. Otherwise it is a copy.
    is_same_file: bool,
    /// Runs of this plan that land elsewhere, and where.
    elsewhere: Vec<(RunId, Option<String>)>,
    /// Where a new one would land.
    target: Option<String>,
}

/// Look for them. `onto` is the branch that was named, if any.
pub(crate) fn look(
    found: &FoundPlan,
    project: &Project,
    journal: &Journal,
    onto: Option<String>,
) -> Outcome<SamePlan> {
    let mut hash = None;
    let repo = project.repo()?;
    // This only looks: a branch that has yet to be created has no run.
    let asked = onto.or_else(|| found.read.branch());
    let target = repo.and_then(|repo| asked.or_else(|| repo.current_branch().ok()));
    let top = repo.and_then(|repo| repo.top().canonicalize_utf8().ok());
    let within = top.and_then(|top| found.path.strip_prefix(top).ok().map(ToOwned::to_owned));
    let mut same = SamePlan { target, ..SamePlan::default() };
    let mut plans = BTreeSet::new();
    for run in journal.runs()?.into_iter().filter(|run| plans.insert(run.plan.clone())) {
        let Some(facts) = journal.facts(&run.id)?.filter(|facts| facts.name == found.plan.name) else {
            continue;
        };
        // A large plan takes its time to be hashed.
        if facts.plan_hash != *hash.get_or_insert_with(|| found.plan.hash()) {
            continue;
        }
        let its = Utf8PathBuf::from(&run.plan);
        // The project or the plan was moved: its run counts as earlier work.
        let is_elsewhere = || lead::is_elsewhere(project, journal, &run.id);
        if !its.exists() && !is_elsewhere()? || known::is_put_away(journal, &run)? {
            continue;
        }
        if facts.destination() != same.target.as_ref() {
            same.elsewhere.push((run.id, facts.destination().cloned()));
            continue;
        }
        same.is_same_file = within.as_ref().is_some_and(|within| its.ends_with(within));
        same.known = Some((run.id, its));
        break;
    }
    Ok(same)
}

impl SamePlan {
    /// The run of the same file in another checkout.
    pub(crate) fn run(&self) -> Option<(&RunId, &Utf8Path)> {
        let known = self.known.as_ref().filter(|_| self.is_same_file);
        known.map(|(run, its)| (run, its.as_path()))
    }

    /// Called before a run begins. Reports other runs of the plan before anything starts. A copy would land everything
    /// twice, so it is refused.
    pub(crate) fn settle(&self, plan: &Utf8Path) -> Outcome<Option<RunId>> {
        let plan = typed(plan);
        for (run, target) in &self.elsewhere {
            ui::say(format!(
                "the run {run} has the same plan and lands on {}; this one lands on {}",
                onto(target.as_ref()),
                onto(self.target.as_ref())
            ));
            ui::hint(format!("piton run {plan} --run {run}   resumes that one instead"));
        }
        if let Some((run, its)) = self.run() {
            ui::say(format!("the run {run} has this plan, from {its}: it is resumed"));
            return Ok(Some(run.clone()));
        }
        match &self.known {
            Some((run, its)) => {
                let shown = paths::shown(its);
                Err(Failure::new(format!("the run {run} already has this plan, from {shown}"))
                    .hint(format!("piton run {}   resumes it", typed(its)))
                    .hint(format!(
                        "piton run {plan} --reset   begins a new run, which does everything again"
                    )))
            }
            None => Ok(None),
        }
    }

    /// For a command that changes nothing and finds no run: which runs of this plan there are.
    pub(crate) fn hints(&self, failure: Failure) -> Failure {
        let known = self.known.iter().map(|(run, its)| {
            format!("--run {run}   is the run of the same plan, from {}", paths::shown(its))
        });
        let elsewhere = self.elsewhere.iter().map(|(run, target)| {
            format!("--run {run}   is the run of the same plan that lands on {}", onto(target.as_ref()))
        });
        known.chain(elsewhere).fold(failure, Failure::hint)
    }
}

fn onto(target: Option<&String>) -> String {
    target.cloned().unwrap_or_else(|| "no branch".to_owned())
}
