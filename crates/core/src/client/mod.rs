//! The clients that do the work. Each is one file and one row of [`CLIENTS`].
//!
//! A row is a value that implements [`Client`]: how it is started, what the lines of its stream say, what its end means,
//! whether it is logged in, and plain [`Facts`] about it. An [`Adapter`] is such a row, under the name that plans and
//! journals have for it. What all clients share is in `story` (what happened), `meter` (what was used), `launch` (how one
//! is started) and `ledger` (how one that a person talks to keeps the ledger).

mod claude;
mod codex;
mod command;
mod estimate;
mod facts;
mod gemini;
mod json;
mod launch;
mod ledger;
mod meter;
mod opencode;
mod story;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::plan::Agent;
use crate::time::Timestamp;

pub use facts::{Credentials, Facts, Home};
pub use launch::{Conversation, Launch, Login, Machine, OwnFile, Start, StopBy, Unread};
pub use ledger::{Content, Ledger, Part};
pub use meter::Meter;
pub use story::{End, Exit, Fault, GO_ON, Happening, Meaning, Story, happenings};

/// One client: how it is started, and what it says.
pub trait Client: Sync {
    /// What plans, journals and the command line call it; also the program that is started unless a profile names another.
    fn name(&self) -> &'static str;

    fn facts(&self) -> Facts {
        Facts::UNKNOWN
    }

    /// The provider of the client, with this model. `None`: it is unknown, so each profile counts as its own provider.
    fn provider<'a>(&self, _model: Option<&'a str>) -> Option<&'a str> {
        None
    }

    /// What it is started with; or why it must not be.
    fn start(&self, _: &Start<'_>) -> Result<Launch, String>;

    /// What a line of its stream says that was written about `now`.
    fn happenings(&self, _line: &Value, _now: Timestamp) -> Vec<Happening> {
        Vec::new()
    }

    /// Whose fault it is that it ended with this status without saying why. `words` is what it wrote besides its
    /// stream.
    fn fault(&self, _words: &str, _code: i32) -> Fault {
        Fault::Outside
    }

    /// What it did not let its agent do, if it says so besides its stream.
    fn denied(&self, _words: &str) -> Option<String> {
        None
    }

    /// How it is asked whether it is logged in, if it can say.
    fn login(&self) -> Option<Login> {
        None
    }

    /// Whether it needs no login of its own here, so that it is not asked about one.
    fn has_another_way_in(&self, _: &Agent, _: &dyn Machine) -> bool {
        false
    }

    /// The command that logs it in. `None` if it can be asked, or if something here shows a login: a key in its
    /// environment, credentials, or settings that name a way in. `root` is the project's.
    fn unseen_login(&self, _: &Agent, _root: &str, _: &dyn Machine) -> Option<&'static str> {
        None
    }

    /// What `piton init` puts into a project for it.
    fn ledger(&self) -> Option<Ledger> {
        None
    }
}

pub type ClientRef = &'static dyn Client;

/// Every client that this version knows. The first one is any program; of the others, one that stands before another is
/// preferred where both are installed.
static CLIENTS: [ClientRef; 5] =
    [&command::Command, &claude::Claude, &codex::Codex, &gemini::Gemini, &opencode::Opencode];

/// Clients that a program built on this crate adds.
static ADDED: OnceLock<&'static [ClientRef]> = OnceLock::new();

/// Put more rows below the table. It is done once, before anything is read.
pub fn add_clients(rows: &'static [ClientRef]) {
    let _ = ADDED.set(rows);
}

/// A client that Piton knows how to drive: a row of the table, written by its name.
#[derive(Clone, Copy)]
pub struct Adapter(ClientRef);

impl Adapter {
    pub fn all() -> impl Iterator<Item = Adapter> {
        let added = ADDED.get().into_iter().flat_map(|rows| rows.iter().copied());
        CLIENTS.into_iter().chain(added).map(Adapter)
    }

    /// Those that are more than any program.
    pub fn known() -> impl Iterator<Item = Adapter> {
        Adapter::all().filter(|adapter| !adapter.is_command())
    }

    /// Only this function turns a name into a client.
    pub fn named(name: &str) -> Option<Adapter> {
        Adapter::all().find(|adapter| adapter.name() == name)
    }

    /// Any program that takes a prompt.
    pub fn is_command(&self) -> bool {
        !self.facts().has_stream
    }

    /// Whether it reports its usage only in tokens, so that no limit in money has an effect.
    pub fn tells_no_money(self) -> bool {
        !self.is_command() && !self.facts().reports_cost
    }
}

/// A client that a test names.
#[cfg(test)]
pub(crate) fn client(name: &str) -> Adapter {
    Adapter::named(name).expect("a known client")
}

impl Default for Adapter {
    fn default() -> Adapter {
        Adapter(CLIENTS[0])
    }
}

impl Deref for Adapter {
    type Target = dyn Client;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for dyn Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Adapter) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Adapter {}

impl Serialize for Adapter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Adapter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Adapter, D::Error> {
        let name = String::deserialize(from)?;
        Adapter::named(&name).ok_or_else(|| {
            let names: Vec<String> = Adapter::all().map(|adapter| format!("`{}`", adapter.name())).collect();
            serde::de::Error::custom(format!(
                "unknown variant `{name}`, expected one of {}",
                names.join(", ")
            ))
        })
    }
}
