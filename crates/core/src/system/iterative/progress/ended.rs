//! Iterations that are over, and what Piton itself writes about them: an entry if the agent wrote none, and what the
//! next agent has to fix, which stands nowhere else.

use super::NOT_FINISHED;
use super::entry::{Entry, MADE};
use super::head::{Head, Kind};
use crate::chronicle::{Failure, Pass, PassFound, Story};
use crate::plan::{Argv, TaskId};
use crate::run::Class;
use crate::system::kit::entries::{line, quoted};
use crate::terminal::clean_text;
use crate::time::Timestamp;

/// How many files of an iteration are named.
const FILES: usize = 12;

/// The signal of a reviewer of the whole that found nothing.
const REVIEW_PASS: &str = "REVIEW_PASS";

/// An iteration that is over.
pub(super) struct Ended<'a> {
    pub(super) unit: &'a TaskId,
    pub(super) number: u32,
    pub(super) at: Timestamp,
    story: &'a Story,
    /// It is the review of the whole, and not of a unit.
    whole: bool,
    /// It is the last one since the last reset. More is known about this one.
    is_last: bool,
    failure: Option<&'a Failure>,
}

/// The iterations of a unit, in the order in which they ended. Tries that were only cut off are not iterations. Nor is
/// imported work: the log that it came from has its entries.
pub(super) fn ended<'a>(unit: &'a TaskId, story: &'a Story, whole: bool) -> Vec<Ended<'a>> {
    let earlier = story.earlier.iter().flat_map(|earlier| &earlier.failures).map(|failure| (failure, false));
    let now = story.failures.iter().map(|failure| (failure, failure.attempt == story.attempt));
    let counts = |failure: &Failure| {
        matches!(failure.class, Class::Code | Class::Defect | Class::Conflict) && failure.kind.is_empty()
    };
    let failed =
        earlier.chain(now).filter(|(failure, _)| counts(failure)).filter_map(|(failure, is_last)| {
            let (number, at) = (failure.attempt.max(1), failure.at?);
            Some(Ended { unit, number, at, story, whole, is_last, failure: Some(failure) })
        });
    let well = story.verified_at.or(story.completed_at).filter(|_| story.attempt > 0).map(|at| Ended {
        unit,
        number: story.attempt,
        at,
        story,
        whole,
        is_last: true,
        failure: None,
    });
    failed.chain(well).collect()
}

