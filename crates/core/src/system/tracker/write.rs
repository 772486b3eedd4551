//! What a person does to an issue while a run goes on: closed as completed, it is claimed, as a ticked box is. Closed as not
//! planned, it is skipped. What is written here is only that a claim was refuted: what is done is reported to the tracker itself.

use std::collections::BTreeMap;

use crate::plan::TaskId;
use crate::run::Report;
use crate::system::asked::{Issue, IssueState, Snapshot};
use crate::system::kit::boxes::Ticked;
use crate::system::kit::draft::named;
use crate::system::kit::outline::Word;
use crate::system::state_files::Ticking;

/// Why a task is skipped.
pub(super) const NOT_WANTED: &str = "its issue was closed as not planned, or as a duplicate";

/// Why there is nothing to land.
const CLOSED: &str = "its issue was closed as completed";

/// The answers of a tracker.
#[derive(Clone, Copy, Debug)]
pub(super) struct SnapshotFile;

impl Ticking for SnapshotFile {
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        let closed = issues(bytes, IssueState::Closed).filter(|issue| !issue.is_refuted);
        closed.filter_map(|issue| Some((named(&issue.id)?, None))).collect()
    }

    /// An issue keeps its number, whatever it is called.
    fn titles(&self, _: &[u8]) -> BTreeMap<TaskId, String> {
        BTreeMap::new()
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        let mut snapshot = Snapshot::read(bytes)?;
        let mut refuted = false;
        for issue in snapshot.issues.iter_mut().filter(|issue| issue.state == IssueState::Closed) {
            let word = named(&issue.id).and_then(|id| stand.get(&id));
            if word.is_some_and(|word| *word != Word::Completed) && !issue.is_refuted {
                issue.is_refuted = true;
                refuted = true;
            }
        }
        let bytes = if refuted { snapshot.text().into_bytes() } else { bytes.to_vec() };
        Some(Ticked { bytes, missing: Vec::new() })
    }

    /// Where it was done is not known: by other work, or somewhere else.
    fn report(&self) -> Report {
        Report { already: CLOSED.to_owned(), ..Report::default() }
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        Ticking::is_like(self, now) && Ticking::is_like(self, left)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        Snapshot::read(bytes).is_some()
    }

    fn unwanted(&self, bytes: &[u8]) -> Vec<(TaskId, &'static str)> {
        let dropped = issues(bytes, IssueState::Dropped);
        dropped.filter_map(|issue| Some((named(&issue.id)?, NOT_WANTED))).collect()
    }
}

fn issues(bytes: &[u8], wanted: IssueState) -> impl Iterator<Item = Issue> {
    let issues = Snapshot::read(bytes).map(|snapshot| snapshot.issues).unwrap_or_default();
    issues.into_iter().filter(move |issue| issue.state == wanted)
}
