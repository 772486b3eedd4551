//! Checks that do not always say the same. Red is believed once it was seen again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::note::CheckRun;
use crate::plan::Digest;
use crate::time::{Span, Timestamp};

/// A check that has flaked is known for it so long.
const REMEMBERED: Span = Span::minutes(7 * 24 * 60);
/// Of so many checks it is remembered.
const MOST: usize = 256;

/// A check flakes often if one of so many runs does.
const OFTEN: u32 = 40;
const VERY_OFTEN: u32 = 28;

/// The checks that were red and then passed on the same tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flakes(BTreeMap<Digest, Flaked>);

/// How often, in how many runs since the first time, and when last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Flaked {
    times: u32,
    #[serde(default)]
    runs: u32,
    last: Timestamp,
}

/// What is known of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Steady,
    /// It flakes, so often that only so many reds are believed.
    Flakes {
        reds: u32,
    },
}

impl Flakes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn habit(&self, check: &Digest, now: Timestamp) -> Habit {
        let known = self.0.get(check).filter(|flaked| now.since(flaked.last) < REMEMBERED);
        match known {
            None => Habit::Steady,
            Some(flaked) => {
                let is_one_in = |many: u32| flaked.times.saturating_mul(many) > flaked.runs;
                Habit::Flakes { reds: 2 + u32::from(is_one_in(OFTEN)) + u32::from(is_one_in(VERY_OFTEN)) }
            }
        }
    }

    /// How many checks are known to flake.
    pub fn count(&self, now: Timestamp) -> usize {
        self.0.keys().filter(|check| self.habit(check, now) != Habit::Steady).count()
    }

    /// Whether these runs tell anything new.
    pub(super) fn learn_from(&self, runs: &[CheckRun]) -> bool {
        runs.iter().any(|run| run.flaked || !run.for_several && self.0.contains_key(&run.check))
    }

    pub(super) fn note(&mut self, runs: &[CheckRun], at: Timestamp) {
        for run in runs {
            if run.flaked {
                let known = self.0.entry(run.check.clone()).or_insert(Flaked { times: 0, runs: 0, last: at });
                (known.times, known.last) = (known.times.saturating_add(1), at);
            }
            if let Some(known) = self.0.get_mut(&run.check).filter(|_| !run.for_several) {
                known.runs = known.runs.saturating_add(run.runs);
            }
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
    habit: Habit,
    earlier: Earlier,
    reds: u32,
    /// Since the last red one.
    passes: u32,
}

/// What it said before about the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    Nothing,
    RedHere,
    RedOnAnotherTree,
}

/// What to make of a check that has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Again,
    Passed,
    Red,
}

impl Looks {
    pub fn new(habit: Habit, earlier: Earlier) -> Looks {
        Looks { habit, earlier, reds: u32::from(earlier == Earlier::RedHere), passes: 0 }
    }

    /// A check that is known to flake passes with one pass; any other needs two in a row. It is red the second time, and
    /// later if it flakes often.
    pub fn saw(&mut self, passed: bool) -> Look {
        if passed {
            self.passes += 1;
        } else {
            (self.reds, self.passes) = (self.reds + 1, 0);
        }
        let (most_reds, enough) = match self.habit {
            Habit::Steady => (2, 2),
            Habit::Flakes { reds } => (reds, 1),
        };
        match passed {
            true if self.reds == 0 || self.passes >= enough => Look::Passed,
            false if self.reds + u32::from(self.earlier == Earlier::RedOnAnotherTree) >= most_reds => {
                Look::Red
            }
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

    fn looks(habit: Habit, earlier: Earlier, runs: &[bool]) -> Vec<Look> {
        let mut looks = Looks::new(habit, earlier);
        let seen = runs.iter().map(|passed| looks.saw(*passed)).collect();
        let has_passed = runs.last() == Some(&true);
        let was_red = runs.contains(&false) || earlier == Earlier::RedHere;
        assert_eq!(looks.has_flaked(), has_passed && was_red);
        seen
    }

    #[test]
    fn red_is_believed_the_second_time_and_a_flake_after_two_passes() {
        use Earlier::{Nothing, RedHere, RedOnAnotherTree};
        use Look::{Again, Passed, Red};
        assert_eq!(looks(Habit::Steady, Nothing, &[true]), [Passed]);
        assert_eq!(looks(Habit::Steady, Nothing, &[false, false]), [Again, Red]);
        assert_eq!(looks(Habit::Steady, Nothing, &[false, true, true]), [Again, Again, Passed]);
        assert_eq!(looks(Habit::Steady, Nothing, &[false, true, false]), [Again, Again, Red]);
        // Red that was seen before counts, here and on another tree.
        assert_eq!(looks(Habit::Steady, RedHere, &[false]), [Red]);
        assert_eq!(looks(Habit::Steady, RedHere, &[true, true]), [Again, Passed]);
        assert_eq!(looks(Habit::Steady, RedOnAnotherTree, &[false]), [Red]);
        assert_eq!(looks(Habit::Steady, RedOnAnotherTree, &[true]), [Passed]);
    }

    #[test]
    fn of_a_check_that_is_known_to_flake_one_pass_is_enough_and_often_red_takes_three() {
        use Earlier::{Nothing, RedHere, RedOnAnotherTree};
        use Look::{Again, Passed, Red};
        assert_eq!(looks(Habit::Flakes { reds: 2 }, Nothing, &[false, true]), [Again, Passed]);
        assert_eq!(looks(Habit::Flakes { reds: 2 }, Nothing, &[false, false]), [Again, Red]);
        assert_eq!(looks(Habit::Flakes { reds: 3 }, Nothing, &[false, true]), [Again, Passed]);
        assert_eq!(looks(Habit::Flakes { reds: 3 }, Nothing, &[false, false, false]), [Again, Again, Red]);
        assert_eq!(looks(Habit::Flakes { reds: 3 }, RedHere, &[false, false]), [Again, Red]);
        assert_eq!(looks(Habit::Flakes { reds: 3 }, RedOnAnotherTree, &[false, false]), [Again, Red]);
    }

    #[test]
    fn a_check_is_known_to_flake_for_a_week_and_only_so_many_are() {
        let run = |n: u32, flaked| CheckRun { flaked, ..CheckRun::new(Digest::of(&n), format!("c{n}")) };
        let (mut flakes, at) = (Flakes::default(), Timestamp(1_000_000_000));
        flakes.note(&[run(1, true), run(2, false)], at);
        let later = |days: u64| at.plus(Span::minutes(24 * 60 * days));
        let known = |flakes: &Flakes, n: u32, now| flakes.habit(&Digest::of(&n), now) != Habit::Steady;
        assert!(known(&flakes, 1, later(6)) && !known(&flakes, 1, later(7)) && !known(&flakes, 2, at));
        assert_eq!((flakes.count(at), flakes.count(later(7))), (1, 0));
        assert_eq!(flakes.habit(&Digest::of(&1), at), Habit::Flakes { reds: 4 }, "until more is known");
        let more = CheckRun { runs: 100, passes: 100, ..run(1, false) };
        flakes.note(&[more], at);
        assert_eq!(flakes.habit(&Digest::of(&1), at), Habit::Flakes { reds: 2 });
        for n in 3..1000 {
            flakes.note(&[run(n, true)], later(1).plus(Span::seconds(u64::from(n))));
        }
        assert_eq!(flakes.0.len(), MOST);
        assert!(known(&flakes, 999, later(2)) && !known(&flakes, 1, later(2)));
    }
}
