//! `guardrails.md`: what was learned on the way, to be heeded by every iteration. Agents and people write it too, so
//! nothing in it is ever changed. Whatever it says is data: agents get it as a quotation, and it changes no
//! rule.

use std::collections::HashSet;

use crate::chronicle::{self, Chronicle, Said, TEXT};
use crate::order::Arrange;
use crate::system::kit::entries::{self, Cut, at_end, heading, is_blank, joined, line, normal};
use crate::system::kit::labels::{fields, written};
use crate::system::kit::mojibake;
use crate::system::kit::text;
use crate::terminal::clean_text;

/// The name of the file, also in the journal of events.
pub const FILE: &str = "guardrails.md";

const HEADER: &str = "# Guardrails\n\nRead before starting any iteration. Append when issues discovered.\n\n";

/// One lesson by its parts, whichever of the known names its fields have; what is not there is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guardrail {
    pub name: String,
    /// `When`, or `Context`.
    pub when: String,
    pub problem: String,
    /// `Solution`, or `Do`.
    pub solution: String,
    pub learned: String,
}

const NAMES: [&str; 7] = ["when", "context", "problem", "solution", "do", "learned", "fix"];

fn cut(text: &str) -> Cut<'_> {
    entries::cut(text, |line, _| heading(line).is_some())
}

/// All of a file, in its order.
pub fn parse(text: &str) -> Vec<Guardrail> {
    cut(text).entries.iter().map(|(_, entry)| read(entry)).collect()
}

fn read(entry: &str) -> Guardrail {
    let (title, body) = entry.split_once('\n').unwrap_or((entry, ""));
    let title = title.trim_start_matches('\u{feff}').trim_start().trim_start_matches('#');
    let mut read = Guardrail { name: title.trim().to_owned(), ..Guardrail::default() };
    for (name, value) in fields(body, &NAMES) {
        let part = match name.as_str() {
            "when" | "context" => &mut read.when,
            "problem" => &mut read.problem,
            // An entry without fields says what to do.
            "solution" | "do" | "fix" | "" => &mut read.solution,
            "learned" => &mut read.learned,
            _ => continue,
        };
        if !part.is_empty() && !value.is_empty() {
            part.push('\n');
        }
        part.push_str(&value);
    }
    read
}

impl Guardrail {
    /// A guardrail by its parts, from an entry of such a file or from free text.
    pub fn parse(text: &str) -> Guardrail {
        match &parse(text)[..] {
            [one] => one.clone(),
            _ => Guardrail { solution: text.to_owned(), ..Guardrail::default() },
        }
    }

    /// As this system writes it.
    pub fn write(&self) -> String {
        let name = if self.name.trim().is_empty() { &self.solution } else { &self.name };
        let mut text = format!("## {}\n", titled(name));
        let parts = [
            ("When", &self.when),
            ("Problem", &self.problem),
            ("Solution", &self.solution),
            ("Learned", &self.learned),
        ];
        for (name, value) in parts {
            let value = if value.trim().is_empty() { "not specified" } else { value };
            let field = written(name, &line(value), &NAMES);
            text += &format!("- {}\n", field.replacen(":**", "**:", 1).replace('\n', " "));
        }
        text.trim_end().to_owned()
    }

    /// By what it is known again.
    fn key(&self) -> String {
        text::key(&mojibake::understood(&self.name)).to_lowercase()
    }
}

/// The beginning of a text, as a heading.
fn titled(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = line(text);
    let line = line.trim_start_matches(['#', ' ']);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None if line.is_empty() => "Lesson".to_owned(),
        None => line.to_owned(),
    }
}

/// What is to be done about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Guardrails that the run does not know: to be journaled, then they are known.
    pub heard: Vec<String>,
    /// What is missing in the file, to be put at its end. Nothing else in it changes.
    pub append: Option<String>,
}

/// Compare the text of the file, if there is one, with what the run knows. A caller that does what the result asks for
/// and compares again gets an empty result.
pub fn reconcile(found: Option<&str>, chronicle: &Chronicle) -> Reconciled {
    let text = found.unwrap_or_default();
    let cut = cut(text);
    let there: Vec<(String, String)> =
        cut.entries.iter().map(|(_, entry)| (normal(entry), kept(&normal(entry)))).collect();
    let known: Vec<(String, bool)> =
        chronicle.guardrails.iter().map(|said| (as_written(said), said.by == FILE)).collect();
    let knows: HashSet<&str> = known.iter().map(|(text, _)| text.as_str()).collect();
    let heard =
        there.iter().filter(|(_, short)| !knows.contains(short.as_str())).map(|(text, _)| text.clone());
    let heard: Vec<String> = heard.collect();
    let names: HashSet<String> = there.iter().map(|(text, _)| read(text).key()).collect();
    let mut missing: Vec<String> = Vec::new();
    // Of several with one name, the last counts. A guardrail that was removed from the file stays removed if it was
    // once seen there: it was found in this file, or later ones were added to it.
    let (mut taken, mut written_later) = (HashSet::new(), false);
    for (lesson, from_file) in known.iter().rev() {
        let name = read(lesson).key();
        let is_there = names.contains(&name);
        let is_out = !is_blank(text) && (*from_file || written_later);
        if taken.insert(name) && !is_there && !is_out {
            missing.push(lesson.clone());
        }
        written_later |= is_there && !from_file;
    }
    missing.reverse();
    let append = if is_blank(text) {
        (found.is_none() || !missing.is_empty()).then(|| HEADER.to_owned() + &joined(&missing, ""))
    } else {
        at_end(text, &cut, &missing, "")
    };
    Reconciled { heard, append }
}

