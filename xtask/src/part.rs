//! Long chores, shared among several shells, or evenings.

use anyhow::{Context, Result};

/// One part of several, as `2/3` says it.
pub(crate) struct Part {
    pub(crate) nth: usize,
    pub(crate) of: usize,
}

impl Part {
    pub(crate) fn read(given: &str) -> Result<Part> {
        let read = || {
            let (nth, of) = given.split_once('/')?;
            Some(Part { nth: nth.parse().ok()?, of: of.parse().ok()? })
        };
        read()
            .filter(|part| (1..=part.of).contains(&part.nth))
            .with_context(|| format!("{given:?} is no part; the second of three is --part 2/3"))
    }
}
