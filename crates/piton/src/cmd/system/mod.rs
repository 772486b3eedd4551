//! Commands and parts that belong to one system of plans.

pub(crate) mod phase;
pub(crate) mod phases;
