//! The graph of dependencies: levels, readable cycles, and the critical path.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{TaskId, TaskSpec};

/// Dependencies that all exist and form no cycle, by position in the plan.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Tasks that wait for each task.
    pub dependents: Vec<Vec<usize>>,
    /// The longest chain of dependencies before each task: 0 for one that waits for nothing.
    pub levels: Vec<u32>,
    /// The first dependency that no task of the plan is: whose it is, and which of its dependencies.
    pub unknown: Option<(usize, usize)>,
    order: Vec<usize>,
}

/// The ids around a cycle: each depends on the next, the last on the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<TaskId>);

impl Cycle {
    /// How many of its tasks are named. The middle of a longer cycle is left out.
    const SHOWN: usize = 13;

    /// From the task that stands first in the plan: that one, what it waits for, and the whole way round.
    pub fn describe(self, position: impl Fn(&TaskId) -> usize) -> Option<(TaskId, TaskId, String)> {
        let Cycle(mut ids) = self;
        let first = (0..ids.len()).min_by_key(|&nth| position(&ids[nth]))?;
        ids.rotate_left(first);
        let start = ids.first()?.clone();
        let next = ids.get(1).unwrap_or(&start).clone();
        ids.push(start.clone());
        let mut names: Vec<String> = ids.iter().map(TaskId::to_string).collect();
        if names.len() > Cycle::SHOWN + 1 {
            let hidden = names.len() - Cycle::SHOWN;
            names.splice(7..7 + hidden, [format!("… {hidden} more …")]);
        }
        Some((start, next, names.join(" → ")))
    }
}

impl Graph {
    /// Dependencies on ids that are not in `tasks` are left out.
    pub fn new(tasks: &[TaskSpec]) -> Result<Graph, Cycle> {
        let position: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(i, t)| (&t.id, i)).collect();
        let mut unknown = None;
        let mut dependencies = Vec::with_capacity(tasks.len());
        for (nth, task) in tasks.iter().enumerate() {
            let mut needs = Vec::with_capacity(task.depends_on.len());
            for (place, id) in task.depends_on.iter().enumerate() {
                match position.get(id) {
                    Some(need) => needs.push(*need),
                    None => unknown = unknown.or(Some((nth, place))),
                }
            }
            needs.sort_unstable();
            needs.dedup();
            dependencies.push(needs);
        }
        let mut dependents = vec![Vec::new(); tasks.len()];
        for (task, needs) in dependencies.iter().enumerate() {
            for &need in needs {
                dependents[need].push(task);
            }
        }
        let mut missing: Vec<usize> = dependencies.iter().map(Vec::len).collect();
        let mut levels = vec![0; tasks.len()];
        let mut order = Vec::with_capacity(tasks.len());
        let mut free: VecDeque<usize> = (0..tasks.len()).filter(|&i| missing[i] == 0).collect();
        while let Some(task) = free.pop_front() {
            order.push(task);
            for &next in &dependents[task] {
                levels[next] = levels[next].max(levels[task] + 1);
                missing[next] -= 1;
                if missing[next] == 0 {
                    free.push_back(next);
                }
            }
        }
        if order.len() < tasks.len() {
            return Err(find_cycle(tasks, &dependencies, &missing));
        }
        Ok(Graph { dependents, levels, unknown, order })
    }

    /// How many tasks the longest chain behind each one has: what is to start first, when there are few slots.
    pub fn tails(&self) -> Vec<u32> {
        let mut tails = vec![0; self.levels.len()];
        for &task in self.order.iter().rev() {
            tails[task] = self.dependents[task].iter().map(|&next| tails[next] + 1).max().unwrap_or(0);
        }
        tails
    }

    /// The heaviest chain from start to end, with its weight. Ties go to the earlier task.
    pub fn critical_path(&self, weight: impl Fn(usize) -> u64) -> (Vec<usize>, u64) {
        let mut best: BTreeMap<usize, (u64, Option<usize>)> = BTreeMap::new();
        for &task in self.order.iter().rev() {
            let after = self.dependents[task]
                .iter()
                .map(|next| (best[next].0, *next))
                .max_by_key(|&(w, next)| (w, std::cmp::Reverse(next)));
            best.insert(task, (weight(task) + after.map_or(0, |(w, _)| w), after.map(|(_, next)| next)));
        }
        let start =
            best.iter().max_by_key(|&(&task, &(w, _))| (w, std::cmp::Reverse(task))).map(|(&task, _)| task);
        let total = start.map_or(0, |task| best[&task].0);
        let path = std::iter::successors(start, |task| best[task].1).collect();
        (path, total)
    }
}

