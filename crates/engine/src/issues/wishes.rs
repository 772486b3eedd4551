//! What is to happen at a tracker.

use std::time::Duration;

/// What a person wants of the issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Completed tasks are reported.
    pub reports: bool,
    /// Their issues are closed, too.
    pub closes: bool,
    /// Comments of people who may write to the repository are a part of the plan.
    pub comments: bool,
    /// An issue is assigned while its task is worked on.
    pub assigns: bool,
    /// The label that it has meanwhile.
    pub label: Option<String>,
    /// How often the issues are asked for.
    pub poll: Duration,
}
