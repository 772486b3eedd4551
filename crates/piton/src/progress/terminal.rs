//! Lines at the bottom of the terminal that are drawn again and again, below all that is printed.

use std::io::{self, Write};

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

/// Columns at the right that stay free: some terminals break a line as soon as it is full.
const MARGIN: u16 = 1;

/// Erase the line of the cursor and all below it. At the top left of the screen, tmux takes `J` for the whole screen and
/// keeps what it erases, so that begins a column later.
const ERASE: &str = "\r\x1b[K\x1b[C\x1b[J\r";

/// What is drawn on standard error. The cursor stays at the beginning of the first line. A terminal that is resized and
/// wraps lines again keeps it there, so Piton does not have to know how many rows the area takes.
#[derive(Debug, Default)]
pub(super) struct Area {
    drawn: Vec<String>,
}

impl Area {
    /// Show these lines in place of those that are there.
    pub(super) fn draw(&mut self, lines: Vec<String>) {
        if lines != self.drawn {
            let erased = self.erased();
            self.drawn = lines;
            put(&format!("{erased}{}", self.lines()));
        }
    }

    /// Print a line above the area.
    pub(super) fn print(&mut self, line: &str) {
        put(&format!("{}{line}\n{}", self.erased(), self.lines()));
    }

    pub(super) fn clear(&mut self) {
        put(self.erased());
        self.drawn.clear();
    }

    /// What takes the area off the screen, and leaves the cursor where it began.
    fn erased(&self) -> &'static str {
        if self.drawn.is_empty() { "" } else { ERASE }
    }

    /// The lines, and the way back to the beginning of the first. The terminal may be narrower than it has said: it does not
    /// break lines meanwhile, so each takes one row.
    fn lines(&self) -> String {
        let back = match self.drawn.len() {
            0 => return String::new(),
            1 => "\r".to_owned(),
            rows => format!("\r\x1b[{}A", rows - 1),
        };
        format!("\x1b[?7l{}\x1b[?7h{back}", self.drawn.join("\n"))
    }
}

/// While this lives, the terminal does not show what is typed: a line break in the area would move it. What is typed is kept
/// for the next program, and Ctrl-C works as always.
#[derive(Debug)]
pub(super) struct Quiet {
    /// Piton has asked for it.
    is_ours: bool,
}

impl Quiet {
    pub(super) fn begin() -> Quiet {
        Quiet { is_ours: set_echo(false) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.is_ours {
            set_echo(true);
        }
    }
}

/// Let the terminal show what is typed, or not. Says whether that is new. A process in the background would be stopped
/// for it.
fn set_echo(shown: bool) -> bool {
    let terminal = io::stderr();
    let Ok(mut modes) = tcgetattr(&terminal) else { return false };
    let is_ours = tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
    if !is_ours || modes.local_modes.contains(LocalModes::ECHO) == shown {
        return false;
    }
    modes.local_modes.set(LocalModes::ECHO, shown);
    tcsetattr(&terminal, OptionalActions::Now, &modes).is_ok()
}

/// Writing fails on a closed terminal. That must not end the run.
fn put(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// Rows and columns, or what most terminals have.
fn size() -> (u16, u16) {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
        _ => (24, 80),
    }
}

pub(super) fn rows() -> u16 {
    size().0
}

/// Columns that a line of the area may take.
pub(super) fn columns() -> usize {
    usize::from(size().1.saturating_sub(MARGIN))
}

/// Whether the terminal shows more than ASCII, as the locale says.
pub(super) fn is_utf8() -> bool {
    let said = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(said);
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
