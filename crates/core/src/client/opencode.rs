//! opencode, `opencode run --format json`.
//!
//! There is no last line: the last step that finished with `stop` is the end. Steps report their own usage.

use serde_json::{Value, json};

use super::json::{after, beginning, dollars, name, one_line, reason, session, text, tokens, what};
use super::launch::{SERVER, below};
use super::ledger::words;
use super::story::is_down;
use super::{Client, Conversation, End, Facts, Fault, Happening, Home, Launch, Ledger, Machine, Part, Start};
use crate::plan::{Agent, Permissions};
use crate::run::{ByModel, Usage};
use crate::settings_file::{self, Spot};
use crate::time::{Span, Timestamp};

#[derive(Debug)]
pub(super) struct Opencode;

/// It has a list of models of its own, and keeps the one it fetched last.
const QUIET: [(&str, &str); 2] =
    [("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")];

/// Settings besides those in files. The person may have set them, too.
const SETTINGS: &str = "OPENCODE_CONFIG_CONTENT";

/// Its own provider.
const OWN: &str = "opencode";

impl Client for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn facts(&self) -> Facts {
        Facts {
            checked_version: Some("1.18.33"),
            install: Some("npm install -g opencode-ai"),
            has_stream: true,
            stops_when_denied: true,
            reports_each_request: true,
            reports_cost: true,
            own_arguments: &[
                "--format",
                "-m",
                "--model",
                "-s",
                "--session",
                "-c",
                "--continue",
                "--auto",
                "--pure",
            ],
            homes: &[
                Home { variable: "OPENCODE_CONFIG_DIR", below: "", usual: ".config/opencode" },
                Home { variable: "XDG_CONFIG_HOME", below: "opencode", usual: ".config/opencode" },
                Home { variable: "XDG_DATA_HOME", below: "opencode", usual: ".local/share/opencode" },
                Home { variable: "XDG_STATE_HOME", below: "opencode", usual: ".local/state/opencode" },
                Home { variable: "XDG_CACHE_HOME", below: "opencode", usual: ".cache/opencode" },
            ],
            secret_variables: &[SETTINGS],
            ..Facts::UNKNOWN
        }
    }

    fn provider<'a>(&self, model: Option<&'a str>) -> Option<&'a str> {
        Some(provider_in(model).unwrap_or(OWN))
    }

    fn start(&self, start: &Start<'_>) -> Result<Launch, String> {
        let agent = start.agent;
        let mut launch = start.launch(&["run", "--pure", "--format", "json"]);
        if agent.permissions == Permissions::All {
            // What its settings would ask about is allowed; without this it is refused.
            launch.add(&["--auto"]);
        }
        launch.option("-m", agent.model.as_deref());
        launch.option("-s", start.session.as_ref().and_then(Conversation::resumed));
        launch.add_args(agent);
        launch.usual_env = QUIET.to_vec();
        launch.secret_env.extend(with_ours(start).map(|settings| (SETTINGS, settings)));
        Ok(launch)
    }

    fn happenings(&self, line: &Value, now: Timestamp) -> Vec<Happening> {
        happenings(line, now)
    }

    fn fault(&self, words: &str, _code: i32) -> Fault {
        if words.contains("Session not found") { Fault::Gone } else { Fault::Outside }
    }

    /// What opencode writes besides its lines when it rejects a call because no person can be asked.
    fn denied(&self, words: &str) -> Option<String> {
        let asked = |line: &str| {
            let (_, asked) = line.split_once("permission requested:")?;
            Some(one_line(asked.split_once("auto-rejecting")?.0.trim_end_matches([' ', ';'])))
        };
        words.lines().rev().find_map(asked)
    }

    /// Some models of its own provider need no login. Opencode picks one of those if no model is set.
    fn unseen_login(&self, agent: &Agent, root: &str, machine: &dyn Machine) -> Option<&'static str> {
        let needs = provider_in(agent.model.as_deref()).is_some_and(|provider| provider != OWN);
        (needs && !has_a_way_in(root, machine)).then_some("opencode auth login")
    }

    fn ledger(&self) -> Option<Ledger> {
        let (file, own) = ("opencode.json", ".opencode/piton.md");
        let servers = Spot::Member { below: &["mcp"], name: "piton" };
        let command = ["piton", "mcp", "--by", self.name()];
        let server = json!({ "type": "local", "command": command, "enabled": true });
        Some(Ledger {
            parts: vec![
                Part::whole(own, words()),
                Part::value(file, servers, server),
                Part::value(file, Spot::Item { of: &["instructions"] }, json!(own)),
            ],
            advice: "done; opencode has no hook for the end of a turn, so nothing reminds it to report",
        })
    }
}

/// What stands before the slash in a model.
fn provider_in(model: Option<&str>) -> Option<&str> {
    model?.split_once('/').map(|(provider, _)| provider)
}

/// The settings with Piton's among them: conversations stay here, whatever the person's files say, and its tools. `None`
/// if they cannot be added to.
fn with_ours(start: &Start<'_>) -> Option<String> {
    let put = |text: &str, below: &[&str], name: &str, value: &Value| {
        settings_file::put(text, Spot::Member { below, name }, value, &|_| false).ok()
    };
    let theirs = start.machine.variable(SETTINGS).unwrap_or_default();
    let quiet = put(&put(&theirs, &[], "share", &json!("disabled"))?, &[], "autoupdate", &json!(false))?;
    let Some(program) = start.server else { return Some(quiet) };
    let server = json!({ "type": "local", "command": [program, "mcp"], "enabled": true });
    put(&quiet, &["mcp"], SERVER, &server)
}

fn has_a_way_in(root: &str, machine: &dyn Machine) -> bool {
    let below_home = |path: &str| machine.variable("HOME").map(|home| below(&home, path));
    let data = machine.variable("XDG_DATA_HOME").or_else(|| below_home(".local/share"));
    let config = machine.variable("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    // Without a login it is an empty object.
    let is_in = data.is_some_and(|data| machine.text(&below(&data, "opencode/auth.json")).contains(':'));
    let folders = config.map(|config| below(&config, "opencode")).into_iter().chain([root.to_owned()]);
    let mut settings =
        folders.flat_map(|folder| ["opencode.json", "opencode.jsonc"].map(|file| below(&folder, file)));
    is_in
        || machine.has_key()
        || ["OPENCODE_CONFIG", SETTINGS, "OPENCODE_CONFIG_DIR"]
            .into_iter()
            .any(|name| machine.variable(name).is_some())
        || settings.any(|file| machine.text(&file).contains("\"provider\""))
        || machine.exists(&below(root, ".opencode"))
}

fn happenings(line: &Value, now: Timestamp) -> Vec<Happening> {
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
