//! The worktrees of a run as a whole: what goes when the run is complete.

use camino::Utf8Path;

use super::{Loop, context};
use crate::check_worktrees::Pool;
use crate::clock;
use crate::git::{RefChange, Repo};
use crate::slots::SlotPool;

impl Loop<'_> {
    /// The worktrees for checks, and the folder of worktrees if that was the last of it. And the pin of a change of the
    /// project's description, which the journal knows of by now.
    pub(super) fn tidy(&self, repo: &Repo, dir: &Utf8Path) {
        let Some(run) = self.state.run() else { return };
        let pool = Pool { project: &self.site.project, repo, run: &run.id, dir };
        let since = clock::system_time(run.created);
        let removed = repo.despite_kills(
            run.id.as_str(),
            since,
            |()| true,
            || {
                if let Ok(unpin) = RefChange::unpin(&context::pin_name(&run.id)) {
                    // A pin too much does no harm: the next engine that ends here takes it away.
                    let _ = repo.change_refs(&[unpin]);
                }
                // Slots first: the folder of worktrees goes with the last of them.
                let slots =
                    SlotPool { project: &self.site.project, repo, dir, setup: &run.settings.worktree };
                let _ = slots.trim(true);
                pool.remove();
                if repo.has_lost_a_process() { Err(()) } else { Ok(()) }
            },
        );
        // What cannot be removed now is named by `piton clean`.
        let _ = removed;
    }
}
