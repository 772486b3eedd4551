//! Fields as YAML writes them, read line by line: at the beginning of a Markdown file, or as a whole file. Many of these
//! files are not valid YAML, so a line that is not understood is kept apart, and the others are read.

use std::ops::Range;

use crate::system::kit::text::trimmed;
use crate::time::Timestamp;

/// Lines of one list in brackets.
const LONGEST_LIST: usize = 200;
/// Fields of one file. What follows is not read: nobody writes so many.
const MOST: usize = 20_000;

/// The fields of a text, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct Fields {
    fields: Vec<Field>,
    /// Lines that are not fields.
    pub(in crate::system) odd: Vec<Range<usize>>,
}

/// `name: value`, or an item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) struct Field {
    /// Empty: it is an item.
    pub(in crate::system) name: String,
    /// Its line, without the space around it.
    pub(in crate::system) at: Range<usize>,
    pub(in crate::system) value: Value,
    indent: usize,
    parent: Option<usize>,
}

/// What stands behind the colon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct Value {
    pub(in crate::system) text: String,
    /// Without quotes and comments.
    pub(in crate::system) at: Range<usize>,
    /// It stands in quotes.
    quoted: bool,
    /// Of a list in brackets.
    items: Option<Vec<Value>>,
}

impl Value {
    /// The change that puts another word here. Quotes stay.
    pub(in crate::system) fn replaced(&self, word: &str) -> (Range<usize>, String) {
        let space = if self.at.is_empty() && !self.quoted { " " } else { "" };
        (self.at.clone(), format!("{space}{word}"))
    }
}

impl Value {
    /// A word that stands somewhere else than behind a colon.
    pub(in crate::system) fn plain(text: &str, at: Range<usize>) -> Value {
        Value { text: text.to_owned(), at, ..Value::default() }
    }

    /// The change that leaves nothing here, whatever stands here now.
    pub(in crate::system) fn blank(&self) -> (Range<usize>, &'static str) {
        (self.at.clone(), if self.at.is_empty() && !self.quoted { " " } else { "" })
    }

    /// A time as precise as this one. `None`: this is not a time.
    pub(in crate::system) fn dated_like(&self, at: Timestamp) -> Option<String> {
        let shape = |text: &str| -> String {
            text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
        };
        let whole = at.to_string();
        let spaced = whole.replace('T', " ").trim_end_matches('Z').to_owned();
        let known = [&whole[..], &spaced, &spaced[..16], &spaced[..10]];
        known.into_iter().find(|known| shape(known) == shape(&self.text)).map(str::to_owned)
    }
}

/// Where the fields at the beginning of a Markdown file stand, and where its text begins.
pub(in crate::system) fn front(text: &str) -> Option<(Range<usize>, usize)> {
    let mut at = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (line.trim_end() == "---", start) {
            (true, None) => start = Some(end),
            (true, Some(start)) => return Some((start..at, end)),
            (false, None) if !line.trim().is_empty() => return None,
            (false, _) => {}
        }
        at = end;
    }
    None
}

impl Fields {
    /// Those at the beginning of a Markdown file, and where its text begins.
    pub(in crate::system) fn of_front(text: &str) -> (Fields, usize) {
        front(text).map_or_else(|| (Fields::default(), 0), |(at, body)| (Fields::read(text, at), body))
    }

    pub(in crate::system) fn read(text: &str, at: Range<usize>) -> Fields {
        let mut all = Fields::default();
        // The fields around the current line.
        let mut open: Vec<usize> = Vec::new();
        let mut lines = lines(text, at.clone()).peekable();
        while let Some(line) = lines.next() {
            let said = &text[line.clone()];
            let indent = said.len() - said.trim_start().len();
            let whole = trimmed(text, line.clone());
            if whole.is_empty() || text[whole.clone()].starts_with('#') || &text[whole.clone()] == "---" {
                continue;
            }
            let item = item_of(text, &whole);
            let is_item = item.is_some();
            let (name, rest) = match item {
                Some(rest) => (String::new(), rest),
                None => match named(text, &whole) {
                    Some(found) => found,
                    None => {
                        all.odd.push(whole);
                        continue;
                    }
                },
            };
            if all.fields.len() == MOST {
                all.odd.push(whole);
                continue;
            }
            let is_around = |known: &Field| match is_item {
                true => known.indent < indent || known.indent == indent && !known.name.is_empty(),
                false => known.indent < indent,
            };
            while open.last().is_some_and(|above| !is_around(&all.fields[*above])) {
                open.pop();
            }
            let parent = open.last().copied();
            let mut value = value(text, rest.clone());
            if is_block(&value.text) && !value.quoted {
                value = Value { at: rest.clone(), ..Value::default() };
                while let Some(next) = lines.peek() {
                    let said = &text[next.clone()];
                    let is_in = said.trim().is_empty() || said.len() - said.trim_start().len() > indent;
                    if !is_in {
                        break;
                    }
                    value.text.push_str(said.trim());
                    value.text.push('\n');
                    lines.next();
                }
                value.text.truncate(value.text.trim_end().len());
            } else if value.text.starts_with('[') && !value.quoted {
                let mut end = rest.end;
                for _ in 0..LONGEST_LIST {
                    let is_closed = text[rest.start..end].contains(']');
                    let Some(next) = lines.peek().filter(|_| !is_closed).cloned() else { break };
                    let line = trimmed(text, next.clone());
                    if named(text, &line).is_some() || item_of(text, &line).is_some() {
                        break;
                    }
                    end = next.end;
                    lines.next();
                }
                value = list(text, trimmed(text, value.at.start..end.max(value.at.end)));
            }
            open.push(all.fields.len());
            all.fields.push(Field { name, at: whole, value, indent, parent });
        }
        all
    }

