//! The systems whose plans Piton reads and whose state files it keeps. Each is one module and one row of [`SYSTEMS`].
//!
//! A row is a value that implements [`System`]. Code that needs something of a system calls its row. Code that only
//! needs to know how to treat its runs uses the [`Policy`]. `kit` is what several systems share. The modules of the
//! systems do not know each other.

mod addition;
pub mod asked;
pub mod backlog;
pub mod bmad;
mod collection;
pub mod config;
mod description;
pub mod edit;
pub mod execute;
pub mod export;
pub mod finding;
mod form;
pub mod gsd;
pub mod issue;
pub mod iterative;
pub mod kiro;
pub mod kit;
pub mod native;
pub mod openspec;
pub mod ops;
mod pass;
mod policy;
pub mod ralph;
mod reading;
mod reports;
pub mod rwkit;
pub mod speckit;
mod starter;
pub mod state_files;
pub mod taskmaster;
pub mod todo;
pub mod tracker;

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use self::config::Config;
use self::edit::Edit;
use self::export::{Names, Source, Written};
use self::kit::takeover::StateOf;
use self::ops::Ops;
use self::state_files::{AgentReport, Companion, Picture, Place};
use crate::chronicle::Chronicle;
use crate::diagnostic::Diagnostic;
use crate::plan::{Group, Plan, TaskId};
use crate::run::{AgentEnd, Refusal, Report, State, Status, Task};

pub use addition::Addition;
pub use collection::{Collection, ListEntry, Lists, Standing, file_of};
pub use description::{Description, Folded, Unchanged};
pub use finding::{Claim, Disk, FileClaim, Outdated, ProjectNamed, Strength, Typed};
pub use form::Form;
pub use kit::foreign::Understood;
pub use pass::{Ended, Pass};
pub use policy::{Archive, Detects, Files, Habits, LastWord, Policy};
pub use reading::{Before, DoneAgain, Folder, Given, Problem, ReadPlan, Reading, Strictness};
pub use reports::{
    Account, Concludes, Conclusion, Elsewhere, FindsChecks, LooksElsewhere, NOT_FINISHED, ReportedAs, Tally,
};
pub use starter::{Asked, Begun, ListText, Starter, UsualChecks, Worker};

/// One system: what its files are, and what they say.
pub trait System: Sync {
    // What it is.

    /// What the journal and the command line call it.
    fn name(&self) -> &'static str;

    /// What its plans are, for help.
    fn about(&self) -> &'static str;

    /// The form of its plans as far as nothing more is known.
    fn plain(&self) -> Form;

    fn policy(&self) -> Policy {
        Policy::USUAL
    }

    fn files(&self) -> Files {
        Files::default()
    }

    /// Variables that people set for the system's own program, which stand in for flags.
    fn habits(&self) -> Option<Habits> {
        None
    }

    /// Files and folders of a plan's folder that no task may change, except the state file.
    fn owned(&self, _groups: &[Group]) -> Vec<String> {
        Vec::new()
    }

    // Finding and reading plans.

    /// Whether a folder is a plan of this system.
    fn claims_folder(&self, _folder: &str, _: &dyn Disk) -> Option<Claim> {
        None
    }

    /// Whether a file is such a plan, or part of one.
    fn claims_file(&self, _name: &str, _path: &str, _: &dyn Disk) -> FileClaim {
        FileClaim::No
    }

    /// What a typed text means that is not a path, where plans of this system have short names.
    fn typed(&self, _text: &str) -> Option<Typed> {
        None
    }

    /// Whether a typed text means the folder of this name, in the usual place.
    fn goes_by(&self, _folder: &str, _text: &str) -> bool {
        false
    }

    /// Where the folder of an older layout belongs by now. Its path is a real or an absolute one.
    fn outdated(&self, _folder: &str) -> Option<Outdated> {
        None
    }

    /// The new place of a plan that the system's own program has moved away from this path.
    fn moved_to(&self, _plan: &str, _: &dyn Disk) -> Option<String> {
        None
    }

    /// Whether a file is read as part of a plan. Its name is one below the plan's folder.
    fn is_part(&self, _name: &str) -> bool {
        false
    }

