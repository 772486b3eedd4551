//! Texts in JSON files that people, models and programs wrote: any character may be in them.

use std::ops::Range;

use super::json::{Kind, Node};
use super::problems::{Problems, cut};
use crate::plan::RepoPath;

/// A text that people and agents are to read, without the space around it and without what no terminal should get.
pub(in crate::system) fn readable(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

/// The same as one line.
pub(in crate::system) fn one_line(text: &str) -> String {
    readable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What an object has under a name, if that is a text and not empty.
pub(in crate::system) fn text_of(object: &Node, name: &str) -> Option<String> {
    object.get(name).and_then(Node::text).map(readable).filter(|text| !text.is_empty())
}

/// What a value says as a list of texts: a text is a list of one. Numbers count as texts.
pub(in crate::system) fn texts(node: &Node) -> Vec<(String, Range<usize>)> {
    let text = |node: &Node| {
        let said = match &node.kind {
            Kind::Text(text) => readable(text),
            Kind::Number(number) => number.to_string(),
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Object(_) => return None,
        };
        (!said.is_empty()).then(|| (said, node.at.clone()))
    };
    match &node.kind {
        Kind::List(items) => items.iter().filter_map(text).collect(),
        _ => text(node).into_iter().collect(),
    }
}

/// The files of the project that a value names, as a text or a list of texts.
pub(in crate::system) fn project_files(node: &Node, found: &mut Problems) -> Vec<String> {
    let mut files = Vec::new();
    for (path, at) in texts(node) {
        match RepoPath::new(&path) {
            Ok(_) => files.push(path),
            Err(reason) => {
                let message = format!("{:?} cannot be a file of the project: {reason}", cut(&path));
                found.repair(at, message, "left out");
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::kit::json;

    #[test]
    fn control_characters_are_left_out() {
        assert_eq!(readable(" a\r\nb\u{0}\u{1b}[31m\tc\r"), "a\nb[31m\tc");
        assert_eq!(one_line("\u{0} a\n\n b\tc "), "a b c");
    }

    #[test]
    fn a_text_is_a_list_of_one() {
        let said = |text: &str| -> Vec<String> {
            let (root, _) = json::parse(text).expect("JSON");
            texts(&root).into_iter().map(|(text, _)| text).collect()
        };
        assert_eq!(said("[\"a\", 1, \" \", null, {}, \"b\"]"), ["a", "1", "b"]);
        assert_eq!(said("\"a\""), ["a"]);
        assert_eq!(said("{}"), [""; 0]);
    }
}
