//! Gemini CLI: `-o stream-json`.
//!
//! Its exit status is what is left of an HTTP status in eight bits, so the last `result` counts. It tells of retries on
//! standard error alone.

use serde_json::Value;

use super::json::{after, beginning, name, reason, session, text, tokens, told_wait, what};
use super::{End, Fault, Happening, is_down};
use crate::run::ByModel;
use crate::time::Timestamp;

pub(super) fn happenings(line: &Value, now: Timestamp) -> Vec<Happening> {
    match text(line, "type") {
        "init" => session(line, "session_id").map(|id| Happening::Session { id }).into_iter().collect(),
        "message" if text(line, "role") == "assistant" => {
            let of = if line["delta"] == true { "delta" } else { "whole" };
            vec![Happening::Message { of: of.to_owned(), text: text(line, "content").to_owned() }]
        }
        "tool_use" => {
            vec![Happening::ToolCall { tool: name(text(line, "tool_name")), what: what(&line["parameters"]) }]
        }
        "tool_result" => {
            let error = line.get("error").map(|error| text(error, "message")).unwrap_or_default();
            let said = if text(line, "output").is_empty() { error } else { text(line, "output") };
            vec![Happening::ToolResult { failed: text(line, "status") != "success", text: beginning(said) }]
        }
        "error" => vec![Happening::Retry { reason: reason(text(line, "message")) }],
        "result" => result(line, now),
        _ => Vec::new(),
    }
}

fn result(line: &Value, now: Timestamp) -> Vec<Happening> {
    let mut happenings = Vec::new();
    if let Some(stats) = line.get("stats") {
        let usage = |of: &Value| {
            let count = |key: &str| of.get(key).and_then(Value::as_u64);
            tokens(&[count("input_tokens")], count("cached"), &[count("output_tokens")])
        };
        let models = stats.get("models").and_then(Value::as_object).filter(|models| !models.is_empty());
        let of: ByModel = match models {
            Some(models) => models.iter().map(|(model, used)| (name(model), usage(used))).collect(),
            None => ByModel::from([(String::new(), usage(stats))]),
        };
        happenings.push(Happening::Usage { so_far: false, of });
    }
    let end = match text(line, "status") {
        "success" => End::Finished,
        status => {
            let words = match line.get("error") {
                Some(Value::String(words)) => words.as_str(),
                Some(error) => text(error, "message"),
                None => status,
            };
            let kind = line.get("error").map(|error| text(error, "type")).unwrap_or_default();
            let fault = fault(kind, words);
            if matches!(fault, Fault::Limit | Fault::Busy) {
                let until = told_wait(words, &WAITS).map(|wait| after(now, wait));
                // It does not say which.
                let model = words.contains("on this model").then(|| "this model".to_owned());
                happenings.push(Happening::Limit { until, model });
            }
            End::Broken { fault, reason: reason(words) }
        }
    };
    happenings.push(Happening::End(end));
    happenings
}

/// What stands before the time that it is to wait.
const WAITS: [&str; 4] = ["reset after ", "retry in ", "\"retryDelay\":\"", "\"retryDelay\": \""];

fn fault(kind: &str, words: &str) -> Fault {
    let has = |part: &str| words.contains(part);
    if kind == "FatalTurnLimitedError" {
        Fault::Own
    } else if has("PROHIBITED_CONTENT") || has("finishReason: SAFETY") || has("blockReason") {
        Fault::Declined
    } else if has("daily quota") || has("quota will reset after") {
        Fault::Limit
    } else if ["RESOURCE_EXHAUSTED", "\"code\":429", "\"code\": 429", "Too Many Requests"]
        .into_iter()
        .any(has)
    {
        Fault::Busy
    } else if kind == "FatalAuthenticationError"
        || ["UNAUTHENTICATED", "PERMISSION_DENIED", "API_KEY_INVALID", "API key not valid"]
            .into_iter()
            .any(has)
    {
        Fault::Refused
    } else if has("INVALID_ARGUMENT") || has("NOT_FOUND") {
        Fault::Person
    } else if is_down(words)
        || ["UNAVAILABLE", "\"code\":5", "\"code\": 5", "\"INTERNAL\"", "fetch failed"].into_iter().any(has)
    {
        Fault::Down
    } else {
        Fault::Outside
    }
}

/// The few statuses that are its own and not a server's.
pub(super) fn fault_of_exit(code: i32) -> Fault {
    match code {
        41 => Fault::Refused,
        // Settings, a folder that is not trusted.
        52 | 55 => Fault::Person,
        // Bad input: of what Piton gives it, only the conversation can be wrong.
        42 => Fault::Gone,
        53 => Fault::Own,
        // 429, too many requests.
        173 => Fault::Busy,
        // 500 to 504.
        244..=248 => Fault::Down,
        _ => Fault::Outside,
    }
}
