//! Text for the screen: lines in a few inks, without anything that a terminal would obey.

use anstyle::Style;
use piton_core::terminal::{clean_text, hides, misleads, one_line};
use piton_core::view::{Description, Tone};
use unicode_width::UnicodeWidthChar;

use crate::ui;

/// How a piece of text looks. It never carries meaning alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ink {
    #[default]
    Plain,
    Dim,
    Bold,
    Good,
    Warning,
    Bad,
    Busy,
}

impl From<Tone> for Ink {
    fn from(tone: Tone) -> Ink {
        match tone {
            Tone::Quiet => Ink::Dim,
            Tone::Plain => Ink::Plain,
            Tone::Good => Ink::Good,
            Tone::Warning => Ink::Warning,
            Tone::Bad => Ink::Bad,
        }
    }
}

impl From<Style> for Ink {
    fn from(style: Style) -> Ink {
        match style {
            ui::DIM => Ink::Dim,
            ui::BOLD => Ink::Bold,
            ui::GOOD => Ink::Good,
            ui::WARNING => Ink::Warning,
            ui::BAD => Ink::Bad,
            ui::BUSY => Ink::Busy,
            _ => Ink::Plain,
        }
    }
}

/// Columns of a tab: enough to see that it is one, and little enough for code on a small screen.
const TAB: &str = "    ";
/// A longer line becomes several, so that each of them fits on the smallest screen, wrapped.
const LONGEST: usize = 300;

/// A line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pieces: Vec<(Ink, String)>,
    /// It is the rest of the line before it.
    continues: bool,
    /// The command that it names, which Enter offers to run.
    command: Option<String>,
    /// Where its further rows begin; 0: where it begins itself.
    hang: usize,
}

impl Text {
    pub(crate) fn new(ink: Ink, text: &str) -> Text {
        Text::default().and(ink, text)
    }

    #[must_use]
    pub(crate) fn and(mut self, ink: Ink, text: &str) -> Text {
        let clean = clean(text);
        if !clean.is_empty() {
            self.pieces.push((ink, clean));
        }
        self
    }

    /// A line that names a command of Piton's, as it is typed.
    pub(crate) fn command(command: &str) -> Text {
        // What stands behind three spaces explains it.
        let typed = command.split("   ").next().unwrap_or_default();
        Text { command: Some(typed.to_owned()), ..Text::new(Ink::Busy, &format!("  $ {command}")) }
    }

    /// The lines of a text, long ones in parts.
    pub(crate) fn lines(ink: Ink, text: &str) -> Vec<Text> {
        clean_text(text.as_bytes()).lines().flat_map(|line| Text::new(ink, line.trim_end()).parts()).collect()
    }

    /// A name, and what stands behind it in a column of its own.
    pub(crate) fn named(ink: Ink, name: &str, text: &str) -> Text {
        Text { hang: columns(name), ..Text::new(ink, name).and(Ink::Plain, text) }
    }

    /// The same text as one line, or in parts if it is long.
    pub(crate) fn parts(self) -> Vec<Text> {
        if self.columns() <= LONGEST {
            return vec![self];
        }
        let rows = wrap(&self, LONGEST, 0).into_iter().enumerate();
        rows.map(|(nth, pieces)| Text { pieces, continues: nth > 0, ..Text::default() }).collect()
    }

    pub(super) fn named_command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    pub(super) fn is_continued(&self) -> bool {
        self.continues
    }

    pub(crate) fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// A line that was drawn for standard output.
    pub(super) fn from_styled(line: &[(Style, String)]) -> Text {
        line.iter().fold(Text::default(), |all, (style, text)| all.and(Ink::from(*style), text))
    }

    fn columns(&self) -> usize {
        self.pieces.iter().map(|(_, text)| columns(text)).sum()
    }
}

impl From<&Description> for Text {
    fn from(line: &Description) -> Text {
        Text::new(line.tone.into(), &line.text)
    }
}

/// Columns that a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn clean(text: &str) -> String {
    let text = if text.contains('\t') { text.replace('\t', TAB) } else { text.to_owned() };
    if text.contains(|c| misleads(c) || hides(c)) { one_line(&text) } else { text }
}

