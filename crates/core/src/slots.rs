//! Which place of the pool a task works in, what stays there for the next one, and which places are one too many.
//!
//! A slot is a worktree that stays when its task is done. Everything is decided on values that the engine has read.

use std::collections::BTreeSet;

use crate::order::Arrange;
use crate::plan::{Oid, RepoPath};

/// A slot that nobody works in, as it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeSlot {
    pub number: u32,
    /// The commit whose files it holds.
    pub commit: Oid,
    /// Whether it holds caches.
    pub is_warm: bool,
    /// When it was left, in milliseconds.
    pub since: i64,
    pub bytes: u64,
}

/// Choose a slot for a task on `base`: a warm one first, then one at that very commit, then the one that was left last,
/// since fewer files differ there; else a new one. `known`: all numbers that are in use in any way.
pub fn choose(base: &Oid, free: &[FreeSlot], known: &BTreeSet<u32>) -> u32 {
    let rank = |slot: &&FreeSlot| (slot.is_warm, slot.commit == *base, slot.since, u32::MAX - slot.number);
    let new = || (0..).find(|number| !known.contains(number)).expect("there is always another number");
    free.iter().max_by_key(rank).map_or_else(new, |slot| slot.number)
}

/// The free slots that have to go, oldest first: all beyond `most` bytes, and when a run has ended also those without
/// caches, which save nobody anything.
pub fn surplus(free: &[FreeSlot], most: u64, has_ended: bool) -> Vec<u32> {
    let mut by_age: Vec<&FreeSlot> = free.iter().collect();
    by_age.arrange_by_key(|slot| (slot.since, slot.number));
    let goes = |slot: &FreeSlot| has_ended && !slot.is_warm;
    let kept = by_age.iter().filter(|slot| !goes(slot)).map(|slot| slot.bytes);
    let mut total = kept.fold(0, u64::saturating_add);
    let mut gone = Vec::new();
    for slot in by_age {
        if goes(slot) {
            gone.push(slot.number);
        } else if total > most {
            total = total.saturating_sub(slot.bytes);
            gone.push(slot.number);
        }
    }
    gone
}

/// Whether a slot should be made before a task asks for it: more tasks will soon be under way at once than there are slots.
pub fn is_one_wanted_ahead(parallel: usize, soon: usize, slots: usize) -> bool {
    slots < parallel.min(soon)
}

/// Folders that build tools fill with what they can make again, by the names that they give them.
const CACHES: &[&str] = &[
    "target",
    "node_modules",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".mypy_cache",
    ".ruff_cache",
    ".dart_tool",
    ".zig-cache",
    ".stack-work",
    "dist-newstyle",
    "_build",
    ".build",
    "elm-stuff",
    "DerivedData",
];

/// Whether an ignored folder stays for the next task. `declared`: what the plan names. `has`: whether a file is in it.
pub fn is_cache(folder: &str, declared: &[RepoPath], has: impl Fn(&str) -> bool) -> bool {
    let folder = folder.trim_end_matches('/');
    let name = folder.rsplit('/').next().unwrap_or(folder);
    declared.iter().any(|path| path.as_str() == folder)
        || CACHES.contains(&name)
        // Whatever a build folder of CMake is called.
        || has("CMakeCache.txt")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn oid(n: u8) -> Oid {
        Oid::new(&format!("{n:040x}")).unwrap()
    }

    fn slot(number: u32, commit: u8, is_warm: bool, since: i64, bytes: u64) -> FreeSlot {
        FreeSlot { number, commit: oid(commit), is_warm, since, bytes }
    }

    #[test]
    fn a_warm_slot_comes_before_a_near_one_and_that_before_a_recent_one() {
        let known = BTreeSet::from([0, 1, 2, 3]);
        let free = [
            slot(0, 1, false, 9, 0),
            slot(1, 7, false, 1, 0),
            slot(2, 1, true, 3, 0),
            slot(3, 1, true, 5, 0),
        ];
        assert_eq!(choose(&oid(7), &free, &known), 3, "of two warm ones the later");
        assert_eq!(choose(&oid(7), &free[..2], &known), 1, "at this very commit");
        assert_eq!(choose(&oid(8), &free[..2], &known), 0, "left last");
        assert_eq!(choose(&oid(8), &[], &known), 4);
        assert_eq!(choose(&oid(8), &[], &BTreeSet::from([1])), 0);
    }

    #[test]
    fn what_is_beyond_the_bound_goes_oldest_first_and_what_is_cold_when_the_run_ends() {
        let free = [slot(0, 1, true, 3, 40), slot(1, 1, true, 1, 40), slot(2, 1, false, 2, 40)];
        assert_eq!(surplus(&free, 200, false), [0; 0]);
        assert_eq!(surplus(&free, 100, false), [1]);
        assert_eq!(surplus(&free, 100, true), [2], "the cold one makes room");
        assert_eq!(surplus(&free, 40, true), [1, 2]);
        assert_eq!(surplus(&free, 0, false), [1, 2, 0]);
    }

    #[test]
    fn caches_are_known_by_name_by_declaration_and_by_what_is_in_them() {
        let declared = [RepoPath::new("web/cache").unwrap()];
        let is = |folder: &str| is_cache(folder, &declared, |_| false);
        assert!(is("target/") && is("a/b/node_modules/") && is("web/cache/"));
        assert!(!is("cache/") && !is("web/cache/inner/") && !is("notes/") && !is("targets/"));
        assert!(is_cache("out/", &[], |file| file == "CMakeCache.txt"));
    }

    proptest! {
        #[test]
        fn a_choice_is_a_free_slot_or_a_number_that_nobody_has(
            free in proptest::collection::btree_map(0u32..6, (0u8..3, any::<bool>(), 0i64..9, 0u64..9), 0..6),
            held in proptest::collection::btree_set(6u32..12, 0..6),
            base in 0u8..3,
        ) {
            let free: Vec<FreeSlot> =
                free.into_iter().map(|(n, (c, warm, since, bytes))| slot(n, c, warm, since, bytes)).collect();
            let known: BTreeSet<u32> = free.iter().map(|slot| slot.number).chain(held).collect();
            let number = choose(&oid(base), &free, &known);
            match free.iter().find(|slot| slot.number == number) {
                Some(chosen) => prop_assert!(chosen.is_warm || free.iter().all(|slot| !slot.is_warm)),
                None => prop_assert!(free.is_empty() && !known.contains(&number)),
            }
        }

        #[test]
        fn what_stays_is_within_the_bound_and_nothing_goes_in_vain(
            free in proptest::collection::btree_map(0u32..6, (any::<bool>(), 0i64..9, 0u64..50), 0..6),
            most in 0u64..200,
            has_ended: bool,
        ) {
            let free: Vec<FreeSlot> =
                free.into_iter().map(|(n, (warm, since, bytes))| slot(n, 1, warm, since, bytes)).collect();
            let gone = surplus(&free, most, has_ended);
            let sum = |skip: &[u32]| -> u64 {
                free.iter().filter(|slot| !skip.contains(&slot.number)).map(|slot| slot.bytes).sum()
            };
            prop_assert!(sum(&gone) <= most);
            let needed: Vec<u32> = gone.iter().copied()
                .filter(|n| !has_ended || free.iter().any(|slot| slot.number == *n && slot.is_warm)).collect();
            if let Some(last) = needed.last() {
                let others: Vec<u32> = gone.iter().copied().filter(|n| n != last).collect();
                prop_assert!(sum(&others) > most, "the last of them had to go");
            }
        }
    }
}
