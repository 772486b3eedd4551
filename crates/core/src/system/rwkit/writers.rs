//! Which tasks write to the same place. Different spellings of one path meet, and so do a folder and what is in it. A
//! pattern stands for the folder that it looks into.

use std::collections::HashMap;

use crate::plan::RepoPath;

/// Folders further down are not told apart: no project is so deep, and each level costs a lookup.
const DEEPEST: usize = 32;

/// A place in the project as its parts, each with what is above it: `a`, `a/b`, `a/b/c`. The project itself has no
/// parts.
pub(super) struct Place(String);

impl Place {
    pub(super) fn from_file(file: &RepoPath) -> Place {
        let parts = file.as_str().split('/').filter(|part| !matches!(*part, "" | "."));
        let parts: Vec<&str> = parts.take_while(|part| !part.contains(['*', '?'])).take(DEEPEST).collect();
        Place(parts.join("/"))
    }

    /// The folders above it, from the project down.
    fn above(&self) -> impl Iterator<Item = &str> {
        let root = (!self.0.is_empty()).then_some("");
        root.into_iter().chain(self.0.match_indices('/').map(|(at, _)| &self.0[..at]))
    }
}

/// What is known of places that are written.
pub(super) struct Writers<T> {
    /// By the place that is written itself.
    whole: HashMap<String, T>,
    /// By folders that contain a written place.
    inside: HashMap<String, T>,
}

impl<T: Clone> Writers<T> {
    pub(super) fn new() -> Writers<T> {
        Writers { whole: HashMap::new(), inside: HashMap::new() }
    }

    /// The values of places that this one meets.
    pub(super) fn met<'w>(&'w self, place: &'w Place) -> impl Iterator<Item = &'w T> {
        let above = place.above().filter_map(|folder| self.whole.get(folder));
        self.whole.get(&place.0).into_iter().chain(above).chain(self.inside.get(&place.0))
    }

    /// Set the value of a place. `keep` chooses between an earlier value and this one.
    pub(super) fn enter(&mut self, place: &Place, said: &T, keep: impl Fn(&T, &T) -> T) {
        let put = |known: &mut HashMap<String, T>, at: &str| match known.get_mut(at) {
            Some(before) => *before = keep(before, said),
            None => drop(known.insert(at.to_owned(), said.clone())),
        };
        put(&mut self.whole, &place.0);
        place.above().for_each(|folder| put(&mut self.inside, folder));
    }
}
