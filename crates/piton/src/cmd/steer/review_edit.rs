//! The work of a task in a person's editor. What they write below a line is a comment on it.

use std::fmt::Write;
use std::process::Command;

use piton_core::line_diff;
use piton_core::plan::{Oid, TaskId};
use piton_core::run::{Comment, Side};
use piton_core::terminal::clean_text;
use piton_engine::project::Project;

use crate::failure::{Failure, Outcome};
use crate::runs::review::{Lines, Review};

const AROUND: usize = 10;
const FILE: &str = "FILE ";

/// Open the work in the editor, and read the comments that were written there.
pub(super) fn edit(project: &Project, review: &Review, task: &TaskId) -> Outcome<Vec<Comment>> {
    let path = project.home.join(format!("review-{task}.txt"));
    let cannot = |what: &str| format!("cannot {what} {path}");
    std::fs::write(&path, page(review, task)).map_err(Failure::io(cannot("write")))?;
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&path).status();
    let status = status.map_err(Failure::io(format!("cannot start the editor `{editor}`")))?;
    if !status.success() {
        return Err(Failure::new(format!("the editor `{editor}` ended with {status}; nothing is recorded")));
    }
    let text = std::fs::read_to_string(&path).map_err(Failure::io(cannot("read")))?;
    let keep = |failure: Failure| failure.hint(format!("what you wrote is in {path}"));
    let mut comments = Vec::new();
    for Written { lines, side, text } in read(&text).map_err(|wrong| keep(Failure::new(wrong)))? {
        let seen = review.files.iter().find(|found| found.file == lines.file);
        let seen: Option<Oid> = seen.and_then(|found| match side {
            Side::New => found.new.clone(),
            Side::Old => found.old.clone(),
        });
        comments.push(review.comment(lines, side, seen.as_ref(), &text).map_err(keep)?);
    }
    std::fs::remove_file(&path).map_err(Failure::io(cannot("remove")))?;
    if comments.is_empty() {
        return Err(Failure::new("you have written no comment; nothing is recorded"));
    }
    Ok(comments)
}

struct Written {
    lines: Lines,
    side: Side,
    text: String,
}

/// Each line of the work with its numbers, behind a mark.
fn page(review: &Review, task: &TaskId) -> String {
    let mut text = format!(
        "Write comments on the work of {task} below the lines that they are about.\n\
         Do not change lines that begin with `>`. You may remove them.\n\n"
    );
    for found in &review.files {
        let _ = writeln!(text, "> {FILE}{}", found.file.replace('\n', " "));
        let Some((old, new)) = review.texts(found) else { continue };
        for hunk in line_diff::hunks(&old, &new, AROUND) {
            let _ = writeln!(text, "> {}", hunk.header);
            let (mut before, mut after) = hunk.at;
            for (sign, line) in &hunk.lines {
                let line = clean_text(line.trim_end_matches(['\n', '\r']).as_bytes());
                let numbers = match sign {
                    '-' => format!("{before:>5}      "),
                    '+' => format!("      {after:>5}"),
                    _ => format!("{before:>5} {after:>5}"),
                };
                let _ = writeln!(text, "> {sign}{numbers} | {line}");
                before += usize::from(*sign != '+');
                after += usize::from(*sign != '-');
            }
        }
    }
    text
}

/// What stands below the marked lines.
fn read(text: &str) -> Result<Vec<Written>, String> {
    let mut found: Vec<Written> = Vec::new();
    let mut file = String::new();
    let mut on: Option<(Side, u32)> = None;
    // What was written below the line before belongs to the same comment.
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(row) = line.strip_prefix('>') {
            let row = row.strip_prefix(' ').unwrap_or(row);
            match row.strip_prefix(FILE) {
                Some(name) => (file, on) = (name.to_owned(), None),
                None => on = row_of(row),
            }
            is_open = false;
            continue;
        }
        if file.is_empty() || line.trim().is_empty() && !is_open {
            continue;
        }
        let Some((side, at)) = on else {
            return Err(format!("line {number}: this is not below a line of the work"));
        };
        if is_open && let Some(last) = found.last_mut() {
            last.text.push('\n');
            last.text += line;
            continue;
        }
        is_open = true;
        let lines = Lines { file: file.clone(), line: at, lines: 1 };
        found.push(Written { lines, side, text: line.to_owned() });
    }
    Ok(found)
}

/// The side and the number of a marked line.
fn row_of(row: &str) -> Option<(Side, u32)> {
    let (numbers, _) = row.split_once('|')?;
    let side = if numbers.starts_with('-') { Side::Old } else { Side::New };
    let last = numbers.trim_start_matches(['-', '+', ' ']).split_whitespace().next_back()?;
    Some((side, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, Side, u32, String)> {
        let written = read(text).expect("it can be read");
        written.into_iter().map(|one| (one.lines.file, one.side, one.lines.line, one.text)).collect()
    }

    #[test]
    fn what_stands_below_a_line_is_about_it() {
        let text = "Write comments\n\n\
            > FILE src/a.rs\n> @@ -1,2 +1,2 @@\n>      1     1 | fn main() {\n> -    2       | old | 9\nWhy was this removed?\n\n\
            It was good.\n> +          2 | new\n# use a constant\n\n> FILE b\n> +          7 | x\n   y   \n";
        let file = "src/a.rs".to_owned();
        assert_eq!(
            told(text),
            [
                (file.clone(), Side::Old, 2, "Why was this removed?\n\nIt was good.".to_owned()),
                (file, Side::New, 2, "# use a constant\n".to_owned()),
                ("b".to_owned(), Side::New, 7, "   y   ".to_owned()),
            ]
        );
        assert!(told("Write comments\n\n> FILE a\n>      1     1 | x\n").is_empty());
    }

    #[test]
    fn what_is_below_no_line_is_refused() {
        let wrong = read("> FILE a\n> @@ -1 +1 @@\nhello\n").map(drop).expect_err("below no line");
        assert_eq!(wrong, "line 3: this is not below a line of the work");
    }
}
