//! What the lines of a client add up to.
//!
//! The end of a try is the end of its process, judged with what the client said last about it: never the exit status
//! alone, for a client may end with 0 after an interruption, and never a word in the output of a tool, for files are full
//! of such words.

use serde::Serialize;

use super::{Adapter, Meter};
use crate::run::{ByModel, Usage};
use crate::terminal::clean_text;
use crate::time::Timestamp;

/// Something that happened in a client, in words that all of them share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "happening", rename_all = "snake_case")]
pub enum Happening {
    /// The conversation has this name and can be resumed.
    Session { id: String },
    /// The agent says something. Parts of one message follow each other and have the same `of`.
    Message { of: String, text: String },
    /// `what` is what it is called with, in one line: the command, the file, or whatever says most.
    ToolCall { tool: String, what: String },
    /// `failed` is also set if the call was refused: neither makes a try fail. `text` is the beginning of the result.
    ToolResult { failed: bool, text: String },
    /// The client did not let its agent do this, and no person was there to ask.
    Denied { what: String },
    /// The client tries again by itself. Only a warning.
    Retry { reason: String },
    /// A usage limit, with the time it ends if the client reports it.
    Limit { until: Option<Timestamp>, model: Option<String> },
    /// What was used: by the whole session so far, or by one more step.
    Usage { so_far: bool, of: ByModel },
    /// What one message has used so far, if the client reports that before the sum.
    Step { of: String, model: String, usage: Usage },
    /// The client says that it has ended, or one turn of it; the last one counts.
    End(End),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    Finished,
    Broken { fault: Fault, reason: String },
}

/// Whose fault it is, and so what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The try itself: its turns, its budget or its context are used up.
    Own,
    /// A usage limit: it ends by itself.
    Limit,
    /// Too many requests, however often it tried again: that passes as well, and sooner.
    Busy,
    /// The provider's servers: overloaded, broken, not to be reached.
    Down,
    /// The network, or a person who stopped it: run it again.
    Outside,
    /// Credentials or payment: its provider rejects all agents until a person fixes it.
    Refused,
    /// Settings: only a person can help.
    Person,
    /// The model, or a guard before it, declined to continue this conversation. A new one may work.
    Declined,
    /// The conversation to resume does not exist.
    Gone,
}

/// How the process ended, if it ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// What the end of a try means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It says that it has finished. Only a claim.
    Finished,
    Broken {
        fault: Fault,
        reason: String,
    },
}

/// Stands before the prompt of a try that resumes the conversation of an earlier one. The prompt follows, since Piton
/// does not know how much of it the client had kept when it was interrupted.
pub const GO_ON: &str = "You were interrupted in the middle of this task. Your conversation and your worktree are as \
                         they were; a command that ran then may have been cut off. Look at what is there, and go on. \
                         This is the task once more:\n\n";

/// How much of the output that is not JSON is kept: its end, where error messages stand.
const NOISE: usize = 4 * 1024;

/// What the lines so far add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    adapter: Adapter,
    /// The conversation, once the client has named it.
    pub session: Option<String>,
    /// The agent's last message.
    pub said: String,
    /// What the session has used, if the client reports it.
    pub used: Option<ByModel>,
    /// What it has used since, as far as single messages report it.
    pub since: ByModel,
    /// An estimate of what it has used beyond both.
    pub unreported: ByModel,
    /// Calls of tools.
    pub calls: u32,
    /// What the client did not let its agent do last.
    pub denied: Option<String>,
    end: Option<End>,
    limit: Option<Timestamp>,
    limited: Option<String>,
    retry: Option<String>,
    /// It tries again, and nothing has come of that yet.
    tries_again: bool,
    speaking: Option<String>,
    open_call: Option<String>,
    /// The usage since the last word and the last call was reported.
    has_counted: bool,
    noise: String,
}

impl Story {
    /// The story of the output of a client that ended then. `None` for a client that writes whatever it likes.
    pub fn of(adapter: Adapter, output: &[u8], ended: Timestamp) -> Option<Story> {
        if adapter.is_command() {
            return None;
        }
        let mut story = Story {
            adapter,
            session: None,
            said: String::new(),
            used: None,
            since: ByModel::new(),
            unreported: ByModel::new(),
            calls: 0,
            denied: None,
            end: None,
            limit: None,
            limited: None,
            retry: None,
            tries_again: false,
            speaking: None,
            open_call: None,
            has_counted: false,
            noise: String::new(),
        };
        let mut meter = Meter::new(adapter);
        for line in String::from_utf8_lossy(output).lines() {
            match happenings(adapter, line, ended) {
                Some(happenings) => happenings.into_iter().for_each(|happening| {
                    meter.take(&happening, line.len());
                    story.take(happening);
                }),
                None => story.hear_noise(line),
            }
        }
        (story.used, story.since, story.unreported) = meter.into_sums();
        story.denied = story.denied.take().or_else(|| adapter.denied(&story.noise));
        Some(story)
    }

