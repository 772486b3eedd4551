//! What may happen. Every change of a run goes through [`decide`]; nothing else makes events.

mod agents;
mod claims;
mod comments;
mod failure;
mod gates;
mod landing;
mod overrides;
mod requests;

use super::command::{Claim, Command, Refusal, Stop};
use super::create::{create, extend, replan};
use super::ending::MARKERS;
use super::event::{CheckResult, Class, Event, Note, Selection, Session, StopReason, Verdict, Work};
use super::provider::begins as who_begins;
use super::schedule::{Gate, is_current};
use super::state::{Missing, Run, State};
use super::task::{Holder, Proof, Status, Task};
use super::usage::priced;
use crate::plan::{Digest, MAX_PARALLEL, Oid, TaskId};
use crate::time::Timestamp;

pub use claims::waits_for;

type Decision = Result<Vec<Event>, Stop>;

/// Who hands a task to a person, and why no agent gets it.
pub const ASKED_BY: &str = "the plan";
const FOR_A_PERSON: &str = "a person does this task, and no agent";

/// The events that follow from a command, or why it is refused.
pub fn decide(state: &State, command: &Command, now: Timestamp) -> Decision {
    let Some(run) = state.run() else {
        return match command {
            Command::Create(new) => create(new),
            _ => Err(Refusal::because("this run does not exist")),
        };
    };
    let on = Rules { state, run, now };
    match command {
        Command::Create(_) => Err(Refusal::because(format!("the run {} already exists", run.id))),
        Command::OfEngine { engine, command } => {
            on.is_engine(engine)?;
            decide(state, command, now)
        }
        Command::OfProof { proof, command } => {
            on.open_proof(*proof)?;
            if matches!(**command, Command::PrepareLanding { .. }) && !run.line.may_land(*proof) {
                return Err(Refusal::stale(
                    "the target has moved since, or a chain is proven that lands first",
                ));
            }
            decide(state, command, now)
        }
        Command::Replan(plan) => replan(state, run, plan),
        Command::Extend(plan) => extend(state, run, plan),
        Command::Follow(revision) => revision.follow(state, run),
        Command::Attach { engine, session } => on.attach(engine, session),
        Command::Detach { engine, reason, tip } => {
            on.is_engine(engine)?;
            if *reason == StopReason::Completed && !state.is_complete() {
                return Err(Refusal::because("a task was added meanwhile"));
            }
            if *reason == StopReason::Completed {
                on.gates_held_on(tip)?;
            }
            let is_end = *reason == StopReason::Completed;
            let skipped = if is_end { state.counts().of(Status::Skipped) } else { 0 };
            Ok(vec![Event::EngineStopped { engine: engine.clone(), reason: reason.clone(), skipped }])
        }
        Command::Reopen { task, reason } => on.reopen(task, reason),
        Command::Asked { provider, nth, end } => on.asked(provider, *nth, end.as_ref()),
        Command::Unpark { provider, by } => on.unpark(provider, by),
        Command::RequestStop { by, now } => {
            if run.engine.is_none() {
                return Err(Refusal::because(format!("no engine works on the run {}", run.id)));
            }
            Ok(vec![Event::StopRequested { by: by.clone(), now: *now }])
        }
        Command::Close { by, reason } => on.close(by, reason),
        Command::Start { task, holder: Holder::Engine } if on.is_for_a_person(task)? => on.hand_over(task),
        Command::Start { task, holder } => on.start(task, holder),
        Command::StartAhead { task, holder } => on.start_at(task, holder, Turn::Any),
        Command::Mark { task, fence, mark } => on.mark(task, *fence, mark),
        Command::Bind { task, fence, process } => on.bind(task, *fence, process),
        Command::HolderGone { task, fence, process } => on.holder_gone(task, *fence, process),
        Command::Release { task, fence, reason } => on.release(task, *fence, reason),
        Command::Prepared { task, fence, base, landed } => {
            let at = on.held(task, *fence, &[Status::InProgress])?;
            if at.progress.ready {
                return Err(Refusal::stale(format!("the worktree of {task} is ready already")));
            }
            Ok(vec![Event::WorktreeReady {
                task: task.clone(),
                fence: *fence,
                base: base.clone(),
                landed: *landed,
            }])
        }
        Command::AgentEnded { task, fence, pass, end, took, report, closing } => {
            let at = on.held(task, *fence, &[Status::InProgress, Status::Confirming])?;
            on.in_pass(at, *pass)?;
            if !at.progress.ready || at.progress.agent_done {
                return Err(Refusal::stale(format!("no agent of {task} was running")));
            }
            let ended = Event::AgentEnded {
                task: task.clone(),
                fence: *fence,
                agent: at.progress.agent.clone(),
                end: on.believed(end),
                took: *took,
                report: report.clone(),
                closing: closing.clone(),
            };
            Ok([ended].into_iter().chain(on.agent_failure(at, on.agent_of(at), end)).collect())
        }
        Command::Captured { task, fence, pass, work } => on.captured(task, *fence, *pass, work),
        Command::ChecksEnded { task, fence, tree, results } => on.checked(task, *fence, tree, results),
        Command::ReviewerBegins { task, fence, tree, results, agent } => {
            on.reviewer_begins(task, *fence, tree, results, agent)
        }
        Command::ReviewerCut { task, fence, lands, tree, results, agent, end } => {
            let at = match lands {
                true => on.candidate(task, *fence)?,
                false => on.held(task, *fence, &[Status::Verifying])?,
            };
            on.reviewer_cut(at, tree, results, (agent, end))
        }
        Command::HelperCut { task, agent, end } => on.helper_cut(task, agent, end),
        Command::TryFailed { action, class, reason, feedback } => {
            use Status::*;
            let Some(task) = action.task() else {
                return Err(Refusal::because("an action for the whole run is not an attempt of a task"));
            };
            let fence = action.fence().unwrap_or_default();
            let at = on.held(task, fence, &[InProgress, Confirming, Verifying, Verified, Merging])?;
            if !is_current(state, action) {
                return Err(Refusal::stale(format!("{task} has moved on since")));
            }
            Ok(vec![on.failure(at, *class, reason, feedback, at.progress.behind.clone())])
        }
        Command::BeginProof { chain, alone } => on.begin_proof(chain, *alone),
        Command::ProofEnded { proof, end, results } => on.proof_ended(*proof, end, results),
        Command::PrepareLanding { task, fence, tree, intent, before, results, waived } => {
            on.prepare_landing(task, *fence, tree, (intent, before), (results, waived))
        }
        Command::LandingFailed { task, fence, tip, reason, feedback, pointers } => {
            let at = on.candidate(task, *fence)?;
            if run.line.is_landing(task) {
                return Err(Refusal::stale(format!("{task} is landing")));
            }
            let class = if at.has_only_looked() { Class::Code } else { Class::Conflict };
            let failed = on.failure(at, class, reason, feedback, Some(tip.clone()));
            Ok(vec![failure::pointing_to(failed, pointers)])
        }
        Command::LandingWaits { task, fence, reason } => {
            use Status::*;
            let at = on.held(task, *fence, &[InProgress, Confirming, Verifying, Verified, Merging])?;
            if at.progress.waits.as_ref() == Some(reason) {
                return Ok(Vec::new());
            }
            Ok(vec![Event::LandingWaits { task: task.clone(), fence: *fence, reason: reason.clone() }])
        }
        Command::LandingReturned { task, fence, candidate, reason } => {
            on.landing_as(task, *fence, candidate)?;
            Ok(vec![Event::LandingReturned { task: task.clone(), fence: *fence, reason: reason.clone() }])
        }
        Command::Landed { task, fence, commit } => on.landed(task, *fence, commit),
        Command::Unstack { task, fence, reason } => on.unstack(task, *fence, reason.as_deref()),
        Command::RequestMoved { task, fence, fact } => on.request_moved(task, *fence, fact),
        Command::RequestSeen { task, fence, seen, log, tip } => {
            on.request_seen(task, *fence, seen, log, tip.as_ref())
        }
        Command::RequestLanded { task, fence, commit, tree } => on.request_landed(task, *fence, commit, tree),
        Command::NothingToLand { task, fence, tree, results } => {
            on.nothing_to_land(task, *fence, tree, results)
        }
        Command::CleanedUp { task, fence } => {
            on.cleaned(task, *fence)?;
            Ok(vec![Event::CleanedUp { task: task.clone(), fence: *fence }])
        }
        Command::CleanupRefused { task, fence, reason } => {
            on.cleaned(task, *fence)?;
            Ok(vec![Event::CleanupRefused { task: task.clone(), fence: *fence, reason: reason.clone() }])
        }
        Command::Rescued { task, reference, commit } => {
            on.known(task)?;
            Ok(vec![Event::Rescued {
                task: task.clone(),
                reference: reference.clone(),
                commit: commit.clone(),
            }])
        }
        Command::Report { task, by, fence, claim, report } => {
            let mut events = on.report(task, by, *fence, claim, &report.feedback)?;
            // After the start it may imply, before what it leads to.
            let after_start = usize::from(matches!(events.first(), Some(Event::AttemptStarted { .. })));
            let fence = events.iter().find_map(fence_of).unwrap_or_default();
            let told = Event::Reported { task: task.clone(), fence, by: by.clone(), report: report.clone() };
            events.insert(after_start, told);
            Ok(events)
        }
        Command::Retry { task, by } => on.retry(task, by),
        Command::Unblock { task, by, note } => on.unblock(task, by, note),
        Command::Answer { task, by, text } => on.answer(task, by, text),
        Command::SendComments { task, by, comments, follow_up } => {
            on.send_comments(task, by, comments, follow_up.as_ref())
        }
        Command::Reset { task, by } => {
            on.may_take_away(task, "reset")?;
            Ok(vec![Event::Reset { task: task.clone(), by: by.clone() }])
        }
        Command::Skip { task, by, reason } => {
            on.may_take_away(task, "skipped")?;
            Ok(vec![Event::Skipped { task: task.clone(), by: by.clone(), reason: reason.clone() }])
        }
        Command::Adopt { task, by, past } => {
            let at = on.task(task)?;
            if (at.decided, at.attempt, at.fence) != (Status::Pending, 0, 0) {
                return Err(Refusal::because(format!("{task} already has a history in this run")));
            }
            let known = [Status::Pending, Status::Failed, Status::Abandoned, Status::Completed];
            if !known.contains(&past.status) || past.proof.is_some() != (past.status == Status::Completed) {
                return Err(Refusal::because(format!("{task} cannot be taken over as {}", past.status)));
            }
            Ok(vec![Event::Adopted { task: task.clone(), by: by.clone(), past: past.clone() }])
        }
        Command::SeeOutside { task, need, done } => {
            let known = on.task(task)?.outside.iter().find(|known| known.need == *need);
            let Some(known) = known else {
                return Err(Refusal::because(format!("{task} does not wait for {need}")));
            };
            let seen = Event::OutsideSeen { task: task.clone(), need: need.clone(), done: *done };
            Ok(if known.done == *done { Vec::new() } else { vec![seen] })
        }
        Command::Abandon { task, by, reason } => {
            if on.task(task)?.decided == Status::Abandoned {
                return Err(Refusal::because(format!("{task} is abandoned already")));
            }
            on.may_take_away(task, "abandoned")?;
            Ok(vec![Event::GivenUp { task: task.clone(), by: by.clone(), reason: reason.clone() }])
        }
        Command::Note { by, note } => {
            if let Note::Entry { task: Some(task), .. }
            | Note::Told { task, .. }
            | Note::Errors { task, .. }
            | Note::ChecksRan { task, .. }
            | Note::ConflictsAhead { task, .. }
            | Note::Spent { task, .. } = note
            {
                let known = on.known(task)?;
                if let Note::Spent { job, .. } = note
                    && known.progress.booked.contains(job)
                {
                    return Ok(Vec::new());
                }
                if let Note::ConflictsAhead { fence, conflicts, .. } = note
                    && (known.fence != *fence
                        || !known.is_under_way()
                        || on.run.is_told_ahead(task, conflicts))
                {
                    return Ok(Vec::new());
                }
            }
            let mut note = note.clone();
            priced(run, &mut note);
            if let Note::EditRefused { task, .. } = &mut note
                && let Some(about) = task
                && state.task(about)?.is_none()
            {
                // It may have been about a task that the plan does not have.
                *task = None;
            }
            if let Note::Seen { items, over } = &mut note {
                // Of two who take on the same, one does.
                let seen = run.seen.get(by);
                items.retain(|item| !seen.is_some_and(|seen| seen.contains(item)));
                over.retain(|item| seen.is_some_and(|seen| seen.contains(item)));
                if items.is_empty() && over.is_empty() {
                    return Ok(Vec::new());
                }
            }
            Ok(vec![Event::Noted { by: by.clone(), note }])
        }
        Command::ContextUpdated(update) => {
            if !run.settings.policy().keeps_description || run.settings.no_commits {
                return Err(Refusal::because(
                    "only plans of the execute system keep a project's description",
                ));
            }
            if !state.is_complete() {
                return Err(Refusal::because("not every task is completed"));
            }
            if run.context.is_some() {
                return Err(Refusal::stale("the project's description is already updated or skipped"));
            }
            Ok(vec![Event::ContextUpdated { update: update.clone() }])
        }
        Command::Raise { task, by, attempts } => {
            let at = on.task(task)?;
            if *attempts <= at.spent || *attempts > 100 {
                return Err(Refusal::hinted(
                    format!("{task} has spent {} of {} attempts", at.spent, at.budget),
                    format!("give a number from {} to 100", at.spent + 1),
                ));
            }
            Ok(vec![Event::Raised { task: task.clone(), by: by.clone(), attempts: *attempts }])
        }
        Command::LandingLost { task, commit, reason } => match &on.task(task)?.proof {
            Some(Proof::Landed { commit: known, .. }) if known == commit => Ok(vec![Event::LandingLost {
                task: task.clone(),
                commit: commit.clone(),
                reason: reason.clone(),
            }]),
            _ => Err(Refusal::stale(format!("{task} has not landed as {commit}"))),
        },
        Command::LandingFound { task, commit, reason } => match on.task(task)?.decided {
            Status::Completed => Err(Refusal::stale(format!("{task} is completed already"))),
            _ => {
                let (task, commit, reason) = (task.clone(), commit.clone(), reason.clone());
                let reopened = on.gates_after(&task, None, &[])?;
                let found = Event::LandingFound { task, commit, reason };
                Ok([found].into_iter().chain(reopened).collect())
            }
        },
    }
}

