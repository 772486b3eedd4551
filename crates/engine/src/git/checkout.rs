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
        let view = self.view()?;
        view.index().call(["reset", "--quiet", "--hard", oid.as_str()]).run()?;
        view.index().call(["clean", "--quiet", "-d", "--force"]).run()?;
        self.end_operation()?;
        self.take_over(&view)?;
        self.set_head(oid)
    }
}
