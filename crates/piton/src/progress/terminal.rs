//! Lines at the bottom of the terminal that are drawn again and again, below all that is printed.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Rows that are there for it from the cursor on, as far as it has made them, and the size of the terminal then.
    room: usize,
    size: (u16, u16),
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
        self.room = 0;
        put(&format!("{}{line}\n{}", self.erased(), self.lines()));
    }

    pub(super) fn clear(&mut self) {
        put(self.erased());
        self.drawn.clear();
        self.room = 0;
    }

    /// What takes the area off the screen, and leaves the cursor where it began.
    fn erased(&self) -> &'static str {
        if self.drawn.is_empty() { "" } else { ERASE }
    }

    /// The lines, and the way back to the beginning of the first. The terminal may be smaller than it has said: meanwhile it
    /// does not break lines, so each takes one row, and it scrolls only where room is made, so none goes where it cannot be
    /// erased. Of more lines than there are rows the last ones are shown.
    fn lines(&mut self) -> String {
        let size = size();
        let hidden = self.drawn.len().saturating_sub(usize::from(size.0));
        let shown = &self.drawn[hidden..];
        let Some(below) = shown.len().checked_sub(1) else { return String::new() };
        let mut text = String::new();
        if self.size != size || self.room <= below {
            (self.size, self.room) = (size, below + 1);
            if below > 0 {
                text = format!("{}\r\x1b[{below}A", "\n".repeat(below));
            }
        }
        text + &format!("\x1b7\x1b[?7l{}\x1b[?7h\x1b8", shown.join("\r\x1b[B"))
    }
}

/// While this lives, the terminal does not show what is typed: a line break in the area would move it. What is typed is kept
/// for the next program. Ctrl-C works as always, but does not throw away what is being drawn: half a picture would leave
/// the cursor in the wrong line.
#[derive(Debug)]
pub(super) struct Quiet {
    /// Piton has asked for it.
    is_ours: bool,
}

impl Quiet {
    pub(super) fn begin() -> Quiet {
        Quiet { is_ours: set_usual(false) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.is_ours {
            set_usual(true);
        }
    }
}

/// Let the terminal show what is typed, and drop what it has not shown yet at a Ctrl-C, as usual; or neither. Says whether
/// that is new. A process in the background would be stopped for it.
fn set_usual(is_usual: bool) -> bool {
    let terminal = io::stderr();
    let Ok(mut modes) = tcgetattr(&terminal) else { return false };
    let is_ours = tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
    if !is_ours || modes.local_modes.contains(LocalModes::ECHO) == is_usual {
        return false;
    }
    modes.local_modes.set(LocalModes::ECHO, is_usual);
    modes.local_modes.set(LocalModes::NOFLSH, !is_usual);
    tcsetattr(&terminal, OptionalActions::Now, &modes).is_ok()
}

/// Whether the window shows something of ours that has to go at the end.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// The title of the terminal's window, and its progress where it can show one. Both are as they were when this is dropped.
#[derive(Debug)]
pub(super) struct Window {
    has_progress: bool,
    shown: String,
}

impl Window {
    /// The title is put aside.
    pub(super) fn begin() -> Window {
        put("\x1b[22;0t");
        SHOWN.store(true, Ordering::SeqCst);
        Window { has_progress: shows_progress(), shown: String::new() }
    }

    /// `percent` is done; where that cannot go on, a person looks.
    pub(super) fn show(&mut self, title: &str, percent: u8, goes_on: bool) {
        let state = if goes_on { 1 } else { 4 };
        let progress =
            if self.has_progress { format!("\x1b]9;4;{state};{percent}\x07") } else { String::new() };
        let text = format!("\x1b]2;{title}\x07{progress}");
        if text != self.shown {
            put(&text);
            self.shown = text;
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        restore();
    }
}

/// Leave the terminal as it was found, also if this process is about to be killed.
pub(crate) fn restore() {
    if SHOWN.swap(false, Ordering::SeqCst) {
        let progress = if shows_progress() { "\x1b]9;4;0;0\x07" } else { "" };
        put(&format!("{progress}\x1b]2;\x07\x1b[23;0t"));
        set_usual(true);
    }
}

/// Whether the terminal is known to show progress. Others take the same sequence for a notification, or for text.
fn shows_progress() -> bool {
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let program = said("TERM_PROGRAM");
    let is_iterm = program == "iTerm.app" && said("TERM_FEATURES").contains('P');
    !said("WT_SESSION").is_empty()
        || said("ConEmuANSI") == "ON"
        || matches!(program.as_str(), "WezTerm" | "ghostty")
        || is_iterm
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
