//! Sorting, and ordered maps from pairs, without a sort of their own at every place that needs one.
//!
//! The sort of the standard library is one of its largest functions, and is compiled again for every closure that it is
//! called with. `collect` of a `BTreeMap` calls it with one for every kind of iterator.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Stable sorts of lists that are short, or sorted rarely: the items' places are sorted, by one function for all of them.
pub trait Arrange<T> {
    fn arrange_by(&mut self, order: impl FnMut(&T, &T) -> Ordering);

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut order: impl FnMut(&T, &T) -> Ordering) {
        let mut from: Vec<usize> = (0..self.len()).collect();
        sort_places(&mut from, &mut |&a, &b| order(&self[a], &self[b]));
        // Each cycle of moves is walked once, and what was moved is marked as being in its place.
        for start in 0..from.len() {
            let mut place = start;
            while from[place] != start {
                let next = std::mem::replace(&mut from[place], place);
                self.swap(place, next);
                place = next;
            }
            from[place] = place;
        }
    }
}

fn sort_places(places: &mut [usize], order: &mut dyn FnMut(&usize, &usize) -> Ordering) {
    places.sort_by(order);
}

/// What `collect` does for a map, compiled once for each type of map.
pub trait Pairs<K, V>: Iterator<Item = (K, V)> + Sized {
    /// Of pairs with the same key, the last one counts.
    fn into_map(self) -> BTreeMap<K, V>
    where
        K: Ord,
    {
        map_of(self.collect())
    }
}

impl<K, V, I: Iterator<Item = (K, V)>> Pairs<K, V> for I {}

fn map_of<K: Ord, V>(pairs: Vec<(K, V)>) -> BTreeMap<K, V> {
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_arranged_as_a_stable_sort_does(keys in prop::collection::vec(0_u8..8, 0..40)) {
            let mut arranged: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut sorted = arranged.clone();
            sorted.sort_by_key(|(key, _)| *key);
            arranged.arrange_by_key(|(key, _)| *key);
            prop_assert_eq!(&arranged, &sorted);
            sorted.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            arranged.arrange_by(|a, b| b.0.cmp(&a.0));
            prop_assert_eq!(arranged, sorted);
        }

        #[test]
        fn maps_are_what_collect_makes_of_the_same_pairs(keys in prop::collection::vec(0_u8..8, 0..40)) {
            let pairs = || keys.iter().copied().zip(0_usize..);
            prop_assert_eq!(pairs().into_map(), pairs().collect::<BTreeMap<u8, usize>>());
        }
    }
}
