//! The worktrees of a run as a whole: who waits for one, which are made ahead, and what goes when the run is complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::TaskId;
use piton_core::run::Action;
use piton_core::slots::is_one_wanted_ahead;

use super::{Loop, context};
use crate::check_worktrees::Pool;
use crate::clock;
use crate::git::{RefChange, Repo};
use crate::slots::{self, SlotPool, SlotState};

/// So long a task waits for a slot that is being cleared. A new one takes about as long where a project is large.
const PATIENCE: Duration = Duration::from_secs(2);

/// A slot that is made before a task asks for it: one at a time, in a thread of its own, which ends with this.
#[derive(Default)]
pub(super) struct SlotMaker {
    making: Option<JoinHandle<()>>,
    is_unwanted: Arc<AtomicBool>,
    /// One could not be made: the task that needs it finds out why.
    has_failed: Arc<AtomicBool>,
}

impl SlotMaker {
    /// Make no more, and wait until nobody is at it.
    pub(super) fn stop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
        if let Some(making) = self.making.take() {
            // One that panicked has left a slot that is removed as one of a killed engine is.
            let _ = making.join();
        }
    }

    fn is_busy(&self) -> bool {
        self.making.as_ref().is_some_and(|making| !making.is_finished())
    }
}

impl Drop for SlotMaker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Loop<'_> {
    /// Whether the next task had better work in the slot of one that is over than in a new one.
    pub(super) fn leaves_much(&self, task: &TaskId) -> bool {
        let (Some(repo), Some(run)) = (&self.site.repo, self.state.run()) else { return false };
        let (project, setup) = (&self.site.project, &run.settings.worktree);
        let Some(dir) = run.worktree_dir.as_ref().map(Utf8Path::new) else { return false };
        let name = project.worktree_path(&run.id, dir, setup.place(task));
        !self.is_proven(task)
            && name.is_ok_and(|name| slots::saves_time(repo, &slots::place_of(project, &name), setup))
    }

    /// Whether a task that has no worktree yet had better wait for one that is being cleared.
    pub(super) fn awaits_slot(&mut self, task: &TaskId) -> bool {
        let project = &self.site.project;
        // Those that are about to take one. Who has done so already waits no longer than it takes them to begin.
        let taking = self.under_way.keys().filter(|action| matches!(action, Action::Prepare { .. })).count();
        let waits = self.state.run().is_some_and(|run| {
            let setup = &run.settings.worktree;
            let Some(dir) = run.worktree_dir.as_ref().map(Utf8Path::new) else { return false };
            let name = project.worktree_path(&run.id, dir, setup.place(task));
            slots::is_used(setup)
                && !run.settings.no_commits
                && name.is_ok_and(|name| slots::place_of(project, &name) == name)
                && slots::free(project, dir) <= taking
        });
        if !waits {
            self.awaiting_slot.remove(task);
            return false;
        }
        let since = self.awaiting_slot.entry(task.clone()).or_insert_with(Instant::now);
        since.elapsed() < PATIENCE
    }

    /// Make a slot with the main checkout's caches, if more tasks will run at once than there are slots. Only where there
    /// are caches to copy: else a slot that a task leaves is warmer than a new one.
    pub(super) fn prepare_slots_ahead(&mut self) {
        if self.slot_maker.is_busy()
            || self.slot_maker.has_failed.load(Ordering::Relaxed)
            || self.begins_nothing
        {
            return;
        }
        let is_cleaning = self.under_way.keys().any(|action| matches!(action, Action::Clean { .. }));
        let (Some(repo), Some(run)) = (&self.site.repo, self.state.run()) else { return };
        let setup = &run.settings.worktree;
        let (Some(dir), Some(target)) = (&run.worktree_dir, &run.target) else { return };
        let is_for_it = slots::is_used(setup) && !setup.warm.is_empty() && !run.settings.no_commits;
        if !is_for_it || run.stop.is_some() || is_cleaning || self.is_starting_agents() {
            return;
        }
        let dir = Utf8PathBuf::from(dir);
        let slots = slots::all(&self.site.project, &dir);
        let there = slots.iter().filter(|slot| slot.state != SlotState::Leftover).count();
        if !is_one_wanted_ahead(run.session.max_parallel as usize, self.state.soon_under_way(), there) {
            return;
        }
        let Ok(Some(tip)) = repo.branch_tip(target) else { return };
        let (site, run, setup) = (Arc::clone(&self.site), run.id.clone(), setup.clone());
        let (is_unwanted, has_failed) =
            (Arc::clone(&self.slot_maker.is_unwanted), Arc::clone(&self.slot_maker.has_failed));
        let make = move || {
            give_way();
            let Some(repo) = &site.repo else { return };
            let pool = SlotPool { project: &site.project, repo, dir: &dir, setup: &setup };
            // What an engine that was killed has left of one.
            let _ = pool.trim(false);
            let made = pool.make_ahead(&run, &tip, &|| is_unwanted.load(Ordering::Relaxed));
            has_failed.store(!matches!(made, Ok(true)), Ordering::Relaxed);
        };
        self.slot_maker.making = thread::Builder::new().name("slot".to_owned()).spawn(make).ok();
    }

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

/// Have the system run everything else first. The processes that this thread starts inherit it.
fn give_way() {
    // Elsewhere it would hold for the whole engine.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}
