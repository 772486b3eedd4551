//! Notifications for a person who does not watch a run. Each is sent once: the sender records it first.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::counted;
use super::inbox::{Item, Kind};
use crate::plan::{Digest, RunId, TaskId};
use crate::run::{Counts, Note, Run, Status, StopReason, Task};
use crate::time::Timestamp;

/// Who tells people appears in the journal like a person, under this and its channel: `notify:desktop`.
pub const NOTIFIER: &str = "notify:";

/// What the key of an ending begins with. It is not one of the things that wait, so it does not go with them.
const END_KEY: &str = "end-";

/// A message that could not be sent is sent again, so often. What does not work then is not going to work.
pub const REPEATS: usize = 3;

/// Stands between the key of a thing and how often telling it has failed, among what a notifier has seen.
const FAILED: char = '!';

/// So many things are told one by one in one message: more do not fit on a desktop.
const MOST: usize = 8;

/// What a person may want to be told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// The run is over.
    Done,
    /// Something waits for a person.
    NeedsYou,
    /// A provider lets no agent work.
    Parked,
    /// What may be spent is spent.
    Budget,
}

impl Topic {
    pub const ALL: [Topic; 4] = [Topic::Done, Topic::NeedsYou, Topic::Parked, Topic::Budget];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Topic::Done => "done",
            Topic::NeedsYou => "needs-you",
            Topic::Parked => "parked",
            Topic::Budget => "budget",
        }
    }

    pub fn named(name: &str) -> Option<Topic> {
        Topic::ALL.into_iter().find(|topic| topic.name() == name)
    }
}

impl Kind {
    pub fn topic(self) -> Topic {
        match self {
            Kind::Budget => Topic::Budget,
            Kind::Provider => Topic::Parked,
            Kind::Run
            | Kind::Landing
            | Kind::Plan
            | Kind::Blocked
            | Kind::Confirm
            | Kind::GivenUp
            | Kind::Look => Topic::NeedsYou,
        }
    }
}

/// The end of a run by itself, which nobody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The same end has the same key, also if an engine was started again and found nothing to do.
    pub key: String,
    pub topic: Topic,
    /// In one line.
    pub text: String,
}

/// The end of a run, if a person wants to be told about it as such. A stop that waits for a person is one of the items.
pub fn run_end<'t>(
    run: &RunId,
    tasks: impl Iterator<Item = &'t Task>,
    counts: &Counts,
    reason: &StopReason,
) -> Option<RunEnd> {
    let done = format!("{} of {} completed", counts.of(Status::Completed), counts.total());
    let rest: String = [Status::Skipped, Status::Abandoned, Status::Blocked]
        .into_iter()
        .filter(|status| counts.of(*status) > 0)
        .map(|status| format!(", {} {status}", counts.of(status)))
        .collect();
    let (topic, text) = match reason {
        StopReason::Completed => (Topic::Done, format!("the run is complete: {done}{rest}")),
        StopReason::Ended => (Topic::Done, format!("the run has ended with unfinished work: {done}{rest}")),
        StopReason::Filter => (Topic::Done, format!("what was selected is done: {done}{rest}")),
        StopReason::Elsewhere { .. }
        | StopReason::Siblings { .. }
        | StopReason::Person
        | StopReason::LandingWaits { .. }
        | StopReason::PlanChanged { .. }
        | StopReason::Budget { .. }
        | StopReason::Environment { .. } => return None,
    };
    // When a task last came to another status tells this end from the one before.
    let last = tasks.map(|task| task.since).max().unwrap_or(Timestamp(0));
    let digest = Digest::of(&(run, reason, last));
    Some(RunEnd { key: format!("{END_KEY}{}", &digest.short()[..6]), topic, text })
}

