//! `[issues]`: what happens at a tracker whose issues are a plan.

use super::walk::{Section, Walk};

/// What `[issues]` says. It is about a tracker, so a run does not keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssueSettings {
    pub done: OnDone,
    /// Comments of people who may write to the repository are a part of what is asked for.
    pub comments: bool,
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
    }
}
