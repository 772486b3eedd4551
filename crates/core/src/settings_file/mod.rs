//! Edits settings of other programs in place. What is not ours stays the same, byte for byte, and what Piton added can
//! be removed again.

mod relaxed;

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::diagnostic::place;
use crate::system::kit::json::{self, Kind, Node};
use relaxed::Relaxed;

/// Where something of ours is in a JSON file: below these names, under a name of its own or as one of a list.
#[derive(Clone, Copy, Debug)]
pub enum Spot<'a> {
    Member { below: &'a [&'a str], name: &'a str },
    Item { of: &'a [&'a str] },
}

/// Why a file cannot be changed: it says something else than it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

/// The same text with a value of ours in it. `is_ours` knows one from an earlier time, which it replaces.
pub fn put(
    text: &str,
    spot: Spot<'_>,
    value: &Value,
    is_ours: &dyn Fn(&Value) -> bool,
) -> Result<String, Unfit> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let (root, relaxed) = read(text)?;
    let style = Style::of(text, &relaxed, &root);
    let (below, last) = match spot {
        Spot::Member { below, name } => (below, Some(name)),
        Spot::Item { of } => (of, None),
    };
    let mut node = &root;
    for (nth, name) in below.iter().enumerate() {
        match field(node, name)? {
            Some(found) => node = found,
            None => {
                // All that is missing goes in as one value.
                let inner =
                    last.map_or_else(|| Value::Array(vec![value.clone()]), |name| object(name, value));
                let whole = below[nth + 1..].iter().rev().fold(inner, |value, name| object(name, &value));
                return Ok(style.insert(node, Some(name), &whole));
            }
        }
    }
    match last {
        Some(name) => match field(node, name)? {
            Some(found) => Ok(style.replace(found, value)),
            None => Ok(style.insert(node, Some(name), value)),
        },
        None => {
            let items = node.items().ok_or_else(|| Unfit(format!("{} is not a list", below.join("."))))?;
            match items.iter().find(|item| is_ours(&item.value())) {
                Some(found) => Ok(style.replace(found, value)),
                None => Ok(style.insert(node, None, value)),
            }
        }
    }
}

/// The same text without what is ours, and without what then holds nothing; `None` if nothing is left at all.
pub fn take(text: &str, spot: Spot<'_>, is_ours: &dyn Fn(&Value) -> bool) -> Result<Option<String>, Unfit> {
    if text.trim().is_empty() {
        return Ok(Some(text.to_owned()));
    }
    let (root, relaxed) = read(text)?;
    let (below, last) = match spot {
        Spot::Member { below, name } => (below, Some(name)),
        Spot::Item { of } => (of, None),
    };
    let mut chain = vec![&root];
    for name in below {
        match chain.last().and_then(|node| node.get(name)) {
            Some(found) => chain.push(found),
            None => return Ok(Some(text.to_owned())),
        }
    }
    let node = chain[chain.len() - 1];
    let found = match last {
        Some(name) => node.entries().and_then(|entries| entries.iter().position(|(known, _)| known == name)),
        None => node.items().and_then(|items| items.iter().position(|item| is_ours(&item.value()))),
    };
    let Some(mut nth) = found else { return Ok(Some(text.to_owned())) };
    // As long as it was the only one, what held it goes with it.
    while let Some(node) = chain.pop() {
        let spans = spans(node);
        let within = if chain.is_empty() { 0..text.len() } else { node.at.clone() };
        let is_commented = relaxed.comments.iter().any(|at| within.start <= at.start && at.end <= within.end);
        if spans.len() > 1 || is_commented {
            return Ok(Some(without(text, &relaxed, &spans, nth)));
        }
        let Some(outer) = chain.last() else { break };
        let inside =
            |entries: &[(String, Node)]| entries.iter().position(|(_, inner)| std::ptr::eq(inner, node));
        nth = outer.entries().and_then(inside).unwrap_or(0);
    }
    Ok(None)
}

/// The same text with a part of ours between two lines that mark it, at its end or where it was.
pub fn put_block(text: &str, (begin, end): (&str, &str), body: &str) -> String {
    let block = format!("{begin}\n{}\n{end}\n", body.trim_end());
    match block_in(text, (begin, end)) {
        Some(at) => format!("{}{block}{}", &text[..at.start], &text[at.end..]),
        None if text.is_empty() => block,
        None => format!("{text}\n{block}"),
    }
}

/// The same text without that part; `None` if nothing is left.
pub fn take_block(text: &str, marks: (&str, &str)) -> Option<String> {
    let Some(at) = block_in(text, marks) else { return Some(text.to_owned()) };
    let (before, after) = (&text[..at.start], &text[at.end..]);
    // The end of the line that came with it.
    let before = before.strip_suffix('\n').unwrap_or(before);
    let left = format!("{before}{after}");
    (!left.is_empty()).then_some(left)
}

