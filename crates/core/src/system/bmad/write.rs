//! Writing back that a story is done: the word of one line of the board, and the status and boxes of the story's file. What
//! is done for Piton is to be reviewed for BMAD, and no status moves backwards for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::board::{Board, Stage};
use super::place::{self, key_of};
use super::story::Story;
use crate::chronicle::Chronicle;
use crate::order::{Arrange, Pairs};
use crate::plan::TaskId;
use crate::run::{State, Status};
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist;
use crate::system::kit::frontmatter::Value;
use crate::system::kit::outline::Word;
use crate::system::kit::text;
use crate::system::state_files::{Companion, Put, Reconciled, Ticking, Ticks};
use crate::time::Timestamp;

const REVIEW: &str = "review";
const READY: &str = "ready-for-dev";
const IN_PROGRESS: &str = "in-progress";

/// A place of a text and what is to stand there.
type Change = (Range<usize>, String);

/// The board, which is also the plan: a list whose stories are ticked by words. A story without a file is not a task, and its
/// word stays as it is.
pub(super) struct Words {
    /// The keys of the stories that have a file.
    pub(super) written: BTreeSet<String>,
}

impl Ticking for Words {
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        let Some(board) = Board::read(&text::decode(bytes).text) else { return BTreeMap::new() };
        let over =
            board.stories.into_iter().filter(|entry| entry.is_over() && self.written.contains(&entry.key));
        over.map(|entry| (entry.id, None)).into_map()
    }

    /// A key is a title, too.
    fn titles(&self, _: &[u8]) -> BTreeMap<TaskId, String> {
        BTreeMap::new()
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        let text = text::decode(bytes).text;
        let board = Board::read(&text)?;
        let mut changes: Vec<Change> = Vec::new();
        let mut begun: BTreeSet<usize> = BTreeSet::new();
        for entry in board.stories.iter().filter(|entry| self.written.contains(&entry.key)) {
            let Some(word) = stand.get(&entry.id) else { continue };
            if matches!(word, Word::Completed | Word::InProgress) {
                begun.extend(entry.epic);
            }
            match (*word == Word::Completed, entry.is_over()) {
                (true, false) => changes.push(entry.status.replaced(REVIEW)),
                (false, true) => changes.push(entry.status.replaced(READY)),
                (true, true) | (false, false) => {}
            }
        }
        let epics = begun.into_iter().map(|epic| &board.epics[epic]);
        let waiting = epics.filter(|epic| Stage::read(&epic.status.text) == Some(Stage::Backlog));
        changes.extend(waiting.map(|epic| epic.status.replaced(IN_PROGRESS)));
        let known: BTreeSet<&TaskId> = board.stories.iter().map(|entry| &entry.id).collect();
        let missing = stand.keys().filter(|id| !known.contains(id)).cloned().collect();
        checklist::replace(bytes, &text, &changes).map(|bytes| Ticked { bytes, missing })
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        let bare = |bytes: &[u8]| {
            let text = text::decode(bytes).text;
            let board = Board::read(&text)?;
            let stories = board.stories.iter().map(|entry| &entry.status);
            let epics = board.epics.iter().map(|epic| &epic.status);
            let all = stories.chain(epics).chain(&board.updated).map(Value::blank);
            checklist::replace(bytes, &text, &all.collect::<Vec<_>>())
        };
        matches!((bare(now), bare(left)), (Some(now), Some(left)) if now == left)
    }

    fn is_like(&self, bytes: &[u8]) -> bool {
        Board::read(&text::decode(bytes).text).is_some()
    }

    fn stamped(&self, _before: &[u8], after: &[u8], chronicle: &Chronicle) -> Option<Vec<u8>> {
        stamped(after, chronicle.updated_at)
    }
}

/// A board after a change, with the time of it where it has such a time.
pub(super) fn stamped(bytes: &[u8], at: Timestamp) -> Option<Vec<u8>> {
    let text = text::decode(bytes).text;
    let updated = Board::read(&text)?.updated?;
    let now = updated.dated_like(at)?;
    checklist::replace(bytes, &text, &[updated.replaced(&now)])
}

/// The files of the stories, and the board.
pub(super) fn companions(names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
    let paths = place::stories(names);
    let written = paths.iter().filter_map(|path| key_of(path)).map(str::to_owned).collect();
    let stories = paths.into_iter().map(|path| Box::new(StoryFile { path }) as Box<dyn Companion>);
    stories.chain([Box::new(Words { written }) as Box<dyn Companion>]).collect()
}

/// The file of one story. The board says how far it is, so a word in here is not heard.
struct StoryFile {
    path: String,
}

impl StoryFile {
    /// The task whose story it is. Its id is the key, unless that cannot be one.
    fn id(&self) -> Option<TaskId> {
        place::ids(&[key_of(&self.path)?]).into_iter().next()
    }
}

impl Companion for StoryFile {
    fn name(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn reconcile(
        &self,
        found: Option<&[u8]>,
        state: &State,
        chronicle: &Chronicle,
        _claimed: &[TaskId],
        _shown: &Ticks,
    ) -> Reconciled {
        let (Some(bytes), Some(id)) = (found, self.id()) else { return Reconciled::default() };
        let task = state.task(&id).ok().flatten();
        let is_done =
            task.is_some_and(|task| task.decided == Status::Completed && !task.removed && !task.is_claimed());
        let is_lost = chronicle.task(&id).is_some_and(|story| story.lost);
        let new = finished(bytes).filter(|new| is_done && !is_lost && new != bytes);
        Reconciled { put: new.map_or(Put::Nothing, Put::Whole), ..Reconciled::default() }
    }

    fn is_like(&self, _: &[u8]) -> bool {
        false
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        finished(now).is_some_and(|now| Some(now) == finished(left))
    }
}

/// A story as it is once it is done: its steps are ticked, and it is to be reviewed unless it says more.
pub(super) fn finished(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = text::decode(bytes).text;
    let story = Story::read(&text);
    let mut changes: Vec<Change> = Vec::new();
    if let Some(status) = story.status.filter(|status| !status.stage().is_some_and(Stage::is_over)) {
        changes.push(status.word.replaced(status.review));
    }
    let open = story.steps.iter().filter(|step| !step.is_done);
    changes.extend(open.map(|step| (step.place.clone(), "x".to_owned())));
    changes.arrange_by_key(|(at, _)| at.start);
    changes.dedup_by(|a, b| a.0 == b.0);
    checklist::replace(bytes, &text, &changes)
}
