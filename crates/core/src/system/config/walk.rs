//! Typed access to TOML with places: every wrong value becomes a diagnostic at its own bytes, and the walk continues,
//! so that one reading reports everything that is wrong.

use std::cell::OnceCell;
use std::ops::{Range, RangeInclusive};

use toml::de::{DeTable, DeValue};

pub(in crate::system) use super::super::kit::problems::Spanned;
use super::keys::{Keys, quoted};
use crate::diagnostic::{Diagnostic, nearest};
use crate::terminal::misleads;
use crate::time::Span;

/// A larger text is not a hand-written plan.
const LARGEST: usize = 64 << 20;

/// To compare a misspelt name with every other one takes long in a plan of a hundred thousand tasks. After this many
/// comparisons, mistakes are reported without a suggestion.
const COMPARISONS: usize = 500_000;

/// The text being read, and what was found wrong in it so far.
#[derive(Debug)]
pub(in crate::system) struct Walk<'t> {
    text: &'t str,
    diagnostics: Vec<Diagnostic>,
    /// Where lines start, found when the first message needs it: counting from the top each time would make
    /// a long plan with many mistakes quadratic.
    lines: OnceCell<Vec<usize>>,
    comparisons: usize,
}

impl<'t> Walk<'t> {
    /// The document, or `None` with a diagnostic that says why.
    pub(in crate::system) fn open(text: &'t str) -> (Walk<'t>, Option<DeTable<'t>>) {
        let mut walk =
            Walk { text, diagnostics: Vec::new(), lines: OnceCell::new(), comparisons: COMPARISONS };
        if text.len() > LARGEST {
            let message = format!("this file has more than {} MiB", LARGEST >> 20);
            let diagnostic = Diagnostic::error(0..0, message).label("too large to be read");
            walk.push(diagnostic.help("split the work into several plans"));
            return (walk, None);
        }
        match DeTable::parse(text) {
            Ok(table) => (walk, Some(table.into_inner())),
            Err(error) => {
                walk.push(not_toml(text, &error));
                (walk, None)
            }
        }
    }

    pub(in crate::system) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// What was found, from the top of the text to its end.
    pub(in crate::system) fn finish(mut self) -> Vec<Diagnostic> {
        Diagnostic::sort(&mut self.diagnostics);
        self.diagnostics
    }

    /// The line of a byte, from 1.
    pub(in crate::system) fn line(&self, byte: usize) -> usize {
        let lines = self.lines.get_or_init(|| {
            std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1)).collect()
        });
        lines.partition_point(|&start| start <= byte)
    }

    /// The candidate most like `word`, as long as looking for it stays cheap.
    pub(in crate::system) fn nearest<'c>(
        &mut self,
        word: &str,
        candidates: impl ExactSizeIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        self.comparisons = self.comparisons.checked_sub(candidates.len())?;
        nearest(word, candidates)
    }

    /// A value of the wrong kind.
    pub(in crate::system) fn wrong(
        &mut self,
        what: &str,
        expected: &str,
        found: &DeValue<'_>,
        at: Range<usize>,
    ) {
        let kind = match found {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "a number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "`true` or `false`",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.push(
            Diagnostic::error(at, format!("{what} must be {expected}")).label(format!("this is {kind}")),
        );
    }

    /// Text with something in it.
    pub(in crate::system) fn text_of<'a>(
        &mut self,
        what: &str,
        value: &'a DeValue<'_>,
        at: &Range<usize>,
    ) -> Option<&'a str> {
        let DeValue::String(text) = value else {
            self.wrong(what, "text", value, at.clone());
            return None;
        };
        if text.trim().is_empty() {
            self.push(
                Diagnostic::error(at.clone(), format!("{what} is empty")).label("write something here"),
            );
            return None;
        }
        Some(text)
    }

    /// One line of text, without control characters and without characters that change the order in which a terminal
    /// shows text.
    pub(in crate::system) fn line_of<'a>(
        &mut self,
        what: &str,
        value: &'a DeValue<'_>,
        at: &Range<usize>,
    ) -> Option<&'a str> {
        let text = self.text_of(what, value, at)?;
        if let Some(bad) = text.chars().find(|c| misleads(*c)) {
            self.push(
                Diagnostic::error(at.clone(), format!("{what} holds {bad:?}"))
                    .label("one line without control characters"),
            );
            return None;
        }
        Some(text)
    }

    /// A length of time.
    pub(in crate::system) fn span_of(
        &mut self,
        what: &str,
        value: &DeValue<'_>,
        at: &Range<usize>,
    ) -> Option<Span> {
        let span = match value {
            DeValue::String(text) => Span::parse(text),
            _ => None,
        };
        if span.is_none() {
            self.push(
                Diagnostic::error(at.clone(), format!("{what} is not a length of time"))
                    .label("write it like \"90s\", \"5m\" or \"1h30m\""),
            );
        }
        span
    }
}

