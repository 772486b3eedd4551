//! What completed tasks made for others, as rows: a newcomer reads the newest of it, however many there are.

use std::collections::BTreeSet;

use piton_core::chronicle::{Chronicle, Made, Said};
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Event, Note, Recorded, State, Status};
use piton_core::view::{Asked, Line, Lists, Orientation, Section, Whole, line_of_file, lines_of};

use super::error::{JournalError, Trouble};
use super::query::{self, Head};
use super::rows::{LAYOUT, json, key, signed};
use super::store::{Row, Store, values};
use super::{Journal, remarks};

/// The sections whose lines completed tasks have. Their order is on disk.
const SECTIONS: [Section; 6] = [
    Section::Finished,
    Section::Exports,
    Section::Decisions,
    Section::Patterns,
    Section::Notes,
    Section::Files,
];

/// How many lines each of them has.
type Counts = [i64; SECTIONS.len()];

impl Journal {
    /// What a newcomer has to know. Only what there is room for is read.
    pub fn orientation(&self, asked: Asked<'_>) -> Result<Orientation, JournalError> {
        self.reading(|db| {
            let head = query::head(db, asked.run)?.ok_or_else(|| Trouble::NoRun(asked.run.clone()))?;
            if head.layout == LAYOUT {
                let guardrails = remarks::guardrails(db, asked.run, &head)?;
                let counts = counts(db, head.no)?;
                return Orientation::new(
                    asked,
                    &Rows { db, run: asked.run, head: &head, guardrails, counts },
                );
            }
            let events = query::events(db, asked.run, head.no, 0, usize::MAX)?;
            let mut specs = Vec::new();
            for task in query::replay(db, asked.run, head.no)?.tasks().filter(|task| !task.removed) {
                let spec = query::event(db, asked.run, head.no, task.spec_seq)?;
                specs.extend(spec.map(query::spec_of).transpose()?);
            }
            let Ok(orientation) = Orientation::new(asked, &Whole::new(&specs, &Chronicle::of(&events)));
            Ok(orientation)
        })
    }
}

/// The rows of a run.
struct Rows<'a> {
    db: &'a Store,
    run: &'a RunId,
    head: &'a Head,
    guardrails: Vec<Said>,
    counts: Counts,
}

impl Lists for Rows<'_> {
    type Error = Trouble;

    fn count(&self, section: Section) -> Result<usize, Trouble> {
        let number = |n: i64| usize::try_from(n).unwrap_or(0);
        match (section, SECTIONS.iter().position(|&known| known == section)) {
            (_, Some(at)) => Ok(number(self.counts[at])),
            (Section::Entries, None) => remarks::count_entries(self.db, self.head.no).map(number),
            (_, None) => Ok(self.guardrails.iter().filter_map(Line::of_guardrail).count()),
        }
    }

    fn newest(&self, section: Section, take: &mut dyn FnMut(Line) -> bool) -> Result<(), Trouble> {
        match section {
            Section::Guardrails => {
                let _ = self.guardrails.iter().rev().filter_map(Line::of_guardrail).all(take);
                Ok(())
            }
            Section::Entries => remarks::newest_entries(self.db, self.run, self.head.no, take),
            Section::Files => self.newest_files(take),
            _ => self.newest_made(section, take),
        }
    }
}

impl Rows<'_> {
    fn newest_made(&self, section: Section, take: &mut dyn FnMut(Line) -> bool) -> Result<(), Trouble> {
        // As the indexes say it.
        let sql = format!(
            "SELECT task, lines FROM made WHERE run = ?1 AND has & {} > 0 ORDER BY no DESC",
            bit(section)
        );
        let mut select = self.db.prepare(&sql)?;
        let mut rows = select.query(values![self.head.no])?;
        while let Some(row) = rows.next()? {
            let made = parse(row.text(1)?)?;
            let task = query::task_id(row, 0)?;
            if !lines_of(section, &task, &made).into_iter().rev().all(&mut *take) {
                break;
            }
        }
        Ok(())
    }

    fn newest_files(&self, take: &mut dyn FnMut(Line) -> bool) -> Result<(), Trouble> {
        let mut select = self.db.prepare(
            "SELECT task, file FROM made_files INDEXED BY made_files_last JOIN made USING (run, no)
             WHERE made_files.run = ?1 AND last = 1 ORDER BY made_files.no DESC, nth DESC",
        )?;
        let mut rows = select.query(values![self.head.no])?;
        while let Some(row) = rows.next()? {
            let task = query::task_id(row, 0)?;
            if !take(line_of_file(&task, row.text(1)?)) {
                break;
            }
        }
        Ok(())
    }
}

