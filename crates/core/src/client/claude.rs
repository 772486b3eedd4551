//! Claude Code: `--output-format stream-json --verbose`.
//!
//! Several `result`s may come in one run, when it is woken by something in the background; `subtype` says `success`
//! even of a request that failed; and an interruption may end it with exit status 0 and without any `result`.

use serde_json::Value;

use super::json::{beginning, dollars, list, name, reason, session, text, tokens, what};
use super::{End, Fault, Happening, is_down};
use crate::run::{ByModel, Usage};
use crate::time::Timestamp;

/// The model of messages that the client makes up itself.
const SYNTHETIC: &str = "<synthetic>";

pub(super) fn happenings(line: &Value) -> Vec<Happening> {
    match (text(line, "type"), text(line, "subtype")) {
        ("system", "init") => {
            session(line, "session_id").map(|id| Happening::Session { id }).into_iter().collect()
        }
        ("system", "api_retry") => {
            let status = line.get("error_status").and_then(Value::as_u64);
            let status = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
            vec![Happening::Retry { reason: reason(&format!("{}{status}", text(line, "error"))) }]
        }
        ("assistant", _) => {
            // What a subagent says is not what the agent says; it costs as much.
            let own = line.get("parent_tool_use_id").is_none_or(Value::is_null);
            let said = if own { said(line) } else { Vec::new() };
            said.into_iter().chain(step(line)).collect()
        }
        ("user", _) => {
            let content = line.get("message").map(|message| list(message, "content")).unwrap_or_default();
            let results = content.iter().filter(|block| text(block, "type") == "tool_result");
            results.map(came_back).collect()
        }
        ("rate_limit_event", _) => match line.get("rate_limit_info") {
            Some(info) if text(info, "status") == "rejected" => {
                vec![limit(info)]
            }
            _ => Vec::new(),
        },
        ("result", subtype) => result(line, subtype),
        _ => Vec::new(),
    }
}

fn said(line: &Value) -> Vec<Happening> {
    let Some(message) = line.get("message") else { return Vec::new() };
    if text(message, "model") == SYNTHETIC {
        let info = line.get("api_error_params").and_then(|params| params.get("rate_limit_info"));
        return info.map(limit).into_iter().collect();
    }
    let block = |block: &Value| match text(block, "type") {
        "text" => Some(Happening::Message {
            of: text(message, "id").to_owned(),
            text: text(block, "text").to_owned(),
        }),
        "tool_use" => {
            Some(Happening::ToolCall { tool: name(text(block, "name")), what: what(&block["input"]) })
        }
        _ => None,
    };
    list(message, "content").iter().filter_map(block).collect()
}

/// A text, or blocks of which some are texts.
fn came_back(block: &Value) -> Happening {
    let texts: Vec<&str> = list(block, "content").iter().map(|part| text(part, "text")).collect();
    let said = block["content"].as_str().map_or_else(|| texts.join("\n"), str::to_owned);
    Happening::ToolResult { failed: block["is_error"] == true, text: beginning(&said) }
}

/// What a message has used so far. Its cost is told at the end alone.
fn step(line: &Value) -> Option<Happening> {
    let message = line.get("message").filter(|message| text(message, "model") != SYNTHETIC)?;
    let used = message.get("usage")?;
    let count = |key: &str| used.get(key).and_then(Value::as_u64);
    let cached = count("cache_read_input_tokens");
    let input = [count("input_tokens"), cached, count("cache_creation_input_tokens")];
    let usage = tokens(&input, cached, &[count("output_tokens")]);
    usage.input?;
    Some(Happening::Step { of: name(text(message, "id")), model: name(text(message, "model")), usage })
}

/// Seconds since the epoch.
fn limit(info: &Value) -> Happening {
    // `seven_day` is of all models, `seven_day_opus` of one. A new word for all of them would be met by each once.
    let model = text(info, "rateLimitType").strip_prefix("seven_day_").map(name);
    Happening::Limit { until: resets(info), model }
}

fn resets(info: &Value) -> Option<Timestamp> {
    let seconds = info.get("resetsAt").and_then(Value::as_i64)?;
    Some(Timestamp(seconds.checked_mul(1000)?))
}

fn result(line: &Value, subtype: &str) -> Vec<Happening> {
    let denied = list(line, "permission_denials").iter().map(|denial| {
        let what = format!("{} {}", name(text(denial, "tool_name")), what(&denial["tool_input"]));
        Happening::Denied { what: what.trim().to_owned() }
    });
    let mut happenings: Vec<Happening> = denied.collect();
    if let Some(models) = line.get("modelUsage").and_then(Value::as_object) {
        let of: ByModel = models.iter().map(|(model, used)| (name(model), usage(used))).collect();
        happenings.push(Happening::Usage { so_far: true, of });
    }
    let end = if line["is_error"] == true || subtype.starts_with("error") {
        let errors: Vec<&str> = list(line, "errors").iter().filter_map(Value::as_str).collect();
        let words = if errors.is_empty() { text(line, "result").to_owned() } else { errors.join("; ") };
        let words = if words.trim().is_empty() { format!("it ended with {subtype}") } else { words };
        End::Broken { fault: fault(line, subtype, &words), reason: reason(&words) }
    } else {
        End::Finished
    };
    happenings.push(Happening::End(end));
    happenings
}

fn usage(used: &Value) -> Usage {
    let count = |key: &str| used.get(key).and_then(Value::as_u64);
    let cached = count("cacheReadInputTokens");
    let input = [count("inputTokens"), cached, count("cacheCreationInputTokens")];
    Usage { cost: dollars(used.get("costUSD")), ..tokens(&input, cached, &[count("outputTokens")]) }
}

fn fault(line: &Value, subtype: &str, words: &str) -> Fault {
    match (subtype, text(line, "terminal_reason")) {
        ("error_max_turns" | "error_max_budget_usd", _)
        | (_, "max_turns" | "budget_exhausted" | "prompt_too_long") => return Fault::Own,
        _ => {}
    }
    if text(line, "stop_reason") == "refusal" {
        return Fault::Declined;
    }
    if text(line, "api_error") == "usage_limit_reached" {
        return Fault::Limit;
    }
    if refuses(words) {
        return Fault::Refused;
    }
    match line.get("api_error_status").and_then(Value::as_u64) {
        Some(401..=403) => Fault::Refused,
        Some(429) => Fault::Busy,
        // A slow request, a conflict: these pass.
        Some(408 | 409) => Fault::Outside,
        Some(500..) => Fault::Down,
        Some(400..=499) => Fault::Person,
        _ => fault_of_words(words),
    }
}

/// Credentials and payment, as the client speaks of them.
fn refuses(words: &str) -> bool {
    ["Invalid API key", "Please run /login", "Credit balance is too low"]
        .iter()
        .any(|part| words.contains(part))
}

/// What the client complains about in words alone.
pub(super) fn fault_of_words(words: &str) -> Fault {
    let has = |part: &str| words.contains(part);
    if has("No conversation found with session ID") {
        Fault::Gone
    } else if refuses(words) {
        Fault::Refused
    } else if has("unknown option") || has("--dangerously-skip-permissions cannot be used") {
        Fault::Person
    } else if is_down(words) || has("Connection error") {
        Fault::Down
    } else {
        Fault::Outside
    }
}
