//! Named crash points: `PITON_CRASH=name:N` aborts the process at the N-th time it passes `name`.
//!
//! They stand wherever a recovery rule starts: between an effect and the event that records it. The
//! tests kill the real binary there; without the variable a point costs one atomic load.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

struct Target {
    name: String,
    left: AtomicU64,
}

static TARGET: OnceLock<Option<Target>> = OnceLock::new();

/// Abort here if the environment asks for it. Nothing is flushed and no destructor runs, as in a `kill -9`.
pub fn point(name: &str) {
    let target = TARGET.get_or_init(|| {
        let wish = std::env::var("PITON_CRASH").ok()?;
        let (name, nth) = wish.rsplit_once(':').unwrap_or((&wish, "1"));
        Some(Target { name: name.to_owned(), left: AtomicU64::new(nth.parse().unwrap_or(1)) })
    });
    if let Some(target) = target
        && target.name == name
        && target.left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        std::process::abort();
    }
}
