//! The attempts at a task, each with what its agents did, what its checks said, what it used, and how it ended.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use super::{Used, describe};
use crate::plan::Oid;
use crate::run::{
    Bill, CheckResult, Class, CommitMade, Event, Holder, Next, Note, Proof, Recorded, Tests, Usage, Verdict,
    is_of_a_worker, verdict,
};
use crate::time::{Span, Timestamp};

/// One attempt, with all of its starts: an attempt that cost nothing is resumed under the same number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    pub attempt: u32,
    /// The fences of its starts: their jobs have these numbers.
    pub fences: Vec<u64>,
    /// Who worked: an agent of the plan, or a holder of the ledger. Empty if only checks ran.
    pub by: String,
    #[serde(rename = "started_ms")]
    pub started: Timestamp,
    #[serde(rename = "ended_ms")]
    pub ended: Option<Timestamp>,
    /// How long agents worked in it.
    #[serde(rename = "worked_ms")]
    pub worked: Span,
    #[serde(serialize_with = "as_used")]
    pub used: Bill,
    pub agents: Vec<AgentPass>,
    pub checks: Vec<CheckRow>,
    /// The work as it was captured last.
    pub commit: Option<Oid>,
    pub commits: Vec<CommitMade>,
    pub created: Vec<String>,
    pub modified: Vec<String>,
    /// Why its earlier starts came to nothing. They cost no attempt.
    pub setbacks: Vec<Setback>,
    /// How it ended, in one line; `None` while it goes on.
    pub outcome: Option<String>,
    pub end: Option<AttemptEnd>,
}

/// A pass of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentPass {
    pub agent: String,
    /// A fresh agent that looked whether anything was left to do.
    pub confirms: bool,
    pub took_ms: u64,
    /// How it ended, in words.
    pub end: String,
    /// The last that it said.
    pub words: String,
}

/// A check that judged the attempt: evidence for one tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    pub name: String,
    pub command: String,
    pub passed: bool,
    /// What a person should know about it, or why it did not pass. Empty if it just passed.
    pub detail: String,
    pub tree: Oid,
    pub took_ms: u64,
    /// The folder of its job, relative to Piton's folder.
    pub log: String,
    /// The useful end of its output, if it did not pass.
    pub tail: String,
    /// It ran where the work was to land, and not on the work by itself.
    pub lands: bool,
    /// The tests that it ran, if its runner counts them.
    pub tests: Option<Tests>,
}

/// Why a start came to nothing, where that cost no attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setback {
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
    /// In one line.
    pub outcome: String,
    /// What the next agent was told.
    pub feedback: String,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum AttemptEnd {
    Landed {
        commit: Oid,
    },
    /// Completed without a landing.
    Completed,
    Failed {
        class: Class,
        reason: String,
        /// What the next agent was told.
        feedback: String,
        next: &'static str,
    },
    /// It was let go before it came to a result.
    Released {
        reason: String,
    },
    /// A person or an agent abandoned the task.
    GivenUp {
        by: String,
        reason: String,
    },
    /// It has no end of its own: the task was reset, skipped or started again.
    CutOff,
}

fn as_used<S: Serializer>(bill: &Bill, serializer: S) -> Result<S::Ok, S::Error> {
    Used::new(bill).serialize(serializer)
}

/// From the events of one task, in order.
pub fn attempts<'e>(events: impl IntoIterator<Item = &'e Recorded>) -> Vec<Attempt> {
    let mut fold = Fold::default();
    events.into_iter().for_each(|recorded| fold.read(recorded));
    fold.all
}

#[derive(Default)]
struct Fold {
    all: Vec<Attempt>,
    /// What the passes and checks to come are for.
    confirms: bool,
    lands: bool,
    /// Fences of workers whose use was booked: their end follows, and is the same try.
    booked: BTreeSet<u64>,
}

