//! What an entry says, and how one is written.

use super::head::{self, Head, Kind};
use crate::plan::TaskId;
use crate::run::{Report, Status};
use crate::system::kit::entries::{self as file, Cut};
use crate::system::kit::labels::{fields, said, written};
use crate::system::{Account, ReportedAs};

/// An entry by its parts; what is not there, or says `None`, is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub head: Head,
    pub did: String,
    pub remaining: String,
    pub blockers: String,
    /// `T1_DONE`, without its tags.
    pub signal: String,
    pub commit: String,
    /// What changed since the iteration before.
    pub delta: String,
    /// Piton wrote it.
    pub made: bool,
}

/// What Piton writes below an entry of its own, to recognise it later.
pub(super) const MADE: &str = "*(Written by Piton";

/// The names of fields that need no bold letters.
const NAMES: [&str; 12] = [
    "did",
    "remaining",
    "blockers",
    "blocker",
    "signal",
    "commit",
    "commits",
    "delta",
    "unit",
    "task",
    "phase",
    "done",
];

pub(super) fn cut(text: &str) -> Cut<'_> {
    file::cut(text, |line, _| head::begins(line))
}

/// All entries of a file, in its order.
pub fn entries(text: &str) -> Vec<Entry> {
    cut(text).entries.iter().map(|(_, entry)| parse(entry)).collect()
}

/// Read an entry, from its heading on.
pub fn parse(entry: &str) -> Entry {
    let (title, body) = entry.split_once('\n').unwrap_or((entry, ""));
    let title = title.trim_start_matches(['\u{feff}', ' ']).trim_start_matches('#').trim();
    let mut parsed = Entry { head: head::head(title), ..Entry::default() };
    let is_mark = |line: &&str| line.trim_start().starts_with(MADE);
    parsed.made = body.lines().any(|line| is_mark(&line));
    let body: Vec<&str> = body.lines().filter(|line| !is_mark(line)).collect();
    for (name, value) in fields(&body.join("\n"), &NAMES) {
        let value = said(&value);
        match name.as_str() {
            // An entry without any fields says what was done.
            "" | "did" | "done" => say(&mut parsed.did, value),
            "remaining" => say(&mut parsed.remaining, value),
            "blockers" | "blocker" => say(&mut parsed.blockers, value),
            "delta" => say(&mut parsed.delta, value),
            "signal" => parsed.signal = bare_signal(value),
            "commit" | "commits" => parsed.commit = hash(value),
            "unit" | "task" | "phase" if parsed.head.unit.is_none() => {
                parsed.head.unit = value.split_whitespace().next().and_then(|id| TaskId::new(id).ok());
            }
            _ => {}
        }
    }
    parsed
}

impl Entry {
    /// What the entry reports about its unit.
    pub(in crate::system::iterative) fn reported(account: &Account<'_>) -> Entry {
        let Account { task, report, .. } = *account;
        let is_at_it = matches!(task.decided, Status::InProgress | Status::Confirming);
        let number = if is_at_it { task.attempt } else { task.spent + 1 };
        let blockers = account.reason.unwrap_or_default().to_owned();
        Entry {
            head: Head {
                kind: Kind::Iteration,
                unit: Some(task.id.clone()),
                number: Some(number),
                time: Some(account.at.to_string()),
            },
            did: report.note.clone(),
            remaining: report.feedback.clone(),
            signal: match account.reported {
                ReportedAs::Done => format!("{}_DONE", task.id),
                ReportedAs::Already => format!("{}_ALREADY:{blockers}", task.id),
                ReportedAs::Blocked => format!("BLOCKED:{blockers}"),
                ReportedAs::Failed | ReportedAs::Unfinished => String::new(),
            },
            blockers,
            commit: report.commits.last().map(|commit| commit.hash.clone()).unwrap_or_default(),
            ..Entry::default()
        }
    }

    /// It is a placeholder.
    pub fn is_placeholder(&self) -> bool {
        let texts = [&self.did, &self.remaining, &self.blockers, &self.signal, &self.commit, &self.delta];
        self.head.kind != Kind::Other && texts.iter().all(|text| text.is_empty())
    }

