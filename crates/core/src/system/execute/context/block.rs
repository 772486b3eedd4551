//! The `<project-context>` block in its file, and how text gets into it.

use std::ops::Range;

use super::{Entry, FILE, Skipped};
use crate::diagnostic::place;
use crate::order::Arrange;
use crate::tags::{self, Kind, Tag, decode, tags};

const NAME: &str = "project-context";

/// Where an element's tags are; an empty element has no second tag.
type Element = (Range<usize>, Option<Range<usize>>);

#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    text: &'a str,
    open: Range<usize>,
    close: Range<usize>,
}

impl<'a> Block<'a> {
    /// The only block of a file. It stands at the beginning of a line: prose may mention it in the middle of one.
    pub(super) fn find(text: &'a str) -> Result<Block<'a>, Skipped> {
        let mut starts = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let rest = line.trim_start().strip_prefix('<').and_then(|rest| rest.strip_prefix(NAME));
            if rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_whitespace() || c == '>' || c == '/'))
            {
                starts.push(at + indent);
            }
            at += line.len();
        }
        let start = match starts[..] {
            [] => return Err(Skipped::NoBlock),
            [start] => start,
            _ => {
                let lines = starts.iter().map(|&start| place(text, start).0).collect();
                return Err(Skipped::SeveralBlocks { lines });
            }
        };
        let line = place(text, start).0;
        let not_closed = || Skipped::NotClosed { what: NAME.to_owned(), line };
        let mut found = tags(&text[start..]).filter(|tag| tag.name == NAME);
        let open =
            found.next().filter(|tag| tag.kind == Kind::Open && tag.at.start == 0).ok_or_else(not_closed)?;
        if let Some(version) = open.attribute("version")
            && version.split('.').next() != Some("1")
        {
            return Err(Skipped::UnknownVersion { version, line });
        }
        let close = found.find(|tag| tag.kind == Kind::Close).ok_or_else(not_closed)?;
        let shift = |at: Range<usize>| at.start + start..at.end + start;
        Ok(Block { text, open: shift(open.at), close: shift(close.at) })
    }

    fn inside(&self) -> Range<usize> {
        self.open.end..self.close.start
    }

    /// Every tag in it, where it is in the file.
    pub(super) fn tags(&self) -> impl Iterator<Item = Tag<'a>> {
        let start = self.open.end;
        tags(&self.text[self.inside()]).map(move |mut tag| {
            tag.at = tag.at.start + start..tag.at.end + start;
            tag
        })
    }

    /// The first element of a name.
    fn element(&self, name: &str) -> Result<Option<Element>, Skipped> {
        let mut found = self.tags().filter(|tag| tag.name == name);
        let Some(open) = found.find(|tag| tag.kind != Kind::Close) else { return Ok(None) };
        if open.kind == Kind::Empty {
            return Ok(Some((open.at, None)));
        }
        match found.find(|tag| tag.kind == Kind::Close) {
            Some(close) => Ok(Some((open.at, Some(close.at)))),
            None => Err(self.not_closed(name, open.at.start)),
        }
    }

    fn not_closed(&self, name: &str, at: usize) -> Skipped {
        Skipped::NotClosed { what: name.to_owned(), line: place(self.text, at).0 }
    }

    /// What an element says, and the line it says it in.
    pub(super) fn value(&self, name: &str) -> Option<(String, usize)> {
        let (open, close) = self.element(name).ok().flatten()?;
        let said = decode(self.text[open.end..close?.start].trim());
        Some((said, place(self.text, open.start).0))
    }

    pub(super) fn bare_ampersands(&self) -> Vec<String> {
        let lines =
            tags::bare_ampersands(&self.text[self.inside()]).map(|at| place(self.text, self.open.end + at).0);
        let mut lines: Vec<usize> = lines.collect();
        lines.dedup();
        let told = |line| format!("{FILE}:{line}: a bare `&` is read as the character; XML wants `&amp;`");
        lines.into_iter().map(told).collect()
    }

    pub(super) fn edits(&self) -> Edits<'_> {
        let inside = &self.text[self.inside()];
        let unit = if inside.contains("\n\t") { "\t" } else { "  " };
        let eol = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        Edits { block: self, unit, eol, edits: Vec::new() }
    }

    /// The blanks before a place, if nothing else is on its line before it.
    fn indent(&self, at: usize) -> Option<&'a str> {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &self.text[start..at];
        before.chars().all(|c| c == ' ' || c == '\t').then_some(before)
    }
}

