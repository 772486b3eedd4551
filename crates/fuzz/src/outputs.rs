//! What programs and people leave: output of test runners, and a project's description.

use piton_core::plan::TaskSpec;
use piton_core::runners::{counts, ran_none, reported_counts};
use piton_core::system::execute::context::{Skipped, fold};
use piton_core::terminal::clean_text;
use piton_core::time::Timestamp;
use serde_json::json;

use crate::same;

pub(crate) const SUMMARIES: &[&str] = &[
    "test result: ok. 3 passed; 1 failed; 2 ignored",
    "Summary [ 0.1s] 3/5 tests run: 2 passed (1 slow), 1 failed",
    "==== 1 failed, 2 passed in 0.12s ====",
    "no tests ran in 0.1s",
    "Tests:       1 failed, 2 passed, 3 total",
    "Tests  1 failed | 2 passed (3)",
    "# tests 3\n# pass 2\n",
    "=== RUN   TestA\n--- PASS: TestA (0.00s)",
    "ok  \ta\t0.1s",
    "?   \ta\t[no test files]",
    "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}",
    "<testsuite tests=\"0\">",
    "<testcase name=\"a\"/>",
    "<testcase>",
    "</testcase>",
    "<failure/>",
    "<![CDATA[",
    "\u{1b}[31m",
    "18446744073709551615",
    "\n",
];

pub(crate) fn runners(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = same(|| counts(&text));
    assert_eq!(found, counts(&clean_text(text.as_bytes())), "colours say nothing");
    assert!(!ran_none(&text) || found.is_some(), "what is unknown is not zero");
    assert!(found.is_none() || reported_counts(&text) == found, "people may say what runners do");
}

pub(crate) const BLOCKS: &[&str] = &[
    "<project-context version=\"1.0\">",
    "\n<project-context>",
    "</project-context>",
    "<meta>",
    "</meta>",
    "<last-updated>",
    "</last-updated>",
    "<last-context-hash/>",
    "<features>",
    "</features>",
    "<features/>",
    "<api-registry>",
    "</api-registry>",
    "<endpoint method='get' path=\"/a\"/>",
    "<schema-registry></schema-registry>",
    "<model name=\"Cart\"/>",
    "<!--",
    "-->",
    "&",
    "&amp;",
    "\n\t",
    "\r\n",
    "=\"",
    "'",
];

pub(crate) fn context(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let spec: TaskSpec = serde_json::from_value(json!({
        "id": "L1-001", "title": "t", "prompt": "p", "group": 0, "priority": 1, "agent": "a", "attempts": 1,
        "timeout": 1000, "files": ["src/a.rs"],
        "exports": [
            { "endpoint": { "method": "GET", "path": "/a" } },
            { "interface": { "name": "Cart", "kind": "model" } },
            { "interface": { "name": "CartService", "kind": "service" } },
        ],
    }))
    .expect("a task");
    let Ok(folded) = same(|| fold(text, &[&spec], "0123456789", Timestamp(0))) else { return };
    let (open, close) = ("<project-context", "</project-context");
    let before = &text[..text.find(open).expect("it has a block")];
    assert!(folded.text.starts_with(before), "what stands before the block stays");
    let after = &text[text.rfind(close).expect("it has an end")..];
    assert!(folded.text.ends_with(after), "what stands after it stays");
    let again = fold(&folded.text, &[&spec], "0123456789", Timestamp(0));
    assert_eq!(again, Err(Skipped::NothingNew), "nothing is entered twice: {}", folded.text);
}
