//! The landing line: which candidates are proven together, and which of them land.
//!
//! A proof merges a chain of candidates into the target's tip, one after the other, and runs the checks on the last tree. If
//! they pass, the target may move to that tree, with the whole chain. Proofs run side by side, and each chain goes on where
//! the one before it ends: the longest that passes lands, and those behind it stay true.
//!
//! A chain of many is hardly ever green. So where many wait, groups of them are first proven apart, each on the tip. Those
//! that pass are then proven together; of a group that is red, smaller groups are.
//!
//! Nothing here decides whether something may land. The rules do, by the checks that passed on the very tree. What is
//! forgotten or wrong here costs time, never truth.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::plan::{Land, Oid, TaskId};
use crate::time::{Span, Timestamp};

/// So many candidates are proven together at most.
pub(super) const MOST_TOGETHER: usize = 16;
/// A candidate that was set aside so often begins the next chain, by itself.
const MOST_PASSED_OVER: u32 = 2;
/// Of a red group, groups of a quarter are proven next. With halves it takes longer until it is known who is red; each alone
/// takes many more proofs where groups are large.
const SPLIT: usize = 4;
/// Checks shorter than this are not worth a second proof beside them: candidates that come meanwhile share the next proof.
const SHORT: Span = Span::seconds(2);

/// After a landing, the next short proof waits for more candidates: this many times as long as a proof takes. Fewer moves of
/// the target are fewer check runs, since each move also runs the checks of what landed while its tasks were worked on.
const GATHER: u64 = 2;

/// So many proofs were begun since one that is long over, in all likelihood.
const RECENT: u64 = 64;

/// What is known of those that are to land.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// How many proofs were begun; the last one has this number.
    begun: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    proofs: BTreeMap<u64, Proving>,
    /// Candidates that were red together with others, or in conflict: each is proven next with so many at most, itself
    /// included.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fewer: BTreeMap<TaskId, usize>,
    /// How often each was taken out of a chain for that.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    set_aside: BTreeMap<TaskId, u32>,
    /// Candidates that have passed apart, before the target moved.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    screened: BTreeSet<TaskId>,
    /// The chain that is about to land.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    landing: Vec<TaskId>,
    rate: Rate,
    /// How long a proof takes, by the last ones.
    took: Span,
    /// When the target last moved to a proof, if that was short.
    #[serde(skip_serializing_if = "Option::is_none")]
    landed_at: Option<Timestamp>,
}

/// A proof that is under way, or has ended and means something still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proving {
    /// In the order in which they are merged. Those that land meanwhile leave at its front.
    pub chain: Vec<TaskId>,
    /// Its candidates are proven apart from the others: nothing is built on them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    pub since: Timestamp,
    #[serde(default)]
    pub stage: Stage,
    /// The target has moved, and not by those at the front of the chain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
    /// Candidates whose own check is red in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_of: Vec<TaskId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    #[default]
    UnderWay,
    /// All checks passed on this tree.
    Passed(Oid),
    /// Not all did. A shorter proof, which is not over, tells who is to blame.
    Red,
}

/// How a proof ended that does not land at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ProofEnd {
    Passed {
        tree: Oid,
    },
    /// A check is red on the tree of several candidates.
    Red {
        reason: String,
        /// Those of them whose own check it is.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        of: Vec<TaskId>,
    },
    /// Its last candidate cannot be proven on a merge: the checks of that one run on the work by itself.
    NotHere {
        reason: String,
    },
    /// A candidate is in conflict with one before it, and not with the target.
    Conflict {
        task: TaskId,
        files: Vec<String>,
    },
    /// It says nothing about its candidates.
    Dropped {
        reason: String,
    },
}

/// A proof that should be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub chain: Vec<TaskId>,
    pub alone: bool,
}

/// How candidates are proven at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Many fail: each alone first.
    Alone,
    /// So many together at most.
    Together(usize),
}

/// Prove these on the tip, and build nothing on them.
fn apart(tasks: &[&TaskId]) -> Proposal {
    Proposal { chain: tasks.iter().map(|task| (*task).clone()).collect(), alone: true }
}

impl Line {
    /// Nobody has ever been in it.
    pub fn is_new(&self) -> bool {
        *self == Line::default()
    }

