//! Which part of a list a line stands in, by the headings above it.

use std::ops::Range;

use super::line::{bare, plain, story_id};
use crate::system::kit::text::key;

/// The current place. Each part ends with a heading that is not deeper than its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub(super) heading: Range<usize>,
    /// With the level of its heading.
    story: Option<(usize, u8)>,
    /// No heading has come since the story's own.
    fresh: bool,
    tasks: Option<u8>,
    /// Boxes say when something is accepted.
    pub(super) criteria: Option<u8>,
    pub(super) batches: Option<u8>,
    /// The last heading begins a batch.
    pub(super) is_batch: bool,
    /// Totals stand here.
    pub(super) summary: bool,
    /// It has been said that boxes here are not tasks.
    pub(super) told: bool,
}

impl Section {
    pub(super) fn enter(&mut self, said: &str, at: &Range<usize>, level: u8) {
        let plain = key(said).to_lowercase();
        let words = plain.trim_matches(|c: char| !c.is_alphanumeric());
        let has = |word: &str| words.split(|c: char| !c.is_alphanumeric()).any(|own| own == word);
        let stays = |own: &u8| *own < level;
        self.heading = at.clone();
        self.fresh = false;
        self.told = false;
        self.story = self.story.filter(|(_, own)| stays(own));
        self.tasks = self.tasks.filter(stays);
        self.criteria = self.criteria.filter(stays);
        self.batches = self.batches.filter(stays);
        let is_criteria = has("criteria") || words.contains("definition of done");
        let is_tasks = has("tasks") || words.starts_with("task list");
        if is_criteria {
            self.criteria = Some(level);
        } else if is_tasks {
            (self.tasks, self.criteria) = (Some(level), None);
        }
        if words.contains("execution batches") || words == "batches" {
            self.batches = Some(level);
        }
        self.is_batch = words.starts_with("batch") && words != "batches";
        self.summary = words.contains("summary") || words == "progress";
    }

    /// A story begins.
    pub(super) fn tell(&mut self, story: usize, level: u8) {
        (self.story, self.fresh) = (Some((story, level)), true);
    }

    pub(super) fn story(&self) -> Option<usize> {
        self.story.map(|(story, _)| story)
    }

    /// The story whose heading is the last one.
    pub(super) fn fresh_story(&self) -> Option<usize> {
        self.story().filter(|_| self.fresh)
    }

    /// Whether a box without an id is a task here.
    pub(super) fn has_tasks(&self) -> bool {
        self.tasks.is_some() && self.criteria.is_none() && self.batches.is_none()
    }
}

/// `**Acceptance Criteria:**` on a line of its own.
pub(super) fn is_criteria(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let plain = lower.trim_matches(|c: char| !c.is_alphanumeric());
    line.len() < 60 && plain.ends_with("criteria")
}

/// `User Story: US-001 Title`, `US-001: Title`, `User Story: ALL Shared work`.
pub(super) fn story_heading(heading: &str) -> Option<(String, String)> {
    let said = heading.trim_start_matches(|c: char| !c.is_alphanumeric());
    let worded = ["user story", "story"].iter().find_map(|word| {
        let rest = said
            .get(..word.len())
            .filter(|head| head.eq_ignore_ascii_case(word))
            .map(|_| &said[word.len()..])?;
        let end = rest.strip_prefix([':', '\u{ff1a}', ' ', '\u{a0}', '-'])?;
        Some(end.trim_start_matches(|c: char| c.is_whitespace() || ":-–—*".contains(c)))
    });
    let rest = worded.unwrap_or(said);
    let first = rest.split(|c: char| c.is_whitespace() || c == ':').next().unwrap_or_default();
    let word = bare(first);
    let title = |rest: &str| {
        let rest = rest.trim_start_matches(|c: char| ":-–—) ".contains(c));
        plain(std::iter::once(rest)).trim_matches('*').trim().to_owned()
    };
    if let Some(id) = story_id(word) {
        return Some((id, title(&rest[first.len()..])));
    }
    let rest =
        worded.filter(|rest| !rest.is_empty() && !rest.to_ascii_lowercase().starts_with("progress"))?;
    let is_word = word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let all = title(rest);
    match is_word {
        true => Some((word.to_owned(), title(&rest[first.len()..]))),
        false if all.is_empty() => None,
        false => Some((all.clone(), all)),
    }
}
