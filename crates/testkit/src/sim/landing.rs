//! How proving a chain of candidates and moving the target change the simulated world.

use piton_core::plan::{Check, Digest, TaskId, TaskSpec};
use piton_core::run::line::{ProofEnd, Stage};
use piton_core::run::{
    Action, Carried, CheckResult, Class, Command, Footing, Intent, Status, Task, Verdict, Waived, verdict,
};

use super::Sabotage;
use super::driver::Sim;
use super::git::{CommitNo, commit_no, oid};
use super::scenario::index;
use super::stacks::NoGround;
use super::world::Checking;

/// A chain as it is merged.
pub(super) struct Merged {
    pub(super) tip: CommitNo,
    pub(super) on: Vec<Footing>,
    /// Those that are not in the target yet, and the commit of each.
    pub(super) members: Vec<(Task, CommitNo)>,
}

impl Sim {
    /// Merge a chain into the tip, and run what has to pass there.
    pub(super) fn prove(&mut self, action: &Action, number: u64) -> Vec<Command> {
        let Some(proof) = self.run().line.proof(number).cloned() else { return Vec::new() };
        let members: Vec<Task> = proof.chain.iter().filter_map(|id| self.task(id)).collect();
        let Some(last) = members.last() else { return Vec::new() };
        if self.git.dirty && self.rng.chance(50) {
            let reason = "your checkout has changes".to_owned();
            return vec![Command::LandingWaits { task: last.id.clone(), fence: last.fence, reason }];
        }
        let merged = match members.as_slice() {
            [task] if self.run().is_its_request(&task.id) => self.merge_whole(task),
            [task] if task.progress.stacked => self.merge_stacked(number, task),
            _ => self.merge_chain(action, number, &members),
        };
        let Merged { tip, on, members: merging } = match merged {
            Ok(merged) => merged,
            Err(commands) => return commands,
        };
        let Some(&(_, top)) = merging.last() else { return Vec::new() };
        let merged = self.git.tree(top).clone();
        let mut tree = self.git.tree_oid(&merged);
        if self.sabotage == Some(Sabotage::ProveTheWrongTree) {
            tree = last.progress.tree.clone().unwrap_or(tree);
        }
        if let (Action::Land { .. }, Stage::Passed(passed)) = (action, &proof.stage)
            && *passed != tree
        {
            self.coverage.saw("what was proven is not what would land");
            return vec![ended(number, ProofEnd::Dropped { reason: "the target has moved".to_owned() })];
        }
        let mut waived = match members.as_slice() {
            [task] if self.run().is_its_request(&task.id) => self.waived_for_whole(task, &merged),
            [task] => Waived { untouched: self.untouched_by(task, &merged), ..Waived::default() },
            _ => Waived::default(),
        };
        let mut wanted = self.unproven(&members, self.landing_judges(&members, &waived), &tree);
        if self.flakes(self.scenario.weather.sloppy, "engine left out a check") {
            // The rules have to notice: they ask for each check by name.
            wanted.retain(|_| self.rng.chance(50));
        }
        let lies = self.sabotage == Some(Sabotage::LieAboutMergedChecks);
        let checking = Checking::blind_if(lies || self.sabotage == Some(Sabotage::SkipMergedChecks));
        let proven = self.git.find_tree(&tree).cloned().unwrap_or_else(|| merged.clone());
        let mut results: Vec<CheckResult> =
            wanted.iter().map(|check| self.run_check(last, check, &proven, checking)).collect();
        if self.run().is_its_request(&last.id) {
            waived.excused.extend(self.red_before(last, &mut results));
        }
        if lies {
            let tree = self.git.tree_no(merged.clone());
            self.observed.extend(wanted.into_iter().map(|check| (tree, check)));
        }
        if let [task] = members.as_slice()
            && let Some(cut) = self.no_verdict(task, &results)
        {
            return vec![cut];
        }
        if results.iter().any(|result| result.verdict != Verdict::Pass) {
            let seen_on = if self.run().is_its_request(&last.id) { top } else { tip };
            return self.red_together(number, &members, seen_on, &verdict::red(&results));
        }
        let intent = Intent { old: oid(tip), candidate: oid(top), on };
        let carried = |(task, commit): &(Task, CommitNo)| {
            let (task, fence) = (task.id.clone(), task.fence);
            Carried { task, fence, commit: oid(*commit) }
        };
        let before: Vec<Carried> = merging[..merging.len() - 1].iter().map(carried).collect();
        if !before.is_empty() {
            self.coverage.saw("proven together");
        }
        let (task, fence) = (last.id.clone(), last.fence);
        let passed = ProofEnd::Passed { tree: tree.clone() };
        let told = results.clone();
        vec![
            Command::PrepareLanding { task, fence, tree, intent, before, results, waived },
            Command::ProofEnded { proof: number, end: passed, results: told },
        ]
    }

