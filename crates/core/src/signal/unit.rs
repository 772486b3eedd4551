//! The signal of an agent that works on a unit of an iterative plan: the last well-formed one for this unit, wherever
//! it stands, unless somebody else said it. Code, quotes, code in a sentence and the echoed prompt are not the agent's
//! word.

use super::{Signal, with_reason};
use crate::fence::Fence;
use crate::plan::TaskId;
use crate::time::Timestamp;

/// Characters of a reason. It goes into files and to people: a screen is enough.
const LONGEST_REASON: usize = 2000;
/// Lines that a signal may go over. Beyond that its end was forgotten.
const LONGEST_SIGNAL: usize = 40;

/// What an agent printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output<'a> {
    pub text: &'a str,
    /// It is only the end of what was printed, so its first fence may be the end of one.
    pub cut: bool,
    /// What the agent was told, which some print before anything else.
    pub prompt: &'a str,
}

/// What was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub signal: Option<Signal>,
    /// What was understood although it is odd, and what was not taken for a signal although it looks like one.
    pub notes: Vec<String>,
}

impl Heard {
    /// The agent says that the unit is done. Only a claim: the gates decide.
    pub fn claims_done(&self) -> bool {
        use Signal::{Done, Fixed, PreliminaryDone, Verified};
        matches!(self.signal, Some(Done | Fixed | PreliminaryDone | Verified))
    }

    /// Why a person is needed, if the agent says so.
    pub fn blocker(&self) -> Option<&str> {
        match &self.signal {
            Some(Signal::Blocked(reason) | Signal::Escalate(reason)) => Some(reason),
            _ => None,
        }
    }
}

/// The agent's signal for this unit. Whoever says both that it is done and that it is blocked has failed.
pub fn heard(output: Output<'_>, unit: &TaskId, now: Timestamp) -> Heard {
    let mut heard = Heard::default();
    let (mut done, mut blocked) = (false, None);
    for found in found(output) {
        let Some((signal, oddity)) = read(&found.body, unit, now) else {
            if found.tagged {
                heard.notes.push(format!("`{}` is no signal for {unit}", shown(&found.body)));
            }
            continue;
        };
        heard.notes.extend(
            found
                .oddity
                .into_iter()
                .chain(oddity)
                .map(|odd| format!("`{}` was taken for a signal, although it {odd}", shown(&found.body))),
        );
        heard.signal = Some(signal);
        done |= heard.claims_done();
        if let Some(reason) = heard.blocker() {
            blocked = Some(reason.to_owned());
        }
    }
    if let (true, Some(reason)) = (done, blocked) {
        let both = format!("it says both that it is done and that it is blocked: {reason}");
        heard.signal = Some(Signal::Failed(both));
    }
    heard
}

/// Something that may be a signal.
struct Found {
    body: String,
    /// In tags, and not only a field.
    tagged: bool,
    oddity: Option<&'static str>,
}

/// Every place that could hold a signal, in order.
fn found(output: Output<'_>) -> Vec<Found> {
    let lines: Vec<&str> = output.text.lines().collect();
    let spoken = spoken(&lines, output);
    let last_block = last_block(&lines);
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if !spoken[at - 1] {
            continue;
        }
        let whole = unescaped(line);
        let escaped = whole != line;
        let (mut rest, oddity) = match opening(&whole) {
            Some(Opening::Bare(rest)) => (rest.to_owned(), None),
            Some(Opening::Odd(rest, why)) if at > last_block => (rest.to_owned(), Some(why)),
            Some(Opening::Field(word)) if at > last_block => {
                let oddity = Some("is a field and not in signal tags");
                found.push(Found { body: word.to_owned(), tagged: false, oddity });
                continue;
            }
            _ => continue,
        };
        let odd = oddity.or(escaped.then_some("is escaped"));
        // Several may follow each other in one line; the last may go on in the next lines.
        while let Some(inner) = strip_tag(rest.trim_start(), "<signal>") {
            if let Some((body, after)) = up_to_close(inner) {
                found.push(Found { body: body.trim().to_owned(), tagged: true, oddity: odd });
                rest = after.to_owned();
                continue;
            }
            let (body, next) = over_lines(inner, &lines, &spoken, at);
            let oddity = if next.is_none() { Some("is not closed") } else { odd };
            at = next.unwrap_or(at);
            found.push(Found { body: body.trim().to_owned(), tagged: true, oddity });
            break;
        }
    }
    found
}

