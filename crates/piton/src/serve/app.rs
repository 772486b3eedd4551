//! What all requests share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use piton_core::plan::RunId;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use tokio::sync::Semaphore;

use crate::serve::guard::Guard;
use crate::serve::keys::{Keys, Tries};
use crate::serve::live::Live;
use crate::serve::output::Readers;

/// Pages that are open at once. Each holds a connection and nothing else.
const STREAMS: usize = 256;
/// Reads of the journal and the disk at the same time: the engine needs the processors.
pub(super) const TURNS: usize = 4;
/// Commands carried out at the same time. They have places of their own, so that no number of reads keeps them waiting.
pub(super) const ORDERS: usize = 2;
/// An answer is the same for all pages until the journal changes, and for so long: whether an engine lives, and what is
/// in a worktree, is not in the journal.
pub(super) const FRESH: Duration = Duration::from_millis(900);

/// An answer, and how long it may be given again.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub changes: u64,
    pub since: Instant,
    pub bytes: Bytes,
}

/// An answer that is being made, or was.
pub(super) type Place = Arc<tokio::sync::Mutex<Option<Remembered>>>;

#[derive(Debug)]
pub(super) struct App {
    pub project: Project,
    pub guard: Guard,
    pub keys: Keys,
    pub live: Live,
    pub readers: Readers,
    pub answers: Mutex<HashMap<String, Place>>,
    pub pasts: Mutex<Vec<(RunId, u64, Journal)>>,
    pub tries: Mutex<Tries>,
    pub turns: Arc<Semaphore>,
    pub orders: Arc<Semaphore>,
    pub streams: Arc<Semaphore>,
    pub connections: Arc<Semaphore>,
    most_connections: usize,
}

impl App {
    pub(super) fn new(project: Project, guard: Guard, keys: Keys, most_connections: usize) -> App {
        App {
            project,
            guard,
            keys,
            live: Live::new(),
            readers: Readers::default(),
            answers: Mutex::default(),
            pasts: Mutex::default(),
            tries: Mutex::default(),
            turns: Arc::new(Semaphore::new(TURNS)),
            orders: Arc::new(Semaphore::new(ORDERS)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            connections: Arc::new(Semaphore::new(most_connections)),
            most_connections,
        }
    }

    /// Drop the answers that will not be given again: of a large run they are large.
    pub(super) fn forget_old(&self) {
        if let Ok(mut answers) = self.answers.lock() {
            forget(&mut answers, Instant::now());
        }
    }

    pub(super) fn open_connections(&self) -> usize {
        self.most_connections - self.connections.available_permits()
    }

    pub(super) fn open_streams(&self) -> usize {
        STREAMS - self.streams.available_permits()
    }
}

/// Only what is fresh, or being made, is kept.
pub(super) fn forget(answers: &mut HashMap<String, Place>, now: Instant) {
    answers.retain(|_, place| {
        let is_waited_for = Arc::strong_count(place) > 1;
        let is_fresh = |known: &Remembered| now.duration_since(known.since) < FRESH;
        is_waited_for || place.try_lock().is_ok_and(|known| known.as_ref().is_some_and(is_fresh))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_given_again_is_not_kept() {
        let since = Instant::now();
        let known = || Place::new(Some(Remembered { changes: 0, since, bytes: Bytes::new() }).into());
        let (in_the_making, failed) = (Place::default(), Place::default());
        let mut answers = HashMap::from([
            ("status".to_owned(), known()),
            ("log".to_owned(), Arc::clone(&in_the_making)),
            ("diff".to_owned(), failed),
        ]);
        let names = |answers: &HashMap<String, Place>| {
            let mut names: Vec<String> = answers.keys().cloned().collect();
            names.sort();
            names
        };
        forget(&mut answers, since);
        assert_eq!(names(&answers), ["log", "status"]);
        forget(&mut answers, since + FRESH);
        assert_eq!(names(&answers), ["log"]);
        drop(in_the_making);
        forget(&mut answers, since);
        assert!(answers.is_empty());
    }
}