    /// The proofs that should be begun now, besides those under way. `line`: all candidates, in their order. An exclusive one
    /// is proven when nobody else is. `landing_waits`: what is about to land waits for a person.
    pub fn wanted(
        &self,
        line: &[&TaskId],
        is_exclusive: impl Fn(&TaskId) -> bool,
        window: u32,
        land: Land,
        landing_waits: bool,
    ) -> Vec<Proposal> {
        if let Some(first) = line.first().filter(|first| is_exclusive(first)) {
            return if self.proofs.is_empty() { vec![apart(&[first])] } else { Vec::new() };
        }
        let at_work = self.proofs.values().filter(|proof| !matches!(proof.stage, Stage::Passed(_))).count();
        let free = (window as usize).saturating_sub(at_work);
        if free == 0 {
            return Vec::new();
        }
        let held: BTreeSet<&TaskId> = self.proofs.values().flat_map(|proof| &proof.chain).collect();
        let open = line.iter().copied().filter(|task| !held.contains(task));
        let open: Vec<&TaskId> = open.take_while(|task| !is_exclusive(task)).collect();
        let is_suspect = |task: &&TaskId| self.fewer.contains_key(*task);
        let (suspects, rest): (Vec<&TaskId>, Vec<&TaskId>) = open.into_iter().partition(is_suspect);
        let fresh = rest.iter().filter(|task| !self.screened.contains(**task)).count();
        let is_short = self.is_short();
        if is_short || fresh <= self.rate.pass_together() {
            let mut wanted: Vec<Proposal> =
                self.smaller(&suspects).map(|group| apart(&group)).take(free).collect();
            let free = free - wanted.len();
            let size = match land {
                Land::Batch if is_short => self.rate.together(1),
                Land::Batch => self.rate.together(window).min(rest.len().div_ceil(free.max(1))),
                Land::Each => 1,
            };
            let is_open =
                |proof: &Proving| !landing_waits || proof.stage == Stage::UnderWay && !self.lands(proof);
            let is_begun = is_short && self.chains().any(is_open);
            let at_once = if is_begun {
                0
            } else if is_short {
                free.min(1)
            } else {
                free
            };
            wanted.extend(self.links(rest, size, at_once));
            return wanted;
        }
        let (screened, fresh): (Vec<&TaskId>, Vec<&TaskId>) =
            rest.into_iter().partition(|task| self.screened.contains(*task));
        let is_enough =
            screened.len() >= window as usize || screened.iter().any(|task| self.is_overdue(task));
        let at_once = if is_enough && self.chains().next().is_none() { free } else { 0 };
        let size = if land == Land::Batch { MOST_TOGETHER } else { 1 };
        let mut wanted = self.links(screened, size, at_once.min(if land == Land::Batch { 1 } else { free }));
        let groups = self.smaller(&suspects).chain(fresh.chunks(self.rate.group()).map(<[&TaskId]>::to_vec));
        wanted.extend(groups.take(free - wanted.len()).map(|group| apart(&group)));
        wanted
    }

    /// Until when the next proof waits for more candidates. Not after a clock was set back.
    pub(super) fn gathers_until(&self, now: Timestamp) -> Option<Timestamp> {
        let landed_at = self.landed_at.filter(|at| *at <= now)?;
        Some(landed_at.plus(Span(self.took.0 * GATHER))).filter(|until| now < *until)
    }

    fn is_short(&self) -> bool {
        !self.took.is_zero() && self.took < SHORT
    }

