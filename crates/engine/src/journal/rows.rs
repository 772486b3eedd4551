//! How the parts of a state are stored in rows. If you change this, raise [`LAYOUT`]: rows of another layout are made
//! again from the events.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::plan::{Content, Digest, Oid, TaskId};
use piton_core::run::flakes::Flakes;
use piton_core::run::line::Line;
use piton_core::run::load::CheckLoad;
use piton_core::run::{
    Awaited, Bill, Bills, Closed, ConflictAhead, ContextUpdate, Counts, Effort, Efforts, Event, Halt, Holder,
    LazyProgress, Outages, Overloads, Proof, Recorded, Run, Session, Status, StopMode, StopReason, Task,
};
use piton_core::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};

use super::Cell;
use super::error::Trouble;
use super::lanes::{lane_of, turn};
use super::store::Row;

/// The number of the layout below, of [`Moving`], and of the order of [`Status::ALL`].
pub(super) const LAYOUT: i64 = 19;

/// Events of a run are numbered from here up to the next run.
const RUN_SHIFT: u32 = 40;

/// The key of an event.
pub(super) fn key(run: i64, seq: u64) -> i64 {
    (run << RUN_SHIFT) + signed(seq)
}

/// Run and position of a key.
pub(super) fn unkey(key: i64) -> (i64, u64) {
    (key >> RUN_SHIFT, unsigned(key & ((1 << RUN_SHIFT) - 1)))
}

/// Sequence numbers and fences never come near the sign.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A task as its columns.
#[derive(Debug, PartialEq)]
pub(super) struct TaskRow {
    pub id: String,
    pub lane: Option<i64>,
    pub grp: u32,
    pub level: u32,
    pub priority: u32,
    pub turn: Option<Vec<u8>>,
    pub decided: u32,
    pub since: i64,
    pub attempt: u32,
    pub spent: u32,
    pub budget: u32,
    pub transient: u32,
    pub conflicts: u32,
    pub fence: i64,
    pub not_before: Option<i64>,
    pub waiting: u32,
    pub dead: u32,
    pub flags: u32,
    pub spec_seq: i64,
    pub failure_seq: Option<i64>,
    pub rest: Option<String>,
}

/// In the order in which [`TaskRow::read`] expects them.
pub(super) const TASK_COLUMNS: &str = "id, lane, grp, level, priority, turn, decided, since, attempt, spent, \
     budget, transient, conflicts, fence, not_before, waiting, dead, flags, spec_seq, failure_seq, rest";
/// A query that asks for one more has it here.
pub(super) const TASK_COLUMN_COUNT: usize = 21;

const CONFIRM: u32 = 1;
const MAY_CHANGE_NOTHING: u32 = 2;
pub(super) const REMOVED: u32 = 4;
const CHECK_FIRST: u32 = 8;
const MAY_FAIL: u32 = 16;
const GATE: u32 = 64;
/// For queries by status: the status is derived, and cannot be read from the other columns.
const WAITING: u32 = 32;
/// The same.
const PASSED_OVER: u32 = 128;
const BY_PERSON: u32 = 256;

/// The number of [`Task::status`]: pending and failed tasks behind dead ones are unreachable, some wait for another list,
/// and not every skipped one was skipped by a person.
pub(super) const STATUS: &str = "CASE
    WHEN decided IN (0, 7) AND dead > 0 THEN 11
    WHEN decided IN (0, 7) AND flags & 32 > 0 THEN 12
    WHEN decided = 10 AND flags & 128 > 0 THEN 13
    ELSE decided END";

/// Fields that are empty for most tasks.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Rest {
    #[serde(skip_serializing_if = "is_zero")]
    tail: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judges: Vec<Digest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reviewers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reviews: Vec<Digest>,
    /// Unless it is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    held: u32,
    #[serde(skip_serializing_if = "is_zero")]
    open: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outside: Vec<Awaited>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<Holder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reopened: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counts: Vec<Oid>,
    #[serde(skip_serializing_if = "LazyProgress::is_none")]
    progress: LazyProgress,
    #[serde(skip_serializing_if = "Bill::is_empty")]
    used: Bill,
    #[serde(skip_serializing_if = "Span::is_zero")]
    worked: Span,
    #[serde(skip_serializing_if = "is_never")]
    booked: u64,
    /// Unless only its attempts are known, and they are those of the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
}

/// The key of the row that finds the task for which a commit counts. It lies among the rows of dependencies, with a
/// negative position. It contains a space, which no id does.
pub(super) fn commit_key(commit: &Oid) -> String {
    format!("commit {commit}")
}

