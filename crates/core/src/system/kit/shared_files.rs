//! Tasks that may be worked on at once and name one file.

use std::collections::{BTreeMap, HashSet};

use crate::order::Arrange;
use crate::plan::{Graph, RepoPath, Schedule, Settings, TaskSpec};

/// Steps along dependencies spent on looking for a path between tasks that name the same file.
const STEPS: usize = 2_000_000;

/// Two tasks, by position, that may be worked on at once and name one file: the `nth` of the second.
#[derive(Clone, Copy, Debug)]
pub(in crate::system) struct Shared {
    pub(in crate::system) first: usize,
    pub(in crate::system) second: usize,
    pub(in crate::system) nth: usize,
}

/// Two tasks that may run at once and name the same file will probably meet in a conflict.
///
/// Tasks that name one file are safe if they form a chain. Sorted by level, they do exactly if each is reachable
/// from the one before it: so there is one question per task and file, not one per pair.
pub(in crate::system) fn shared_files(tasks: &[TaskSpec], graph: &Graph, settings: &Settings) -> Vec<Shared> {
    if settings.max_parallel == 1 {
        return Vec::new();
    }
    // The tasks that name each file of a group, with the place in their lists.
    let mut named: BTreeMap<(u32, &RepoPath), Vec<(usize, usize)>> = BTreeMap::new();
    for (task, spec) in tasks.iter().enumerate() {
        // Groups in order never overlap.
        let group = if settings.schedule == Schedule::Flow { 0 } else { spec.group };
        for (nth, file) in spec.files.iter().enumerate() {
            let users = named.entry((group, file)).or_default();
            if users.last().is_none_or(|&(last, _)| last != task) {
                users.push((task, nth));
            }
        }
    }
    let mut steps = STEPS;
    let mut shared = Vec::new();
    for mut users in named.into_values() {
        users.arrange_by_key(|&(task, _)| (graph.levels[task], task));
        let apart = users.windows(2).find(|pair| !reaches(graph, pair[0].0, pair[1].0, &mut steps));
        let Some(&[(one, nth_of_one), (two, nth_of_two)]) = apart else { continue };
        // Told at the later one, where the reader has seen the other.
        let (first, second, nth) = if one < two { (one, two, nth_of_two) } else { (two, one, nth_of_one) };
        shared.push(Shared { first, second, nth });
    }
    shared
}

/// Whether `to` waits for `from`, directly or not. When the steps are spent the answer is yes: no warning.
fn reaches(graph: &Graph, from: usize, to: usize, steps: &mut usize) -> bool {
    let goal = graph.levels[to];
    if graph.levels[from] >= goal {
        return false;
    }
    let mut seen = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(task) = open.pop() {
        for &next in &graph.dependents[task] {
            let Some(left) = steps.checked_sub(1) else { return true };
            *steps = left;
            if next == to {
                return true;
            }
            if graph.levels[next] < goal && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}
