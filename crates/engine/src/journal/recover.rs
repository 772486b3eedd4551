//! A damaged database: kept aside as it is, and a new one made of every event that can be read.
//!
//! Every process that writes holds a shared lock while the journal is open, and a recovery holds it exclusively: the
//! file is never moved away while a process uses it. The new database is complete before the old one is moved, under a
//! name that says so; the next process that opens the journal finishes an interrupted move.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Plan, RunId, TaskSpec};
use piton_core::run::{Event, Recorded, State};
use piton_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::Journal;
use super::error::{JournalError, Trouble};
use super::rows::{key, unkey, unsigned};
use super::store::{self, FILE, Sqlite, Store, with_companions};
use super::{append, prove, query};
use crate::disk;
use crate::lock::Lock;

/// Written as long as it is not complete.
const RECOVERING: &str = "piton.db.recovering";
/// Complete, and about to take the place of the damaged one.
const RECOVERED: &str = "piton.db.recovered";

/// What a recovery kept and what it lost.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Where the damaged database lies now; none if there was nothing to recover.
    pub kept: Option<Utf8PathBuf>,
    /// What was wrong with it.
    pub found: Vec<String>,
    pub runs: Vec<Salvaged>,
}

/// One run, as far as it could be read.
#[derive(Clone, Debug)]
pub struct Salvaged {
    /// Its id, or its number where the id could not be read.
    pub run: String,
    /// Events read, from the first on without a gap.
    pub events: u64,
    /// Why it was not read further; none if it is whole.
    pub lost: Option<String>,
    /// Tasks of the plan were lost too: it has to be adopted again.
    pub plan_incomplete: bool,
}

impl fmt::Display for Salvaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Salvaged { run, events, lost, plan_incomplete } = self;
        match lost {
            None => write!(f, "{run}: whole ({events} events)")?,
            Some(why) if *events == 0 => write!(f, "{run}: lost ({why})")?,
            Some(why) => write!(f, "{run}: {events} events saved, the rest is lost ({why})")?,
        }
        if *plan_incomplete {
            f.write_str("; tasks of its plan are lost too: adopt the plan again")?;
        }
        Ok(())
    }
}

impl Journal {
    /// Recover the database in `folder`, if it is damaged. No process may have it open.
    pub fn recover(folder: &Utf8Path) -> Result<Recovery, JournalError> {
        let path = folder.join(FILE);
        recover(folder, &path).map_err(|trouble| trouble.at(path.as_str()))
    }
}

/// Wait for a recovery under way, finish one that was interrupted, and keep new ones away. Also returns whether no
/// other process had the journal open.
pub(super) fn enter(folder: &Utf8Path) -> Result<(File, bool), Trouble> {
    let lock = lock_file(folder)?;
    let alone = lock.try_lock().is_ok();
    if alone {
        lock.unlock()?;
    }
    loop {
        lock.lock_shared()?;
        if !is_unfinished(folder) {
            return Ok((lock, alone));
        }
        lock.unlock()?;
        lock.lock()?;
        if is_unfinished(folder) {
            finish(folder)?;
        }
        lock.unlock()?;
    }
}

pub(super) fn is_unfinished(folder: &Utf8Path) -> bool {
    folder.join(RECOVERED).exists()
}

fn lock_file(folder: &Utf8Path) -> io::Result<File> {
    let path = folder.join(format!("{FILE}.lock"));
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn recover(folder: &Utf8Path, path: &Utf8Path) -> Result<Recovery, Trouble> {
    let lock = lock_file(folder)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Trouble::Occupied),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    if is_unfinished(folder) {
        let kept = finish(folder)?;
        return Ok(Recovery { kept, ..Recovery::default() });
    }
    if !path.exists() {
        return Ok(Recovery::default());
    }
    let (found, runs) = match store::inspect(path) {
        Ok(db) => {
            (db.check("integrity_check").unwrap_or_else(|t| vec![t.to_string()]), salvage(db.connection()))
        }
        Err(Trouble::Damaged { detail }) => (vec![detail], Vec::new()),
        Err(trouble) => return Err(trouble),
    };
    if found.is_empty() && runs.iter().all(|(salvaged, _)| salvaged.lost.is_none()) {
        return Ok(Recovery::default());
    }
    let told = write_anew(folder, runs, &folder.join(RECOVERED))?;
    let kept = finish(folder)?;
    Ok(Recovery { kept, found, runs: told })
}

