//! What a client does, as people read it: its stream of JSON in a few words, line by line as it comes.

use super::{Description, Tone, used};
use crate::client::{Adapter, End, Happening, happenings};
use crate::run::ByModel;
use crate::terminal::clean_text;
use crate::time::Timestamp;

/// How many lines of a tool's result are shown: enough to see whether it is what was wanted.
const RESULT_LINES: usize = 5;
/// Longer lines of it are cut: some tools answer in one.
const RESULT_WIDTH: usize = 160;

/// A longer line is left out, so that a program that never ends one does not fill the memory. Clients write the whole result of
/// a tool into one line, with pictures; those are smaller.
const LONGEST_LINE: usize = 8 * 1024 * 1024;

/// Cuts a stream into lines, in whatever pieces it comes.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
    torn: bool,
}

impl Lines {
    /// The lines that are whole by now.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.torn && self.rest.len() + piece.len() > LONGEST_LINE {
                self.tear();
                lines.push(format!("… a line of more than {} MiB left out …", LONGEST_LINE >> 20));
            }
            if !self.torn {
                self.rest.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                lines.extend(self.last());
            }
        }
        lines
    }

    /// What stands at the end without a line break.
    pub fn last(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.rest);
        let whole = !std::mem::take(&mut self.torn);
        (whole && !rest.is_empty())
            .then(|| String::from_utf8_lossy(&rest).trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Output is missing here: the rest of one line and the beginning of another do not make a line.
    pub fn tear(&mut self) {
        self.rest = Vec::new();
        self.torn = true;
    }
}

/// The stream of one client.
#[derive(Clone, Debug)]
pub struct Stream {
    adapter: Adapter,
    /// The message that is being said, and what of its last line has been.
    speaking: Option<String>,
    line: String,
    session: Option<String>,
    used: Option<ByModel>,
    limit: Option<Option<Timestamp>>,
    /// It has said how it ended, and nothing since.
    ended: bool,
}

impl Stream {
    /// `None` for a client that writes whatever it likes.
    pub fn of(adapter: Adapter) -> Option<Stream> {
        let stream = Stream {
            adapter,
            speaking: None,
            line: String::new(),
            session: None,
            used: None,
            limit: None,
            ended: false,
        };
        (!adapter.is_command()).then_some(stream)
    }

    /// What a line of it says.
    pub fn hear(&mut self, line: &str, now: Timestamp) -> Vec<Description> {
        let mut told = Vec::new();
        match happenings(self.adapter, line, now) {
            Some(happened) => happened.into_iter().for_each(|happening| self.tell(happening, &mut told)),
            // A message of the client itself, besides its stream.
            None => {
                self.fall_silent(&mut told);
                put(&mut told, Tone::Quiet, line.trim_end());
            }
        }
        told
    }

    /// What is left to say when no more is to come.
    pub fn close(&mut self) -> Vec<Description> {
        let mut told = Vec::new();
        self.fall_silent(&mut told);
        if !self.ended {
            let used = self.spent();
            put(&mut told, Tone::Warning, &format!("── it did not say how it ended{used}"));
        }
        told
    }

