//! Differences as people and programs read them: the same text whatever the user has set up.

use piton_core::plan::{Oid, RepoPath};

use super::command::lossy;
use super::error::GitError;
use super::repo::Repo;

/// Each takes the place of a setting, such as `diff.noprefix`, `diff.context` or `diff.orderFile`. Those without an option
/// are pinned for every call.
const OPTIONS: &[&str] = &[
    "--patch",
    // The columns of no terminal.
    "--stat=80",
    "--stat-name-width=0",
    "--stat-graph-width=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--find-renames",
    "-l1000",
    "-O/dev/null",
    "--submodule=short",
    "--ignore-submodules=none",
    "--no-relative",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
];

/// A difference, or its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    pub text: String,
    /// There is more.
    pub is_cut: bool,
}

impl Repo {
    /// The difference as people read it, without these files and folders, and of it at most so many bytes of whole lines.
    pub fn diff_text(&self, from: &Oid, to: &Oid, but: &[RepoPath], most: usize) -> Result<Patch, GitError> {
        let call = self.git().call(["diff"]).args(OPTIONS).args([from.as_str(), to.as_str(), "--"]);
        let all = (!but.is_empty()).then(|| ":(top)".to_owned());
        let but = but.iter().map(|path| format!(":(top,exclude,literal){path}"));
        let call = call.args(all.into_iter().chain(but)).env("GIT_LITERAL_PATHSPECS", "0");
        let (mut bytes, is_cut) = call.first_bytes(most)?;
        if is_cut {
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes.truncate(whole);
        }
        Ok(Patch { text: lossy(&bytes), is_cut })
    }
}
