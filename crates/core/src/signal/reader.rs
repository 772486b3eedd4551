//! The signal of an agent: the last well-formed one for its task, in the agent's own words and in a line of its own.
//! Code, quotes, lists, diffs, matches of a search and the echoed prompt are not the agent's word.

use super::lines::{Kind, kinds, kinds_of_end};
use super::{Signal, with_reason};
use crate::plan::TaskId;
use crate::time::Timestamp;

/// Characters of a reason. It goes into files and to people: a screen is enough.
pub(super) const LONGEST_REASON: usize = 2000;
/// Lines that a signal may go over. Beyond that its end was forgotten.
const LONGEST_SIGNAL: usize = 40;

/// What an agent printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output<'a> {
    pub text: &'a str,
    /// This is only the end of the output, so its first fence may be a closing one.
    pub cut: bool,
    /// The agent's prompt, which some clients print before anything else.
    pub prompt: &'a str,
    pub reach: Reach,
}

/// Where in an output a signal is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// In the last line that is not blank: an agent that says nothing is judged by its exit status.
    #[default]
    LastLine,
    /// In all of it, the last one counts: an agent that says nothing has not finished.
    Message,
}

/// What was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub signal: Option<Signal>,
    /// Odd signals that were understood, and texts that look like signals but were not taken for one.
    pub notes: Vec<String>,
}

impl Heard {
    /// The agent says that the unit is done. Only a claim: the gates decide.
    pub fn claims_done(&self) -> bool {
        use Signal::{Already, Done, Fixed, PreliminaryDone, Verified};
        matches!(self.signal, Some(Done | Already(_) | Fixed | PreliminaryDone | Verified))
    }

    /// Why a person is needed, if the agent says so.
    pub fn blocker(&self) -> Option<&str> {
        match &self.signal {
            Some(Signal::Blocked(reason) | Signal::Escalate(reason)) => Some(reason),
            _ => None,
        }
    }
}

/// The agent's signal for this task. An agent that says both done and blocked has failed.
pub fn heard(output: Output<'_>, task: &TaskId, now: Timestamp) -> Heard {
    let mut heard = Heard::default();
    let (mut done, mut blocked) = (false, None);
    for found in found(output) {
        let Some((signal, oddity)) = read(&found.body, task, now) else {
            if found.form.is_tagged() {
                heard.notes.push(format!("`{}` is not a signal for {task}", shown(&found.body)));
            }
            continue;
        };
        let odd: Vec<&str> = found.form.oddity().into_iter().chain(oddity).collect();
        if !found.counts(&signal, output.reach, odd.is_empty()) {
            if found.place != Place::Before {
                heard.notes.push(format!("`{}` {NOT_TAKEN}", shown(&found.body)));
            }
            continue;
        }
        let told = |odd: &str| format!("`{}` was read as a signal, although it {odd}", shown(&found.body));
        heard.notes.extend(odd.into_iter().map(told));
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

const NOT_TAKEN: &str = "was not read as a signal: a signal must be alone on its line, at the end, and not in code, a quote, a list or a diff";

/// Something that may be a signal.
struct Found {
    body: String,
    form: Spelling,
    place: Place,
}

/// How it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// In tags, alone in its line.
    Alone,
    Escaped,
    NotClosed,
    /// Alone in its line, and written as code.
    Code,
    /// `**Signal:** <signal>T1_DONE</signal>`.
    TaggedField,
    /// `**Signal:** T1_DONE`, without tags.
    Field,
    /// In tags, as a sentence of its own behind another.
    Behind,
    /// In tags, and perhaps in a fence that began in the part that was cut off.
    Doubtful,
    /// In tags, among other words or in a line that is not the agent's own.
    Among,
}

/// Where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Its last line is the last one of the output.
    Last,
    /// In the last paragraph.
    Ending,
    Before,
}

impl Spelling {
    fn is_tagged(self) -> bool {
        !matches!(self, Spelling::Field | Spelling::Among)
    }

    fn oddity(self) -> Option<&'static str> {
        match self {
            Spelling::Alone | Spelling::Among => None,
            Spelling::Escaped => Some("is escaped"),
            Spelling::NotClosed => Some("is not closed"),
            Spelling::Code => Some("is written as code"),
            Spelling::TaggedField => Some("is in a field"),
            Spelling::Field => Some("is a field and not in signal tags"),
            Spelling::Behind => Some("follows other words on its line"),
            Spelling::Doubtful => Some("may be in code whose beginning was cut off"),
        }
    }
}