/// The text without a lesson that a run knows, if it has it. Nothing else in it changes.
pub fn without(text: &str, lesson: &Said) -> Option<String> {
    let (known, cut) = (as_written(lesson), cut(text));
    let (mut left, mut from) = (String::new(), 0);
    for (place, _) in cut.entries.iter().filter(|(_, entry)| kept(&normal(entry)) == known) {
        left += &text[from..place.start];
        let behind = &text[place.end..];
        from = text.len() - behind.trim_start_matches(['\r', '\n']).len();
    }
    (from > 0).then(|| left + &text[from..])
}

/// Whether two that a run knows are one in the file.
pub fn are_one(one: &Said, other: &Said) -> bool {
    as_written(one) == as_written(other)
}

/// As much of it as a run keeps.
fn kept(text: &str) -> String {
    normal(&chronicle::cut(text, TEXT))
}

/// The text of a guardrail in the file. One that already is an entry of such a file stays unchanged.
fn as_written(said: &Said) -> String {
    let text = normal(&said.text);
    let cut = cut(&text);
    if cut.open.is_none() && cut.entries.len() == 1 && cut.entries[0].0 == (0..text.len()) {
        return text;
    }
    let (by, at) = (line(&said.by), said.at);
    let lesson =
        Guardrail { solution: said.text.clone(), learned: format!("{by}, {at}"), ..Guardrail::default() };
    lesson.write()
}

/// Lessons of the second text that the first does not have: what an agent wrote into its copy.
pub fn added(before: &str, after: &str) -> Vec<String> {
    let before: HashSet<String> = cut(before).entries.iter().map(|(_, entry)| normal(entry)).collect();
    let new = cut(after).entries.iter().map(|(_, entry)| normal(entry)).collect::<Vec<_>>();
    new.into_iter().filter(|entry| !before.contains(entry)).collect()
}

/// What is appended to a file: lessons from elsewhere that it does not have yet.
pub fn seed(found: Option<&str>, archived: &str) -> Option<String> {
    let text = found.unwrap_or_default();
    let cut_here = cut(text);
    let mut names: HashSet<String> =
        cut_here.entries.iter().map(|(_, entry)| read(&normal(entry)).key()).collect();
    let old = cut(archived);
    let new =
        old.entries.iter().map(|(_, entry)| normal(entry)).filter(|entry| names.insert(read(entry).key()));
    let new: Vec<String> = new.collect();
    if new.is_empty() {
        return None;
    }
    if is_blank(text) {
        Some(HEADER.to_owned() + &joined(&new, ""))
    } else {
        at_end(text, &cut_here, &new, "")
    }
}

/// Those that have the words of a query, in any of their parts: first those that have most of them.
pub fn search<'g>(guardrails: &'g [Guardrail], query: &str) -> Vec<&'g Guardrail> {
    let words: HashSet<String> = words(query).collect();
    let hits = |one: &Guardrail| {
        let all = [&one.name, &one.when, &one.problem, &one.solution, &one.learned];
        let own: HashSet<String> = all.into_iter().flat_map(|part| self::words(part)).collect();
        words.iter().filter(|word| own.iter().any(|own| own.starts_with(word.as_str()))).count()
    };
    let mut found: Vec<(usize, &Guardrail)> =
        guardrails.iter().map(|one| (hits(one), one)).filter(|(hits, _)| *hits > 0).collect();
    found.arrange_by_key(|(hits, _)| std::cmp::Reverse(*hits));
    found.into_iter().map(|(_, one)| one).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// For a prompt: each in a line, newest first, quoted, at most `most` words in all. What is left out is in the file.
pub fn brief(guardrails: &[Guardrail], most: usize) -> String {
    let mut text = String::new();
    let mut left = most;
    for one in guardrails.iter().rev() {
        let plain = |part: &str| line(&clean_text(part.as_bytes()));
        let parts = [&one.name, &one.when, &one.solution].map(|part| plain(part));
        let told = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" — ");
        let length = told.split_whitespace().count() + 1;
        if length > left {
            break;
        }
        left -= length;
        text += &format!("> {told}\n");
    }
    text
}

#[cfg(test)]
mod tests;
