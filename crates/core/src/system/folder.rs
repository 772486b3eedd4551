//! A plan that is a folder of files: what a reader gets, and what it gives back.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::Plan;

/// Files by their names below the plan's folder, with `/` between the parts. Whoever reads the disk leaves out what
/// no reader wants; a folder without files has none here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What is wrong with one of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A name in [`Folder::files`], or of a file that should be there; then its text is empty.
    pub file: String,
    pub diagnostic: Diagnostic,
}

/// A plan as far as it was understood.
#[derive(Clone, Debug)]
pub struct Reading {
    /// To be used only if [`Reading::is_usable`].
    pub plan: Plan,
    /// By file, and in the order of its text.
    pub problems: Vec<Problem>,
    /// The texts as they were decoded: the places of problems are places in these.
    pub texts: BTreeMap<String, String>,
    /// Where the plan says the project is, if it does.
    pub project_path: Option<String>,
}

impl Reading {
    /// Whether nothing worse than a warning was found.
    pub fn is_usable(&self) -> bool {
        self.problems.iter().all(|problem| problem.diagnostic.severity < Severity::Error)
    }
}
