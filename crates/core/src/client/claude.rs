//! Claude Code, `claude -p --output-format stream-json --verbose`.
//!
//! Several `result`s may come in one run, when it is woken by something in the background; `subtype` says `success`
//! even of a request that failed; and an interruption may end it with exit status 0 and without any `result`.

use serde_json::{Value, json};

use super::json::{beginning, dollars, list, name, reason, session, text, tokens, what};
use super::launch::SERVER;
use super::ledger::{SERVERS, SKILL, hook, server};
use super::story::is_down;
use super::{
    Client, Credentials, End, Facts, Fault, Happening, Home, Launch, Ledger, Login, Part, Start, StopBy,
};
use crate::order::Pairs;
use crate::plan::Permissions;
use crate::run::{ByModel, Usage};
use crate::settings_file::Spot;
use crate::time::Timestamp;

#[derive(Debug)]
pub(super) struct Claude;

/// The model of messages that the client makes up itself.
const SYNTHETIC: &str = "<synthetic>";

/// Nothing that is not for the work, and nothing that lives on when the work is done: a shell in the background would
/// keep the client alive after its last word.
const QUIET: [(&str, &str); 2] =
    [("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")];

/// Claude would retry wrong credentials ten times, with growing pauses. Piton itself retries what is transient.
const RETRIES: (&str, &str) = ("CLAUDE_CODE_MAX_RETRIES", "4");

/// What one agent notes for itself would be read by the next one in that place, whatever its task.
const MEMORY: (&str, &str) = ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1");

impl Client for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn facts(&self) -> Facts {
        Facts {
            checked_version: Some("2.1.325"),
            install: Some("npm install -g @anthropic-ai/claude-code"),
            has_stream: true,
            reports_cost: true,
            takes_session_name: true,
            counts_on: true,
            takes_max_turns: true,
            takes_budget: true,
            can_be_asked: true,
            own_arguments: &[
                "-p",
                "--print",
                "--output-format",
                "--input-format",
                "--verbose",
                "--resume",
                "-r",
                "--continue",
                "-c",
                "--session-id",
                "--model",
                "--max-turns",
                "--max-budget-usd",
                "--permission-mode",
                "--dangerously-skip-permissions",
            ],
            // Not `~/.claude.json`, which many at once would write in place, since nothing can be renamed to it from inside.
            homes: &[Home { variable: "CLAUDE_CONFIG_DIR", below: "", usual: ".claude" }],
            credentials: Some(Credentials {
                variable: "CLAUDE_CONFIG_DIR",
                usual: ".claude",
                file: ".credentials.json",
            }),
            secret_variables: &["ANTHROPIC_CUSTOM_HEADERS"],
            ..Facts::UNKNOWN
        }
    }

    fn provider<'a>(&self, _model: Option<&'a str>) -> Option<&'a str> {
        Some("anthropic")
    }

    fn start(&self, start: &Start<'_>) -> Result<Launch, String> {
        let agent = start.agent;
        let mut launch = start.launch(&["-p", "--output-format", "stream-json", "--verbose"]);
        match agent.permissions {
            Permissions::Narrow => {
                launch.add(&["--permission-mode", "dontAsk", "--allowedTools", "Bash", "Edit(./**)"]);
                launch.words.extend(start.server.map(|_| format!("mcp__{SERVER}")));
            }
            Permissions::All => launch.add(&["--dangerously-skip-permissions"]),
        }
        launch.option("--model", agent.model.as_deref());
        launch.option("--max-turns", agent.max_turns.map(|turns| turns.to_string()).as_deref());
        launch.option("--max-budget-usd", agent.budget.map(in_dollars).as_deref());
        // Added to the person's own servers, whose tools are refused unless their settings allow them.
        let server = start.server.map(|program| {
            json!({ "mcpServers": { SERVER: { "command": program, "args": ["mcp"] } } }).to_string()
        });
        launch.option("--mcp-config", server.as_deref());
        let hook = start.hook.map(|line| {
            let hook = json!({ "hooks": [{ "type": "command", "command": line }] });
            json!({ "hooks": { "Stop": [hook] } }).to_string()
        });
        launch.option("--settings", hook.as_deref());
        if let Some(session) = start.session {
            launch.option(if session.resumes { "--resume" } else { "--session-id" }, session.id);
        }
        launch.add_args(agent);
        launch.usual_env = QUIET.to_vec();
        // A value that the person has set is kept.
        launch
            .usual_env
            .extend([RETRIES, MEMORY].into_iter().filter(|(name, _)| !start.machine.inherits(name)));
        // An agent that another agent started does not belong to that conversation.
        launch.env_remove = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];
        // It ends its tools, also those that went into sessions of their own.
        launch.stop = StopBy::Term;
        Ok(launch)
    }

    fn happenings(&self, line: &Value, _now: Timestamp) -> Vec<Happening> {
        happenings(line)
    }

    fn fault(&self, words: &str, _code: i32) -> Fault {
        fault_of_words(words)
    }

    fn login(&self) -> Option<Login> {
        Some(Login { question: &["auth", "status"], says_logged_out, command: "claude auth login" })
    }

    fn ledger(&self) -> Option<Ledger> {
        let settings = Spot::Item { of: &["hooks", "Stop"] };
        Some(Ledger {
            parts: vec![
                Part::whole(".claude/skills/piton/SKILL.md", SKILL.to_owned()),
                Part::value(".mcp.json", SERVERS, server(self.name())),
                Part::value(".claude/settings.json", settings, hook(self.name())),
            ],
            advice: "done; claude asks once whether it may use the server `piton`",
        })
    }
}

/// Millionths of a dollar, as its command line takes them.
fn in_dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// By what the version says that was checked.
fn says_logged_out(said: &str) -> bool {
    let object = said.find('{').and_then(|start| said.get(start..=said.rfind('}')?));
    let status: Option<Value> = object.and_then(|text| serde_json::from_str(text).ok());
    status.is_some_and(|status| status["loggedIn"] == false)
}

fn happenings(line: &Value) -> Vec<Happening> {
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

/// A text, or blocks, some of which are texts.
fn came_back(block: &Value) -> Happening {
    let texts: Vec<&str> = list(block, "content").iter().map(|part| text(part, "text")).collect();
    let said = block["content"].as_str().map_or_else(|| texts.join("\n"), str::to_owned);
    Happening::ToolResult { failed: block["is_error"] == true, text: beginning(&said) }
}

/// What a message has used so far. Claude reports the cost only at the end.
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
    // `seven_day` is for all models, `seven_day_opus` for one. If a new word for all models appears, each model meets
    // the limit once.
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
        let of: ByModel = models.iter().map(|(model, used)| (name(model), usage(used))).into_map();
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

/// The client's words for problems with credentials and payment.
fn refuses(words: &str) -> bool {
    ["Invalid API key", "Please run /login", "Credit balance is too low"]
        .iter()
        .any(|part| words.contains(part))
}

/// What the client complains about in words alone.
fn fault_of_words(words: &str) -> Fault {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_word_logs_it_out() {
        let out = "{\n  \"loggedIn\": false,\n  \"authMethod\": \"none\"\n}\n";
        assert!(says_logged_out(out));
        assert!(!says_logged_out(&out.replace("false", "true")));
        assert!(!says_logged_out("error: unknown command 'auth'"));
    }
}