    /// The merge commits of a chain, or the commands that end it early.
    fn merge_chain(
        &mut self,
        action: &Action,
        number: u64,
        members: &[Task],
    ) -> Result<Merged, Vec<Command>> {
        let tip = self.git.target;
        let looks = self.sabotage != Some(Sabotage::LandBlindly);
        let (mut at, mut merging) = (tip, Vec::new());
        for task in members {
            let verified = task.progress.commit.as_ref().and_then(commit_no).ok_or_else(Vec::new)?;
            let base = task.progress.base.as_ref().and_then(commit_no).unwrap_or(0);
            if looks && self.git.is_ancestor(verified, tip) {
                let reason = "its commit is in the target".to_owned();
                let nothing = self.git.tree(verified) == self.git.tree(base);
                if nothing && task.may_stay_as_it_is() && members.len() == 1 {
                    return Err(self.nothing_to_land(task));
                }
                if members.last().is_some_and(|last| last.id != task.id) {
                    continue;
                }
                if task.decided == Status::Verifying {
                    return Err(vec![ended(number, ProofEnd::NotHere { reason })]);
                }
                return Err(vec![Command::LandingFound {
                    task: task.id.clone(),
                    commit: oid(verified),
                    reason,
                }]);
            }
            let aside =
                || vec![ended(number, ProofEnd::Conflict { task: task.id.clone(), files: Vec::new() })];
            if !self.git.is_ancestor(base, tip) {
                // Merging would bring back what a person removed.
                return Err(match members.len() {
                    1 => vec![self.try_failed(action, Class::Defect, "the target was rewound")],
                    _ => aside(),
                });
            }
            let (merged, conflicts) = self.git.merge(verified, at);
            if !conflicts.is_empty() {
                let with_target = at == tip || !self.git.merge(verified, tip).1.is_empty();
                self.coverage.saw(if with_target { "conflict in the text" } else { "conflict in a chain" });
                return Err(if with_target { failed(task, tip, "conflict") } else { aside() });
            }
            let content = self.scenario.spec(&task.id).map(TaskSpec::content);
            at = self.git.commit_landing(merged, &[at, verified], index(&task.id), content);
            merging.push((task.clone(), at));
        }
        Ok(Merged { tip, on: Vec::new(), members: merging })
    }

    /// The work of a task merged into what it stands on, or carried over there where that has become something else.
    fn merge_stacked(&mut self, number: u64, task: &Task) -> Result<Merged, Vec<Command>> {
        let gone = || vec![ended(number, ProofEnd::Dropped { reason: "it is not there".to_owned() })];
        let ground = match self.ground(task) {
            Ok(ground) => ground,
            Err(NoGround::Gone) => return Err(gone()),
            Err(no) => {
                let (task, fence, reason) = (task.id.clone(), task.fence, no.reason());
                return Err(vec![Command::Unstack { task, fence, reason }]);
            }
        };
        let (tip, at) = (self.git.target, ground.commit);
        let verified = task.progress.commit.as_ref().and_then(commit_no).ok_or_else(Vec::new)?;
        let onto = self.instead_of(&task.progress, at);
        let is_there = self.git.is_ancestor(verified, at);
        if is_there || task.may_stay_as_it_is() && self.git.tree(verified) == self.git.tree(at) {
            if !ground.on.is_empty() {
                return Err(gone());
            }
            if task.may_stay_as_it_is() {
                return Err(self.nothing_to_land(task));
            }
            let (task, commit) = (task.id.clone(), oid(verified));
            return Err(vec![Command::LandingFound { task, commit, reason: "it is there".to_owned() }]);
        }
        let (merged, conflicts) = self.git.merge(verified, onto);
        if !conflicts.is_empty() {
            self.coverage.saw("stacked work conflicts with what it stands on");
            return Err(failed(task, at, "conflict"));
        }
        let parents = if onto == at { vec![at, verified] } else { vec![at] };
        if onto != at {
            self.coverage.saw("stacked work was carried over");
        }
        let content = self.scenario.spec(&task.id).map(TaskSpec::content);
        let commit = self.git.commit_landing(merged, &parents, index(&task.id), content);
        Ok(Merged { tip, on: ground.on, members: vec![(task.clone(), commit)] })
    }

