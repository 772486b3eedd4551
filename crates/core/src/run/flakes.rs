//! Checks that do not always say the same. Red is believed once it was seen again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::Doubt;
use super::note::CheckRun;
use crate::plan::{Digest, Oid};
use crate::time::{Span, Timestamp};

/// A check that has flaked is known for it so long.
const REMEMBERED: Span = Span::minutes(7 * 24 * 60);
/// Of so many checks it is remembered.
const MOST: usize = 256;

/// The checks that were red and then passed on the same tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flakes(BTreeMap<Digest, Flaked>);

/// How often, and when last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Flaked {
    times: u32,
    last: Timestamp,
}

impl Flakes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the check is known to flake.
    pub fn knows(&self, check: &Digest, now: Timestamp) -> bool {
        self.0.get(check).is_some_and(|flaked| now.since(flaked.last) < REMEMBERED)
    }

    /// How many checks are known to flake.
    pub fn count(&self, now: Timestamp) -> usize {
        self.0.keys().filter(|check| self.knows(check, now)).count()
    }

    pub(super) fn note(&mut self, runs: &[CheckRun], at: Timestamp) {
        for run in runs.iter().filter(|run| run.flaked) {
            let known = self.0.entry(run.check.clone()).or_insert(Flaked { times: 0, last: at });
            (known.times, known.last) = (known.times.saturating_add(1), at);
        }
        while self.0.len() > MOST {
            let oldest = self.0.iter().min_by_key(|(_, flaked)| flaked.last).map(|(check, _)| check.clone());
            oldest.and_then(|check| self.0.remove(&check));
        }
    }
}

/// What a check has said about one tree, run by run, until it is believed.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// It is known to flake.
    is_known: bool,
    /// The same work was red by it on another tree.
    is_doubted: bool,
    reds: u32,
    /// Since the last red one.
    passes: u32,
}

/// What to make of a check that has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Again,
    Passed,
    Red,
}

impl Looks {
    /// Of the work of a task that was red where it was to land, or was not, on this tree.
    pub fn new(is_known: bool, check: &Digest, tree: &Oid, doubt: Option<&Doubt>) -> Looks {
        let doubt = doubt.filter(|doubt| doubt.checks.contains(check));
        let is_here = doubt.is_some_and(|doubt| doubt.tree == *tree);
        Looks { is_known, is_doubted: doubt.is_some() && !is_here, reds: u32::from(is_here), passes: 0 }
    }

    /// A check that is known to flake passes with one pass, and is red when it was so three times. Of any other two passes
    /// in a row tell that it flakes, and red is red the second time.
    pub fn saw(&mut self, passed: bool) -> Look {
        if passed {
            self.passes += 1;
        } else {
            (self.reds, self.passes) = (self.reds + 1, 0);
        }
        let (most_reds, enough) = if self.is_known { (3, 1) } else { (2, 2) };
        match passed {
            true if self.reds == 0 || self.passes >= enough => Look::Passed,
            false if self.reds + u32::from(self.is_doubted) >= most_reds => Look::Red,
            _ => Look::Again,
        }
    }

    /// It has passed on the tree on which it was red.
    pub fn has_flaked(&self) -> bool {
        self.reds > 0 && self.passes > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of these runs on the tree `t`, of work that was red on the tree `doubt`.
    fn looks(is_known: bool, doubt: Option<char>, runs: &[bool]) -> Vec<Look> {
        let oid = |of: char| Oid::new(&of.to_string().repeat(40)).expect("it is hex");
        let check = Digest::of(&"check");
        let doubt = doubt.map(|tree| Doubt { tree: oid(tree), checks: vec![check.clone()] });
        let mut looks = Looks::new(is_known, &check, &oid('a'), doubt.as_ref());
        let seen = runs.iter().map(|passed| looks.saw(*passed)).collect();
        let has_passed = runs.last() == Some(&true);
        let was_red = runs.contains(&false) || doubt.is_some_and(|doubt| doubt.tree == oid('a'));
        assert_eq!(looks.has_flaked(), has_passed && was_red);
        seen
    }

    #[test]
    fn red_is_believed_the_second_time_and_a_flake_after_two_passes() {
        use Look::{Again, Passed, Red};
        assert_eq!(looks(false, None, &[true]), [Passed]);
        assert_eq!(looks(false, None, &[false, false]), [Again, Red]);
        assert_eq!(looks(false, None, &[false, true, true]), [Again, Again, Passed]);
        assert_eq!(looks(false, None, &[false, true, false]), [Again, Again, Red]);
        // Red where it was to land counts, there and on the work by itself.
        assert_eq!(looks(false, Some('a'), &[false]), [Red]);
        assert_eq!(looks(false, Some('a'), &[true, true]), [Again, Passed]);
        assert_eq!(looks(false, Some('b'), &[false]), [Red]);
        assert_eq!(looks(false, Some('b'), &[true]), [Passed]);
    }

    #[test]
    fn of_a_check_that_is_known_to_flake_one_pass_is_enough_and_red_takes_three() {
        use Look::{Again, Passed, Red};
        assert_eq!(looks(true, None, &[false, true]), [Again, Passed]);
        assert_eq!(looks(true, None, &[false, false, false]), [Again, Again, Red]);
        assert_eq!(looks(true, Some('a'), &[false, false]), [Again, Red]);
        assert_eq!(looks(true, Some('b'), &[false, false]), [Again, Red]);
    }

    #[test]
    fn a_check_is_known_to_flake_for_a_week_and_only_so_many_are() {
        let run = |n: u32, flaked| CheckRun { flaked, ..CheckRun::new(Digest::of(&n), format!("c{n}")) };
        let (mut flakes, at) = (Flakes::default(), Timestamp(1_000_000_000));
        flakes.note(&[run(1, true), run(2, false)], at);
        let later = |days: u64| at.plus(Span::minutes(24 * 60 * days));
        let known = |flakes: &Flakes, n: u32, now| flakes.knows(&Digest::of(&n), now);
        assert!(known(&flakes, 1, later(6)) && !known(&flakes, 1, later(7)) && !known(&flakes, 2, at));
        assert_eq!((flakes.count(at), flakes.count(later(7))), (1, 0));
        for n in 3..1000 {
            flakes.note(&[run(n, true)], later(1).plus(Span::seconds(u64::from(n))));
        }
        assert_eq!(flakes.0.len(), MOST);
        assert!(known(&flakes, 999, later(2)) && !known(&flakes, 1, later(2)));
    }
}
