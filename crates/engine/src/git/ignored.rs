//! Files that git ignores in a project's checkout: a worktree lacks them.

use camino::Utf8Path;
use piton_core::plan::RepoPath;
use piton_core::survey::{Include, MOST_COPIED};

use super::command::{Call, Git, fields};
use super::error::GitError;
use super::repo::Repo;

/// The file that names those that a worktree gets, in the syntax of `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";
/// A longer one was not written by a person.
const LONGEST_INCLUDE: u64 = 1 << 16;
/// Names beyond this are not read: there may be a file for each of a million downloads.
const MOST_BYTES: usize = 1 << 20;

impl Repo {
    /// What git ignores in the checkout at `root`, and is there. Of a folder that is ignored as a whole only its name, with a
    /// `/` at its end.
    pub fn ignored_in(&self, root: &Utf8Path) -> Result<Vec<String>, GitError> {
        let git = self.git().at(root);
        let call = git.call(["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]);
        Ok(names(call)?.0)
    }

    /// The files that the `.worktreeinclude` of the checkout at `root` matches and that git ignores. `None`: it has none.
    /// In Piton's own repository no file is ignored by a person.
    pub fn included_in(&self, root: &Utf8Path) -> Result<Option<Include>, GitError> {
        let file = root.join(INCLUDE);
        let is_plain = |data: std::fs::Metadata| data.is_file() && data.len() <= LONGEST_INCLUDE;
        if self.is_own() || !file.symlink_metadata().is_ok_and(is_plain) {
            return Ok(None);
        }
        let git = self.git().at(root);
        let list = ["ls-files", "--others", "--ignored", "-z"];
        let (mut matched, was_cut) = names(git.call(list).arg(format!("--exclude-from={INCLUDE}")))?;
        let has_more = was_cut || matched.len() > MOST_COPIED;
        matched.truncate(MOST_COPIED);
        if matched.is_empty() {
            return Ok(Some(Include { files: Vec::new(), has_more }));
        }
        // What git would see as untracked is work, and not a file of this machine.
        let (mut files, _) = names(git.call(list).args(["--exclude-standard", "--"]).args(&matched))?;
        files.retain(|file| matched.contains(file) && RepoPath::new(file).is_ok());
        Ok(Some(Include { files, has_more }))
    }
}

/// Files of a checkout that no commit has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotInGit {
    pub ignored: Vec<String>,
    pub untracked: Vec<String>,
}

/// Which of these files, and of those below these folders, are in the checkout at `root` and not in git.
pub fn not_in_git(root: &Utf8Path, paths: &[String]) -> Result<NotInGit, GitError> {
    if paths.is_empty() || !root.join(".git").exists() {
        return Ok(NotInGit::default());
    }
    let git = Git::new(root);
    let list = |options: &[&str]| {
        let call = git.call(["ls-files", "--others", "-z"]).args(options.iter().copied());
        let (mut files, _) = names(call.args(["--"]).args(paths))?;
        files.retain(|file| RepoPath::new(file).is_ok());
        files.truncate(MOST_COPIED);
        Ok(files)
    };
    let untracked = list(&["--exclude-standard"])?;
    Ok(NotInGit { ignored: list(&["--ignored", "--exclude-standard"])?, untracked })
}

/// The names that a command lists, and whether there are more.
fn names(call: Call<'_>) -> Result<(Vec<String>, bool), GitError> {
    let (mut bytes, was_cut) = call.first_bytes(MOST_BYTES)?;
    if was_cut {
        let end = bytes.iter().rposition(|byte| *byte == 0).map_or(0, |end| end + 1);
        bytes.truncate(end);
    }
    let names = fields(&bytes).filter_map(|name| String::from_utf8(name.to_vec()).ok());
    Ok((names.collect(), was_cut))
}