    /// It is about an iteration of this unit.
    pub fn is_iteration_of(&self, unit: &TaskId) -> bool {
        let is_own = |own: &TaskId| own.as_str().eq_ignore_ascii_case(unit.as_str());
        self.head.kind == Kind::Iteration && self.head.unit.as_ref().is_some_and(is_own)
    }

    /// It says that a person is needed.
    pub fn is_blocked(&self) -> bool {
        let word = self.signal.split(':').next().unwrap_or_default().trim();
        word.eq_ignore_ascii_case("BLOCKED") || word.eq_ignore_ascii_case("NEEDS_ESCALATION")
    }

    /// It says that its unit is done.
    pub fn is_done(&self) -> bool {
        let Some(unit) = &self.head.unit else { return false };
        let named = self.signal.rsplit_once('_').filter(|(id, _)| id.eq_ignore_ascii_case(unit.as_str()));
        named.is_some_and(|(_, word)| {
            word.eq_ignore_ascii_case("DONE") || word.eq_ignore_ascii_case("VERIFIED")
        }) || self.already().is_some()
    }

    /// Why nothing had to change for its unit, if it says so.
    pub fn already(&self) -> Option<&str> {
        let (word, reason) = self.signal.split_once([':', '：'])?;
        let (unit, word) = word.trim().rsplit_once('_')?;
        let is_own = self.head.unit.as_ref().is_some_and(|own| unit.eq_ignore_ascii_case(own.as_str()));
        let reason = reason.trim();
        (is_own && word.eq_ignore_ascii_case("ALREADY") && !reason.is_empty()).then_some(reason)
    }

    /// Why it is blocked, as far as it says so.
    pub fn blocker(&self) -> &str {
        let reason = self.signal.split_once([':', '：']).map_or("", |(_, reason)| reason.trim());
        if self.is_blocked() && !reason.is_empty() { reason } else { &self.blockers }
    }

    /// The same as a report on the unit: what is left to do is for the next iteration.
    pub fn report(&self) -> Report {
        let already = self.already().unwrap_or_default().to_owned();
        Report { note: self.did.clone(), feedback: self.remaining.clone(), already, ..Report::default() }
    }

    /// As it is put into the file.
    pub fn write(&self) -> String {
        let mut text = format!("## {}\n", self.head);
        let mut field = |name: &str, value: &str| text += &format!("{}\n", written(name, value, &NAMES));
        if let (Some(unit), false) = (&self.head.unit, self.head.kind == Kind::Iteration) {
            field("Unit", unit.as_str());
        }
        let or_none =
            |value: &'_ str| if value.trim().is_empty() { "None".to_owned() } else { value.to_owned() };
        field("Did", if self.did.trim().is_empty() { "What was done is not recorded." } else { &self.did });
        field("Remaining", &or_none(&self.remaining));
        field("Blockers", &or_none(&self.blockers));
        let optional = [("Delta", &self.delta), ("Signal", &self.signal), ("Commit", &self.commit)];
        for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
            field(name, &file::line(value));
        }
        text.trim_end().to_owned()
    }
}

fn say(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// Without tags or code marks around it.
fn bare_signal(value: &str) -> String {
    let line = value.lines().next().unwrap_or_default();
    let bare = line.trim_matches(['`', '*', ' ']);
    let bare = bare.strip_prefix("<signal>").map_or(bare, |bare| bare.trim_end_matches("</signal>"));
    bare.trim().to_owned()
}

/// The first word that may be a commit. A template's `{hash}` is not one.
fn hash(value: &str) -> String {
    let mut words = value.split(|c: char| !c.is_ascii_alphanumeric());
    let is_hash = |word: &&str| {
        let numbered = word.contains(|c: char| c.is_ascii_digit());
        (if numbered { 4 } else { 7 }..=64).contains(&word.len()) && (numbered || is_hex(word))
    };
    words.find(is_hash).unwrap_or_default().to_owned()
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