/// A line in rows of at most so many columns, broken at spaces where that is possible. Rows after the first are as far to
/// the right as the line begins.
pub(super) fn rows(line: &Text, width: usize) -> Vec<Vec<(Ink, String)>> {
    let begins = |text: &str| text.chars().take_while(|c| *c == ' ').count();
    let indent = match line.hang {
        0 => line.pieces.first().map_or(0, |(_, text)| begins(text)),
        hang => hang,
    };
    wrap(line, width, indent.min(width / 3))
}

fn wrap(line: &Text, width: usize, indent: usize) -> Vec<Vec<(Ink, String)>> {
    let width = width.max(2);
    if line.columns() <= width {
        return vec![line.pieces.clone()];
    }
    let all: Vec<(Ink, char)> =
        line.pieces.iter().flat_map(|(ink, text)| text.chars().map(|c| (*ink, c))).collect();
    let (mut rows, mut from) = (Vec::new(), 0);
    while from < all.len() {
        let left = if from == 0 { 0 } else { indent };
        let (mut used, mut end) = (left, from);
        while let Some((_, c)) = all.get(end) {
            used += c.width().unwrap_or(0);
            if used > width {
                break;
            }
            end += 1;
        }
        if end < all.len() {
            // A word goes to the next row as a whole, unless that leaves most of this one empty.
            let space = all[from..end].iter().rposition(|(_, c)| *c == ' ').map(|at| from + at + 1);
            end = space.filter(|space| (space - from) * 2 > end - from).unwrap_or(end);
        }
        let mut row = joined(&all[from..end]);
        if left > 0 {
            row.insert(0, (Ink::Plain, " ".repeat(left)));
        }
        rows.push(row);
        from = end;
    }
    rows
}

fn joined(chars: &[(Ink, char)]) -> Vec<(Ink, String)> {
    let mut pieces: Vec<(Ink, String)> = Vec::new();
    for (ink, c) in chars {
        match pieces.last_mut() {
            Some((last, text)) if last == ink => text.push(*c),
            _ => pieces.push((*ink, c.to_string())),
        }
    }
    pieces
}

/// As much of a text as so many columns hold, with a sign if something is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= most
    };
    let short: String = text.chars().take_while(fits).collect();
    if most == 0 { String::new() } else { short + "…" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, width: usize) -> Vec<String> {
        let rows = rows(&Text::new(Ink::Plain, text), width);
        rows.iter().map(|row| row.iter().map(|(_, text)| text.as_str()).collect()).collect()
    }

    #[test]
    fn lines_are_broken_at_spaces_and_by_columns() {
        assert_eq!(broken("one two three", 8), ["one two ", "three"]);
        assert_eq!(broken("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(broken("日本語だ", 5), ["日本", "語だ"]);
        assert_eq!(broken("x", 0), ["x"]);
        assert_eq!(broken("  one two three", 10), ["  one two ", "  three"]);
        assert_eq!(broken("      deep and long", 9), ["      ", "   deep ", "   and ", "   long"]);
        assert_eq!(broken("", 5), [""]);
        let named = rows(&Text::named(Ink::Dim, "  x  ", "one two three"), 15);
        let told = |row: &Vec<(Ink, String)>| row.iter().map(|(_, text)| text.as_str()).collect::<String>();
        assert_eq!(named.iter().map(told).collect::<Vec<_>>(), ["  x  one two ", "     three"]);
        let styled = Text::new(Ink::Bold, "ab").and(Ink::Dim, "cd");
        assert_eq!(
            rows(&styled, 3),
            [
                vec![(Ink::Bold, "ab".to_owned()), (Ink::Dim, "c".to_owned())],
                vec![(Ink::Dim, "d".to_owned())]
            ]
        );
    }

    #[test]
    fn a_text_is_cut_by_columns_and_says_so() {
        assert_eq!(cut("plain", 5), "plain");
        assert_eq!(cut("plain text", 6), "plain…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("x", 0), "");
    }

    #[test]
    fn nothing_in_a_text_is_obeyed_by_a_terminal() {
        let evil = "a\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{7}\te";
        let shown = Text::new(Ink::Plain, evil).plain();
        assert!(!shown.contains(misleads), "{shown:?}");
        let lines = Text::lines(Ink::Plain, &format!("{evil}\n\n{}", "x".repeat(1000)));
        assert_eq!(lines[0].plain(), "abcd    e");
        assert_eq!(lines.len(), 2 + 4, "an empty line stays, a long one is in parts");
        assert!(lines[3].is_continued() && !lines[2].is_continued());
    }
}