    /// A field that stands in no other one.
    pub(in crate::system) fn get(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.parent.is_none() && field.name == name)
    }

    /// Its value, unless it is empty.
    pub(in crate::system) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|field| field.value.text.as_str()).filter(|text| !text.is_empty())
    }

    /// What stands below a field.
    pub(in crate::system) fn below<'f>(&'f self, field: &'f Field) -> impl Iterator<Item = &'f Field> {
        let nth = self.fields.iter().position(|known| std::ptr::eq(known, field));
        self.fields.iter().filter(move |known| known.parent.is_some() && known.parent == nth)
    }

    /// The items of a list, however it is written. One value is a list of one.
    pub(in crate::system) fn items(&self, field: &Field) -> Vec<Value> {
        let own = match &field.value.items {
            Some(items) => items.clone(),
            None => Some(&field.value).filter(|value| !value.text.is_empty()).cloned().into_iter().collect(),
        };
        let below = self.below(field).filter(|item| item.name.is_empty()).map(|item| item.value.clone());
        own.into_iter().chain(below).filter(|value| !is_nothing(value)).collect()
    }

    /// The same of a field that stands in no other one.
    pub(in crate::system) fn list(&self, name: &str) -> Vec<Value> {
        self.get(name).map(|field| self.items(field)).unwrap_or_default()
    }
}

fn is_nothing(value: &Value) -> bool {
    value.text.is_empty() || !value.quoted && matches!(value.text.as_str(), "null" | "~" | "[]" | "{}")
}

fn is_block(text: &str) -> bool {
    matches!(text, "|" | ">" | "|-" | ">-" | "|+" | ">+")
}

fn lines(text: &str, at: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = at.start;
    text[at].split_inclusive('\n').map(move |line| {
        let own = start..start + line.trim_end_matches('\n').len();
        start += line.len();
        own
    })
}

/// What stands behind the dash of an item.
fn item_of(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let rest = text[line.clone()].strip_prefix('-')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| trimmed(text, line.start + 1..line.end))
}

/// The name of a field, and what stands behind its colon.
fn named(text: &str, line: &Range<usize>) -> Option<(String, Range<usize>)> {
    let said = &text[line.clone()];
    let colon = match said.chars().next()? {
        quote @ ('"' | '\'') => said[1..].find(quote)? + 2,
        '[' | '{' | '<' | '|' | '`' | '@' => return None,
        _ => said.match_indices(':').map(|(at, _)| at).find(|at| {
            let rest = &said[at + 1..];
            rest.is_empty() || rest.starts_with([' ', '\t'])
        })?,
    };
    let rest = said[colon..].strip_prefix(':')?;
    let name = said[..colon].trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| (name.to_owned(), line.end - rest.len()..line.end))
}

/// A value without quotes around it, or without the comment behind it. An empty one stands where it begins.
fn value(text: &str, at: Range<usize>) -> Value {
    let whole = trimmed(text, at.clone());
    if whole.is_empty() {
        return Value { at: at.start..at.start, ..Value::default() };
    }
    let said = &text[whole.clone()];
    if let Some(quote) = said.chars().next().filter(|c| matches!(c, '"' | '\''))
        && let Some(length) = closing(&said[1..], quote)
    {
        let inner = whole.start + 1..whole.start + 1 + length;
        let plain = &text[inner.clone()];
        let plain = match quote {
            '"' => plain.replace("\\\"", "\"").replace("\\\\", "\\"),
            _ => plain.replace("''", "'"),
        };
        return Value { text: plain, at: inner, quoted: true, items: None };
    }
    let end = match said.starts_with('#') {
        true => 0,
        false => said.find(" #").unwrap_or(said.len()),
    };
    let inner = trimmed(text, whole.start..whole.start + end);
    if inner.is_empty() {
        return Value { at: at.start..at.start, ..Value::default() };
    }
    Value { text: text[inner.clone()].to_owned(), at: inner, quoted: false, items: None }
}

