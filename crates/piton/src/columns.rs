//! Text in columns: how many there are, and what fits into them.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use crate::ui;

/// How many columns an answer may take. `None` if it is not for a terminal, and nothing says how wide it is.
pub(crate) fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|said| said.parse().ok());
    let seen = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    said.or_else(seen).filter(|&columns| columns > 0)
}

/// Parts of a line, as much of them as these columns hold.
pub(crate) fn fitted(parts: &[(Style, String)], columns: Option<usize>) -> String {
    let mut left = columns.unwrap_or(usize::MAX);
    let mut line = String::new();
    for (style, text) in parts {
        let shown = cut(text, left);
        left = if shown.len() < text.len() { 0 } else { left.saturating_sub(width(shown)) };
        line += &ui::styled(*style, shown);
    }
    line
}

/// As much of a text as these columns hold.
pub(crate) fn cut(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
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