impl Fold {
    fn read(&mut self, recorded: &Recorded) {
        let Recorded { at, event, .. } = recorded;
        if let Event::AttemptStarted { attempt, fence, holder, agent, resumed, .. } = event {
            let by = match holder {
                Holder::Engine => agent.clone(),
                holder => holder.to_string(),
            };
            return self.start(*attempt, *fence, by, *resumed, *at);
        }
        let (confirms, lands) = (self.confirms, self.lands);
        let Some(last) = self.all.last_mut() else { return };
        let is_open = last.end.is_none();
        let mut close = |end| last.close(*at, describe(event).text, end);
        match event {
            Event::ConfirmationStarted { .. } => self.confirms = true,
            Event::VerificationStarted { lands, .. } => self.lands = *lands,
            Event::AgentEnded { fence, agent, took, closing, .. } => {
                if !self.booked.remove(fence) {
                    last.used.add(None, None);
                }
                last.worked = last.worked.plus(*took);
                if last.by.is_empty() {
                    last.by.clone_from(agent);
                }
                last.agents.push(AgentPass {
                    agent: agent.clone(),
                    confirms,
                    took_ms: took.0,
                    end: describe(event).text,
                    words: closing.words.clone(),
                });
            }
            Event::Noted { note: Note::Spent { fence, used, estimate, took, job, .. }, .. } => {
                if took.is_zero() && is_of_a_worker(job) {
                    self.booked.insert(*fence);
                }
                let estimate = Some(Usage::sum(estimate)).filter(|_| !estimate.is_empty());
                last.used.add(used.as_ref().map(Usage::sum), estimate);
                last.worked = last.worked.plus(*took);
            }
            Event::WorkCaptured { work, .. } => {
                last.commit.clone_from(&work.commit);
                last.commits.clone_from(&work.commits);
                last.created.clone_from(&work.created);
                last.modified.clone_from(&work.modified);
            }
            Event::ChecksEnded { tree, results, .. } => {
                last.checks.extend(results.iter().map(|result| CheckRow::new(result, tree, lands)));
            }
            Event::Failed { class, reason, feedback, next, .. } => {
                let next = match next {
                    Next::Again { .. } => "again",
                    Next::Abandoned => "abandoned",
                    Next::Blocked => "blocked",
                    Next::Skipped => "skipped",
                };
                let (reason, feedback) = (reason.clone(), feedback.clone());
                close(AttemptEnd::Failed { class: *class, reason, feedback, next });
            }
            Event::Completed { proof: Proof::Landed { commit, .. }, .. }
            | Event::LandingFound { commit, .. } => close(AttemptEnd::Landed { commit: commit.clone() }),
            Event::Completed { .. } => close(AttemptEnd::Completed),
            Event::Released { reason, .. } => close(AttemptEnd::Released { reason: reason.clone() }),
            // An attempt that has ended stays what it came to.
            Event::GivenUp { by, reason, .. } if is_open => {
                close(AttemptEnd::GivenUp { by: by.clone(), reason: reason.clone() });
            }
            Event::Reset { .. } | Event::Skipped { .. } if is_open => close(AttemptEnd::CutOff),
            _ => {}
        }
    }

    fn start(&mut self, attempt: u32, fence: u64, by: String, resumed: bool, at: Timestamp) {
        (self.confirms, self.lands) = (false, false);
        let last = self.all.last_mut();
        if let Some(last) = last {
            if resumed && last.attempt == attempt {
                last.fences.push(fence);
                return last.open_again();
            }
            if last.end.is_none() {
                last.close(at, "cut off".to_owned(), AttemptEnd::CutOff);
            }
        }
        self.all.push(Attempt::new(attempt, fence, by, at));
    }
}

impl Attempt {
    fn new(attempt: u32, fence: u64, by: String, started: Timestamp) -> Attempt {
        Attempt {
            attempt,
            fences: vec![fence],
            by,
            started,
            ended: None,
            worked: Span(0),
            used: Bill::default(),
            agents: Vec::new(),
            checks: Vec::new(),
            commit: None,
            commits: Vec::new(),
            created: Vec::new(),
            modified: Vec::new(),
            setbacks: Vec::new(),
            outcome: None,
            end: None,
        }
    }

    fn close(&mut self, at: Timestamp, outcome: String, end: AttemptEnd) {
        (self.ended, self.outcome, self.end) = (Some(at), Some(outcome), Some(end));
    }

