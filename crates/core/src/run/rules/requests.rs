//! What may happen to a task that lands by a request of a host. Landed is what the host says; what the host says is judged in
//! [`crate::run::request`].

use super::{Decision, Rules};
use crate::plan::{Oid, TaskId};
use crate::run::command::{Refusal, Stop};
use crate::run::event::{Class, Event};
use crate::run::request::{self, Judgement, LOOKS, Mergeable, Request, RequestFact, Seen, Step};
use crate::run::task::{Carried, Intent, Proof, Status, Task};

impl<'a> Rules<'a> {
    /// The work of one task is proven where it is to land: its branch is about to be pushed.
    pub(super) fn prepare_request(
        &self,
        task: &TaskId,
        fence: u64,
        tree: &Oid,
        (intent, before): (&Intent, &[Carried]),
    ) -> Result<Event, Stop> {
        if !before.is_empty() {
            return Err(Refusal::because(format!("{task} lands by a request of its own")));
        }
        let Intent { old, candidate, on } = intent;
        if self.state.footings(self.task(task)?)?.as_ref() != Some(on) {
            return Err(Refusal::stale(format!("what {task} stands on has changed")));
        }
        let fact = RequestFact::Prepared {
            branch: self.run.branch_of_request(task),
            base: old.clone(),
            head: candidate.clone(),
            tree: tree.clone(),
            on: on.clone(),
        };
        Ok(Event::Request { task: task.clone(), fence, fact })
    }

    /// The task and its request, if this attempt of it is at this step.
    fn at_step(&self, id: &TaskId, fence: u64, steps: &[Step]) -> Result<(&'a Task, &'a Request), Stop> {
        let task = self.held(id, fence, &[Status::Merging])?;
        match &task.progress.request {
            Some(request) if task.progress.intent.is_none() && steps.contains(&request.step) => {
                Ok((task, request))
            }
            _ => Err(Refusal::stale(format!("the request of {id} has moved on"))),
        }
    }

    /// Something that the engine did about a request has been done.
    pub(super) fn request_moved(&self, id: &TaskId, fence: u64, fact: &RequestFact) -> Decision {
        let at = |step: Step| self.at_step(id, fence, &[step]);
        match fact {
            RequestFact::Pushed { head } if at(Step::Push)?.1.head == *head => {}
            RequestFact::Opened { .. } => drop(at(Step::Open)?),
            RequestFact::MergeAsked { head } | RequestFact::MergeRefused { head, .. }
                if at(Step::Merge)?.1.head == *head => {}
            RequestFact::Missing { commit } => {
                let (task, request) = at(Step::Take)?;
                if request.merged.as_ref() != Some(commit) {
                    return Err(Refusal::stale(format!("{id} has not been merged as {}", commit.short())));
                }
                let mut events = vec![Event::Request { task: id.clone(), fence, fact: fact.clone() }];
                if request.missing + 1 >= LOOKS {
                    let reason = format!(
                        "the host says that it merged {} as {}, and after {LOOKS} looks the target does not have that commit: look at the host before you retry the task",
                        request.name(),
                        commit.short()
                    );
                    events.push(self.failure(task, Class::Defect, &reason, "", None));
                }
                return Ok(events);
            }
            RequestFact::Pushed { .. }
            | RequestFact::MergeAsked { .. }
            | RequestFact::MergeRefused { .. } => {
                return Err(Refusal::stale(format!("the request of {id} is for another commit by now")));
            }
            RequestFact::Prepared { .. }
            | RequestFact::Unstacked { .. }
            | RequestFact::MergeBegins { .. }
            | RequestFact::SentBack { .. }
            | RequestFact::Returned { .. }
            | RequestFact::Seen { .. }
            | RequestFact::Merged { .. } => {
                return Err(Refusal::because("only the rules decide this about a request"));
            }
        }
        Ok(vec![Event::Request { task: id.clone(), fence, fact: fact.clone() }])
    }

    /// The host was asked about a request. `log`: what its red checks printed. `tip`: the target's on the host, if that was
    /// looked at.
    pub(super) fn request_seen(
        &self,
        id: &TaskId,
        fence: u64,
        seen: &Seen,
        log: &str,
        tip: Option<&Oid>,
    ) -> Decision {
        let (task, request) = self.at_step(id, fence, &[Step::Follow, Step::Merge])?;
        let settings = self.run.settings.requests.clone().unwrap_or_default();
        let event = |fact| Event::Request { task: id.clone(), fence, fact };
        let is_news = request.seen.as_deref() != Some(seen) || request.step == Step::Merge;
        // What was in the way since is over.
        let is_told = task.progress.waits.as_ref() == Some(&request.words());
        let mut events: Vec<Event> = (is_news || !is_told)
            .then(|| event(RequestFact::Seen { seen: Box::new(seen.clone()) }))
            .into_iter()
            .collect();
        let judged = request::judge(&settings, request, seen, tip, self.now);
        match self.on_its_footings(task, request, seen, judged)? {
            Judgement::Wait | Judgement::LookAtTarget => {}
            // Two merges at once would make a tree that nothing was proven on.
            Judgement::Merge if self.run.merging.as_ref().is_some_and(|other| other != id) => {}
            // A task that was added or retried since is to be part of it.
            Judgement::Merge if task.waiting > 0 => {}
            Judgement::Merge => events.push(event(RequestFact::MergeBegins { head: request.head.clone() })),
            Judgement::BringUp { reason } => events.push(event(RequestFact::Returned { reason })),
            Judgement::Landed { commit } => events.push(event(RequestFact::Merged { commit })),
            Judgement::SendBack { reason, feedback, remarks } => {
                events.push(event(RequestFact::SentBack { remarks }));
                let log = if log.trim().is_empty() { String::new() } else { format!("\n{log}") };
                let feedback = format!("{feedback}{log}");
                // What was pushed has the target's changes, and some of them may be to blame.
                let behind = self.run.is_its_request(id).then(|| request.head.clone());
                events.push(self.failure(task, Class::SentBack, &reason, &feedback, behind));
            }
            Judgement::Stuck { reason } => {
                events.push(self.failure(task, Class::Defect, &reason, "", None));
            }
        }
        Ok(events)
    }

