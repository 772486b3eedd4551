//! The words of Task Master for how far a task is.

use crate::system::kit::draft::Standing;
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::status::plain;

/// What Task Master writes.
pub(super) const DONE: &str = "done";
/// The same, as some write it.
pub(super) const COMPLETED: &str = "completed";
pub(super) const OPEN: &str = "pending";

/// Every word, as far as [`nearest`](crate::diagnostic::nearest) is to find it.
pub(super) const WORDS: [&str; 9] =
    [OPEN, DONE, COMPLETED, "in-progress", "review", "deferred", "blocked", "cancelled", "todo"];

/// How far a task is. `None`: this word is not a status. A task without a status has not begun.
pub(super) fn standing(status: Option<&Node>) -> Option<Standing> {
    let word = match status.map(|node| &node.kind) {
        None | Some(Kind::Null) => return Some(Standing::Open),
        Some(Kind::Text(word)) => plain(word),
        Some(_) => return None,
    };
    Some(match word.as_str() {
        "" | OPEN | "todo" | "to_do" | "open" => Standing::Open,
        DONE | COMPLETED | "complete" => Standing::Claimed,
        "cancelled" | "canceled" => Standing::Dropped,
        "in_progress" => IN_PROGRESS,
        "review" => Standing::NotOurs("it is in review"),
        "deferred" => DEFERRED,
        "blocked" => BLOCKED,
        _ => return None,
    })
}

pub(super) const IN_PROGRESS: Standing = Standing::NotOurs("it is in progress");

/// What is not due, or cannot be done, stays so when its task is done.
pub(super) const DEFERRED: Standing = Standing::NotOurs("it is deferred");
pub(super) const BLOCKED: Standing = Standing::NotOurs("it is blocked");

/// What a task counts as whose status is not a word of Task Master.
pub(super) const UNKNOWN: Standing = Standing::NotOurs("its status is unknown");