/// The rules at one state and time.
struct Rules<'a> {
    state: &'a State,
    run: &'a Run,
    now: Timestamp,
}

impl<'a> Rules<'a> {
    fn task(&self, id: &TaskId) -> Result<&'a Task, Stop> {
        match self.known(id)? {
            task if !task.removed => Ok(task),
            _ => Err(Refusal::because(format!("{id} is no longer in the plan"))),
        }
    }

    /// The task, also if the plan no longer has it: what it left behind is still to be put away.
    fn known(&self, id: &TaskId) -> Result<&'a Task, Stop> {
        match self.state.task(id)? {
            Some(task) => Ok(task),
            None => Err(Refusal::hinted(
                format!("there is no task {id} in the run {}", self.run.id),
                "`piton status` lists the tasks",
            )),
        }
    }

    /// Only the engine that works on the run may decide in it.
    fn is_engine(&self, name: &str) -> Result<(), Stop> {
        match &self.run.engine {
            Some(engine) if engine == name => Ok(()),
            _ => Err(Refusal::stale("another engine has taken over this run")),
        }
    }

    /// The task, if the engine's attempt with this fence is the current one and in one of these states.
    fn held(&self, id: &TaskId, fence: u64, states: &[Status]) -> Result<&'a Task, Stop> {
        let task = self.task(id)?;
        if task.fence != fence {
            return Err(Refusal::stale(format!(
                "{id} was started or reset since (fence {fence}, now {})",
                task.fence
            )));
        }
        if !states.contains(&task.decided) || !task.is_engines() {
            return Err(Refusal::stale(format!("{id} is {}", task.decided)));
        }
        Ok(task)
    }

    /// A result of an earlier pass says nothing about this one.
    fn in_pass(&self, task: &Task, pass: u32) -> Result<(), Stop> {
        let now = task.progress.confirmations;
        if now != pass {
            return Err(Refusal::stale(format!("{} is in pass {now}, not {pass}", task.id)));
        }
        Ok(())
    }

    /// The worktree in question is that of the task's last attempt, and the task has no holder.
    fn cleaned(&self, id: &TaskId, fence: u64) -> Result<(), Stop> {
        let task = self.known(id)?;
        if task.fence != fence || task.holder.is_some() {
            return Err(Refusal::stale(format!("{id} was started or reset since")));
        }
        Ok(())
    }

    fn attach(&self, engine: &str, session: &Session) -> Decision {
        if !(1..=MAX_PARALLEL).contains(&session.max_parallel) {
            return Err(Refusal::because(format!(
                "max_parallel is {}; it must be from 1 to {MAX_PARALLEL}",
                session.max_parallel
            )));
        }
        match &session.selection {
            Selection::All => {}
            Selection::Group(id) | Selection::From(id) => {
                if !self.run.groups.iter().any(|group| &group.id == id) {
                    let known: Vec<&str> = self.run.groups.iter().map(|group| group.id.as_str()).collect();
                    return Err(Refusal::hinted(
                        format!("there is no group {id}"),
                        format!("the groups are {}", known.join(", ")),
                    ));
                }
            }
            Selection::Task(id) => {
                let task = self.task(id)?;
                if !self.state.is_met(task) || task.awaits_outside() {
                    return Err(self.waits_for(task)?);
                }
            }
        }
        Ok(vec![Event::EngineStarted { engine: engine.to_owned(), session: session.clone() }])
    }

    /// Whether a task that could begin now is one that a person does.
    fn is_for_a_person(&self, id: &TaskId) -> Result<bool, Stop> {
        let task = self.task(id)?;
        Ok(task.by_person && matches!(task.decided, Status::Pending | Status::Failed))
    }

    /// Its turn has come: a person is asked for it.
    fn hand_over(&self, id: &TaskId) -> Decision {
        if let Gate::Closed(reason) = Gate::of(self.run) {
            return Err(Refusal::because(reason));
        }
        let claim = Claim::Blocked { reason: FOR_A_PERSON.to_owned() };
        self.report(id, ASKED_BY, None, &claim, "")
    }

    fn start(&self, id: &TaskId, holder: &Holder) -> Decision {
        self.start_at(id, holder, Turn::Own)
    }

    fn start_at(&self, id: &TaskId, holder: &Holder, turn: Turn) -> Decision {
        let task = self.task(id)?;
        match task.decided {
            Status::Pending | Status::Failed => {}
            Status::Blocked if task.by_person && *holder != Holder::Engine => {}
            Status::InProgress if task.holder.as_ref() == Some(holder) && *holder != Holder::Engine => {
                // A holder may ask again for a task that it already holds: the first answer may have been lost.
                return Ok(Vec::new());
            }
            status => {
                return Err(held_by_another(task).unwrap_or_else(|| {
                    let by = task.holder.as_ref().map(|h| format!(" by {h}")).unwrap_or_default();
                    Refusal::because(format!("{id} is {status}{by}"))
                }));
            }
        }
        let is_met = task.waiting == 0 || *holder == Holder::Engine && self.state.is_met(task);
        if !is_met || task.awaits_outside() {
            return Err(self.waits_for(task)?);
        }
        if turn == Turn::Own
            && let Some(barrier) = self.barrier(task, holder)
        {
            return Err(barrier);
        }
        if *holder == Holder::Engine {
            if let Gate::Closed(reason) = Gate::of(self.run) {
                return Err(Refusal::because(reason));
            }
            if self.run.places_taken() >= self.run.session.max_parallel {
                return Err(Refusal::because(format!(
                    "all {} slots are taken",
                    self.run.session.max_parallel
                )));
            }
        }
        let (agent, instead_of) = match holder {
            Holder::Engine => self.named(who_begins(self.run, task, self.now).map_err(Refusal::because)?),
            Holder::Ledger(_) => (String::new(), None),
        };
        let attempt = task.next_attempt();
        Ok(vec![Event::AttemptStarted {
            task: task.id.clone(),
            attempt,
            resumed: task.attempt == attempt,
            fence: task.fence.saturating_add(1),
            holder: holder.clone(),
            agent,
            instead_of,
        }])
    }

    fn barrier(&self, task: &Task, holder: &Holder) -> Option<Stop> {
        let held_back = super::schedule::barrier(self.run, &self.state.horizon(), task)?;
        let id = &task.id;
        Some(Refusal::hinted(
            format!("{id} has to wait: {held_back}, and this plan runs one task at a time"),
            match holder {
                Holder::Engine => format!("`piton why {id}` says more"),
                Holder::Ledger(_) => {
                    format!("piton start {id} --ahead   begins it before its turn; then report on it")
                }
            },
        ))
    }

    fn waits_for(&self, task: &Task) -> Result<Stop, Missing> {
        let needs = &self.state.links(&task.id)?.needs;
        let mut open = Vec::new();
        for need in needs.iter() {
            match self.state.task(need)? {
                Some(other) if other.status().satisfies() => {}
                Some(other) => open.push(format!("{need} ({})", other.status())),
                None => open.push(need.to_string()),
            }
        }
        open.extend(task.outside.iter().filter(|need| !need.done).map(|need| need.need.to_string()));
        Ok(Refusal::hinted(
            format!("{} depends on tasks that are not done: {}", task.id, open.join(", ")),
            format!("`piton why {}` says more", task.id),
        ))
    }

    fn captured(&self, id: &TaskId, fence: u64, pass: u32, work: &Work) -> Decision {
        let task = self.held(id, fence, &[Status::InProgress, Status::Confirming])?;
        self.in_pass(task, pass)?;
        if !task.progress.agent_done {
            return Err(Refusal::stale(format!("the agent of {id} is still at work")));
        }
        let captured = Event::WorkCaptured { task: id.clone(), fence, work: work.clone() };
        let found_work = task.decided == Status::Confirming && work.found_work;
        let mut task = task.clone();
        task.progress.reworked += u32::from(found_work);
        let fail = |reason: &str, feedback: &str| {
            // A conflict left unresolved is still to be resolved by the next try.
            self.failure(&task, Class::Code, reason, feedback, task.progress.behind.clone())
        };
        let then = if task.progress.sent_back {
            self.send_back(&task)
        } else if !work.markers.is_empty() {
            let files = work.markers.join(", ");
            fail(&format!("{MARKERS}{files}"), &format!("Resolve the conflict markers in: {files}\n"))
        } else if !work.changed && !task.may_stay_as_it_is() {
            self.idle(&task)
        } else if found_work && task.spent + task.progress.reworked >= task.budget {
            fail(
                "every pass still finds work to do",
                "Each pass over this task found more to do. Finish it in this one.\n",
            )
        } else {
            let settings = &self.run.settings;
            let judged_by_agents = settings.landing_checks.iter().any(|check| check.reviewer().is_some());
            // It would hold a place of the engine for as long as what it stands on is worked on.
            let stands = self.run.stacks() && task.waiting > 0;
            let lands =
                !settings.no_commits && !judged_by_agents && !stands && task.is_judged_where_it_lands(work);
            Event::VerificationStarted { task: id.clone(), fence, lands }
        };
        Ok(vec![captured, then])
    }

    fn checked(&self, id: &TaskId, fence: u64, tree: &Oid, results: &[CheckResult]) -> Decision {
        let task = self.held(id, fence, &[Status::Verifying])?;
        self.judges_tree(task, tree)?;
        let ended =
            Event::ChecksEnded { task: id.clone(), fence, tree: tree.clone(), results: results.to_vec() };
        if let Some(failed) = self.not_passed(task, results) {
            return Ok(vec![ended, failed]);
        }
        // A candidate is done when its checks pass on the merge. What is red without it, too, is its own fault.
        if task.is_candidate() {
            return Err(Refusal::stale(format!("the checks of {id} run where it is to land")));
        }
        if task.awaits_confirmation() {
            return Ok(vec![ended, self.confirmation(task)]);
        }
        if let Some(missing) = unproven(&[task], task.judges.iter(), tree, results) {
            return Err(Refusal::because(format!("a check of {id} has not run ({})", missing.short())));
        }
        if self.run.settings.no_commits {
            let proof = checked_on(task, Some(tree.clone()));
            let done = Event::Completed { task: id.clone(), fence, proof, counts: Vec::new(), saw: None };
            return Ok([ended, done].into_iter().chain(self.gates_after(id, Some(tree), &[])?).collect());
        }
        Ok(vec![ended, Event::Verified { task: id.clone(), fence }])
    }

    fn may_take_away(&self, id: &TaskId, what: &str) -> Result<(), Stop> {
        let task = self.task(id)?;
        match task.decided {
            Status::Completed => Err(Refusal::hinted(
                format!("{id} is completed and cannot be {what}"),
                "a new task in the plan can change or undo what it did: `piton run PLAN --replan`",
            )),
            _ if task.decided == Status::Merging && !task.is_followed() || self.run.line.is_landing(id) => {
                Err(Refusal::because(format!("{id} is landing now and cannot be {what}")))
            }
            // What the run went on without may still be skipped by a person.
            Status::Skipped if what == "skipped" && !task.progress.left_behind => {
                Err(Refusal::because(format!("{id} is skipped already")))
            }
            Status::Pending if task.attempt == 0 && what == "reset" => {
                Err(Refusal::because(format!("{id} is pending: there is nothing to reset")))
            }
            _ => Ok(()),
        }
    }
}