    fn open_again(&mut self) {
        let feedback = match self.end.take() {
            Some(AttemptEnd::Failed { feedback, .. }) => feedback,
            _ => String::new(),
        };
        if let (Some(at), Some(outcome)) = (self.ended.take(), self.outcome.take()) {
            self.setbacks.push(Setback { at, outcome, feedback });
        }
    }

    /// How long it has taken, or had taken by `now`.
    pub fn took(&self, now: Timestamp) -> Span {
        self.ended.unwrap_or(now).since(self.started)
    }

    /// Why it failed, and what the next agent was told.
    pub fn failure(&self) -> Option<(&str, &str)> {
        match &self.end {
            Some(AttemptEnd::Failed { reason, feedback, .. }) => Some((reason, feedback)),
            Some(AttemptEnd::GivenUp { reason, .. }) => Some((reason, "")),
            Some(
                AttemptEnd::Landed { .. }
                | AttemptEnd::Completed
                | AttemptEnd::Released { .. }
                | AttemptEnd::CutOff,
            )
            | None => None,
        }
    }
}

impl CheckRow {
    fn new(result: &CheckResult, tree: &Oid, lands: bool) -> CheckRow {
        let detail = match &result.verdict {
            Verdict::Pass => String::new(),
            other => verdict::outcome(other),
        };
        CheckRow {
            name: result.name.clone(),
            command: result.command.clone(),
            passed: result.verdict.lets_pass(),
            detail,
            tree: tree.clone(),
            took_ms: result.took.0,
            log: result.log.clone(),
            tail: result.tail.clone(),
            lands,
            tests: result.tests,
        }
    }

