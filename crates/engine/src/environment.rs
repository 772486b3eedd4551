//! The environment that this process was started with.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What would make an agent's git, or the Piton it calls, work in another place.
const NOT_INHERITED: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "PITON_CRASH",
    "PITON_CRASH_TRACE",
    "PITON_PAUSE",
];

/// What opens a journal on a server; the others only where the journal is on one.
const OF_JOURNAL: [&str; 5] = ["PITON_JOURNAL", "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE"];

static USES_A_SERVER: AtomicBool = AtomicBool::new(false);

/// From now on, nothing that this process starts gets what opens the journal.
pub(crate) fn journal_is_on_a_server() {
    USES_A_SERVER.store(true, Ordering::Relaxed);
}

/// The variables that no other program gets: neither git, whose hooks are the project's, nor agents and checks.
pub(crate) fn of_journal() -> impl Iterator<Item = &'static str> {
    let known = if USES_A_SERVER.load(Ordering::Relaxed) { OF_JOURNAL.len() } else { 1 };
    OF_JOURNAL.iter().take(known).copied()
}

/// The variables that agents and checks do not get.
pub(crate) fn not_inherited() -> impl Iterator<Item = &'static str> {
    NOT_INHERITED.iter().copied().chain(of_journal())
}

/// A variable as a child will see it, with what is added to its environment. An empty variable counts as unset.
pub(crate) fn variable(added: &BTreeMap<String, String>, name: &str) -> Option<String> {
    added.get(name).cloned().or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
}
