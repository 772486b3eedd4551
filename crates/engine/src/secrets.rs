//! The secrets of this process: what its environment holds under a name that says so, and what it learned since. All
//! that agents and checks say is written without them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use piton_core::redact::{self, Redactor};

/// The values that are hidden, and what hides them, made when it is needed.
#[derive(Default)]
struct Known {
    learned: Vec<String>,
    redactor: Option<Arc<Redactor>>,
}

static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();

/// What hides the secrets of this process.
pub fn redactor() -> Arc<Redactor> {
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let Known { learned, redactor } = &mut *known;
    Arc::clone(
        redactor.get_or_insert_with(|| Arc::new(Redactor::new(inherited().chain(learned.iter().cloned())))),
    )
}

/// From now on these are secrets as well.
pub fn learn(values: impl IntoIterator<Item = String>) {
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let before = known.learned.len();
    known.learned.extend(values);
    if known.learned.len() > before {
        known.redactor = None;
    }
}

/// What hides the secrets of a process that is started with `added` to its environment.
pub(crate) fn of_environment(added: &BTreeMap<String, String>) -> Arc<Redactor> {
    let added =
        added.iter().filter(|(name, value)| redact::is_secret(name, value)).map(|(_, value)| value.clone());
    Arc::new(Redactor::new(inherited().chain(added)))
}

fn inherited() -> impl Iterator<Item = String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, value)| redact::is_secret(name, value)).map(|(_, value)| value)
}
