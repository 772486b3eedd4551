//! The iterative system: a folder `.claude/iterative/SLUG` with `brief.md` and `tasks.md`, or `plan.md` for what is not
//! code, and the files that a run of it keeps beside them.
//!
//! A unit is a task of the list or a phase of the plan. It is worked on in iterations, each by somebody new, until one
//! more pass finds nothing left to do and a verifier agrees.

pub mod plan;
pub mod state;
