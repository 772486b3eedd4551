//! A pane of text: where one is in it, what is searched, what is marked to be copied. Only the rows that are visible are
//! laid out, however long the text is.

use crate::screen::text::{Ink, Text, rows};

/// The rows of a pane, and its columns without the gutter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub columns: usize,
    pub rows: usize,
}

/// So many lines are kept: hours of an agent's words. What is older is in `piton output`.
const MOST: usize = 50_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Pane {
    lines: Vec<Text>,
    /// The first line that is visible, and how many of its rows are above the screen.
    top: (usize, usize),
    cursor: usize,
    /// New lines move the cursor to the end.
    follows: bool,
    /// Where the marked lines begin; they end at the cursor.
    mark: Option<usize>,
    search: String,
    /// There is content: an empty text was read as such.
    is_read: bool,
}

/// A row as it is drawn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub pieces: Vec<(Ink, String)>,
    pub is_cursor: bool,
    pub is_marked: bool,
}

/// Where to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

impl Move {
    /// The line to which it leads from this one; `last` is the last one there is.
    pub(super) fn from(self, line: usize, last: usize, page: usize) -> usize {
        match self {
            Move::Up => line.saturating_sub(1),
            Move::Down => (line + 1).min(last),
            Move::PageUp => line.saturating_sub(page),
            Move::PageDown => (line + page).min(last),
            Move::Home => 0,
            Move::End => last,
        }
    }
}