/// Walk from any task that never became free along others like it, until one comes up twice.
fn find_cycle(tasks: &[TaskSpec], dependencies: &[Vec<usize>], missing: &[usize]) -> Cycle {
    let mut at = missing.iter().position(|&n| n > 0).unwrap_or(0);
    let mut seen = Vec::new();
    let mut visited = vec![None; tasks.len()];
    loop {
        if let Some(from) = visited[at] {
            return Cycle(seen[from..].iter().map(|&i: &usize| tasks[i].id.clone()).collect());
        }
        visited[at] = Some(seen.len());
        seen.push(at);
        // A task that never became free waits for another that never did, so there is a next step.
        match dependencies[at].iter().find(|&&need| missing[need] > 0) {
            Some(&need) => at = need,
            None => return Cycle(vec![tasks[at].id.clone()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::native::testing::tasks;
    use proptest::prelude::*;

    #[test]
    fn levels_and_critical_path() {
        let tasks = tasks(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["c", "b"]), ("e", &[])]);
        let graph = Graph::new(&tasks).expect("no cycle");
        assert_eq!(graph.levels, [0, 1, 1, 2, 0]);
        assert_eq!(graph.tails(), [2, 1, 1, 0, 0]);
        assert_eq!(graph.critical_path(|_| 1), (vec![0, 1, 3], 3));
        assert_eq!(graph.critical_path(|task| if task == 4 { 9 } else { 1 }), (vec![4], 9));
    }

    #[test]
    fn a_cycle_is_told_in_order() {
        let tasks = tasks(&[("z", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("y", &["y"])]);
        assert_eq!(format!("{:?}", Graph::new(&tasks).expect_err("cycle")), "Cycle([a, b, c])");
    }

    proptest! {
        /// petgraph as the oracle: we find a cycle exactly when it does, and ours is a real one.
        #[test]
        fn agrees_with_petgraph(edges in prop::collection::vec((0usize..12, 0usize..12), 0..24)) {
            let names: Vec<String> = (0..12).map(|i| format!("t{i}")).collect();
            let needs: Vec<Vec<&str>> = (0..12)
                .map(|i| edges.iter().filter(|e| e.0 == i).map(|e| names[e.1].as_str()).collect())
                .collect();
            let pairs: Vec<(&str, &[&str])> = names.iter().zip(&needs).map(|(n, d)| (n.as_str(), d.as_slice())).collect();
            let tasks = tasks(&pairs);
            let oracle = petgraph::graph::DiGraph::<(), ()>::from_edges(edges.iter().map(|&(a, b)| (a as u32, b as u32)));
            match Graph::new(&tasks) {
                Ok(graph) => {
                    prop_assert!(!petgraph::algo::is_cyclic_directed(&oracle));
                    for &(task, need) in &edges {
                        prop_assert!(graph.levels[task] > graph.levels[need]);
                    }
                }
                Err(Cycle(ids)) => {
                    prop_assert!(petgraph::algo::is_cyclic_directed(&oracle));
                    for (i, id) in ids.iter().enumerate() {
                        let next = &ids[(i + 1) % ids.len()];
                        let task = tasks.iter().find(|t| &t.id == id).expect("known");
                        prop_assert!(task.depends_on.contains(next));
                    }
                }
            }
        }
    }
}
