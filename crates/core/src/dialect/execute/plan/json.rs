//! JSON with places: a value is the slice of the text that says it, taken apart when somebody asks.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::diagnostic::Diagnostic;
use crate::dialect::found::{Found, Said};

/// A value in a text that is known to be JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'t> {
    document: &'t str,
    text: &'t str,
}

impl<'t> Node<'t> {
    /// The document, or the problem that says why it is none.
    pub(super) fn parse(document: &'t str) -> Result<Node<'t>, Diagnostic> {
        match serde_json::from_str::<&RawValue>(document) {
            Ok(raw) => Ok(Node { document, text: raw.get() }),
            Err(error) => {
                let at = byte_of(document, error.line(), error.column());
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default();
                let message = format!("this is not JSON: {said}");
                Err(Diagnostic::error(at..at, message).label("reading stopped here"))
            }
        }
    }

    pub(super) fn at(self) -> Range<usize> {
        let start = self.text.as_ptr().addr() - self.document.as_ptr().addr();
        start..start + self.text.len()
    }

    pub(super) fn is_null(self) -> bool {
        self.text == "null"
    }

    pub(super) fn is_true(self) -> bool {
        self.text == "true"
    }

    /// The entries of an object in their order; a name said twice is there twice.
    pub(super) fn entries(self) -> Option<Vec<(Said<String>, Node<'t>)>> {
        let Entries(entries) = serde_json::from_str(self.text).ok()?;
        let entry = |(key, value): (Key<'t>, &'t RawValue)| {
            let value = Node { document: self.document, text: value.get() };
            let said = match key {
                Key::Plain(text) => Said { value: text.to_owned(), at: Node { text, ..self }.at() },
                Key::Escaped(text) => Said { value: text, at: value.at() },
            };
            (said, value)
        };
        Some(entries.into_iter().map(entry).collect())
    }

    /// The last value under a name of an object.
    pub(super) fn get(self, name: &str) -> Option<Node<'t>> {
        let mut entries = self.entries()?;
        entries.reverse();
        entries.into_iter().find(|(key, value)| key.value == name && !value.is_null()).map(|(_, value)| value)
    }

    pub(super) fn items(self) -> Option<Vec<Node<'t>>> {
        let items: Vec<&RawValue> = serde_json::from_str(self.text).ok()?;
        Some(items.into_iter().map(|item| Node { text: item.get(), ..self }).collect())
    }

    pub(super) fn text(self) -> Option<String> {
        serde_json::from_str(self.text).ok()
    }

    /// A whole number; some write it in quotes.
    pub(super) fn number(self) -> Option<u64> {
        self.text.trim_matches('"').trim().parse().ok()
    }

    /// A value of another kind than was expected.
    pub(super) fn wrong(self, what: &str, expected: &str, found: &mut Found) {
        let kind = match self.text.as_bytes().first() {
            Some(b'"') => "text",
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b't' | b'f') => "`true` or `false`",
            Some(b'n') => "`null`",
            _ => "a number",
        };
        found.push(
            Diagnostic::error(self.at(), format!("{what} must be {expected}"))
                .label(format!("this is {kind}")),
        );
    }
}

/// The byte of a line and column as `serde_json` counts them.
fn byte_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

struct Entries<'t>(Vec<(Key<'t>, &'t RawValue)>);

/// A name as the text has it, or one that had to be unescaped.
enum Key<'t> {
    Plain(&'t str),
    Escaped(String),
}

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key::Plain(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key::Escaped(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Walk)
    }
}
