//! The files besides the state file of an issue: its journal, the report of the last validation, and its list.

use super::{journal, plan, state, tell};
use crate::chronicle::Chronicle;
use crate::plan::TaskId;
use crate::run::State;
use crate::system::kit::entries;
use crate::system::state_files::{Companion, Put, Reconciled, TickedList, Ticks, entry};

/// Written as prose; it only grows.
#[derive(Clone, Copy, Debug)]
pub struct Journal;
/// What the last validation found. Only Piton writes it.
#[derive(Clone, Copy, Debug)]
pub struct Validation;

pub static JOURNAL: Journal = Journal;
pub static REPORT: Validation = Validation;
pub static TICKED_LISTS: [TickedList; 2] =
    [TickedList::outline(plan::LISTS[0]), TickedList::outline(plan::LISTS[1])];

impl Companion for Journal {
    fn name(&self) -> Option<&str> {
        Some(journal::FILE)
    }

    fn reconcile(
        &self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        _claimed: &[TaskId],
        _shown: &Ticks,
    ) -> Reconciled {
        let text = found.map(entries::text);
        let settled = journal::reconcile(text.as_deref(), state, chronicle, &state::about(state));
        Reconciled::grown(
            found,
            settled.heard.into_iter().map(entry).collect(),
            settled.problems,
            settled.append,
        )
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        String::from_utf8_lossy(bytes).contains("## Task ")
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        journal::added(&entries::text(now), &entries::text(left)).is_empty()
    }
}

impl Companion for Validation {
    fn name(&self) -> Option<&str> {
        Some(tell::REPORT)
    }

    fn reconcile(
        &self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        _claimed: &[TaskId],
        _shown: &Ticks,
    ) -> Reconciled {
        let about = state::about(state);
        let stale = || found.filter(|bytes| self.is_like(bytes)).map(|_| tell::unverified(&about));
        let report = tell::verification(&about, state, chronicle).or_else(stale);
        let new = report.filter(|text| found != Some(text.as_bytes()));
        Reconciled {
            put: new.map_or(Put::Nothing, |text| Put::Whole(text.into_bytes())),
            ..Reconciled::default()
        }
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        tell::is_report(&String::from_utf8_lossy(bytes))
    }

    /// It can be made again.
    fn holds(&self, _now: &[u8], _left: &[u8]) -> bool {
        true
    }
}
