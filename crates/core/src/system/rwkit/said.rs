//! How agents of this system end: a line `DONE: …`, and the files they touched.

use crate::plan::RepoPath;
use crate::run::Report;

/// The last such word of an agent, if it said one. Lines inside fences are examples, and `not DONE: …` is not such a
/// line.
pub fn said(output: &str) -> Option<Report> {
    let lines: Vec<&str> = unfenced(output).collect();
    let last = lines.iter().rposition(|line| bare(line).starts_with("DONE:"))?;
    let note = bare(lines[last])["DONE:".len()..].trim().to_owned();
    let mut report = Report { note, ..Report::default() };
    let mut rest = lines[last + 1..].iter().map(|line| bare(line));
    if let Some(first) = rest.by_ref().find_map(|line| line.strip_prefix("Files:")) {
        let listed = rest.take_while(|line| !line.is_empty() && !line.ends_with(':'));
        for piece in std::iter::once(first).chain(listed).flat_map(|line| line.split([',', ';'])) {
            let new = file(piece).filter(|file| !report.files.contains(file));
            report.files.extend(new);
        }
    }
    Some(report)
}

fn unfenced(output: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    output.lines().map(str::trim).filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// A line without the signs that only make it look well.
fn bare(line: &str) -> &str {
    line.trim_matches(['*', '`', ' '])
}

/// A path in the project. What leads out of it is not counted.
fn file(piece: &str) -> Option<String> {
    let piece = piece.trim().trim_start_matches(['-', '*', '+', '•']).trim();
    let piece = piece.strip_prefix("and ").unwrap_or(piece);
    let piece = piece.trim_matches(['`', '"', '\'', '.', ' ']);
    let none = ["", "none", "n/a", "-"].iter().any(|none| piece.eq_ignore_ascii_case(none));
    let path =
        if piece.contains(' ') { piece.split_once(" (").map_or(piece, |(path, _)| path) } else { piece };
    (!none).then(|| RepoPath::new(path).ok().map(|path| path.to_string())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(output: &str) -> Option<(String, Vec<String>)> {
        said(output).map(|report| (report.note, report.files))
    }

    #[test]
    fn the_last_word_counts_and_only_at_the_start_of_a_line() {
        let output = "DONE: early\nFiles: a.ts\n\n**DONE: Added the table**\nFiles: `db/1.sql`, src/[id]/a.ts and b.ts\n";
        let files = ["db/1.sql", "src/[id]/a.ts and b.ts"].map(str::to_owned).to_vec();
        assert_eq!(told(output), Some(("Added the table".to_owned(), files)));
        assert_eq!(told("It is not DONE: waiting\n"), None);
        assert_eq!(told("```\nDONE: an example\n```\n"), None);
    }

    #[test]
    fn files_may_be_bullets_and_what_is_outside_is_not_counted() {
        let output =
            "DONE: x\nFiles:\n- `a.ts`\n* b.ts (new)\n- /etc/passwd\n- ../out.ts\n- a.ts\n\nNotes: c.ts\n";
        assert_eq!(told(output), Some(("x".to_owned(), vec!["a.ts".to_owned(), "b.ts".to_owned()])));
        assert_eq!(told("DONE: x\nFiles: None\n"), Some(("x".to_owned(), Vec::new())));
    }
}
