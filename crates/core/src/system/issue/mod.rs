//! The issue system: a folder `.claude/plans/issue-N-slug` with `requirements.md`, `design.md` and `tasks.md`, and the
//! files that a run of it keeps next to them: `execution-state.json` and `journal.md`.

mod companions;
pub mod journal;
mod new;
mod ops;
pub mod plan;
pub mod progress;
mod row;
pub mod state;
pub mod takeover;
pub mod tell;

pub use companions::{JOURNAL, REPORT, TICKED_LISTS};
pub use row::Issues;
