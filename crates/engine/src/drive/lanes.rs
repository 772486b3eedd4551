//! Lanes: which checks of a proof run beside each other, and how many of all proofs do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use piton_core::plan::Digest;

/// How many checks of proofs may be running.
#[derive(Debug, Default)]
pub(super) struct Lanes(AtomicUsize);

/// Left when it is dropped.
#[derive(Debug)]
pub(super) struct Lane(Arc<Lanes>);

impl Lanes {
    pub(super) fn in_use(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Each proof has one.
    pub(super) fn enter(self: &Arc<Lanes>) -> Lane {
        self.0.fetch_add(1, Ordering::Relaxed);
        Lane(Arc::clone(self))
    }

    /// It has more while fewer than `most` are in use.
    pub(super) fn enter_below(self: &Arc<Lanes>, most: usize) -> Option<Lane> {
        let more = |now: usize| (now < most).then_some(now + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Lane(Arc::clone(self)))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Which checks run one after the other, in one worktree: a check may need what the ones of its task before it have left
/// there. So the checks of a task stay together, and those of tasks that have a command in common. `open`: what is to run.
/// The first lane is that of the first list.
pub(super) fn split(
    open: &[usize],
    digest: impl Fn(usize) -> Digest,
    by_task: &[BTreeSet<Digest>],
) -> Vec<Vec<usize>> {
    let mut kept_together: Vec<BTreeSet<Digest>> = Vec::new();
    for checks in by_task {
        let mut all = checks.clone();
        let mut place = kept_together.len();
        for at in (0..kept_together.len()).rev() {
            if !kept_together[at].is_disjoint(&all) {
                all.append(&mut kept_together.remove(at));
                place = at;
            }
        }
        kept_together.insert(place, all);
    }
    let mut lanes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &at in open {
        let check = digest(at);
        let lane = kept_together.iter().position(|checks| checks.contains(&check)).unwrap_or(0);
        lanes.entry(lane).or_default().push(at);
    }
    lanes.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks are numbers here. `by_task`: the first list is that of the task that is proven, with the landing checks.
    fn lanes(open: &[usize], by_task: &[&[usize]]) -> Vec<Vec<usize>> {
        let digest = |check: usize| Digest::of(&check);
        let set = |checks: &&[usize]| checks.iter().map(|check| digest(*check)).collect();
        split(open, digest, &by_task.iter().map(set).collect::<Vec<_>>())
    }

    #[test]
    fn the_checks_of_a_task_run_one_after_the_other_and_those_of_others_beside_them() {
        assert_eq!(lanes(&[4, 5, 1, 2, 9], &[&[1, 2, 9], &[4, 5]]), [vec![1, 2, 9], vec![4, 5]]);
        assert_eq!(lanes(&[5, 2], &[&[1, 2, 9], &[4, 5]]), [[2], [5]]);
        assert!(lanes(&[], &[&[1], &[2]]).is_empty());
    }

    #[test]
    fn tasks_that_have_a_command_in_common_are_kept_together() {
        assert_eq!(lanes(&[1, 2, 3, 4], &[&[1, 2], &[3], &[1, 4]]), [vec![1, 2, 4], vec![3]]);
        let joined = lanes(&[1, 2, 3, 4], &[&[1], &[2], &[3, 4], &[2, 3]]);
        assert_eq!(joined, [vec![1], vec![2, 3, 4]], "the last has something of both before it");
    }
}
