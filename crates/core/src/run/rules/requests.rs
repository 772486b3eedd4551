//! What may happen to a task that lands by a request of a host. Landed is what the host says; what the host says is judged in
//! [`crate::run::request`].

use super::{Decision, Rules};
use crate::plan::{Oid, TaskId};
use crate::run::command::{Refusal, Stop};
use crate::run::event::{Class, Event};
use crate::run::request::{self, Judgement, LOOKS, Request, RequestFact, Seen, Step};
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
        let Intent { old, candidate } = intent;
        let fact = RequestFact::Prepared {
            branch: self.run.branch_of_request(task),
            base: old.clone(),
            head: candidate.clone(),
            tree: tree.clone(),
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
        match request::judge(&settings, request, seen, tip, self.now) {
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
