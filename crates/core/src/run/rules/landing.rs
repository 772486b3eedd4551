//! What may become part of the target.

use super::{Decision, Rules, checked_on, unproven};
use crate::plan::{Check, Digest, Oid, TaskId};
use crate::run::command::{Refusal, Stop, Waived};
use crate::run::event::{CheckResult, Event};
use crate::run::line::{ProofEnd, Proving, Stage};
use crate::run::task::{Carried, Intent, Proof, Status, Task};

impl<'a> Rules<'a> {
    /// The target may move only to a tree that has passed all checks which apply to it.
    pub(super) fn prepare_landing(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        (intent, before): (&Intent, &[Carried]),
        (results, waived): (&[CheckResult], &Waived),
    ) -> Decision {
        let task = self.candidate(id, fence)?;
        let mut members = Vec::new();
        for carried in before {
            members.push(self.candidate(&carried.task, carried.fence)?);
        }
        members.push(task);
        if let Some(gate) = members.iter().find(|member| member.gate && members.len() > 1) {
            return Err(Refusal::because(format!("{} judges the whole, so it lands alone", gate.id)));
        }
        if let Some(other) = &self.run.merging {
            return Err(Refusal::because(format!("{other} is landing")));
        }
        // An agent judged files. While these are unchanged, its verdict stays valid.
        let of = |task: &Task| -> Vec<Digest> {
            // A gate lands on a tree that it has to judge itself.
            let all = !waived.untouched.contains(&task.id) || task.gate && task.id == *id;
            task.judges.iter().filter(|judge| all || !task.reviews.contains(judge)).cloned().collect()
        };
        let mut judges: Vec<Digest> = members.iter().flat_map(|member| of(member)).collect();
        // Also where the merged tree is the verified one: its own checks are not those of the others.
        let is_excused = |judge: &Digest| self.run.is_its_request(id) && waived.excused.contains(judge);
        for other in self.state.landed_since(self.run.judged_since(members.iter().copied())) {
            let of = self.task(other).map(of).unwrap_or_default();
            judges.extend(of.into_iter().filter(|judge| !is_excused(judge)));
        }
        judges.extend(self.run.settings.landing_checks.iter().map(Check::digest));
        if let Some(missing) = unproven(&members, judges.iter(), tree, results) {
            return Err(Refusal::because(format!(
                "{id} may not land: a check has not passed on the merged tree ({})",
                missing.short()
            )));
        }
        let mut events = shares(&members, tree, results);
        events.extend(verified(&members));
        if self.run.requests_of(id).is_some() {
            events.push(self.prepare_request(id, fence, tree, (intent, before))?);
            return Ok(events);
        }
        events.push(Event::LandingPrepared {
            task: id.clone(),
            fence,
            intent: intent.clone(),
            tree: Some(tree.clone()),
            before: before.to_vec(),
        });
        Ok(events)
    }

