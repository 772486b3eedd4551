//! What every face shows, derived from the state when it is asked for. Nothing here is stored.

mod orient;
mod summary;
mod tell;
mod why;

pub use orient::{Form, Orientation};
pub use summary::{GroupStatus, GroupSummary, RunStatus, Summary, at_rest, eta, exit_code};
pub use tell::{Told, Tone, tell};
pub use why::{Why, why};

/// `1 task`, `3 tasks`.
pub fn counted(n: u64, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}
