//! A run in another journal, whichever database either of them is in.
//!
//! What is copied is the events. The copy begins with what the other journal has of them already, so it can be repeated, and
//! a run can go back and forth.

use piton_core::plan::{Digest, RunId};
use piton_core::run::{Event, Note, Recorded};
use serde::{Deserialize, Serialize};

use super::error::{Halt, JournalError, Trouble};
use super::query::{self, Head};
use super::rows::{key, unkey};
use super::store::{Row, Store, values};
use super::{Journal, append};

/// So many events are in memory at once.
const PAGE: u64 = 2000;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Events that the other journal did not have.
    pub new: u64,
    pub events: u64,
    /// That of all events, the same in both.
    pub digest: Digest,
}

/// An event as it is kept.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    seq: u64,
    at: i64,
    task: Option<String>,
    body: String,
}

impl Journal {
    /// Copy a run, and prove that the copy is equal. The caller sees to it that nobody works on the run meanwhile.
    pub fn copy_run(&self, run: &RunId, to: &mut Journal) -> Result<Copied, JournalError> {
        let events = |journal: &Journal| journal.reading(|db| Ok(head(db, run)?.seq));
        let (all, place) = (events(self)?, self.place().to_owned());
        let outcome = to.writing(run, |db, _| {
            let from = |after: u64| self.reading(|db| page(db, head(db, run)?.no, after));
            add_missing(db, run, &place, |after| from(after).map_err(|error| error.trouble))
        });
        let new = outcome.map_err(|halt| to.halted(halt))?;
        let (ours, theirs) = (self.digest(run)?, to.digest(run)?);
        let mut differences = to.prove(run)?;
        if (events(to)?, &theirs) != (all, &ours) {
            differences.push(format!("its events are not those of {place}"));
        }
        if !differences.is_empty() {
            return Err(to.error(Trouble::inconsistent(differences.join("; "))));
        }
        Ok(Copied { new, events: all, digest: ours })
    }

    /// The digest of all events of a run: equal in two journals if these are.
    fn digest(&self, run: &RunId) -> Result<Digest, JournalError> {
        self.reading(|db| {
            let no = head(db, run)?.no;
            let (mut digest, mut after) = (Digest::of_bytes(b""), 0);
            loop {
                let lines = page(db, no, after)?;
                let Some(last) = lines.last() else { return Ok(digest) };
                after = last.seq;
                let bytes = serde_json::to_vec(&(&digest, &lines));
                digest = Digest::of_bytes(&bytes.map_err(|error| Trouble::inconsistent(error.to_string()))?);
            }
        })
    }
}

fn head(db: &Store, run: &RunId) -> Result<Head, Trouble> {
    query::head(db, run)?.ok_or_else(|| Trouble::NoRun(run.clone()))
}

/// The next events of a run.
fn page(db: &Store, no: i64, after: u64) -> Result<Vec<Line>, Trouble> {
    let sql = "SELECT no, at, task, body FROM events WHERE no > ?1 AND no <= ?2 ORDER BY no";
    db.prepare(sql)?.all(values![key(no, after), key(no, after + PAGE)], |row: Row<'_>| {
        Ok(Line { seq: unkey(row.get(0)?).1, at: row.get(1)?, task: row.get(2)?, body: row.get(3)? })
    })
}

/// Add what is missing of a run. Returns how many events that were.
fn add_missing(
    db: &Store,
    run: &RunId,
    from: &str,
    mut next: impl FnMut(u64) -> Result<Vec<Line>, Trouble>,
) -> Result<u64, Halt> {
    let known = query::head(db, run)?;
    let has = known.as_ref().map_or(0, |head| head.seq);
    let (mut no, mut at, mut new) = (known.map(|head| head.no), 0, 0);
    loop {
        let lines = next(at)?;
        let Some(last) = lines.last() else { break };
        let mut there = if at < has { page(db, no.unwrap_or_default(), at)? } else { Vec::new() };
        there.truncate(lines.len());
        if let Some((line, _)) = there.iter().zip(&lines).find(|(there, line)| there != line) {
            let why = format!("it has another event {} of the run {run} than {from}", line.seq);
            return Err(Trouble::inconsistent(why).into());
        }
        let missing = &lines[there.len()..];
        if let (None, Some(first)) = (no, missing.first()) {
            no = Some(append::number_run(db, run, &recorded(first)?)?);
        }
        let number = no.unwrap_or_default();
        let mut insert = db.prepare("INSERT INTO events (no, at, task, body) VALUES (?1, ?2, ?3, ?4)")?;
        for Line { seq, at, task, body } in missing {
            insert.execute(values![key(number, *seq), at, task.as_deref(), body])?;
        }
        (at, new) = (last.seq, new + missing.len() as u64);
    }
    if at < has {
        return Err(Trouble::inconsistent(format!(
            "it has {has} events of the run {run}, and {from} only {at}"
        ))
        .into());
    }
    let Some(no) = no else { return Err(Trouble::NoRun(run.clone()).into()) };
    if new > 0 {
        let mut ran = Vec::new();
        append::rebuild_rows(db, run, |recorded| {
            if let Event::Noted { note: Note::ChecksRan { runs, .. }, .. } = &recorded.event {
                ran.push((runs.clone(), recorded.at));
            }
        })?;
        db.execute("DELETE FROM checks WHERE run = ?1", values![no])?;
        for (runs, at) in ran {
            append::count_checks(db, no, &runs)?;
            append::keep_passes(db, no, &runs, at)?;
        }
    }
    Ok(new)
}

fn recorded(line: &Line) -> Result<Recorded, Trouble> {
    let event = serde_json::from_str(&line.body);
    let event = event.map_err(|error| Trouble::inconsistent(format!("event {}: {error}", line.seq)))?;
    Ok(Recorded { seq: line.seq, at: piton_core::time::Timestamp(line.at), event })
}