    /// What a judgement comes to for a request that stands on others. It lands after them, proven again without them.
    fn on_its_footings(
        &self,
        task: &Task,
        request: &Request,
        seen: &Seen,
        judged: Judgement,
    ) -> Result<Judgement, Stop> {
        if request.on.is_empty() {
            return Ok(judged);
        }
        let has_news = seen.wanted.iter().any(|remark| !request.delivered.contains(&remark.id));
        match judged {
            Judgement::Stuck { .. } => return Ok(judged),
            Judgement::SendBack { .. } if has_news => return Ok(judged),
            Judgement::Landed { .. } if task.waiting == 0 => return Ok(judged),
            _ => {}
        }
        let up = |reason: &str| Judgement::BringUp { reason: format!("{reason}: {}", request.stands_on()) };
        if task.waiting == 0 {
            return Ok(up("what it stands on has landed"));
        }
        let now = self.state.footings(task)?;
        let has_moved = now.is_some_and(|now| now != request.on);
        let conflicts = seen.mergeable == Mergeable::Conflict;
        Ok(match judged {
            Judgement::SendBack { .. } | Judgement::BringUp { .. } | Judgement::Wait
                if has_moved && (conflicts || !seen.red.is_empty()) =>
            {
                up("what it stands on has changed")
            }
            // What is red there as well is not its own fault.
            Judgement::SendBack { .. } if !has_moved && self.is_green_below(request)? => judged,
            Judgement::BringUp { .. } if conflicts && self.state.is_met(task) => judged,
            _ => Judgement::Wait,
        })
    }

    /// Whether the host's checks have passed on all that a request stands on, as it stands there.
    fn is_green_below(&self, request: &Request) -> Result<bool, Stop> {
        for footing in &request.on {
            let below = self.task(&footing.task)?.progress.request.as_deref();
            let seen = below.and_then(|below| below.seen.as_deref());
            let is_green =
                |seen: &Seen| seen.head == footing.head && seen.pending.is_empty() && seen.red.is_empty();
            if !seen.is_some_and(is_green) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A task cannot stand on the open requests of what it depends on.
    pub(super) fn unstack(&self, id: &TaskId, fence: u64, reason: Option<&str>) -> Decision {
        let states = [Status::InProgress, Status::Verifying, Status::Verified, Status::Merging];
        let task = self.held(id, fence, &states)?;
        if !self.run.stacks() || task.waiting == 0 || !task.has_no_work_under_way() {
            return Err(Refusal::stale(format!("{id} does not wait for what it stands on")));
        }
        let until_landed = reason.is_some();
        let lost = self.state.lost_footings(task)?;
        let reason = match reason {
            Some(reason) => reason.to_owned(),
            None if !lost.is_empty() => {
                let lost: Vec<&str> = lost.iter().map(TaskId::as_str).collect();
                format!("what it stands on has no open request now: {}", lost.join(", "))
            }
            None if task.decided == Status::InProgress && self.state.footings(task)?.is_none() => {
                "what it was to stand on is proven again".to_owned()
            }
            None => return Err(Refusal::stale(format!("what {id} stands on is there"))),
        };
        let fact = RequestFact::Unstacked { reason, until_landed };
        Ok(vec![Event::Request { task: id.clone(), fence, fact }])
    }

    /// An open request of the run lacks what a task has just landed on its branch.
    pub(super) fn request_lacks(&self, landed: &TaskId) -> Result<Option<Event>, Stop> {
        let Some(whole) = self.run.whole().filter(|whole| !whole.has(landed)) else { return Ok(None) };
        for (_, id) in whole.requests() {
            let task = self.state.task(id)?;
            let followed = task.filter(|task| task.decided == Status::Merging && task.is_followed());
            if let Some(task) = followed {
                let reason = format!("{landed} has landed on its branch since");
                let fact = RequestFact::Returned { reason };
                return Ok(Some(Event::Request { task: id.clone(), fence: task.fence, fact }));
            }
        }
        Ok(None)
    }

    /// What the host merged is part of the local target. `tree`: what the target holds with it.
    pub(super) fn request_landed(&self, id: &TaskId, fence: u64, commit: &Oid, tree: &Oid) -> Decision {
        let (task, request) = self.at_step(id, fence, &[Step::Take])?;
        let (Some(verified), true) = (&task.progress.commit, request.merged.as_ref() == Some(commit)) else {
            return Err(Refusal::stale(format!("{id} has not been merged as {}", commit.short())));
        };
        let proof = Proof::Landed { commit: commit.clone(), verified: verified.clone() };
        let done = Event::Completed { task: id.clone(), fence, proof, counts: Vec::new(), saw: None };
        Ok([done].into_iter().chain(self.gates_after(id, Some(tree), &[])?).collect())
    }
}