    /// How it ended, in words.
    pub fn verdict(&self) -> &str {
        if self.detail.is_empty() { "passed" } else { &self.detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Digest, TaskId};
    use crate::run::{AgentEnd, Class, Closing, Pointers, Work};

    fn task() -> TaskId {
        TaskId::new("T1").expect("an id")
    }

    fn started(attempt: u32, fence: u64, resumed: bool) -> Event {
        let (holder, agent) = (Holder::Engine, "claude".to_owned());
        Event::AttemptStarted { task: task(), attempt, fence, holder, agent, instead_of: None, resumed }
    }

    fn check(verdict: Verdict) -> Event {
        let result = CheckResult {
            name: "test".to_owned(),
            check: Digest::of(&"check"),
            command: "cargo test".to_owned(),
            verdict,
            environment: Digest::of(&"environment"),
            took: Span::seconds(3),
            log: "runs/r/T1/1.check".to_owned(),
            tail: "error: no rope".to_owned(),
            tests: None,
            ran: None,
        };
        Event::ChecksEnded { task: task(), fence: 1, tree: oid('a'), results: vec![result] }
    }

    fn oid(digit: char) -> Oid {
        Oid::new(&digit.to_string().repeat(40)).expect("an object")
    }

    fn failed(reason: &str) -> Event {
        Event::Failed {
            task: task(),
            fence: 1,
            class: Class::Code,
            reason: reason.to_owned(),
            feedback: "look at the rope".to_owned(),
            next: Next::Again { not_before: None },
            behind: None,
            pointers: Box::new(Pointers::default()),
        }
    }

    fn told(events: Vec<Event>) -> Vec<Attempt> {
        let recorded = events.into_iter().zip(1..).map(|(event, seq)| {
            let at = Timestamp(1000 * i64::try_from(seq).expect("small"));
            Recorded { seq, at, event }
        });
        attempts(&recorded.collect::<Vec<_>>())
    }

    #[test]
    fn each_attempt_has_its_agents_its_checks_and_its_end() {
        let closing = Closing { words: "I did it".to_owned(), ..Closing::default() };
        let ended = Event::AgentEnded {
            task: task(),
            fence: 1,
            agent: "claude".to_owned(),
            end: AgentEnd::Done,
            took: Span::seconds(5),
            report: None,
            closing,
        };
        let work = Work {
            commit: Some(oid('b')),
            tree: oid('a'),
            changed: true,
            found_work: true,
            touches_judges: false,
            markers: Vec::new(),
            commits: Vec::new(),
            created: vec!["rope.rs".to_owned()],
            modified: Vec::new(),
        };
        let landed = Proof::Landed { commit: oid('c'), verified: oid('b') };
        let all = told(vec![
            started(1, 1, false),
            ended,
            Event::WorkCaptured { task: task(), fence: 1, work },
            Event::VerificationStarted { task: task(), fence: 1, lands: true },
            check(Verdict::Fail { exit: 1 }),
            failed("check `test` failed"),
            started(2, 2, false),
            check(Verdict::Pass),
            Event::Completed { task: task(), fence: 2, proof: landed, counts: Vec::new(), saw: None },
        ]);
        let [first, second] = &all[..] else { panic!("{all:?}") };
        assert_eq!((first.attempt, first.took(Timestamp(0))), (1, Span::seconds(5)));
        assert_eq!((first.by.as_str(), first.agents[0].words.as_str()), ("claude", "I did it"));
        assert_eq!((&first.commit, &first.created[..]), (&Some(oid('b')), &["rope.rs".to_owned()][..]));
        let CheckRow { passed, lands, detail, tail, .. } = &first.checks[0];
        assert_eq!(
            (*passed, *lands, detail.as_str(), tail.as_str()),
            (false, true, "failed with exit status 1", "error: no rope")
        );
        let end = AttemptEnd::Failed {
            class: Class::Code,
            reason: "check `test` failed".to_owned(),
            feedback: "look at the rope".to_owned(),
            next: "again",
        };
        assert_eq!(first.end, Some(end));
        assert_eq!(first.outcome.as_deref(), Some("failed: check `test` failed"));
        assert_eq!(
            (first.worked, first.used.unmeasured),
            (Span::seconds(5), 1),
            "nobody measured what it used"
        );
        assert_eq!((second.checks[0].passed, second.checks[0].lands), (true, false));
        assert_eq!(second.end, Some(AttemptEnd::Landed { commit: oid('c') }));
    }

    #[test]
    fn an_attempt_that_is_resumed_stays_one() {
        let all = told(vec![started(1, 1, false), failed("the network"), started(1, 2, true)]);
        assert_eq!(all.len(), 1);
        assert_eq!((&all[0].fences[..], &all[0].end, all[0].ended), (&[1, 2][..], &None, None));
        let setback = &all[0].setbacks[0];
        assert_eq!(
            (setback.outcome.as_str(), setback.feedback.as_str()),
            ("failed: the network", "look at the rope")
        );
        let reset = told(vec![started(1, 1, false), failed("no"), started(1, 2, false)]);
        assert_eq!(reset.len(), 2, "after a reset the numbers begin again");
    }

    #[test]
    fn an_attempt_that_is_interrupted_does_not_go_on_for_ever() {
        let given_up =
            Event::GivenUp { task: task(), by: "ann".to_owned(), reason: "not worth it".to_owned() };
        let all = told(vec![started(1, 1, false), started(2, 2, false), given_up]);
        assert_eq!(all[0].end, Some(AttemptEnd::CutOff));
        assert_eq!(all[1].failure(), Some(("not worth it", "")));
        assert_eq!(all[1].outcome.as_deref(), Some("abandoned by ann: not worth it"));
    }

    #[test]
    fn what_a_client_reports_is_one_try_with_the_end_of_its_agent() {
        let usage = Usage { cost: Some(420_000), ..Usage::default() };
        let spent = Note::Spent {
            task: task(),
            fence: 1,
            agent: "claude".to_owned(),
            used: Some(crate::run::ByModel::from([("m".to_owned(), usage)])),
            estimate: crate::run::ByModel::new(),
            took: Span(0),
            job: "1.agent0".to_owned(),
        };
        let ended = Event::AgentEnded {
            task: task(),
            fence: 1,
            agent: "claude".to_owned(),
            end: AgentEnd::Done,
            took: Span::seconds(5),
            report: None,
            closing: Closing::default(),
        };
        let spent = Event::Noted { by: "claude".to_owned(), note: spent };
        let all = told(vec![started(1, 1, false), spent, ended]);
        assert_eq!((all[0].used.tries, all[0].used.unmeasured, all[0].used.usage), (1, 0, usage));
    }
}
