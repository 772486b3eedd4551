//! Brings a file and a run together: what is new in the file, what is missing from it, and which old entries were
//! changed, which is not allowed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::ended::{Ended, ended, looked_again, passed_over};
use super::entry::{self, Entry, parse};
use super::head::{Head, Kind};
use super::same::{Streak, is_warning};
use super::{ANEW, FILE, Section};
use crate::chronicle::{self, Chronicle, LONGEST_ENTRY, Pass};
use crate::diagnostic::Diagnostic;
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::{State, Status};
use crate::system::iterative::plan::is_review;
use crate::system::kit::entries::{at_end, is_blank, joined, line, normal, quoted};
use crate::time::Timestamp;

/// What is to be done about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Entries that the run does not know: those that others wrote, and those that Piton has to write about what
    /// ended. To be journaled; then they are known, and those that the file lacks are put there.
    pub heard: Vec<Section>,
    /// What is missing in the file, to be put at its end. Nothing else in it changes.
    pub append: Option<String>,
    /// Entries that were changed or removed, at places in its text. They are left so.
    pub changed: Vec<Diagnostic>,
    /// What else is odd about the file.
    pub problems: Vec<Diagnostic>,
}

/// Compare the text of the file, if there is one, with what the run knows. A caller that journals what is new, compares
/// again and appends what is missing then gets an empty result.
pub fn reconcile(found: Option<&str>, state: &State, chronicle: &Chronicle) -> Reconciled {
    let text = found.unwrap_or_default();
    let cut = entry::cut(text);
    let mut settled = Reconciled::default();
    if state.run().is_none() {
        return settled;
    }
    let there: Vec<Read> = cut.entries.iter().map(|(span, text)| Read::parse(text, span.clone())).collect();
    let is_anew = chronicle.entries.iter().any(|entry| entry.text == ANEW);
    let known: Vec<Known> =
        chronicle.entries.iter().map(|entry| Known::new(entry, chronicle, is_anew)).collect();
    let compared = compare(&there, &known);
    for (read, stand) in there.iter().zip(&compared.there) {
        match stand {
            There::Known => {}
            There::Edited => settled.changed.push(read.edited()),
            There::New if read.parsed.is_placeholder() => {}
            There::New => {
                let mut task = read.parsed.head.unit.clone();
                if let Some(id) = task.take_if(|id| !matches!(state.task(id), Ok(Some(_)))) {
                    let message = format!("there is no {id} in the plan");
                    let problem = Diagnostic::warning(read.heading.clone(), message);
                    settled.problems.push(problem.label("kept without a unit"));
                }
                settled.heard.push(Section { task, text: read.text.clone() });
            }
        }
    }
    let mut missing = Vec::new();
    for (known, stand) in known.iter().zip(&compared.known) {
        match stand {
            _ if is_blank(text) && *stand != Stand::Surpassed => missing.push(known.written.clone()),
            Stand::There | Stand::Surpassed => {}
            Stand::Unwritten => missing.push(known.written.clone()),
            Stand::TakenOut => {
                let title = known.written.lines().next().unwrap_or_default();
                let message = format!("the entry `{title}` was removed");
                let problem =
                    Diagnostic::warning(text.len()..text.len(), message).label("it was before this one");
                settled.changed.push(problem.help("entries are only added"));
            }
        }
    }
    let new = there.iter().zip(&compared.there).filter(|(_, stand)| **stand == There::New);
    let whole = known.iter().zip(&compared.known).filter(|(_, stand)| **stand != Stand::Surpassed);
    let mut logged = LoggedWork::default();
    for (known, _) in whole.filter(|(known, _)| !known.is_older) {
        logged.hear(&known.parsed, Some(known.at), chronicle);
        if let Some(unit) = &known.warns_of {
            logged.streaks.entry(unit.clone()).or_default().warned();
        }
    }
    new.for_each(|(read, _)| logged.hear(&read.parsed, None, chronicle));
    settled.heard.extend(missing_entries(state, chronicle, logged));
    settled.append = if is_blank(text) {
        Some(format!("# Progress Log\n\n{}", joined(&missing, "")).trim_end().to_owned() + "\n")
    } else {
        at_end(text, &cut, &missing, "")
    };
    settled
}