impl Found {
    /// Whether this signal counts here. What costs more is read more strictly: what stops a whole provider counts only
    /// in its proper form as the very last line.
    fn counts(&self, signal: &Signal, reach: Reach, is_proper: bool) -> bool {
        let at_end = match reach {
            Reach::LastLine => self.place == Place::Last,
            Reach::Message => self.place != Place::Before,
        };
        match self.form {
            Spelling::Among => false,
            _ if signal.is_run_wide() => {
                self.place == Place::Last && self.form == Spelling::Alone && is_proper
            }
            Spelling::Alone | Spelling::Escaped | Spelling::NotClosed => at_end || reach == Reach::Message,
            Spelling::Code => at_end,
            Spelling::TaggedField | Spelling::Field => at_end && reach == Reach::Message,
            Spelling::Behind => at_end && signal.is_claim(),
            Spelling::Doubtful => (at_end || reach == Reach::Message) && signal.is_claim(),
        }
    }
}

/// Every place that could hold a signal, in order.
fn found(output: Output<'_>) -> Vec<Found> {
    let lines: Vec<&str> = output.text.lines().collect();
    let strict = kinds(&lines);
    let kinds = if output.cut { kinds_of_end(&lines) } else { strict.clone() };
    let echoed = echoed(&lines, output);
    let (ending, last) = ending(&lines);
    let place = |line: usize| match line {
        line if line == last => Place::Last,
        line if line >= ending => Place::Ending,
        _ => Place::Before,
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let here = at;
        at += 1;
        if echoed[here] {
            continue;
        }
        let whole = unescaped(lines[here]);
        if kinds[here] != Kind::Own {
            found.extend(among(&whole, place(here)));
            continue;
        }
        let (mut rest, form) = match opening(&whole) {
            Some((rest, Spelling::Field)) => {
                found.push(Found { body: rest.to_owned(), form: Spelling::Field, place: place(here) });
                continue;
            }
            Some((rest, Spelling::Alone)) if strict[here] != Kind::Own => (rest, Spelling::Doubtful),
            Some((rest, Spelling::Alone)) if whole != lines[here] => (rest, Spelling::Escaped),
            Some(opened) => opened,
            None => {
                found.extend(among(&whole, place(here)));
                continue;
            }
        };
        // Several may follow each other in one line; the last may continue in the next lines.
        let mut in_line = Vec::new();
        while let Some(inner) = strip_tag(rest.trim_start(), "<signal>") {
            if let Some((body, after)) = up_to_close(inner) {
                in_line.push(Found { body: body.trim().to_owned(), form, place: place(here) });
                rest = after;
                continue;
            }
            let (body, next) = over_lines(inner, &lines, &kinds, at);
            let form = if next.is_none() && form == Spelling::Alone { Spelling::NotClosed } else { form };
            at = next.unwrap_or(at);
            in_line.push(Found { body: body.trim().to_owned(), form, place: place(at - 1) });
            rest = "";
        }
        if !rest.trim_matches(|c: char| c.is_whitespace() || END_DRESS.contains(&c)).is_empty() {
            in_line.iter_mut().for_each(|found| found.form = Spelling::Among);
        }
        found.extend(in_line);
    }
    found
}

/// What looks like a signal among other words. Only reported at the end, where it may have been meant as one.
fn among(line: &str, place: Place) -> Option<Found> {
    let inner = &line[find_tag(line, "<signal>").filter(|_| place == Place::Last)? + "<signal>".len()..];
    let (body, _) = up_to_close(inner)?;
    Some(Found { body: body.trim().to_owned(), form: Spelling::Among, place })
}

/// Lines of the prompt that the agent printed: they follow the same line in the prompt as in the output. If the output
/// was cut off, the line above its first one is unknown.
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

/// The first line of the last paragraph, and the last line.
fn ending(lines: &[&str]) -> (usize, usize) {
    let last = lines.iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
    let blank = lines[..last].iter().rposition(|line| line.trim().is_empty());
    (blank.map_or(0, |blank| blank + 1), last)
}

