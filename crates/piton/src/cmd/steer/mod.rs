//! What people change of a run.

pub(crate) mod add;
pub(crate) mod close;
pub(crate) mod overrides;
pub(crate) mod review;
mod review_edit;
