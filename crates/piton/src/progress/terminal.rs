//! Lines at the bottom of the terminal that are drawn again and again, below all that is printed.

use std::io::{self, Write};

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar;

/// Columns at the right that stay free: the terminal echoes `^C` behind the last line, and a line that is broken by that would
/// be drawn again one row too low, and stay on the screen for ever.
const MARGIN: u16 = 3;

/// What is drawn on standard error. The cursor stays at the end of the last line.
#[derive(Debug, Default)]
pub(super) struct Area {
    drawn: Vec<String>,
}

impl Area {
    /// Show these lines in place of those that are there.
    pub(super) fn draw(&mut self, lines: Vec<String>) {
        if lines != self.drawn {
            let text = self.erased() + &lines.join("\n");
            put(&text);
            self.drawn = lines;
        }
    }

    /// Print a line above the area.
    pub(super) fn print(&mut self, line: &str) {
        put(&format!("{}{line}\n{}", self.erased(), self.drawn.join("\n")));
    }

    pub(super) fn clear(&mut self) {
        put(&self.erased());
        self.drawn.clear();
    }

    /// What takes the area off the screen, and leaves the cursor where it began.
    fn erased(&self) -> String {
        match self.drawn.len() {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            lines => format!("\r\x1b[{}A\x1b[J", lines - 1),
        }
    }
}

/// On a terminal that is gone writing fails, which must not end the run.
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

/// As much of a text as these columns hold.
pub(super) fn cut(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// Whether the terminal shows more than ASCII, as the locale says.
pub(super) fn is_utf8() -> bool {
    let said = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(said);
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_the_columns_that_it_takes() {
        assert_eq!(cut("plain text", 5), "plain");
        assert_eq!(cut("plain", 50), "plain");
        assert_eq!(cut("日本語", 5), "日本");
        assert_eq!(cut("e\u{301}e\u{301}e", 2), "e\u{301}e\u{301}");
        assert_eq!(cut("x", 0), "");
    }
}
