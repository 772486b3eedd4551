//! What people say about lines of the work.

use minijinja::context;

use super::{one_line, ours, quoted};
use crate::fence::Fence;
use crate::run::{Comment, Place, Side};
use crate::terminal::clean_text;

/// A comment, and where its lines are when the next agent begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commented {
    pub by: String,
    pub comment: Comment,
    pub place: Place,
}

/// The section with comments, for prompts that are not made from a template.
pub fn comments_section(comments: &[Commented]) -> String {
    ours("comments", context! { comments => commented(comments) })
}

pub(super) fn commented(comments: &[Commented]) -> String {
    let said = |Commented { by, comment, place }: &Commented| {
        let by = one_line(by);
        let quote = Fence::around(clean_text(comment.quote.as_bytes()).trim_end());
        format!("{}\n{quote}\n{by} says:\n{}", head(comment, *place), quoted(comment.text.trim()))
    };
    comments.iter().map(said).collect::<Vec<_>>().join("\n\n")
}

/// Where it is. Lines that have moved or gone are not looked for at their old number.
fn head(comment: &Comment, place: Place) -> String {
    let file = one_line(comment.file.as_str()).replace('`', "'");
    let lines = match comment.lines {
        0 | 1 => format!("line {}", comment.line),
        lines => format!("lines {} to {}", comment.line, comment.line + lines - 1),
    };
    let of = match comment.side {
        Side::New => "",
        Side::Old => " before this work",
    };
    let since = match place {
        Place::Here => String::new(),
        Place::Moved { now_line } => {
            format!(". The file has changed since; these lines now begin at line {now_line}")
        }
        Place::Gone => ". These lines no longer exist".to_owned(),
        Place::Unknown => ". The file has changed since".to_owned(),
    };
    format!("`{file}`, {lines}{of}{since}:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Oid, RepoPath};

    fn on(side: Side, lines: u32, place: Place) -> Commented {
        let comment = Comment {
            file: RepoPath::new("src/rope.rs").expect("a path"),
            side,
            blob: Oid::new(&"a".repeat(40)).expect("an object"),
            line: 41,
            lines,
            quote: "let rope = None;\n```\n\u{1b}[31m".to_owned(),
            text: "Use a rope.\n## Not a heading".to_owned(),
        };
        Commented { by: "Rachel\nPiton".to_owned(), comment, place }
    }

    #[test]
    fn comments_say_where_their_lines_are_and_nothing_breaks_out_of_them() {
        insta::assert_snapshot!(comments_section(&[
            on(Side::New, 1, Place::Here),
            on(Side::New, 2, Place::Moved { now_line: 57 }),
            on(Side::New, 1, Place::Gone),
            on(Side::Old, 1, Place::Unknown),
        ]));
        assert_eq!(comments_section(&[]).trim(), "");
    }
}
