//! Which task is in which layer.

use std::collections::{BTreeSet, VecDeque};

/// Who waits for whom, by position. What is needed is in an earlier layer.
pub(super) struct Layered {
    pub(super) needs: Vec<Vec<u32>>,
    pub(super) dependents: Vec<Vec<u32>>,
    pub(super) layers: Vec<u32>,
}

impl Layered {
    /// By the longest path. Plans have no circles, but the groups of a plan may: an edge that would go back is left out.
    pub(super) fn new(mut needs: Vec<Vec<u32>>) -> Layered {
        let count = needs.len();
        for (at, needs) in needs.iter_mut().enumerate() {
            needs.retain(|&need| need as usize != at);
            needs.sort_unstable();
            needs.dedup();
        }
        let mut dependents = reversed(&needs);
        let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
        let mut layers = vec![0; count];
        let mut is_placed = vec![false; count];
        let mut free: VecDeque<usize> = (0..count).filter(|&at| missing[at] == 0).collect();
        let mut first_open = 0;
        loop {
            while let Some(at) = free.pop_front() {
                is_placed[at] = true;
                for &next in &dependents[at] {
                    let next = next as usize;
                    if is_placed[next] {
                        continue;
                    }
                    layers[next] = layers[next].max(layers[at] + 1);
                    missing[next] = missing[next].saturating_sub(1);
                    if missing[next] == 0 {
                        free.push_back(next);
                    }
                }
            }
            while first_open < count && is_placed[first_open] {
                first_open += 1;
            }
            if first_open == count {
                break;
            }
            let broken = in_a_circle(first_open, &needs, &is_placed);
            // Its other needs do not count it down any more.
            missing[broken] = 0;
            free.push_back(broken);
        }
        for (at, needs) in needs.iter_mut().enumerate() {
            needs.retain(|&need| layers[need as usize] < layers[at]);
        }
        dependents = reversed(&needs);
        Layered { needs, dependents, layers }
    }

    pub(super) fn depth(&self) -> usize {
        self.layers.iter().max().map_or(0, |&deepest| deepest as usize + 1)
    }
}

fn reversed(needs: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut dependents = vec![Vec::new(); needs.len()];
    for (at, needs) in (0_u32..).zip(needs) {
        needs.iter().for_each(|&need| dependents[need as usize].push(at));
    }
    dependents
}

/// The first node of a circle that this one waits for, or is part of.
fn in_a_circle(from: usize, needs: &[Vec<u32>], is_placed: &[bool]) -> usize {
    let next = |at: usize| needs[at].iter().map(|&need| need as usize).find(|&need| !is_placed[need]);
    let mut seen = BTreeSet::new();
    let mut at = from;
    while seen.insert(at) {
        match next(at) {
            Some(need) => at = need,
            None => return at,
        }
    }
    let around = std::iter::successors(next(at), |&step| next(step).filter(|_| step != at));
    around.min().unwrap_or(at)
}
