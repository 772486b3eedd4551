//! Short texts: times, signals of agents, commit messages, output of terminals.

use piton_core::message::{self, RUN_TRAILER, TASK_TRAILER};
use piton_core::plan::{Argv, Check, RunId, TaskId, TaskSpec};
use piton_core::prompt::{Advice, Brief, Failure, Prompts, prompt};
use piton_core::signal::{Output, Reach, Signal, heard};
use piton_core::terminal::clean_text;
use piton_core::time::{Span, Timestamp};

use crate::same;

pub(crate) const TIMES: &[&str] = &[
    "1h30m",
    "ms",
    "s",
    "m",
    "min",
    "h",
    "d",
    " ",
    "0",
    "5",
    "18446744073709551615",
    "2026-03-01T12:00:00Z",
    "+02:00",
    "-9999",
    "9999-12-31T23:59:60Z",
    "[UTC]",
    ".5",
    "٣",
];

pub(crate) fn time(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(span) = same(|| Span::parse(&text)) {
        // A number of one unit says the same in another.
        assert_eq!(Span::parse(&format!("{}ms", span.0)), Some(span));
        let shown = span.to_string();
        assert!(!shown.is_empty() && shown.is_ascii());
        assert!(Timestamp(0).plus(span) >= Timestamp(0));
        assert!(Timestamp(i64::MAX).plus(span) == Timestamp(i64::MAX));
    }
    if let Some(time) = same(|| Timestamp::parse(&text)) {
        let shown = Timestamp::parse(&time.to_string()).expect("a time is shown as one");
        assert_eq!(shown.0, time.0.div_euclid(1000) * 1000, "{time}");
        assert_eq!(time.since(time), Span(0));
    }
    if let Some(Ok(number)) = bytes.get(..8).map(<[u8; 8]>::try_from) {
        let (time, span) = (Timestamp(i64::from_le_bytes(number)), Span(u64::from_le_bytes(number)));
        assert!(!time.to_string().is_empty() && !span.to_string().is_empty());
        assert!(time.plus(span) >= time);
    }
}

pub(crate) const SIGNALS: &[&str] = &[
    "<signal>",
    "</signal>",
    "DONE",
    "T1_DONE",
    "T1_ALREADY:",
    "FAILED:",
    "BLOCKED:",
    "RETRY:",
    "LIMIT:",
    "5m",
    "\n",
    "\r\n",
    "2026-03-01T12:00:00Z",
    "é",
    "\u{2028}",
    "999999999999d",
    "```\n",
    "> ",
    "`",
    "**Signal:** ",
    "&lt;signal&gt;",
    "T1_VERIFIED",
    "TESTS_FAIL:",
    "NEEDS_ESCALATION:",
    "GAPS_FOUND",
];

pub(crate) fn signal(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let id = TaskId::new("T1").expect("a letter and a digit");
    let now = Timestamp(1_800_000_000_000);
    let read = |text: &str| heard(Output { text, ..Output::default() }, &id, now).signal;
    let Some(signal) = same(|| read(&text)) else { return };
    assert!(text.to_lowercase().contains("signal"));
    // Written out again it means the same.
    let written = match &signal {
        Signal::Done => "DONE".to_owned(),
        Signal::Already(reason) => format!("ALREADY:{reason}"),
        Signal::Failed(reason) if !reason.starts_with("it says both") => format!("FAILED:{reason}"),
        Signal::Blocked(reason) => format!("BLOCKED:{reason}"),
        Signal::Retry(reason) => format!("RETRY:{reason}"),
        Signal::Refused(reason) => format!("REFUSED:{reason}"),
        Signal::Limit(until) => format!("LIMIT:{until}"),
        _ => return,
    };
    // A reason over several lines may hold what is not the agent's own in a line of its own.
    if written.contains('\n') || written.to_lowercase().contains("signal") {
        return;
    }
    let again = read(&format!("<signal>{written}</signal>"));
    match (signal, again) {
        // To the second, and only where a calendar has it.
        (Signal::Limit(until), Some(Signal::Limit(read))) => {
            assert_eq!(read.0, until.0.div_euclid(1000) * 1000);
        }
        (Signal::Limit(until), None) => assert!(until.to_string().starts_with('@')),
        (signal, again) => assert_eq!(Some(signal), again),
    }
}