fn bit(section: Section) -> i64 {
    1 << section as u32
}

fn parse(text: &str) -> Result<Made, Trouble> {
    serde_json::from_str(text).map_err(|error| Trouble::snapshot(format!("what a task made: {error}")))
}

fn counts(db: &Store, no: i64) -> Result<Counts, Trouble> {
    let mut select = db.prepare("SELECT made FROM runs WHERE no = ?1")?;
    let text: String = select.first(values![no], |row| row.get(0))?.unwrap_or_default();
    match serde_json::from_str::<Vec<i64>>(&text) {
        Ok(counts) if counts.is_empty() => Ok(Counts::default()),
        Ok(counts) => Counts::try_from(counts).map_err(|_| Trouble::snapshot(format!("counts {text:?}"))),
        Err(_) => Err(Trouble::snapshot(format!("counts {text:?}"))),
    }
}

/// The tasks of which some events may have changed what they are known to have made.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Completed now, or not any more.
    turned: BTreeSet<TaskId>,
    /// Something was said about them. It matters if they are completed.
    told: BTreeSet<TaskId>,
}

impl Touched {
    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::Completed { task, .. }
            | Event::LandingFound { task, .. }
            | Event::LandingLost { task, .. }
            | Event::Reopened { task, .. } => drop(self.turned.insert(task.clone())),
            Event::Adopted { task, past, .. } if past.proof.is_some() => {
                self.turned.insert(task.clone());
            }
            Event::TaskRemoved { task }
            | Event::AgentEnded { task, report: Some(_), .. }
            | Event::WorkCaptured { task, .. }
            | Event::Reported { task, .. }
            | Event::Noted { note: Note::Told { task, .. }, .. } => drop(self.told.insert(task.clone())),
            Event::TaskChanged { spec, .. } => drop(self.told.insert(spec.id.clone())),
            _ => {}
        }
    }

    /// Every task that was ever completed, where all rows are made again.
    pub(super) fn see_turns(&mut self, event: &Event) {
        self.see(event);
        self.told.clear();
    }

    /// Write the rows of these tasks again, after their events were appended.
    pub(super) fn write(self, db: &Store, run: &RunId, no: i64, state: &State) -> Result<(), Trouble> {
        let mut tasks = self.turned;
        for id in self.told {
            let is_completed = match state.task(&id) {
                Ok(task) => task.is_some_and(|task| task.decided == Status::Completed),
                // Nothing of it was loaded, because no decision needed it.
                Err(_) => query::task(db, no, &id)?.is_some_and(|task| task.decided == Status::Completed),
            };
            if is_completed {
                tasks.insert(id);
            }
        }
        if tasks.is_empty() {
            return Ok(());
        }
        let mut counts = counts(db, no)?;
        for task in &tasks {
            let events = events_that_matter(db, run, no, task)?;
            for recorded in events.iter().filter(|recorded| may_complete(&recorded.event)) {
                remove(db, no, recorded.seq, &mut counts)?;
            }
            if let Some((seq, made)) = Made::of_task(task, &events) {
                insert(db, no, seq, task, &made, &mut counts)?;
            }
        }
        write_counts(db, no, &counts)
    }
}

