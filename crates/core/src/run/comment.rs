//! A person's comment on lines of a task's work.

use serde::{Deserialize, Serialize};

use crate::line_diff;
use crate::plan::{Oid, RepoPath};

/// Bound to the content that its lines stand in, so that it never slides to other lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub file: RepoPath,
    pub side: Side,
    /// The file's content that it is about.
    pub blob: Oid,
    /// The first line, counted from 1, and how many there are.
    pub line: u32,
    pub lines: u32,
    /// These lines, as they stand there.
    pub quote: String,
    pub text: String,
}

/// Which content of a file a comment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// After the work.
    New,
    /// Before it, as for lines that it removed.
    Old,
}

/// Where the lines of a comment are in what there is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum Place {
    /// The file has not changed since.
    Here,
    /// It has changed, and these lines are still in it.
    Moved { now_line: u32 },
    /// The lines, or the file, are no longer there.
    Gone,
    /// It has changed, and what it was can no longer be read.
    Unknown,
}

impl Comment {
    /// The most lines that one comment is about.
    pub const MOST_LINES: u32 = 200;
    /// The longest text.
    pub const LONGEST: usize = 8 * 1024;

    /// Where its lines are in a later version of the file. `was` is the content that it is about.
    pub fn place(&self, was: Option<&str>, now: Option<&str>) -> Place {
        match (was, now) {
            (_, None) => Place::Gone,
            (None, Some(_)) => Place::Unknown,
            (Some(was), Some(now)) if was == now => Place::Here,
            (Some(was), Some(now)) => {
                let (first, lines) = (self.line as usize, self.lines as usize);
                match line_diff::line_now(was, now, first, lines).and_then(|line| u32::try_from(line).ok()) {
                    Some(now_line) => Place::Moved { now_line },
                    None => Place::Gone,
                }
            }
        }
    }

    /// `src/rope.rs:41`, or `src/rope.rs:41-43`.
    pub fn shown_place(&self) -> String {
        match self.lines {
            0 | 1 => format!("{}:{}", self.file, self.line),
            lines => format!("{}:{}-{}", self.file, self.line, self.line + lines - 1),
        }
    }
}

/// These lines of a text, if it has all of them.
pub fn lines_of(text: &str, line: u32, lines: u32) -> Option<String> {
    let skipped = (line as usize).checked_sub(1)?;
    let found: Vec<&str> = text.lines().skip(skipped).take(lines as usize).collect();
    (lines > 0 && found.len() == lines as usize).then(|| found.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAS: &str = "one\ntwo\nthree\nfour\n";

    fn on(line: u32, lines: u32) -> Comment {
        Comment {
            file: RepoPath::new("a.txt").expect("a path"),
            side: Side::New,
            blob: Oid::new(&"a".repeat(40)).expect("an object"),
            line,
            lines,
            quote: lines_of(WAS, line, lines).expect("lines"),
            text: "why?".to_owned(),
        }
    }

    #[test]
    fn a_comment_stays_with_its_lines_or_says_that_they_are_gone() {
        let place = |comment: Comment, now: &str| comment.place(Some(WAS), Some(now));
        assert_eq!(place(on(2, 1), WAS), Place::Here);
        assert_eq!(place(on(2, 1), "zero\none\ntwo\nthree\nfour\n"), Place::Moved { now_line: 3 });
        assert_eq!(place(on(2, 2), "one\ntwo\nthree\n"), Place::Moved { now_line: 2 });
        assert_eq!(place(on(2, 1), "one\nTWO\nthree\nfour\n"), Place::Gone, "another line has its number");
        assert_eq!(place(on(2, 2), "one\ntwo\nbetween\nthree\nfour\n"), Place::Gone, "they are not together");
        assert_eq!(on(2, 1).place(Some(WAS), None), Place::Gone);
        assert_eq!(on(2, 1).place(None, Some(WAS)), Place::Unknown);
    }

    #[test]
    fn only_lines_that_exist_are_quoted() {
        assert_eq!(lines_of(WAS, 3, 2).as_deref(), Some("three\nfour"));
        for (line, lines) in [(0, 1), (5, 1), (4, 2), (1, 0)] {
            assert_eq!(lines_of(WAS, line, lines), None, "{line} {lines}");
        }
    }
}
