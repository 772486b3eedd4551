//! The issue system: a folder `.claude/plans/issue-N-slug` with `requirements.md`, `design.md` and `tasks.md`, and the
//! files that a run of it keeps beside them.

pub mod boxes;
pub mod plan;
