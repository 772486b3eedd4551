//! JSON with places, and with duplicate names. `serde_json` reports where a text breaks off, but not where a wrong
//! value stands.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Number, Value};

use crate::diagnostic::Diagnostic;

/// Deeper than any file of these systems by far, and far from what a stack minds.
const DEEPEST: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Range<usize>,
    /// Where its name stands, in an object.
    pub(crate) name_at: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// Each name once, at its first place, with its last value.
    Object(Vec<(String, Node)>),
}

impl Node {
    /// What it is, for a message.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }

    /// What an object has under a name, unless that is null.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let (_, node) = self.entries()?.iter().find(|(known, _)| known == name)?;
        (node.kind != Kind::Null).then_some(node)
    }

    pub(crate) fn entries(&self) -> Option<&[(String, Node)]> {
        if let Kind::Object(entries) = &self.kind { Some(entries) } else { None }
    }

    pub(crate) fn items(&self) -> Option<&[Node]> {
        if let Kind::List(items) = &self.kind { Some(items) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// A whole number; some write it in quotes.
    pub(crate) fn number(&self) -> Option<u64> {
        match &self.kind {
            Kind::Number(number) => number.as_u64(),
            Kind::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(yes) => Value::Bool(*yes),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::value).collect()),
            Kind::Object(fields) => {
                Value::Object(fields.iter().map(|(name, node)| (name.clone(), node.value())).collect())
            }
        }
    }
}

/// The value of a whole text, with a warning for each name said twice; or where it stops being JSON.
pub(crate) fn parse(text: &str) -> Result<(Node, Vec<Diagnostic>), Diagnostic> {
    let mut parser = Parser { text, at: 0, depth: 0, twice: Vec::new() };
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    parser.space();
    if parser.at == text.len() {
        return Err(Diagnostic::error(0..0, "the file is empty").label("there is nothing to read in it"));
    }
    let node = parser.value()?;
    parser.space();
    if parser.at < text.len() {
        let message = match parser.byte() {
            Some(b'{' | b'[') => "a second value follows the first",
            _ => "something follows the end of the value",
        };
        return Err(parser.stop(message));
    }
    Ok((node, parser.twice))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    twice: Vec<Diagnostic>,
}

type Parsed<T> = Result<T, Diagnostic>;

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// It is not JSON from here on.
    fn stop(&self, message: &str) -> Diagnostic {
        let rest = &self.text[self.at..];
        let end = rest.chars().next().map_or(self.at, |c| self.at + c.len_utf8());
        let message = match self.byte() {
            None => "the file breaks off in the middle",
            Some(b'/' | b'#') => "JSON has no comments",
            Some(b'\'') => "JSON wants double quotes",
            Some(_) if ["NaN", "Infinity", "-Infinity"].iter().any(|word| rest.starts_with(word)) => {
                "JSON has no such number"
            }
            Some(_) => message,
        };
        Diagnostic::error(self.at..end, message).label("reading stopped here")
    }

    fn value(&mut self) -> Parsed<Node> {
        self.space();
        let start = self.at;
        let kind = match self.byte() {
            Some(b'{') => self.deeper(Parser::object)?,
            Some(b'[') => self.deeper(Parser::list)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => {
                let words = [("null", Kind::Null), ("true", Kind::Bool(true)), ("false", Kind::Bool(false))];
                let rest = &self.text[start..];
                match words.into_iter().find(|(word, _)| rest.starts_with(word)) {
                    Some((word, kind)) => {
                        self.at += word.len();
                        kind
                    }
                    None => return Err(self.stop("a value is missing here")),
                }
            }
        };
        Ok(Node { at: start..self.at, name_at: 0..0, kind })
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<Kind>) -> Parsed<Kind> {
        if self.depth == DEEPEST {
            return Err(self.stop("this is nested too deeply"));
        }
        self.depth += 1;
        let kind = inner(self);
        self.depth -= 1;
        kind
    }

    /// After `{`, `[` or an entry. Whether another entry follows.
    fn another(&mut self, first: bool, end: u8) -> Parsed<bool> {
        self.space();
        let comma = self.at;
        match self.byte() {
            Some(byte) if byte == end => {
                self.at += 1;
                return Ok(false);
            }
            Some(b',') if !first => self.at += 1,
            _ if first => return Ok(true),
            _ => return Err(self.stop("a comma is missing here")),
        }
        self.space();
        if self.byte() == Some(end) {
            self.at = comma;
            return Err(self.stop("a comma with nothing after it"));
        }
        Ok(true)
    }

    fn list(&mut self) -> Parsed<Kind> {
        self.at += 1;
        let mut items = Vec::new();
        while self.another(items.is_empty(), b']')? {
            items.push(self.value()?);
        }
        Ok(Kind::List(items))
    }

    fn object(&mut self) -> Parsed<Kind> {
        self.at += 1;
        let mut fields: Vec<(String, Node)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        while self.another(fields.is_empty(), b'}')? {
            self.space();
            let start = self.at;
            if self.byte() != Some(b'"') {
                return Err(self.stop("a name in double quotes is missing here"));
            }
            let name = self.string()?;
            let key = start..self.at;
            self.space();
            if self.byte() != Some(b':') {
                return Err(self.stop("a colon is missing here"));
            }
            self.at += 1;
            let value = Node { name_at: key.start + 1..key.end - 1, ..self.value()? };
            match places.get(&name) {
                Some(&place) => {
                    let message = format!("`{name}` appears twice");
                    self.twice.push(Diagnostic::warning(key, message).label("the last one is used"));
                    fields[place].1 = value;
                }
                None => {
                    places.insert(name.clone(), fields.len());
                    fields.push((name, value));
                }
            }
        }
        Ok(Kind::Object(fields))
    }

    fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(byte) if byte < b' ' => return Err(self.stop("a text goes over the end of its line")),
                Some(_) => self.at += 1,
                None => {
                    self.at = self.text.len();
                    return Err(self.stop("the file breaks off in the middle"));
                }
            }
        }
        self.at += 1;
        let said = &self.text[start..self.at];
        serde_json::from_str(said).map_err(|_| {
            Diagnostic::error(start..self.at, "this text has an escape that JSON does not know")
                .label("reading stopped here")
        })
    }

    fn number(&mut self) -> Parsed<Kind> {
        if self.text[self.at..].starts_with("-I") {
            return Err(self.stop("a value is missing here"));
        }
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        let said = &self.text[start..self.at];
        let wrong = |message: &str| Diagnostic::error(start..self.at, message).label("reading stopped here");
        let number: Number = serde_json::from_str(said).map_err(|_| wrong("this is not a number"))?;
        if number.is_f64() && !said.contains(['.', 'e', 'E']) {
            return Err(wrong("this number is too large"));
        }
        Ok(Kind::Number(number))
    }
}
