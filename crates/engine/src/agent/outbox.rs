//! What an agent tells by command from inside its attempt. It needs no access to the journal: it appends
//! to a file in the attempt's folder, and the engine takes that in when the agent has ended.

use std::fs::OpenOptions;
use std::io::{self, Write};

use camino::Utf8Path;
use piton_core::run::Report;
use serde::{Deserialize, Serialize};

/// The variable that names the file; where it is set, `piton report` writes there.
pub const OUTBOX: &str = "PITON_OUTBOX";

/// More than an agent has to say.
const LARGEST: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub said: Said,
    #[serde(default)]
    pub report: Report,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    Done,
    Failed { reason: String },
    Blocked { reason: String },
}

impl Message {
    /// Append it, whole and durable: the agent may be killed right after.
    pub fn leave(&self, outbox: &Utf8Path) -> io::Result<()> {
        let mut line = crate::secrets::redactor().bytes(&serde_json::to_vec(self)?);
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).open(outbox)?;
        file.write_all(&line)?;
        file.sync_all()
    }
}

/// The last message that can be understood. What an agent wrote there by hand may be anything.
pub fn take(outbox: &Utf8Path) -> Option<Message> {
    if std::fs::metadata(outbox).ok()?.len() > LARGEST {
        return None;
    }
    last_message(&std::fs::read(outbox).ok()?)
}

#[doc(hidden)]
pub fn last_message(bytes: &[u8]) -> Option<Message> {
    String::from_utf8_lossy(bytes).lines().rev().find_map(|line| serde_json::from_str(line).ok())
}
