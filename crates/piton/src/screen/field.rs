//! A line that one types into.

use unicode_width::UnicodeWidthChar;

/// A longer text does not fit into the prompt of an agent either.
const LONGEST: usize = 20_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    text: String,
    /// Where the next character goes, in bytes.
    cursor: usize,
}

/// What a key does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Put(char),
    Left,
    Right,
    Home,
    End,
    Backspace,
    Delete,
    /// The word before the cursor.
    EraseWord,
    Clear,
}

impl Field {
    pub(super) fn new(text: &str) -> Field {
        Field { text: text.to_owned(), cursor: text.len() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn edit(&mut self, edit: Edit) {
        let before = self.text[..self.cursor].chars().next_back().map_or(0, char::len_utf8);
        let after = self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
        match edit {
            Edit::Put(c) => self.put(c.encode_utf8(&mut [0; 4])),
            Edit::Left => self.cursor -= before,
            Edit::Right => self.cursor += after,
            Edit::Home => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
            Edit::Backspace => {
                self.text.drain(self.cursor - before..self.cursor);
                self.cursor -= before;
            }
            Edit::Delete => drop(self.text.drain(self.cursor..self.cursor + after)),
            Edit::EraseWord => {
                let head = self.text[..self.cursor].trim_end();
                let start = head.rfind(' ').map_or(0, |space| space + 1);
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            Edit::Clear => *self = Field::default(),
        }
    }

    /// What is pasted: its line breaks become spaces, since a field is one line.
    pub(super) fn put(&mut self, text: &str) {
        let plain: String = text
            .chars()
            .map(|c| if c == '\n' || c == '\t' { ' ' } else { c })
            .filter(|c| !piton_core::terminal::misleads(*c))
            .collect();
        if self.text.len() + plain.len() <= LONGEST {
            self.text.insert_str(self.cursor, &plain);
            self.cursor += plain.len();
        }
    }

    /// The part that so many columns show, and the column of the cursor in it.
    pub(super) fn window(&self, columns: usize) -> (&str, usize) {
        let width = |c: char| c.width().unwrap_or(0);
        let (mut start, mut used) = (self.cursor, 0);
        for (at, c) in self.text[..self.cursor].char_indices().rev() {
            // One column is for the cursor.
            if used + width(c) + 1 > columns {
                break;
            }
            (start, used) = (at, used + width(c));
        }
        let (mut end, mut all) = (self.cursor, used);
        for c in self.text[self.cursor..].chars() {
            if all + width(c) > columns {
                break;
            }
            (end, all) = (end + c.len_utf8(), all + width(c));
        }
        (&self.text[start..end], used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_a_line_of_any_characters() {
        let mut field = Field::new("né 日本");
        for (edit, text) in [
            (Edit::Left, "né 日本"),
            (Edit::Put('x'), "né 日x本"),
            (Edit::Delete, "né 日x"),
            (Edit::Backspace, "né 日"),
            (Edit::EraseWord, "né "),
            (Edit::EraseWord, ""),
            (Edit::Backspace, ""),
            (Edit::Delete, ""),
            (Edit::Put('\u{1b}'), ""),
        ] {
            field.edit(edit);
            assert_eq!(field.text(), text, "{edit:?}");
        }
        field.put("two\nlines\u{1b}[2J");
        assert_eq!(field.text(), "two lines[2J");
        field.edit(Edit::Home);
        field.edit(Edit::Put('>'));
        assert_eq!(field.text(), ">two lines[2J");
        field.put(&"x".repeat(LONGEST));
        assert_eq!(field.text(), ">two lines[2J", "too long");
    }

    #[test]
    fn the_cursor_is_always_in_the_window() {
        let mut field = Field::new("0123456789");
        assert_eq!(field.window(5), ("6789", 4));
        assert_eq!(field.window(20), ("0123456789", 10));
        field.edit(Edit::Home);
        assert_eq!(field.window(5), ("01234", 0));
        assert_eq!(Field::new("日本語").window(4), ("語", 2));
    }
}