/// The refusal for a caller that wants a task which a holder of the ledger has. The name of a holder does not say
/// whether its process still works, so the task is not taken from it. The refusal names the commands that help.
fn held_by_another(task: &Task) -> Option<Stop> {
    let Some(Holder::Ledger(name)) = task.holder.as_ref().filter(|_| task.decided == Status::InProgress)
    else {
        return None;
    };
    let (id, by) = (&task.id, shell_word(name));
    Some(Refusal::hinted(
        format!("{id} is in progress, held by {name}"),
        format!("piton report {id} done --by {by}   if you hold it; or, to free it: piton reset {id}"),
    ))
}

/// A word, quoted for a shell if needed.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Whether a task may begin only when those before it are done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Own,
    Any,
}

/// The proof of a task whose checks passed on a tree, and that lands nothing.
fn checked_on(task: &Task, tree: Option<Oid>) -> Proof {
    Proof::Checked { tree, already: task.progress.already.clone() }
}

/// The first judge without a pass on this tree, now or earlier, for one of these tasks.
fn unproven<'j>(
    tasks: &[&Task],
    mut judges: impl Iterator<Item = &'j Digest>,
    tree: &Oid,
    results: &[CheckResult],
) -> Option<&'j Digest> {
    judges.find(|&judge| {
        let now = results.iter().any(|r| &r.check == judge && r.verdict == Verdict::Pass);
        let mut passes = tasks.iter().flat_map(|task| &task.progress.passes);
        let before = passes.any(|pass| &pass.tree == tree && &pass.check == judge);
        !now && !before
    })
}

fn fence_of(event: &Event) -> Option<u64> {
    match event {
        Event::AttemptStarted { fence, .. }
        | Event::Failed { fence, .. }
        | Event::ClaimWaits { fence, .. }
        | Event::Completed { fence, .. } => Some(*fence),
        _ => None,
    }
}
