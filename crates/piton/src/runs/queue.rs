//! The landing window: what has landed, what is landing, and what waits for it.

use piton_core::chronicle::Chronicle;
use piton_core::order::Arrange;
use piton_core::run::{Proof, Run, Status, Task};
use piton_core::time::Timestamp;
use piton_core::view;
use piton_engine::journal::Journal;
use serde_json::{Value, json};

use crate::failure::Outcome;

/// A task on its way to the target, or there.
pub(crate) struct Place {
    pub task: Task,
    pub title: String,
    pub status: &'static str,
    /// How far a candidate is in the landing line.
    pub line: Option<String>,
    verified_at: Option<Timestamp>,
    merged_at: Option<Timestamp>,
}

/// In the order in which they get to the target.
pub(crate) fn places(journal: &Journal, facts: &Run) -> Outcome<Vec<Place>> {
    let mut tasks = journal.landed(&facts.id)?;
    tasks.extend(journal.under_way(&facts.id)?);
    let chronicle = journal.stories(&facts.id, tasks.iter().map(|task| &task.id))?;
    Ok(in_order(tasks, &chronicle, facts))
}

fn in_order(tasks: Vec<Task>, chronicle: &Chronicle, facts: &Run) -> Vec<Place> {
    let mut places: Vec<(u8, Option<u64>, Place)> = Vec::new();
    for task in tasks {
        let (rank, status) = match task.status() {
            Status::Completed if matches!(task.proof, Some(Proof::Landed { .. })) => (0, "merged"),
            Status::Merging => (1, "merging"),
            Status::Verified => (2, "ready"),
            _ if task.is_candidate() => (3, "pending"),
            status if status.holds_slot() => (4, "pending"),
            _ => continue,
        };
        let story = chronicle.task(&task.id);
        let position = match rank {
            3 => task.progress.queued,
            4 => None,
            _ => story.and_then(|story| story.queued),
        };
        let place = Place {
            title: story.map(|story| story.title.clone()).unwrap_or_default(),
            status,
            line: task.is_candidate().then(|| view::in_line(facts, &task.id)).flatten(),
            verified_at: story.and_then(|story| story.verified_at),
            merged_at: story.and_then(|story| story.merged_at),
            task,
        };
        places.push((rank, position, place));
    }
    places.arrange_by(|(rank, at, one), (other_rank, other_at, other)| {
        let by_plan = |place: &Place| (place.task.group, place.task.priority, place.task.id.clone());
        (rank, at, by_plan(one)).cmp(&(other_rank, other_at, by_plan(other)))
    });
    places.into_iter().map(|(_, _, place)| place).collect()
}

/// The same for programs.
pub(crate) fn document(places: &[Place]) -> Value {
    let entry = |(no, place): (usize, &Place)| {
        let commit = match &place.task.proof {
            Some(Proof::Landed { commit, .. }) => Some(commit),
            _ => place.task.progress.commit.as_ref(),
        };
        json!({
            "position": no + 1, "task": place.task.id, "title": place.title, "status": place.status,
            "commit": commit, "waits": place.task.progress.waits, "line": place.line,
            "verified_at": place.verified_at.map(|at| at.to_string()),
            "merged_at": place.merged_at.map(|at| at.to_string()),
        })
    };
    Value::Array(places.iter().enumerate().map(entry).collect())
}
