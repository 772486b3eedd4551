//! What all requests share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

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

/// An answer, and how long it may be given again.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub changes: u64,
    pub since: Instant,
    pub bytes: Bytes,
}

/// An answer that is being made, or was.
type Place = Arc<tokio::sync::Mutex<Option<Remembered>>>;

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
    pub turns: Semaphore,
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
            turns: Semaphore::new(TURNS),
            streams: Arc::new(Semaphore::new(STREAMS)),
            connections: Arc::new(Semaphore::new(most_connections)),
            most_connections,
        }
    }

    pub(super) fn open_connections(&self) -> usize {
        self.most_connections - self.connections.available_permits()
    }

    pub(super) fn open_streams(&self) -> usize {
        STREAMS - self.streams.available_permits()
    }
}
