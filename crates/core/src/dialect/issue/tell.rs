//! What is told about the work on an issue where others read it: the pull request, and a comment on the issue.

use super::plan::VALIDATION;
use super::progress::Progress;
use super::state::{Issue, files, in_order};
use crate::dialect::chronicle::{Chronicle, Story};
use crate::plan::TaskId;
use crate::run::{State, Status, Task};

/// The label of an issue that cannot be finished without a person.
pub const NEEDS_REVIEW: &str = "needs review";

/// The name of the report on the last validation.
pub const REPORT: &str = "verification-report.txt";

/// So many files of a task are named.
const FILES: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub title: String,
    pub body: String,
}

/// For a finished run: what was done, task by task, and what has proven it.
pub fn pull_request(issue: &Issue, state: &State, chronicle: &Chronicle) -> PullRequest {
    let mut body = format!("Closes #{}\n\n## What was done\n\n", issue.number);
    let tasks = in_order(state, chronicle);
    for (task, story) in &tasks {
        body += &format!("- **{}** {}", task.id, line(&story.title));
        match task.outcome() {
            Status::Completed => {}
            status => body += &format!(" ({})", status.name()),
        }
        body += &told(story);
        body.push('\n');
    }
    let tests: Vec<String> = tasks.iter().filter_map(|(task, story)| tests(task, story)).collect();
    if !tests.is_empty() {
        body += &format!("\n## Tests\n\n{}", tests.concat());
    }
    PullRequest { title: format!("{} (#{})", line(&issue.title), issue.number), body }
}

fn told(story: &Story) -> String {
    let (created, modified) = files(story);
    let all: Vec<String> = created.iter().chain(&modified).map(|file| format!("`{}`", line(file))).collect();
    if all.is_empty() {
        return String::new();
    }
    let more = all.len().saturating_sub(FILES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("  \n  {}{more}", all[..all.len().min(FILES)].join(", "))
}

fn tests(task: &Task, story: &Story) -> Option<String> {
    Some(format!("- {}: {}\n", task.id, story.tests?))
}

/// For an unfinished one: how far it is, and what each task that cannot go on waits for.
pub fn comment(state: &State, chronicle: &Chronicle) -> String {
    let mut text = Progress::of(state).to_string();
    let validation = TaskId::new(VALIDATION).ok().and_then(|id| {
        let task = state.task(&id).ok()??;
        Some((task, chronicle.task(&id)?))
    });
    let tasks = in_order(state, chronicle).into_iter().chain(validation);
    let stuck: Vec<String> = tasks.filter_map(|(task, story)| why(task, story)).collect();
    if !stuck.is_empty() {
        text += &format!("\n### Needs a person\n\n{}", stuck.concat());
    }
    text
}

/// The report on the last validation, once it has ended: what was run, how it went, and what was mended on the way.
pub fn verification(issue: &Issue, state: &State, chronicle: &Chronicle) -> Option<String> {
    let id = TaskId::new(VALIDATION).ok()?;
    let (task, story) = (state.task(&id).ok()??, chronicle.task(&id)?);
    let result = match task.outcome() {
        Status::Completed => "passed",
        Status::Abandoned | Status::Blocked => "failed",
        _ => return None,
    };
    let mut text = format!(
        "Verification report\n\nIssue:  #{} - {}\nBranch: {}\nResult: {result}\nTime:   {}\n\n",
        issue.number,
        line(&issue.title),
        issue.branch,
        story.completed_at.unwrap_or(chronicle.updated_at),
    );
    for (command, passed) in &story.checked {
        text += &format!("{}  {}\n", if *passed { "passed" } else { "failed" }, line(command));
    }
    if let Some(tests) = story.tests {
        text += &format!("\nTests: {tests}\n");
    }
    for (round, failure) in story.failures.iter().enumerate() {
        text += &format!("\nRound {}: {}\n", round + 1, line(&failure.message));
        for said in failure.details.lines() {
            text += &format!("    {said}\n");
        }
    }
    Some(text)
}

fn why(task: &Task, story: &Story) -> Option<String> {
    if !matches!(task.outcome(), Status::Abandoned | Status::Blocked) {
        return None;
    }
    let reason = story.failures.last().map(|failure| line(&failure.message)).unwrap_or_default();
    Some(format!("- **{}** {}: {reason}\n", task.id, line(&story.title)))
}

/// Somebody's words on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect()
}