/// What an agent that works on a unit says. The prompt, a quote or code is not a signal.
pub(crate) fn unit_signal(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let id = TaskId::new("T1").expect("a letter and a digit");
    let hear = |output: Output<'_>| heard(output, &id, Timestamp(0));
    let said = same(|| hear(whole(&text)));
    assert!(said.signal.is_none() || text.to_lowercase().contains("signal"));
    assert!(!said.claims_done() || said.blocker().is_none());
    hear(Output { cut: true, ..whole(&text) });
    assert_eq!(hear(Output { prompt: &text, ..whole(&text) }).signal, None, "an echo");
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(hear(whole(&quoted)).signal, None, "a quote");
    if !text.contains("~~~") {
        assert_eq!(hear(whole(&format!("~~~\n{text}\n~~~\n"))).signal, None, "code");
    }
}

/// Everything that an agent printed; a signal may be anywhere in it.
fn whole(text: &str) -> Output<'_> {
    Output { text, reach: Reach::Message, ..Output::default() }
}

pub(crate) const LINES: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "Piton-Task: T9",
    "Piton-Run: x",
    "\nPiton-Task: T9",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    "---",
    "#",
    "\n\n",
    "(cherry picked from commit 1)",
    " ",
    "Signed-off-by: x",
];

/// A task and why it failed, in words from anywhere: the trailers are Piton's all the same.
pub(crate) fn message(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\u{0}').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    let id = TaskId::new("T1").expect("a letter and a digit");
    let run = RunId::new("run-1").expect("a plain word");
    let (title, reason, criteria) = (part(), part(), vec![part(), part()]);
    let command = part();
    let spec = TaskSpec {
        id: id.clone(),
        title,
        prompt: part(),
        group: 0,
        depends_on: Vec::new(),
        files: Vec::new(),
        criteria,
        checks: vec![Check::new(command.clone(), Argv::parse(&command), Span::minutes(1))],
        priority: 1,
        agent: "default".to_owned(),
        attempts: 3,
        confirm: false,
        may_change_nothing: false,
        check_first: false,
        may_fail: false,
        gate: false,
        by_person: false,
        timeout: Span::minutes(1),
        silence: None,
        exports: Vec::new(),
        outside: Vec::new(),
        source: None,
    };
    for said in [
        message::work(&spec, &run, None, 1, 3, None),
        message::work(&spec, &run, Some("fix:"), 2, 3, Some(&reason)),
        message::merge(&spec, &run, "group", 2, None),
    ] {
        let values = |key: &str| -> Vec<&str> {
            said.split(['\n', '\r']).filter_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).collect()
        };
        assert_eq!(values(TASK_TRAILER), ["T1"], "{said:?}");
        assert_eq!(values(RUN_TRAILER), ["run-1"], "{said:?}");
        // The last paragraph is the trailers'.
        let last = said.trim_end().rsplit("\n\n").next().unwrap_or_default();
        assert!(last.lines().all(|line| line.contains(": ")), "{said:?}");
    }
    let advice = [Advice { by: spec.title.clone(), text: command.clone() }];
    let ours = Prompts::default();
    let failure = Failure { feedback: reason.clone(), ..Failure::default() };
    let brief = Brief { attempt: 2, failure: Some(&failure), advice: &advice, ..Brief::default() };
    let told = same(|| prompt(&ours, &spec, brief));
    let told = told.expect("ours are fine");
    assert!(told.starts_with("# Task T1: ") && told.contains(spec.prompt.trim()));
    let said = clean_text(reason.as_bytes());
    assert!(said.len() > 16 * 1024 || told.contains(said.trim_end()));
    assert!(!same(|| Argv::parse(&command)).words().is_empty());
}

pub(crate) const ESCAPES: &[&str] = &[
    "\u{1b}[31m",
    "\u{1b}[0m",
    "\u{1b}]0;",
    "\u{7}",
    "\u{1b}\\",
    "\u{9b}",
    "\u{9c}",
    "\u{9d}",
    "\u{90}",
    "\r",
    "\n",
    "\u{202e}",
    "\u{2066}",
    "\u{1b}P",
    "\u{1b}(B",
    "\u{8}",
    "\u{0}",
    "\t",
    "100%",
];

pub(crate) fn text(bytes: &[u8]) {
    let clean = same(|| clean_text(bytes));
    let bad = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!clean.chars().any(bad), "{clean:?}");
    assert_eq!(clean_text(clean.as_bytes()), clean, "clean text is clean");
    let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(clean.as_bytes()), lines(bytes), "no line is lost and none is made up");
}