/// Entries of the second text that the first does not have: what an agent wrote into its copy. An entry that it only
/// changed does not count.
pub fn added(before: &str, after: &str) -> Vec<Section> {
    let read = |text| -> Vec<Read> {
        entry::cut(text).entries.iter().map(|(span, text)| Read::parse(text, span.clone())).collect()
    };
    let (before, after) = (read(before), read(after));
    let had: HashSet<&str> = before.iter().map(|read| read.text.as_str()).collect();
    let has: HashSet<&str> = after.iter().map(|read| read.text.as_str()).collect();
    let mut gone: HashMap<&Head, usize> = HashMap::new();
    for read in before.iter().filter(|read| !has.contains(read.text.as_str()) && is_named(&read.parsed.head))
    {
        *gone.entry(&read.parsed.head).or_default() += 1;
    }
    let mut new = Vec::new();
    for read in after.iter().filter(|read| !had.contains(read.text.as_str()) && !read.parsed.is_placeholder())
    {
        match gone.get_mut(&read.parsed.head) {
            Some(left) if *left > 0 => *left -= 1,
            _ => new.push(Section { task: read.parsed.head.unit.clone(), text: read.text.clone() }),
        }
    }
    new
}

/// A heading by which an entry is known again whatever its words are.
fn is_named(head: &Head) -> bool {
    head.kind != Kind::Other && (head.number.is_some() || head.time.is_some())
}

/// An entry in a text.
struct Read {
    text: String,
    /// As much of it as a run keeps.
    short: String,
    parsed: Entry,
    /// Where its heading stands.
    heading: Range<usize>,
}

impl Read {
    fn parse(text: &str, span: Range<usize>) -> Read {
        let heading = span.start..span.start + text.lines().next().unwrap_or_default().trim_end().len();
        let text = normal(text);
        let short = normal(&chronicle::cut(&text, LONGEST_ENTRY));
        Read { parsed: parse(&text), text, short, heading }
    }

    fn edited(&self) -> Diagnostic {
        let title = self.text.lines().next().unwrap_or_default();
        let message = format!("the entry `{title}` was changed after it was written");
        let problem = Diagnostic::warning(self.heading.clone(), message);
        problem.label("it cannot be changed").help("entries are only added: write what is new in another one")
    }
}

/// An entry that the run knows.
struct Known {
    /// As it stands in the file, or is put there.
    written: String,
    parsed: Entry,
    /// It was found in the file, and not reported elsewhere.
    from_file: bool,
    /// An earlier run left it: it is about iterations whose numbers are used again.
    is_older: bool,
    /// It is Piton's own word that this unit goes round in circles.
    warns_of: Option<TaskId>,
    at: Timestamp,
}

impl Known {
    fn new(entry: &chronicle::Entry, chronicle: &Chronicle, is_anew: bool) -> Known {
        let text = normal(&entry.text);
        let cut = entry::cut(&text);
        let is_entry = cut.open.is_none() && cut.entries.len() == 1 && cut.entries[0].0 == (0..text.len());
        let parsed = if is_entry { parse(&text) } else { Entry::default() };
        let warns_of = entry.task.clone().filter(|_| is_warning(&text));
        let is_older = is_anew && chronicle.started_at.is_none_or(|began| entry.at < began);
        let time = parsed.head.time.as_deref().and_then(Timestamp::parse);
        // Headings have whole seconds.
        let is_before = |time: Timestamp| time.0 < chronicle.created_at.0 - 1000;
        let is_ours = parsed.made && !is_older && !time.is_some_and(is_before);
        let from_file = entry.by == FILE && !is_ours && warns_of.is_none();
        Known {
            written: if is_entry { text } else { noted(entry) },
            parsed,
            from_file,
            is_older,
            warns_of,
            at: entry.at,
        }
    }
}

/// An entry made of a text that is not an entry of this file. The text is quoted, so that nothing in it is taken for an
/// entry.
fn noted(entry: &chronicle::Entry) -> String {
    let about = entry.task.as_ref().map(|task| format!(" on {task}")).unwrap_or_default();
    let text = entry.text.replace('\r', "");
    normal(&format!("## Note{about} - {}\n*({})*\n\n{}", entry.at, line(&entry.by), quoted(text.trim())))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Known,
    /// What is known stood here, with other words.
    Edited,
    New,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    There,
    /// It was read while it was still being written, and completely later.
    Surpassed,
    Unwritten,
    TakenOut,
}

struct Compared {
    there: Vec<There>,
    known: Vec<Stand>,
}

