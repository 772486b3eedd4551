//! Other programs' settings, in which a part is ours: all the rest stays as it is.

use piton_core::settings_file::{Spot, is_toml, put, put_block, take, take_block};
use serde_json::{Value, json};

use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "{}",
    "[]",
    "{\n  ",
    "\n}",
    "\"mcpServers\": {",
    "\"hooks\": {\"Stop\": [",
    "\"piton\": {}",
    "\"piton hook stop\"",
    "{\"a\": 1}",
    "null",
    ",",
    ", ",
    ",\n    ",
    "]}",
    "\t",
    "\r\n",
    "\u{feff}",
    "\\u00e9",
    "é",
    "1e400",
    "// x",
    "# piton: begin\n",
    "# piton: end\n",
    "# piton: begin",
    "[a]\nb = 1\n",
    "\n",
];

const MARKS: (&str, &str) = ("# piton: begin", "# piton: end");

pub(crate) fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let server = json!({ "command": "piton", "args": ["mcp"] });
    values(text, Spot::Member { below: &["mcpServers"], name: "piton" }, &server);
    values(
        text,
        Spot::Item { of: &["hooks", "Stop"] },
        &json!({ "hooks": [{ "command": "piton hook stop" }] }),
    );
    blocks(text);
}

fn is_ours(value: &Value) -> bool {
    value.to_string().contains("piton")
}

fn values(text: &str, spot: Spot<'_>, value: &Value) {
    let Ok(with) = same(|| put(text, spot, value, &is_ours)) else { return };
    assert_eq!(put(&with, spot, value, &is_ours).as_deref(), Ok(with.as_str()), "twice is once");
    // It is ours already, or there is nothing but white space.
    let bare = text.trim().is_empty();
    let Ok(Some(without)) = take(text, spot, &is_ours) else { return };
    let taken = take(&with, spot, &is_ours).expect("what was written can be read");
    // What holds nothing goes with what is ours; to put that back would be a guess.
    if without != text || bare || holds_nothing(text, spot) {
        return;
    }
    assert_eq!(taken.as_deref(), Some(text), "with it: {with}");
    let common = |one: &mut dyn Iterator<Item = u8>, other: &mut dyn Iterator<Item = u8>| {
        one.zip(other).take_while(|(one, other)| one == other).count()
    };
    let kept = common(&mut text.bytes(), &mut with.bytes())
        + common(&mut text.bytes().rev(), &mut with.bytes().rev());
    assert!(kept >= text.len(), "what is theirs stays to the byte: {with}");
}

/// Whether the value goes into something empty.
fn holds_nothing(text: &str, spot: Spot<'_>) -> bool {
    let Ok(mut value) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else {
        return true;
    };
    let (Spot::Member { below, .. } | Spot::Item { of: below }) = spot;
    let is_empty = |value: &Value| value == &json!({}) || value == &json!([]);
    for name in below {
        match value.get_mut(name) {
            Some(inner) => value = inner.take(),
            None => break,
        }
    }
    is_empty(&value)
}

fn blocks(text: &str) {
    let with = same(|| put_block(text, MARKS, "b = 2\n"));
    assert_eq!(put_block(&with, MARKS, "b = 2"), with, "twice is once");
    let newer = put_block(&with, MARKS, "b = 3");
    assert_eq!(put_block(&newer, MARKS, "b = 2"), with, "it is replaced where it stands");
    if take_block(text, MARKS).as_deref() == Some(text) {
        assert_eq!(take_block(&with, MARKS).unwrap_or_default(), text, "what is theirs stays to the byte");
    }
    assert_eq!(is_toml(text), is_toml(text));
}
