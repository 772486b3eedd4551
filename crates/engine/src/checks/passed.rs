//! Passes that need not be paid for again: of every task of a run, and of other runs for a day.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use piton_core::plan::{Check, Digest, Oid, WorktreeSetup};
use piton_core::run::{CheckResult, Pass, Verdict};
use piton_core::time::{Span, Timestamp};

use super::{environment, pass};
use crate::check_worktrees::Kind;

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
        let is_known = counts(check) && known.contains(&here(check, tree, setup));
        is_known.then(|| CheckResult { ran: Some(Kind::of(check).ran()), ..pass(check) })
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

/// How a worktree is made ready belongs to what a check finds there, beside the tree. What agents' worktrees keep for the
/// next task does not: no check runs there.
fn here(check: &Check, tree: &Oid, setup: &WorktreeSetup) -> Pass {
    let environment = Digest::of(&(environment(), &setup.copy, &setup.setup));
    Pass { tree: tree.clone(), check: check.digest(), environment }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use piton_core::plan::{Argv, RepoPath, Reuse};
    use piton_core::run::Freshness;

    use super::*;

    #[test]
    fn a_warm_pass_is_not_a_fresh_one_and_the_next_agents_caches_have_no_say() {
        let tree = Oid::new(&"a".repeat(40)).unwrap();
        let warm = Check::new("test".to_owned(), Argv::Shell("cargo test".to_owned()), Span::minutes(5));
        let fresh = Check { fresh: true, ..warm.clone() };
        let setup = WorktreeSetup::default();
        let passed = Passed::default();
        let _ = passed.keep(&warm, &tree, &setup, &pass(&warm)).unwrap();
        assert_eq!(passed.find(&fresh, &tree, &setup), None);
        let _ = passed.keep(&fresh, &tree, &setup, &pass(&fresh)).unwrap();
        let target = vec![RepoPath::new("target").unwrap()];
        for reuse in [Reuse::Warm, Reuse::Clean, Reuse::Never] {
            let setup =
                WorktreeSetup { reuse, warm: target.clone(), keep_mib: Some(1), ..WorktreeSetup::default() };
            assert_eq!(passed.find(&warm, &tree, &setup).unwrap().ran, Some(Freshness::Warm));
            assert_eq!(passed.find(&fresh, &tree, &setup).unwrap().ran, Some(Freshness::Fresh));
        }
        let copied = WorktreeSetup { copy: target, ..setup };
        assert_eq!(passed.find(&warm, &tree, &copied), None);
    }
}
