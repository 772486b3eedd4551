//! Commands and parts that belong to one system of plans.

pub(crate) mod issue;
pub(crate) mod iterative;
pub(crate) mod master;
pub(crate) mod older;
pub(crate) mod phases;
pub(crate) mod rwkit;
