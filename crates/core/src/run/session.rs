//! What one start of the engine is asked to do.

use serde::{Deserialize, Serialize};

use crate::plan::{Budget, Fences, GroupId, Schedule, TaskId};

/// What one start of the engine was asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub schedule: Schedule,
    pub max_parallel: u32,
    /// How many candidates for landing are proven at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub landing_parallel: u32,
    /// That is the number of processors. How many are proven follows from what their checks use of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub landing_by_load: bool,
    #[serde(default)]
    pub selection: Selection,
    /// Works on every task, whatever the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// As the plan says it now: it can be raised while a run waits.
    #[serde(default, skip_serializing_if = "Budget::is_unbounded")]
    pub budget: Budget,
    /// As the plan and `piton.toml` say it now: what a task was refused can be allowed without a new run.
    #[serde(default, skip_serializing_if = "Fences::is_default")]
    pub fences: Fences,
    /// How much to print.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verbose: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

/// What journals of earlier versions mean.
fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Which part of the plan a session works on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    #[default]
    All,
    /// One group, whatever the state of those before it.
    Group(GroupId),
    /// That group and those after it.
    From(GroupId),
    Task(TaskId),
}
