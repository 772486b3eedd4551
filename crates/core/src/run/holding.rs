//! A hold of the ledger that is bound to a process: its holder lives as long as that process does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One process, and no later one with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderProcess {
    pub pid: u32,
    /// When it began, in the machine's ticks since its start.
    pub born: u64,
    /// That start of the machine.
    pub boot: String,
    /// The namespace in which it has this number.
    pub space: String,
}

impl fmt::Display for HolderProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)
    }
}