/// The note by which a notifier takes on all that it has not told about; `None` if there is nothing to note. `items`:
/// what waits and is to be told; `waiting`: the keys of all that waits, if they are all known.
pub fn to_tell<'i>(
    run: &Run,
    notifier: &str,
    items: impl Iterator<Item = &'i Item>,
    waiting: Option<&[Item]>,
    ending: Option<&RunEnd>,
) -> Option<Note> {
    let known = run.seen.get(notifier);
    let is_new = |key: &&String| !known.is_some_and(|known| known.contains(*key));
    let keys = items.map(|item| &item.key).chain(ending.map(|ending| &ending.key));
    let items: Vec<String> = keys.filter(is_new).cloned().collect();
    let is_over = |key: &&String| match key.split(FAILED).next().unwrap_or_default() {
        key if key.starts_with(END_KEY) => ending.is_some_and(|ending| ending.key != key),
        key => waiting.is_some_and(|waiting| waiting.iter().all(|item| item.key != key)),
    };
    let over: Vec<String> = known.into_iter().flatten().filter(is_over).cloned().collect();
    (!items.is_empty() || !over.is_empty()).then_some(Note::Seen { items, over })
}

/// The note that releases messages which certainly were not sent. This engine or the next one sends them again. `None` for what has failed too often.
pub fn not_sent(run: &Run, notifier: &str, keys: &[String]) -> Option<Note> {
    let known = run.seen.get(notifier)?;
    let (mut items, mut over) = (Vec::new(), Vec::new());
    for key in keys.iter().filter(|key| known.contains(*key)) {
        let begin = format!("{key}{FAILED}");
        let before = known.iter().find_map(|mark| mark.strip_prefix(&begin)?.parse::<usize>().ok());
        let failed = before.unwrap_or_default() + 1;
        if failed <= REPEATS {
            over.extend(before.map(|before| format!("{begin}{before}")).into_iter().chain([key.clone()]));
            items.push(format!("{begin}{failed}"));
        }
    }
    (!items.is_empty()).then_some(Note::Seen { items, over })
}

/// What could not be told, if that is what a note of a notifier says.
pub(super) fn keys_not_sent(items: &[String]) -> Option<Vec<&str>> {
    items.iter().map(|item| item.split_once(FAILED).map(|(key, _)| key)).collect()
}

/// Keys alone, and not how often something has failed.
pub(super) fn keys_alone(items: &[String]) -> BTreeSet<&str> {
    items.iter().filter_map(|item| item.split(FAILED).next()).collect()
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    pub about: Vec<Topic>,
    /// The folder of the project.
    pub project: String,
    pub run: RunId,
    pub plan: String,
    /// One line, without characters that are not shown.
    pub title: String,
    /// A few lines, with the commands that help.
    pub text: String,
    pub items: Vec<Item>,
}

/// Several things at once are one message.
pub fn notice(run: &Run, project: &str, items: Vec<Item>, ending: Option<&RunEnd>) -> Notice {
    let topics =
        ending.map(|ending| ending.topic).into_iter().chain(items.iter().map(|item| item.kind.topic()));
    let mut about: Vec<Topic> = topics.collect();
    about.sort_unstable();
    about.dedup();
    let headline = match (ending, &items[..]) {
        (Some(ending), _) => ending.text.clone(),
        // `run` or `budget` alone would say little.
        (None, [only]) if only.tasks.is_empty() => only.reason.clone(),
        (None, [only]) => what(only),
        (None, several) => format!("{} wait for you", counted(several.len() as u64, "thing")),
    };
    let mut text = ending.map(|ending| format!("{}\n", ending.text)).unwrap_or_default();
    for item in items.iter().take(MOST) {
        let _ = writeln!(text, "{}: {}", what(item), item.reason);
        if let Some(help) = item.helps.first() {
            let _ = writeln!(text, "  $ {help}");
        }
    }
    if items.len() > MOST {
        let _ = writeln!(text, "and {} more\n  $ piton inbox", items.len() - MOST);
    }
    let title = format!("{}: {headline}", run.id);
    let text = text.trim_end().to_owned();
    let (project, plan) = (project.to_owned(), run.plan.clone());
    Notice { about, project, run: run.id.clone(), plan, title, text, items }
}

/// `blocked T1`
fn what(item: &Item) -> String {
    let names: Vec<&str> = item.tasks.iter().map(TaskId::as_str).collect();
    match names.len() {
        0 => item.kind.word().to_owned(),
        1..=3 => format!("{} {}", item.kind.word(), names.join(", ")),
        many => format!("{} {} and {} more", item.kind.word(), names[..2].join(", "), many - 2),
    }
}
