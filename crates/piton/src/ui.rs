//! The streams: answers to standard output, everything else to standard error. Nothing else prints.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use piton_core::run::Status;
use piton_core::terminal::{misleads, one_line};
use piton_core::view::{self, Tone};

use crate::commands;
use crate::failure::Failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const BUSY: Style = AnsiColor::Cyan.on_default();

/// A closed pipe means that the reader has ended, which is not an error.
pub(crate) fn answer(text: impl AsRef<str>) {
    let _ = anstream::stdout().write_all(text.as_ref().as_bytes());
}

pub(crate) fn answer_line(text: impl AsRef<str>) {
    answer(format!("{}\n", text.as_ref()));
}

pub(crate) fn answer_json(value: &impl serde::Serialize) {
    answer_line(escaped(serde_json::to_string_pretty(value).unwrap_or_default()));
}

/// The same on one line.
pub(crate) fn answer_json_line(value: &serde_json::Value) {
    answer_line(escaped(value.to_string()));
}

/// JSON escapes some control characters; here all go as escapes that a terminal would obey or that turn the text around. They
/// stand in strings only.
fn escaped(json: String) -> String {
    let is_odd = |c: char| misleads(c) && c != '\n';
    if !json.contains(is_odd) {
        return json;
    }
    let one = |c: char| if is_odd(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(one).collect()
}

/// Bytes, unchanged.
pub(crate) fn answer_raw(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

pub(crate) fn say(text: impl AsRef<str>) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *held {
        Some(lines) => lines.push(text.as_ref().to_owned()),
        None => {
            let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
        }
    }
}

/// What was said while lines at the bottom of the terminal are drawn: whoever draws them prints it above.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on, or from now on no more, keep what is said. Returns what was kept so far.
pub(crate) fn hold(is_held: bool) -> Vec<String> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *held, is_held.then(Vec::new)).unwrap_or_default()
}

/// Whether lines at the bottom of the terminal are drawn now.
pub(crate) fn is_held() -> bool {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// A question: the answer stands in the same line.
pub(crate) fn ask(text: impl AsRef<str>) {
    let mut stream = anstream::stderr();
    let _ = write!(stream, "{}", text.as_ref());
    let _ = stream.flush();
}

pub(crate) fn hint(text: impl AsRef<str>) {
    say(hinted(text));
}

pub(crate) fn hinted(text: impl AsRef<str>) -> String {
    format!("{BUSY}hint:{BUSY:#} {}", commands::complete(text.as_ref()))
}

/// A text as [`say`] would show it: without colours if standard error is not to have them.
pub(crate) fn as_shown(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

pub(crate) fn fail(failure: &Failure) {
    if let Some(picture) = &failure.picture {
        say(picture);
    }
    say(format!("{BAD}error:{BAD:#} {}", commands::complete(&failure.message)));
    if !failure.hints.is_empty() {
        say("");
        failure.hints.iter().for_each(hint);
    }
}

/// Whether a screen that changes may be drawn.
pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> String {
    format!("{style}{}{style:#}", text.as_ref())
}

pub(crate) fn tone(tone: Tone) -> Style {
    match tone {
        Tone::Quiet => DIM,
        Tone::Plain => Style::new(),
        Tone::Good => GOOD,
        Tone::Warning => WARNING,
        Tone::Bad => BAD,
    }
}

/// A sign and a colour; the sign alone is enough.
pub(crate) fn status_sign(status: Status) -> (&'static str, Style) {
    let style = match status {
        Status::Pending | Status::Waiting => DIM,
        Status::InProgress | Status::Confirming | Status::Verifying | Status::Verified | Status::Merging => {
            BUSY
        }
        Status::Completed => GOOD,
        Status::Failed => WARNING,
        Status::Abandoned | Status::Blocked => BAD,
        Status::Skipped | Status::Unreachable | Status::PassedOver => WARNING,
    };
    (view::sign(status), style)
}

/// What came from outside, made safe to show: nothing that moves the cursor, hides text or changes its order.
pub(crate) fn plain(text: &str) -> String {
    one_line(text)
}
