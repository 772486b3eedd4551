//! Brings a file and a run together: what is new in the file, and what is missing from it.

use std::collections::{HashMap, HashSet};

use super::parse::{Outcome, Parsed, parse, time};
use super::section::{self, Section};
use super::write::{Fallback, header, noted};
use crate::chronicle::{Chronicle, Entry, LONGEST_ENTRY, cut as shorten};
use crate::diagnostic::Diagnostic;
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::State;
use crate::system::issue::state::{Issue, in_order};
use crate::system::kit::entries::{at_end, is_blank, joined};

/// What stands between two entries.
const RULE: &str = "---\n\n";

/// What is to be done about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Entries that the run does not know: to be journaled, then they are known. Each names its task if there is one.
    pub heard: Vec<Section>,
    /// What is missing in the file, to be put at its end. Nothing else in it changes.
    pub append: Option<String>,
    /// What is odd about the file, at places in its text.
    pub problems: Vec<Diagnostic>,
}

/// Compare the text of the file, if there is one, with what the run knows. A caller that does what the result asks for
/// and compares again gets an empty result.
pub fn reconcile(found: Option<&str>, state: &State, chronicle: &Chronicle, issue: &Issue) -> Reconciled {
    let text = found.unwrap_or_default();
    let cut = section::cut(text);
    let mut settled = Reconciled::default();
    if state.run().is_none() {
        return settled;
    }
    let known: Vec<Written> = chronicle.entries.iter().map(Written::new).collect();
    let there: Vec<Read> = cut.entries.iter().map(|(_, text)| Read::parse(text)).collect();
    let tasks = in_order(state, chronicle);
    let over: Vec<Fallback> = tasks.iter().filter_map(|(task, story)| Fallback::find(task, story)).collect();
    let found: Vec<Name> = there.iter().map(|read| Name::new(read, &read.short)).collect();
    let told: Vec<Name> = known.iter().map(|known| Name::new(&known.read, &known.text)).collect();
    for ((read, (span, _)), heard) in there.iter().zip(&cut.entries).zip(among(&found, &told)) {
        let made = over.iter().any(|over| read.is_made_for(over));
        if read.parsed.is_placeholder() || heard || made {
            continue;
        }
        let mut task = read.task.clone();
        if let Some(id) = task.take_if(|id| !matches!(state.task(id), Ok(Some(_)))) {
            let message = format!("there is no task {id} in the plan");
            settled.problems.push(Diagnostic::warning(span.clone(), message).label("kept without a task"));
        }
        settled.heard.push(Section { task, text: read.text.clone() });
    }
    let mut missing = Vec::new();
    for ((written, entry), there) in known.iter().zip(&chronicle.entries).zip(among(&told, &found)) {
        if !there {
            missing.push((entry.at, written.text.clone()));
        }
    }
    for over in &over {
        let told = |read: &Read| read.tells_of(over);
        if !there.iter().any(told) && !known.iter().any(|known| told(&known.read)) {
            missing.push((over.at().unwrap_or(chronicle.updated_at), over.text()));
        }
    }
    missing.arrange_by_key(|(at, _)| *at);
    let missing: Vec<String> = missing.into_iter().map(|(_, text)| text).collect();
    settled.append = if is_blank(text) {
        Some(header(state, chronicle, issue) + "\n" + RULE + &joined(&missing, RULE))
    } else {
        at_end(text, &cut, &missing, RULE)
    };
    settled
}

/// Entries of the second text that the first does not have: what an agent wrote into its copy.
pub fn added(before: &str, after: &str) -> Vec<Section> {
    let before: Vec<String> =
        section::cut(before).entries.iter().map(|(_, text)| section::normal(text)).collect();
    let after = section::cut(after);
    let new = after.entries.iter().map(|(_, text)| Read::parse(text));
    new.filter(|read| !before.contains(&read.text) && !read.parsed.is_placeholder())
        .map(|read| Section { task: read.task, text: read.text })
        .collect()
}

/// An entry in a text.
struct Read {
    task: Option<TaskId>,
    text: String,
    /// As much of it as a run keeps.
    short: String,
    parsed: Parsed,
}

impl Read {
    fn parse(text: &str) -> Read {
        let text = section::normal(text);
        let short = section::normal(&shorten(&text, LONGEST_ENTRY));
        let task = text.lines().next().and_then(section::heading).and_then(section::task);
        let parsed = parse(&text);
        Read { task, text, short, parsed }
    }

    /// Piton wrote it, about this end of the task.
    fn is_made_for(&self, over: &Fallback) -> bool {
        let about = self.parsed.generated && self.task.as_ref() == Some(over.task());
        // A retry may succeed in the same second in which the attempt before it was abandoned.
        let outcome = if over.completed { Outcome::Completed } else { Outcome::Failed };
        about && self.parsed.status == Some(outcome) && self.parsed.time == time(&over.time())
    }

    /// Nothing has to be written about this end of the task. An entry that says the contrary is about another end, and
    /// one that is in progress is about none.
    fn tells_of(&self, over: &Fallback) -> bool {
        if self.parsed.generated {
            return self.is_made_for(over);
        }
        let contrary = if over.completed { Outcome::Failed } else { Outcome::Completed };
        self.task.as_ref() == Some(over.task())
            && !self.parsed.is_placeholder()
            && self.parsed.status != Some(contrary)
            && self.parsed.status != Some(Outcome::InProgress)
    }
}

/// An entry that the run knows.
struct Written {
    /// As it is put into the file.
    text: String,
    /// What the entry says.
    read: Read,
}

impl Written {
    fn new(entry: &Entry) -> Written {
        Written { text: noted(entry), read: Read::parse(&entry.text) }
    }
}

/// How an entry is recognised: by its text, of which a run may have kept only the beginning; or by its task and time,
/// since it may have been edited.
struct Name<'a> {
    texts: [&'a str; 2],
    time: Option<(&'a TaskId, &'a str)>,
}

impl<'a> Name<'a> {
    fn new(read: &'a Read, other: &'a str) -> Name<'a> {
        let time = read.task.as_ref().zip(read.parsed.time.as_deref());
        Name { texts: [&read.text, other], time }
    }
}

/// For each entry, whether it is among the others. A time matches only one of the others: several entries may have the
/// same time.
fn among<'a>(names: &[Name<'a>], others: &[Name<'a>]) -> Vec<bool> {
    let own: HashSet<&str> = names.iter().flat_map(|name| name.texts).collect();
    let theirs: HashSet<&str> = others.iter().flat_map(|other| other.texts).collect();
    let is_in = |name: &Name<'_>, texts: &HashSet<&str>| name.texts.iter().any(|text| texts.contains(text));
    let mut left: HashMap<(&TaskId, &str), usize> = HashMap::new();
    for time in others.iter().filter(|other| !is_in(other, &own)).filter_map(|other| other.time) {
        *left.entry(time).or_default() += 1;
    }
    let mut take = |time| match left.get_mut(&time) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    };
    names.iter().map(|name| is_in(name, &theirs) || name.time.is_some_and(&mut take)).collect()
}