    fn red_together(&mut self, number: u64, members: &[Task], tip: CommitNo, red: &[Digest]) -> Vec<Command> {
        let reason = "red".to_owned();
        let [task] = members else {
            let of = verdict::whose(members.iter(), red);
            self.coverage.saw("red in company");
            if !of.is_empty() {
                self.coverage.saw("red in company by an own check");
            }
            return vec![ended(number, ProofEnd::Red { reason, of })];
        };
        if task.decided == Status::Verifying {
            if let Some(commands) = self.red_by_itself(task, red) {
                return commands;
            }
            self.coverage.saw("red where it is to land, and not by itself");
        }
        self.coverage.saw("red together");
        let verified = task.progress.commit.as_ref().and_then(commit_no);
        if verified.is_some_and(|verified| self.git.is_ancestor(tip, verified)) {
            self.coverage.saw("red together, already brought up");
        }
        failed(task, tip, "red together")
    }

    /// What a candidate's proof reports if its own checks are red on its work as well.
    fn red_by_itself(&mut self, task: &Task, red: &[Digest]) -> Option<Vec<Command>> {
        let tree = task.progress.tree.clone()?;
        let content = self.git.find_tree(&tree).cloned()?;
        let own: Vec<Digest> = red.iter().filter(|check| task.judges.contains(check)).cloned().collect();
        let results: Vec<CheckResult> =
            own.iter().map(|check| self.run_check(task, check, &content, Checking::Honest)).collect();
        if results.iter().all(|result| result.verdict == Verdict::Pass) {
            return None;
        }
        self.coverage.saw("red where it is to land, and by itself");
        let (task, fence) = (task.id.clone(), task.fence);
        Some(vec![Command::ChecksEnded { task, fence, tree, results }])
    }

    /// The checks that decide about landing these tasks, computed here independently of the rules.
    fn landing_judges(&self, members: &[Task], waived: &Waived) -> Vec<Digest> {
        let of = |id: &TaskId| {
            let checks = self.scenario.spec(id).map(|spec| spec.checks.as_slice()).unwrap_or_default();
            let carried = waived.untouched.contains(id);
            let asked = checks.iter().filter(move |check| !carried || check.reviewer().is_none());
            asked.map(Check::digest).collect::<Vec<Digest>>()
        };
        let mut judges: Vec<Digest> = members.iter().flat_map(|task| of(&task.id)).collect();
        for task in members {
            let is_whole = self.run().is_its_request(&task.id);
            let since = if is_whole { 0 } else { task.progress.landed_at_base };
            for other in self.state.landed_since(since) {
                judges.extend(of(other).into_iter().filter(|judge| !waived.excused.contains(judge)));
            }
        }
        judges.extend(self.run().settings.landing_checks.iter().map(Check::digest));
        judges
    }

    pub(super) fn move_target(&mut self, action: &Action, task: &Task) -> Vec<Command> {
        let (id, fence) = (task.id.clone(), task.fence);
        let Some(Intent { old, candidate, .. }) = task.progress.intent.clone() else { return Vec::new() };
        let (Some(from), Some(to)) = (commit_no(&old), commit_no(&candidate)) else { return Vec::new() };
        let landed = vec![Command::Landed { task: id.clone(), fence, commit: candidate.clone() }];
        let blind = self.sabotage == Some(Sabotage::LandBlindly);
        if !blind && self.git.is_ancestor(to, self.git.target) {
            self.coverage.saw("move found done");
            return landed;
        }
        if self.git.target == from {
            if self.git.dirty {
                let reason = "your checkout has changes".to_owned();
                return vec![Command::LandingWaits { task: id, fence, reason }];
            }
            if self.sabotage != Some(Sabotage::LandWithoutMoving) {
                self.git.target = to;
            }
            return landed;
        }
        if self.git.is_ancestor(from, self.git.target) {
            self.coverage.saw("target moved by a person");
            return vec![Command::LandingReturned {
                task: id,
                fence,
                candidate,
                reason: "it moved".to_owned(),
            }];
        }
        self.coverage.saw("target rewound");
        vec![self.try_failed(action, Class::Defect, "the target was rewound")]
    }
}

fn ended(proof: u64, end: ProofEnd) -> Command {
    Command::ProofEnded { proof, end, results: Vec::new() }
}

pub(super) fn failed(task: &Task, tip: CommitNo, reason: &str) -> Vec<Command> {
    let (id, fence, tip) = (task.id.clone(), task.fence, oid(tip));
    let (reason, feedback, pointers) = (reason.to_owned(), "mend it".to_owned(), Box::default());
    vec![Command::LandingFailed { task: id, fence, tip, reason, feedback, pointers }]
}