/// The commits that count for a task.
pub(super) fn commits_of(task: &Task) -> impl Iterator<Item = &Oid> {
    let landed = match &task.proof {
        Some(Proof::Landed { commit, verified }) => [Some(commit), Some(verified)],
        _ => [None, None],
    };
    task.counts.iter().chain(landed.into_iter().flatten())
}

fn usual_effort(attempt: u32) -> Effort {
    Effort { attempt, tests: None }
}

/// The agent of most tasks, which their rows need not name.
const USUAL_AGENT: &str = "default";

/// Room that a row keeps free for the holder of a task and the like; most need no more.
const ROOM: &str = "                                                                                                                            ";
/// Numbers grow, too, once a task has begun.
const GROWTH: usize = 16;

impl TaskRow {
    /// Padding: a row that outgrows its page would change the pages around it.
    pub(super) fn room(&self) -> &'static str {
        let used = self.rest.as_ref().map_or(0, String::len) + if self.fence == 0 { 0 } else { GROWTH };
        &ROOM[used.min(ROOM.len())..]
    }

    pub(super) fn from_task(task: &Task) -> Result<TaskRow, Trouble> {
        // All fields are named, so that a field added to a task has to be handled here.
        let Task {
            id,
            group,
            level,
            tail,
            priority,
            decided,
            since,
            attempt,
            spent,
            budget,
            transient,
            conflicts,
            fence,
            holder,
            not_before,
            waiting,
            dead,
            held,
            open,
            outside,
            judges,
            reviewers,
            reviews,
            agent,
            confirm,
            may_change_nothing,
            check_first,
            may_fail,
            gate,
            by_person,
            content,
            removed,
            spec_seq,
            failure_seq,
            reopened,
            proof,
            counts,
            progress,
            used,
            worked,
            booked,
            effort,
        } = task;
        let lane = lane_of(task);
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let rest = Rest {
            tail: *tail,
            content: Some(*content),
            judges: judges.clone(),
            reviewers: reviewers.clone(),
            reviews: reviews.clone(),
            agent: (agent != USUAL_AGENT).then(|| agent.clone()),
            held: *held,
            open: *open,
            outside: outside.clone(),
            holder: holder.clone(),
            reopened: *reopened,
            proof: proof.clone(),
            counts: counts.clone(),
            progress: progress.clone(),
            used: *used,
            worked: *worked,
            booked: *booked,
            effort: Some(*effort).filter(|effort| *effort != usual_effort(*attempt)),
        };
        Ok(TaskRow {
            id: id.as_str().to_owned(),
            lane,
            grp: *group,
            level: *level,
            priority: *priority,
            turn: lane.map(|_| turn(*tail, id)),
            decided: *decided as u32,
            since: since.0,
            attempt: *attempt,
            spent: *spent,
            budget: *budget,
            transient: *transient,
            conflicts: *conflicts,
            fence: signed(*fence),
            not_before: not_before.map(|time| time.0),
            waiting: *waiting,
            dead: *dead,
            flags: flag(*confirm, CONFIRM)
                | flag(*may_change_nothing, MAY_CHANGE_NOTHING)
                | flag(*check_first, CHECK_FIRST)
                | flag(*may_fail, MAY_FAIL)
                | flag(*gate, GATE)
                | flag(*by_person, BY_PERSON)
                | flag(*removed, REMOVED)
                | flag(task.status() == Status::Waiting, WAITING)
                | flag(task.status() == Status::PassedOver, PASSED_OVER),
            spec_seq: signed(*spec_seq),
            failure_seq: failure_seq.map(signed),
            rest: Some(json(&rest)?),
        })
    }

    pub(super) fn read(row: Row<'_>) -> Result<TaskRow, Trouble> {
        Ok(TaskRow {
            id: row.get(0)?,
            lane: row.get(1)?,
            grp: row.get(2)?,
            level: row.get(3)?,
            priority: row.get(4)?,
            turn: row.get(5)?,
            decided: row.get(6)?,
            since: row.get(7)?,
            attempt: row.get(8)?,
            spent: row.get(9)?,
            budget: row.get(10)?,
            transient: row.get(11)?,
            conflicts: row.get(12)?,
            fence: row.get(13)?,
            not_before: row.get(14)?,
            waiting: row.get(15)?,
            dead: row.get(16)?,
            flags: row.get(17)?,
            spec_seq: row.get(18)?,
            failure_seq: row.get(19)?,
            rest: row.get(20)?,
        })
    }

    pub(super) fn task(self) -> Result<Task, Trouble> {
        let bad = |what: String| Trouble::snapshot(format!("task {}: {what}", self.id));
        let rest: Rest = match &self.rest {
            Some(text) => serde_json::from_str(text).map_err(|error| bad(error.to_string()))?,
            None => Rest::default(),
        };
        Ok(Task {
            id: TaskId::new(&self.id).map_err(|error| bad(error.to_string()))?,
            group: self.grp,
            level: self.level,
            tail: rest.tail,
            priority: self.priority,
            decided: *Status::ALL
                .get(self.decided as usize)
                .ok_or_else(|| bad(format!("status {}", self.decided)))?,
            since: Timestamp(self.since),
            attempt: self.attempt,
            spent: self.spent,
            budget: self.budget,
            transient: self.transient,
            conflicts: self.conflicts,
            fence: unsigned(self.fence),
            holder: rest.holder,
            not_before: self.not_before.map(Timestamp),
            waiting: self.waiting,
            dead: self.dead,
            held: rest.held,
            open: rest.open,
            outside: rest.outside,
            judges: rest.judges,
            reviewers: rest.reviewers,
            reviews: rest.reviews,
            agent: rest.agent.unwrap_or_else(|| USUAL_AGENT.to_owned()),
            confirm: self.flags & CONFIRM != 0,
            may_change_nothing: self.flags & MAY_CHANGE_NOTHING != 0,
            check_first: self.flags & CHECK_FIRST != 0,
            may_fail: self.flags & MAY_FAIL != 0,
            gate: self.flags & GATE != 0,
            by_person: self.flags & BY_PERSON != 0,
            content: rest.content.ok_or_else(|| bad("no content".to_owned()))?,
            removed: self.flags & REMOVED != 0,
            spec_seq: unsigned(self.spec_seq),
            failure_seq: self.failure_seq.map(unsigned),
            reopened: rest.reopened,
            proof: rest.proof,
            counts: rest.counts,
            progress: rest.progress,
            used: rest.used,
            worked: rest.worked,
            booked: rest.booked,
            effort: rest.effort.unwrap_or_else(|| usual_effort(self.attempt)),
        })
    }
}

