//! The issue system: a folder for each issue, with `tasks.md`, `execution-state.json` and `journal.md`.

pub mod journal;
pub mod progress;
pub mod state;
