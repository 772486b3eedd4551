//! Passes that need not be paid for again: of every task of a run, and of other runs for a day.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use piton_core::plan::{Check, Digest, Oid, WorktreeSetup};
use piton_core::run::{CheckResult, Pass, Verdict};
use piton_core::time::{Span, Timestamp};

use super::{environment, pass};

/// What passed in another run counts so long.
const COUNTS_FOR: Span = Span::minutes(24 * 60);

/// Which check has passed on which tree, in which environment.
#[derive(Debug, Default)]
pub(crate) struct Passed(Mutex<BTreeSet<Pass>>);

impl Passed {
    /// So many are remembered when an engine starts.
    pub(crate) const MOST: usize = 10_000;

    /// What passed in another run counts from then on.
    pub(crate) fn since(now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub_unsigned(COUNTS_FOR.0))
    }

    pub(crate) fn new(known: Vec<Pass>) -> Passed {
        Passed(Mutex::new(known.into_iter().collect()))
    }

    /// The result of a check that has passed on this tree before.
    pub(crate) fn find(&self, check: &Check, tree: &Oid, setup: &WorktreeSetup) -> Option<CheckResult> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (counts(check) && known.contains(&here(check, tree, setup))).then(|| pass(check))
    }

    /// Remember that it has passed. What an agent has judged is not remembered.
    pub(crate) fn keep(
        &self,
        check: &Check,
        tree: &Oid,
        setup: &WorktreeSetup,
        result: &CheckResult,
    ) -> Option<Pass> {
        let passed = counts(check) && result.verdict == Verdict::Pass;
        let pass = passed.then(|| here(check, tree, setup))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pass.clone());
        Some(pass)
    }
}

fn counts(check: &Check) -> bool {
    check.reviewer().is_none() && !check.uncached
}

/// How a worktree is made ready belongs to what a check finds there, beside the tree.
fn here(check: &Check, tree: &Oid, setup: &WorktreeSetup) -> Pass {
    let environment = Digest::of(&(environment(), &setup.copy, &setup.setup));
    Pass { tree: tree.clone(), check: check.digest(), environment }
}