/// The facts of a run that change only with its plan, and where that plan ends in the journal.
#[derive(Debug, Serialize)]
pub(super) struct Planned<'r> {
    pub begun: u64,
    #[serde(flatten)]
    pub run: &'r Run,
}

/// Where the events end that a run began with: the first one creates the run, and its tasks follow. A reader that asks
/// what has happened since can skip them. Zero means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Begun {
    pub begun: u64,
}

impl Begun {
    /// Take the next event into account.
    pub(super) fn see(&mut self, recorded: &Recorded) {
        let is_of_plan = match &recorded.event {
            Event::RunCreated { .. } => recorded.seq == 1,
            Event::TaskAdded { .. } => true,
            _ => false,
        };
        if is_of_plan && recorded.seq == self.begun + 1 {
            self.begun = recorded.seq;
        }
    }
}

/// The facts of a run that change as it goes; the others change only with the plan.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Moving {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    pub session: Session,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt: Option<Halt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
    pub landed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    pub slots: u32,
    #[serde(default)]
    pub judged_there: u32,
    pub dead: u32,
    pub streak: u32,
    #[serde(default, skip_serializing_if = "Outages::is_empty")]
    pub outages: Outages,
    #[serde(default, skip_serializing_if = "Overloads::is_empty")]
    pub overloads: Overloads,
    #[serde(default)]
    pub worked: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merging: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Line::is_new")]
    pub line: Line,
    #[serde(default, skip_serializing_if = "Flakes::is_empty")]
    pub flakes: Flakes,
    #[serde(default, skip_serializing_if = "CheckLoad::is_unknown")]
    pub check_load: CheckLoad,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts_ahead: BTreeMap<TaskId, Vec<ConflictAhead>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextUpdate>,
    #[serde(default, skip_serializing_if = "Bills::is_empty")]
    pub used: Bills,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noticed: BTreeMap<TaskId, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<(Timestamp, Vec<String>)>,
    #[serde(default, skip_serializing_if = "Efforts::is_empty")]
    pub efforts: Efforts,
}

impl Moving {
    pub(super) fn from_run(run: &Run) -> Moving {
        // All fields are named, so that a field added to a run has to be put on one side or the other.
        let Run {
            id: _,
            name: _,
            plan: _,
            plan_hash: _,
            groups: _,
            settings: _,
            target: _,
            base: _,
            worktree_dir: _,
            created: _,
            engine,
            session,
            stop,
            stopped,
            halt,
            closed,
            landed,
            gates,
            held,
            slots,
            judged_there,
            dead,
            streak,
            outages,
            overloads,
            worked,
            merging,
            line,
            flakes,
            check_load,
            conflicts_ahead,
            context,
            used,
            noticed,
            seen,
            adopted,
            efforts,
        } = run;
        Moving {
            engine: engine.clone(),
            session: session.clone(),
            stop: *stop,
            stopped: stopped.clone(),
            halt: halt.clone(),
            closed: closed.clone(),
            landed: *landed,
            gates: gates.clone(),
            held: *held,
            slots: *slots,
            judged_there: *judged_there,
            dead: *dead,
            streak: *streak,
            outages: outages.clone(),
            overloads: overloads.clone(),
            worked: *worked,
            merging: merging.clone(),
            line: line.clone(),
            flakes: flakes.clone(),
            check_load: *check_load,
            conflicts_ahead: conflicts_ahead.clone(),
            context: context.clone(),
            used: used.clone(),
            noticed: noticed.clone(),
            seen: seen.clone(),
            adopted: adopted.clone(),
            efforts: *efforts,
        }
    }

