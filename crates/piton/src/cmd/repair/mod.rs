//! Finding and fixing what is wrong, and removing what is no longer needed.

pub(crate) mod archive;
pub(crate) mod clean;
pub(crate) mod doctor;
pub(crate) mod rescue;