fn compare(there: &[Read], known: &[Known]) -> Compared {
    let texts: HashSet<&str> =
        there.iter().flat_map(|read| [read.text.as_str(), read.short.as_str()]).collect();
    let knows: HashSet<&str> = known.iter().map(|known| known.written.as_str()).collect();
    let is_known = |read: &Read| [&read.text, &read.short].iter().any(|text| knows.contains(text.as_str()));
    let mut standing: Vec<There> =
        there.iter().map(|read| if is_known(read) { There::Known } else { There::New }).collect();
    // The last entry of each name, and those that may be an old one with other words.
    let (mut last, mut odd): (HashMap<&Head, usize>, HashMap<&Head, Vec<usize>>) = Default::default();
    for (nth, read) in there.iter().enumerate().filter(|(_, read)| is_named(&read.parsed.head)) {
        last.insert(&read.parsed.head, nth);
        if standing[nth] == There::New {
            odd.entry(&read.parsed.head).or_default().push(nth);
        }
    }
    let mut surpassing: HashMap<&Head, &str> = HashMap::new();
    // From the last on, so that what came later is known: what Piton puts there goes in order.
    let mut written_later = false;
    let mut stands: Vec<Stand> = Vec::with_capacity(known.len());
    for one in known.iter().rev() {
        let head = &one.parsed.head;
        let grown = last.get(head).filter(|&&nth| there[nth].text.starts_with(&one.written));
        let stand = if texts.contains(one.written.as_str()) {
            Stand::There
        } else if surpassing.get(head).is_some_and(|text| text.starts_with(&one.written)) {
            Stand::Surpassed
        } else if grown.is_some() {
            // The complete entry is read.
            odd.entry(head).or_default().pop_if(|nth| Some(&*nth) == grown);
            Stand::There
        } else if let Some(nth) = odd.get_mut(head).and_then(Vec::pop) {
            standing[nth] = There::Edited;
            Stand::There
        } else if one.from_file || written_later {
            Stand::TakenOut
        } else {
            Stand::Unwritten
        };
        written_later |= stand == Stand::There && !one.from_file;
        if is_named(head) {
            surpassing.insert(head, &one.written);
        }
        stands.push(stand);
    }
    stands.reverse();
    Compared { there: standing, known: stands }
}

/// What entries say about iterations.
#[derive(Default)]
struct LoggedWork {
    /// By unit and number, as far as an entry has one.
    own: HashMap<(TaskId, Option<u32>), Own>,
    /// When an entry about a unit was last added.
    spoken: HashMap<TaskId, Timestamp>,
    made: HashSet<(Kind, TaskId, u32, String)>,
    streaks: HashMap<TaskId, Streak>,
}

/// What agents say about an iteration.
#[derive(Clone, Default)]
struct Own {
    entries: usize,
    /// One of them says why it cannot continue.
    blocked: bool,
    /// One of them says that it is done, and names the commit.
    whole: bool,
    /// What the last one leaves to do.
    remaining: String,
}

impl LoggedWork {
    /// Add an entry, and when it was journaled; `None`: it is new.
    fn hear(&mut self, entry: &Entry, at: Option<Timestamp>, chronicle: &Chronicle) {
        let Head { kind, unit: Some(unit), number, time } = &entry.head else { return };
        if entry.made {
            let number = number.unwrap_or_default();
            self.made.insert((*kind, unit.clone(), number, time.clone().unwrap_or_default()));
            return;
        }
        if !matches!(kind, Kind::Iteration | Kind::Other) || entry.is_placeholder() {
            return;
        }
        let last = self.spoken.entry(unit.clone()).or_default();
        *last = at.unwrap_or(Timestamp(i64::MAX)).max(*last);
        // A confirming agent gets the prompt of the first iteration. What it writes is not the entry of an iteration.
        let passes = chronicle.task(unit).map(|story| story.passes.as_slice()).unwrap_or_default();
        let within =
            |at: Timestamp, pass: &Pass| pass.began < at && pass.ended.is_none_or(|ended| at <= ended);
        if at.is_some_and(|at| passes.iter().any(|pass| within(at, pass))) {
            return;
        }
        if *kind == Kind::Iteration {
            self.streaks.entry(unit.clone()).or_default().hear(entry);
        }
        let own = self.own.entry((unit.clone(), *number)).or_default();
        own.entries += 1;
        own.blocked |= entry.is_blocked() || !entry.blockers.is_empty();
        own.whole |= entry.is_done() && !entry.commit.is_empty();
        own.remaining.clone_from(&entry.remaining);
    }