/// Changes of a block, gathered and then made at once.
#[derive(Debug)]
pub(super) struct Edits<'b> {
    block: &'b Block<'b>,
    unit: &'static str,
    eol: &'static str,
    edits: Vec<(Range<usize>, String)>,
}

impl Edits<'_> {
    /// Give elements of `<meta>` their values. They come first, so this is to be called before the rest.
    pub(super) fn set(&mut self, values: &[(&str, &str)]) -> Result<(), Skipped> {
        let block = self.block;
        let mut missing = Vec::new();
        for &(name, value) in values {
            match block.element(name)? {
                Some((open, Some(close))) => {
                    let inside = open.end..close.start;
                    // Another element in there would be lost.
                    if block.text[inside.clone()].contains('<') {
                        return Err(block.not_closed(name, open.start));
                    }
                    self.edits.push((inside, value.to_owned()));
                }
                Some((empty, None)) => self.edits.push((empty, format!("<{name}>{value}</{name}>"))),
                None => missing.push(Entry { head: name.to_owned(), children: vec![value.to_owned()] }),
            }
        }
        if missing.is_empty() || block.element("meta")?.is_some() {
            return self.add("meta", missing.iter());
        }
        let meta = self.section("meta", &missing.iter().collect::<Vec<_>>());
        let at = block.open.end;
        self.edits.push((at..at, format!("{}{}", self.eol, meta.trim_end())));
        Ok(())
    }

    /// Put entries at the end of a section, which is made if it is not there.
    pub(super) fn add<'e>(
        &mut self,
        section: &str,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> Result<(), Skipped> {
        let entries: Vec<&Entry> = entries.collect();
        if entries.is_empty() {
            return Ok(());
        }
        let block = self.block;
        match block.element(section)? {
            Some((open, close)) => {
                let outer = block.indent(open.start).unwrap_or_default();
                let lines = self.lines(&entries, &format!("{outer}{}", self.unit));
                match close {
                    Some(close) => match block.indent(close.start) {
                        // The section's end has a line of its own: theirs go before it.
                        Some(indent) => {
                            let at = close.start - indent.len();
                            self.edits.push((at..at, lines));
                        }
                        None => {
                            let at = close.start;
                            self.edits.push((at..at, format!("{}{lines}{outer}", self.eol)));
                        }
                    },
                    None => {
                        let head = block.text[open.clone()].trim_end_matches("/>").trim_end().to_owned();
                        let text = format!("{head}>{}{lines}{outer}</{section}>", self.eol);
                        self.edits.push((open, text));
                    }
                }
            }
            None => {
                let text = self.section(section, &entries);
                self.before_the_end(text);
            }
        }
        Ok(())
    }

    fn section(&self, name: &str, entries: &[&Entry]) -> String {
        let outer = format!("{}{}", self.block.indent(self.block.open.start).unwrap_or_default(), self.unit);
        let lines = self.lines(entries, &format!("{outer}{}", self.unit));
        format!("{outer}<{name}>{}{lines}{outer}</{name}>{}", self.eol, self.eol)
    }

    fn before_the_end(&mut self, text: String) {
        let close = self.block.close.start;
        match self.block.indent(close) {
            Some(indent) => self.edits.push((close - indent.len()..close - indent.len(), text)),
            None => self.edits.push((close..close, format!("{}{}", self.eol, text.trim_end()))),
        }
    }

    fn lines(&self, entries: &[&Entry], indent: &str) -> String {
        let (unit, eol) = (self.unit, self.eol);
        let mut lines = String::new();
        for Entry { head, children } in entries {
            let name = head.split(' ').next().unwrap_or_default();
            match &children[..] {
                [] => lines += &format!("{indent}<{head}/>{eol}"),
                // A value of its own, and not an element.
                [value] if !value.starts_with('<') => {
                    lines += &format!("{indent}<{head}>{value}</{name}>{eol}");
                }
                children => {
                    lines += &format!("{indent}<{head}>{eol}");
                    children.iter().for_each(|child| lines += &format!("{indent}{unit}{child}{eol}"));
                    lines += &format!("{indent}</{name}>{eol}");
                }
            }
        }
        lines
    }

    /// The file with all of it.
    pub(super) fn apply(mut self) -> String {
        // Those for one place stay in the order they were made in.
        self.edits.arrange_by_key(|(at, _)| (at.start, at.end));
        let text = self.block.text;
        let mut edited = String::with_capacity(text.len() + 1024);
        let mut done = 0;
        for (at, new) in &self.edits {
            edited += &text[done..at.start];
            edited += new;
            done = at.end;
        }
        edited + &text[done..]
    }
}
