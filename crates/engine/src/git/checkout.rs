//! Making one of our own worktrees hold exactly one commit.

use piton_core::plan::Oid;

use super::error::GitError;
use super::worktree::Worktree;

impl Worktree {
    /// Make it exactly `oid`, on a detached HEAD. Tracked changes and untracked files are gone afterwards
    /// (rescue first); ignored files, such as build caches, and nested repositories stay.
    pub fn checkout_detached(&self, oid: &Oid) -> Result<(), GitError> {
        self.check_place()?;
        self.break_stale_lock()?;
        self.quit_operation()?;
        self.git().call(["checkout", "--quiet", "--force", "--detach", oid.as_str(), "--"]).run()?;
        // `checkout` leaves alone what the index calls unchanged; with a missing index that is everything.
        self.git().call(["reset", "--quiet", "--hard"]).run()?;
        self.git().call(["clean", "--quiet", "-d", "--force"]).run()
    }

    /// Forget a rebase or a series of picks that an agent left unfinished, keeping files and HEAD.
    pub(super) fn quit_operation(&self) -> Result<(), GitError> {
        let there = |name: &str| self.git_dir().join(name).exists();
        if there("rebase-apply/applying") {
            self.git().call(["am", "--quit"]).run()?;
        } else if there("rebase-merge") || there("rebase-apply") {
            self.git().call(["rebase", "--quit"]).run()?;
        }
        if there("sequencer") {
            self.git().call(["cherry-pick", "--quit"]).run()?;
        }
        Ok(())
    }
}
