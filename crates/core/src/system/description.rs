//! The project's own description, in which what a run has made is entered.

use crate::plan::TaskSpec;
use crate::time::Timestamp;

/// How a system keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// From the root of the project.
    pub file: &'static str,
    /// Enter what tasks export into the text. The hash is the commit that the file is brought up to.
    pub fold: fn(&str, &[&TaskSpec], &str, Timestamp) -> Result<Folded, Unchanged>,
}

/// The file with the run's results in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    pub text: String,
    /// What is new, by id, by method and path, and by name.
    pub features: Vec<String>,
    pub endpoints: Vec<String>,
    pub models: Vec<String>,
    /// The commit that the file said it was last brought up to, if what it said can be one.
    pub last_hash: Option<String>,
    /// What was read although it is not right, each with its line.
    pub warnings: Vec<String>,
}

/// The file stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchanged {
    pub reason: String,
    /// It has everything already.
    pub is_complete: bool,
}
