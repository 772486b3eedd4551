//! One box: where it stands, what is in it, and the text next to it.

use std::ops::Range;

use super::{Item, Mark};
use crate::system::kit::mojibake;
use crate::system::kit::text::key;

/// Words about the status behind an item's text. The box decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub at: Range<usize>,
    pub says: Advised,
}

/// What advice says about its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advised {
    Done,
    NotDone,
}

/// A line that begins with a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Boxed {
    pub(super) item: Item,
    pub(super) text: Range<usize>,
    /// What is unusual about it, and what is made of it.
    pub(super) slip: Option<(String, &'static str)>,
}

/// More than this between brackets is not a mark.
const LONGEST_MARK: usize = 12;

/// The box that a line begins with, if it does. `at` is the line in the text, or what is left of it.
pub(super) fn boxed(text: &str, at: Range<usize>) -> Option<Boxed> {
    boxed_at(text, at, Place::First)
}

/// Where a box stands in its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    /// It needs no bullet.
    AfterNumber,
}

fn boxed_at(text: &str, at: Range<usize>, stands: Place) -> Option<Boxed> {
    let line = &text[at.clone()];
    let mut rest = line.trim_start();
    let crossed_out = rest.strip_prefix("~~");
    rest = crossed_out.unwrap_or(rest).trim_start();
    let place = |part: &str| at.start + (part.as_ptr() as usize - line.as_ptr() as usize);
    let span = |part: &str| place(part)..place(part) + part.len();
    let (bullet, ordinal, after) = bullet(rest);
    let ordinal = ordinal.map(span);
    let gap = after.len() - after.trim_start().len();
    rest = after.trim_start();
    let struck_box = rest.strip_prefix("~~").filter(|_| bullet);
    rest = struck_box.unwrap_or(rest);
    let mut slip: Option<(String, &'static str)> = None;
    if !rest.starts_with('[') {
        // `- 1.1 [ ] Name`: the box comes late.
        let (id, behind) = number(rest).filter(|(_, behind)| behind.starts_with('['))?;
        let late = boxed_at(text, span(behind), Place::AfterNumber)?;
        let slip = Some(("this box comes after its number".to_owned(), "put it first, like `- [ ] 1.1 …`"));
        return Some(Boxed { item: Item { ordinal: Some(span(id)), ..late.item }, slip, ..late });
    }
    let Some(close) = rest.char_indices().take(LONGEST_MARK + 1).find(|(_, c)| *c == ']').map(|(nth, _)| nth)
    else {
        return unclosed(rest, bullet, ordinal, &span);
    };
    let (inside, behind) = (&rest[1..close], &rest[close + 1..]);
    let (mark, known) = mark(inside);
    let word = inside.trim();
    // A link; `[ ][agent: x]` is not one.
    if behind.starts_with('(') || (behind.starts_with('[') && !is_tag(behind)) {
        return None;
    }
    let plain = matches!(inside, " " | "x" | "X") || (stands == Place::AfterNumber && known);
    if !bullet && !(plain && (behind.is_empty() || behind.starts_with(char::is_whitespace))) {
        return None;
    }
    let starred = behind.strip_prefix("\\*").or_else(|| behind.strip_prefix('*'));
    let starred = starred.filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    let said = starred.unwrap_or(behind);
    if !known && word.chars().filter(|c| *c != '\u{fe0f}').count() > 1 && number(said).is_none() {
        // `[WIP] …` or `[^1]` in a list of something else.
        return None;
    }
    if !bullet {
        slip = Some(("this box has no bullet".to_owned(), "write it like `- [ ] …`"));
    } else if gap == 0 {
        slip = Some(("there is no space before this box".to_owned(), "write it like `- [ ] …`"));
    } else if !said.is_empty() && !said.starts_with(char::is_whitespace) {
        slip = Some(("there is no space after this box".to_owned(), "write it like `- [ ] …`"));
    }
    let strange = match (mark, inside) {
        (Mark::Open, inside) if inside.chars().count() != 1 => Some(("", "read as `[ ]`")),
        (Mark::Done, inside) if !matches!(inside, "x" | "X") => Some(("", "read as `[x]`")),
        (Mark::InProgress, _) => Some(("in progress, for some; for others dropped", "not done")),
        (Mark::Partial, _) => Some(("done in part, deferred or unverified", "not done")),
        (Mark::Other, _) => Some(("an unknown mark", "not done")),
        (Mark::Open | Mark::Done, _) => None,
    };
    if let Some((means, label)) = strange {
        let means = if means.is_empty() { String::new() } else { format!(": {means}") };
        slip = Some((format!("`[{inside}]` is unusual{means}"), label));
    }
    let (said, advice) = advised(said);
    let advice = advice.map(|(part, says)| Advice { at: span(part), says });
    let (said, struck) = if crossed_out.is_some() || struck_box.is_some() {
        (said.trim().trim_end_matches("~~").trim(), true)
    } else {
        unstruck(said.trim())
    };
    let item = Item { mark, place: span(inside), optional: starred.is_some(), struck, ordinal, advice };
    Some(Boxed { item, text: span(said), slip })
}

/// `[agent: …`.
fn is_tag(text: &str) -> bool {
    let inside = text.trim_start_matches('[');
    let word = inside.bytes().take_while(u8::is_ascii_alphabetic).count();
    word > 0 && inside[word..].starts_with(':')
}

/// A bullet and what follows it; without one, the whole text.
fn bullet(text: &str) -> (bool, Option<&str>, &str) {
    if let Some(rest) = text.strip_prefix(['-', '*', '+', '•', '–', '—']) {
        return (true, None, rest);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text[digits..].strip_prefix(['.', ')']) {
        Some(rest)
            if (1..=9).contains(&digits) && rest.starts_with(|c: char| c.is_whitespace() || c == '[') =>
        {
            (true, Some(&text[..digits]), rest)
        }
        _ => (false, None, text),
    }
}

/// `- [ 1.1 Name`: a box without its closing bracket. It is never done.
fn unclosed<'t>(
    rest: &'t str,
    bullet: bool,
    ordinal: Option<Range<usize>>,
    span: &impl Fn(&'t str) -> Range<usize>,
) -> Option<Boxed> {
    let mark = rest[1..].chars().next().filter(|c| matches!(c, ' ' | 'x' | 'X' | '-' | '~') && bullet)?;
    let said = &rest[1 + mark.len_utf8()..];
    number(said)?;
    let place = span(&rest[1..1 + mark.len_utf8()]);
    let item = Item { mark: Mark::Other, place, optional: false, struck: false, ordinal, advice: None };
    let slip = Some(("this box is not closed".to_owned(), "not done; write it like `- [ ] …`"));
    Some(Boxed { item, text: span(said.trim()), slip })
}

/// What stands between brackets, and whether that is anything known.
pub(in crate::system) fn mark(inside: &str) -> (Mark, bool) {
    let meant = mojibake::understood(inside);
    let meant = meant.trim().trim_end_matches('\u{fe0f}');
    match meant {
        "" => (Mark::Open, true),
        "x" | "X" | "✓" | "✔" | "✅" | "☑" | "√" => (Mark::Done, true),
        "-" => (Mark::InProgress, true),
        "~" => (Mark::Partial, true),
        _ => (Mark::Other, meant.chars().count() == 1),
    }
}

/// Text that is crossed out as a whole, apart from its number.
fn unstruck(text: &str) -> (&str, bool) {
    let whole = |text: &str| {
        text.strip_prefix("~~")
            .and_then(|rest| rest.strip_suffix("~~"))
            .is_some_and(|inside| !inside.is_empty() && !inside.contains("~~"))
    };
    if whole(text) {
        return (&text[2..text.len() - 2], true);
    }
    (text, number(text).is_some_and(|(_, rest)| whole(rest.trim())))
}

/// What an item says, and the status behind it: a comment, a sign or a word in parentheses.
fn advised(text: &str) -> (&str, Option<(&str, Advised)>) {
    let mut said = text.trim_end();
    let mut advice = None;
    while let Some(inside) =
        said.strip_suffix("-->").and_then(|rest| rest.rfind("<!--").map(|at| &rest[at..]))
    {
        let start = said.len() - inside.len() - "-->".len();
        let (rest, comment) = said.split_at(start);
        if let Some(says) = status_word(&comment[4..comment.len() - 3]) {
            advice = Some((comment, says));
        }
        said = rest.trim_end();
    }
    if let Some(start) = said.strip_suffix(')').and_then(|rest| rest.rfind('('))
        && let Some(says) = status_word(&said[start + 1..said.len() - 1])
    {
        advice = Some((&said[start..], says));
        said = said[..start].trim_end();
    }
    // Signs at the end, which may be read wrongly.
    let tail = said.char_indices().rev().take(12).take_while(|(_, c)| !c.is_whitespace()).last();
    if let Some((start, _)) = tail.filter(|(start, _)| *start > 0)
        && let Some(says) = status_sign(&said[start..])
    {
        advice = Some((&said[start..], says));
        said = said[..start].trim_end();
    }
    (said, advice)
}

/// What a sign says about an item.
fn status_sign(text: &str) -> Option<Advised> {
    let meant = mojibake::understood(text);
    match meant.trim_matches(['\u{fe0f}', '*', '_']) {
        "✅" | "✓" | "✔" | "☑" | "🟢" => Some(Advised::Done),
        "❌" | "🔄" | "⏳" | "⌛" | "🚧" | "✗" | "✘" | "⏭" | "⏸" | "🔴" | "🟡" | "⚠" => {
            Some(Advised::NotDone)
        }
        _ => None,
    }
}

/// What words that begin like this say about an item.
fn status_word(text: &str) -> Option<Advised> {
    let plain = key(text).to_lowercase().replace(['_', '-'], " ");
    let plain =
        plain.trim_start_matches(|c: char| !c.is_alphanumeric() && status_sign(&c.to_string()).is_none());
    let begins = |word: &&str| {
        plain.strip_prefix(*word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    };
    if [
        "done",
        "complete",
        "completed",
        "finished",
        "pre existing",
        "preexisting",
        "already exists",
        "✅",
        "✓",
    ]
    .iter()
    .any(&begins)
    {
        return Some(Advised::Done);
    }
    let open = [
        "in progress",
        "blocked",
        "pending",
        "skipped",
        "skip",
        "deferred",
        "todo",
        "failed",
        "not started",
        "not done",
        "partial",
        "partially",
        "wip",
        "❌",
        "🔄",
    ];
    open.iter().any(begins).then_some(Advised::NotDone)
}

/// The number that a text begins with, in any of the ways people write one (`1.`, `1.1`, `1)`, `**2.**`, `Task 3:`,
/// `1.f1`, `T001`), and what follows it.
pub fn number(text: &str) -> Option<(&str, &str)> {
    let bare = text.trim_start().trim_start_matches(['*', '_']);
    let worded = ["subtask ", "sub-task ", "task ", "step "].iter().find_map(|word| {
        let head = bare.get(..word.len())?;
        let rest = bare[word.len()..].trim_start();
        (head.eq_ignore_ascii_case(word) && rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
            .then_some(rest)
    });
    let start = worded.unwrap_or(bare);
    let length = match start.bytes().next()? {
        b'0'..=b'9' => counted(start),
        _ => lettered(start)?,
    };
    let (id, rest) = start.split_at(length);
    let behind = rest.trim_start_matches(['*', '_']);
    let ended = behind.strip_prefix(['.', ')', ':', '\u{ff1a}']);
    let (behind, ended) = (ended.unwrap_or(behind).trim_start_matches(['*', '_']), ended.is_some());
    let behind_colon = behind.strip_prefix([':', '\u{ff1a}']);
    let ended = ended || behind_colon.is_some();
    let behind = behind_colon.unwrap_or(behind);
    // `1.Name` lacks a space; `1.5%`, `3rd` and `10/2` are not numbers of tasks.
    let apart = behind.is_empty()
        || behind.starts_with(|c: char| c.is_whitespace() || "-–—~[".contains(c))
        || (ended && behind.starts_with(|c: char| c.is_alphabetic() || "`\"'(".contains(c)));
    let dated = behind.starts_with('-') && behind[1..].starts_with(|c: char| c.is_ascii_digit());
    let certain = ended || worded.is_some() || is_certain(id);
    (apart && !dated && certain).then(|| (id, behind.trim_start()))
}

/// Digits, and more after dots: `1.1`, `1.f1`, `1a`.
fn counted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    while bytes.get(end) == Some(&b'.') {
        let letters = bytes[end + 1..].iter().take(3).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let more = digits(end + 1 + letters);
        if more == 0 || letters > 2 {
            break;
        }
        end += 1 + letters + more;
    }
    let suffix = bytes.get(end).is_some_and(u8::is_ascii_alphabetic);
    let alone = !bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
    if suffix && alone { end + 1 } else { end }
}

/// Letters and digits: `T001`, `T0S1`, `L2-003`, `TASK-2.7.1`.
fn lettered(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |from: usize, is: fn(&u8) -> bool| bytes[from..].iter().take_while(|byte| is(byte)).count();
    let letters = run(0, u8::is_ascii_alphabetic);
    let dash = usize::from(bytes.get(letters) == Some(&b'-'));
    let mut end = letters + dash;
    let digits = run(end, u8::is_ascii_digit);
    if !(1..=6).contains(&letters) || digits == 0 {
        return None;
    }
    end += digits;
    loop {
        let joint = usize::from(matches!(bytes.get(end), Some(b'.' | b'-')));
        let letters = if joint == 0 { run(end, u8::is_ascii_alphabetic).min(2) } else { 0 };
        let more = run(end + joint + letters, u8::is_ascii_digit);
        if joint + letters == 0 || more == 0 {
            // One letter more, as in `T012a`.
            let suffix =
                letters == 1 && joint == 0 && !bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
            return Some(end + usize::from(suffix));
        }
        end += joint + letters + more;
    }
}

/// Whether an id stands for itself, without a dot or colon behind it: `S3 upload` and `3D view` do not begin with one.
fn is_certain(id: &str) -> bool {
    if id.starts_with(|c: char| c.is_ascii_digit()) {
        return !id.ends_with(|c: char| c.is_ascii_alphabetic()) || id.contains('.');
    }
    let digits = id.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-');
    let serial = |last: &str| last.len() >= 3 && last.bytes().all(|byte| byte.is_ascii_digit());
    (id.starts_with(['T', 't']) && id.len() - digits.len() == 1)
        || digits.starts_with('0')
        || id.rsplit_once('-').is_some_and(|(_, last)| serial(last))
}
