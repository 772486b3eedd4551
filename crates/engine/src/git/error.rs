//! What can go wrong with git, in words a person understands.

use std::io;

use camino::Utf8PathBuf;
use piton_core::plan::Oid;

use super::command::Version;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("the program `{program}` was not found: install git {need} or newer")]
    Missing { program: String, need: Version },
    #[error("git {found} is too old: Piton needs {need} or newer")]
    TooOld { found: Version, need: Version },
    #[error("{path} is not in a git repository")]
    NotARepository { path: Utf8PathBuf },
    #[error("{path} is a bare repository: run Piton in a checkout of it")]
    Bare { path: Utf8PathBuf },
    #[error("the repository at {path} has no commit yet: make a first one (git commit --allow-empty)")]
    EmptyRepository { path: Utf8PathBuf },
    #[error("{path} is not on a branch (detached HEAD): check one out, or name the target branch")]
    DetachedHead { path: Utf8PathBuf },
    #[error("`{0}` is not a valid name for a git ref")]
    BadName(String),
    #[error("`{0}` is not an author of the form `Name <email>`")]
    BadAuthor(String),
    #[error("`{0}` is not a commit here")]
    UnknownRevision(String),
    #[error("the two commits have no common history: {ours} and {theirs}")]
    Unrelated { ours: Oid, theirs: Oid },
    #[error(
        "{path} is not empty and not a worktree of this repository: move it away or choose another folder"
    )]
    ForeignFolder { path: Utf8PathBuf },
    #[error(
        "{path} was left alone: {why}. Put the folder back that Piton made there, or move away what is there now"
    )]
    Swapped { path: Utf8PathBuf, why: String },
    #[error("{path} lies inside another repository ({repository}): choose another folder for worktrees")]
    ForeignRepository { path: Utf8PathBuf, repository: Utf8PathBuf },
    #[error("{worktree} contains other git repositories, whose commits may exist only there: {}", paths.join(", "))]
    NestedRepositories { worktree: Utf8PathBuf, paths: Vec<String> },
    #[error("{path} is locked{why}: `git worktree unlock` unlocks it")]
    Locked { path: Utf8PathBuf, why: String },
    #[error("conflict markers are left in {}", files.join(", "))]
    ConflictMarkers { files: Vec<String> },
    #[error("conflicts without markers are not resolved (use git add or git rm): {}", files.join(", "))]
    Undecided { files: Vec<String> },
    #[error("branch `{branch}` is checked out in {path}")]
    BranchCheckedOut { branch: String, path: Utf8PathBuf },
    #[error("branch `{branch}` is not where it was expected: it {}", at(found.as_ref()))]
    BranchMoved { branch: String, found: Option<Oid> },
    #[error("the lease is for another branch or repository than this landing")]
    WrongLease,
    #[error("git {args} failed ({status}): {stderr}")]
    Failed { args: String, status: String, stderr: String },
    #[error(
        "a commit could not be signed, as `commit.gpgSign` asks for: {stderr}. `git config piton.sign false` lets Piton commit without a signature"
    )]
    NotSigned { stderr: String },
    #[error("git {args} was killed ({status})")]
    Killed { args: String, status: String },
    #[error("git {args} answered something Piton does not understand: {answer}")]
    Unexpected { args: String, answer: String },
    #[error(
        "the disk could not save {path} ({source}): what is there may be damaged. Check the disk, and run `git fsck` before `piton retry`"
    )]
    NotKept { path: Utf8PathBuf, source: io::Error },
    #[error("{path}, where Piton keeps what was there before each attempt, is damaged")]
    DamagedStore { path: Utf8PathBuf },
    #[error("the path {0} is not UTF-8")]
    NotUtf8(String),
    #[error("{path}: {source}")]
    Io { path: Utf8PathBuf, source: io::Error },
}

impl GitError {
    /// A git process of ours was killed: its action can be repeated.
    pub fn is_kill(&self) -> bool {
        matches!(self, GitError::Killed { .. })
    }

    pub(crate) fn io(path: impl Into<Utf8PathBuf>) -> impl FnOnce(io::Error) -> GitError {
        let path = path.into();
        move |source| GitError::Io { path, source }
    }
}

fn at(found: Option<&Oid>) -> String {
    found.map_or_else(|| "does not exist".to_owned(), |oid| format!("is at {oid}"))
}