/// Whether a file still is TOML, with a part of ours in it.
pub fn is_toml(text: &str) -> Result<(), Unfit> {
    let said = |no: &toml::de::Error| match no.span() {
        Some(at) => Unfit(format!("line {}: {}", place(text, at.start).0, no.message())),
        None => Unfit(no.message().to_owned()),
    };
    toml::from_str::<toml::Table>(text).map(drop).map_err(|no| said(&no))
}

fn block_in(text: &str, (begin, end): (&str, &str)) -> Option<Range<usize>> {
    let (mut at, mut start) = (0, None);
    for line in text.split_inclusive('\n') {
        let (said, here) = (line.trim_end(), at);
        at += line.len();
        if said == begin {
            start = Some(here);
        } else if let (true, Some(start)) = (said == end, start) {
            return Some(start..at);
        }
    }
    None
}

/// The same text without one of these, and without the comma that came with it. Comments stay.
fn without(text: &str, relaxed: &Relaxed, spans: &[Range<usize>], nth: usize) -> String {
    let own = &spans[nth];
    let comma_in = |at: Range<usize>| relaxed.plain[at.clone()].find(',').map(|comma| at.start + comma);
    let blank_before = text[..own.start].trim_end().len();
    let (comma, cut) = match (relaxed.comma_behind(own.end), spans.get(nth + 1)) {
        // The first of several goes with what is between it and the next.
        (None, Some(next)) if nth == 0 => {
            let comma = comma_in(own.end..next.start).unwrap_or(own.end);
            let blank_behind = text[comma + 1..].len() - text[comma + 1..].trim_start().len();
            return format!(
                "{}{}{}",
                &text[..own.start],
                &text[own.end..comma],
                &text[comma + 1 + blank_behind..]
            );
        }
        (Some(behind), _) => (Some(behind), blank_before..own.end),
        (None, _) => {
            let before = nth.checked_sub(1).and_then(|before| comma_in(spans[before].end..own.start));
            (before, blank_before..own.end)
        }
    };
    // What follows in its line must not become part of a comment that runs to the end of the line.
    let is_comment = |at: &Range<usize>| at.end == blank_before && text[at.clone()].starts_with("//");
    let ends_line = relaxed.plain[own.end..].trim_start_matches([' ', '\t', ',']).starts_with(['\n', '\r']);
    let cut = if relaxed.comments.iter().any(is_comment) && !ends_line { own.clone() } else { cut };
    let stays = |at: usize| Some(at) != comma && !cut.contains(&at);
    text.char_indices().filter(|(at, _)| stays(*at)).map(|(_, letter)| letter).collect()
}

/// What a file says, comments left out.
fn read(text: &str) -> Result<(Node, Relaxed), Unfit> {
    let said = |what: &str, at: usize| Unfit(format!("line {}: {what}", place(text, at).0));
    let relaxed = Relaxed::of(text);
    let (root, twice) = json::parse(&relaxed.plain).map_err(|no| said(&no.message, no.span.start))?;
    if let Some(twice) = twice.first() {
        return Err(said(&twice.message, twice.span.start));
    }
    match root.kind {
        Kind::Object(_) => Ok((root, relaxed)),
        _ => Err(Unfit(format!("it holds {}, not an object", root.name()))),
    }
}

/// What an object has under a name, whatever it is.
fn field<'n>(node: &'n Node, name: &str) -> Result<Option<&'n Node>, Unfit> {
    let entries = node
        .entries()
        .ok_or_else(|| Unfit(format!("expected an object with `{name}`, found {}", node.name())))?;
    Ok(entries.iter().find(|(known, _)| known == name).map(|(_, node)| node))
}

fn object(name: &str, value: &Value) -> Value {
    Value::Object([(name.to_owned(), value.clone())].into_iter().collect())
}

/// Where the members or items of a node stand, names with their quotation marks included.
fn spans(node: &Node) -> Vec<Range<usize>> {
    match &node.kind {
        Kind::Object(entries) => {
            entries.iter().map(|(_, node)| node.name_at.start - 1..node.at.end).collect()
        }
        Kind::List(items) => items.iter().map(|item| item.at.clone()).collect(),
        _ => Vec::new(),
    }
}

/// How a file is laid out.
struct Style<'t> {
    text: &'t str,
    relaxed: &'t Relaxed,
    indent: &'t str,
    newline: &'static str,
}