/// The diagnostic for a document that is not TOML.
fn not_toml(text: &str, error: &toml::de::Error) -> Diagnostic {
    let at = error.span().unwrap_or(0..0);
    let said = error.message();
    let message = match (said, text.get(at.clone())) {
        ("duplicate key", Some(key)) => format!("`{key}` appears twice"),
        _ => format!("this is not TOML: {said}"),
    };
    let diagnostic = Diagnostic::error(at, message).label("reading stopped here");
    if said == "duplicate key" {
        diagnostic.help("a key and a `[table]` may appear once; only `[[task]]` and `[[group]]` repeat")
    } else if said.contains("string") {
        diagnostic.help("text needs quotes, and text of several lines needs three: \"\"\"…\"\"\"")
    } else {
        diagnostic
    }
}

/// A table whose unknown keys have been reported.
#[derive(Clone, Debug)]
pub(in crate::system) struct Section<'a> {
    table: &'a DeTable<'a>,
    keys: &'static Keys,
    /// Its header, or all of it where it stands inline.
    pub(in crate::system) at: Range<usize>,
}

impl<'a> Section<'a> {
    pub(in crate::system) fn open(
        walk: &mut Walk<'_>,
        table: &'a DeTable<'a>,
        at: Range<usize>,
        keys: &'static Keys,
    ) -> Self {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !keys.names.contains(&name) {
                walk.push(
                    Diagnostic::error(key.span(), format!("unknown key `{name}` in {}", keys.table))
                        .label(keys.suggestion(name))
                        .help(format!("known here: {}", keys.listed())),
                );
            }
        }
        Section { table, keys, at }
    }

    pub(in crate::system) fn get(&self, key: &str) -> Option<Spanned<&'a DeValue<'a>>> {
        debug_assert!(self.keys.names.contains(&key), "{key} is not listed in {}", self.keys.table);
        self.table.get(key).map(|value| Spanned { value: value.get_ref(), at: value.span() })
    }

    pub(in crate::system) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Report a key that must be there and is not.
    pub(in crate::system) fn require(&self, walk: &mut Walk<'_>, key: &str, example: &str) {
        if !self.has(key) {
            walk.push(
                Diagnostic::error(self.at.clone(), format!("{} has no `{key}`", self.called()))
                    .label(format!("add `{key} = {example}`")),
            );
        }
    }

    /// How a message names this table: by its id, where it has one.
    fn called(&self) -> String {
        match self.table.get("id").map(toml::Spanned::get_ref) {
            Some(DeValue::String(id)) if self.keys.names.contains(&"id") => {
                format!("{} `{}`", self.keys.table.trim_matches(['`', '[', ']']), id.escape_debug())
            }
            _ => self.keys.table.to_owned(),
        }
    }

    pub(in crate::system) fn text(&self, walk: &mut Walk<'_>, key: &str) -> Option<Spanned<&'a str>> {
        let Spanned { value, at } = self.get(key)?;
        walk.text_of(&format!("`{key}`"), value, &at).map(|value| Spanned { value, at })
    }

    pub(in crate::system) fn line(&self, walk: &mut Walk<'_>, key: &str) -> Option<Spanned<&'a str>> {
        let Spanned { value, at } = self.get(key)?;
        walk.line_of(&format!("`{key}`"), value, &at).map(|value| Spanned { value, at })
    }

    pub(in crate::system) fn flag(&self, walk: &mut Walk<'_>, key: &str) -> Option<bool> {
        let Spanned { value, at } = self.get(key)?;
        if value.as_bool().is_none() {
            walk.wrong(&format!("`{key}`"), "`true` or `false`", value, at);
        }
        value.as_bool()
    }

    pub(in crate::system) fn number(
        &self,
        walk: &mut Walk<'_>,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let Spanned { value, at } = self.get(key)?;
        let (low, high) = (range.start(), range.end());
        let DeValue::Integer(number) = value else {
            walk.wrong(&format!("`{key}`"), &format!("a whole number from {low} to {high}"), value, at);
            return None;
        };
        let number = u32::from_str_radix(number.as_str(), number.radix()).ok().filter(|n| range.contains(n));
        if number.is_none() {
            walk.push(
                Diagnostic::error(at, format!("`{key}` is out of range"))
                    .label(format!("{low} to {high} is allowed")),
            );
        }
        number
    }

    pub(in crate::system) fn span(&self, walk: &mut Walk<'_>, key: &str) -> Option<Spanned<Span>> {
        let Spanned { value, at } = self.get(key)?;
        walk.span_of(&format!("`{key}`"), value, &at).map(|value| Spanned { value, at })
    }

    /// A limit: a length of time that is not nothing.
    pub(in crate::system) fn limit(&self, walk: &mut Walk<'_>, key: &str) -> Option<Spanned<Span>> {
        let said = self.span(walk, key)?;
        if said.value == Span(0) {
            walk.push(Diagnostic::error(said.at, format!("`{key}` is zero")).label("must be more than 0"));
            return None;
        }
        Some(said)
    }

    pub(in crate::system) fn choice<T: Copy>(
        &self,
        walk: &mut Walk<'_>,
        key: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let said = self.text(walk, key)?;
        let names = || choices.iter().map(|(name, _)| *name);
        let found = choices.iter().find(|(name, _)| *name == said.value).map(|(_, choice)| *choice);
        if found.is_none() {
            let label = match nearest(said.value, names()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "not one of the choices".to_owned(),
            };
            walk.push(
                Diagnostic::error(said.at, format!("`{key}` cannot be {:?}", said.value))
                    .label(label)
                    .help(format!("choose one of {}", quoted(names()))),
            );
        }
        found
    }

    /// A list, whatever it holds.
    pub(in crate::system) fn list(
        &self,
        walk: &mut Walk<'_>,
        key: &str,
    ) -> Option<Vec<Spanned<&'a DeValue<'a>>>> {
        let Spanned { value, at } = self.get(key)?;
        let DeValue::Array(items) = value else {
            walk.wrong(&format!("`{key}`"), "a list, in `[` and `]`", value, at);
            return None;
        };
        Some(items.iter().map(|item| Spanned { value: item.get_ref(), at: item.span() }).collect())
    }

    /// A list of texts. Other values are reported and left out.
    pub(in crate::system) fn texts(&self, walk: &mut Walk<'_>, key: &str) -> Vec<Spanned<&'a str>> {
        let what = format!("an entry of `{key}`");
        let items = self.list(walk, key).unwrap_or_default();
        items
            .into_iter()
            .filter_map(|item| {
                Some(Spanned { value: walk.text_of(&what, item.value, &item.at)?, at: item.at })
            })
            .collect()
    }

    /// A table that may be absent.
    pub(in crate::system) fn table(
        &self,
        walk: &mut Walk<'_>,
        key: &str,
    ) -> Option<Spanned<&'a DeTable<'a>>> {
        let Spanned { value, at } = self.get(key)?;
        let DeValue::Table(table) = value else {
            walk.wrong(&format!("`{key}`"), "a table", value, at);
            return None;
        };
        Some(Spanned { value: table, at })
    }

    pub(in crate::system) fn section(
        &self,
        walk: &mut Walk<'_>,
        key: &str,
        keys: &'static Keys,
    ) -> Option<Section<'a>> {
        let Spanned { value, at } = self.table(walk, key)?;
        Some(Section::open(walk, value, at, keys))
    }

    /// The tables of a `[[key]]`.
    pub(in crate::system) fn sections(
        &self,
        walk: &mut Walk<'_>,
        key: &str,
        keys: &'static Keys,
    ) -> Vec<Section<'a>> {
        let Some(Spanned { value, at }) = self.get(key) else { return Vec::new() };
        let DeValue::Array(items) = value else {
            let found = if value.is_table() { "this is a single table" } else { "this is not a table" };
            walk.push(
                Diagnostic::error(at, format!("`{key}` must be a list of tables"))
                    .label(found)
                    .help(format!("write `[[{key}]]`, with two brackets, before each of them")),
            );
            return Vec::new();
        };
        let mut sections = Vec::with_capacity(items.len());
        for item in items.iter() {
            match item.get_ref() {
                DeValue::Table(table) => sections.push(Section::open(walk, table, item.span(), keys)),
                other => walk.wrong(&format!("an entry of `{key}`"), "a table", other, item.span()),
            }
        }
        sections
    }
}