/// Where a quote is closed that was opened before this text.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote {
            let is_doubled = quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote);
            match is_doubled {
                true => chars.next(),
                false => return Some(at),
            };
        }
    }
    None
}

/// `[a, "b, c"]`.
fn list(text: &str, at: Range<usize>) -> Value {
    let said = &text[at.clone()];
    let inside = said.strip_prefix('[').unwrap_or(said);
    let start = at.start + (said.len() - inside.len());
    let inside = inside.find(" #").map_or(inside, |end| &inside[..end]).trim_end();
    let inside = inside.strip_suffix(']').unwrap_or(inside);
    let (mut items, mut begun, mut quote) = (Vec::new(), 0, None);
    for (nth, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match (c, quote) {
            ('"' | '\'', None) if inside[begun..nth].trim().is_empty() => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (',', None) => {
                items.push(value(text, start + begun..start + nth));
                begun = nth + 1;
            }
            _ => {}
        }
    }
    if begun < inside.len() {
        items.push(value(text, start + begun..start + inside.len()));
    }
    Value { text: said.to_owned(), at, quoted: false, items: Some(items) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
---
phase: 03-auth
plan: 01   # the first
depends_on: [\"02-01\", '02-02', 02-03]
files_modified:
- src/a.rs
- \"src/b c.rs\"
must_haves:
  truths:
    - \"A clerk: signs in\"
    - It's `quick`
  artifacts:
    - path: src/a.rs
      min_lines: 3
note: |
  key: not one
  more

many: [
  one,
  two
]
empty:
none: []
broken line
---
# Body
";

    fn texts(values: Vec<Value>) -> Vec<String> {
        values.into_iter().map(|value| value.text).collect()
    }

    #[test]
    fn fields_are_read_with_their_lists_and_their_places() {
        let (fields, body) = Fields::of_front(PLAN);
        assert_eq!(&PLAN[body..], "# Body\n");
        assert_eq!(fields.text("phase"), Some("03-auth"));
        assert_eq!(fields.text("plan"), Some("01"));
        assert_eq!(texts(fields.list("depends_on")), ["02-01", "02-02", "02-03"]);
        assert_eq!(texts(fields.list("files_modified")), ["src/a.rs", "src/b c.rs"]);
        assert_eq!(texts(fields.list("many")), ["one", "two"]);
        assert_eq!(texts(fields.list("empty")), [""; 0]);
        assert_eq!(texts(fields.list("none")), [""; 0]);
        let must = fields.get("must_haves").expect("it is there");
        let truths = fields.below(must).find(|field| field.name == "truths").expect("truths");
        assert_eq!(texts(fields.items(truths)), ["A clerk: signs in", "It's `quick`"]);
        assert_eq!(fields.text("note"), Some("key: not one\nmore"));
        assert_eq!(fields.odd.iter().map(|at| &PLAN[at.clone()]).collect::<Vec<_>>(), ["broken line"]);
        for field in &fields.fields {
            let plain = PLAN[field.value.at.clone()].trim().to_owned();
            assert!(
                field.value.items.is_some() || field.name == "note" || plain == field.value.text,
                "{field:?}"
            );
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_stands() {
        for (line, wanted) in [
            ("status: a b # why", "status: done # why"),
            ("status: \"a\"", "status: \"done\""),
            ("status: ''", "status: 'done'"),
            ("status:", "status: done"),
            ("status:   ", "status: done   "),
            ("\"status\": x", "\"status\": done"),
        ] {
            let fields = Fields::read(line, 0..line.len());
            let (at, word) = fields.get("status").expect("a field").value.replaced("done");
            let mut new = line.to_owned();
            new.replace_range(at, &word);
            assert_eq!(new, wanted);
        }
    }

    #[test]
    fn a_text_without_an_end_of_its_front_matter_has_none() {
        assert_eq!(front("---\na: b\n"), None);
        assert_eq!(front("# Title\n---\na: b\n---\n"), None);
        assert_eq!(front("\n---\na: b\n---\nx"), Some((5..10, 14)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s)(---\n|- |a: |\\[|\\]|\"|'|, |: \\|\n|  |\n|#|\\PC){0,40}") {
            let (fields, body) = Fields::of_front(&text);
            assert!(text.get(body..).is_some());
            for field in fields.fields.iter().chain(&Fields::read(&text, 0..text.len()).fields) {
                let items = fields.items(field);
                assert!(text.get(field.value.at.clone()).is_some());
                items.iter().for_each(|item| assert!(text.get(item.at.clone()).is_some()));
            }
        }
    }
}
