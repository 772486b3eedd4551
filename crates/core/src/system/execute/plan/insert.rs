//! Adds to a JSON text with its own layout: what is there stays, what is added looks like it.

use std::ops::Range;

use crate::order::Arrange;
use crate::system::kit::json::Node;

/// Changes of one document, carried out together.
#[derive(Debug)]
pub(super) struct Edits<'t> {
    document: &'t str,
    edits: Vec<(Range<usize>, String)>,
}

/// How the parts of a list or an object are set apart.
#[derive(Clone, Debug)]
struct Layout {
    open: String,
    between: String,
    close: String,
}

impl<'t> Edits<'t> {
    pub(super) fn new(document: &'t str) -> Edits<'t> {
        Edits { document, edits: Vec::new() }
    }

    /// The document as it is now, if anything changes.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        self.edits.arrange_by_key(|(at, _)| at.start);
        let mut text = self.document.to_owned();
        for (at, new) in self.edits.into_iter().rev() {
            text.replace_range(at, &new);
        }
        Some(text)
    }

    pub(super) fn replace(&mut self, node: &Node, new: &str) {
        self.edits.push((node.at.clone(), new.to_owned()));
    }

    /// Another item at the end of a list.
    pub(super) fn push(&mut self, list: &Node, item: &str) {
        let places: Vec<_> = list.items().unwrap_or_default().iter().map(|item| item.at.clone()).collect();
        self.grow(list, &places, item);
    }

    /// Another entry at the end of an object; `value` is JSON.
    pub(super) fn put(&mut self, object: &Node, name: &str, value: &str) {
        let entries = object.entries().unwrap_or_default();
        let places = places(entries);
        self.grow(object, &places, &format!("{}: {value}", quoted(name)));
    }

    fn grow(&mut self, parent: &Node, places: &[Range<usize>], text: &str) {
        let Layout { between, .. } = self.layout(parent, places);
        match places.last() {
            Some(last) => self.edits.push((last.end..last.end, format!("{between}{text}"))),
            None => {
                let inside = parent.at.start + 1;
                self.edits.push((inside..inside, text.to_owned()));
            }
        }
    }

    /// An object like another one: of the names it has, those that `value` knows, and those that must be there.
    pub(super) fn like(
        &self,
        model: Option<&Node>,
        must: &[&str],
        value: impl Fn(&str) -> Option<String>,
    ) -> String {
        let entries = model.and_then(Node::entries).unwrap_or_default();
        let mut names: Vec<&str> = Vec::new();
        for name in entries.iter().map(|(name, _)| name.as_str()).chain(must.iter().copied()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let places = places(entries);
        let plain = Layout { open: String::new(), between: ", ".to_owned(), close: String::new() };
        let Layout { open, between, close } = model.map_or(plain, |model| self.layout(model, &places));
        let entries: Vec<String> = names
            .into_iter()
            .filter_map(|name| Some(format!("{}: {}", quoted(name), value(name)?)))
            .collect();
        format!("{{{open}{}{close}}}", entries.join(&between))
    }

    /// What stands between the brackets and the parts, which lie (for objects: end) at `places`.
    fn layout(&self, parent: &Node, places: &[Range<usize>]) -> Layout {
        let blank = |from: usize| {
            let rest = &self.document[from..];
            let end = rest.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(rest.len());
            rest[..end].to_owned()
        };
        let open = blank(parent.at.start + 1);
        let after_comma = |last: &Range<usize>| {
            let before = blank(last.end);
            let comma = last.end + before.len();
            format!("{before},{}", blank(comma + 1))
        };
        let between = match places {
            [.., one, _] => after_comma(one),
            _ if open.is_empty() => ", ".to_owned(),
            _ => format!(",{open}"),
        };
        let close = places.last().map_or_else(String::new, |last| blank(last.end));
        Layout { open, between, close }
    }
}

/// Where the values of an object stand, from its beginning to its end.
fn places(entries: &[(String, Node)]) -> Vec<Range<usize>> {
    let mut places: Vec<_> = entries.iter().map(|(_, value)| value.at.clone()).collect();
    places.arrange_by_key(|at| at.start);
    places
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
