//! What was committed by hand: where a checkout stands, and which files the commits since then have changed.

use camino::Utf8Path;
use piton_core::plan::Oid;

use super::command::{lossy, oid};
use super::error::GitError;
use super::repo::Repo;

/// At most so many commits are read. An agent that makes more for one task can name them.
const MOST: &str = "--max-count=200";

impl Repo {
    /// The commit that is checked out there; `None` on a branch without one.
    pub fn head_of(&self, checkout: &Utf8Path) -> Result<Option<Oid>, GitError> {
        let git = self.git().at(checkout);
        let answer = git.call(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).answer()?;
        Ok(oid(lossy(&answer.stdout).trim_end()))
    }

    /// What was committed between the two, oldest first, each with the files that it changed. What a merge brought in
    /// counts as the merge's.
    pub fn made_since(&self, base: &Oid, tip: &Oid) -> Result<Vec<(Oid, Vec<String>)>, GitError> {
        if base == tip {
            return Ok(Vec::new());
        }
        let range = format!("{base}..{tip}");
        let call =
            self.git().call(["-c", "core.quotePath=false", "log", "--first-parent", "-m", "--reverse"]);
        let call = call.args(["--no-renames", "--name-only", "--no-show-signature", "--format=%x00%H", MOST]);
        let list = call.args(["--end-of-options", range.as_str(), "--"]).bytes()?;
        Ok(read_made(&list))
    }
}

/// Entries that begin with a zero and a hash, each with its files in lines.
fn read_made(list: &[u8]) -> Vec<(Oid, Vec<String>)> {
    let entry = |text: &[u8]| {
        let text = lossy(text);
        let mut lines = text.lines().filter(|line| !line.is_empty());
        let commit = oid(lines.next()?)?;
        Some((commit, lines.map(str::to_owned).collect()))
    };
    list.split(|byte| *byte == 0).filter_map(entry).collect()
}
