//! The environment that this process was started with.

use std::collections::BTreeMap;

/// A variable as a child will see it, with what is added to its environment. An empty variable counts as unset.
pub(crate) fn variable(added: &BTreeMap<String, String>, name: &str) -> Option<String> {
    added.get(name).cloned().or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
}