/// Write what was saved into a database that is complete before it gets its name.
fn write_anew(folder: &Utf8Path, runs: Vec<Saved>, to: &Utf8Path) -> Result<Vec<Salvaged>, Trouble> {
    let recovering = folder.join(RECOVERING);
    for leftover in with_companions(&recovering) {
        remove(&leftover)?;
    }
    let db = Store::Sqlite(store::connect(&recovering)?);
    let mut told = Vec::new();
    for (salvaged, events) in runs {
        write_run(&db, &events)?;
        told.push(salvaged);
    }
    db.close(true)?;
    File::open(&recovering)?.sync_all()?;
    fs::rename(&recovering, to)?;
    disk::sync_folder(folder)?;
    Ok(told)
}

/// Save the content of a database whose files were removed, as long as this connection has them open. The next process
/// that opens the journal puts it back, unless a new database was begun meanwhile.
pub(super) fn save_removed(db: &Sqlite) -> Trouble {
    let (path, footing) = (db.path(), db.footing());
    let [file, log, _] = with_companions(path);
    let save = || -> Result<String, Trouble> {
        if footing.knows(&file) && footing.knows(&log) {
            return Ok("nothing is lost: run the same command again".to_owned());
        }
        let folder = path.parent().unwrap_or(Utf8Path::new("."));
        disk::private_folder(folder)?;
        let _alone = Lock::take(&folder.join("locks/save.lock"))?;
        let another = if footing.knows(&file) {
            log.metadata().is_ok_and(|facts| facts.len() > 0)
        } else {
            matches!(store::peek(&file), Ok(Some(())))
        };
        if another {
            let aside = unused(folder, "removed");
            write_anew(folder, salvage(db.connection()), &aside)?;
            return Ok(format!("another one is in its place; the old content is kept in {aside}"));
        }
        if !is_unfinished(folder) {
            write_anew(folder, salvage(db.connection()), &folder.join(RECOVERED))?;
        }
        Ok("its content is saved: `piton doctor --repair`, or the next `piton run`, restores it".to_owned())
    };
    let then = save().unwrap_or_else(|trouble| format!("its content could not be saved: {trouble}"));
    Trouble::Removed { then }
}

