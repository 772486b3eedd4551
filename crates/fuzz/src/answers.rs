//! What git prints. Names of files in it may be any bytes but NUL.

use piton_engine::git::answers;

use crate::same;

pub(crate) const WORDS: &[&str] = &[
    "\u{0}",
    "1 .M N... 100644 100644 100644 ",
    "u UU N... 100644 100644 100644 100644 ",
    "? ",
    "# branch.oid ",
    "# branch.head main",
    "(detached)",
    "worktree /x",
    "HEAD ",
    "branch refs/heads/",
    "bare",
    "locked",
    "prunable ",
    "0123456789abcdef0123456789abcdef01234567",
    "0000000000000000000000000000000000000000",
    "100644 ",
    "160000 ",
    "000000 ",
    "\t",
    "CONFLICT (contents)",
    "Auto-merging",
    "refs/piton/",
    "git version 2.",
    "1800000000 ",
    "<<<<<<< x\n",
    "=======\n",
    ">>>>>>> y\n",
    "18446744073709551615",
    ":100644 ",
    " A\u{0}",
    "M\u{0}",
    "commit 0123456789abcdef0123456789abcdef01234567\n",
    "@@ -1 +1 @@\n",
    "This reverts commit 0123",
];

pub(crate) fn git(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let fields = bytes.split(|byte| *byte == 0).count();

    let status = same(|| answers::status(bytes));
    assert!(status.dirty.len() + status.untracked.len() + status.nested.len() <= fields);
    assert!(status.unmerged.iter().all(|path| status.dirty.contains(path)));
    assert_eq!(status.is_clean(), status.dirty.is_empty() && status.untracked.is_empty());

    let checkouts = same(|| answers::checkouts(bytes));
    assert!(checkouts.len() <= fields);
    assert!(
        checkouts.iter().filter_map(|c| c.head.as_ref()).all(|head| head.as_str().bytes().any(|b| b != b'0'))
    );

    let entries = same(|| answers::entries(bytes));
    let written: Vec<u8> = entries
        .iter()
        .flat_map(|(mode, oid, path)| {
            let mut line = format!("{mode} {oid} 0\t").into_bytes();
            line.extend(path.as_encoded_bytes());
            line.push(0);
            line
        })
        .collect();
    assert_eq!(answers::entries(&written), entries, "entries read back");

    let (files, _) = same(|| answers::conflicts(bytes));
    assert!(files.len() <= fields);
    for (path, old, new) in same(|| answers::differences(bytes)) {
        assert!(!path.as_encoded_bytes().contains(&0));
        assert!([old, new].iter().flatten().all(|(mode, _)| mode != "000000"));
    }
    assert!(same(|| answers::landed(bytes, "run")).len() <= fields);
    assert!(same(|| answers::history(bytes)).len() <= fields);
    for (_, names) in same(|| answers::reverts(bytes)) {
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"commit "));
    assert!(same(|| answers::changes(bytes)).len() <= lines.count());
    for pin in same(|| answers::pins(&text)) {
        assert!(!pin.name.starts_with("refs/piton/") || text.contains("refs/piton/refs/piton/"));
    }
    for kept in same(|| answers::rescued(&text)) {
        let line = format!("{} {} {} {}", kept.commit, kept.time.as_second(), kept.name, kept.subject);
        assert_eq!(answers::rescued(&line), [kept], "{line:?}");
    }
    same(|| answers::version(&text));
    same(|| answers::has_markers(bytes));
}
