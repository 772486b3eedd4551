//! `progress.md`: what each iteration did and what it left to do. Agents and people write it too, so nothing in it is
//! ever changed: what is missing is put at its end, what is new is heard, and an old entry that was changed is told.
//!
//! `head` reads headings, `entry` the words below them, `ended` says which iterations are over and what Piton knows of
//! them, `settle` brings a file and a run together.

mod ended;
mod entry;
mod head;
mod settle;
#[cfg(test)]
mod tests;

pub use crate::dialect::entries::Section;
pub use entry::{Entry, entries, parse};
pub use head::{Head, Kind};
pub use settle::{Settled, added, settle};

use crate::plan::TaskId;

/// The name of the file, also in the journal of events.
pub const FILE: &str = "progress.md";

/// Why an attempt failed whose agent ended without its signal: its own entry says what is left to do.
pub const NOT_FINISHED: &str = "not finished";

/// What the last entry about a unit leaves to do; empty if it leaves nothing, `None` if there is no entry.
pub fn remaining(text: &str, unit: &TaskId) -> Option<String> {
    let last = entries(text).into_iter().rfind(|entry| entry.head.unit.as_ref() == Some(unit))?;
    Some(last.remaining)
}

/// So much alike, in percent, two iterations do the same.
const ALIKE: usize = 80;

/// A warning, if the last two iterations of a unit say that they did the same.
pub fn saturation(text: &str, unit: &TaskId) -> Option<String> {
    let about = |entry: &Entry| {
        entry.head.kind == Kind::Iteration && entry.head.unit.as_ref() == Some(unit) && !entry.made
    };
    let entries: Vec<Entry> = entries(text).into_iter().filter(about).collect();
    let [.., before, last] = &entries[..] else { return None };
    let alike = alike(&before.did, &last.did);
    (alike > ALIKE).then(|| {
        format!(
            "the last two iterations of {unit} say that they did the same ({alike} % of the words): \
             try another approach, ask a person, or skip it"
        )
    })
}

/// How much of two texts is the same, in percent of their words, whatever their order.
fn alike(a: &str, b: &str) -> usize {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut words: Vec<String> = words.map(str::to_lowercase).collect();
        words.sort_unstable();
        words
    };
    let (a, b) = (words(a), words(b));
    let (mut left, mut right, mut common) = (0, 0, 0);
    while let (Some(one), Some(other)) = (a.get(left), b.get(right)) {
        let order = one.cmp(other);
        left += usize::from(order.is_le());
        right += usize::from(order.is_ge());
        common += usize::from(order.is_eq());
    }
    (200 * common).checked_div(a.len() + b.len()).unwrap_or(0)
}