impl Pane {
    /// A pane whose end is shown, as long as nobody moves away from it.
    pub(super) fn following() -> Pane {
        Pane { follows: true, ..Pane::default() }
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Which line one is at, from 1.
    pub(super) fn position(&self) -> usize {
        (self.cursor + 1).min(self.lines.len())
    }

    /// The text as it is now. One stays where one is.
    pub(super) fn set(&mut self, lines: Vec<Text>, room: Room) {
        self.is_read = true;
        self.lines = lines;
        self.settle(room);
    }

    pub(super) fn append(&mut self, lines: Vec<Text>, room: Room) {
        self.is_read = true;
        self.lines.extend(lines);
        let extra = self.lines.len().saturating_sub(MOST);
        if extra > 0 {
            self.lines.drain(..extra);
            self.top.0 = self.top.0.saturating_sub(extra);
            self.cursor = self.cursor.saturating_sub(extra);
            self.mark = self.mark.map(|mark| mark.saturating_sub(extra));
        }
        self.settle(room);
    }

    /// Where one is, for a screen of another size or with other text.
    pub(super) fn settle(&mut self, room: Room) {
        let last = self.lines.len().saturating_sub(1);
        self.cursor = if self.follows { last } else { self.cursor.min(last) };
        self.mark = self.mark.map(|mark| mark.min(last));
        self.top = self.top.min((self.cursor, 0)).max(self.start_before(self.cursor, room));
        // No empty rows below while there is text above.
        self.top = self.top.min(self.start_before(last, room));
    }

    /// Where a screen begins whose last rows are this line.
    fn start_before(&self, last: usize, room: Room) -> (usize, usize) {
        let (mut start, mut used) = ((last, 0), 0);
        for at in (0..=last).rev() {
            let Some(line) = self.lines.get(at) else { continue };
            if used == room.rows {
                return start;
            }
            used += rows(line, room.columns).len();
            if used > room.rows {
                // Of a line that is larger than the screen, its beginning is shown.
                return if at == last { (at, 0) } else { (at, used - room.rows) };
            }
            start = (at, 0);
        }
        start
    }

    pub(super) fn go(&mut self, to: Move, room: Room) {
        let last = self.lines.len().saturating_sub(1);
        let page = room.rows.saturating_sub(1).max(1);
        self.cursor = to.from(self.cursor, last, page);
        // Only who goes to the end wants to see what comes.
        self.follows = self.cursor == last && matches!(to, Move::End | Move::Down | Move::PageDown);
        self.settle(room);
    }

    /// Move the text itself, for a pane without a visible cursor.
    pub(super) fn scroll(&mut self, to: Move, room: Room) {
        if matches!(to, Move::Down | Move::PageDown) {
            let mut used = 0;
            let below = self.lines.iter().enumerate().skip(self.top.0).find(|(_, line)| {
                used += rows(line, room.columns).len();
                used > room.rows + self.top.1
            });
            self.cursor = below.map_or(self.lines.len(), |(at, _)| at).saturating_sub(1);
        } else {
            self.cursor = self.top.0;
        }
        self.go(to, room);
    }

    pub(super) fn set_search(&mut self, search: &str) {
        search.clone_into(&mut self.search);
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    /// Go to the next line that has what is searched, or to the one before. False if there is none.
    pub(super) fn find(&mut self, forward: bool, from_here: bool, room: Room) -> bool {
        let wanted = self.search.to_lowercase();
        let len = self.lines.len();
        if wanted.is_empty() || len == 0 {
            return false;
        }
        let first = usize::from(!from_here);
        for step in first..=len {
            let at = if forward { (self.cursor + step) % len } else { (self.cursor + len * 2 - step) % len };
            if self.lines[at].plain().to_lowercase().contains(&wanted) {
                self.cursor = at;
                self.follows = false;
                self.settle(room);
                return true;
            }
        }
        false
    }

    /// Begin to mark lines, or stop it.
    pub(super) fn toggle_mark(&mut self) {
        self.mark = if self.mark.is_some() { None } else { Some(self.cursor) };
    }

    pub(super) fn has_mark(&self) -> bool {
        self.mark.is_some()
    }

    pub(super) fn unmark(&mut self) {
        self.mark = None;
    }

    /// The marked lines, or the one of the cursor, as they were written.
    pub(super) fn marked(&self) -> String {
        let (from, to) = self.marked_range();
        self.written(from, to)
    }

    /// All of it.
    pub(super) fn all(&self) -> String {
        self.written(0, self.lines.len().saturating_sub(1))
    }

    fn marked_range(&self) -> (usize, usize) {
        let mark = self.mark.unwrap_or(self.cursor);
        (mark.min(self.cursor), mark.max(self.cursor))
    }

    fn written(&self, from: usize, to: usize) -> String {
        let mut text = String::new();
        for line in self.lines.iter().take(to + 1).skip(from) {
            if !text.is_empty() && !line.is_continued() {
                text.push('\n');
            }
            text += &line.plain();
        }
        text
    }

    /// The command that the line of the cursor names.
    pub(super) fn command(&self) -> Option<&str> {
        self.lines.get(self.cursor)?.named_command()
    }

    /// The rows that are visible.
    pub(super) fn visible(&self, room: Room) -> Vec<Row> {
        let (from, to) = self.marked_range();
        let mut all = Vec::new();
        for (at, line) in self.lines.iter().enumerate().skip(self.top.0) {
            let is_marked = self.mark.is_some() && (from..=to).contains(&at);
            let above = if at == self.top.0 { self.top.1 } else { 0 };
            for pieces in rows(line, room.columns).into_iter().skip(above) {
                if all.len() == room.rows {
                    return all;
                }
                all.push(Row { pieces, is_cursor: at == self.cursor, is_marked });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { columns: 10, rows: 3 };

    fn lines(from: usize, to: usize) -> Vec<Text> {
        (from..to).map(|n| Text::new(Ink::Plain, &format!("line {n}"))).collect()
    }

    fn shown(pane: &Pane) -> Vec<String> {
        let rows = pane.visible(ROOM);
        rows.iter()
            .map(|row| {
                let text: String = row.pieces.iter().map(|(_, text)| text.as_str()).collect();
                format!("{}{text}", if row.is_cursor { ">" } else { "" })
            })
            .collect()
    }

    #[test]
    fn the_end_is_followed_until_one_moves_away_and_again_when_one_comes_back() {
        let mut pane = Pane::following();
        pane.append(lines(0, 5), ROOM);
        assert_eq!(shown(&pane), ["line 2", "line 3", ">line 4"]);
        pane.append(lines(5, 6), ROOM);
        assert_eq!(shown(&pane), ["line 3", "line 4", ">line 5"]);
        pane.go(Move::Up, ROOM);
        pane.append(lines(6, 9), ROOM);
        assert_eq!(shown(&pane), ["line 3", ">line 4", "line 5"], "what is read does not move");
        pane.go(Move::End, ROOM);
        pane.append(lines(9, 10), ROOM);
        assert_eq!(shown(&pane), ["line 7", "line 8", ">line 9"]);
    }

    #[test]
    fn a_line_that_takes_several_rows_can_be_reached() {
        let mut pane = Pane::default();
        let long = Text::new(Ink::Plain, &"x".repeat(25));
        pane.set(vec![Text::new(Ink::Plain, "first"), long, Text::new(Ink::Plain, "last")], ROOM);
        pane.go(Move::Down, ROOM);
        assert_eq!(shown(&pane), [">xxxxxxxxxx", ">xxxxxxxxxx", ">xxxxx"]);
        pane.go(Move::Down, ROOM);
        assert_eq!(shown(&pane), ["xxxxxxxxxx", "xxxxx", ">last"]);
        pane.go(Move::Home, ROOM);
        assert_eq!(shown(&pane)[0], ">first");
    }

    #[test]
    fn what_is_searched_is_found_in_a_circle_in_both_directions() {
        let mut pane = Pane::default();
        pane.set(lines(0, 30), ROOM);
        pane.set_search("LINE 2");
        assert!(pane.find(true, true, ROOM));
        assert_eq!(pane.position(), 3);
        assert!(pane.find(true, false, ROOM));
        assert_eq!(pane.position(), 21);
        assert!(pane.find(false, false, ROOM));
        assert_eq!(pane.position(), 3);
        assert!(pane.find(false, false, ROOM));
        assert_eq!(pane.position(), 30);
        pane.set_search("nowhere");
        assert!(!pane.find(true, false, ROOM));
        assert_eq!(pane.position(), 30);
    }

    #[test]
    fn what_is_copied_is_what_was_written() {
        let mut pane = Pane::default();
        let long = "a word ".repeat(100);
        let mut all = lines(0, 2);
        all.extend(Text::lines(Ink::Plain, &long));
        pane.set(all, ROOM);
        assert_eq!(pane.marked(), "line 0");
        pane.go(Move::Down, ROOM);
        pane.toggle_mark();
        pane.go(Move::End, ROOM);
        assert_eq!(pane.marked(), format!("line 1\n{}", long.trim_end()));
        assert_eq!(pane.all(), format!("line 0\nline 1\n{}", long.trim_end()));
    }

    #[test]
    fn a_text_without_a_cursor_moves_with_every_key() {
        let mut pane = Pane::default();
        pane.set(lines(0, 6), ROOM);
        for (to, first) in [
            (Move::Down, "line 1"),
            (Move::Down, "line 2"),
            (Move::Up, "line 1"),
            (Move::Up, "line 0"),
            (Move::Up, "line 0"),
            (Move::End, "line 3"),
            (Move::Down, "line 3"),
            (Move::Home, "line 0"),
        ] {
            pane.scroll(to, ROOM);
            assert_eq!(shown(&pane)[0].trim_start_matches('>'), first, "{to:?}");
        }
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut pane = Pane::default();
        pane.append(lines(0, MOST), ROOM);
        for _ in 0..5 {
            pane.go(Move::Down, ROOM);
        }
        pane.append(lines(MOST, MOST + 3), ROOM);
        assert_eq!((pane.len(), pane.position()), (MOST, 3));
    }
}
