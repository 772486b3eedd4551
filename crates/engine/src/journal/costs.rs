//! What tries have used, as sums: `piton cost` reads one row for each line that it prints.

use std::collections::BTreeMap;

use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Event, Note, Recorded};
use piton_core::view::{By, Cost, Costs, Share};

use super::Journal;
use super::error::{JournalError, Trouble};
use super::query;
use super::rows::{LAYOUT, json, key};
use super::store::{Store, values};

impl Journal {
    /// What the tries of a run have used, by one of the things that costs are sorted by, and all together.
    pub fn costs(&self, run: &RunId, by: By) -> Result<Costs, JournalError> {
        self.reading(|db| {
            let Some(head) = query::head(db, run)? else { return Ok(Costs::default()) };
            if head.layout != LAYOUT {
                let mut costs = Costs::default();
                for recorded in query::events(db, run, head.no, 0, usize::MAX)? {
                    costs.read(run, &recorded);
                }
                return Ok(costs);
            }
            let mut costs = Costs::default();
            let whole = (by != By::Run).then_some(By::Run);
            for by in [by].into_iter().chain(whole) {
                let mut select =
                    db.prepare("SELECT name, cost FROM costs WHERE run = ?1 AND sorted_by = ?2")?;
                let mut rows = select.query(values![head.no, number(by)])?;
                while let Some(row) = rows.next()? {
                    let cost = parse(row.text(1)?)?;
                    costs.add(((by, row.get(0)?), cost));
                }
            }
            Ok(costs)
        })
    }
}

/// As it is on disk.
fn number(by: By) -> i64 {
    match by {
        By::Run => 0,
        By::Day => 1,
        By::Task => 2,
        By::Attempt => 3,
        By::Agent => 4,
        By::Model => 5,
    }
}

fn parse(text: &str) -> Result<Cost, Trouble> {
    serde_json::from_str(text).map_err(|error| Trouble::snapshot(format!("a cost: {error}")))
}

/// Add what an event costs that was just appended.
pub(super) fn book(db: &Store, run: &RunId, no: i64, recorded: &Recorded) -> Result<(), Trouble> {
    let (Event::Noted { note: Note::Spent { task, fence, .. }, .. } | Event::AgentEnded { task, fence, .. }) =
        &recorded.event
    else {
        return Ok(());
    };
    let mut costs = Costs::default();
    for earlier in begun(db, run, no, (task, *fence), recorded.seq)? {
        costs.read(run, &earlier);
    }
    costs.read(run, recorded).into_iter().try_for_each(|share| add(db, no, share))
}

/// What is known of a try before an event of it, from its start on.
fn begun(
    db: &Store,
    run: &RunId,
    no: i64,
    (task, fence): (&TaskId, u64),
    before: u64,
) -> Result<Vec<Recorded>, Trouble> {
    let mut select = db.prepare(
        "SELECT no, at, body FROM events WHERE task = ?1 AND no > ?2 AND no < ?3 ORDER BY no DESC",
    )?;
    let mut rows = select.query(values![task.as_str(), key(no, 0), key(no, before)])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        // Others may be long, and need not be decoded.
        let body = row.text(2)?;
        if !["\"attempt_started\"", "\"agent_ended\"", "\"spent\""].iter().any(|name| body.contains(name)) {
            continue;
        }
        let recorded = query::recorded(run, row)?;
        let is_start =
            matches!(&recorded.event, Event::AttemptStarted { fence: begun, .. } if *begun == fence);
        events.push(recorded);
        if is_start {
            break;
        }
    }
    events.reverse();
    Ok(events)
}

fn add(db: &Store, no: i64, ((by, name), more): Share) -> Result<(), Trouble> {
    let mut select = db.prepare("SELECT cost FROM costs WHERE run = ?1 AND sorted_by = ?2 AND name = ?3")?;
    let known: Option<String> = select.first(values![no, number(by), name], |row| row.get(0))?;
    let mut cost = known.map(|text| parse(&text)).transpose()?.unwrap_or_default();
    cost.merge(&more);
    put(db, no, (by, &name), &cost)
}

fn put(db: &Store, no: i64, (by, name): (By, &str), cost: &Cost) -> Result<(), Trouble> {
    let mut put = db.prepare(
        "INSERT INTO costs (run, sorted_by, name, cost) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (run, sorted_by, name) DO UPDATE SET cost = ?4",
    )?;
    put.execute(values![no, number(by), name, json(cost)?])?;
    Ok(())
}

/// Write all rows of a run again.
pub(super) fn write(db: &Store, no: i64, costs: &Costs) -> Result<(), Trouble> {
    db.execute("DELETE FROM costs WHERE run = ?1", values![no])?;
    costs.rows().try_for_each(|((by, name), cost)| put(db, no, (*by, name), cost))
}

pub(super) fn prove(db: &Store, no: i64, costs: &Costs, out: &mut Vec<String>) -> Result<(), Trouble> {
    let mut kept: BTreeMap<(i64, String), String> = BTreeMap::new();
    let mut select = db.prepare("SELECT sorted_by, name, cost FROM costs WHERE run = ?1")?;
    let mut rows = select.query(values![no])?;
    while let Some(row) = rows.next()? {
        kept.insert((row.get(0)?, row.get(1)?), row.get(2)?);
    }
    for ((by, name), cost) in costs.rows() {
        let (kept, told) = (kept.remove(&(number(*by), name.clone())), json(cost)?);
        if kept.as_ref() != Some(&told) {
            out.push(format!("cost of {} {name:?}: the snapshot has {kept:?}, not {told}", by.name()));
        }
    }
    out.extend(
        kept.into_keys().map(|(_, name)| format!("the snapshot has a cost of {name:?}, which is not known")),
    );
    Ok(())
}
