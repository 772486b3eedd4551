//! opencode: `run --format json`.
//!
//! There is no last line: the last step that finished with `stop` is the end. Steps tell their own usage.

use serde_json::Value;

use super::json::{after, beginning, dollars, name, one_line, reason, session, text, tokens, what};
use super::{End, Fault, Happening, is_down};
use crate::run::{ByModel, Usage};
use crate::time::{Span, Timestamp};

pub(super) fn happenings(line: &Value, now: Timestamp) -> Vec<Happening> {
    let named = session(line, "sessionID").map(|id| Happening::Session { id });
    let part = line.get("part").unwrap_or(&Value::Null);
    let more = match text(line, "type") {
        "text" => {
            let of = text(part, "messageID").to_owned();
            vec![Happening::Message { of, text: text(part, "text").to_owned() }]
        }
        "tool_use" => {
            let state = &part["state"];
            let failed = text(state, "status") != "completed";
            let said = if failed { text(state, "error") } else { text(state, "output") };
            vec![
                Happening::ToolCall { tool: name(text(part, "tool")), what: what(&state["input"]) },
                Happening::ToolResult { failed, text: beginning(said) },
            ]
        }
        "step_finish" => step(part),
        "error" => broken(line.get("error").unwrap_or(&Value::Null), now),
        _ => Vec::new(),
    };
    named.into_iter().chain(more).collect()
}

fn step(part: &Value) -> Vec<Happening> {
    let mut happenings = Vec::new();
    if let Some(told) = part.get("tokens") {
        let count = |key: &str| told.get(key).and_then(Value::as_u64);
        let cache = |key: &str| told.get("cache").and_then(|cache| cache.get(key)).and_then(Value::as_u64);
        let input = [count("input"), cache("read"), cache("write")];
        let usage = tokens(&input, cache("read"), &[count("output"), count("reasoning")]);
        let usage = Usage { cost: dollars(part.get("cost")), ..usage };
        happenings.push(Happening::Usage { so_far: false, of: ByModel::from([(String::new(), usage)]) });
    }
    if text(part, "reason") == "stop" {
        happenings.push(Happening::End(End::Finished));
    }
    happenings
}

fn broken(error: &Value, now: Timestamp) -> Vec<Happening> {
    let data = error.get("data").unwrap_or(&Value::Null);
    let words = match text(data, "message") {
        "" => text(error, "name"),
        words => words,
    };
    let fault = match data.get("statusCode").and_then(Value::as_u64) {
        _ if text(error, "name") == "ContentFilterError" => Fault::Declined,
        Some(429) if text(data, "responseBody").contains("insufficient_quota") => Fault::Refused,
        Some(429) => Fault::Busy,
        Some(408 | 409) => Fault::Outside,
        Some(500..) => Fault::Down,
        Some(401..=403) => Fault::Refused,
        Some(400..=499) => Fault::Person,
        _ if text(error, "name") == "ProviderAuthError" => Fault::Refused,
        _ if is_down(words) => Fault::Down,
        _ => Fault::Outside,
    };
    let wait = text(&data["responseHeaders"], "retry-after").parse::<u64>().ok();
    let wait = wait.filter(|_| fault == Fault::Busy).map(|seconds| Span(seconds.saturating_mul(1000)));
    let limit = wait.map(|wait| Happening::Limit { until: Some(after(now, wait)), model: None });
    limit.into_iter().chain([Happening::End(End::Broken { fault, reason: reason(words) })]).collect()
}

pub(super) fn fault_of_words(words: &str) -> Fault {
    if words.contains("Session not found") { Fault::Gone } else { Fault::Outside }
}

/// What it writes beside its lines when nobody is there to be asked.
pub(super) fn refused(words: &str) -> Option<String> {
    let asked = |line: &str| {
        let (_, asked) = line.split_once("permission requested:")?;
        Some(one_line(asked.split_once("auto-rejecting")?.0.trim_end_matches([' ', ';'])))
    };
    words.lines().rev().find_map(asked)
}
