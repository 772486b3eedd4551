//! From a text to its lines. Each is looked at once, whatever it holds.

use std::ops::Range;

use super::item::{Advised, Boxed, boxed, number};
use super::{Checklist, Kind, Line, fences};
use crate::diagnostic::Diagnostic;

/// Take a text apart. Its lines end in `\n`, as [`text::decode`](crate::system::kit::text::decode) gives them.
pub fn scan(text: &str) -> Checklist {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches('\n').len();
        lines.push(start..end);
        start += line.len();
    }
    let mut scanner = Scanner {
        text,
        front: front_matter(text, &lines),
        fences: fences::pairs(text, &lines),
        last_comment_end: text.rfind("-->"),
        lines,
        within: Within::Text,
        list: Checklist::default(),
    };
    for nth in 0..scanner.lines.len() {
        let line = scanner.line(nth);
        scanner.list.lines.push(line);
    }
    Diagnostic::sort(&mut scanner.list.problems);
    scanner.list
}

struct Scanner<'t> {
    text: &'t str,
    lines: Vec<Range<usize>>,
    /// How many lines the front matter has.
    front: usize,
    fences: Vec<Option<Option<usize>>>,
    last_comment_end: Option<usize>,
    within: Within,
    list: Checklist,
}

/// What the line before left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Text,
    /// Code up to and with this line; its fence is so far from the margin.
    Code {
        end: usize,
        indent: usize,
        open: usize,
    },
    Comment,
}

