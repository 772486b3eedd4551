//! bors: one batch at a time, halved when it is red.

use std::collections::{BTreeSet, VecDeque};

use super::stream::Change;
use super::world::{News, Queue, RunNo, World};

/// So many changes are in a batch at most: more are red too often.
const BATCH: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Bors {
    waiting: VecDeque<Change>,
    /// Halves of red batches come first.
    halves: Vec<Vec<Change>>,
    running: Option<(RunNo, Vec<Change>)>,
    retried: BTreeSet<Change>,
}

impl Queue for Bors {
    fn hear(&mut self, world: &mut World<'_>, news: News) {
        match news {
            News::Arrived(change) => self.waiting.push_back(change),
            News::Ended { passed, .. } => {
                let Some((_, batch)) = self.running.take() else { return };
                match batch.as_slice() {
                    all if passed => world.land(all),
                    [one] if self.retried.insert(*one) => self.halves.push(batch),
                    [one] => world.eject(*one),
                    several => {
                        let (left, right) = several.split_at(several.len() / 2);
                        self.halves.extend([right.to_vec(), left.to_vec()]);
                    }
                }
            }
        }
        if self.running.is_some() {
            return;
        }
        let some = self.waiting.len().min(BATCH);
        let batch = self.halves.pop().unwrap_or_else(|| self.waiting.drain(..some).collect());
        if !batch.is_empty() {
            self.running = Some((world.start(&batch), batch));
        }
    }
}
