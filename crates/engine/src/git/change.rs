//! Fingerprints of what commits change: the same change on another base has the same fingerprint.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

use piton_core::plan::{Digest, Oid};

use super::command::{lossy, oid, portions};
use super::error::GitError;
use super::repo::Repo;

/// Options for a complete patch that does not depend on the user's git configuration.
const PATCH: &[&str] = &[
    "--patch",
    "--full-index",
    "--binary",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

impl Repo {
    /// What lies between two commits, as one change; `None`: nothing.
    pub fn change(&self, from: &Oid, to: &Oid) -> Result<Option<Digest>, GitError> {
        let call = self.git().call(["diff-tree", "-r"]).args(PATCH);
        Ok(fingerprint(call.args([from.as_str(), to.as_str()]).bytes()?.split(|byte| *byte == b'\n')))
    }

    /// The change of each commit that `tip` has and `known` has not; for a merge, relative to its first parent. Commits
    /// that change nothing, or none of `files` if any are named, are left out.
    pub fn changes_beyond(
        &self,
        known: &Oid,
        tip: &Oid,
        files: &[String],
    ) -> Result<HashMap<Oid, Digest>, GitError> {
        let call = self.git().call(["log", "--format=commit %H", "--no-show-signature", "--full-diff"]);
        let call = call.arg("--diff-merges=first-parent").args(PATCH);
        // All of them, if these are more than a command line holds.
        let files = if portions(files).count() == 1 { files } else { &[] };
        let call = call.args([tip.as_str(), "--not", known.as_str(), "--"]).args(files);
        Ok(read_changes(&call.bytes()?))
    }

    /// Whether the commits that `old` has and `tip` has not were replaced by others, each with the same change: by
    /// a rebase, or by amending a message.
    pub fn is_rewritten(&self, old: &Oid, tip: &Oid) -> Result<bool, GitError> {
        let both = format!("{old}...{tip}");
        let call = self.git().call(["rev-list", "--no-merges", "--cherry-pick", "--left-only", &both, "--"]);
        Ok(call.line()?.is_empty())
    }

    /// Whether every file that differs between `from` and `to` is at `tip` as it was at `from`.
    pub fn is_taken_back(&self, from: &Oid, to: &Oid, tip: &Oid) -> Result<bool, GitError> {
        let made = self.differences(from, to)?;
        let now = self.differences(from, tip)?;
        let now: HashSet<&OsString> = now.iter().map(|found| &found.path).collect();
        Ok(made.iter().filter(|found| found.is_of_file()).all(|found| !now.contains(&found.path)))
    }
}

/// Patches, each behind a line that names its commit. No line of a patch begins like that one.
pub(super) fn read_changes(list: &[u8]) -> HashMap<Oid, Digest> {
    let lines: Vec<&[u8]> = list.split(|byte| *byte == b'\n').collect();
    let named = |line: &[u8]| line.strip_prefix(b"commit ").and_then(|id| oid(&lossy(id)));
    let mut found = HashMap::new();
    for part in lines.chunk_by(|_, next| named(next).is_none()) {
        let Some((first, patch)) = part.split_first() else { continue };
        if let (Some(id), Some(change)) = (named(first), fingerprint(patch.iter().copied())) {
            found.insert(id, change);
        }
    }
    found
}

/// Of a patch without the numbers of its lines and objects, which depend on the base.
fn fingerprint<'a>(patch: impl Iterator<Item = &'a [u8]>) -> Option<Digest> {
    let mut text = Vec::new();
    for line in patch.filter(|line| !line.is_empty() && !line.starts_with(b"index ")) {
        let line = if line.starts_with(b"@@ ") { b"@@" } else { line };
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    if text.is_empty() { None } else { Some(Digest::of_bytes(&text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";
    const C: &str = "3333333333333333333333333333333333333333";

    fn changes(list: &str) -> [Option<Digest>; 3] {
        let found = read_changes(list.as_bytes());
        [A, B, C].map(|id| found.get(&Oid::new(id).expect("hex")).cloned())
    }

    #[test]
    fn the_place_of_a_change_does_not_matter_and_every_sign_of_it_does() {
        let patch = |at: &str, line: &str| {
            format!(
                "\ndiff --git a/f b/f\nindex {at}..{at} 100644\n--- a/f\n+++ b/f\n@@ -{at} +{at} @@ fn f\n-x\n+{line}\n"
            )
        };
        let list = format!(
            "commit {A}\n{}commit {B}\n{}commit {C}\n{}",
            patch("1", "a b"),
            patch("22", "a b"),
            patch("1", "a  b")
        );
        let [a, b, c] = changes(&list);
        assert!(a.is_some() && a == b && a != c && c.is_some());
    }

    #[test]
    fn a_commit_that_changes_nothing_has_no_change() {
        assert_eq!(changes(&format!("commit {A}\n\ncommit {B}\n")), [None, None, None]);
        assert_eq!(changes(""), [None, None, None]);
    }

    /// Lines of a file begin with a sign in a patch.
    #[test]
    fn a_file_that_reads_like_the_list_is_a_file() {
        let [a, b, _] = changes(&format!("commit {A}\n\n+commit {B}\n+index 1\n"));
        assert!(a.is_some() && b.is_none());
    }
}
