//! The file of a story that says itself how far it is, without a board: what its status means, and writing that it is done.

use std::collections::BTreeMap;
use std::ops::Range;

use super::board::Stage;
use super::story::{Status, Story};
use super::write::finished;
use crate::diagnostic::Diagnostic;
use crate::order::{Arrange, Pairs};
use crate::plan::TaskId;
use crate::system::kit::boxes::Ticked;
use crate::system::kit::checklist;
use crate::system::kit::draft::{Kind, Standing};
use crate::system::kit::outline::Word;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::state_files::Ticking;

/// What becomes of a story whose plan is not finished.
pub(super) const DRAFT: Standing = Standing::NotOurs("it is a draft");

/// What the status of a story means for its task. `at`: the place of its title.
pub(super) fn standing(story: &Story, at: &Range<usize>, found: &mut Problems) -> Standing {
    match story.status.as_ref().map(|status| (status, status.stage())) {
        Some((_, Some(Stage::Backlog))) => DRAFT,
        Some((_, Some(stage))) => stage.standing(),
        Some((status, None)) => {
            let message = format!("`{}` is not a status of BMAD", cut(&status.word.text));
            found.repair(status.word.at.clone(), message, "Piton does not take this story");
            Standing::NotOurs("its status is unknown")
        }
        None => {
            let told = Diagnostic::warning(at.clone(), "this story has no status");
            found.push(told.label("Piton does not take it"));
            Standing::NotOurs("it does not say how far it is")
        }
    }
}

/// Who does it: agents need words. It does not depend on the status. `tell`: what is odd about it.
pub(super) fn kind(
    story: &Story,
    stage: Option<Stage>,
    at: &Range<usize>,
    tell: &mut dyn FnMut(Diagnostic),
) -> Kind {
    if !story.words.is_empty() {
        return Kind::Work;
    }
    if stage == Some(Stage::Ready) {
        let told = Diagnostic::warning(at.clone(), "the file of this story says nothing");
        tell(told.label("left to a person"));
    }
    Kind::Person
}

/// One such file, as a list with one box: its status.
pub(super) struct OneStory {
    pub(super) id: TaskId,
    /// Its path from the plan's folder on.
    pub(super) name: String,
    /// The status of a story that may be implemented.
    pub(super) open: &'static str,
}

/// How far a story says that it is.
pub(super) fn stage_of(story: &Story) -> Option<Stage> {
    story.status.as_ref().and_then(Status::stage)
}

fn is_over(story: &Story) -> bool {
    stage_of(story).is_some_and(Stage::is_over)
}

/// A story without its status, and with all steps ticked.
fn bare(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = text::decode(bytes).text;
    let story = Story::read(&text);
    let mut changes: Vec<(Range<usize>, &str)> =
        story.steps.iter().map(|step| (step.place.clone(), "x")).collect();
    changes.extend(story.status.iter().map(|status| status.word.blank()));
    changes.arrange_by_key(|(at, _)| at.start);
    changes.dedup_by(|a, b| a.0 == b.0);
    checklist::replace(bytes, &text, &changes)
}

impl Ticking for OneStory {
    fn ticked(&self, bytes: &[u8]) -> BTreeMap<TaskId, Option<&'static str>> {
        let is_over = is_over(&Story::read(&text::decode(bytes).text));
        is_over.then(|| (self.id.clone(), None)).into_iter().into_map()
    }

    fn titles(&self, bytes: &[u8]) -> BTreeMap<TaskId, String> {
        let title = Story::read(&text::decode(bytes).text).title;
        title.map(|(title, _)| (self.id.clone(), title)).into_iter().into_map()
    }

    fn tick(&self, bytes: &[u8], stand: &BTreeMap<TaskId, Word>) -> Option<Ticked> {
        let text = text::decode(bytes).text;
        let story = Story::read(&text);
        let missing = stand.keys().filter(|id| **id != self.id || story.status.is_none()).cloned().collect();
        let is_done = stand.get(&self.id).map(|word| *word == Word::Completed);
        let bytes = match (is_done, is_over(&story), &story.status) {
            (Some(true), false, Some(_)) => finished(bytes)?,
            (Some(false), true, Some(status)) => {
                checklist::replace(bytes, &text, &[status.word.replaced(self.open)])?
            }
            _ => bytes.to_vec(),
        };
        Some(Ticked { bytes, missing })
    }

    fn task(&self) -> Option<&TaskId> {
        Some(&self.id)
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn holds(&self, now: &[u8], left: &[u8]) -> bool {
        matches!((bare(now), bare(left)), (Some(now), Some(left)) if now == left)
    }

    fn is_like(&self, _: &[u8]) -> bool {
        false
    }
}
