//! Secrets in output that comes in pieces.

use std::sync::Arc;

use piton_core::redact::{MARK, Redactor};

/// Values that overlap each other and themselves.
const VALUES: [&str; 4] = ["swordfish-1234", "fish-1234-abcd", "aaaaaaaaaa", "say \"friend\"\n and enter"];

pub(crate) const WORDS: &[&str] = &[
    "swordfish-1234",
    "swordfish-1234-abcd",
    "fish-",
    "aaaaaaaa",
    "say \"friend\"\n and enter",
    "say \\\"friend\\\"\\n and enter",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "sk-abcdefghijklmnopqrstuvwxyz0123",
    "task-",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9",
    ".eyJzdWIiOiIxMjM0NTY3ODkwIn0",
    ".",
    "-----BEGIN RSA PRIVATE KEY-----",
    "\nMIIEowIBAAKCAQEAx0123456789abcdefghijklmnopqrstuv\n",
    "[redacted]",
    "\u{1b}[31m",
    "\0",
    " ",
];

/// The first byte says how the rest is cut.
pub(crate) fn redact(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let redactor = Arc::new(Redactor::new(VALUES.map(str::to_owned)));
    let whole = redactor.bytes(bytes);
    let mut stream = redactor.stream();
    let pieces = bytes.chunks(usize::from(*cut).max(1));
    let mut out: Vec<u8> = pieces.flat_map(|piece| stream.push(piece)).collect();
    out.extend(stream.finish());
    assert_eq!(out, whole, "cutting changes something");
    for value in VALUES {
        assert!(!whole.windows(value.len()).any(|part| part == value.as_bytes()), "{value:?} survives");
    }
    // Outside of the marks nothing is lost, moved or made: the pieces between them stand in the input, in order.
    let mut rest = bytes;
    let text = String::from_utf8_lossy(&whole);
    for piece in text.split(MARK).filter(|piece| !piece.is_empty() && !piece.contains('\u{fffd}')) {
        let at = rest.windows(piece.len()).position(|part| part == piece.as_bytes());
        rest = &rest[at.expect("what is not secret passes unchanged") + piece.len()..];
    }
    if redactor.bytes(&whole) != whole {
        assert!(whole != bytes, "what was left alone is left alone again");
    }
}