    fn tell(&mut self, happening: Happening, told: &mut Vec<Description>) {
        if !matches!(happening, Happening::Message { .. } | Happening::Step { .. }) {
            self.fall_silent(told);
        }
        match happening {
            Happening::Session { id } => {
                if self.session.as_ref() != Some(&id) {
                    put(told, Tone::Quiet, &format!("── conversation {id}"));
                }
                self.session = Some(id);
            }
            Happening::Message { of, text } => self.say(of, &text, told),
            Happening::ToolCall { tool, what } => {
                self.ended = false;
                let what = if what.is_empty() { what } else { format!(": {what}") };
                put(told, Tone::Plain, &format!("→ {tool}{what}"));
            }
            Happening::ToolResult { failed, text } => result(failed, &text, told),
            Happening::Denied { what } => put(told, Tone::Warning, &format!("not permitted: {what}")),
            Happening::Retry { reason } => put(told, Tone::Warning, &format!("warning: {reason}")),
            Happening::Limit { until, model } => {
                // Some clients say it twice.
                if self.limit != Some(until) {
                    let of = model.map(|model| format!(" of {model}")).unwrap_or_default();
                    let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
                    put(told, Tone::Warning, &format!("usage limit{of}{until}"));
                }
                self.limit = Some(until);
            }
            Happening::Usage { so_far: true, of } => self.used = Some(of),
            Happening::Usage { so_far: false, of } => {
                let sum = self.used.get_or_insert_default();
                for (model, usage) in of {
                    let part = sum.entry(model).or_default();
                    *part = part.plus(usage);
                }
            }
            // All of them are summed up at the end.
            Happening::Step { .. } => {}
            Happening::End(end) => {
                self.ended = true;
                let used = self.spent();
                match end {
                    End::Finished => put(told, Tone::Good, &format!("── finished{used}")),
                    End::Broken { reason, .. } => {
                        put(told, Tone::Bad, &format!("── did not finish: {reason}{used}"));
                    }
                }
            }
        }
    }

    /// Parts of a message follow each other; its last line may continue.
    fn say(&mut self, of: String, text: &str, told: &mut Vec<Description>) {
        self.ended = false;
        if self.speaking.as_ref() != Some(&of) {
            self.fall_silent(told);
        } else if !self.adapter.facts().says_in_pieces {
            self.line.push('\n');
        }
        self.speaking = Some(of);
        self.line.push_str(text);
        if let Some(end) = self.line.rfind('\n') {
            let rest = self.line.split_off(end + 1);
            let said = clean_text(std::mem::replace(&mut self.line, rest).as_bytes());
            // Here, empty lines are the author's.
            told.extend(
                said.lines().map(|line| Description { tone: Tone::Plain, text: line.trim_end().to_owned() }),
            );
        }
    }

    fn fall_silent(&mut self, told: &mut Vec<Description>) {
        self.speaking = None;
        put(told, Tone::Plain, &std::mem::take(&mut self.line));
    }

    fn spent(&self) -> String {
        self.used.as_ref().map(|of| format!("; used {}", used(Some(of)))).unwrap_or_default()
    }
}

/// The last thing that a client did, of what its stream says: not what came back, nor how it ended.
pub fn last_act(told: &[Description]) -> Option<&str> {
    let is_act = |line: &&Description| matches!(line.tone, Tone::Plain | Tone::Warning);
    let texts = told.iter().rev().filter(is_act).map(|line| line.text.trim());
    texts.into_iter().find(|text| !text.is_empty())
}

/// The beginning of a tool's result, below its call.
fn result(failed: bool, text: &str, told: &mut Vec<Description>) {
    let text = clean_text(text.as_bytes());
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let tone = if failed { Tone::Warning } else { Tone::Quiet };
    if failed {
        put(told, tone, "  ✗ it failed, or was refused");
    }
    for line in lines.by_ref().take(RESULT_LINES) {
        let short: String = line.chars().take(RESULT_WIDTH).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        put(told, tone, &format!("  {short}{more}"));
    }
    let more = lines.count();
    if more > 0 {
        put(told, tone, "  …");
    }
}

