//! The systems whose plans Piton reads and whose state files it keeps. Each is one room and one row of [`SYSTEMS`].
//!
//! A row is a value that implements [`System`]. Whoever needs something of a system asks its row, and whoever only needs to
//! know how its runs are to be treated asks for the [`Policy`]. `kit` is what several rooms share. The rooms do not know
//! each other.

mod addition;
pub mod config;
mod dialect;
pub mod edit;
pub mod execute;
pub mod export;
mod folder;
mod form;
pub mod issue;
pub mod iterative;
pub mod kept;
pub mod kit;
pub mod native;
mod pass;
mod policy;
pub mod rwkit;

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use self::config::Config;
use self::edit::Edit;
use self::export::{Names, Source, Written};
use self::kept::{Companion, Picture, Place, Told};
use crate::chronicle::Chronicle;
use crate::plan::{Plan, TaskId};
use crate::run::{AgentEnd, Report, State, Status};

pub use addition::Addition;
pub use dialect::Dialect;
pub use folder::{Folder, Problem, Reading};
pub use form::Form;
pub use kit::foreign::Understood;
pub use pass::{Ended, Pass};
pub use policy::{Files, Policy};

/// One system: what its files are, and what they say.
pub trait System: Sync {
    /// What the journal and the command line call it.
    fn name(&self) -> &'static str;

    /// The form of its plans as far as nothing more is known.
    fn plain(&self) -> Form;

    fn policy(&self) -> Policy {
        Policy::USUAL
    }

    fn files(&self) -> Files {
        Files::default()
    }

    /// The state file of a run; `None` before it has begun, and where there is none.
    fn picture(&self, _: &State, _: &Chronicle, _: &Place, _claimed: &[TaskId]) -> Option<Picture> {
        None
    }

    /// What somebody wants who changed a state file from `shown` to `found`.
    fn edits(&self, _shown: &Value, _found: &Value) -> Vec<Edit> {
        Vec::new()
    }

    /// Fields of others in `fields` that the file does not show since the run has its own there, each with the reason.
    fn overruled(&self, _fields: &Value, _shown: &Value) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The files beside the state file that others write, too, of which some may not be there.
    fn companions(&self, _is_there: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        Vec::new()
    }

    /// What an agent has told about its task by changing its copy of one of the files; `None` if nothing changed.
    fn told(&self, task: &TaskId, _name: &str, before: &[u8], after: &[u8]) -> Option<Told> {
        kept::told_in_fields(task, before, after, &|shown, found| self.edits(shown, found))
    }

    /// What an agent says by its last words, where the system has words for it.
    fn said(&self, _tail: &str) -> Option<Report> {
        None
    }

    /// What an agent is told at the beginning of a pass, where that is not what others are told.
    fn prompt(&self, _: &Pass<'_>) -> Option<String> {
        None
    }

    /// What it means that an agent ended well, and what is odd about how it said so. `None`: what it means elsewhere.
    fn ending(&self, _: &Ended<'_>) -> Option<(AgentEnd, Vec<String>)> {
        None
    }

    /// A plan in the names that this system has.
    fn fit(&self, plan: &Plan) -> Plan;

    /// The files of a plan that [`fits`](System::fit), and what its own reader makes of them.
    fn write(&self, fitted: &Plan, config: &Config, is_done: &dyn Fn(&TaskId) -> bool) -> Written;

    /// The state files of a run of any system, in this one's form.
    fn write_state(&self, _: Source<'_>, _: &Names, _: &Place) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What those call a status.
    fn word(&self, status: Status) -> &'static str {
        status.name()
    }

    /// What of a run those do not tell.
    fn untold(&self, source: Source<'_>) -> Vec<export::Note> {
        export::other_words(source, |status| self.word(status))
    }
}

pub type SystemRef = &'static dyn System;

/// Every system that this version knows. The first one is Piton's own.
static SYSTEMS: [SystemRef; 5] =
    [&native::Native, &execute::Execute, &issue::Issues, &rwkit::Rwkit, &iterative::Iterations];

/// Systems that a program built on this crate adds.
static ADDED: OnceLock<&'static [SystemRef]> = OnceLock::new();

/// Put more rows below the table. It is done once, before anything is read.
pub fn add_systems(rows: &'static [SystemRef]) {
    let _ = ADDED.set(rows);
}

pub fn systems() -> impl Iterator<Item = SystemRef> {
    SYSTEMS.into_iter().chain(ADDED.get().into_iter().flat_map(|rows| rows.iter().copied()))
}

/// The one place in which a name becomes a system.
pub fn named(name: &str) -> Option<SystemRef> {
    systems().find(|system| system.name() == name)
}

impl fmt::Debug for dyn System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn System {
    fn eq(&self, other: &dyn System) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn System {}