impl<'t> Style<'t> {
    fn of(text: &'t str, relaxed: &'t Relaxed, root: &Node) -> Style<'t> {
        let first = spans(root).first().map(|at| indent_at(text, at.start)).unwrap_or_default();
        Style {
            text,
            relaxed,
            indent: first.filter(|indent| !indent.is_empty()).unwrap_or("  "),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    fn replace(&self, node: &Node, value: &Value) -> String {
        if node.value() == *value {
            return self.text.to_owned();
        }
        let written = match indent_of_line(self.text, node.at.start) {
            indent if self.text[node.at.clone()].contains('\n') => self.pretty(value, indent),
            _ => value.to_string(),
        };
        format!("{}{written}{}", &self.text[..node.at.start], &self.text[node.at.end..])
    }

    /// As the last one of an object or a list, laid out like those before it.
    fn insert(&self, node: &Node, name: Option<&str>, value: &Value) -> String {
        let named = |written: String| match name {
            Some(name) => format!("{}: {written}", Value::from(name)),
            None => written,
        };
        let newline = self.newline;
        let Some(last) = spans(node).pop() else {
            let outer = indent_of_line(self.text, node.at.start);
            let indent = format!("{outer}{}", self.indent);
            let inner = named(self.pretty(value, &indent));
            // What stands between the brackets already is comments.
            let between = self.text[node.at.start + 1..node.at.end - 1].trim_end();
            let (open, close) = if name.is_some() { ('{', '}') } else { ('[', ']') };
            let new = format!("{open}{between}{newline}{indent}{inner}{newline}{outer}{close}");
            return format!("{}{new}{}", &self.text[..node.at.start], &self.text[node.at.end..]);
        };
        let there = self.relaxed.comma_behind(last.end);
        let behind = there.map_or(last.end, |comma| comma + 1);
        let (at, new) = match indent_at(self.text, last.start) {
            Some(indent) => {
                let written = format!("{newline}{indent}{}", named(self.pretty(value, indent)));
                (self.end_of_line(behind), written)
            }
            None => (behind, format!(" {}", named(value.to_string()))),
        };
        let (before, after) = if there.is_some() { ("", ",") } else { (",", "") };
        let (text, rest) = (&self.text[..last.end], &self.text[last.end..at]);
        format!("{text}{before}{rest}{new}{after}{}", &self.text[at..])
    }

    /// Behind the comments that follow in the same line.
    fn end_of_line(&self, from: usize) -> usize {
        let line = self.text[from..].split('\n').next().unwrap_or_default();
        let is_free = self.relaxed.plain[from..from + line.len()].trim().is_empty();
        if is_free { self.relaxed.out_of_comment(from + line.trim_end().len()) } else { from }
    }

    fn pretty(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let mut serializer =
            Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(self.indent.as_bytes()));
        value.serialize(&mut serializer).expect("a value can be written");
        let written = String::from_utf8(bytes).expect("JSON is text");
        written.replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// The white space at the beginning of a line, if nothing else stands before this place in it.
fn indent_at(text: &str, at: usize) -> Option<&str> {
    let start = text[..at].rfind('\n')? + 1;
    let before = &text[start..at];
    before.trim().is_empty().then_some(before)
}

fn indent_of_line(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MEMBER: Spot<'_> = Spot::Member { below: &["mcpServers"], name: "piton" };
    const ITEM: Spot<'_> = Spot::Item { of: &["hooks", "Stop"] };

    fn ours(value: &Value) -> bool {
        value.to_string().contains("piton")
    }

    #[test]
    fn what_was_put_in_is_taken_out_to_the_byte() {
        let server = json!({ "command": "piton", "args": ["mcp"] });
        let hook = json!({ "hooks": [{ "command": "piton hook stop" }] });
        for text in [
            "{\n  \"a\": 1\n}\n",
            "{\"a\":1}",
            "{\r\n\t\"a\": [1,\r\n2],\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}",
            "{\n    \"hooks\": {\"Stop\": [{\"x\": 1}], \"b\": 2},\n\n    \"z\": \"é\"   }  \n",
            "{ \"mcpServers\": { \"x\": 1 , \"y\": 2 } }\n",
        ] {
            let with = put(text, MEMBER, &server, &ours).expect(text);
            let with = put(&with, ITEM, &hook, &ours).expect(text);
            let read: Value = serde_json::from_str(&with).unwrap_or_else(|error| panic!("{error}: {with}"));
            assert_eq!(read["mcpServers"]["piton"], server, "{with}");
            assert_eq!(read["hooks"]["Stop"].as_array().and_then(|all| all.last()), Some(&hook), "{with}");
            let again = put(&put(&with, MEMBER, &server, &ours).expect("fits"), ITEM, &hook, &ours);
            assert_eq!(again.expect("fits"), with, "twice is once");
            let without = take(&with, ITEM, &ours).expect("fits").expect("there is more");
            let without = take(&without, MEMBER, &ours).expect("fits").expect("there is more");
            assert_eq!(without, text);
        }
        let only = put("", ITEM, &hook, &ours).expect("a new file");
        insta::assert_snapshot!(only, @r#"
        {
          "hooks": {
            "Stop": [
              {
                "hooks": [
                  {
                    "command": "piton hook stop"
                  }
                ]
              }
            ]
          }
        }
        "#);
        assert_eq!(take(&only, ITEM, &ours), Ok(None), "nothing is left of it");
    }

    #[test]
    fn comments_stay_where_they_are() {
        let server = json!({ "command": "piton" });
        for text in [
            "// servers\n{\n  // all of them\n  \"mcpServers\": {\n    \"x\": {} // the \"first\"\n    // more?\n  }\n}\n",
            "{\n  \"mcpServers\": {\n    \"x\": \"https://x/*\", /* a\n    b */\n  },\n}\n",
            "{\n  \"mcpServers\": {\n    \"x\": 1, // a\n    \"y\": [1, 2,],\n  }, // b\n}",
            "{ // none yet\n}\n",
            "{ \"mcpServers\": { /* a */ \"x\": 1 /* b */ } }\n",
        ] {
            let with = put(text, MEMBER, &server, &ours).expect(text);
            let read: Value = serde_json::from_str(&Relaxed::of(&with).plain)
                .unwrap_or_else(|error| panic!("{error}: {with}"));
            assert_eq!(read["mcpServers"]["piton"], server, "{with}");
            assert_eq!(put(&with, MEMBER, &server, &ours).as_ref(), Ok(&with), "twice is once");
            for comment in &Relaxed::of(text).comments {
                assert!(with.contains(&text[comment.clone()]), "{with}");
            }
            let left = take(&with, MEMBER, &ours).expect("fits").expect("comments are left");
            assert_eq!(left, text, "{with}");
        }
        let last = "{\n  \"mcpServers\": {\n    \"piton\": 1, // ours\n    \"x\": 2\n  }\n}\n";
        let left = take(last, MEMBER, &ours).expect("fits").expect("there is more");
        insta::assert_snapshot!(left, @r#"
        {
          "mcpServers": {
            // ours
            "x": 2
          }
        }
        "#);
    }

    #[test]
    fn a_comma_with_nothing_before_it_is_refused() {
        for text in ["{, }", "{,}", "{\"hooks\": {\"Stop\": [ , ]}}", "{\"a\": 1,, }"] {
            assert!(put(text, MEMBER, &json!("piton"), &ours).is_err(), "{text}");
            assert!(put(text, ITEM, &json!("piton"), &ours).is_err(), "{text}");
        }
    }

    #[test]
    fn what_an_earlier_version_wrote_is_replaced_where_it_stands() {
        let text = "{\n  \"hooks\": {\n    \"Stop\": [\n      \"piton old\",\n      \"x\"\n    ]\n  }\n}\n";
        let with = put(text, ITEM, &json!("piton new"), &ours).expect("fits");
        assert_eq!(with, text.replace("old", "new"));
    }

    #[test]
    fn a_file_that_says_something_else_is_left_alone() {
        for (text, why) in [
            ("[1]", "it holds a list, not an object"),
            ("{ /* so\n}", "line 1: "),
            ("{\"mcpServers\": 5}", "expected an object with `piton`, found a number"),
            ("{\"a\": 1, \"a\": 2}", "line 1: "),
            ("{", "line 1: the file breaks off in the middle"),
        ] {
            let said = put(text, MEMBER, &json!(1), &ours).expect_err(text).to_string();
            assert!(said.starts_with(why), "{text}: {said}");
        }
    }

    #[test]
    fn a_block_comes_and_goes() {
        let marks = ("# piton: begin", "# piton: end");
        for text in ["", "a = 1\n", "a = 1", "a\n\n\n"] {
            let with = put_block(text, marks, "b = 2\n");
            assert_eq!(put_block(&with, marks, "b = 2"), with);
            let newer = put_block(&with, marks, "b = 3");
            assert!(newer.contains("b = 3") && !newer.contains("b = 2"), "{newer}");
            assert_eq!(take_block(&with, marks).unwrap_or_default(), text, "{with:?}");
            assert_eq!(take_block(&format!("{with}c\n"), marks), Some(format!("{text}c\n")), "{with:?}");
        }
        assert_eq!(take_block("a\n\n# piton: begin\nb\n# piton: end\n", marks).as_deref(), Some("a\n"));
        assert_eq!(take_block("a\n# piton: begin\n", marks).as_deref(), Some("a\n# piton: begin\n"));
    }
}