/// Which lines are the agent's own words.
fn spoken(lines: &[&str], output: Output<'_>) -> Vec<bool> {
    let fences = |mut fence: Option<Fence>| -> (Vec<bool>, bool) {
        let code = lines.iter().map(|line| {
            let (open, code) = Fence::after(fence.take(), line);
            fence = open;
            code
        });
        let code = code.collect();
        (code, fence.is_some())
    };
    let (mut code, open) = fences(None);
    if let Some(mark) = cut_fence(lines).filter(|_| open && output.cut) {
        let (closed, still_open) = fences(Some(mark));
        if !still_open {
            code = closed;
        }
    }
    let echoed = echoed(lines, output);
    let mut before = Indented::Blank;
    let spoken = lines.iter().zip(code).zip(echoed).map(|((line, code), echoed)| {
        before = Indented::after(before, line);
        !code && !echoed && before != Indented::Code && !line.trim_start().starts_with('>')
    });
    spoken.collect()
}

/// The fence that the first one closes, if it may.
fn cut_fence(lines: &[&str]) -> Option<Fence> {
    lines.iter().find_map(|line| Fence::opened_by(line)).filter(|fence| fence.bare)
}

/// Lines that are indented after a blank one are code, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indented {
    Blank,
    Code,
    Text,
}

impl Indented {
    fn after(before: Indented, line: &str) -> Indented {
        let deep = line.starts_with("    ") || line.starts_with('\t');
        match before {
            _ if line.trim().is_empty() => Indented::Blank,
            Indented::Blank | Indented::Code if deep => Indented::Code,
            _ => Indented::Text,
        }
    }
}

/// Lines of the prompt that the agent printed: such as stand there below the same line as here. Of what was cut off,
/// nobody knows what stood above the first line.
fn echoed(lines: &[&str], Output { prompt, cut, .. }: Output<'_>) -> Vec<bool> {
    let plain = |line: &str| -> String {
        let bare = line.chars().filter(|c| !matches!(c, '`' | '*' | '>' | '#' | '-' | '+'));
        bare.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let pairs = |lines: &mut dyn Iterator<Item = &str>| -> Vec<(String, String)> {
        let mut before = String::new();
        lines
            .map(|line| {
                let plain = plain(line);
                let pair = (before.clone(), plain.clone());
                if !plain.is_empty() {
                    before = plain;
                }
                pair
            })
            .collect()
    };
    let told = pairs(&mut prompt.lines());
    let printed = pairs(&mut lines.iter().copied());
    let is_told = |(before, line): &(String, String)| {
        let same = |(above, told): &(String, String)| {
            told == line && (above == before || above.is_empty() || cut && before.is_empty())
        };
        line.to_lowercase().contains("signal") && told.iter().any(same)
    };
    printed.iter().map(is_told).collect()
}

/// The number of lines before the last paragraph.
fn last_block(lines: &[&str]) -> usize {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    lines[..end].iter().rposition(|line| line.trim().is_empty()).map_or(0, |blank| blank + 1)
}

/// How a line that may hold a signal begins.
enum Opening<'l> {
    /// With the tag, or with what only makes it stand out.
    Bare(&'l str),
    /// Otherwise, and still likely meant. Counts at the end alone.
    Odd(&'l str, &'static str),
    /// `**Signal:** T1_DONE`, without tags. Counts at the end alone.
    Field(&'l str),
}

fn opening(line: &str) -> Option<Opening<'_>> {
    const DRESS: &[char] = &['#', '*', '_', '-', '+', '•', '⏺', '●', '✅', '→', '\u{feff}', '\u{200b}'];
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || DRESS.contains(&c));
    if strip_tag(bare, "<signal>").is_some() {
        return Some(Opening::Bare(bare));
    }
    if let Some(code) = bare.strip_prefix('`') {
        let code = code.trim_start_matches('`').trim_end_matches(['`', '.', '*', ' ']);
        let alone = !code.contains('`') && strip_tag(code, "<signal>").is_some();
        return alone.then_some(Opening::Odd(code, "is written as code"));
    }
    let label = bare.get(..6).filter(|label| label.eq_ignore_ascii_case("signal")).map(|_| &bare[6..]);
    if let Some(value) = label {
        let value = value.trim_start_matches(['*', '_', ' ']);
        let value = value.strip_prefix([':', '：'])?.trim_start_matches(['*', '_', ' ']).trim();
        let value = value.trim_matches('`');
        return Some(match strip_tag(value, "<signal>") {
            Some(_) => Opening::Odd(value, "is in a field"),
            None => Opening::Field(value),
        });
    }
    // A sentence of its own behind another.
    let start = find_tag(bare, "<signal>")?;
    let before = bare[..start].trim_end();
    let apart = before.ends_with(['.', '!', ')']) && !before.contains('`') && !before.contains(['"', '“']);
    apart.then(|| Opening::Odd(&bare[start..], "stands behind other words"))
}