    /// Those that were red together, in smaller groups of neighbours.
    fn smaller<'t>(&self, suspects: &[&'t TaskId]) -> impl Iterator<Item = Vec<&'t TaskId>> + use<'t> {
        let mut groups: Vec<(usize, Vec<&TaskId>)> = Vec::new();
        for &task in suspects {
            let most = self.fewer.get(task).copied().unwrap_or(1);
            match groups.last_mut() {
                Some((same, group)) if *same == most && group.len() < most.min(self.rate.group()) => {
                    group.push(task);
                }
                _ => groups.push((most, vec![task])),
            }
        }
        groups.into_iter().map(|(_, group)| group)
    }

    /// Chains of these, each of which goes on where the one before it ends.
    fn links(&self, mut tasks: Vec<&TaskId>, size: usize, at_once: usize) -> Vec<Proposal> {
        let deepest = self.chains().max_by_key(|proof| proof.chain.len());
        let mut chain = deepest.map_or_else(|| self.landing.clone(), |proof| proof.chain.clone());
        let mut groups: Vec<Vec<&TaskId>> = Vec::new();
        if let Some(at) = tasks.iter().position(|task| self.is_overdue(task)) {
            if !chain.is_empty() {
                // Nothing comes before it any more.
                return Vec::new();
            }
            groups.push(vec![tasks.remove(at)]);
            tasks.retain(|task| !self.is_overdue(task));
        }
        groups.extend(tasks.chunks(size.max(1)).map(<[&TaskId]>::to_vec));
        let link = |group: Vec<&TaskId>| {
            chain.extend(group.into_iter().cloned());
            Proposal { chain: chain.clone(), alone: false }
        };
        groups.into_iter().take(at_once).map(link).collect()
    }

    fn chains(&self) -> impl Iterator<Item = &Proving> {
        self.proofs.values().filter(|proof| !proof.alone)
    }

    /// The proof that lands next: of all that have passed the longest, or the next one if each lands by itself.
    pub fn landable(&self, land: Land) -> Option<(u64, &Proving)> {
        let passed = |proof: &&Proving| matches!(proof.stage, Stage::Passed(_));
        let fits = |proof: &&Proving| land == Land::Batch || proof.chain.len() == 1;
        let all = self.proofs.iter().map(|(no, proof)| (*no, proof));
        let lands =
            |(number, proof): &(u64, &Proving)| passed(proof) && fits(proof) && self.may_land(*number);
        all.filter(lands).max_by_key(|(_, proof)| proof.chain.len())
    }

    /// Whether the target may move to what this proof has passed on. One that was proven apart waits while a chain is proven,
    /// which would begin again otherwise.
    pub fn may_land(&self, number: u64) -> bool {
        let is_proven = self.chains().any(|proof| proof.stage != Stage::Red);
        self.proofs.get(&number).is_some_and(|proof| !(proof.outdated || proof.alone && is_proven))
    }

    /// The proofs whose checks should be running.
    pub fn under_way(&self) -> impl Iterator<Item = (u64, &Proving)> {
        let all = self.proofs.iter().map(|(no, proof)| (*no, proof));
        all.filter(|(_, proof)| proof.stage == Stage::UnderWay && !self.lands(proof))
    }

    /// Whether some of its chain is about to land: nothing is done by it meanwhile.
    pub fn lands(&self, proof: &Proving) -> bool {
        proof.chain.first().is_some_and(|first| self.is_landing(first))
            && proof.chain.len() <= self.landing.len()
    }

    pub fn proof(&self, number: u64) -> Option<&Proving> {
        self.proofs.get(&number)
    }

    /// Whether it may have been under way when the last engine died.
    pub fn is_recent(&self, number: u64) -> bool {
        number + RECENT >= self.begun
    }

    /// The number of the proof that is begun next.
    pub(super) fn next_number(&self) -> u64 {
        self.begun + 1
    }

    pub fn policy(&self) -> Policy {
        match self.rate.group() {
            1 => Policy::Alone,
            most => Policy::Together(most),
        }
    }

    /// How many of a hundred candidates are expected to fail, by those that failed lately. A run begins with a guess.
    pub fn failing_percent(&self) -> u32 {
        self.rate.per_thousand() / 10
    }

    pub fn is_set_aside(&self, task: &TaskId) -> bool {
        self.fewer.contains_key(task)
    }

    /// How often it was set aside since it is a candidate.
    pub fn times_set_aside(&self, task: &TaskId) -> u32 {
        self.set_aside.get(task).copied().unwrap_or_default()
    }

    /// The shortest proof that has it in its chain.
    pub fn proof_of(&self, task: &TaskId) -> Option<&Proving> {
        let all = self.proofs.values().filter(|proof| proof.chain.contains(task));
        all.min_by_key(|proof| proof.chain.len())
    }

    /// Whether the target is about to move to something with it.
    pub fn is_landing(&self, task: &TaskId) -> bool {
        self.landing.contains(task)
    }

    /// Whether a proof has it in its chain.
    pub fn holds(&self, task: &TaskId) -> bool {
        self.proofs.values().any(|proof| proof.chain.contains(task))
    }

    fn is_overdue(&self, task: &TaskId) -> bool {
        self.set_aside.get(task).is_some_and(|times| *times >= MOST_PASSED_OVER)
    }
}

