//! Changes single values of a JSON text. Every other byte stays as it is.

use std::ops::Range;

use super::checklist;
use super::json::Node;

/// A place of a text and what is to stand there.
pub(in crate::system) type Change = (Range<usize>, String);

/// A change after which an object has this value, written as JSON, under this name. A name that it lacks is put before
/// its first one, in the manner of that. `None` for what is not an object or has nothing in it.
pub(in crate::system) fn set(text: &str, object: &Node, name: &str, value: &str) -> Option<Change> {
    let entries = object.entries()?;
    if let Some((_, known)) = entries.iter().find(|(key, _)| key == name) {
        return Some((known.at.clone(), value.to_owned()));
    }
    // The first name in the text, with its quote.
    let first = entries.iter().map(|(_, node)| node.name_at.start).min()?.checked_sub(1)?;
    let before = text.get(..first)?;
    let space = &before[before.trim_end_matches([' ', '\t', '\n', '\r']).len()..];
    Some((first..first, format!("\"{name}\": {value},{space}")))
}

/// The bytes with these changes. Lines that come with them end as those of the file do.
pub(in crate::system) fn write(bytes: &[u8], text: &str, mut changes: Vec<Change>) -> Option<Vec<u8>> {
    if bytes.windows(2).any(|pair| pair == b"\r\n") {
        changes.iter_mut().for_each(|(_, said)| *said = said.replace('\n', "\r\n"));
    }
    checklist::replace(bytes, text, &changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::kit::{json, text};

    /// The file after `passes` of its first object is set.
    fn passed(bytes: &[u8]) -> String {
        let decoded = text::decode(bytes);
        let (root, _) = json::parse(&decoded.text).expect("JSON");
        let object = root.items().and_then(<[Node]>::first).expect("an object");
        let change = set(&decoded.text, object, "passes", "true").expect("a place");
        let written = write(bytes, &decoded.text, vec![change]).expect("the same text");
        String::from_utf8(written).expect("text")
    }

    #[test]
    fn a_value_is_replaced_and_nothing_else_moves() {
        assert_eq!(
            passed(b"[ {\"a\":1 , \"passes\" :  false\t} ]  "),
            "[ {\"a\":1 , \"passes\" :  true\t} ]  "
        );
        assert_eq!(passed(b"[{\"passes\":null}]"), "[{\"passes\":true}]");
        assert_eq!(
            passed("[{\"ü\":\"\\u00fc\",\"passes\":0}]".as_bytes()),
            "[{\"ü\":\"\\u00fc\",\"passes\":true}]"
        );
    }

    #[test]
    fn a_missing_name_is_put_first_in_the_manner_of_the_object() {
        assert_eq!(
            passed(b"[\n  {\n    \"id\": 1\n  }\n]"),
            "[\n  {\n    \"passes\": true,\n    \"id\": 1\n  }\n]"
        );
        assert_eq!(passed(b"[{\"id\":1}]"), "[{\"passes\": true,\"id\":1}]");
        assert_eq!(
            passed(b"\xef\xbb\xbf[\r\n\t{\r\n\t\t\"id\": 1\r\n\t}\r\n]"),
            "\u{feff}[\r\n\t{\r\n\t\t\"passes\": true,\r\n\t\t\"id\": 1\r\n\t}\r\n]"
        );
    }

    #[test]
    fn of_a_name_that_is_there_twice_the_last_value_counts() {
        assert_eq!(passed(b"[{\"passes\":1,\"passes\":2}]"), "[{\"passes\":1,\"passes\":true}]");
    }

    #[test]
    fn an_empty_object_has_no_place() {
        let (root, _) = json::parse("{}").expect("JSON");
        assert_eq!(set("{}", &root, "passes", "true"), None);
    }
}
