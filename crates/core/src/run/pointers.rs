//! What a try that failed points the next one to.

use serde::{Deserialize, Serialize};

use super::event::CheckResult;
use crate::plan::TaskId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pointers {
    /// The whole output of each check that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<CheckLog>,
    /// The files that do not merge with what landed before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The tasks that landed before and with which the work fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<TaskId>,
}

/// Where the output of a check is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckLog {
    pub check: String,
    /// The folder of its job, relative to Piton's folder.
    pub log: String,
}

impl Pointers {
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.files.is_empty() && self.others.is_empty()
    }

    /// To the output of those that did not pass.
    pub fn to_logs(results: &[CheckResult]) -> Pointers {
        let failed = results.iter().filter(|result| !result.verdict.lets_pass() && !result.log.is_empty());
        let log = |result: &CheckResult| CheckLog { check: result.name.clone(), log: result.log.clone() };
        Pointers { logs: failed.map(log).collect(), ..Pointers::default() }
    }
}
