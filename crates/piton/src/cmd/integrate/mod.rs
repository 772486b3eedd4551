//! Piton and other programs: clients, their hooks and tools, schemas, other systems' runs.

pub(crate) mod agents;
pub(crate) mod completions;
pub(crate) mod export;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod look;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod ops;
pub(crate) mod prompt;
pub(crate) mod schema;
pub(crate) mod scripted;
