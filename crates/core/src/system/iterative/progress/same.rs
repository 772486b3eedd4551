//! Finds iterations in a row that say that they did the same: the agents make no progress.

use super::ended::Ended;
use super::entry::{Entry, MADE, entries};
use super::head::{Head, Kind};
use crate::plan::TaskId;

/// From this similarity on, in percent, two iterations count as the same.
const ALIKE: usize = 80;

/// A warning, if the last two iterations of a unit say that they did the same.
pub fn saturation(text: &str, unit: &TaskId) -> Option<String> {
    let about = |entry: &Entry| {
        entry.head.kind == Kind::Iteration && entry.head.unit.as_ref() == Some(unit) && !entry.made
    };
    let entries: Vec<Entry> = entries(text).into_iter().filter(about).collect();
    let [.., before, last] = &entries[..] else { return None };
    let alike = alike(&before.did, &last.did);
    (alike > ALIKE).then(|| warning(unit, alike))
}

/// The sentence by which a warning is known again.
const SAME: &str = "say that they did the same";

fn warning(unit: &TaskId, alike: usize) -> String {
    format!(
        "the last two iterations of {unit} {SAME} ({alike} % of the words): \
         try another approach, ask a person, or skip it"
    )
}

/// What the iterations of one unit say that they did, as far as it is journaled.
#[derive(Default)]
pub(super) struct Streak {
    head: Head,
    did: String,
    /// The similarity of the last one to the one before, if that is too much.
    alike: Option<usize>,
    /// It was reported since they began to be alike.
    told: bool,
}

impl Streak {
    /// The entry of an iteration, in the order in which they came.
    pub(super) fn hear(&mut self, entry: &Entry) {
        // One that has grown is still the same one.
        if entry.head != self.head {
            self.alike = Some(alike(&self.did, &entry.did)).filter(|alike| *alike > ALIKE);
            self.told &= self.alike.is_some();
            self.head = entry.head.clone();
        }
        self.did.clone_from(&entry.did);
    }

    pub(super) fn warned(&mut self) {
        self.told = true;
    }

    /// The warning, once for as many as are alike: when the last one has failed, for then another follows.
    pub(super) fn news(&self, unit: &TaskId, ends: &[Ended<'_>]) -> Option<String> {
        let failed = |number: u32| ends.iter().any(|ended| ended.number == number && ended.has_failed());
        let alike = self.alike.filter(|_| !self.told && self.head.number.is_some_and(failed))?;
        Some(format!("{}\n{MADE})*", warning(unit, alike)))
    }
}

/// Whether a note is such a warning.
pub(super) fn is_warning(note: &str) -> bool {
    let mut lines = note.lines();
    lines.next().is_some_and(|line| line.contains(SAME)) && lines.any(|line| line.starts_with(MADE))
}

/// How much of two texts is the same, in percent of their words, whatever their order.
pub(super) fn alike(a: &str, b: &str) -> usize {
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
