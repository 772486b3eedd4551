//! What the command line, the live screen and the tools show, derived from the state on demand. Nothing here is stored but
//! sums of costs, which the journal keeps.

mod attempts;
mod cost;
mod describe;
mod detail;
mod escape;
pub mod graph;
mod inbox;
mod landing;
mod notice;
mod orient;
pub mod preview;
pub mod recap;
mod request;
mod result;
mod stream;
mod summary;
pub mod timeline;
mod trace;
mod usage;
mod why;

pub use attempts::{AgentPass, Attempt, AttemptEnd, CheckRow, Setback, attempts};
pub use cost::{By, Cost, Costs, Share, cost};
pub use describe::{Description, Tone, describe};
pub use detail::{ChangeDetail, DetailSources, Remark, TaskDetail, task_detail};
pub use inbox::{Around, CONCERNS, Item, Kind, PlanNews, inbox};
pub use landing::{conflicts_ahead, in_line, policy, some};
pub use notice::{NOTIFIER, Notice, REPEATS, RunEnd, Topic, not_sent, notice, run_end, to_tell};
pub use orient::{Asked, Format, Line, Lists, Orientation, Section, Whole, line_of_file, lines_of};
pub use result::Results;
pub use stream::{Lines, Stream, last_act};
pub use summary::{GroupStatus, GroupSummary, RunStatus, Summary, at_rest, eta, exit_code, group_status};
pub use trace::otlp;
pub use usage::{Used, bill, dollars, of_bill, spent, spent_at_least, used, used_in_all};
pub use why::{Setting, Sources, Why, ahead, commit_command, first_dead, why};

use crate::run::Status;
use crate::time::Span;

/// Twenty cells, as many of them filled as is done.
pub fn bar(done: u32, total: u32) -> String {
    let filled = if total == 0 { 0 } else { u64::from(done.min(total)) * 20 / u64::from(total) };
    let filled = usize::try_from(filled).unwrap_or(20);
    format!("{}{}", "█".repeat(filled), "░".repeat(20 - filled))
}

/// A sign for a status. It says enough without a colour.
pub fn sign(status: Status) -> &'static str {
    match status {
        Status::Pending | Status::Waiting => "·",
        Status::InProgress | Status::Confirming | Status::Verifying => "▸",
        Status::Verified | Status::Merging => "◆",
        Status::Completed => "✓",
        Status::Failed => "↻",
        Status::Abandoned => "✗",
        Status::Blocked => "!",
        Status::Skipped | Status::Unreachable | Status::PassedOver => "-",
    }
}

/// `after 2 attempts`. A task may also end before it has spent one: a person abandoned it, or it turned out to be
/// impossible.
pub fn after_attempts(spent: u32) -> String {
    match spent {
        0 => "before any attempt was spent".to_owned(),
        spent => format!("after {}", counted(u64::from(spent), "attempt")),
    }
}

/// How long a status has lasted, or how long ago it was reached: `for 5m`, `6m ago`.
pub fn age(status: Status, since: Span) -> String {
    if status.is_end() { format!("{since} ago") } else { format!("for {since}") }
}

/// `1 task`, `3 tasks`.
pub fn counted(n: u64, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}
