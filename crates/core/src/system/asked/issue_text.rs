//! What a person wrote into an issue: what is wanted, how it is known to be done, and what has to be done before.
//!
//! Anybody may write an issue. So nothing of its text is run, and what a reader of the page would not see is left out.

use std::ops::Range;

use crate::system::kit::checklist::{self, Kind, Line};
use crate::system::kit::headings::is_about_criteria;
use crate::system::kit::text::key;

/// Words at the beginning of a line before issues that have to be closed first.
const WAITS: [&str; 7] =
    ["blocked by", "depends on", "depends upon", "requires", "waits for", "waiting for", "after"];
/// Headings of lists of such issues.
const SECTIONS: [&str; 5] = ["dependencies", "blocked by", "depends on", "requires", "prerequisites"];
/// More of one issue are not written by hand.
const MOST: usize = 100;

/// The text of an issue, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::system) struct IssueText {
    /// What is wanted, without the marks of boxes: whether one is ticked is not a part of that.
    pub(in crate::system) words: String,
    pub(in crate::system) criteria: Vec<String>,
    /// Issues that have to be closed before.
    pub(in crate::system) needs: Vec<Reference>,
    /// Issues that are parts of this one: boxes that hold nothing else.
    pub(in crate::system) parts: Vec<Reference>,
}

/// An issue that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::system) enum Reference {
    Here(u64),
    /// In another repository, as it was written.
    Elsewhere(String),
}

/// Take the text of an issue of a repository apart, such as `github.com/owner/name`.
pub(in crate::system) fn read(body: &str, of: &str) -> IssueText {
    let body = visible(body);
    let list = checklist::scan(&body);
    let mut read = IssueText::default();
    let (mut criteria, mut waits) = (None, false);
    for line in &list.lines {
        let said = &body[line.text.clone()];
        match &line.kind {
            Kind::Heading(level) => {
                let title = key(said).to_lowercase();
                let title = title.trim_matches(|c: char| !c.is_alphanumeric());
                // A heading below that of criteria belongs to them.
                criteria = match criteria {
                    Some(above) if *level > above => Some(above),
                    _ => is_about_criteria(title).then_some(*level),
                };
                waits = SECTIONS.contains(&title);
                if criteria.is_none() {
                    read.line(&body[line.at.clone()]);
                }
                continue;
            }
            Kind::Item(item) if item.struck => continue,
            Kind::Item(_) | Kind::Bullet | Kind::Text => {
                let (named, rest) = references(said, of);
                let is_part = matches!(line.kind, Kind::Item(_)) && !waits && rest.is_empty();
                match &named[..] {
                    [only] if is_part => read.parts.push(only.clone()),
                    _ if waits => read.needs.extend(named),
                    _ => read.needs.extend(waited_for(said, of)),
                }
            }
            _ => {}
        }
        let is_criterion = matches!(line.kind, Kind::Item(_) | Kind::Bullet);
        match (criteria, is_criterion) {
            (Some(_), true) => read.criteria.push(said.trim().to_owned()),
            // What explains a criterion belongs to it.
            (Some(_), false) if line.kind != Kind::Blank => match read.criteria.last_mut() {
                Some(last) => *last = format!("{last} {}", said.trim()),
                None => read.line(&body[line.at.clone()]),
            },
            (Some(_), false) => {}
            (None, _) => read.line(&shown(&body, line)),
        }
    }
    read.needs.truncate(MOST);
    read.parts.truncate(MOST);
    read.words = read.words.trim_end().trim_start_matches('\n').to_owned();
    read
}

impl IssueText {
    fn line(&mut self, line: &str) {
        self.words.push_str(line.trim_end());
        self.words.push('\n');
    }
}

/// A line without its mark.
fn shown(body: &str, line: &Line) -> String {
    match line.kind {
        Kind::Item(_) => format!("{}- {}", " ".repeat(line.indent.min(20)), &body[line.text.clone()]),
        _ => body[line.at.clone()].to_owned(),
    }
}

/// The issues behind words such as "blocked by" at the beginning of a line.
fn waited_for(line: &str, of: &str) -> Vec<Reference> {
    let plain = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = plain.to_ascii_lowercase();
    let Some(word) = WAITS.iter().find(|word| lower.starts_with(**word)) else { return Vec::new() };
    let rest = plain[word.len()..].trim_start_matches(['*', '_', ':', ' ', '\t']);
    references(rest, of).0
}

