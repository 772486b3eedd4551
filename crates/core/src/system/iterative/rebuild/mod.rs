//! The status of the units of a plan, from the log and from git, for a run that imports them. The claims of a state
//! file are only compared: the log and git win, and each difference is reported.

use std::collections::BTreeMap;
use std::fmt;

use super::progress::{self, Entry, Kind, NOT_FINISHED};
use crate::chronicle::same_object;
use crate::order::Pairs;
use crate::plan::{Oid, TaskId};
use crate::run::{ImportedCommit, ImportedError, ImportedFeedback, ImportedTask, Proof, Status};
use crate::time::Timestamp;

/// A unit of the plan, and what is there of it.
#[derive(Clone, Debug)]
pub struct Unit {
    pub id: TaskId,
    /// How many iterations it may have.
    pub limit: u32,
    /// Commits that are its work, oldest first.
    pub commits: Vec<ImportedCommit>,
    /// The last of them that is part of the target.
    pub landed: Option<Oid>,
    pub outputs: Outputs,
}

/// The files that a unit is to make. They count if there is no git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// It names no files, or its commits count.
    NotAsked,
    Exist,
    Missing,
}

/// What a state file says of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub status: Status,
    pub iterations: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rebuilt {
    /// Every unit of the plan, in its order.
    pub units: Vec<Believed>,
    pub differences: Vec<Difference>,
}

/// What is believed of a unit, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Believed {
    pub unit: TaskId,
    pub iterations: u32,
    /// What is imported; `None`: there is nothing to import.
    pub past: Option<ImportedTask>,
    pub why: String,
}

/// What a state file says and nothing bears out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// As it is spelled there: the plan need not have it.
    pub unit: String,
    pub claimed: String,
    pub found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the state file says {}, but {}", self.unit, self.claimed, self.found)
    }
}

/// Judge every unit.
pub fn rebuild(units: &[Unit], progress: &str, claims: &BTreeMap<TaskId, Claim>) -> Rebuilt {
    let mut logged: BTreeMap<&TaskId, Logged> =
        units.iter().map(|unit| (&unit.id, Logged::default())).into_map();
    let mut rebuilt = Rebuilt::default();
    let entries = progress::entries(progress);
    for entry in &entries {
        let Some(unit) = &entry.head.unit else { continue };
        if let Some(logged) = logged.get_mut(unit) {
            logged.hear(entry);
        }
    }
    for unit in units {
        let logged = &logged[&unit.id];
        let claim = claims.get(&unit.id);
        let believed = believe(unit, logged, claim);
        rebuilt.differences.extend(claim.and_then(|claim| difference(claim, logged, &believed)));
        rebuilt.units.push(believed);
    }
    let known = |id: &TaskId| units.iter().any(|unit| unit.id == *id);
    let unknown = claims.iter().filter(|(id, _)| !known(id)).map(|(id, claim)| Difference {
        unit: id.to_string(),
        claimed: word(claim.status).to_owned(),
        found: "there is no such unit in the plan".to_owned(),
    });
    rebuilt.differences.extend(unknown);
    rebuilt
}

/// The differences as an entry of the log; `None` if there are none.
pub fn logged(differences: &[Difference], at: Timestamp) -> Option<String> {
    if differences.is_empty() {
        return None;
    }
    let lines: Vec<String> = differences.iter().map(|difference| format!("- {difference}")).collect();
    let head = progress::Head { kind: Kind::Fix, time: Some(at.to_string()), ..progress::Head::default() };
    let did = format!("Rebuilt the state from this log and from git:\n{}", lines.join("\n"));
    Some(Entry { head, did, ..Entry::default() }.write())
}

