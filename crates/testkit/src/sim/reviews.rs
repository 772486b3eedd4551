//! Reviews: which verdicts are carried over to a merged tree, and what a missing verdict means.

use piton_core::plan::{Digest, Oid, TaskId};
use piton_core::run::{AgentEnd, CheckResult, Command, Proof, Task, Verdict};

use super::content::{Line, Tree, changed, get};
use super::driver::Sim;
use super::git::commit_no;

impl Sim {
    /// The tasks whose lines are on the merged tree as their reviewers saw them.
    pub(super) fn untouched_by(&mut self, task: &Task, merged: &Tree) -> Vec<TaskId> {
        let commit = |oid: Option<&Oid>| oid.and_then(commit_no).unwrap_or(0);
        let (verified, base) = (commit(task.progress.commit.as_ref()), commit(task.progress.base.as_ref()));
        let apart = |lines: &[Line], others: &[Line]| !lines.iter().any(|line| others.contains(line));
        let mut untouched = Vec::new();
        let own = changed(self.git.tree(base), self.git.tree(verified));
        if !task.reviews.is_empty() && !task.gate && apart(&own, &changed(self.git.tree(verified), merged)) {
            untouched.push(task.id.clone());
        }
        let brought = changed(self.git.tip(), merged);
        let is_whole = self.run().is_its_request(&task.id);
        let since = if is_whole { 0 } else { task.progress.landed_at_base };
        for id in self.state.landed_since(since) {
            let Some(other) = self.task(id).filter(|other| !other.reviews.is_empty()) else { continue };
            if other.gate {
                // It is open again after this.
                untouched.push(id.clone());
                continue;
            }
            let Some(Proof::Landed { commit, verified }) = &other.proof else { continue };
            let landed = commit_no(commit).filter(|_| commit != verified);
            if landed.is_some_and(|landed| apart(&self.git.lines_of(landed), &brought)) {
                untouched.push(id.clone());
            }
        }
        if !untouched.is_empty() {
            self.coverage.saw("a verdict was carried over");
        }
        untouched
    }

    /// The reviewer of a merged tree gave no verdict, and nothing else is wrong.
    pub(super) fn no_verdict(&mut self, task: &Task, results: &[CheckResult]) -> Option<Command> {
        let is_review = |check: &Digest| {
            let specs = &self.scenario.plan.tasks;
            specs.iter().flat_map(|spec| &spec.checks).any(|c| c.digest() == *check && c.reviewer().is_some())
        };
        let mut failed = results.iter().filter(|result| result.verdict != Verdict::Pass).peekable();
        failed.peek()?;
        let silent = |result: &CheckResult| {
            matches!(result.verdict, Verdict::Broken { .. }) && is_review(&result.check)
        };
        if !failed.all(silent) {
            return None;
        }
        self.coverage.saw("a reviewer gave no verdict");
        let (tree, agent) = (task.progress.tree.clone()?, "third".to_owned());
        let end = AgentEnd::Transient { reason: "it did not say what it found".to_owned() };
        let (task, fence) = (task.id.clone(), task.fence);
        Some(Command::ReviewerCut { task, fence, lands: true, tree, results: Vec::new(), agent, end })
    }
}

/// Whether an agent judged these lines, and they are on this tree as it saw them, or what lands leaves them alone.
pub(super) fn is_carried(sim: &Sim, judge: &Digest, lines: &[Line], brought: &[Line], tree: usize) -> bool {
    let tree = sim.git.tree_of_no(tree);
    let same = |seen: &Tree| lines.iter().all(|&line| get(seen, line) == get(tree, line));
    let alone = !lines.iter().any(|line| brought.contains(line));
    sim.observed.iter().any(|(no, seen)| seen == judge && (alone || same(sim.git.tree_of_no(*no))))
}
