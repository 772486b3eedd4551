//! Files of git-lfs that belong to a push. Git itself would have them uploaded by a hook, and Piton runs none.

use std::io::Write;

use piton_core::plan::Oid;

use super::command::{lossy, oid};
use super::error::GitError;
use super::repo::Repo;

/// What git has in place of a large file begins with this, and is shorter than that.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n";
const LONGEST: &str = "blob:limit=1024";
/// So many files are uploaded by one command: their names have to fit into its arguments.
const PORTION: usize = 500;

impl Repo {
    /// Whether files at this commit are kept by git-lfs, as their attributes say.
    pub fn uses_lfs(&self, commit: &Oid) -> Result<bool, GitError> {
        let call = self.git().call(["grep", "--quiet", "-e", "filter=lfs", commit.as_str(), "--"]);
        let call = call.arg(":(glob)**/.gitattributes").env("GIT_LITERAL_PATHSPECS", "0");
        let answer = call.answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.failed()),
        }
    }

    /// Whether git-lfs is installed.
    pub fn has_lfs(&self) -> Result<bool, GitError> {
        Ok(self.git().call(["lfs", "version"]).answer()?.code == Some(0))
    }

    /// Upload the files of git-lfs that `commit` has and `base`, which the remote has, does not.
    pub fn push_lfs(&self, remote: &str, commit: &Oid, base: &Oid) -> Result<(), GitError> {
        for portion in self.pointers(commit, base)?.chunks(PORTION) {
            self.talking(["lfs", "push", "--object-id", super::remote::remote_name(remote)?])?
                .args(portion)
                .run()?;
        }
        Ok(())
    }

    /// The ids, in git-lfs, of the large files that are new between two commits.
    fn pointers(&self, commit: &Oid, base: &Oid) -> Result<Vec<String>, GitError> {
        let filter = format!("--filter=combine:object:type=blob+{LONGEST}");
        let list = ["rev-list", "--objects", "--no-object-names", &filter, "--filter-provided-objects"];
        let blobs = lossy(&self.git().call(list).args([commit.as_str(), &format!("^{base}")]).bytes()?);
        let blobs: String = blobs.lines().filter_map(oid).map(|blob| format!("{blob}\n")).collect();
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let asked = tempfile::tempfile_in(self.common_dir())
            .and_then(|mut file| file.write_all(blobs.as_bytes()).map(|()| file))
            .map_err(GitError::io(self.common_dir()))?;
        let mut ids = pointers_in(&self.git().call(["cat-file", "--batch"]).fed_by(asked).bytes()?);
        ids.sort();
        ids.dedup();
        Ok(ids)
    }
}

/// The ids in the pointers among these files, as `git cat-file --batch` prints files.
fn pointers_in(mut answer: &[u8]) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(end) = answer.iter().position(|byte| *byte == b'\n') {
        let head = lossy(&answer[..end]);
        let size = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        // A line without a size: the object is missing.
        let Some(size) = size else {
            answer = &answer[end + 1..];
            continue;
        };
        let Some(text) = answer.get(end + 1..end + 1 + size) else { break };
        ids.extend(std::str::from_utf8(text).ok().and_then(pointer));
        answer = answer.get(end + size + 2..).unwrap_or_default();
    }
    ids
}

/// The id of the large file that a pointer stands for, if it is one.
fn pointer(text: &str) -> Option<String> {
    let id = text.strip_prefix(POINTER)?.lines().find_map(|line| line.strip_prefix("oid sha256:"))?;
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_found_among_other_files() {
        let id = "d1".repeat(32);
        let pointer = format!("{POINTER}oid sha256:{id}\nsize 5\n");
        let forged = format!("{POINTER}oid sha256:--all\nsize 5\n");
        let name = "a".repeat(40);
        let file = |text: &str| format!("{name} blob {}\n{text}\n", text.len());
        let answer =
            [&file("plain\n"), &file(&pointer), &format!("{name} missing\n"), &file(&forged), &file("")];
        let answer: String = answer.into_iter().map(String::as_str).collect();
        assert_eq!(pointers_in(answer.as_bytes()), [id]);
        assert_eq!(pointers_in(b"cut blob 9\nabc"), Vec::<String>::new());
    }
}
