//! What the keys do.

use crate::screen::action::Action;
use crate::screen::text::{Ink, Text};

/// Each fits into one row of a popup on 80 columns.
const KEYS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Move",
        &[
            ("↑ ↓ k j", "by a line; PgUp PgDn by a page, g G to the ends"),
            ("Enter → l", "open the task; fold or unfold the group"),
            ("← h Esc", "back to the tasks"),
            ("Tab 1…8", "another view"),
            ("/", "show only tasks with these words"),
            ("n N", "the next task that is in progress or needs you"),
        ],
    ),
    (
        "In a text",
        &[
            ("/ n N", "search; the next place, and the one before"),
            ("v y Y", "mark lines; copy them; copy all of the text"),
            ("Enter", "run the command ($) of this line, if you confirm"),
            ("t", "where the time of the run went; again: of the task"),
            ("V", "show minor events in the journal"),
            ("s", "plain lines on the normal screen; s comes back"),
            ("q", "leave; the run goes on"),
        ],
    ),
    ("Steer: each shows its command first", &[]),
];

pub(super) fn lines() -> Vec<Text> {
    let mut lines = Vec::new();
    let row = |key: &str, about: &str| Text::named(Ink::Busy, &format!("  {key:10} "), about);
    for (title, keys) in KEYS {
        if !lines.is_empty() {
            lines.push(Text::default());
        }
        lines.push(Text::new(Ink::Bold, title));
        lines.extend(keys.iter().map(|(key, about)| row(key, about)));
    }
    lines.extend(Action::ALL.map(|action| row(&action.key().to_string(), action.about())));
    lines
}