    fn take(&mut self, happening: Happening) {
        match &happening {
            Happening::Retry { .. } => self.tries_again = true,
            Happening::Limit { .. } | Happening::Session { .. } => {}
            _ => self.tries_again = false,
        }
        match &happening {
            Happening::Usage { .. } => self.has_counted = true,
            Happening::Message { .. } | Happening::ToolCall { .. } => self.has_counted = false,
            _ => {}
        }
        match happening {
            Happening::Session { id } => self.session = Some(id),
            Happening::Message { of, text } => {
                if self.speaking.as_ref() != Some(&of) {
                    self.said.clear();
                } else if !self.adapter.facts().says_in_pieces {
                    self.said.push('\n');
                }
                self.said.push_str(&text);
                self.speaking = Some(of);
                self.end = None;
            }
            Happening::ToolCall { tool, .. } => {
                self.calls = self.calls.saturating_add(1);
                self.open_call = Some(tool);
                self.speaking = None;
                self.end = None;
            }
            Happening::ToolResult { .. } => self.open_call = None,
            Happening::Denied { what } => self.denied = Some(what),
            Happening::Retry { reason } => self.retry = Some(reason),
            Happening::Limit { until, model } => {
                self.limit = until.or(self.limit);
                self.limited = model;
            }
            // The meter's.
            Happening::Usage { .. } | Happening::Step { .. } => {}
            Happening::End(end) => self.end = Some(end),
        }
    }

    fn hear_noise(&mut self, line: &str) {
        let line = clean_text(line.as_bytes());
        if line.trim().is_empty() {
            return;
        }
        self.noise.push_str(line.trim_end());
        self.noise.push('\n');
        if self.noise.len() > 2 * NOISE {
            self.noise = end_of(&self.noise, NOISE).to_owned();
        }
    }

    /// What the end of the process means.
    pub fn meaning(&self, exit: Exit) -> Meaning {
        match (&self.end, exit) {
            (Some(End::Broken { fault, reason }), _) => broken(*fault, reason),
            (Some(End::Finished), Exit::Code(0)) => Meaning::Finished,
            (Some(End::Finished), exit) => {
                broken(Fault::Outside, &format!("it said that it had finished, but {}", describe(exit)))
            }
            (None, Exit::Signal(_)) => broken(Fault::Outside, &format!("the client {}", describe(exit))),
            // The client stops when a call was refused, without a last message. The checks decide.
            (None, Exit::Code(0))
                if self.adapter.facts().stops_when_denied && self.has_counted && self.denied.is_some() =>
            {
                Meaning::Finished
            }
            (None, Exit::Code(code)) => {
                broken(self.adapter.fault(&self.noise, code), &self.without_a_word(code))
            }
        }
    }

    /// Whether it waits for a tool that it has called.
    pub fn is_in_call(&self) -> bool {
        self.open_call.is_some()
    }

    /// What its servers refuse while it tries again, should it be cut off there.
    pub fn waits_out(&self) -> Option<(Fault, &str)> {
        let words = self.retry.as_deref().filter(|_| self.tries_again)?;
        let has = |part: &&str| words.contains(*part);
        if ["429", "rate_limit"].iter().any(has) {
            return Some((Fault::Busy, words));
        }
        let failed = is_down(words) || ["HTTP 5", "status 5", "status: 5"].iter().any(has);
        failed.then_some((Fault::Down, words))
    }

    /// When the limit ends that the try ended with, as far as that is known.
    pub fn limit(&self) -> Option<Timestamp> {
        self.limit
    }

    /// The model that the limit is about, if it is of one model alone.
    pub fn limited(&self) -> Option<&str> {
        self.limited.as_deref()
    }

    fn without_a_word(&self, code: i32) -> String {
        let during = self.open_call.as_ref().map(|tool| format!(", during a call of {tool}"));
        let complains = |line: &&str| line.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("error"));
        let complaint = self.noise.lines().rfind(complains).or(self.noise.lines().last());
        let last = complaint.map(|line| format!(": {line}"));
        let retry = self.retry.as_ref().map(|reason| format!(", while it tried again: {reason}"));
        let more = last.or(retry).or(during).unwrap_or_default();
        format!("the client did not say how it ended (exit status {code}){more}")
    }
}

/// What one line says. It was written at about `now`. `None` if it is not a line of the client's stream.
pub fn happenings(adapter: Adapter, line: &str, now: Timestamp) -> Option<Vec<Happening>> {
    let line = line.trim();
    if !line.starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    (!adapter.is_command()).then(|| adapter.happenings(&value, now))
}

/// Whether the client complains that it cannot reach a server, or that the server has too much to do.
pub(super) fn is_down(words: &str) -> bool {
    const WORDS: [&str; 10] = [
        "overloaded",
        "Overloaded",
        "high demand",
        "at capacity",
        "ECONNREFUSED",
        "ConnectionRefused",
        "onnection refused",
        "error sending request",
        "Service Unavailable",
        "Unable to connect",
    ];
    WORDS.iter().any(|part| words.contains(part))
}

fn broken(fault: Fault, reason: &str) -> Meaning {
    Meaning::Broken { fault, reason: reason.to_owned() }
}

fn describe(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit status {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
    }
}

/// At most `most` bytes of the end.
fn end_of(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