/// A name beside the database that no file has.
fn unused(folder: &Utf8Path, why: &str) -> Utf8PathBuf {
    let name = |n: u32| folder.join(format!("{FILE}.{why}-{n}"));
    (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
}

/// Put the complete new database in the place of the old one.
fn finish(folder: &Utf8Path) -> Result<Option<Utf8PathBuf>, Trouble> {
    let old = folder.join(FILE);
    let aside = unused(folder, "damaged");
    // The log before its database: a process that is interrupted here finds the same free number again.
    let mut moved = false;
    for (from, to) in with_companions(&old).into_iter().zip(with_companions(&aside)).rev() {
        match fs::rename(&from, &to) {
            Ok(()) => moved = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    disk::sync_folder(folder)?;
    fs::rename(folder.join(RECOVERED), &old)?;
    disk::sync_folder(folder)?;
    Ok(moved.then_some(aside))
}

fn remove(path: &Utf8Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

type Saved = (Salvaged, Vec<Recorded>);

/// Every run, from its first event to the first that is missing, unreadable or makes no sense.
fn salvage(db: &Connection) -> Vec<Saved> {
    let listed = listed(db).unwrap_or_default();
    let first = |from: i64| db.query_row(prove::FIRST_EVENT, [from], |row| row.get(0)).optional();
    let mut numbers = prove::numbers(first);
    numbers.extend(listed.keys());
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.into_iter().map(|no| salvage_run(db, no, listed.get(&no)));
    // A number that was only a guess has no events and is not in the list of runs.
    runs.filter(|(salvaged, events)| !events.is_empty() || !salvaged.run.is_empty()).collect()
}

/// The list of runs with their last position, as far as it can be read.
fn listed(db: &Connection) -> Result<BTreeMap<i64, (String, u64)>, rusqlite::Error> {
    let mut select = db.prepare("SELECT no, id, seq FROM runs NOT INDEXED ORDER BY no")?;
    let mut rows = select.query(())?;
    let mut runs = BTreeMap::new();
    while let Ok(Some(row)) = rows.next() {
        runs.insert(row.get(0)?, (row.get(1)?, unsigned(row.get(2)?)));
    }
    Ok(runs)
}

fn salvage_run(db: &Connection, no: i64, listed: Option<&(String, u64)>) -> Saved {
    let mut events: Vec<Recorded> = Vec::new();
    let mut state = State::new();
    let mut lost = read_run(db, no, &mut events, &mut state).err();
    let promised = listed.map_or(0, |(_, seq)| *seq);
    let count = events.last().map_or(0, |last| last.seq);
    if lost.is_none() && promised > count {
        lost = Some(format!("events {} to {promised} are missing", count + 1));
    }
    let run = match (state.run(), listed) {
        (Some(run), _) => run.id.to_string(),
        (None, Some((id, _))) => id.clone(),
        (None, None) => String::new(),
    };
    let plan_incomplete = lost.is_some() && count > 0 && !has_whole_plan(&state, &events);
    (Salvaged { run, events: count, lost, plan_incomplete }, events)
}

/// Read and fold until something is wrong, and say what.
fn read_run(db: &Connection, no: i64, events: &mut Vec<Recorded>, state: &mut State) -> Result<(), String> {
    let unreadable = |seq: u64| move |error: rusqlite::Error| format!("event {seq} cannot be read: {error}");
    let unknown = RunId::new("unknown").map_err(|error| error.to_string())?;
    let sql = "SELECT no, at, body FROM events WHERE no > ?1 AND no < ?2 ORDER BY no";
    let mut select = db.prepare(sql).map_err(unreadable(1))?;
    let mut rows = select.query([key(no, 0), key(no + 1, 0)]).map_err(unreadable(1))?;
    loop {
        let next = state.seq() + 1;
        let Some(row) = rows.next().map_err(unreadable(next))? else { return Ok(()) };
        let parts = || Ok((unkey(row.get(0)?).1, row.get(1)?, row.get::<_, String>(2)?));
        let (seq, at, body) = parts().map_err(unreadable(next))?;
        if seq != next {
            return Err(format!("event {next} is missing"));
        }
        let recorded = query::decode(&unknown, seq, Timestamp(at), &body)
            .map_err(|_| format!("event {seq} is not understood"))?;
        if seq == 1 && !matches!(recorded.event, Event::RunCreated { .. }) {
            return Err("it does not begin with the run".to_owned());
        }
        if state.apply(&recorded).is_err() {
            return Err(format!("event {seq} refers to something that does not exist"));
        }
        events.push(recorded);
    }
}

/// Whether the tasks are those the plan's hash was taken of.
fn has_whole_plan(state: &State, events: &[Recorded]) -> bool {
    let Some(run) = state.run() else { return false };
    let mut specs: BTreeMap<u64, &TaskSpec> = BTreeMap::new();
    for task in state.tasks().filter(|task| !task.removed) {
        let at = usize::try_from(task.spec_seq).ok().and_then(|seq| events.get(seq.checked_sub(1)?));
        if let Some(Event::TaskAdded { spec, .. } | Event::TaskChanged { spec, .. }) = at.map(|r| &r.event) {
            specs.insert(task.spec_seq, spec);
        }
    }
    let plan = Plan {
        name: run.name.clone(),
        groups: run.groups.clone(),
        tasks: specs.into_values().cloned().collect(),
        settings: run.settings.clone(),
    };
    plan.hash() == run.plan_hash
}

fn write_run(db: &Store, events: &[Recorded]) -> Result<(), Trouble> {
    let mut state = State::new();
    query::fold(&mut state, events)?;
    let Some(run) = state.run().map(|run| run.id.clone()) else { return Ok(()) };
    let transaction = db.begin_writing(&run)?;
    append::record(db, &run, None, &mut state, events.iter().map(|recorded| (recorded, None)))?;
    transaction.commit()
}
