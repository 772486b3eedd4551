//! The streams: answers to standard output, everything else to standard error. Nothing else prints.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use clap::CommandFactory;
use piton_core::plan::RunId;
use piton_core::run::Status;
use piton_core::view::Tone;

use crate::cmd::Cli;
use crate::failure::Failure;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const BUSY: Style = AnsiColor::Cyan.on_default();

/// A closed pipe means that nobody reads any more, which is no error of ours.
pub(crate) fn answer(text: impl AsRef<str>) {
    let _ = anstream::stdout().write_all(text.as_ref().as_bytes());
}

pub(crate) fn answer_line(text: impl AsRef<str>) {
    answer(format!("{}\n", text.as_ref()));
}

pub(crate) fn answer_json(value: &serde_json::Value) {
    answer_line(serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Bytes as they are.
pub(crate) fn answer_raw(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

pub(crate) fn say(text: impl AsRef<str>) {
    let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
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
    format!("{BUSY}hint:{BUSY:#} {}", in_run(text.as_ref()))
}

/// The run that commands in hints are about, where they have to say so.
static RUN: OnceLock<String> = OnceLock::new();

/// From now on, commands in hints name this run.
pub(crate) fn name_run(run: &RunId) {
    // The first one is the one that the person means.
    let _ = RUN.set(run.to_string());
}

/// A command that is to be typed, with the run that it is about where several could be meant. What follows a command after
/// three spaces is about it.
pub(crate) fn in_run(text: &str) -> String {
    let Some(run) = RUN.get() else { return text.to_owned() };
    let (command, rest) = text.find("   ").map_or((text, ""), |at| text.split_at(at));
    let verb = command.strip_prefix("piton ").and_then(|words| words.split(' ').next());
    let takes_run = |verb: &str| {
        let cli = Cli::command();
        let known = cli.find_subcommand(verb);
        // A plan is named to `run`, and says as much.
        verb != "run" && known.is_some_and(|it| it.get_arguments().any(|arg| arg.get_long() == Some("run")))
    };
    let is_said = || [" --run ", " --plan "].iter().any(|flag| command.contains(flag));
    match verb.is_some_and(takes_run) && !is_said() {
        true => format!("{command} --run {run}{rest}"),
        false => text.to_owned(),
    }
}

/// A text as [`say`] would show it: without colours where nobody wants them.
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
    say(format!("{BAD}error:{BAD:#} {}", failure.message));
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
    match status {
        Status::Pending | Status::Waiting => ("·", DIM),
        Status::InProgress | Status::Confirming | Status::Verifying => ("▸", BUSY),
        Status::Verified | Status::Merging => ("◆", BUSY),
        Status::Completed => ("✓", GOOD),
        Status::Failed => ("↻", WARNING),
        Status::Abandoned => ("✗", BAD),
        Status::Blocked => ("!", BAD),
        Status::Skipped | Status::Unreachable | Status::PassedOver => ("-", WARNING),
    }
}

/// What came from outside, made safe to show: no control characters.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