impl Scanner<'_> {
    fn line(&mut self, nth: usize) -> Line {
        let at = self.lines[nth].clone();
        let line = &self.text[at.clone()];
        let (indent, blank) = indent(line);
        let whole = at.start + blank..at.start + line.trim_end().len().max(blank);
        let as_is = |kind: Kind| Line { at: at.clone(), indent, text: whole.clone(), kind };
        if nth < self.front {
            self.ignore(whole.clone(), "front matter");
            return as_is(Kind::FrontMatter);
        }
        match self.within {
            Within::Code { end, indent: fence, open } => {
                let leaves = indent < fence && boxed(self.text, at.clone()).is_some();
                if !leaves {
                    if nth == end {
                        self.within = Within::Text;
                    }
                    self.ignore(whole.clone(), "code");
                    return as_is(Kind::Code);
                }
                self.within = Within::Text;
                self.never_closed(open, "its item ends before it is closed");
            }
            Within::Comment => {
                if line.contains("-->") {
                    self.within = Within::Text;
                }
                self.ignore(whole.clone(), "a comment");
                return as_is(Kind::Comment);
            }
            Within::Text => {}
        }
        if whole.is_empty() {
            return as_is(Kind::Blank);
        }
        if let Some(end) = self.fences[nth] {
            match end {
                Some(end) => self.within = Within::Code { end, indent, open: nth },
                None => self.never_closed(nth, "Piton ignores this line and reads what follows"),
            }
            return as_is(Kind::Code);
        }
        let at = self.without_open_comment(at.clone());
        let full = whole.clone();
        let whole = whole.start.min(at.end)..whole.end.min(at.end);
        let said = &self.text[whole.clone()];
        if said.starts_with("<!--") || said.is_empty() {
            self.ignore(full, "a comment");
            return Line { at: self.lines[nth].clone(), indent, text: whole, kind: Kind::Comment };
        }
        let (text, kind) = self.plain(whole);
        Line { at: self.lines[nth].clone(), indent, text, kind }
    }

    /// A line outside of everything.
    fn plain(&mut self, whole: Range<usize>) -> (Range<usize>, Kind) {
        let said = &self.text[whole.clone()];
        if said.starts_with('>') {
            self.ignore(whole.clone(), "a quote");
            return (whole, Kind::Quote);
        }
        if said.starts_with('|') {
            self.ignore(whole.clone(), "a table");
            return (whole, Kind::Table);
        }
        let signs = said.bytes().take_while(|byte| *byte == b'#').count();
        let heading = &said[signs..];
        if (1..=6).contains(&signs) && (heading.is_empty() || heading.starts_with(char::is_whitespace)) {
            let text = whole.start + signs + (heading.len() - heading.trim_start().len())..whole.end;
            if let Some(found) = boxed(self.text, text.clone()) {
                let told = Diagnostic::warning(text, "this box is in a heading");
                self.list.problems.push(told.label("read as an item of the list"));
                return (found.text.clone(), Kind::Item(found.item));
            }
            self.in_the_middle(&text);
            return (text, Kind::Heading(u8::try_from(signs).unwrap_or(u8::MAX)));
        }
        if let Some(found) = boxed(self.text, whole.clone()) {
            self.tell(&found);
            self.in_the_middle(&found.text);
            return (found.text, Kind::Item(found.item));
        }
        let rule = said.bytes().next().filter(|byte| b"-*_".contains(byte));
        if rule.is_some_and(|sign| said.len() >= 3 && said.bytes().all(|byte| byte == sign || byte == b' ')) {
            return (whole, Kind::Rule);
        }
        self.in_the_middle(&whole);
        let listed =
            said.strip_prefix(['-', '*', '+', '•']).filter(|rest| rest.starts_with(char::is_whitespace));
        let digits = said.bytes().take_while(u8::is_ascii_digit).count();
        let counted = said[digits..].strip_prefix(['.', ')']).filter(|_| (1..=9).contains(&digits));
        let counted = counted.filter(|rest| rest.starts_with(char::is_whitespace));
        match listed.or(counted) {
            Some(rest) => (whole.end - rest.trim_start().len()..whole.end, Kind::Bullet),
            None => (whole, Kind::Text),
        }
    }

    fn tell(&mut self, found: &Boxed) {
        let place = &found.item.place;
        if let Some((message, label)) = &found.slip {
            let at = place.start - 1..(place.end + 1).min(self.text.len());
            let at = if self.text.is_char_boundary(at.end) { at } else { place.clone() };
            self.list.problems.push(Diagnostic::warning(at, message.clone()).label(*label));
        }
        if found.item.struck {
            let message = "this item is crossed out";
            let told = Diagnostic::warning(found.text.clone(), message);
            self.list.problems.push(told.label("dropped: it is neither done nor open"));
        }
        if let Some(advice) = found
            .item
            .advice
            .as_ref()
            .filter(|advice| (advice.says == Advised::Done) != found.item.mark.is_done())
        {
            let says = match advice.says {
                Advised::Done => "done",
                Advised::NotDone => "not done",
            };
            let message = format!("this says {says}, but the box does not");
            self.list.problems.push(Diagnostic::warning(advice.at.clone(), message).label("the box decides"));
        }
    }

    fn never_closed(&mut self, nth: usize, label: &str) {
        let told = Diagnostic::warning(self.lines[nth].clone(), "this code is never closed");
        self.list.problems.push(told.label(label).help("close it with a line like the one that opens it"));
    }

    /// A line up to a comment that continues in the next one.
    fn without_open_comment(&mut self, at: Range<usize>) -> Range<usize> {
        let line = &self.text[at.clone()];
        let Some(start) = line.rfind("<!--").filter(|start| !line[*start..].contains("-->")) else {
            return at;
        };
        if line[..start].bytes().filter(|byte| *byte == b'`').count() % 2 == 1 {
            return at;
        }
        if self.last_comment_end.is_some_and(|end| end > at.end) {
            self.within = Within::Comment;
        } else {
            let told = Diagnostic::warning(at.start + start..at.end, "this comment is never closed");
            self.list.problems.push(told.label("only this line is left out"));
        }
        at.start..at.start + start + if line[..start].trim().is_empty() { 4 } else { 0 }
    }

    /// Keep in mind a box that is not an item here.
    fn ignore(&mut self, whole: Range<usize>, place: &str) {
        let said = &self.text[whole.clone()];
        let inner = said.trim_start_matches(|c: char| c.is_whitespace() || ">|".contains(c));
        let inner = inner.strip_prefix("<!--").unwrap_or(inner);
        let at = whole.end - inner.len()..whole.end;
        let Some(found) = boxed(self.text, at) else { return };
        if number(&self.text[found.text.clone()]).is_some() || found.item.ordinal.is_some() {
            let message = format!("this looks like a task, but is in {place}");
            self.list.problems.push(Diagnostic::warning(whole, message).label("not read as one"));
        }
        self.list.ignored.push(found.item.place);
    }

    /// Boxes inside a sentence.
    fn in_the_middle(&mut self, at: &Range<usize>) {
        let text = &self.text[at.clone()];
        if !text.contains('[') {
            return;
        }
        let mut code = false;
        let mut before = '\0';
        for (nth, c) in text.char_indices() {
            code ^= c == '`';
            let inside = &text[nth..];
            let is_box = c == '['
                && !code
                && (before == '\0' || before.is_whitespace())
                && ["[ ]", "[x]", "[X]"].iter().any(|sign| {
                    inside
                        .strip_prefix(sign)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
                });
            if is_box {
                let place = at.start + nth..at.start + nth + 3;
                let told = Diagnostic::warning(place.clone(), "this box is in the middle of a line");
                self.list.problems.push(told.label("not read as a task"));
                self.list.ignored.push(place.start + 1..place.end - 1);
            }
            before = c;
        }
    }
}

/// Columns before what a line says, and the bytes that make them.
fn indent(line: &str) -> (usize, usize) {
    let mut column = 0;
    for (at, c) in line.char_indices() {
        match c {
            '\t' => column += 4 - column % 4,
            c if c.is_whitespace() => column += 1,
            _ => return (column, at),
        }
    }
    (column, line.len())
}

/// How many lines of YAML stand before everything else. A rule that happens to be the first line does not begin YAML.
fn front_matter(text: &str, lines: &[Range<usize>]) -> usize {
    let is_mark = |line: &Range<usize>| text[line.clone()].trim_end() == "---";
    if !lines.first().is_some_and(is_mark) {
        return 0;
    }
    for (nth, line) in lines.iter().enumerate().skip(1) {
        let said = &text[line.clone()];
        if is_mark(line) || said.trim_end() == "..." {
            return nth + 1;
        }
        let key = said.split(':').next().unwrap_or_default();
        let keyed = said.contains(':') && key.chars().all(|c| c.is_alphanumeric() || "_-. \"'".contains(c));
        let part = said.trim().is_empty() || said.starts_with([' ', '\t', '#']) || said.starts_with("- ");
        if !(keyed || part) || said.starts_with("# ") || boxed(text, line.clone()).is_some() {
            return 0;
        }
    }
    0
}
