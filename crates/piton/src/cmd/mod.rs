//! One file per command, or per family of them.

pub(crate) mod add;
pub(crate) mod agents;
pub(crate) mod archive;
pub(crate) mod begin;
pub(crate) mod clean;
pub(crate) mod cost;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod issue;
pub(crate) mod iterative;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod look;
mod made;
mod master;
pub(crate) mod mcp;
pub(crate) mod notes;
mod older;
pub(crate) mod ops;
pub(crate) mod orient;
pub(crate) mod output;
pub(crate) mod overview;
pub(crate) mod people;
pub(crate) mod phases;
pub(crate) mod plan;
pub(crate) mod prompt;
pub(crate) mod rescue;
pub(crate) mod run;
pub(crate) mod runs;
mod rwkit;
pub(crate) mod scripted;
pub(crate) mod status;
pub(crate) mod why;

/// How a command ends when nothing went wrong.
pub(crate) type Exit = u8;

pub(crate) const FINE: Exit = 0;