/// The events of a task on which it depends what the task has made. Others may be many, and are not decoded.
fn events_that_matter(db: &Store, run: &RunId, no: i64, task: &TaskId) -> Result<Vec<Recorded>, Trouble> {
    const OTHERS: [&str; 12] = [
        "attempt_started",
        "marked",
        "holder_bound",
        "claim_waits",
        "worktree_ready",
        "checks_ended",
        "verification_started",
        "verified",
        "failed",
        "landing_prepared",
        "cleaned_up",
        "noted",
    ];
    let mut select =
        db.prepare("SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no < ?3 ORDER BY no")?;
    let mut rows = select.query(values![task.as_str(), key(no, 0), key(no + 1, 0)])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let body = row.text(2)?;
        let kind =
            body.strip_prefix("{\"event\":\"").and_then(|rest| rest.split('"').next()).unwrap_or_default();
        if !OTHERS.contains(&kind) || kind == "noted" && body.contains("\"told\"") {
            events.push(query::recorded(run, row)?);
        }
    }
    Ok(events)
}

fn may_complete(event: &Event) -> bool {
    matches!(event, Event::Completed { .. } | Event::LandingFound { .. } | Event::Adopted { .. })
}

fn write_counts(db: &Store, no: i64, counts: &Counts) -> Result<(), Trouble> {
    db.prepare("UPDATE runs SET made = ?2 WHERE no = ?1")?.execute(values![no, json(counts)?])?;
    Ok(())
}

/// Forget all rows of a run.
pub(super) fn clear(db: &Store, no: i64) -> Result<(), Trouble> {
    db.execute("DELETE FROM made WHERE run = ?1", values![no])?;
    db.execute("DELETE FROM made_files WHERE run = ?1", values![no])?;
    write_counts(db, no, &Counts::default())
}

/// How many lines a task has, file by file left out.
fn add_lines(counts: &mut Counts, made: &Made, sign: i64) {
    for (count, section) in counts.iter_mut().zip(SECTIONS) {
        *count += sign * signed(number(made, section) as u64);
    }
}

/// Files are counted by their rows: one that several tasks list is one line.
fn number(made: &Made, section: Section) -> usize {
    match section {
        Section::Finished => usize::from(!made.title.is_empty()),
        Section::Exports => made.exports.len() + made.named.len(),
        Section::Decisions => made.decisions.len(),
        Section::Patterns => made.patterns.len(),
        Section::Notes => made.notes.len(),
        Section::Guardrails | Section::Files | Section::Entries => 0,
    }
}

const OF_FILES: usize = SECTIONS.len() - 1;