/// Signs that clients and agents put before and behind a line to make it stand out. None of them marks a list item.
const DRESS: &[char] = &['⏺', '●', '✅', '\u{feff}', '\u{200b}'];
const END_DRESS: &[char] = &['*', '_', '.', '!', '`', '✅', '\u{200b}'];

/// How a line that may hold a signal begins, and where its first one does.
fn opening(line: &str) -> Option<(&str, Spelling)> {
    let bare = line.trim_start_matches(|c: char| c.is_whitespace() || DRESS.contains(&c));
    let bare = bare.trim_start_matches(['*', '_']);
    if strip_tag(bare, "<signal>").is_some() {
        return Some((bare, Spelling::Alone));
    }
    if let Some(code) = bare.strip_prefix('`') {
        let code = code.trim_start_matches('`').trim_end_matches(['`', '.', '*', ' ']);
        let alone = !code.contains('`') && strip_tag(code, "<signal>").is_some();
        return alone.then_some((code, Spelling::Code));
    }
    let label = bare.get(..6).filter(|label| label.eq_ignore_ascii_case("signal")).map(|_| &bare[6..]);
    if let Some(value) = label {
        let value = value.trim_start_matches(['*', '_', ' ']);
        let value = value.strip_prefix([':', '：'])?.trim_start_matches(['*', '_', ' ']).trim();
        let value = value.trim_matches('`');
        let tagged = strip_tag(value, "<signal>").is_some();
        return Some((value, if tagged { Spelling::TaggedField } else { Spelling::Field }));
    }
    // A sentence of its own behind another, if that is one: not the match of a search, a comment, or a title.
    let start = find_tag(bare, "<signal>")?;
    let before = bare[..start].trim_end();
    let is_sentence = before.starts_with(|c: char| c.is_alphanumeric())
        && !before.contains(['`', '"', '“', '|', '<', '>'])
        && !before.split_whitespace().next().is_some_and(is_location);
    (is_sentence && before.ends_with(['.', '!', ')'])).then(|| (&bare[start..], Spelling::Behind))
}

/// `src/a.rs:12:words`, `notes.md:` and the like, as searches put them before a line.
fn is_location(first: &str) -> bool {
    let name = first.trim_end_matches(':');
    first.contains(['/', '=']) || name.contains(':') || name.len() < first.len() && name.contains('.')
}

/// What stands before the closing tag, and what behind it, if it is in this line and no other begins before it.
fn up_to_close(inner: &str) -> Option<(&str, &str)> {
    let end = find_tag(inner, "</signal>")?;
    let next = find_tag(inner, "<signal>").unwrap_or(inner.len());
    match next < end {
        // A reason may mention such a tag: then the whole line belongs to it.
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
fn over_lines(inner: &str, lines: &[&str], kinds: &[Kind], next: usize) -> (String, Option<usize>) {
    let mut body = inner.to_owned();
    for (nth, line) in lines.iter().enumerate().skip(next).take(LONGEST_SIGNAL) {
        let line = unescaped(line);
        let begins = find_tag(&line, "<signal>");
        let ends = find_tag(&line, "</signal>");
        if kinds[nth] == Kind::Shown || begins.is_some_and(|begins| ends.is_none_or(|ends| begins < ends)) {
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

/// With HTML entities decoded.
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
        "DONE" if plain => return Some((Signal::Done, Some("does not name a unit"))),
        "ALREADY" => return Some((Signal::Already(told), Some("does not name a unit"))),
        other => {
            if let Some(signal) = reason.as_deref().and_then(|reason| with_reason(other, reason, now)) {
                return Some((signal, cased));
            }
            let (id, end) = word.rsplit_once('_')?;
            let signal = match end.to_ascii_uppercase().as_str() {
                "DONE" if plain => Signal::Done,
                "VERIFIED" if plain => Signal::Verified,
                "ALREADY" => Signal::Already(told),
                _ => return None,
            };
            if id == unit.as_str() {
                return Some((signal, (end != end.to_ascii_uppercase()).then_some("is not in capitals")));
            }
            let same = id.eq_ignore_ascii_case(unit.as_str());
            return same.then_some((signal, Some("spells the unit differently")));
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