/// The issues that a text begins with, with commas and the like between them, and what follows.
fn references<'t>(text: &'t str, of: &str) -> (Vec<Reference>, &'t str) {
    let mut named: Vec<Reference> = Vec::new();
    let mut rest = text.trim();
    while let Some((reference, after)) = reference(rest, of) {
        if !named.contains(&reference) {
            named.push(reference);
        }
        let between = after.trim_start_matches([',', ';', '&', ' ', '\t']);
        let between = between.strip_prefix("and ").unwrap_or(between).trim_start();
        rest = between;
        if named.len() == MOST {
            break;
        }
    }
    (named, rest.trim_end_matches('.'))
}

/// One issue at the beginning of a text: `#12`, `owner/name#12`, or its address.
fn reference<'t>(text: &'t str, of: &str) -> Option<(Reference, &'t str)> {
    let (host, repository) = of.split_once('/').unwrap_or(("", of));
    if let Some(rest) = text.strip_prefix('#') {
        let (number, rest) = number(rest)?;
        return Some((Reference::Here(number), rest));
    }
    if let Some(address) = text.strip_prefix("https://") {
        let end = address.find(|c: char| c.is_whitespace() || ",;)>".contains(c)).unwrap_or(address.len());
        let (address, rest) = address.split_at(end);
        let at = address.find("/issues/")?;
        let (digits, _) = number(&address[at + "/issues/".len()..])?;
        // GitLab has a dash before what is not a part of a project's name.
        let place = address[..at].trim_end_matches("/-");
        let is_here = place.eq_ignore_ascii_case(&format!("{host}/{repository}"));
        let there = Reference::Elsewhere(format!("{place}#{digits}"));
        return Some((if is_here { Reference::Here(digits) } else { there }, rest));
    }
    let end = text.find('#').filter(|end| *end <= 200)?;
    let name = &text[..end];
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if !name.contains('/') || !name.chars().all(is_name) {
        return None;
    }
    let (digits, rest) = number(&text[end + 1..])?;
    let is_here = name.eq_ignore_ascii_case(repository);
    let there = Reference::Elsewhere(format!("{name}#{digits}"));
    Some((if is_here { Reference::Here(digits) } else { there }, rest))
}

/// The number that a text begins with, where a word ends behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
    number.parse().ok().filter(|_| ends).map(|number| (number, rest))
}

/// A text as a reader of the page sees it: without comments, and without characters that have no shape or that change
/// the order of others.
pub(in crate::system) fn visible(text: &str) -> String {
    let plain = text.replace("\r\n", "\n").replace('\r', "\n");
    let plain: String = plain.chars().filter(|c| is_visible(*c)).collect();
    let comments = comments(&plain);
    let mut kept = String::with_capacity(plain.len());
    let mut from = 0;
    for comment in comments {
        kept.push_str(&plain[from..comment.start]);
        from = comment.end;
    }
    kept.push_str(&plain[from..]);
    kept
}

fn is_visible(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' => false,
        '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{180e}' => false,
        // Variants of what stands before them, and tags that no font shows.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}' => false,
        c => !c.is_control(),
    }
}

