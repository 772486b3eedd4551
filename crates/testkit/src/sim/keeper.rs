//! Agents and their keepers. An outcome is on disk per task, fence and pass, and is never made twice.

use std::collections::BTreeMap;

use piton_core::run::AgentEnd;
use piton_core::time::Timestamp;

use super::content::{DONE, MARKER, Scope, WRONG, extra, get, own};
use super::git::Git;
use super::scenario::{Behaviour, Scenario};
use crate::rng::Rng;

/// Task, fence and pass.
pub(super) type Key = (usize, u64, u32);

#[derive(Clone, Debug)]
pub(super) enum Keeper {
    Running(Behaviour),
    /// Its lock is free and there is no outcome.
    Died,
    Ended(AgentEnd),
}

#[derive(Debug, Default)]
pub(super) struct Keepers {
    pub(super) all: BTreeMap<Key, Keeper>,
    /// How often each task's agent was run, and how often a pass found something.
    runs: BTreeMap<usize, usize>,
    found: BTreeMap<usize, u32>,
    /// By provider, in true time in milliseconds.
    limit_ends: BTreeMap<String, u64>,
    down_ends: BTreeMap<String, u64>,
    /// The provider or model whose limit each agent meets.
    limiters: BTreeMap<Key, String>,
    /// Agents run for a key that had been run before.
    pub(super) twice: Option<Key>,
    launched: u32,
}

impl Keepers {
    /// Start an agent. Returns what it is going to do.
    pub(super) fn launch(
        &mut self,
        scenario: &Scenario,
        key: Key,
        (provider, limiter): (&str, &str),
        time: u64,
    ) -> Behaviour {
        self.limiters.insert(key, limiter.to_owned());
        let limit_ends = self.limit_ends.entry(limiter.to_owned()).or_default();
        let runs = self.runs.entry(key.0).or_default();
        let mut behaviour = scenario.scripts[key.0].runs.get(*runs).copied().unwrap_or(Behaviour::Good);
        self.launched += 1;
        if self.launched <= scenario.weather.outage {
            behaviour = Behaviour::Crashes;
        } else if time < self.down_ends.get(provider).copied().unwrap_or(0) {
            behaviour = Behaviour::Down(0);
        } else if time < *limit_ends {
            behaviour = Behaviour::Limit(0);
        } else {
            *runs += 1;
        }
        match behaviour {
            Behaviour::Limit(minutes) => *limit_ends = (*limit_ends).max(time + minutes * 60_000),
            Behaviour::LimitMistold => *limit_ends = time + 10 * 60_000,
            Behaviour::Down(minutes @ 1..) => {
                self.down_ends.insert(provider.to_owned(), time + minutes * 60_000);
            }
            _ => {}
        }
        if self.all.insert(key, Keeper::Running(behaviour)).is_some() {
            self.twice = Some(key);
        }
        behaviour
    }

    /// The agent comes to its end by itself, or at its time limit.
    pub(super) fn end(&mut self, scenario: &Scenario, git: &mut Git, key: Key, time: u64, now: Timestamp) {
        let Some(Keeper::Running(behaviour)) = self.all.get(&key).cloned() else { return };
        let (task, _, pass) = key;
        if let Some(worktree) = git.worktrees.get(&task) {
            let base = git.tree(worktree.base).clone();
            let worktree = git.worktrees.get_mut(&task).expect("just seen");
            let tree = &mut worktree.tree;
            match behaviour {
                // An agent that confirms has the first prompt, and does what the worker has not done.
                Behaviour::Good if pass == 0 || get(tree, own(task)) != DONE => {
                    let is_first = self.runs.get(&task) == Some(&1);
                    let scope = if is_first { Scope::MayOverreach } else { Scope::AsAsked };
                    scenario.subjects.work(task, tree, &base, scope);
                }
                Behaviour::Good => {
                    let found = self.found.entry(task).or_default();
                    if *found < scenario.scripts[task].finds {
                        *found += 1;
                        tree.insert(extra(task), get(tree, extra(task)).wrapping_add(1));
                    }
                }
                Behaviour::Lies => {
                    tree.insert(own(task), WRONG);
                }
                Behaviour::LeavesMarkers => {
                    tree.insert(own(task), MARKER);
                }
                _ => {}
            }
        }
        let text = |reason: &str| reason.to_owned();
        let end = match behaviour {
            Behaviour::Good | Behaviour::Lies | Behaviour::Idle | Behaviour::LeavesMarkers => AgentEnd::Done,
            Behaviour::SaysAlready => AgentEnd::Already { reason: text("it is there") },
            Behaviour::SaysFailed => AgentEnd::Failed { reason: text("it failed"), feedback: text("try") },
            Behaviour::Hangs => AgentEnd::Failed { reason: text("time limit"), feedback: String::new() },
            Behaviour::Crashes => AgentEnd::Transient { reason: text("it crashed") },
            Behaviour::Down(_) => AgentEnd::Unavailable { reason: text("overloaded") },
            Behaviour::Refused => AgentEnd::Refused { reason: text("the key is old") },
            Behaviour::SaysBlocked => AgentEnd::Blocked { reason: text("the task is wrong") },
            Behaviour::LimitMistold => {
                let until = Timestamp(now.0 - 3_600_000);
                AgentEnd::Limit { reason: text("limit"), until, model: scenario.limited_model() }
            }
            Behaviour::Limit(_) => {
                let ends = self.limiters.get(&key).and_then(|limiter| self.limit_ends.get(limiter));
                let left = ends.copied().unwrap_or(0).saturating_sub(time);
                let left = i64::try_from(left).unwrap_or(0);
                let until = Timestamp(now.0 + left);
                AgentEnd::Limit { reason: text("limit"), until, model: scenario.limited_model() }
            }
        };
        self.all.insert(key, Keeper::Ended(end));
    }

    /// Whether the servers of a provider fail.
    pub(super) fn is_down(&self, provider: &str, time: u64) -> bool {
        self.down_ends.get(provider).is_some_and(|end| time < *end)
    }

    /// Stop a running agent; it may leave half of its work behind.
    pub(super) fn kill(&mut self, git: &mut Git, key: Key, rng: &mut Rng, how: Keeper) {
        if let Some(Keeper::Running(behaviour)) = self.all.get(&key).cloned() {
            if !matches!(behaviour, Behaviour::Idle | Behaviour::SaysAlready)
                && key.2 == 0
                && rng.chance(40)
                && let Some(worktree) = git.worktrees.get_mut(&key.0)
            {
                worktree.tree.entry(own(key.0)).or_insert(WRONG);
            }
            self.all.insert(key, how);
        }
    }

    pub(super) fn running(&self) -> Vec<Key> {
        self.all.iter().filter(|(_, k)| matches!(k, Keeper::Running(_))).map(|(key, _)| *key).collect()
    }
}