/// How events change it.
impl Line {
    pub(super) fn begin(&mut self, number: u64, chain: &[TaskId], alone: bool, at: Timestamp) {
        self.begun = self.begun.max(number);
        let (chain, stage) = (chain.to_vec(), Stage::UnderWay);
        let proof = Proving { chain, alone, since: at, stage, outdated: false, red_of: Vec::new() };
        self.proofs.insert(number, proof);
    }

    pub(super) fn end(&mut self, number: u64, end: &ProofEnd, at: Timestamp) {
        match end {
            ProofEnd::Passed { tree } => self.pass(number, tree, at),
            ProofEnd::Red { of, .. } => {
                if let Some(proof) = self.proofs.get_mut(&number) {
                    (proof.stage, proof.red_of) = (Stage::Red, of.clone());
                }
            }
            ProofEnd::Conflict { task, .. } => {
                if let Some(proof) = self.proofs.remove(&number) {
                    self.put_aside(task, 1, proof.alone);
                }
            }
            // What was built on it would wait for it, where each lands by itself.
            ProofEnd::NotHere { .. } | ProofEnd::Dropped { .. } => {
                if let Some(proof) = self.proofs.remove(&number).filter(|proof| !proof.alone) {
                    self.proofs.retain(|_, other| !other.chain.starts_with(&proof.chain));
                }
            }
        }
        self.blame();
    }

    fn pass(&mut self, number: u64, tree: &Oid, at: Timestamp) {
        let Some(proof) = self.proofs.get_mut(&number) else { return };
        proof.stage = Stage::Passed(tree.clone());
        let took = at.since(proof.since);
        self.took = if self.took.is_zero() { took } else { Span((self.took.0 * 3 + took.0) / 4) };
        let Some(proof) = self.proofs.get(&number).filter(|proof| proof.alone) else { return };
        // It is known to be good by itself. If others are proven on the same target, it lands with the next.
        for task in proof.chain.clone() {
            self.fewer.remove(&task);
            self.screened.insert(task);
        }
        let is_late = proof.outdated || self.proofs.values().any(|other| !other.alone);
        if is_late {
            self.proofs.remove(&number);
        }
    }

    /// The landing of this chain is about to be made.
    pub(super) fn prepare(&mut self, chain: &[TaskId], tree: &Oid, at: Timestamp) {
        let of = |proof: &Proving| proof.stage == Stage::UnderWay && proof.chain == chain;
        let number = self.proofs.iter().find(|(_, proof)| of(proof)).map(|(number, _)| *number);
        if let Some(number) = number {
            self.pass(number, tree, at);
        }
        self.landing = chain.to_vec();
    }

    /// A task has become part of the target.
    pub(super) fn land(&mut self, task: &TaskId, at: Timestamp) {
        self.landed_at = self.is_short().then_some(at);
        for proof in self.proofs.values_mut() {
            if proof.chain.first() == Some(task) {
                proof.chain.remove(0);
            } else {
                proof.outdated = true;
            }
        }
        // What still runs for one candidate alone tells whether that one is good by itself.
        let tells = |proof: &Proving| proof.alone && proof.stage == Stage::UnderWay;
        self.proofs.retain(|_, proof| !proof.chain.is_empty() && (!proof.outdated || tells(proof)));
        self.let_go(task);
        self.rate.count(false);
        self.forget(task);
    }

    /// A task is no longer a candidate: it failed, was reset, or has to be done again.
    pub(super) fn leave(&mut self, task: &TaskId) {
        self.proofs.retain(|_, proof| !proof.chain.contains(task));
        self.let_go(task);
        self.forget(task);
    }

    /// A candidate did not pass where it was to land.
    pub(super) fn fail(&mut self) {
        self.rate.count(true);
    }

    /// Somebody else has moved the target.
    pub(super) fn move_target(&mut self) {
        self.proofs.retain(|_, proof| proof.alone && proof.stage == Stage::UnderWay);
        self.proofs.values_mut().for_each(|proof| proof.outdated = true);
        self.landing.clear();
    }

    pub(super) fn knows(&self, task: &TaskId) -> bool {
        self.holds(task)
            || self.is_landing(task)
            || self.fewer.contains_key(task)
            || self.screened.contains(task)
            || self.set_aside.contains_key(task)
    }

