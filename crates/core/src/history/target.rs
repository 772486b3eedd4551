//! A target branch, and what it has of work that was recorded elsewhere: it may have been rebased or squashed.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{History, Place, StandIn};
use crate::plan::{Digest, Oid, TaskId};

/// What a target holds, with everything that was asked about commits that it does not hold.
#[derive(Clone, Debug)]
pub struct Target {
    pub history: History,
    /// Commits that exist but are not part of the target, by the names that were recorded for them.
    pub elsewhere: BTreeMap<String, Oid>,
    /// The same commits, as far as they were compared with the target.
    pub lost: BTreeMap<Oid, Lost>,
    pub wholes: Vec<Whole>,
}

/// A commit that the target does not have as it was recorded.
#[derive(Clone, Debug)]
pub struct Lost {
    pub tree: Oid,
    /// Where its history parted from that of the target.
    pub base: Option<Oid>,
    /// What it changed since; a change of nothing is everywhere, so it is not compared.
    pub change: Option<Change>,
    /// What the target has of what this commit alone changed.
    pub part: Part,
}

/// What a target has of one commit of a squashed branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Only asked where a whole holds the commit.
    NotAsked,
    /// Every file is again as it was before the commit.
    TakenBack,
    InTarget,
}

/// Lost work, and the commits of the target that may stand for it.
#[derive(Clone, Debug)]
pub struct Change {
    /// All of it as one change.
    pub whole: Digest,
    /// The same, commit by commit.
    pub steps: Vec<Digest>,
    /// Commits of the target that are later than where the work began.
    pub later: Vec<Oid>,
    /// What those change.
    pub changes: HashMap<Oid, Digest>,
    /// Every file is again as it was before the work.
    pub is_taken_back: bool,
}

/// A history that the target has as one commit: a branch with many tasks was squashed.
#[derive(Clone, Debug)]
pub struct Whole {
    pub of: Oid,
    /// Its commits.
    pub holds: HashSet<Oid>,
    pub place: Place,
}

/// The newest commit that was recorded for a task and exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    Nothing,
    InTarget(Place),
    /// In the target, but another task names it or records it as well: it proves nothing.
    Shared(Place),
    Lost(Oid),
}

impl Target {
    pub fn new(history: History) -> Target {
        Target { history, elsewhere: BTreeMap::new(), lost: BTreeMap::new(), wholes: Vec::new() }
    }

    /// What is there of a task's commits, by the names that were recorded for them, newest first.
    pub fn recorded<'h>(&self, task: &TaskId, hashes: impl Iterator<Item = &'h str>) -> Recorded {
        let mut last = Recorded::Nothing;
        for hash in hashes {
            match self.history.find(hash) {
                Some(place) if self.history.other_owner(place, task).is_none() => {
                    return Recorded::InTarget(place);
                }
                Some(place) => last = Recorded::Shared(place),
                None => {
                    if let Some(lost) = self.elsewhere.get(hash) {
                        return Recorded::Lost(lost.clone());
                    }
                }
            }
        }
        last
    }

    /// What the target has in place of a task's lost commit: the same work, or more that holds it.
    pub fn stand_in(&self, task: &TaskId, commit: &Oid) -> StandIn {
        let Some(lost) = self.lost.get(commit) else { return StandIn::Nothing };
        let alone = self.same_work(Some(task), commit);
        if matches!(alone, StandIn::Found(..)) {
            return alone;
        }
        let Some(whole) =
            self.wholes.iter().find(|whole| whole.of != *commit && whole.holds.contains(commit))
        else {
            return alone;
        };
        // All of it is there, but this part of it may be gone again.
        match lost.part {
            Part::InTarget => StandIn::Holds(whole.place),
            Part::TakenBack | Part::NotAsked => StandIn::Nothing,
        }
    }

    /// The commit that does what a lost one did. With a task, commits of other tasks do not count.
    pub fn same_work(&self, task: Option<&TaskId>, commit: &Oid) -> StandIn {
        let Some(lost) = self.lost.get(commit) else { return StandIn::Nothing };
        let Some(change) = &lost.change else { return StandIn::Nothing };
        let found = self.history.stand_in(task, &lost.tree, change);
        let is_gone = matches!(found, StandIn::Found(..)) && change.is_taken_back;
        if is_gone { StandIn::Nothing } else { found }
    }
}