/// What the log says of a unit.
#[derive(Default)]
struct Logged {
    iterations: u32,
    unnumbered: u32,
    stand: Stand,
    remaining: String,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    /// Commits with the number of their iteration.
    commits: Vec<(String, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stand {
    /// The log says nothing.
    #[default]
    Silent,
    Open,
    Done,
    Blocked(String),
}

impl Logged {
    /// Entries are in the order in which they were written, so the last one counts, whatever its number.
    fn hear(&mut self, entry: &Entry) {
        let at = entry.head.time.as_deref().and_then(time);
        let before = std::mem::take(&mut self.stand);
        self.stand = match entry.head.kind {
            Kind::Iteration => {
                match entry.head.number {
                    Some(number) => self.iterations = self.iterations.max(number),
                    None => self.unnumbered += 1,
                }
                self.began = self.began.or(at);
                let number = entry.head.number.unwrap_or_default();
                if !entry.commit.is_empty() {
                    self.commits.push((entry.commit.clone(), number));
                }
                if entry.is_done() {
                    Stand::Done
                } else if entry.is_blocked() {
                    Stand::Blocked(entry.blocker().to_owned())
                } else {
                    Stand::Open
                }
            }
            _ if entry.is_done() => Stand::Done,
            _ if entry.is_blocked() => Stand::Blocked(entry.blocker().to_owned()),
            // Checks or a review that found something.
            Kind::Tests | Kind::Review | Kind::Fix | Kind::Revise if !entry.remaining.is_empty() => {
                Stand::Open
            }
            Kind::Tests | Kind::Review | Kind::Fix | Kind::Revise | Kind::Other => before,
        };
        self.remaining.clone_from(&entry.remaining);
        self.ended = at.or(self.ended);
    }

    fn iterations(&self) -> u32 {
        self.iterations.max(self.unnumbered)
    }
}

/// A time as the log has it; people leave out the zone, or the letter in the middle.
fn time(text: &str) -> Option<Timestamp> {
    let joined = text.replacen(' ', "T", 1);
    let forms = [text.to_owned(), format!("{joined}Z"), format!("{joined}:00Z"), joined];
    forms.iter().find_map(|form| Timestamp::parse(form))
}

fn believe(unit: &Unit, logged: &Logged, claim: Option<&Claim>) -> Believed {
    let iterations = logged.iterations();
    let believed =
        |past: Option<ImportedTask>, why: String| Believed { unit: unit.id.clone(), iterations, past, why };
    let before = iterations.saturating_sub(1);
    let claimed_done = claim.is_some_and(|claim| claim.status == Status::Completed);
    // What the log is silent about, it does not deny.
    let said_done = logged.stand == Stand::Done || logged.stand == Stand::Silent && claimed_done;
    match &logged.stand {
        _ if said_done => match (&unit.landed, unit.outputs) {
            (Some(commit), _) => {
                let proof = Proof::Landed { commit: commit.clone(), verified: commit.clone() };
                let past =
                    ImportedTask { proof: Some(proof), ..past(unit, logged, Status::Completed, before) };
                believed(Some(past), format!("its commit {} is part of the target", commit.short()))
            }
            (None, Outputs::Exist) => {
                let past = ImportedTask {
                    proof: Some(Proof::Reported),
                    ..past(unit, logged, Status::Completed, before)
                };
                believed(Some(past), "its outputs exist".to_owned())
            }
            (None, Outputs::Missing) => {
                let why = "it is marked done, but its outputs do not exist".to_owned();
                believed(Some(past(unit, logged, Status::Pending, before)), why)
            }
            (None, Outputs::NotAsked) => {
                let why = "it is marked done, but none of its commits is part of the target".to_owned();
                believed(Some(past(unit, logged, Status::Pending, before)), why)
            }
        },
        Stand::Silent | Stand::Done => believed(None, "nothing is recorded about it".to_owned()),
        Stand::Blocked(reason) => {
            let past = failed(past(unit, logged, Status::Failed, before), "blocked", iterations, reason);
            believed(Some(past), format!("it is blocked: {reason}"))
        }
        Stand::Open if iterations >= unit.limit && iterations > 0 => {
            let reason = format!("all {} iterations are used up", unit.limit);
            let past =
                failed(past(unit, logged, Status::Abandoned, iterations), "timeout", iterations, &reason);
            believed(Some(past), reason)
        }
        Stand::Open => {
            let mut past =
                failed(past(unit, logged, Status::Failed, iterations), "iteration", iterations, NOT_FINISHED);
            if !logged.remaining.is_empty() {
                let feedback = logged.remaining.clone();
                past.feedback.push(ImportedFeedback { attempt: iterations + 1, feedback });
            }
            believed(Some(past), format!("work remains after iteration {iterations}"))
        }
    }
}

fn past(unit: &Unit, logged: &Logged, status: Status, spent: u32) -> ImportedTask {
    let mut commits = unit.commits.clone();
    for commit in &mut commits {
        let told = logged.commits.iter().find(|(hash, _)| same_object(hash, &commit.hash));
        if let Some((_, number)) = told.filter(|_| commit.attempt == 0) {
            commit.attempt = *number;
        }
    }
    ImportedTask {
        spent,
        started_at: logged.began,
        completed_at: logged.ended.filter(|_| status == Status::Completed),
        commits,
        ..ImportedTask::plain(status)
    }
}

fn failed(mut past: ImportedTask, kind: &str, attempt: u32, message: &str) -> ImportedTask {
    let (kind, message) = (kind.to_owned(), message.to_owned());
    past.errors.push(ImportedError {
        attempt,
        kind,
        message,
        at: past.completed_at,
        ..ImportedError::default()
    });
    past
}

/// A status in this system's words, as far as a log distinguishes them.
fn word(status: Status) -> &'static str {
    match status {
        Status::Pending | Status::Skipped | Status::Unreachable | Status::Waiting | Status::PassedOver => {
            "pending"
        }
        Status::Completed => "done",
        Status::Abandoned => "timeout",
        Status::Blocked => "blocked",
        Status::InProgress
        | Status::Confirming
        | Status::Verifying
        | Status::Verified
        | Status::Merging
        | Status::Failed => "in_progress",
    }
}

fn difference(claim: &Claim, logged: &Logged, believed: &Believed) -> Option<Difference> {
    let found = match believed.past.as_ref().map(|past| past.status) {
        _ if matches!(logged.stand, Stand::Blocked(_)) => "blocked",
        Some(Status::Pending) if believed.iterations > 0 => "in_progress",
        Some(status) => word(status),
        None => "pending",
    };
    let claimed = word(claim.status);
    // A unit that has not begun may be called blocked: it waits for another.
    let waits = claimed == "blocked" && found == "pending";
    if claimed != found && !waits {
        let found = format!("it is {found}: {}", believed.why);
        return Some(Difference { unit: believed.unit.to_string(), claimed: claimed.to_owned(), found });
    }
    (claim.iterations != believed.iterations && logged.stand != Stand::Silent).then(|| Difference {
        unit: believed.unit.to_string(),
        claimed: format!("{} iterations", claim.iterations),
        found: format!("the log has {}", believed.iterations),
    })
}

#[cfg(test)]
mod tests;
