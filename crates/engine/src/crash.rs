//! Named crash points: `PITON_CRASH=name:N` aborts the process at the N-th time it passes `name`.
//!
//! They stand wherever a recovery rule starts: between an effect and the event that records it. The
//! tests kill the real binary there; without the variables a point costs one atomic load.
//!
//! With `PITON_PAUSE=FIFO` the process does not die there: it waits until another process has opened the FIFO for
//! writing and let go of it again. So a test can step in between two steps of a process that lives on.
//!
//! With `PITON_CRASH_TRACE=FILE` every pass is a line in that file. Passes are then counted in there, over
//! all processes of a run, and one process alone aborts: keepers live too short to count for themselves.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

struct Wish {
    name: Option<String>,
    nth: u64,
    passed: AtomicU64,
    trace: Option<PathBuf>,
    pause: Option<PathBuf>,
}

static WISH: OnceLock<Option<Wish>> = OnceLock::new();

/// Abort or wait here if the environment asks for it. An abort flushes nothing and runs no destructor, as in
/// a `kill -9`.
pub fn point(name: &str) {
    let Some(wish) = WISH.get_or_init(read) else { return };
    let meant = wish.name.as_deref() == Some(name);
    let hit = match &wish.trace {
        Some(file) => {
            let passed = note(file, name);
            meant && passed >= wish.nth && File::create_new(file.with_extension("crashed")).is_ok()
        }
        None => meant && wish.passed.fetch_add(1, Ordering::SeqCst) + 1 == wish.nth,
    };
    if hit {
        match &wish.pause {
            Some(fifo) => drop(std::fs::read(fifo)),
            None => std::process::abort(),
        }
    }
}

fn read() -> Option<Wish> {
    let (crash, trace) = (std::env::var("PITON_CRASH").ok(), std::env::var_os("PITON_CRASH_TRACE"));
    if crash.is_none() && trace.is_none() {
        return None;
    }
    let (name, nth) = match crash.as_deref().map(|crash| crash.rsplit_once(':').unwrap_or((crash, "1"))) {
        Some((name, nth)) => (Some(name.to_owned()), nth.parse().unwrap_or(1)),
        None => (None, 1),
    };
    let pause = std::env::var_os("PITON_PAUSE").map(PathBuf::from);
    Some(Wish { name, nth, passed: AtomicU64::new(0), trace: trace.map(PathBuf::from), pause })
}

/// Add a line and count those like it. Only tests use the file: if it cannot be written, the test fails.
fn note(file: &Path, name: &str) -> u64 {
    let appended = File::options().create(true).append(true).open(file);
    let _ = appended.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| *line == name).count() as u64
}
