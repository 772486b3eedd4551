//! Texts from plans, agents and files, as they can stand in other languages: nothing in them is taken for markup, calls anybody,
//! or ends what is around it.

use crate::runners::first_error;
use crate::terminal::{clean_text, misleads};

/// Characters of a line of output that are shown.
const WIDEST: usize = 400;

/// What keeps GitHub and GitLab from taking a text for a mention, a reference or a link. It takes no room.
const APART: &str = "&#8203;";

/// A text in XML or HTML. Characters that would not be seen become blanks; lines stay.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push(c),
            c if misleads(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// All of a text in one line, as far as so many characters.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    let clean = clean_text(text.as_bytes());
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// One line in Markdown, also in a cell of a table.
pub(super) fn markdown(line: &str) -> String {
    inert(line, |c| match c {
        '\\' | '`' | '*' | '_' | '[' | ']' | '{' | '}' | '|' | '~' | '$' => Some(format!("\\{c}")),
        '<' => Some("&lt;".to_owned()),
        '>' => Some("&gt;".to_owned()),
        '&' => Some("&amp;".to_owned()),
        _ => None,
    })
}

/// One line in HTML that stands in Markdown, such as the summary of what is folded.
pub(super) fn html_in_markdown(line: &str) -> String {
    inert(line, |c| Some(xml(&c.to_string())).filter(|escaped| escaped.len() > 1))
}

/// Escape each character, and take apart what would become a link or call somebody.
fn inert(line: &str, escape: impl Fn(char) -> Option<String>) -> String {
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        let (before, after) = (&line[..at], &line[at + c.len_utf8()..]);
        let ends_with = |word: &str| {
            before
                .get(before.len().wrapping_sub(word.len())..)
                .is_some_and(|end| end.eq_ignore_ascii_case(word))
        };
        match c {
            '@' | '#' => out.extend([&c.to_string(), APART]),
            ':' if after.starts_with("//") => out.extend([":", APART]),
            '.' if ends_with("www") => out.extend([APART, "."]),
            '-' if ends_with("gh") => out.extend(["-", APART]),
            c => match escape(c) {
                Some(escaped) => out += &escaped,
                None => out.push(c),
            },
        }
    }
    out
}

/// One line as code in Markdown, between as many backticks as it needs. It cannot stand in a table: there, `|` ends a cell.
pub(super) fn code(line: &str) -> String {
    let ticks = "`".repeat(longest_run(line) + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{line}{space}{ticks}")
}

/// Lines as they are, in a block of Markdown that nothing in them ends.
pub(super) fn fenced(text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

fn longest_run(text: &str) -> usize {
    let (longest, _) = text.chars().fold((0, 0), |(longest, run), c| {
        let run = if c == '`' { run + 1 } else { 0 };
        (run.max(longest), run)
    });
    longest
}

/// Those lines of a text from outside that say most: its beginning, what follows its first error, and its end. Where lines
/// are left out, there is a `…`.
pub(super) fn telling_lines(text: &str, most: usize, longest: usize) -> String {
    let clean = clean_text(text.trim_end().as_bytes());
    let all: Vec<&str> = clean.lines().collect();
    let is_short = all.len() <= most;
    let error = first_error(&clean).map_or(0, |error| clean[..error.start].lines().count());
    let (head, middle) = (most / 4, most / 2);
    let tail = all.len().saturating_sub(most - head - middle);
    let is_kept = |at: usize| is_short || at < head || (error..error + middle).contains(&at) || at >= tail;
    let (mut kept, mut left) = (String::new(), 0);
    for (at, line) in all.into_iter().enumerate() {
        // A line may be longer than a page.
        let line: String = line.chars().take(WIDEST).collect();
        if !is_kept(at) || kept.len() + line.len() > longest {
            left += 1;
            continue;
        }
        if std::mem::take(&mut left) > 0 {
            kept += "…\n";
        }
        kept += &line;
        kept.push('\n');
    }
    if left > 0 {
        kept += "… (cut)\n";
    }
    kept.truncate(kept.trim_end().len());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(xml("<b a='\"'>&\u{202e}\u{7}"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;  ");
        assert_eq!(
            markdown("a|b *c* `d` [e](f) <g> ~~h~~ $i$"),
            "a\\|b \\*c\\* \\`d\\` \\[e\\](f) &lt;g&gt; \\~\\~h\\~\\~ \\$i\\$"
        );
        assert_eq!(html_in_markdown("<b> & @ann"), "&lt;b&gt; &amp; @&#8203;ann");
    }

    #[test]
    fn nobody_is_called_and_nothing_is_closed() {
        assert_eq!(markdown("@ann fixes #12 and GH-3"), "@&#8203;ann fixes #&#8203;12 and GH-&#8203;3");
        assert_eq!(
            markdown("see https://e.org or WWW.e.org"),
            "see https:&#8203;//e.org or WWW&#8203;.e.org"
        );
        assert_eq!(markdown("é-gh"), "é-gh", "a character of several bytes is not cut");
    }

    #[test]
    fn a_fence_is_longer_than_those_in_it() {
        assert_eq!(fenced("```\nend\n````"), "`````text\n```\nend\n````\n`````\n");
        assert_eq!(code("a`b|c"), "``a`b|c``");
        assert_eq!(code("`a`"), "`` `a` ``");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(one_line("a\n  b\tc", 3), "a b…");
        assert_eq!(telling_lines("a\nb\n", 2, 99), "a\nb");
        assert_eq!(telling_lines("ééé", 2, 2), "… (cut)");
        let long = (0..100).map(|n| if n == 60 { "error: no rope\n".to_owned() } else { format!("{n}\n") });
        let text = telling_lines(&long.collect::<String>(), 8, 999);
        assert_eq!(text, "0\n1\n…\nerror: no rope\n61\n62\n63\n…\n98\n99");
    }
}
