//! The tags of a task line: `[agent: …] [deps: …] [files: …] [size: …]`, wherever they stand and whatever brackets
//! their values hold.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::system::kit::problems::Problems;

/// What a tag is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Agent,
    Deps,
    Files,
    Size,
    /// Unknown; it is kept.
    Other,
}

/// One tag. Places are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: Name,
    /// With its brackets.
    pub(super) at: Range<usize>,
    pub(super) word: Range<usize>,
    pub(super) value: Range<usize>,
}

/// A line as its tags and what stands around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tagged {
    pub(super) tags: Vec<Tag>,
    /// What stands before each tag, and behind the last: one more than there are tags.
    pub(super) pieces: Vec<Range<usize>>,
}

/// A name is short; a sentence in brackets with a colon in it is not a tag.
const LONGEST_NAME: usize = 20;

impl Tagged {
    /// Each sign is looked at once or twice, however many brackets there are.
    pub(super) fn read(text: &str, at: Range<usize>, found: &mut Problems) -> Tagged {
        let line = &text[at.clone()];
        let brackets = Brackets::read(line);
        let starts =
            brackets.pairs.iter().filter_map(|&(open, close)| Some((open, close, Start::at(line, open)?)));
        let starts: Vec<(usize, Option<usize>, Start)> = starts.collect();
        let mut tagged = Tagged::default();
        let (mut free, mut own) = (0, 0);
        for (nth, (open, closed, start)) in starts.iter().enumerate() {
            if *open < free {
                continue;
            }
            let (close, end) = closed.map_or_else(
                || {
                    // It ends where the next one begins.
                    let next = starts.get(nth + 1).map_or(line.len(), |(open, ..)| *open);
                    let inside = line[..next].trim_end();
                    let close = inside.strip_suffix(']').map_or(inside.len(), str::len);
                    (close.max(start.value), inside.len().max(start.value))
                },
                |close| (close, close + 1),
            );
            // `[Guide: setup](guide.md)` is a link.
            if line[end..].starts_with('(') && start.name == Name::Other {
                continue;
            }
            let shift = |range: Range<usize>| range.start + at.start..range.end + at.start;
            if closed.is_none() && start.name != Name::Other {
                let told = Diagnostic::warning(shift(*open..end), "the brackets of this tag do not match");
                found.push(told.label("read up to here").help("close each `[` with a `]`"));
            }
            own += usize::from(start.name != Name::Other);
            tagged.pieces.push(shift(free..*open));
            tagged.tags.push(Tag {
                name: start.name,
                at: shift(*open..end),
                word: shift(start.word.clone()),
                value: shift(start.value..close),
            });
            free = end;
        }
        tagged.pieces.push(at.start + free..at.end);
        if let Some(stray) = brackets.stray.filter(|_| own > 0) {
            let place = at.start + stray..at.start + stray + 1;
            let told = Diagnostic::warning(place, "this bracket closes nothing");
            found.push(told.label("the text before it may belong to a tag"));
        }
        tagged.tell_doubled(text, found);
        tagged
    }

    /// Whether one of them is a tag of this system, so that its line is a task.
    pub(super) fn is_task(&self) -> bool {
        self.tags.iter().any(|tag| tag.name != Name::Other)
    }

    pub(super) fn named(&self, name: Name) -> impl Iterator<Item = &Tag> {
        self.tags.iter().filter(move |tag| tag.name == name)
    }

    fn tell_doubled(&self, text: &str, found: &mut Problems) {
        for name in [Name::Agent, Name::Deps, Name::Files, Name::Size] {
            let Some(second) = self.named(name).nth(1) else { continue };
            let word = text[second.word.clone()].to_lowercase();
            let label = match name {
                Name::Deps | Name::Files => "both count; one that says `none` adds nothing",
                Name::Agent | Name::Size | Name::Other => "the first is used",
            };
            let message = format!("this line has more than one `[{word}: …]`");
            found.repair(second.at.clone(), message, label);
        }
    }
}

/// Which bracket closes which.
#[derive(Default)]
struct Brackets {
    /// Where each opens, and where it is closed, if it is.
    pairs: Vec<(usize, Option<usize>)>,
    /// The first that closes nothing.
    stray: Option<usize>,
}

impl Brackets {
    fn read(line: &str) -> Brackets {
        let mut brackets = Brackets::default();
        let mut open = Vec::new();
        for (at, byte) in line.bytes().enumerate() {
            match byte {
                b'[' => {
                    open.push(brackets.pairs.len());
                    brackets.pairs.push((at, None));
                }
                b']' => match open.pop() {
                    Some(pair) => brackets.pairs[pair].1 = Some(at),
                    None => drop(brackets.stray.get_or_insert(at)),
                },
                _ => {}
            }
        }
        brackets
    }
}

/// What a bracket begins with, if it begins a tag.
struct Start {
    name: Name,
    word: Range<usize>,
    value: usize,
}

impl Start {
    fn at(line: &str, open: usize) -> Option<Start> {
        let inside = &line[open + 1..];
        let start = open + 1 + (inside.len() - inside.trim_start().len());
        let letters = line[start..]
            .char_indices()
            .take(LONGEST_NAME + 1)
            .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '-' | '_')))?;
        let word = start..start + letters.0;
        if word.is_empty() || word.len() > LONGEST_NAME * 4 {
            return None;
        }
        let behind = line[word.end..].trim_start();
        let said = &line[word.clone()];
        let value = behind.strip_prefix([':', '\u{ff1a}']);
        let Some(value) = value else {
            // `[BLOCKED]` says as much without a value.
            let flag = behind.starts_with(']')
                && ["blocked", "deferred"].iter().any(|flag| said.eq_ignore_ascii_case(flag));
            return flag.then_some(Start { name: Name::Other, value: word.end, word });
        };
        // A path in the text, such as `[http://…]`.
        if value.starts_with("//") {
            return None;
        }
        let is = |names: &[&str]| names.iter().any(|name| said.eq_ignore_ascii_case(name));
        let name = if is(&["agent", "agents"]) {
            Name::Agent
        } else if is(&["deps", "dep", "depends", "dependencies", "depends-on", "depends_on"]) {
            Name::Deps
        } else if is(&["files", "file"]) {
            Name::Files
        } else if is(&["size"]) {
            Name::Size
        } else {
            Name::Other
        };
        Some(Start { name, word, value: line.len() - value.len() })
    }
}
