//! The request of a run that lands as a whole, and the law about what it brings.

use piton_core::plan::{Check, Digest};
use piton_core::run::{CheckResult, Command, Event, Proof, RequestFact, Task, Verdict, Waived};

use super::content::Tree;
use super::driver::Sim;
use super::git::commit_no;
use super::landing::{Merged, failed};
use super::laws::{self, tasks};
use super::world::Checking;

impl Sim {
    /// The branch of a run that lands as a whole, merged into the tip of what its request is for.
    pub(super) fn merge_whole(&mut self, task: &Task) -> Result<Merged, Vec<Command>> {
        let (tip, branch) = (self.git.trunk, self.git.target);
        let verified = task.progress.commit.as_ref().and_then(commit_no).ok_or_else(Vec::new)?;
        let mut at = tip;
        for (work, other) in [(verified, branch), (branch, verified)] {
            let is_in_other = work != other && self.git.is_ancestor(work, other);
            if is_in_other || self.git.is_ancestor(work, at) {
                continue;
            }
            let (merged, conflicts) = self.git.merge(work, at);
            if !conflicts.is_empty() {
                self.coverage.saw("the request of the run conflicts");
                let has_own = !self.git.merge(verified, tip).1.is_empty();
                return Err(failed(task, if has_own { tip } else { branch }, "conflict"));
            }
            at = self.git.commit(merged, &[at, work], None);
        }
        if self.git.tree(at) == self.git.tree(tip) {
            self.coverage.saw("nothing is left for the request of the run");
            self.git.target = at;
            return Err(self.nothing_to_land(task));
        }
        Ok(Merged { tip, on: Vec::new(), members: vec![(task.clone(), at)] })
    }

    /// What is not asked about the tree of a request of the run.
    pub(super) fn waived_for_whole(&mut self, task: &Task, merged: &Tree) -> Waived {
        let untouched = self.untouched_by(task, merged);
        let is_that_of_branch = self.git.tip() == merged;
        if is_that_of_branch {
            self.coverage.saw("a request of the run has the tree of its branch");
        }
        let is_excused = |other: &&Task| is_that_of_branch || self.was_brought(other);
        let (before, now): (Vec<&Task>, Vec<&Task>) = tasks(self).partition(is_excused);
        let is_asked = |judge: &&Digest| now.iter().any(|other| other.judges.contains(judge));
        let excused = before.iter().flat_map(|other| &other.judges).filter(|judge| !is_asked(judge));
        let excused = excused.cloned().collect();
        Waived { untouched, excused }
    }

    /// Whether the host has merged the work of a task.
    fn was_brought(&self, task: &Task) -> bool {
        let Some(Proof::Landed { commit, verified }) = &task.proof else { return false };
        let landed = commit_no(commit).filter(|_| commit != verified);
        let requests = tasks(self).filter(|task| self.run().is_its_request(&task.id));
        let mut heads =
            requests.filter_map(|request| commit_no(request.progress.request.as_ref()?.last_merged()?));
        landed.is_some_and(|landed| heads.any(|head| self.git.is_ancestor(landed, head)))
    }

    /// Those of the red checks that are red on the branch as it is: they are not asked.
    pub(super) fn red_before(&mut self, task: &Task, results: &mut Vec<CheckResult>) -> Vec<Digest> {
        let landing: Vec<Digest> = self.run().settings.landing_checks.iter().map(Check::digest).collect();
        let red = results.iter().filter(|result| result.verdict != Verdict::Pass);
        let red: Vec<Digest> =
            red.map(|result| result.check.clone()).filter(|it| !landing.contains(it)).collect();
        let branch = self.git.tip().clone();
        let mut before = Vec::new();
        for check in red {
            if self.run_check(task, &check, &branch, Checking::Honest).verdict != Verdict::Pass {
                self.coverage.saw("a check of a request is as red on the branch");
                before.push(check);
            }
        }
        results.retain(|result| !before.contains(&result.check));
        before
    }
}

/// What a request of the run brings has passed the checks of the run's tasks on the tree that it has. Those are left out which
/// judge what the host has merged before, or were seen to be as red on the branch of the run; and all of them, where the tree is
/// that of the branch.
pub(super) fn brings_what_was_seen(sim: &Sim, event: &Event) -> laws::Verdict {
    let Event::Request { task, fact: RequestFact::Prepared { head, .. }, .. } = event else { return Ok(()) };
    if !sim.run().is_its_request(task) {
        return Ok(());
    }
    let head = commit_no(head).ok_or_else(|| format!("{task} brings nothing"))?;
    let (tree, branch) = (sim.git.tree_at(head), sim.git.tree_at(sim.git.target));
    let landed = tasks(sim).filter(|other| matches!(other.proof, Some(Proof::Landed { .. })));
    let asked = landed.filter(|other| tree != branch && !sim.was_brought(other));
    for (other, check) in asked.flat_map(|other| other.commands().map(move |check| (other, check))) {
        let is_red_before = sim.seen_red.contains(&(branch, check.clone()));
        laws::ensure(is_red_before || sim.observed.contains(&(tree, check.clone())), || {
            format!(
                "{task} brings {}, and {:?} was not seen to pass",
                other.id, sim.scenario.predicates[check]
            )
        })?;
    }
    Ok(())
}
