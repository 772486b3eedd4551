//! What candidates for landing wait for, and why they are proven as they are.

use crate::plan::TaskId;
use crate::run::line::{Policy, Stage};
use crate::run::{ConflictAhead, Run};

/// How far a verified task is in the landing line; nothing if it waits for its turn.
pub fn in_line(run: &Run, task: &TaskId) -> Option<String> {
    let line = &run.line;
    if line.is_landing(task) {
        return Some("lands now".to_owned());
    }
    let Some(proof) = line.proof_of(task) else {
        let why = "is checked with fewer others next: together with more it was red, or in conflict";
        return line.is_set_aside(task).then(|| why.to_owned());
    };
    let others: Vec<TaskId> = proof.chain.iter().filter(|other| *other != task).cloned().collect();
    let with = if others.is_empty() { String::new() } else { format!(", together with {}", some(&others)) };
    Some(match proof.stage {
        Stage::UnderWay => format!("is being checked where it is to land{with}"),
        Stage::Passed(_) => format!("has passed where it is to land{with}, and lands next"),
        Stage::Red => {
            format!("is red where it is to land{with}; checks of fewer tasks will show which one fails")
        }
    })
}

/// What work under way will be in conflict with.
pub fn conflicts_ahead(conflicts: &[ConflictAhead]) -> String {
    let one = |conflict: &ConflictAhead| {
        let with = conflict.with.as_ref().map_or("the target".to_owned(), ToString::to_string);
        format!("with {with} in {}", some(&conflict.files))
    };
    conflicts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// How candidates are proven at the moment, and why.
pub fn policy(run: &Run) -> String {
    let failing = format!("about {} of 100 candidates are expected to fail", run.line.failing_percent());
    match run.line.policy() {
        Policy::Alone => format!("each candidate is checked alone first: {failing}"),
        Policy::Together(most) => format!("up to {most} candidates are checked together: {failing}"),
    }
}

/// Some tasks or files: the first by their names.
pub fn some(tasks: &[impl ToString]) -> String {
    const NAMED: usize = 3;
    let names: Vec<String> = tasks.iter().take(NAMED).map(ToString::to_string).collect();
    match tasks.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
