//! What Piton saw of work that is reported done, besides the results of its checks. The rules judge it; see
//! `rules/claims.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Oid;
use crate::time::Timestamp;

/// The state of the project when a holder of the ledger started a task. A claim is compared with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// The commit at which the work began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    pub at: Timestamp,
    /// The files that the plan names for the task, each with a digest of its content, or nothing where it did not exist.
    /// Only where commits do not count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// What was observed when a claim was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Commits since the mark that change more than the plan's own files, oldest first. Some may count for other tasks.
    pub commits: Vec<Oid>,
    /// Commits that the claim names and the branch has. They count for this task, whatever else they count for.
    pub named: Vec<Oid>,
    /// Files of the claim whose content differs from that at the mark, where commits do not count.
    pub files: Vec<String>,
    /// Work that is not committed although commits count.
    pub uncommitted: Vec<String>,
    /// The claim itself names some of that: it waits until they are committed, whatever else was.
    pub owed: bool,
    /// Nothing had to change, for this reason.
    pub no_change: Option<String>,
    /// The tree of the whole project: what a gate judges. With it, the trees that gates have passed on and that differ
    /// from it only in the plan's own files.
    pub whole: Option<Oid>,
    pub same: Vec<Oid>,
}

impl Evidence {
    /// The claim names its commits.
    pub fn named(commits: impl IntoIterator<Item = Oid>) -> Evidence {
        Evidence { named: commits.into_iter().collect(), ..Evidence::default() }
    }

    /// The claim says that nothing had to change.
    pub fn no_change(reason: impl Into<String>) -> Evidence {
        Evidence { no_change: Some(reason.into()), ..Evidence::default() }
    }

    /// A file that the claim names has changed.
    pub fn file(name: impl Into<String>) -> Evidence {
        Evidence { files: vec![name.into()], ..Evidence::default() }
    }

    /// Whether it can be judged without a look at what other tasks have done.
    pub(super) fn stands_alone(&self) -> bool {
        !self.named.is_empty()
            || self.no_change.is_some()
            || (!self.uncommitted.is_empty() && (self.owed || self.commits.is_empty()))
            || (self.commits.is_empty() && !self.files.is_empty())
    }
}
