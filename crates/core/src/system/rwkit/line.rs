//! What a task line says before and around its tags: id, priority, story, text and note.

use std::ops::Range;

use super::tables::trimmed;
use super::tags::Tagged;
use crate::system::kit::checklist::number;
pub(super) use crate::system::kit::links::story_id;
use crate::system::kit::problems::Spanned;

/// A line without its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: Option<Spanned<String>>,
    /// The id is one of this system, `T001` or `Task 1`, and not just a number.
    pub(super) certain: bool,
    /// 1 for `P1`.
    pub(super) priority: Option<u32>,
    pub(super) story: Option<Spanned<String>>,
    pub(super) title: String,
    /// What follows the last tag.
    pub(super) note: String,
}

impl Head {
    pub(super) fn read(text: &str, tagged: &Tagged) -> Head {
        let mut words = Words { text, pieces: tagged.pieces.clone(), nth: 0 };
        let (id, certain) = words.id().map_or((None, false), |(id, certain)| (Some(id), certain));
        let (mut priority, mut story) = (None, None);
        while let Some(word) = words.peek() {
            let bare = bare(&text[word.clone()]);
            if priority.is_none()
                && let Some(said) = priority_of(bare)
            {
                priority = Some(said);
            } else if story.is_none()
                && let Some((id, is_own)) = words.story(bare, priority.is_some())
            {
                story = Some(Spanned { value: id, at: word });
                if !is_own {
                    // It may be the first word of the text as well, which then is whole.
                    break;
                }
            } else {
                break;
            }
            words.advance();
        }
        let last = words.pieces.len() - 1;
        let said =
            |pieces: &[Range<usize>]| plain(pieces.iter().map(|piece| unbulleted(&text[piece.clone()])));
        let title = said(&words.pieces[..last]);
        let note = said(&words.pieces[last..]);
        // Without tags, or with all of them before the text, the last piece is the text.
        let (title, note) = if title.is_empty() { (note, String::new()) } else { (title, note) };
        Head { id, certain, priority, story, title, note }
    }
}

/// Whether a text is the id of a task by itself.
pub(super) fn is_id(text: &str) -> bool {
    number(text).is_some_and(|(id, rest)| id == text && rest.is_empty() && is_certain(id))
}

/// Without what people put around a word.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "[]()*_:,`".contains(c))
}

/// `P1`; more than two digits are not a priority. `P0` is as urgent as it gets.
pub(super) fn priority_of(word: &str) -> Option<u32> {
    let digits = word.strip_prefix(['P', 'p']).filter(|digits| (1..=2).contains(&digits.len()))?;
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok())??;
    Some(number.max(1))
}

/// Without the bullet of a line that continues with tags.
fn unbulleted(piece: &str) -> &str {
    let last = piece.rsplit_once('\n').filter(|(_, last)| matches!(last.trim(), "" | "-" | "*" | "+" | "•"));
    last.map_or(piece, |(before, _)| before)
}

/// Text on one line, without emphasis around all of it.
pub(super) fn plain<'t>(parts: impl Iterator<Item = &'t str>) -> String {
    let mut line = String::new();
    for word in parts.flat_map(str::split_whitespace) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()));
    }
    let trimmed = line.trim_start_matches(|c: char| "-–—:".contains(c) || c.is_whitespace()).trim_end();
    let bold = trimmed.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    bold.filter(|rest| !rest.contains("**")).unwrap_or(trimmed).trim().to_owned()
}

/// The words of the pieces, taken from the front.
struct Words<'t> {
    text: &'t str,
    pieces: Vec<Range<usize>>,
    nth: usize,
}

impl Words<'_> {
    fn piece(&mut self) -> Option<Range<usize>> {
        loop {
            let piece = trimmed(self.text, self.pieces.get(self.nth)?.clone());
            if !piece.is_empty() {
                return Some(piece);
            }
            self.nth += 1;
        }
    }

    fn id(&mut self) -> Option<(Spanned<String>, bool)> {
        let piece = self.piece()?;
        let said = &self.text[piece.clone()];
        let (id, rest) = number(said)?;
        let start = piece.start + (id.as_ptr() as usize - said.as_ptr() as usize);
        let is_certain = is_certain(id) || worded(said);
        self.pieces[self.nth] = piece.end - rest.len()..piece.end;
        Some((Spanned { value: id.to_owned(), at: start..start + id.len() }, is_certain))
    }

    fn peek(&mut self) -> Option<Range<usize>> {
        let piece = self.piece()?;
        let said = &self.text[piece.clone()];
        let end = said.find(char::is_whitespace).unwrap_or(said.len());
        Some(piece.start..piece.start + end)
    }

    fn advance(&mut self) {
        if let Some(word) = self.peek() {
            self.pieces[self.nth].start = word.end;
        }
    }

    /// A story, or a word that stands for one: `ALL`, `DB`. A priority comes before such a word. If what follows does
    /// not begin like a sentence (`DB make index`, `API routes`), the word may belong to the text as well. The second
    /// value is true if it does not.
    fn story(&self, word: &str, has_priority: bool) -> Option<(String, bool)> {
        if let Some(id) = story_id(word) {
            return Some((id, true));
        }
        let capitals = word.bytes().filter(u8::is_ascii_uppercase).count();
        let is_word = (2..=16).contains(&word.len())
            && capitals >= 2
            && word
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_".contains(&byte));
        let piece = &self.text[self.pieces[self.nth].clone()];
        let behind = piece.split_whitespace().nth(1).and_then(|next| next.chars().next());
        let is_own = word == "ALL" || behind.is_some_and(|c| !c.is_lowercase());
        let is_story = word == "ALL" || behind.is_some_and(|c| !"-–—/&+".contains(c));
        (is_word && has_priority && is_story).then(|| (word.to_owned(), is_own))
    }
}

/// `T001`, `T0S1`, `task-001`: a `T` alone is not an id, nor is a word that begins with one.
pub(super) fn is_certain(id: &str) -> bool {
    let rest = id.strip_prefix(['T', 't']).unwrap_or_default();
    let named = id.get(..5).filter(|task| task.eq_ignore_ascii_case("task-")).map_or("", |_| &id[5..]);
    [rest, named].iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `Task 1: …`.
fn worded(said: &str) -> bool {
    let bare = said.trim_start_matches(['*', '_']);
    bare.get(..5).is_some_and(|task| task.eq_ignore_ascii_case("task "))
}