    /// Take an agent's entry for this iteration, with its number or without any. It then counts for no other iteration.
    fn take(&mut self, ended: &Ended<'_>) -> Option<Own> {
        [Some(ended.number), None].into_iter().find_map(|number| {
            let own = self.own.get_mut(&(ended.unit.clone(), number))?;
            own.entries = own.entries.checked_sub(1)?;
            Some(own.clone())
        })
    }

    /// There is an entry of this iteration.
    fn tells(&self, unit: &TaskId, number: u32) -> bool {
        let by_agent = |(of, own): &(TaskId, Option<u32>)| of == unit && own.is_none_or(|own| own == number);
        let made = |(kind, of, made, _): &(Kind, TaskId, u32, String)| {
            *kind == Kind::Iteration && of == unit && *made == number
        };
        self.own.keys().any(by_agent) || self.made.iter().any(made)
    }

    /// An entry about the unit was added since this pass began, by its agent or by Piton.
    fn knows(&self, unit: &TaskId, pass: &Pass) -> bool {
        let head = passed_over(unit, pass);
        let made = head.and_then(|head| Some((head.kind, head.unit?, head.number?, head.time?)));
        made.is_some_and(|made| self.made.contains(&made))
            || self.spoken.get(unit).is_some_and(|at| pass.began <= *at)
    }

    fn has_made(&self, kind: Kind, ended: &Ended<'_>) -> bool {
        self.made.contains(&(kind, ended.unit.clone(), ended.number, ended.at.to_string()))
    }
}

/// The entries that Piton has to add, oldest first.
fn missing_entries(state: &State, chronicle: &Chronicle, mut logged: LoggedWork) -> Vec<Section> {
    use Status::{Abandoned, Blocked, Failed, InProgress, Pending};
    // Entries of the same time are sorted: the iteration first, then those who confirmed it, then what was found, then
    // what follows from that.
    let mut news: Vec<((Timestamp, u8), Section)> = Vec::new();
    for task in state.tasks() {
        let Some(story) = chronicle.task(&task.id) else { continue };
        let whole = state.run().is_some_and(|run| is_review(run, task));
        let ends = ended(&task.id, story, whole);
        for pass in story.passes.iter().filter(|pass| !logged.knows(&task.id, pass)) {
            let Some((at, text)) = pass.ended.zip(looked_again(&task.id, pass)) else { continue };
            // An iteration without an entry of its agent gets one when it is over. The entries of those who confirmed
            // it follow.
            let own = ends.iter().find(|ended| ended.number == pass.attempt);
            let at = match own.map(|own| own.at) {
                _ if logged.tells(&task.id, pass.attempt) => at,
                Some(ended) => ended.max(at),
                None => continue,
            };
            news.push(((at, 1), Section { task: Some(task.id.clone()), text }));
        }
        let goes_on = matches!(task.decided, Pending | InProgress | Failed | Abandoned | Blocked) && !whole;
        let streak = logged.streaks.get(&task.id).filter(|_| goes_on);
        if let Some((text, last)) = streak.and_then(|streak| streak.news(&task.id, &ends)).zip(ends.last()) {
            news.push(((last.at, 3), Section { task: Some(task.id.clone()), text }));
        }
        for ended in ends {
            let section = |text| ((ended.at, 2), Section { task: Some(ended.unit.clone()), text });
            if whole {
                // An agent that fixes findings may log it; only the next review counts.
                let found = ended.news("").or_else(|| ended.passed());
                let found = found.filter(|(kind, _)| !logged.has_made(*kind, &ended));
                news.extend(found.map(|(_, text)| section(text)));
                continue;
            }
            let made = logged.has_made(Kind::Iteration, &ended);
            let own = if ended.is_iteration() && !made { logged.take(&ended) } else { None };
            if ended.is_iteration() && !made && own.is_none() {
                let text = ended.fallback();
                news.push(((ended.at, 0), Section { task: Some(ended.unit.clone()), text }));
            }
            if ended.is_in_iteration_entry()
                && own.as_ref().is_none_or(|own| own.blocked && ended.is_blocker())
            {
                continue;
            }
            let news_of = match own {
                Some(own) if !own.whole => ended.news(&own.remaining).or_else(|| ended.passed()),
                Some(own) => ended.news(&own.remaining),
                None => ended.news(""),
            };
            if let Some((_, text)) = news_of.filter(|(kind, _)| !logged.has_made(*kind, &ended)) {
                news.push(section(text));
            }
        }
    }
    news.arrange_by_key(|(place, _)| *place);
    news.into_iter().map(|(_, section)| section).collect()
}