    /// The task, if this attempt of it is in the landing line.
    pub(super) fn candidate(&self, id: &TaskId, fence: u64) -> Result<&'a Task, Stop> {
        let task = self.held(id, fence, &[Status::Verifying, Status::Verified])?;
        if !task.is_candidate() {
            return Err(Refusal::stale(format!("{id} is not in the landing line")));
        }
        Ok(task)
    }

    /// The proof, if what it finds still counts: its candidates are proven by it and not landing yet.
    pub(super) fn open_proof(&self, number: u64) -> Result<&'a Proving, Stop> {
        let line = &self.run.line;
        let counts = |proof: &&Proving| match proof.stage {
            Stage::UnderWay => !line.lands(proof),
            // A longer chain that has passed since says more about the same candidates.
            Stage::Passed(_) => {
                let next = line.landable(self.run.settings.land);
                self.run.merging.is_none() && next.is_some_and(|(next, _)| next == number)
            }
            Stage::Red => false,
        };
        line.proof(number).filter(counts).ok_or_else(|| Refusal::stale("this proof is over"))
    }

    pub(super) fn begin_proof(&self, chain: &[TaskId], alone: bool) -> Decision {
        for id in chain {
            let task = self.task(id)?;
            // What is about to land may be built on.
            if !task.is_candidate() && !self.run.line.is_landing(id) {
                return Err(Refusal::stale(format!("{id} is {}", task.decided)));
            }
        }
        if chain.is_empty() {
            return Err(Refusal::because("there is nothing to prove"));
        }
        let proof = self.run.line.next_number();
        Ok(vec![Event::ProofBegan { proof, chain: chain.to_vec(), alone }])
    }

    pub(super) fn proof_ended(&self, number: u64, end: &ProofEnd, results: &[CheckResult]) -> Decision {
        let proof = self.open_proof(number)?;
        if proof.stage != Stage::UnderWay && matches!(end, ProofEnd::Passed { .. }) {
            return Err(Refusal::stale("this proof has passed already"));
        }
        let mut members = Vec::new();
        for id in &proof.chain {
            members.push(self.task(id)?);
        }
        let mut events = vec![Event::ProofEnded { proof: number, end: end.clone() }];
        match (end, members.as_slice()) {
            (ProofEnd::Passed { tree }, _) => {
                let has_passed =
                    |task: &&Task| unproven(&[task], task.judges.iter(), tree, results).is_none();
                let passed: Vec<&Task> = members.iter().copied().filter(has_passed).collect();
                events.splice(..0, shares(&members, tree, results).into_iter().chain(verified(&passed)));
            }
            (ProofEnd::NotHere { .. }, [.., task]) if task.decided == Status::Verifying => {
                let (task, fence) = (task.id.clone(), task.fence);
                events.push(Event::VerificationStarted { task, fence, lands: false });
            }
            (_, _) => {}
        }
        Ok(events)
    }

    /// A task that changes nothing has to pass on the current target, not on the one from when it started.
    pub(super) fn nothing_to_land(
        &self,
        id: &TaskId,
        fence: u64,
        tree: &Oid,
        results: &[CheckResult],
    ) -> Decision {
        let task = self.held(id, fence, &[Status::Verified])?;
        if task.progress.stacked && task.waiting > 0 {
            return Err(Refusal::stale(format!("what {id} depends on has not landed yet")));
        }
        if !task.may_stay_as_it_is() {
            return Err(Refusal::because(format!("{id} must change something to be completed")));
        }
        // A gate is about this very tree, also where an agent judges.
        let judges: Vec<&Digest> =
            if task.gate { task.judges.iter().collect() } else { task.commands().collect() };
        if let Some(missing) = unproven(&[task], judges.into_iter(), tree, results) {
            return Err(Refusal::because(format!(
                "{id} is not completed: a check has not passed on what the target holds ({})",
                missing.short()
            )));
        }
        let proof = checked_on(task, Some(tree.clone()));
        let done = Event::Completed { task: id.clone(), fence, proof, counts: Vec::new(), saw: None };
        Ok(self.found(id, fence, tree, results).into_iter().chain([done]).collect())
    }

    /// The task, if it is landing as this commit.
    pub(super) fn landing_as(&self, id: &TaskId, fence: u64, commit: &Oid) -> Result<&'a Task, Stop> {
        let task = self.held(id, fence, &[Status::Merging])?;
        match &task.progress.intent {
            Some(intent) if &intent.candidate == commit => Ok(task),
            Some(intent) => {
                Err(Refusal::stale(format!("{id} is landing as {}, not {commit}", intent.candidate)))
            }
            None => Err(Refusal::stale(format!("{id} has no landing under way"))),
        }
    }

    pub(super) fn landed(&self, id: &TaskId, fence: u64, commit: &Oid) -> Decision {
        let task = self.landing_as(id, fence, commit)?;
        let Some(verified) = &task.progress.commit else {
            return Err(Refusal::stale(format!("{id} has no landing under way")));
        };
        let completed = |id: &TaskId, fence, commit: &Oid, verified: &Oid| {
            let proof = Proof::Landed { commit: commit.clone(), verified: verified.clone() };
            Event::Completed { task: id.clone(), fence, proof, counts: Vec::new(), saw: None }
        };
        let mut events = Vec::new();
        for carried in &task.progress.carries {
            // Another command may have found its work in the target's history.
            let Ok(with) = self.held(&carried.task, carried.fence, &[Status::Verified]) else { continue };
            let verified = with.progress.commit.as_ref().unwrap_or(&carried.commit);
            events.push(completed(&carried.task, carried.fence, &carried.commit, verified));
        }
        events.push(completed(id, fence, commit, verified));
        events.extend(self.request_lacks(id)?);
        events.extend(self.gates_after(id, task.progress.merged.as_ref(), &[])?);
        Ok(events)
    }
}

/// Members whose checks ran only on the landing candidate have passed them now.
fn verified(members: &[&Task]) -> Vec<Event> {
    let is_new = |task: &&&Task| task.decided == Status::Verifying;
    let event = |task: &&Task| Event::Verified { task: task.id.clone(), fence: task.fence };
    members.iter().filter(is_new).map(event).collect()
}

/// The results of a proof, by task: each task gets those of the checks that judge it, and the last task gets all.
/// Results of the others are dropped when they have landed, but what passed on the tree still counts then.
fn shares(members: &[&Task], tree: &Oid, results: &[CheckResult]) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, task) in members.iter().enumerate() {
        let is_last = at + 1 == members.len();
        let its = |result: &&CheckResult| is_last || task.judges.contains(&result.check);
        let results: Vec<CheckResult> = results.iter().filter(its).cloned().collect();
        if !results.is_empty() {
            let (task, fence, tree) = (task.id.clone(), task.fence, tree.clone());
            events.push(Event::ChecksEnded { task, fence, tree, results });
        }
    }
    events
}
