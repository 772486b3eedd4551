//! Files in which git keeps refs: what is not plain is left to git.

use piton_core::plan::Oid;
use piton_engine::git::answers;

use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "# pack-refs with: peeled fully-peeled sorted \n",
    "0123456789abcdef0123456789abcdef01234567 refs/heads/main\n",
    "0123456789abcdef0123456789abcdef01234567",
    "0000000000000000000000000000000000000000",
    "^0123456789abcdef0123456789abcdef01234567\n",
    "ref: refs/heads/main\n",
    "ref:",
    "refs/heads/a",
    "refs/remotes/origin/HEAD",
    " ",
    "/",
    "..",
    ".lock",
    "@{",
    "\u{2003}",
    "\u{0}",
    "\u{0}refs/heads/x\u{0}",
    "\t",
    "\r\n",
    "\n",
];

/// Up to the first NUL it is `packed-refs`; then a name and its file take turns.
pub(crate) fn refs(bytes: &[u8]) {
    let mut fields = bytes.split(|byte| *byte == 0);
    let packed = fields.next().unwrap_or_default();
    let rest: Vec<&[u8]> = fields.collect();
    let loose: Vec<(String, &[u8])> = rest
        .chunks_exact(2)
        .take(20)
        .map(|pair| (String::from_utf8_lossy(pair[0]).into_owned(), pair[1]))
        .collect();

    if let Some(all) = same(|| answers::refs(packed, &[])) {
        let written: String = all.iter().map(|(name, id)| format!("{id} {name}\n")).collect();
        assert_eq!(answers::refs(written.as_bytes(), &[]).as_ref(), Some(&all), "read back");
        let told = packed.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#"));
        let lines: Vec<&[u8]> = told.collect();
        for (name, id) in &all {
            let whole = format!("{id} {name}\n");
            assert!(lines.contains(&whole.as_bytes()), "{whole:?} is a line of it, from end to end");
        }
    }
    let Some(all) = same(|| answers::refs(packed, &loose)) else { return };
    for (name, id) in &all {
        assert!(name.starts_with("refs/") && !name.contains(".."), "{name:?}");
        assert!(!name.bytes().any(|byte| byte.is_ascii_control() || byte == b' '), "{name:?}");
        assert!(id.as_str().len() == 40 && id.as_str().bytes().any(|digit| digit != b'0'), "{id}");
    }
    for (name, file) in &loose {
        let last = loose.iter().rfind(|(other, _)| other == name).is_some_and(|(_, other)| other == file);
        // A file of its own counts, whatever is packed.
        match std::str::from_utf8(file).map(|text| text.trim_end_matches([' ', '\t', '\r', '\n'])) {
            Ok(text) if last && !text.starts_with("ref:") => {
                assert_eq!(all.get(name).map(Oid::as_str), Some(text));
            }
            _ => {}
        }
    }
}
