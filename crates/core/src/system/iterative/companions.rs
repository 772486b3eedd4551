//! The files beside the state file of an iterative plan: the log, the lessons, and the lists.

use super::{guardrails, plan, progress};
use crate::chronicle::{self, Chronicle};
use crate::diagnostic::{Diagnostic, place};
use crate::plan::TaskId;
use crate::run::{Note, Report, State};
use crate::system::edit::What;
use crate::system::kit::entries;
use crate::system::state_files::{AgentReport, Companion, Reconciled, TickedList, Ticks, entry};

/// What each iteration did and left to do; it only grows, and no entry may change.
#[derive(Clone, Copy, Debug)]
pub struct Progress;
/// What was learned; it only grows.
#[derive(Clone, Copy, Debug)]
pub struct Guardrails;

pub static PROGRESS: Progress = Progress;
pub static GUARDRAILS: Guardrails = Guardrails;
pub static TICKED_LISTS: [TickedList; 2] =
    [TickedList::outline(plan::LISTS[0]), TickedList::outline(plan::LISTS[1])];

impl Companion for Progress {
    fn name(&self) -> Option<&str> {
        Some(progress::FILE)
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
        let settled = progress::reconcile(text.as_deref(), state, chronicle);
        let changed = changed(&settled.changed, text.as_deref().unwrap_or_default(), chronicle);
        let heard = settled.heard.into_iter().map(entry).chain(changed);
        Reconciled::grown(found, heard.collect(), Vec::new(), settled.append)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        text.contains("- Iteration ") || text.contains("# Progress Log")
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        progress::added(&entries::text(now), &entries::text(left)).is_empty()
    }
}

impl Companion for Guardrails {
    fn name(&self) -> Option<&str> {
        Some(guardrails::FILE)
    }

    fn reconcile(
        &self,
        found: Option<&[u8]>,
        _state: &State,
        chronicle: &Chronicle,
        _claimed: &[TaskId],
        _shown: &Ticks,
    ) -> Reconciled {
        let text = found.map(entries::text);
        let settled = guardrails::reconcile(text.as_deref(), chronicle);
        let lesson = |text| Note::Guardrail { text };
        Reconciled::grown(found, settled.heard.into_iter().map(lesson).collect(), Vec::new(), settled.append)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        String::from_utf8_lossy(bytes).contains("# Guardrails")
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        guardrails::added(&entries::text(now), &entries::text(left)).is_empty()
    }
}

/// Entries that were changed, as far as that was not reported yet. At most this many are reported at once: an edit of
/// more entries has replaced the log.
fn changed(found: &[Diagnostic], text: &str, chronicle: &Chronicle) -> Vec<Note> {
    const MOST: usize = 20;
    let is_told = |edit: &str| {
        let same = |told: &chronicle::Refused| told.file == progress::FILE && told.edit == edit;
        chronicle.refused.iter().any(same)
    };
    let note = |problem: &Diagnostic| {
        let edit = chronicle::cut(&problem.message, chronicle::TEXT);
        let line = place(text, problem.span.start).0;
        let reason = format!("entries are only added (line {line})");
        let file = progress::FILE.to_owned();
        (!is_told(&edit)).then_some(Note::EditRefused { file, edit, reason, task: None })
    };
    found.iter().take(MOST).filter_map(note).collect()
}

/// What an agent of the iterative system wrote into its copy of the log or of the lessons: everything that is new there,
/// whatever unit it names. Its last entry about its own unit may say that the unit is done, or blocked; what it writes
/// about another one says nothing of either.
pub fn report_in_words(task: &TaskId, name: &str, before: &[u8], after: &[u8]) -> Option<AgentReport> {
    let (before, after) = (entries::text(before), entries::text(after));
    let mut found =
        AgentReport { what: None, report: Report::default(), entries: Vec::new(), guardrails: Vec::new() };
    match name {
        progress::FILE => {
            let new = progress::added(&before, &after).into_iter().map(|section| section.text);
            found.entries = new.collect();
            let mut read = found.entries.iter().map(|entry| progress::parse(entry));
            let last = read.rfind(|entry| entry.is_iteration_of(task)).unwrap_or_default();
            found.report = last.report();
            found.what = match last {
                _ if last.is_blocked() => {
                    Some(What::Blocked { reason: last.blocker().to_owned(), report: last.report() })
                }
                _ if last.is_done() => Some(What::ReportDone { report: last.report() }),
                _ => None,
            };
        }
        guardrails::FILE => found.guardrails = guardrails::added(&before, &after),
        _ => return None,
    }
    let is_new = !found.entries.is_empty() || !found.guardrails.is_empty();
    is_new.then_some(found)
}
