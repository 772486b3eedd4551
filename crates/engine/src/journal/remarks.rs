//! Where guardrails and entries stand in the journal: they are read without the events around them.

use piton_core::chronicle::{Chronicle, Said};
use piton_core::plan::RunId;
use piton_core::run::{Event, Note, Recorded};
use piton_core::view::Line;

use super::Journal;
use super::error::{JournalError, Trouble};
use super::query::{self, Head};
use super::rows::{LAYOUT, key, signed};
use super::store::{Store, values};

const GUARDRAIL: i64 = 0;
const ENTRY: i64 = 1;

impl Journal {
    /// The events that add guardrails, and those that take them out again, in order.
    pub fn guardrail_events(&self, run: &RunId) -> Result<Vec<Recorded>, JournalError> {
        self.reading(|db| match query::head(db, run)? {
            Some(head) => events_of_guardrails(db, run, &head),
            None => Ok(Vec::new()),
        })
    }

    /// The guardrails that hold.
    pub fn guardrails(&self, run: &RunId) -> Result<Vec<Said>, JournalError> {
        Ok(Chronicle::of(&self.guardrail_events(run)?).guardrails)
    }
}

pub(super) fn guardrails(db: &Store, run: &RunId, head: &Head) -> Result<Vec<Said>, Trouble> {
    Ok(Chronicle::of(&events_of_guardrails(db, run, head)?).guardrails)
}

fn events_of_guardrails(db: &Store, run: &RunId, head: &Head) -> Result<Vec<Recorded>, Trouble> {
    if head.layout != LAYOUT {
        let mut events = query::events(db, run, head.no, 0, usize::MAX)?;
        events.retain(|recorded| kind(&recorded.event) == Some(GUARDRAIL));
        return Ok(events);
    }
    let mut select = db.prepare(
        "SELECT e.no, e.at, e.body FROM remarks r JOIN events e ON e.no = ?2 + r.no
         WHERE r.run = ?1 AND r.kind = ?3 ORDER BY r.no",
    )?;
    query::collect(run, select.query(values![head.no, key(head.no, 0), GUARDRAIL])?)
}

pub(super) fn count_entries(db: &Store, no: i64) -> Result<i64, Trouble> {
    let mut select = db.prepare("SELECT count(*) FROM remarks WHERE run = ?1 AND kind = ?2")?;
    Ok(select.first(values![no, ENTRY], |row| row.get(0))?.unwrap_or_default())
}

pub(super) fn newest_entries(
    db: &Store,
    run: &RunId,
    no: i64,
    take: &mut dyn FnMut(Line) -> bool,
) -> Result<(), Trouble> {
    let mut select = db.prepare(
        "SELECT e.no, e.at, e.body FROM remarks r JOIN events e ON e.no = ?2 + r.no
         WHERE r.run = ?1 AND r.kind = ?3 ORDER BY r.no DESC",
    )?;
    let mut rows = select.query(values![no, key(no, 0), ENTRY])?;
    while let Some(row) = rows.next()? {
        let recorded = query::recorded(run, row)?;
        if !Chronicle::of([&recorded]).entries.iter().map(Line::of_entry).all(&mut *take) {
            break;
        }
    }
    Ok(())
}

fn kind(event: &Event) -> Option<i64> {
    match event {
        Event::Noted { note: Note::Guardrail { .. } | Note::GuardrailRemoved { .. }, .. } => Some(GUARDRAIL),
        Event::Noted { note: Note::Entry { .. }, .. } => Some(ENTRY),
        _ => None,
    }
}

/// The row that an event has, if it is a remark.
pub(super) fn row(recorded: &Recorded) -> Option<(i64, i64)> {
    Some((kind(&recorded.event)?, signed(recorded.seq)))
}

pub(super) fn put(db: &Store, no: i64, (kind, seq): (i64, i64)) -> Result<(), Trouble> {
    let mut put = db.prepare("INSERT INTO remarks (run, kind, no) VALUES (?1, ?2, ?3)")?;
    put.execute(values![no, kind, seq])?;
    Ok(())
}

pub(super) fn rows(db: &Store, no: i64) -> Result<Vec<(i64, i64)>, Trouble> {
    let mut select = db.prepare("SELECT kind, no FROM remarks WHERE run = ?1 ORDER BY kind, no")?;
    select.all(values![no], |row| Ok((row.get(0)?, row.get(1)?)))
}
