//! What a reviewer of a plan would say before work on it begins. A run does not use this.

use std::collections::HashSet;

use super::REQUIREMENTS;
use super::read::IssueReading;
use crate::diagnostic::Diagnostic;
use crate::plan::TaskId;
use crate::system::Problem;

/// Requirements without a task, and tasks without a requirement.
pub fn lint(read: &IssueReading) -> Vec<Problem> {
    let rows = &read.coverage.rows;
    let mut problems = Vec::new();
    for row in rows.iter().filter(|row| row.tasks.is_empty()) {
        let message = format!("no task covers requirement {}", row.key);
        let label = format!("refer to it below one, like `_Requirements: {}_`", row.key);
        let diagnostic = Diagnostic::warning(row.at.clone(), message).label(label);
        problems.push(Problem { file: REQUIREMENTS.to_owned(), diagnostic });
    }
    let covering: HashSet<&TaskId> = rows.iter().flat_map(|row| &row.tasks).collect();
    let uncovered = read.outline.tasks().filter(|(_, node)| !rows.is_empty() && !covering.contains(&node.id));
    for (_, node) in uncovered {
        let looks_on = node.title.to_lowercase().contains("checkpoint")
            || read.reading.before.get(&node.id).is_some_and(|before| before.is_branch);
        if !looks_on {
            let message = format!("`{}` does not cover a requirement", node.id);
            let label = "name the requirement that it covers";
            let diagnostic = Diagnostic::warning(node.text.clone(), message).label(label);
            problems.push(Problem { file: read.list.to_owned(), diagnostic });
        }
    }
    problems
}
