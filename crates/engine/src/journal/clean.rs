//! No secret gets into the journal, whatever its source. State files, prompts and reports are made from it.

use std::borrow::Cow;

use piton_core::redact::Redactor;
use piton_core::run::Event;
use serde_json::Value;

/// The event without secrets, with its JSON where that had to be made. What the plan says stays as it is: its files hold
/// the same, and are compared with it.
pub(super) fn without_secrets(event: Event, redactor: &Redactor) -> (Event, Option<String>) {
    let of_plan = matches!(
        event,
        Event::RunCreated { .. }
            | Event::PlanAdopted { .. }
            | Event::SettingsAdopted { .. }
            | Event::TaskAdded { .. }
            | Event::TaskChanged { .. }
            | Event::TaskRemoved { .. }
    );
    if of_plan {
        return (event, None);
    }
    let Ok(text) = serde_json::to_string(&event) else { return (event, None) };
    if matches!(redactor.text(&text), Cow::Borrowed(_)) {
        return (event, Some(text));
    }
    // Through JSON text and back: code that turns events into values and back would be used only here.
    let Ok(mut value) = serde_json::from_str(&text) else { return (event, Some(text)) };
    clean(&mut value, redactor);
    match serde_json::from_str(&value.to_string()) {
        Ok(clean) => (clean, None),
        // An id that contains a secret would no longer be valid without it. The event matters more than the secret.
        Err(_) => (event, Some(text)),
    }
}

fn clean(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redactor.text(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, redactor)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean(field, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