/// Each line by itself, as it may be shown.
fn put(told: &mut Vec<Description>, tone: Tone, text: &str) {
    let clean = clean_text(text.as_bytes());
    let lines = clean.lines().map(str::trim_end).filter(|line| !line.is_empty());
    told.extend(lines.map(|line| Description { tone, text: line.to_owned() }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::client;

    const NOW: Timestamp = Timestamp(1_794_775_410_000);

    fn shown(adapter: Adapter, pieces: &[&[u8]]) -> String {
        let mut stream = Stream::of(adapter).expect("it has a stream");
        let (mut lines, mut told) = (Lines::default(), Vec::new());
        for piece in pieces {
            told.extend(lines.take(piece).iter().flat_map(|line| stream.hear(line, NOW)));
        }
        told.extend(lines.last().iter().flat_map(|line| stream.hear(line, NOW)));
        told.extend(stream.close());
        told.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    macro_rules! recorded {
        ($($adapter:literal $name:literal),* $(,)?) => {
            [$((client($adapter), $name, include_bytes!(concat!("../client/fixtures/", $name, ".jsonl")) as &[u8])),*]
        };
    }

    #[test]
    fn what_each_client_did_can_be_read() {
        let recorded = recorded![
            "claude" "claude-plain",
            "claude" "claude-429-twice",
            "claude" "claude-denied",
            "claude" "claude-limit",
            "claude" "claude-budget",
            "claude" "claude-killed",
            "codex" "codex-plain",
            "codex" "codex-429-twice",
            "codex" "codex-limit",
            "codex" "codex-quoted",
            "codex" "codex-gone",
            "gemini" "gemini-plain",
            "gemini" "gemini-auth",
            "opencode" "opencode-plain",
            "opencode" "opencode-auth",
        ];
        let all: String = recorded
            .iter()
            .map(|(adapter, name, output)| format!("# {name}\n{}\n", shown(*adapter, &[output])))
            .collect();
        insta::assert_snapshot!(all);
        for (adapter, name, output) in recorded {
            let whole = shown(adapter, &[output]);
            let bytes: Vec<&[u8]> = output.chunks(1).collect();
            assert_eq!(shown(adapter, &bytes), whole, "{name} comes in whatever pieces");
        }
    }

    #[test]
    fn nothing_in_a_stream_reaches_the_terminal_as_more_than_text() {
        let evil = "a\\u001b[2J\\u202e\\u009b31mb\\u0007\\u0000c";
        let call = format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"{evil}"}},{{"type":"tool_use","name":"{evil}","input":{{"{evil}":"{evil}"}}}}]}}}}"#
        );
        let long = "x".repeat(1_000_000);
        let back = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","is_error":true,"content":[{{"type":"text","text":"{evil}\n{long}"}}]}}]}}}}"#
        );
        let output = format!("\u{1b}]0;title\u{7}{long}\n{call}\n{back}\n{{\"type\": 5}}\n{{torn");
        let told = shown(client("claude"), &[output.as_bytes()]);
        let odd = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!told.contains(odd), "{:?}", told.replace(&long, "LONG"));
        let shown = told.replace(&long, "LONG").replace(&"x".repeat(100), "C");
        insta::assert_snapshot!(shown, @r#"
        LONG
        abc
        → a[2J31mbc: {"a\u001b[2Jb\u0007\u0000c":"a\u001b[2Jb\u0007\u0000c"}
          ✗ it failed, or was refused
          abc
          Cxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        {torn
        ── it did not say how it ended
        "#);
    }

    #[test]
    fn parts_of_a_message_are_put_together_and_a_gap_is_no_line() {
        let delta = |text: &str| {
            format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{text}\",\"delta\":true}}\n")
        };
        let said = [delta("On"), delta("e.\\n\\nTw"), delta("o.")].concat();
        assert_eq!(
            shown(client("gemini"), &[said.as_bytes()]),
            "One.\n\nTwo.\n── it did not say how it ended\n"
        );
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"one\r\nhalf of a"), ["one"]);
        lines.tear();
        assert_eq!(lines.take(b"nother\nthree\nfour"), ["three"]);
        assert_eq!(lines.last().as_deref(), Some("four"));
        assert_eq!(lines.last(), None);
    }

    #[test]
    fn a_line_that_never_ends_is_left_out_and_takes_no_memory() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 1024 * 1024];
        let told: Vec<String> = (0..100).flat_map(|_| lines.take(&piece)).collect();
        assert_eq!(told, ["… a line of more than 8 MiB left out …"]);
        assert!(lines.rest.capacity() < LONGEST_LINE * 2, "{}", lines.rest.capacity());
        assert_eq!(lines.take(b"its end\nnext\n"), ["next"]);
    }
}
