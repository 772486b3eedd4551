//! Piton's own plan, `plan.toml`.
//!
//! Text in, a value and diagnostics out: a reader never fails halfway, it returns what it understood with everything
//! that is wrong, each at its own bytes. This module knows nothing about files, runs or running agents.

mod add;
mod from;
mod links;
mod new;
mod read;
mod row;
#[cfg(feature = "schema")]
mod schema;
mod starter;
#[cfg(test)]
mod tests;
mod write;

use super::config::{
    Config, LONGEST_NAME, checks, keys, name_from, tables as config, toml_list, toml_text, walk,
};

pub use crate::system::Worker;
pub use add::add;
pub use read::{Overrides, Reading, read};
pub use row::Native;
#[cfg(feature = "schema")]
pub use schema::{config_schema, schema};
pub use starter::starter;
pub use write::{fit, write};

#[cfg(test)]
pub(crate) mod testing {
    //! Small plans for the tests of other rooms.

    use crate::plan::{Argv, Check, TaskId, TaskSpec};
    use crate::time::Span;

    pub(crate) fn task(id: &str, depends_on: &[&str]) -> TaskSpec {
        TaskSpec {
            id: TaskId::new(id).expect("valid"),
            title: format!("Do {id}"),
            prompt: format!("Please do {id}"),
            group: 0,
            depends_on: depends_on.iter().map(|d| TaskId::new(d).expect("valid")).collect(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: vec![Check::new("true".into(), Argv::parse("true"), Span::minutes(5))],
            priority: 50,
            agent: "default".into(),
            attempts: 3,
            confirm: false,
            may_change_nothing: false,
            check_first: false,
            may_fail: false,
            gate: false,
            by_person: false,
            timeout: Span::minutes(30),
            silence: None,
            exports: Vec::new(),
            outside: Vec::new(),
            source: None,
        }
    }

    pub(crate) fn tasks(of: &[(&str, &[&str])]) -> Vec<TaskSpec> {
        of.iter().map(|(id, needs)| task(id, needs)).collect()
    }
}
