//! Texts about the work on an issue for other people: the pull request, and a comment on the issue.

use super::progress::Progress;
use super::state::{self, Issue, files, in_order, validation};
use crate::chronicle::{Chronicle, Story};
use crate::run::{State, Status, StopReason, Task};
use crate::system::Conclusion;
use crate::terminal::clean_text;

/// The label of an issue that cannot be finished without a person.
pub const NEEDS_REVIEW: &str = "needs review";

/// The name of the report on the last validation.
pub const REPORT: &str = "verification-report.txt";

/// How one of ours begins.
const REPORT_BEGINS: &str = "Verification report\n\nIssue:  #";

/// How many files of a task are named.
const FILES: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub title: String,
    pub body: String,
}

/// What is left for a person, or for `gh`: the pull request of a finished issue, a comment on an unfinished one.
pub fn conclusion(state: &State, chronicle: &Chronicle, reason: &StopReason) -> Option<Conclusion> {
    let about = state::about(state);
    let number = about.number.to_string();
    let comment = comment(state, chronicle);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let comments = words(&["gh", "issue", "comment", &number, "--body", &comment]);
    match reason {
        StopReason::Completed => {
            let PullRequest { title, body } = pull_request(&about, state, chronicle);
            let branch = &about.branch;
            let sends = vec![
                words(&["git", "push", "--set-upstream", "origin", branch]),
                words(&["gh", "pr", "create", "--head", branch, "--title", &title, "--body", &body]),
                comments,
            ];
            let text = format!("For the pull request of {branch}:\n\n{title}\n\n{body}");
            Some(Conclusion { text, sends })
        }
        StopReason::Ended => {
            let label = words(&["gh", "issue", "edit", &number, "--add-label", NEEDS_REVIEW]);
            let text = format!("For the issue, with the label `{NEEDS_REVIEW}`:\n\n{comment}");
            Some(Conclusion { text, sends: vec![label, comments] })
        }
        _ => None,
    }
}

/// For a finished run: what was done, task by task, and what has proven it.
pub fn pull_request(issue: &Issue, state: &State, chronicle: &Chronicle) -> PullRequest {
    let tasks = in_order(state, chronicle);
    // What a person skipped is still open: merging must not close the issue.
    let is_whole = tasks.iter().all(|(task, _)| task.outcome() == Status::Completed);
    let closes = if is_whole { "Closes" } else { "Part of" };
    let mut body = format!("{closes} #{}\n\n## What was done\n\n", issue.number);
    for (task, story) in &tasks {
        body += &format!("- **{}** {}", task.id, line(&story.title));
        match task.outcome() {
            Status::Completed => {}
            status => body += &format!(" ({}{})", status.name(), skipped(story)),
        }
        body += &files_line(story);
        body.push('\n');
    }
    let tests: Vec<String> = tasks.iter().filter_map(|(task, story)| tests(task, story)).collect();
    if !tests.is_empty() {
        body += &format!("\n## Tests\n\n{}", tests.concat());
    }
    let validated = validation(state, chronicle).filter(|(task, _)| task.outcome() == Status::Completed);
    let passed = validated.iter().flat_map(|(_, story)| &story.checked).filter(|(_, passed)| *passed);
    let checks: Vec<String> = passed.map(|(command, _)| format!("- `{}`\n", line(command))).collect();
    if !checks.is_empty() {
        body += &format!("\n## Checks of the whole\n\n{}", checks.concat());
    }
    PullRequest { title: format!("{} (#{})", line(&issue.title), issue.number), body }
}

/// Why a task was skipped.
fn skipped(story: &Story) -> String {
    let reason = story.skipped.as_ref().map(|said| line(&said.text)).filter(|reason| !reason.is_empty());
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

fn files_line(story: &Story) -> String {
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

/// For an unfinished issue: how far it is, and what each task that cannot continue waits for.
pub fn comment(state: &State, chronicle: &Chronicle) -> String {
    let mut text = Progress::new(state).to_string();
    let tasks = in_order(state, chronicle).into_iter().chain(validation(state, chronicle));
    let stuck: Vec<String> = tasks.filter_map(|(task, story)| why(task, story)).collect();
    if !stuck.is_empty() {
        text += &format!("\n### Needs a person\n\n{}", stuck.concat());
    }
    text
}

/// The report on the last validation, once it has ended: what was run, how it went, and what was fixed on the way.
pub fn verification(issue: &Issue, state: &State, chronicle: &Chronicle) -> Option<String> {
    let (task, story) = validation(state, chronicle)?;
    let result = match task.outcome() {
        Status::Completed => "passed",
        Status::Abandoned | Status::Blocked => "failed",
        _ => return None,
    };
    let ended = story.completed_at.unwrap_or(chronicle.updated_at);
    let mut text = format!("{}Result: {result}\nTime:   {ended}\n\n", head(issue));
    for (task, story) in in_order(state, chronicle) {
        if task.outcome() == Status::Skipped {
            text += &format!("skipped {} {}{}\n", task.id, line(&story.title), skipped(story));
        }
    }
    for (command, passed) in &story.checked {
        text += &format!("{}  {}\n", if *passed { "passed" } else { "failed" }, line(command));
    }
    if let Some(tests) = story.tests {
        text += &format!("\nTests: {tests}\n");
    }
    for (round, failure) in story.failures.iter().enumerate() {
        // The first round comes before any fix.
        let when = if round == 0 { "At first".to_owned() } else { format!("After fix round {round}") };
        text += &format!("\n{when}: {}\n", line(&failure.message));
        for said in clean_text(failure.details.as_bytes()).lines() {
            text += &format!("    {said}\n");
        }
    }
    Some(text)
}

/// In place of an older report, until the validation has ended: what passed once may not pass now.
pub fn unverified(issue: &Issue) -> String {
    format!("{}Result: not known yet\n", head(issue))
}

/// Whether a text is such a report, of whatever run.
pub fn is_report(text: &str) -> bool {
    text.starts_with(REPORT_BEGINS)
}

fn head(issue: &Issue) -> String {
    let title = line(&issue.title);
    format!("{REPORT_BEGINS}{} - {title}\nBranch: {}\n", issue.number, issue.branch)
}

fn why(task: &Task, story: &Story) -> Option<String> {
    if !matches!(task.outcome(), Status::Abandoned | Status::Blocked) {
        return None;
    }
    let reason = story.failures.last().map(|failure| line(&failure.message)).unwrap_or_default();
    Some(format!("- **{}** {}: {reason}\n", task.id, line(&story.title)))
}

/// A text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests;