impl Ended<'_> {
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// An agent worked in it. A conflict is found only after its work is done and reported.
    pub(super) fn is_iteration(&self) -> bool {
        self.failure.is_none_or(|failure| failure.class != Class::Conflict)
    }

    /// Its entry, if the agent wrote none.
    pub(super) fn fallback(&self) -> String {
        let mut did = self.report();
        if let Some(failure) = self.failure.filter(|failure| failure.step.is_none()) {
            did += &format!("\nIt ended like this: {}.", line(&failure.message).trim_end_matches('.'));
        }
        let files = self.files();
        if !files.is_empty() {
            did += &format!("\nFiles: {files}");
        }
        // What checks found stands in an entry of its own, below this one.
        let facts = self.facts("").filter(|facts| facts.head.kind == Kind::Fix).unwrap_or_default();
        let (mut remaining, blockers) = (facts.remaining, facts.blockers);
        if self.is_unfinished() {
            remaining = "Not recorded: look at the work and at the criteria".to_owned();
        }
        let entry = Entry {
            head: self.head(Kind::Iteration),
            did,
            remaining,
            blockers,
            signal: if self.claimed_done() { format!("{}_DONE", self.unit) } else { String::new() },
            commit: self.commit(),
            ..Entry::default()
        };
        format!("{}\n{MADE}, because the agent wrote none)*", entry.write())
    }

    /// What an agent cannot know: how the checks went, what stood in the way, that the limit is reached.
    /// `left` is what the agent itself leaves to do.
    pub(super) fn news(&self, left: &str) -> Option<(Kind, String)> {
        let facts = self.facts(left)?;
        Some((facts.head.kind, format!("{}\n{MADE})*", facts.write())))
    }

    /// An entry for the iteration itself has this news, too.
    pub(super) fn is_in_iteration_entry(&self) -> bool {
        self.is_iteration() && self.failure.is_some_and(|failure| failure.step.is_none())
    }

    /// The agent itself says why a person is needed; that need not be said again.
    pub(super) fn is_blocker(&self) -> bool {
        self.failure.is_some_and(|failure| failure.class == Class::Defect && failure.step.is_none())
    }

    /// A note that its checks have passed, if its entry does not say so or names no commit.
    pub(super) fn passed(&self) -> Option<(Kind, String)> {
        let (did, signal) = match self.whole {
            true => ("Reviewed the whole, and found nothing to fix".to_owned(), REVIEW_PASS.to_owned()),
            false => (
                format!("Iteration {} of {} passed its gates", self.number, self.unit),
                format!("{}_VERIFIED", self.unit),
            ),
        };
        let (head, commit) = (self.head(Kind::Review), self.commit());
        let entry = Entry { head, did, signal, commit, ..Entry::default() };
        let ours = self.failure.is_none() && self.story.verified_at.is_some();
        let known = ours && (self.whole || !entry.commit.is_empty());
        known.then(|| (Kind::Review, format!("{}\n{MADE})*", entry.write())))
    }

    fn facts(&self, left: &str) -> Option<Entry> {
        let failure = self.failure?;
        let (message, n) = (line(&failure.message), self.number);
        let spent = self.story.given_up.as_ref().is_some_and(|said| said.at == self.at && said.by == "piton");
        if message == NOT_FINISHED && !spent {
            return None;
        }
        let kind = match &failure.step {
            Some(step) if Argv::shows_review(step) => Kind::Review,
            Some(_) => Kind::Tests,
            None => Kind::Fix,
        };
        let did = match kind {
            Kind::Tests => format!("Ran the checks on iteration {n} of {}: {message}", self.unit),
            Kind::Review if self.whole => format!("Reviewed the whole: {message}"),
            Kind::Review => format!("Had iteration {n} of {} looked at: {message}", self.unit),
            _ => format!("Iteration {n} of {} ended like this: {message}", self.unit),
        };
        let mut remaining = match (&failure.step, failure.class) {
            (Some(step), _) => format!("Fix what `{}` finds", line(step)),
            (None, Class::Defect) => "A person has to decide".to_owned(),
            (None, _) if message == NOT_FINISHED => left.to_owned(),
            (None, _) => message.clone(),
        };
        if !failure.details.trim().is_empty() {
            remaining += &format!("\n{}", quoted(clean_text(failure.details.as_bytes()).trim()));
        }
        let blockers = match failure.class {
            _ if spent => format!(
                "All {n} iterations are used up: raise the limit, make the criteria simpler, or step in"
            ),
            Class::Defect => message.clone(),
            _ => String::new(),
        };
        let signal = match kind {
            Kind::Tests => format!("TESTS_FAIL:{message}"),
            Kind::Review if self.whole => "REVIEW_FAIL".to_owned(),
            Kind::Review => "GAPS_FOUND".to_owned(),
            _ => String::new(),
        };
        Some(Entry { head: self.head(kind), did, remaining, blockers, signal, ..Entry::default() })
    }

    fn head(&self, kind: Kind) -> Head {
        let (unit, number) = (Some(self.unit.clone()), Some(self.number));
        Head { kind, unit, number, time: Some(self.at.to_string()) }
    }

    /// The agent ended without saying that it is done.
    fn is_unfinished(&self) -> bool {
        self.failure.is_some_and(|failure| line(&failure.message) == NOT_FINISHED)
    }

    fn claimed_done(&self) -> bool {
        self.failure.is_none_or(|failure| failure.step.is_some())
    }

    /// What was reported in this iteration.
    fn report(&self) -> String {
        let mine = |at: u32| at == self.number && self.is_last;
        let note = self.story.reports.iter().rfind(|told| mine(told.attempt) && !told.note.trim().is_empty());
        note.map_or_else(
            || "The agent did not say what it did.".to_owned(),
            |told| told.note.trim().to_owned(),
        )
    }

    fn files(&self) -> String {
        let Some(changed) = self.story.changed.as_ref().filter(|_| self.is_last) else {
            return String::new();
        };
        let all: Vec<&String> = changed.created.iter().chain(&changed.modified).collect();
        let named: Vec<String> = all.iter().take(FILES).map(|file| format!("`{}`", line(file))).collect();
        let more = all.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        named.join(", ") + &more
    }

    fn commit(&self) -> String {
        let mine = self.story.commits.iter().rfind(|commit| commit.attempt == self.number && self.is_last);
        mine.map(|commit| commit.hash.chars().take(10).collect()).unwrap_or_default()
    }
}

/// An entry for a confirming agent that wrote none, once it is known whether it changed anything.
pub(super) fn looked_again(unit: &TaskId, pass: &Pass) -> Option<String> {
    let changed = match pass.found {
        PassFound::Unknown => return None,
        PassFound::Nothing => "nothing",
        PassFound::Work => "something",
    };
    let entry = Entry {
        head: passed_over(unit, pass)?,
        did: format!("The agent that looked once more did not say what it did. It changed {changed}."),
        signal: format!("{unit}_DONE"),
        ..Entry::default()
    };
    Some(format!("{}\n{MADE}, because the agent wrote none)*", entry.write()))
}

/// The heading of such an entry.
pub(super) fn passed_over(unit: &TaskId, pass: &Pass) -> Option<Head> {
    let (unit, number, time) = (Some(unit.clone()), Some(pass.attempt), Some(pass.ended?.to_string()));
    Some(Head { kind: Kind::Revise, unit, number, time })
}
