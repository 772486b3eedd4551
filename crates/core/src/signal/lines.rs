//! Which lines of an output are its author's own words, and which show something else: code, quotes, lists, diffs.

use crate::fence::Fence;

/// What a line is, by how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The author speaks.
    Own,
    /// An item of a list, or text that is indented below something: an enumeration, not a word of its own.
    Inner,
    /// Code, a quote, a diff or a comment: not the agent's own words.
    Shown,
}

/// The kind of every line of a whole output.
pub(crate) fn kinds(lines: &[&str]) -> Vec<Kind> {
    walk(lines, None).0
}

/// The kind of every line where only the end of an output is known. The first code fence may then close one.
pub(super) fn kinds_of_end(lines: &[&str]) -> Vec<Kind> {
    let (kinds, open) = walk(lines, None);
    let mark = lines.iter().find_map(|line| Fence::opened_by(line)).filter(|fence| fence.bare);
    if let Some(mark) = mark.filter(|_| open) {
        let (closed, still_open) = walk(lines, Some(mark));
        if !still_open {
            return closed;
        }
    }
    kinds
}

/// What is open while the lines are walked through.
#[derive(Default)]
struct Walk {
    fence: Option<Fence>,
    /// A unified diff continues while its lines begin as such lines do.
    diff: bool,
    /// The tag that ends a block of HTML.
    until: Option<&'static str>,
    /// Tags that do not occur any more: to search for them again at every line would take quadratic time.
    absent: Vec<&'static str>,
    /// How deep the text of the last list item is indented.
    item: Option<usize>,
    /// The line before was blank, or code that was indented.
    after_blank: bool,
}

fn walk(lines: &[&str], fence: Option<Fence>) -> (Vec<Kind>, bool) {
    let mut walk = Walk { fence, after_blank: true, ..Walk::default() };
    let kinds = lines.iter().enumerate().map(|(nth, line)| walk.step(line, &lines[nth + 1..])).collect();
    (kinds, walk.fence.is_some())
}

impl Walk {
    fn step(&mut self, line: &str, later: &[&str]) -> Kind {
        if self.fence.is_some() {
            self.fence = Fence::after(self.fence.take(), line).0;
            return Kind::Shown;
        }
        if let Some(end) = self.until {
            if holds(line, end) {
                self.until = None;
            }
            return Kind::Shown;
        }
        let text = line.trim_start();
        self.diff = if self.diff { goes_on(line) } else { begins_diff(line, later) };
        if self.diff {
            return Kind::Shown;
        }
        if let (open, true) = Fence::after(None, line) {
            self.fence = open;
            return Kind::Shown;
        }
        // A block that is never closed is a word about a tag.
        if let Some((_, end)) = BLOCKS.iter().find(|(start, _)| starts(text, start)) {
            let closed = holds(text, end);
            if closed || !self.absent.contains(end) && later.iter().any(|line| holds(line, end)) {
                self.until = Some(*end).filter(|_| !closed);
                return Kind::Shown;
            }
            self.absent.push(end);
        }
        self.in_text(line, text)
    }

    fn in_text(&mut self, line: &str, text: &str) -> Kind {
        let depth = indent(line);
        let after_blank = std::mem::replace(&mut self.after_blank, text.is_empty());
        if text.is_empty() {
            return Kind::Own;
        }
        if text.starts_with('>') {
            return Kind::Shown;
        }
        if let Some(marker) = marker(text) {
            self.item = Some(depth + marker);
            return Kind::Inner;
        }
        if self.item.is_some_and(|inner| depth >= inner) {
            return Kind::Inner;
        }
        self.item = None;
        match depth {
            0..4 => Kind::Own,
            // Indented code continues until a line is not indented.
            _ if after_blank => {
                self.after_blank = true;
                Kind::Shown
            }
            _ => Kind::Inner,
        }
    }
}

/// Blocks of HTML that hold something else than words.
const BLOCKS: [(&str, &str); 5] = [
    ("<!--", "-->"),
    ("<pre", "</pre>"),
    ("<blockquote", "</blockquote>"),
    ("<code", "</code>"),
    ("<example", "</example>"),
];

fn starts(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

fn holds(text: &str, tag: &str) -> bool {
    text.as_bytes().windows(tag.len()).any(|window| window.eq_ignore_ascii_case(tag.as_bytes()))
}

/// Columns of white space before the text; a tab is as wide as code is indented.
fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// How many columns the marker of a list item takes, with the space behind it.
fn marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (sign, rest) = match digits {
        0 => (1, text.strip_prefix(['-', '*', '+', '•', '◦', '‣', '▪', '–'])?),
        1..=9 => (digits + 1, text[digits..].strip_prefix(['.', ')'])?),
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(sign + 1)
}

fn begins_diff(line: &str, later: &[&str]) -> bool {
    let renamed = || later.first().is_some_and(|next| next.starts_with("+++ "));
    line.starts_with("diff --git ") || line.starts_with("@@ -") || line.starts_with("--- ") && renamed()
}

/// Whether a line may stand in a diff that has begun.
fn goes_on(line: &str) -> bool {
    const HEAD: [&str; 9] = [
        "diff ",
        "index ",
        "@@",
        "new file",
        "deleted file",
        "old mode",
        "new mode",
        "rename ",
        "similarity ",
    ];
    line.is_empty()
        || line.starts_with([' ', '\t', '+', '-', '\\'])
        || HEAD.iter().any(|head| line.starts_with(head))
}
