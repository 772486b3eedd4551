//! A run as it was: a journal in memory that ends at an earlier event. Every question can be asked of it, so what a view
//! shows of the past is what it would have shown then.

use camino::Utf8Path;
use piton_core::plan::RunId;
use piton_core::run::{Event, Note};
use piton_core::time::Timestamp;

use super::error::{JournalError, Trouble};
use super::rows::key;
use super::store::{self, Store, values};
use super::{Journal, append, query};

impl Journal {
    /// A run as it was after this event, without the other runs; `None` if that event does not exist. It costs as much as to
    /// read the run's events up to there.
    pub fn as_of(&self, run: &RunId, seq: u64) -> Result<Option<Journal>, JournalError> {
        let past = self.reading(|db| {
            let Some(head) = query::head(db, run)? else { return Ok(None) };
            let memory = Store::Sqlite(store::in_memory(Utf8Path::new(db.place()))?);
            let transaction = memory.begin_writing(run)?;
            let Some(moment) = copy(db, &memory, run, head.no, seq)? else { return Ok(None) };
            let mut ran = Vec::new();
            append::rebuild_rows(&memory, run, |recorded| {
                if let Event::Noted { note: Note::ChecksRan { runs, .. }, .. } = &recorded.event {
                    ran.extend(runs.iter().cloned());
                }
            })?;
            append::count_checks(&memory, head.no, &ran)?;
            transaction.commit()?;
            Ok(Some((memory, moment)))
        })?;
        Ok(past.map(|(memory, moment)| Journal { moment: Some(moment), ..Journal::new(memory, false) }))
    }

    /// The time of the last event, if this journal ends in the past.
    pub fn moment(&self) -> Option<Timestamp> {
        self.moment
    }

    /// Changes when another process has written to the journal. To ask costs next to nothing.
    pub fn version(&self) -> Result<i64, JournalError> {
        // On a server this is one question, and a transaction would be two more.
        if !self.broken
            && !self.store.is_embedded()
            && let Ok(version) = self.store.version()
        {
            return Ok(version);
        }
        self.reading(Store::version)
    }
}

/// Copy the events of a run up to `seq`. Returns the time of the last one.
fn copy(db: &Store, memory: &Store, run: &RunId, no: i64, seq: u64) -> Result<Option<Timestamp>, Trouble> {
    let mut select =
        db.prepare("SELECT no, at, task, body FROM events WHERE no > ?1 AND no <= ?2 ORDER BY no")?;
    let mut insert = memory.prepare("INSERT INTO events (no, at, task, body) VALUES (?1, ?2, ?3, ?4)")?;
    let mut rows = select.query(values![key(no, 0), key(no, seq)])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        insert.execute(&[row.value(0)?, row.value(1)?, row.value(2)?, row.value(3)?])?;
        last = Some(Timestamp(row.get(1)?));
    }
    memory.execute(
        "INSERT INTO runs (no, id, seq, layout, name, plan, created, moving) VALUES (?1, ?2, 0, 0, '', '', 0, '')",
        values![no, run.as_str()],
    )?;
    Ok(last)
}
