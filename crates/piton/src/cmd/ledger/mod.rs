//! Working on a run by hand: people, agents and scripts that do the work themselves.

pub(crate) mod notes;
pub(crate) mod orient;
pub(crate) mod places;
pub(crate) mod report;