fn insert(
    db: &Store,
    no: i64,
    seq: u64,
    task: &TaskId,
    made: &Made,
    counts: &mut Counts,
) -> Result<(), Trouble> {
    let has = |section: &&Section| number(made, **section) > 0;
    let has: i64 = SECTIONS.iter().filter(has).map(|section| bit(*section)).sum();
    let mut put = db.prepare("INSERT INTO made (run, no, task, has, lines) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    put.execute(values![no, signed(seq), task.as_str(), has, json(made)?])?;
    add_lines(counts, made, 1);
    for (file, nth) in made.files.iter().zip(0_i64..) {
        let before = last_of(db, no, file)?;
        if before.is_none() {
            counts[OF_FILES] += 1;
        }
        let is_last = before.is_none_or(|before| before < signed(seq));
        if let Some(before) = before.filter(|_| is_last) {
            mark_last(db, no, file, before, false)?;
        }
        let mut put =
            db.prepare("INSERT INTO made_files (run, file, no, nth, last) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        put.execute(values![no, file, signed(seq), nth, is_last])?;
    }
    Ok(())
}

/// Where the last task that lists a file was completed.
fn last_of(db: &Store, no: i64, file: &str) -> Result<Option<i64>, Trouble> {
    let mut select = db.prepare("SELECT max(no) FROM made_files WHERE run = ?1 AND file = ?2")?;
    Ok(select.first(values![no, file], |row| row.get(0))?.flatten())
}

fn mark_last(db: &Store, no: i64, file: &str, seq: i64, is_last: bool) -> Result<(), Trouble> {
    let mut mark = db.prepare("UPDATE made_files SET last = ?4 WHERE run = ?1 AND file = ?2 AND no = ?3")?;
    mark.execute(values![no, file, seq, is_last])?;
    Ok(())
}

/// Forget what a task made that was completed here, if one was.
fn remove(db: &Store, no: i64, seq: u64, counts: &mut Counts) -> Result<(), Trouble> {
    let seq = signed(seq);
    let mut select = db.prepare("SELECT lines FROM made WHERE run = ?1 AND no = ?2")?;
    let text: Option<String> = select.first(values![no, seq], |row| row.get(0))?;
    let Some(made) = text.map(|text| parse(&text)).transpose()? else { return Ok(()) };
    db.prepare("DELETE FROM made WHERE run = ?1 AND no = ?2")?.execute(values![no, seq])?;
    add_lines(counts, &made, -1);
    for file in &made.files {
        let mut delete = db.prepare("DELETE FROM made_files WHERE run = ?1 AND file = ?2 AND no = ?3")?;
        delete.execute(values![no, file, seq])?;
        match last_of(db, no, file)? {
            Some(before) if before < seq => mark_last(db, no, file, before, true)?,
            Some(_) => {}
            None => counts[OF_FILES] -= 1,
        }
    }
    Ok(())
}

/// The rows are what the events of completed tasks say, and the counts are those of the rows.
pub(super) fn prove(
    db: &Store,
    run: &RunId,
    no: i64,
    completed: &Touched,
    out: &mut Vec<String>,
) -> Result<(), Trouble> {
    let (mut told, mut files) = (0, 0);
    let mut expected = Counts::default();
    let mut select = db.prepare("SELECT lines, task FROM made WHERE run = ?1 AND no = ?2")?;
    let mut of_files = db.prepare("SELECT nth FROM made_files WHERE run = ?1 AND file = ?2 AND no = ?3")?;
    for task in &completed.turned {
        let events = events_that_matter(db, run, no, task)?;
        let Some((seq, made)) = Made::of_task(task, &events) else { continue };
        told += 1;
        let read = |row: Row<'_>| Ok((row.get::<String>(0)?, row.get::<String>(1)?));
        let kept = select.first(values![no, signed(seq)], read)?;
        if kept != Some((json(&made)?, task.to_string())) {
            out.push(format!("what {task} made: the snapshot has {kept:?}, the journal says {made:?}"));
        }
        add_lines(&mut expected, &made, 1);
        for (file, nth) in made.files.iter().zip(0_i64..) {
            files += 1;
            let kept = of_files.first(values![no, file, signed(seq)], |row| row.get::<i64>(0))?;
            if kept != Some(nth) {
                out.push(format!("the snapshot does not know that {task} lists {file}"));
            }
        }
    }
    let number = |sql: &str| -> Result<i64, Trouble> {
        Ok(db.first(sql, values![no], |row| row.get(0))?.unwrap_or_default())
    };
    expected[OF_FILES] = number("SELECT count(DISTINCT file) FROM made_files WHERE run = ?1")?;
    let wrong = number(
        "SELECT count(*) FROM made_files AS one WHERE run = ?1 AND (last = 1) <>
         (no = (SELECT max(no) FROM made_files AS all_of WHERE all_of.run = one.run AND all_of.file = one.file))",
    )?;
    let rows = number("SELECT count(*) FROM made WHERE run = ?1")?;
    let file_rows = number("SELECT count(*) FROM made_files WHERE run = ?1")?;
    if (rows, file_rows, wrong) != (told, files, 0) {
        out.push(format!(
            "the snapshot has {rows} completed tasks with {file_rows} files, {wrong} of them wrong; the journal has {told} \
             with {files}"
        ));
    }
    match counts(db, no) {
        Ok(kept) if kept == expected => {}
        Ok(kept) => out.push(format!("lines of an orientation: the snapshot has {kept:?}, not {expected:?}")),
        Err(Trouble::Snapshot { detail }) => out.push(detail),
        Err(trouble) => return Err(trouble),
    }
    Ok(())
}