    /// Files that are read with a plan that is one file, by their paths.
    fn read_along(&self, _plan: &str, _: &dyn Disk) -> Vec<String> {
        Vec::new()
    }

    /// Other plans whose tasks its tasks may wait for, by their real paths. All lie in the project at `root`.
    fn others(&self, _plan: &str, _root: &str, _: &dyn Disk) -> Vec<String> {
        Vec::new()
    }

    /// The project that a plan says it is for. A plan that lies in no repository may say it in its state file.
    fn project_named(&self, _plan: &str, _: &dyn Disk) -> ProjectNamed {
        ProjectNamed::default()
    }

    /// Read a plan.
    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan>;

    /// The files of a plan that change if a task is added, each with its new content. Empty: the plan has it already.
    fn add(&self, _: &Folder, _: &Plan, _: &Addition) -> Result<Vec<(String, Vec<u8>)>, Refusal> {
        let reason = format!("tasks cannot be added to a plan of the {} system by command", self.name());
        Err(addition::refused(reason, Some("write it into the plan's own files".to_owned())))
    }

    /// Refuse an addition that the grown plan does not express correctly.
    fn is_added(&self, _grown: &Plan, _: &Addition) -> Result<(), Refusal> {
        Ok(())
    }

    /// What makes a file a list of plans, which are worked on one after the other.
    fn collection(&self, _file: &str) -> Option<&'static dyn Collection> {
        None
    }

    // What another program left next to a plan.

    /// What is wrong with a state file.
    fn check_state(&self, _text: &str) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// What counts where a state file cannot be used.
    fn without_state(&self) -> &'static str {
        "the plan alone counts"
    }

    /// Which plan or run a state file belongs to. `place`: the place of the plan in the project.
    fn state_of(&self, _text: &str, _place: &str) -> StateOf {
        StateOf::ThisPlan
    }

    // The files that it keeps with a plan.

    /// The state file of a run; `None` before it has begun, and for systems without one.
    fn picture(&self, _: &State, _: &Chronicle, _: &Place, _claimed: &[TaskId]) -> Option<Picture> {
        None
    }

    /// What an edit of a state file from `shown` to `found` asks for.
    fn edits(&self, _shown: &Value, _found: &Value) -> Vec<Edit> {
        Vec::new()
    }

    /// Fields of others in `fields` that the file does not show since the run has its own there, each with the reason.
    fn overruled(&self, _fields: &Value, _shown: &Value) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The files besides the state file that other programs write, too. Some may not exist.
    fn companions(&self, _is_there: &dyn Fn(&str) -> bool) -> Vec<&'static dyn Companion> {
        Vec::new()
    }

    /// The same of files that only the disk can name, such as one for each task; their names are paths below the folder that
    /// the plan lies in. `plan` is the plan's own file as it is now, and `names` lists a folder.
    fn companions_below(
        &self,
        _plan: &[u8],
        _names: &dyn Fn(&str) -> Vec<String>,
    ) -> Vec<Box<dyn Companion>> {
        Vec::new()
    }

    /// Whether a run writes into files that people and other programs write, too.
    fn keeps_files(&self) -> bool {
        self.files().state.is_some()
            || self.files().has_companions_below
            || !self.companions(&|_| true).is_empty()
    }

    // What goes to agents, and what they report.

    /// What an agent has reported about its task by changing its copy of one of the files; `None` if nothing changed.
    fn report_in_copy(&self, task: &TaskId, _name: &str, before: &[u8], after: &[u8]) -> Option<AgentReport> {
        state_files::report_in_fields(task, before, after, &|shown, found| self.edits(shown, found))
    }

    /// What an agent says by its last words, where the system has words for it.
    fn said(&self, _tail: &str) -> Option<Report> {
        None
    }

    /// The prompt of an agent at the beginning of a pass, if it differs from that of other systems.
    fn prompt(&self, _: &Pass<'_>) -> Option<String> {
        None
    }

    /// What it means that an agent ended well, and what is odd about how it said so. `None`: the same as in other
    /// systems.
    fn ending(&self, _: &Ended<'_>) -> Option<(AgentEnd, Vec<String>)> {
        None
    }

    // What people read about its runs, and what they say. A function is passed where the run is read only on demand.

    /// What is typed in another way than usual, and what was done by hand before.
    fn ops(&self) -> Ops {
        Ops::NONE
    }

    /// What is to be done next, in the words that its scripts read.
    fn next_line(&self) -> Option<fn(&State, &Chronicle) -> String> {
        None
    }

    /// How far a run is, where it counts otherwise.
    fn progress(&self) -> Option<fn(&State) -> Tally> {
        None
    }

    /// What its files warn of, for these tasks of a run.
    fn warnings(&self, _tasks: &[Task], _read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
        Vec::new()
    }

    /// What other programs get when a run has ended.
    fn conclusion(&self) -> Option<Concludes> {
        None
    }

    /// What its log says about a report.
    fn log_entry(&self, _: &Account<'_>) -> Option<String> {
        None
    }

    /// How a task is called in a sentence.
    fn task_name(&self, task: &TaskId) -> String {
        task.to_string()
    }

    // How its plans begin, and what they have to do with the project.

    /// Where a plan begins that is named by these words.
    fn starter(&self, _words: &[String]) -> Result<Starter, Refusal> {
        Err(addition::refused(
            format!("Piton has no plan to begin with for the {} system", self.name()),
            None,
        ))
    }

    /// What it begins with.
    fn begin(&self, _: &Asked<'_>) -> Result<Begun, Refusal> {
        Ok(Begun::default())
    }

    /// The checks among a run's tasks that were found in the project when it began, where such count.
    fn detected(&self) -> Option<FindsChecks> {
        None
    }

    /// What of another plan need not be waited for any more, where plans wait for each other.
    fn done_elsewhere(&self) -> Option<LooksElsewhere> {
        None
    }

    /// The project's description, if what a run has made is entered in one.
    fn description(&self) -> Option<Description> {
        None
    }

    // Plans and runs in its form.

    /// A plan in the names that this system has.
    fn fit(&self, plan: &Plan) -> Plan {
        plan.clone()
    }

    /// The files of a plan that [`fits`](System::fit), and what its own reader makes of them.
    fn write(&self, fitted: &Plan, _: &Config, _is_done: &dyn Fn(&TaskId) -> bool) -> Written {
        let why = format!("plans of the {} system are read, and not written", self.name());
        Written { files: Vec::new(), back: fitted.clone(), wrong: vec![export::Note::of_run("plan", why)] }
    }

    /// The state files of a run of any system, in this one's form.
    fn write_state(&self, _: Source<'_>, _: &Names, _: &Place) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What those call a status.
    fn word(&self, status: Status) -> &'static str {
        status.name()
    }

    /// What of a run is lost in the export.
    fn not_exported(&self, source: Source<'_>) -> Vec<export::Note> {
        export::other_words(source, |status| self.word(status))
    }
}