    /// With the last of a chain its landing is over, however it ended.
    fn let_go(&mut self, task: &TaskId) {
        if self.landing.last() == Some(task) {
            self.landing.clear();
        }
        self.landing.retain(|other| other != task);
    }

    fn forget(&mut self, task: &TaskId) {
        self.fewer.remove(task);
        self.screened.remove(task);
        self.set_aside.remove(task);
        self.blame();
    }

    /// Prove it next with so many at most. Who was in a chain was passed over by those before it.
    fn put_aside(&mut self, task: &TaskId, most: usize, alone: bool) {
        self.proofs.retain(|_, proof| !proof.chain.contains(task));
        self.screened.remove(task);
        if !alone {
            *self.set_aside.entry(task.clone()).or_default() += 1;
        }
        self.fewer.insert(task.clone(), if self.is_overdue(task) { 1 } else { most });
    }

    /// The members of a red chain are to blame that no shorter chain has, once it is known of each of these that it passes.
    /// Most often it is the one whose own check is red: then the others stay in the line as they were.
    fn blame(&mut self) {
        while let Some((proof, blamed)) = self.blamed() {
            let (alone, red_of) = (proof.alone, proof.red_of.clone());
            let (own, others): (Vec<TaskId>, Vec<TaskId>) =
                blamed.into_iter().partition(|task| red_of.contains(task));
            let suspects = if own.is_empty() { others } else { own };
            let most = suspects.len().div_ceil(SPLIT).min(suspects.len() - 1).max(1);
            suspects.iter().for_each(|task| self.put_aside(task, most, alone));
        }
    }

    /// Those of the first red chain of which that is known.
    fn blamed(&self) -> Option<(&Proving, Vec<TaskId>)> {
        let has_passed = |proof: &Proving| matches!(proof.stage, Stage::Passed(_));
        let is_settled = |proof: &&Proving| proof.stage == Stage::Red && self.shorter(proof).all(has_passed);
        let proof = self.proofs.values().find(is_settled)?;
        let chain = &proof.chain;
        let passed = self.shorter(proof).map(|other| other.chain.len()).max().unwrap_or_default();
        // All of what is about to land has passed.
        let landing = if chain.starts_with(&self.landing) { self.landing.len() } else { 0 };
        Some((proof, chain[passed.max(landing).min(chain.len() - 1)..].to_vec()))
    }

    /// Chains that a chain goes on from.
    fn shorter<'l>(&'l self, proof: &'l Proving) -> impl Iterator<Item = &'l Proving> {
        let chain = &proof.chain;
        self.chains().filter(|other| other.chain.len() < chain.len() && chain.starts_with(&other.chain))
    }
}

/// How many candidates fail to land. Each one counts a little less with every one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rate {
    /// In parts of [`Rate::ONE`].
    tried: u32,
    failed: u32,
}

impl Default for Rate {
    /// One of twenty, until more is known.
    fn default() -> Rate {
        Rate { tried: Rate::GIVEN * Rate::ONE, failed: Rate::ONE }
    }
}

impl Rate {
    const ONE: u32 = 1 << 10;
    /// About so many are remembered.
    const MEMORY: u32 = 64;
    /// As many are taken as known from the beginning.
    const GIVEN: u32 = 20;

    fn count(&mut self, failed: bool) {
        let fade = |number: u32| number - number / Rate::MEMORY;
        self.tried = fade(self.tried) + Rate::ONE;
        self.failed = fade(self.failed) + if failed { Rate::ONE } else { 0 };
    }

    fn per_thousand(self) -> u32 {
        u32::try_from(u64::from(self.failed) * 1000 / u64::from(self.tried.max(1))).unwrap_or(u32::MAX)
    }

    /// So many pass together more often than not.
    fn pass_together(self) -> usize {
        550 / self.per_thousand().max(5) as usize
    }

    /// How many to prove apart together. While little is known, a few: if most of them fail, large groups are all red.
    fn group(self) -> usize {
        let seen = (self.tried / Rate::ONE).saturating_sub(Rate::GIVEN) as usize;
        self.pass_together().min(4 + seen / 2).clamp(1, MOST_TOGETHER)
    }

    /// How many to prove together: about two thirds as many as pass in a row in every second case, divided between the
    /// proofs that run at once.
    fn together(self, window: u32) -> usize {
        let most = 900 / (self.per_thousand().max(5) * window.max(1));
        (most as usize).clamp(1, MOST_TOGETHER)
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