/// What stands before the closing tag, and what behind it, if it is in this line and no other begins before it.
fn up_to_close(inner: &str) -> Option<(&str, &str)> {
    let end = find_tag(inner, "</signal>")?;
    let next = find_tag(inner, "<signal>").unwrap_or(inner.len());
    match next < end {
        // A reason may well speak of such a tag: then the whole line is its own.
        true => {
            let last = inner.trim_end_matches(['*', '_', '.', ' ', '`']);
            let body = last.get(..last.len().checked_sub("</signal>".len())?)?;
            strip_tag(&last[body.len()..], "</signal>").filter(|_| find_tag(body, "</signal>").is_none())?;
            Some((body, ""))
        }
        false => Some((&inner[..end], &inner[end + "</signal>".len()..])),
    }
}

/// A signal that is closed in a later line, with the line behind it; or, if it never is, the rest of its own line.
fn over_lines(inner: &str, lines: &[&str], spoken: &[bool], next: usize) -> (String, Option<usize>) {
    let mut body = inner.to_owned();
    for (nth, line) in lines.iter().enumerate().skip(next).take(LONGEST_SIGNAL) {
        let line = unescaped(line);
        let begins = find_tag(&line, "<signal>");
        let ends = find_tag(&line, "</signal>");
        if !spoken[nth] || begins.is_some_and(|begins| ends.is_none_or(|ends| begins < ends)) {
            break;
        }
        body.push('\n');
        match ends {
            Some(end) => return (body + &line[..end], Some(nth + 1)),
            None => body += &line,
        }
    }
    (inner.trim_end_matches(['*', '_', '`', ' ']).to_owned(), None)
}

fn find_tag(text: &str, tag: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    bytes.windows(tag.len()).position(|window| window.eq_ignore_ascii_case(tag.as_bytes()))
}

fn strip_tag<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    text.get(..tag.len()).filter(|start| start.eq_ignore_ascii_case(tag)).map(|_| &text[tag.len()..])
}

/// As it was before somebody made HTML of it.
fn unescaped(line: &str) -> String {
    if !line.contains("&lt;") { line.to_owned() } else { line.replace("&lt;", "<").replace("&gt;", ">") }
}

/// What a body says about this unit, and what is odd about how it says it.
fn read(body: &str, unit: &TaskId, now: Timestamp) -> Option<(Signal, Option<&'static str>)> {
    let (word, reason) = match body.split_once([':', '：']) {
        Some((word, reason)) => (word, Some(reason)),
        None => (body, None),
    };
    let word = word.trim();
    let reason: Option<String> = reason.map(|reason| reason.trim().chars().take(LONGEST_REASON).collect());
    let upper = word.to_ascii_uppercase();
    let cased = (upper != word).then_some("is not in capitals");
    let told = reason.clone().unwrap_or_default();
    let plain = reason.as_ref().is_none_or(String::is_empty);
    let signal = match upper.as_str() {
        "TESTS_PASS" if plain => Signal::TestsPass,
        "TESTS_FAIL" => Signal::TestsFail(told),
        "REVIEW_PASS" if plain => Signal::ReviewPass,
        "REVIEW_FAIL" => Signal::ReviewFail,
        "FIXED" if plain => Signal::Fixed,
        "NEEDS_ESCALATION" => Signal::Escalate(told),
        "PRELIMINARY_DONE" if plain => Signal::PreliminaryDone,
        "GAPS_FOUND" => Signal::GapsFound,
        "BLOCKED" if reason.is_none() => Signal::Blocked(String::new()),
        "DONE" if plain => return Some((Signal::Done, Some("names no unit"))),
        other => {
            if let Some(signal) = reason.as_deref().and_then(|reason| with_reason(other, reason, now)) {
                return Some((signal, cased));
            }
            let (id, end) = word.rsplit_once('_').filter(|_| plain)?;
            let signal = match end.to_ascii_uppercase().as_str() {
                "DONE" => Signal::Done,
                "VERIFIED" => Signal::Verified,
                _ => return None,
            };
            if id == unit.as_str() {
                return Some((signal, (end != end.to_ascii_uppercase()).then_some("is not in capitals")));
            }
            let same = id.eq_ignore_ascii_case(unit.as_str());
            return same.then_some((signal, Some("spells the unit in another way")));
        }
    };
    Some((signal, cased))
}

/// Not all of a long text.
fn shown(body: &str) -> String {
    const SHOWN: usize = 60;
    let line = body.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
