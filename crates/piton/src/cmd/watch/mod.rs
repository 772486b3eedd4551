//! Where a run stands, and what happened.

pub(crate) mod checks;
pub(crate) mod cost;
pub(crate) mod graph;
pub(crate) mod inbox;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod overview;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod timeline;
pub(crate) mod why;
