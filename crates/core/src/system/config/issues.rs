//! `[issues]`: what happens at a tracker whose issues are a plan.

use std::ops::RangeInclusive;

use super::walk::{Section, Walk};
use crate::diagnostic::Diagnostic;
use crate::time::Span;

/// What `[issues]` says. It is about a tracker, so a run does not keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueSettings {
    pub done: OnDone,
    /// Comments of people who may write to the repository are a part of what is asked for.
    pub comments: bool,
    /// Whether an issue is assigned while Piton works on it. `None`: where that is how one agent tells the others.
    pub assign: Option<bool>,
    /// The label that an issue has while Piton works on it.
    pub label: Option<String>,
    /// How often the issues are asked for while a run goes on.
    pub poll: Span,
}

/// Each time costs one question, and a host answers thousands in an hour.
const POLL: Span = Span::minutes(1);
/// Beads answers within a second; nobody waits for an hour.
const POLLS: RangeInclusive<Span> = Span::seconds(1)..=Span::minutes(60);

impl Default for IssueSettings {
    fn default() -> IssueSettings {
        IssueSettings { done: OnDone::Close, comments: false, assign: None, label: None, poll: POLL }
    }
}

/// What is done about the issue of a completed task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDone {
    /// It gets a comment with the evidence, and is closed.
    #[default]
    Close,
    /// It gets the comment.
    Comment,
    Nothing,
}

impl OnDone {
    pub const ALL: [(&'static str, OnDone); 3] =
        [("close", OnDone::Close), ("comment", OnDone::Comment), ("nothing", OnDone::Nothing)];
}

pub(super) fn read_issues(walk: &mut Walk<'_>, section: &Section<'_>) -> IssueSettings {
    IssueSettings {
        done: section.choice(walk, "done", &OnDone::ALL).unwrap_or_default(),
        comments: section.flag(walk, "comments").unwrap_or(false),
        assign: section.flag(walk, "assign"),
        label: label(walk, section),
        poll: poll(walk, section).unwrap_or(POLL),
    }
}

fn label(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<String> {
    let label = section.line(walk, "label")?;
    let name = label.value.trim();
    // A program that takes several has commas between them.
    if name.is_empty() || name.contains(',') {
        let wrong = Diagnostic::error(label.at, format!("{:?} is not a label", label.value));
        walk.push(wrong.label("a label is some words on one line, without a comma"));
        return None;
    }
    Some(name.to_owned())
}

fn poll(walk: &mut Walk<'_>, section: &Section<'_>) -> Option<Span> {
    let said = section.span(walk, "poll")?;
    if POLLS.contains(&said.value) {
        return Some(said.value);
    }
    let wrong = Diagnostic::error(said.at, "`poll` is out of range");
    walk.push(wrong.label(format!("{} to {} is allowed", POLLS.start(), POLLS.end())));
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::config::read_config;

    #[test]
    fn what_is_shown_of_work_is_a_setting() {
        let (config, wrong) = read_config("[issues]\nassign = false\nlabel = \" in progress \"\n");
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(config.issues.assign, Some(false));
        assert_eq!(config.issues.label.as_deref(), Some("in progress"));
        assert_eq!(read_config("").0.issues, IssueSettings::default());
    }

    #[test]
    fn issues_are_not_asked_for_all_the_time() {
        let poll = |text: &str| {
            let (config, wrong) = read_config(&format!("[issues]\npoll = \"{text}\"\n"));
            (config.issues.poll, wrong.len())
        };
        assert_eq!(poll("5s"), (Span::seconds(5), 0));
        assert_eq!(poll("0s"), (Span::minutes(1), 1));
        assert_eq!(poll("2h"), (Span::minutes(1), 1));
    }

    #[test]
    fn several_labels_are_not_one() {
        for label in ["a,b", "", "  "] {
            let (config, wrong) = read_config(&format!("[issues]\nlabel = \"{label}\"\n"));
            assert_eq!((config.issues.label, wrong.len()), (None, 1), "{label}");
        }
    }
}
