//! What a client says of itself when it is about to stop.

use serde_json::Value;

/// A client that is about to stop, as it asks whether it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// It was sent on once already.
    pub again: bool,
    /// The last message of its agent; empty if the client does not report it.
    pub last: String,
}

/// `None` if this is nothing that a client says.
pub fn stopping(said: &[u8]) -> Option<Stopping> {
    let Ok(Value::Object(said)) = serde_json::from_str(std::str::from_utf8(said).ok()?) else { return None };
    let again = said.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false);
    let last = said.get("last_assistant_message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Stopping { again, last })
}
