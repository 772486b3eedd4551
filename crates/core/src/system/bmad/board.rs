//! The board: what is to be done, in order, and how far each is.

use std::ops::Range;

use super::place;
use crate::plan::TaskId;
use crate::system::kit::draft::Standing;
use crate::system::kit::frontmatter::{Fields, Value};

/// What a word of the board says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has no file yet.
    Backlog,
    Ready,
    InProgress,
    Review,
    Done,
    /// Its agent could not continue.
    Blocked,
    /// It is not to be done now.
    Dropped,
}

/// The words of every generation.
const WORDS: [(Stage, &[&str]); 7] = [
    (Stage::Backlog, &["backlog", "draft", "todo"]),
    (Stage::Ready, &["ready-for-dev", "drafted", "ready", "approved"]),
    (Stage::InProgress, &["in-progress", "contexted", "inprogress"]),
    (Stage::Review, &["review", "in-review", "ready-for-review", "ready-for-done"]),
    (Stage::Done, &["done", "completed", "complete"]),
    (Stage::Blocked, &["blocked"]),
    (
        Stage::Dropped,
        &["deferred", "cancelled", "canceled", "won't-do", "wont-do", "optional", "skipped", "superseded"],
    ),
];

impl Stage {
    pub(super) fn read(word: &str) -> Option<Stage> {
        let plain = word.trim().trim_matches(['*', '`', '_']).to_lowercase().replace([' ', '_'], "-");
        WORDS.iter().find(|(_, known)| known.contains(&plain.as_str())).map(|(stage, _)| *stage)
    }

    /// Whether nothing is left to implement.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Stage::Review | Stage::Done)
    }

    pub(super) fn standing(self) -> Standing {
        match self {
            Stage::Ready => Standing::Open,
            Stage::Review | Stage::Done => Standing::Claimed,
            Stage::InProgress => Standing::NotOurs("somebody works on it: it is in progress"),
            Stage::Backlog => Standing::NotOurs("it is in the backlog"),
            Stage::Blocked => Standing::NotOurs("it is blocked"),
            Stage::Dropped => Standing::Dropped,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    pub(super) project: Option<String>,
    pub(super) epics: Vec<Epic>,
    pub(super) stories: Vec<Entry>,
    /// When it was last changed, where it says so.
    pub(super) updated: Option<Value>,
    /// Lines that are not fields.
    pub(super) odd: Vec<Range<usize>>,
}

/// `epic-1: in-progress`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Epic {
    pub(super) key: String,
    pub(super) status: Value,
}

/// `1-2-sign-in: ready-for-dev`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) id: TaskId,
    pub(super) at: Range<usize>,
    pub(super) status: Value,
    /// A position in [`Board::epics`].
    pub(super) epic: Option<usize>,
}

impl Board {
    /// `None`: it is not a board.
    pub(super) fn read(text: &str) -> Option<Board> {
        let fields = Fields::read(text, 0..text.len());
        let list = fields.get("development_status")?;
        let mut board = Board {
            project: fields.text("project").map(str::to_owned),
            updated: fields
                .get("last_updated")
                .map(|field| field.value.clone())
                .filter(|value| !value.text.is_empty()),
            odd: fields.odd.clone(),
            ..Board::default()
        };
        let mut found: Vec<(String, Range<usize>, Value, Option<usize>)> = Vec::new();
        for field in fields.below(list).filter(|field| !field.name.is_empty()) {
            let key = field.name.clone();
            if key.ends_with("-retrospective") {
                continue;
            }
            if key.starts_with("epic-") && !board.epics.iter().any(|epic| epic.key == key) {
                board.epics.push(Epic { key, status: field.value.clone() });
                continue;
            }
            let number = key.split('-').next().unwrap_or_default();
            let named = board.epics.iter().position(|epic| epic.key.strip_prefix("epic-") == Some(number));
            let epic = named.or(board.epics.len().checked_sub(1));
            found.push((key, field.at.clone(), field.value.clone(), epic));
        }
        let keys: Vec<&str> = found.iter().map(|(key, ..)| key.as_str()).collect();
        let ids = place::ids(&keys);
        let entry = |(id, (key, at, status, epic))| Entry { key, id, at, status, epic };
        board.stories = ids.into_iter().zip(found).map(entry).collect();
        Some(board)
    }
}

impl Entry {
    pub(super) fn stage(&self) -> Option<Stage> {
        Stage::read(&self.status.text)
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage().is_some_and(Stage::is_over)
    }
}