/// Where comments stand. One that is never closed goes to the end, as on the page. Code holds none.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut comments: Vec<Range<usize>> = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let from = comments.last().map_or(start, |last| last.end.max(start));
        if from >= at {
            continue;
        }
        let sign = line.trim_start().chars().next().filter(|c| "`~".contains(*c) && from == start);
        let length = sign.map_or(0, |sign| line.trim_start().chars().take_while(|c| *c == sign).count());
        match (fence, sign) {
            (Some((open, least)), Some(sign)) if sign == open && length >= least => fence = None,
            (None, Some(sign)) if length >= 3 => fence = Some((sign, length)),
            _ => {}
        }
        if fence.is_some() {
            continue;
        }
        let (mut look, mut ticks) = (from, 0);
        while let Some(found) = text[look..at].find("<!--").map(|found| look + found) {
            ticks += text[look..found].bytes().filter(|byte| *byte == b'`').count();
            if ticks % 2 == 1 {
                look = found + "<!--".len();
                continue;
            }
            let end = text[found..].find("-->").map_or(text.len(), |end| found + end + "-->".len());
            comments.push(found..end);
            if end >= at {
                break;
            }
            look = end;
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: &str = "github.com/o/r";

    fn needs(text: &str) -> Vec<String> {
        let named = |one: &Reference| match one {
            Reference::Here(number) => number.to_string(),
            Reference::Elsewhere(name) => name.clone(),
        };
        read(text, OF).needs.iter().map(named).collect()
    }

    #[test]
    fn only_words_at_the_beginning_of_a_line_name_what_is_waited_for() {
        assert_eq!(needs("Blocked by #7"), ["7"]);
        assert_eq!(needs("- **Depends on:** #7, #8 and #9."), ["7", "8", "9"]);
        assert_eq!(needs("after o/r#3, https://github.com/o/r/issues/4"), ["3", "4"]);
        assert_eq!(needs("requires x/y#5"), ["x/y#5"]);
        assert_eq!(needs("waits for https://gitlab.org/a/b/-/issues/6#note_1"), ["gitlab.org/a/b#6"]);
        assert_eq!(needs("This was blocked by #7 once"), [""; 0]);
        assert_eq!(needs("Fixes #7, part of #8, see #9"), [""; 0]);
        assert_eq!(needs("After the release, #7 is closed"), [""; 0]);
        assert_eq!(needs("requires #7b, blocked by #99999999999999999999999"), [""; 0]);
        assert_eq!(needs("```\nblocked by #7\n```\n> depends on #8"), [""; 0]);
    }

    #[test]
    fn a_section_of_dependencies_names_issues_at_the_beginning_of_its_lines() {
        assert_eq!(
            needs("## Dependencies\n\n- #7 the parser\n- [x] #8\n- none of #9\n\n## Notes\n\n- #10"),
            ["7", "8"]
        );
    }

    #[test]
    fn criteria_are_taken_out_of_what_is_wanted() {
        let text = "Write it.\n\n## Steps\n\n- [x] one\n- [ ] two\n\n## Acceptance criteria\n\n- [ ] it runs\n  quickly\n- it ends\n\n### More\n- [ ] it stays\n\n## Notes\n\nNone.";
        let read = read(text, OF);
        assert_eq!(read.criteria, ["it runs quickly", "it ends", "it stays"]);
        assert_eq!(read.words, "Write it.\n\n## Steps\n\n- one\n- two\n\n## Notes\n\nNone.");
    }

    #[test]
    fn a_box_with_nothing_but_an_issue_is_a_part() {
        let read = read("- [ ] #13\n- [x] o/r#14\n- [ ] #15 with words\n- #16", OF);
        assert_eq!(read.parts, [Reference::Here(13), Reference::Here(14)]);
    }

    #[test]
    fn ticks_do_not_change_what_is_wanted() {
        assert_eq!(read("- [ ] a\n  - [x] b", OF).words, read("- [x] a\n  - [ ] b", OF).words);
    }

    #[test]
    fn what_a_reader_does_not_see_is_left_out() {
        assert_eq!(visible("a<!-- hidden -->b\r\nc"), "ab\nc");
        assert_eq!(visible("a\n<!-- x\ny -->\nb <!--c--> d <!-- e"), "a\n\nb  d ");
        assert_eq!(
            visible("`<!--` stays\n```html\n<!-- shown -->\n```\n<!-- not -->"),
            "`<!--` stays\n```html\n<!-- shown -->\n```\n"
        );
        assert_eq!(visible("a\u{200b}b\u{202e}c\u{e0041}d\u{1b}[31m\u{0}e"), "abcd[31me");
        assert_eq!(visible("<!-- ```\n-->\nx\n```\n<!-- y -->\n```"), "\nx\n```\n<!-- y -->\n```");
    }

    #[test]
    fn hostile_texts_take_no_longer_than_their_length() {
        for text in ["<!--", "<!---->", "- [ ] #1\n", "blocked by #1,", "`<!--", "```\n"] {
            let long = text.repeat(200_000 / text.len());
            assert!(read(&long, OF).needs.len() <= MOST);
        }
        assert!(read(&format!("blocked by {}", "#1,".repeat(100_000)), OF).needs.len() <= MOST);
    }
}