pub type SystemRef = &'static dyn System;

/// Every system that this version knows. The first one is Piton's own.
static SYSTEMS: [SystemRef; 17] = [
    &native::Native,
    &execute::Execute,
    &issue::Issues,
    &rwkit::Rwkit,
    &iterative::Iterations,
    &speckit::SpecKit,
    &openspec::OpenSpec,
    &kiro::Kiro,
    &taskmaster::TASKMASTER,
    &ralph::RALPH,
    &gsd::GSD,
    &bmad::BMAD,
    &bmad::STORIES,
    &bmad::SPECS,
    &backlog::BACKLOG,
    &tracker::TRACKER,
    // Of two that recognise a file by its name, the first one gets it: this one takes what is left.
    &todo::Todo,
];

/// Piton's own.
pub fn own() -> SystemRef {
    SYSTEMS[0]
}

/// Systems that a program built on this crate adds.
static ADDED: OnceLock<&'static [SystemRef]> = OnceLock::new();

/// Put more rows below the table. It is done once, before anything is read.
pub fn add_systems(rows: &'static [SystemRef]) {
    let _ = ADDED.set(rows);
}

pub fn systems() -> impl Iterator<Item = SystemRef> {
    SYSTEMS.into_iter().chain(ADDED.get().into_iter().flat_map(|rows| rows.iter().copied()))
}

/// Only this function turns a name into a system.
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