    /// The run as it was when its plan was recorded, with what has changed since.
    pub(super) fn over(self, run: Run) -> Run {
        let Moving {
            engine,
            session,
            stop,
            stopped,
            halt,
            closed,
            landed,
            gates,
            held,
            slots,
            judged_there,
            dead,
            streak,
            outages,
            overloads,
            worked,
            merging,
            line,
            flakes,
            check_load,
            conflicts_ahead,
            context,
            used,
            noticed,
            seen,
            adopted,
            efforts,
        } = self;
        Run {
            engine,
            session,
            stop,
            stopped,
            halt,
            closed,
            landed,
            gates,
            held,
            slots,
            judged_there,
            dead,
            streak,
            outages,
            overloads,
            worked,
            merging,
            line,
            flakes,
            check_load,
            conflicts_ahead,
            context,
            used,
            noticed,
            seen,
            adopted,
            efforts,
            ..run
        }
    }
}

/// The counts of one cell, and whether it holds others back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CellRow {
    pub unmet: bool,
    pub unsettled: bool,
    pub counts: Vec<i64>,
}

impl CellRow {
    pub(super) fn from_counts(counts: &Counts) -> CellRow {
        CellRow::new(Status::ALL.iter().map(|&status| i64::from(counts.of(status))).collect())
    }

    fn new(counts: Vec<i64>) -> CellRow {
        let any = |which: fn(Status) -> bool| {
            Status::ALL.into_iter().zip(&counts).any(|(status, &n)| n > 0 && which(status))
        };
        CellRow { unmet: any(Status::is_unmet), unsettled: any(Status::holds_back), counts }
    }

    pub(super) fn read(unmet: i64, unsettled: i64, counts: &str) -> Result<CellRow, Trouble> {
        match serde_json::from_str::<Vec<i64>>(counts) {
            Ok(counts) if counts.len() == Status::ALL.len() => {
                Ok(CellRow { unmet: unmet != 0, unsettled: unsettled != 0, counts })
            }
            _ => Err(Trouble::snapshot(format!("counts {counts:?}"))),
        }
    }

    /// With these changes; none below zero.
    pub(super) fn shifted(&self, by: &[(Status, i64)]) -> Result<CellRow, Trouble> {
        let mut counts = self.counts.clone();
        counts.resize(Status::ALL.len(), 0);
        for &(status, n) in by {
            let count = &mut counts[status as usize];
            *count += n;
            if *count < 0 {
                return Err(Trouble::snapshot(format!("fewer than no tasks {status}")));
            }
        }
        Ok(CellRow::new(counts))
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (status, &n) in Status::ALL.into_iter().zip(&self.counts) {
            counts.add(status, u32::try_from(n).unwrap_or(0));
        }
        counts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.iter().all(|&n| n == 0)
    }
}

/// Changes of counts, by cell.
pub(super) fn by_cell(changes: &BTreeMap<(Cell, Status), i64>) -> BTreeMap<Cell, Vec<(Status, i64)>> {
    let mut cells: BTreeMap<Cell, Vec<(Status, i64)>> = BTreeMap::new();
    for (&(cell, status), &n) in changes.iter().filter(|(_, n)| **n != 0) {
        cells.entry(cell).or_default().push((status, n));
    }
    cells
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_never(number: &u64) -> bool {
    *number == 0
}

/// JSON of our own types, whose keys are strings.
pub(super) fn json(value: &impl Serialize) -> Result<String, Trouble> {
    serde_json::to_string(value).map_err(|error| Trouble::inconsistent(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of statuses are on disk: if you move one, raise [`LAYOUT`] and this.
    #[test]
    fn the_layout_is_the_one_written_down() {
        let names: Vec<String> = Status::ALL.iter().map(|status| format!("{status:?}")).collect();
        assert_eq!(
            (LAYOUT, names.join(" ").as_str()),
            (
                19,
                "Pending InProgress Confirming Verifying Verified Merging Completed Failed Abandoned Blocked \
                 Skipped Unreachable Waiting PassedOver"
            )
        );
        assert!(Status::ALL.iter().enumerate().all(|(at, &status)| status as usize == at));
    }
}
