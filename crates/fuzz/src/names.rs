//! Ids and paths: once validated they cannot hurt, whatever they came from.

use std::cmp::Ordering;

use piton_core::plan::{GroupId, Oid, RepoPath, RunId, TaskId};

use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "..",
    "../",
    "./",
    "/",
    "\\",
    "-",
    "--",
    "C:",
    "con",
    "COM1",
    "nul.txt",
    ".lock",
    "@{",
    "T1",
    "T01",
    "T10",
    "\u{7}",
    "\u{0}",
    "\u{202e}",
    "\u{85}",
    "~",
    "00",
    "99999999999999999999",
    "L1-002",
    "a.b",
    "#",
    "é",
    "0123456789abcdef0123456789abcdef01234567",
];

/// Lines are names; the first three are ordered against each other.
pub(crate) fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut ids = Vec::new();
    for line in text.split('\n').take(50) {
        if let Ok(id) = same(|| TaskId::new(line)) {
            assert_eq!(id.as_str(), line);
            safe_name(line);
            read_back(&id);
            ids.push(id);
        }
        // One rule for all three kinds of names.
        let fine = TaskId::new(line).is_ok();
        assert_eq!(fine, RunId::new(line).is_ok());
        assert_eq!(fine, GroupId::new(line).is_ok());
        if let Ok(oid) = Oid::new(line) {
            assert!(oid.short().len() == 10 && line.bytes().all(|b| b.is_ascii_hexdigit()));
            read_back(&oid);
        }
        if let Ok(path) = same(|| RepoPath::new(line)) {
            safe_path(path.as_str());
            read_back(&path);
            assert_eq!(RepoPath::new(path.as_str()).as_ref(), Ok(&path), "a path is its own spelling");
        }
    }
    for a in ids.iter().take(3) {
        for b in ids.iter().take(3) {
            assert_eq!(a.cmp(b), b.cmp(a).reverse());
            assert_eq!(a.cmp(b) == Ordering::Equal, a == b);
            for c in ids.iter().take(3) {
                assert!(!(a <= b && b <= c) || a <= c, "{a} {b} {c}");
            }
        }
    }
}

fn read_back<T>(value: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).expect("a name can be written");
    assert_eq!(serde_json::from_str::<T>(&text).as_ref().ok(), Some(value));
}

/// One path component, one ref component, one argument.
pub(crate) fn safe_name(name: &str) {
    assert!(!name.is_empty() && name.len() <= 100, "{name:?}");
    assert!(!name.starts_with(['-', '.']) && !name.contains(".."), "{name:?}");
    assert!(
        name.bytes().all(|b| b.is_ascii_graphic() && !b"/\\:*?[]^~\"'`$&|;<>(){}!%".contains(&b)),
        "{name:?}"
    );
    assert!(!name.ends_with('.') && !name.to_ascii_lowercase().ends_with(".lock"), "{name:?}");
}

/// Inside the project, and no option.
pub(crate) fn safe_path(path: &str) {
    assert!(!path.is_empty() && !path.starts_with(['/', '-']) && !path.contains('\\'), "{path:?}");
    assert!(path.split('/').all(|part| part != ".."), "{path:?}");
    assert!(!path.chars().any(char::is_control), "{path:?}");
    assert!(path.as_bytes().get(1) != Some(&b':'), "{path:?}");
}
