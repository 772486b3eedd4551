//! A file that people and agents write, too, entry by entry, each under a heading: where the entries begin and end, and
//! how more are put behind them. Nothing that stands in such a file is ever changed.

use std::ops::Range;

use crate::fence::Fence;
use crate::plan::TaskId;
use crate::terminal::clean_text;

/// An entry as it stands in the file, from its heading to its last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The task that its heading names.
    pub task: Option<TaskId>,
    pub text: String,
}

/// A text cut into its entries. What stands before the first is the header.
pub(in crate::system) struct Cut<'t> {
    pub(in crate::system) entries: Vec<(Range<usize>, &'t str)>,
    /// What would close a fence that was opened and not closed: whatever follows it is code.
    pub(in crate::system) open: Option<String>,
    /// The last line that is not blank is a rule.
    pub(in crate::system) ruled: bool,
}

/// Cut a text where `begins` says that a line begins an entry. Its second argument says whether the line follows a
/// rule; the first line counts as one that does. A line of code begins nothing.
pub(in crate::system) fn cut(text: &str, begins: impl Fn(&str, bool) -> bool) -> Cut<'_> {
    let mut starts = Vec::new();
    let mut fence: Option<Fence> = None;
    // The first entry needs no rule before it.
    let mut ruled = true;
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = if at == 0 { whole.trim_start_matches('\u{feff}') } else { whole }.trim_end();
        let (open, code) = Fence::after(fence, line);
        fence = open;
        if !code && begins(line, ruled) {
            starts.push(at);
        }
        if !line.is_empty() {
            ruled = !code && is_rule(line);
        }
        at += whole.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let entries = starts.iter().zip(ends).map(|(&start, end)| {
        // In a fence that runs to the end, a rule is code.
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
pub(in crate::system) fn normal(text: &str) -> String {
    let text = text.replace('\r', "");
    let text = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let fence = text.lines().fold(None, |open, line| Fence::after(open, line).0);
    match fence {
        Some(Fence { mark, .. }) if text.ends_with('\n') => format!("{text}{mark}"),
        Some(Fence { mark, .. }) => format!("{text}\n{mark}"),
        None => trimmed(text).to_owned(),
    }
}

/// What a heading of the level of entries says.
pub(in crate::system) fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start();
    let indent = line.len() - title.len();
    let title = title.strip_prefix("##").filter(|title| title.starts_with([' ', '\t']))?;
    (indent <= 3).then(|| title.trim())
}

pub(in crate::system) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && ["-", "*", "_"].iter().any(|mark| line.replace(mark, "").is_empty())
}

/// Nothing stands in it.
pub(in crate::system) fn is_blank(text: &str) -> bool {
    text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty()
}

/// What is put behind a text so that these entries follow it, with line ends like its own and `between` them.
pub(in crate::system) fn at_end(text: &str, cut: &Cut, entries: &[String], between: &str) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let mut end = String::new();
    if !text.ends_with('\n') {
        end.push('\n');
    }
    // Inside a fence they would be code.
    if let Some(fence) = &cut.open {
        end += &format!("{fence}\n");
    }
    let blank = text.ends_with("\n\n") || text.ends_with("\n\r\n");
    if !blank || cut.open.is_some() {
        end.push('\n');
    }
    if !cut.ruled || cut.open.is_some() {
        end += between;
    }
    end += &joined(entries, between);
    let lines = text.matches('\n').count();
    let crlf = text.matches("\r\n").count() * 2 > lines;
    Some(if crlf { end.replace('\n', "\r\n") } else { end })
}

/// One after the other, each with a blank line and what is `between` them.
pub(in crate::system) fn joined(entries: &[String], between: &str) -> String {
    entries.iter().map(|entry| format!("{entry}\n")).collect::<Vec<_>>().join(&format!("\n{between}"))
}

/// A text in one line.
pub(in crate::system) fn line(text: &str) -> String {
    clean_text(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text that does not break what it stands in: quoted, if a line of it would.
pub(in crate::system) fn prose(text: &str) -> String {
    let text = clean_text(text.as_bytes());
    let text = text.trim();
    let breaks = |line: &str| {
        let marked = line.trim_start().starts_with(['#', '*', '=']);
        marked || is_rule(line) || Fence::opened_by(line).is_some()
    };
    if text.lines().any(breaks) { quoted(text) } else { text.to_owned() }
}

pub(in crate::system) fn quoted(text: &str) -> String {
    let quote = |line: &str| format!("> {line}").trim_end().to_owned();
    text.lines().map(quote).collect::<Vec<_>>().join("\n")
}

/// Completes half of a UTF-16 unit.
const FILL: u8 = b' ';

/// The text of such a file. `cat >>` and PowerShell's `>>` write into it in encodings of their own, so one file may
/// hold several. A file that seemed empty would get a new header each time, so every byte is read as something. Where
/// the encoding changes within the file, only ASCII is understood.
pub fn text(bytes: &[u8]) -> String {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let pairs = rest.chunks_exact(2);
        // Half a character is read as it will be once it is filled up.
        let half = pairs.remainder().first().map(|half| unit([*half, FILL]));
        let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).chain(half).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).replace('\0', ""),
    }
}

/// What is put at the end of such a file so that this text follows what is there, and is read back.
pub fn appended(found: &[u8], text: &str) -> Vec<u8> {
    let unit: fn(u16) -> [u8; 2] = match found {
        [0xff, 0xfe, ..] => u16::to_le_bytes,
        [0xfe, 0xff, ..] => u16::to_be_bytes,
        _ => return text.as_bytes().to_vec(),
    };
    let mut bytes = Vec::new();
    if found.len() % 2 == 1 {
        // An incomplete character at the end is replaced, on a line of its own.
        bytes.push(FILL);
        bytes.extend(unit(u16::from(b'\n')));
    }
    bytes.extend(text.encode_utf16().flat_map(unit));
    bytes
}
