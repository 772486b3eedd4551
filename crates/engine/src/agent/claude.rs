//! Claude Code, `claude -p`.

use piton_core::plan::{Agent, Permissions};
use serde_json::json;

use super::tools::SERVER;
use super::{Place, Session, dollars};
use crate::keeper::{JobSpec, StopSignal};

/// Nothing that is not for the work, and nothing that lives on when the work is done: a shell in the background would
/// keep the client alive after its last word.
const QUIET: [(&str, &str); 3] = [
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    // It would try wrong credentials ten times, with growing pauses. What passes by itself is tried again by Piton.
    (RETRIES, "4"),
];
const RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";

/// An agent that was started by an agent is no part of it.
const NOT_ITS_OWN: [&str; 2] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

pub(super) fn start(agent: &Agent, place: &Place<'_>, session: Option<&Session>) -> JobSpec {
    let mut words = place.words(agent, &["-p", "--output-format", "stream-json", "--verbose"]);
    let (server, hook) = (place.server(agent), place.hook(agent));
    match agent.permissions {
        Permissions::Narrow => {
            let allowed = ["--permission-mode", "dontAsk", "--allowedTools", "Bash", "Edit(./**)"];
            words.extend(allowed.map(str::to_owned));
            words.extend(server.map(|_| format!("mcp__{SERVER}")));
        }
        Permissions::All => words.push("--dangerously-skip-permissions".to_owned()),
    }
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| [name.to_owned(), value]).into_iter().flatten());
    };
    option("--model", agent.model.clone());
    option("--max-turns", agent.max_turns.map(|turns| turns.to_string()));
    option("--max-budget-usd", agent.budget.map(dollars));
    // Beside those that the person has, whose tools are refused unless their settings allow them.
    let server =
        server.map(|program| json!({ "mcpServers": { SERVER: { "command": program, "args": ["mcp"] } } }));
    option("--mcp-config", server.map(|config| config.to_string()));
    let hook = hook.map(|line| json!({ "hooks": [{ "type": "command", "command": line }] }));
    option("--settings", hook.map(|hook| json!({ "hooks": { "Stop": [hook] } }).to_string()));
    if let Some(session) = session {
        option(if session.resumes { "--resume" } else { "--session-id" }, session.id.clone());
    }
    words.extend(agent.args.iter().cloned());
    let mut job = place.job(agent, words, &QUIET);
    // Whoever has set that knows better.
    if std::env::var_os(RETRIES).is_some() && !agent.env.contains_key(RETRIES) {
        job.env.remove(RETRIES);
    }
    job.env_remove.extend(NOT_ITS_OWN.map(str::to_owned));
    // It ends its tools, also those that went into sessions of their own.
    job.stop_signal = StopSignal::Term;
    job
}
