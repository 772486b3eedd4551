//! Where the entries of a journal begin and end.

use std::ops::Range;

use crate::plan::TaskId;

/// An entry as it stands in the file, from its heading to its last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The task that its heading names.
    pub task: Option<TaskId>,
    pub text: String,
}

/// A text cut into its entries. What stands before the first is the header.
pub(super) struct Cut<'t> {
    pub(super) entries: Vec<(Range<usize>, &'t str)>,
    /// What would close a fence that was opened and not closed: whatever follows it is code.
    pub(super) open: Option<String>,
    /// The last line that is not blank is a rule.
    pub(super) ruled: bool,
}

/// An entry begins with a heading that names a task, and with any heading of that level after a rule.
pub(super) fn cut(text: &str) -> Cut<'_> {
    let mut starts = Vec::new();
    let mut fence: Option<Fence> = None;
    // As after the rule that nobody needs at the beginning.
    let mut ruled = true;
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = if at == 0 { whole.trim_start_matches('\u{feff}') } else { whole }.trim_end();
        match &fence {
            Some(open) if open.is_closed_by(line) => fence = None,
            Some(_) => {}
            None => {
                fence = Fence::opened_by(line);
                if heading(line).is_some_and(|title| ruled || task(title).is_some()) {
                    starts.push(at);
                }
            }
        }
        if !line.is_empty() {
            ruled = fence.is_none() && is_rule(line);
        }
        at += whole.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let entries = starts.iter().zip(ends).map(|(&start, end)| {
        // In a fence that goes on to the end, a rule is code.
        let is_code = fence.is_some() && end == text.len();
        let entry = if is_code { &text[start..] } else { trimmed(&text[start..end]) };
        (start..start + entry.len(), entry)
    });
    Cut {
        entries: entries.collect(),
        open: fence.as_ref().map(|fence| fence.mark.clone()),
        ruled: ruled && at > 0,
    }
}

/// Without the blank lines and rules behind it.
fn trimmed(entry: &str) -> &str {
    let mut entry = entry.trim_end();
    loop {
        let last = entry.rfind('\n').map_or(0, |end| end + 1);
        if last == 0 || !is_rule(entry[last..].trim()) {
            return entry;
        }
        entry = entry[..last].trim_end();
    }
}

/// The same text, whatever ends its lines and surrounds it, and with the fence closed that it left open.
pub(super) fn normal(text: &str) -> String {
    let text = text.replace('\r', "");
    let text = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let mut fence: Option<Fence> = None;
    for line in text.lines() {
        fence = match fence {
            Some(open) => Some(open).filter(|open| !open.is_closed_by(line)),
            None => Fence::opened_by(line),
        };
    }
    match fence {
        Some(Fence { mark }) if text.ends_with('\n') => format!("{text}{mark}"),
        Some(Fence { mark }) => format!("{text}\n{mark}"),
        None => trimmed(text).to_owned(),
    }
}

/// What a heading of the level of entries says.
pub(super) fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start();
    let indent = line.len() - title.len();
    let title = title.strip_prefix("##").filter(|title| title.starts_with([' ', '\t']))?;
    (indent <= 3).then(|| title.trim())
}

/// The task that a heading such as `Task 1.2: Add it` names. What was an emoji may stand before it.
pub(super) fn task(title: &str) -> Option<TaskId> {
    let is_word = |word: &str| word.contains(|c: char| c.is_ascii_alphanumeric());
    let bare = |word: &'_ str| word.trim_matches(['*', '_', '`', '#', '[', ']']).to_owned();
    let mut words = title.split_whitespace().skip_while(|word| !is_word(word));
    if !bare(words.next()?).eq_ignore_ascii_case("task") {
        return None;
    }
    let said = words.next()?;
    let id = bare(said.split([':', '：']).next().unwrap_or_default());
    let plain = id.trim_end_matches(['.', ')']);
    let closed = plain.len() < id.len() || said.contains([':', '：']);
    // `## Task 1 and 2` is about no single task, and `## Task list` about none.
    let ends = closed || words.next().is_none_or(|next| !is_word(next));
    let numbered = plain.contains(|c: char| c.is_ascii_digit());
    TaskId::new(plain).ok().filter(|_| ends && numbered)
}

pub(super) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && ["-", "*", "_"].iter().any(|mark| line.replace(mark, "").is_empty())
}

/// An open fence of code.
pub(super) struct Fence {
    mark: String,
}

impl Fence {
    pub(super) fn opened_by(line: &str) -> Option<Fence> {
        let line = line.trim_start();
        let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(*mark))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        let fits = length >= 3 && !(mark == '`' && info.contains('`'));
        fits.then(|| Fence { mark: line[..length].to_owned() })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        line.trim().strip_prefix(&self.mark).is_some_and(|more| {
            let mark = self.mark.chars().next().unwrap_or('`');
            more.trim_start_matches(mark).is_empty()
        })
    }
}
