//! Finding, beginning and growing a run.

pub(crate) mod begin;
pub(crate) mod find;
pub(crate) mod flags;
pub(crate) mod gone;
pub(crate) mod refusals;
pub(crate) mod same_plan;
pub(crate) mod siblings;
pub(crate) mod takeover;
