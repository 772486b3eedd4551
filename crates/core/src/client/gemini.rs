//! Gemini CLI, `gemini -o stream-json`.
//!
//! Its exit status is an HTTP status cut to eight bits, so the last `result` counts. It reports retries only on stderr.

use serde_json::{Map, Value, json};

use super::json::{after, beginning, name, reason, session, text, tokens, wait_after, what};
use super::launch::{SERVER, below};
use super::ledger::{OF_MARKDOWN, SERVERS, hook, server, words};
use super::story::is_down;
use super::{
    Client, Credentials, End, Facts, Fault, Happening, Home, Launch, Ledger, Machine, OwnFile, Part, Start,
    Unread,
};
use crate::order::Pairs;
use crate::plan::{Agent, Permissions};
use crate::run::ByModel;
use crate::settings_file::{self, Spot};
use crate::time::Timestamp;

#[derive(Debug)]
pub(super) struct Gemini;

/// A single process, so that a signal reaches the one that does the work.
const QUIET: (&str, &str) = ("GEMINI_CLI_NO_RELAUNCH", "true");

/// What gemini does unless its settings say `false`, and the work does not need.
const QUIET_SETTINGS: [(&str, &str); 2] =
    [("privacy", "usageStatisticsEnabled"), ("general", "enableAutoUpdate")];

/// Without a policy, gemini offers no tool that changes anything while no person can be asked. And it would still ask
/// about commands that write into a file.
const NARROW: &str = "[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\", \"replace\"]\n\
                      decision = \"allow\"\npriority = 500\nallowRedirection = true\n";
const POLICY: &str = "policy.toml";

/// The variable that says where the settings of the machine are, which are stronger than all others, and where they are
/// without it.
const MACHINE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
const USUAL: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/GeminiCli/settings.json"
} else {
    "/etc/gemini-cli/settings.json"
};
const SETTINGS: &str = "gemini.json";

/// A limit that nothing enforces is an error: people rely on it.
const NO_TURNS: &str = "`max_turns` has no effect here: gemini takes settings from outside of its home only if root owns \
                        them and all folders above and nobody else may write to them, and Piton adds to the settings of \
                        the machine only if they hold no secret";

impl Client for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn facts(&self) -> Facts {
        Facts {
            checked_version: Some("0.61.0"),
            install: Some("npm install -g @google/gemini-cli"),
            has_stream: true,
            says_in_pieces: true,
            takes_session_name: true,
            takes_max_turns: true,
            own_arguments: &[
                "-o",
                "--output-format",
                "-p",
                "--prompt",
                "-i",
                "--prompt-interactive",
                "-m",
                "--model",
                "-r",
                "--resume",
                "--session-id",
                "--approval-mode",
                "-y",
                "--yolo",
            ],
            homes: &[Home { variable: "GEMINI_CLI_HOME", below: ".gemini", usual: ".gemini" }],
            credentials: Some(Credentials {
                variable: "GEMINI_CLI_HOME",
                usual: "",
                file: ".gemini/oauth_creds.json",
            }),
            ..Facts::UNKNOWN
        }
    }

    fn provider<'a>(&self, _model: Option<&'a str>) -> Option<&'a str> {
        Some("google")
    }

    fn start(&self, start: &Start<'_>) -> Result<Launch, String> {
        let agent = start.agent;
        let mut launch = start.launch(&["-o", "stream-json", "--skip-trust"]);
        match agent.permissions {
            Permissions::Narrow => {
                let text = NARROW.to_owned();
                launch.files.push(OwnFile { name: POLICY, text, only_if_roots: None });
                launch.option("--policy", Some(&below(start.folder, POLICY)));
            }
            Permissions::All => launch.option("--approval-mode", Some("yolo")),
        }
        launch.option("-m", agent.model.as_deref());
        if let Some(session) = start.session {
            launch.option(if session.resumes { "-r" } else { "--session-id" }, session.id);
        }
        launch.add_args(agent);
        launch.usual_env = vec![QUIET];
        // It leaves a report of every failed request among the temporary files.
        launch.own_temporary = true;
        let only_if_roots = agent.max_turns.map(|_| NO_TURNS);
        match (settings(start), only_if_roots) {
            (Some(text), _) => {
                launch.files.push(OwnFile { name: SETTINGS, text, only_if_roots });
                launch.env.push((MACHINE, below(start.folder, SETTINGS)));
            }
            (None, Some(why)) => return Err(why.to_owned()),
            (None, None) => {}
        }
        Ok(launch)
    }

    fn happenings(&self, line: &Value, now: Timestamp) -> Vec<Happening> {
        happenings(line, now)
    }

    fn fault(&self, _words: &str, code: i32) -> Fault {
        fault_of_exit(code)
    }

    fn unseen_login(&self, _: &Agent, root: &str, machine: &dyn Machine) -> Option<&'static str> {
        (!has_a_way_in(root, machine)).then_some("gemini")
    }

    fn ledger(&self) -> Option<Ledger> {
        let (file, of_hooks) = (".gemini/settings.json", Spot::Item { of: &["hooks", "AfterAgent"] });
        Some(Ledger {
            parts: vec![
                Part::block("GEMINI.md", OF_MARKDOWN, words()),
                Part::value(file, SERVERS, server(self.name())),
                Part::value(file, of_hooks, hook(self.name())),
            ],
            advice: "done; gemini reads .gemini/settings.json in folders that it trusts",
        })
    }
}

/// The machine's settings file with Piton's settings added. The only other files that gemini reads are the person's own.
/// `None` if the file cannot be read or added to, or holds a secret: Piton copies no secrets.
fn settings(start: &Start<'_>) -> Option<String> {
    let theirs = match start.machine.read(start.machine.variable(MACHINE).as_deref().unwrap_or(USUAL)) {
        Ok(theirs) => String::from_utf8(theirs).ok()?,
        Err(Unread::Missing) => String::new(),
        Err(Unread::Unreadable) => return None,
    };
    with_ours(&theirs, start).filter(|text| !start.machine.holds_secret(text))
}

/// `None` if these cannot be added to.
fn with_ours(theirs: &str, start: &Start<'_>) -> Option<String> {
    let put = |text: &str, below: &str, name: &str, value: &Value| {
        settings_file::put(text, Spot::Member { below: &[below], name }, value, &|_| false).ok()
    };
    let mut text = theirs.to_owned();
    for (below, name) in QUIET_SETTINGS {
        text = put(&text, below, name, &json!(false)).unwrap_or(text);
    }
    if let Some(turns) = start.agent.max_turns {
        text = put(&text, "model", "maxSessionTurns", &json!(turns))?;
    }
    if let Some(program) = start.server {
        let env: Map<String, Value> =
            start.attempt.iter().map(|name| ((*name).to_owned(), json!(format!("${name}")))).collect();
        let server = json!({ "command": program, "args": ["mcp"], "env": env, "trust": true });
        text = put(&text, "mcpServers", SERVER, &server)?;
    }
    Some(text)
}

fn has_a_way_in(root: &str, machine: &dyn Machine) -> bool {
    let home = machine.variable("GEMINI_CLI_HOME").or_else(|| machine.variable("HOME"));
    let above: Vec<&str> = home.as_deref().into_iter().chain([root]).collect();
    let has = |folder: &str| {
        ["oauth_creds.json", "gemini-credentials.json", ".env"]
            .iter()
            .any(|file| machine.is_file(&below(folder, file)))
    };
    let chosen = |folder: &str| {
        let text = machine.text(&below(folder, "settings.json"));
        ["selectedType", "selectedAuthType", "apiKey"].iter().any(|key| text.contains(key))
    };
    machine.has_key()
        || ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "CLOUD_SHELL"]
            .into_iter()
            .any(|name| machine.variable(name).is_some())
        || above.iter().map(|folder| below(folder, ".gemini")).any(|folder| has(&folder) || chosen(&folder))
        || above.iter().any(|folder| machine.is_file(&below(folder, ".env")))
}

fn happenings(line: &Value, now: Timestamp) -> Vec<Happening> {
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
            Some(models) => models.iter().map(|(model, used)| (name(model), usage(used))).into_map(),
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
                let until = wait_after(words, &WAITS).map(|wait| after(now, wait));
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
fn fault_of_exit(code: i32) -> Fault {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these settings, or whose settings cannot be read.
    #[derive(Debug)]
    struct With(Option<&'static str>);

    impl Machine for With {
        fn variable(&self, _: &str) -> Option<String> {
            None
        }

        fn variables(&self) -> Vec<String> {
            Vec::new()
        }

        fn inherits(&self, _: &str) -> bool {
            false
        }

        fn read(&self, path: &str) -> Result<Vec<u8>, Unread> {
            assert_eq!(path, USUAL);
            self.0.map(|text| text.as_bytes().to_vec()).ok_or(Unread::Unreadable)
        }

        fn is_file(&self, _: &str) -> bool {
            false
        }

        fn exists(&self, _: &str) -> bool {
            false
        }

        fn holds_secret(&self, _: &str) -> bool {
            false
        }

        fn git_folders(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn started(machine: &With, max_turns: Option<u32>) -> Result<Launch, String> {
        let agent = Agent { adapter: super::super::client("gemini"), max_turns, ..Agent::default() };
        let (folder, prompt) = ("/job", "/job/prompt.md");
        let (session, server, hook) = (None, None, None);
        let start = Start {
            agent: &agent,
            folder,
            prompt,
            session,
            server,
            hook,
            attempt: &[],
            fenced: false,
            machine,
        };
        agent.adapter.start(&start)
    }

    #[test]
    fn a_bound_on_turns_is_among_the_settings_or_it_does_not_start() {
        let launch = started(&With(Some("{\"model\": {\"name\": \"m\"}}")), Some(7)).expect("a launch");
        let file = launch.files.iter().find(|file| file.name == SETTINGS).expect("its settings");
        assert!(file.text.contains("\"name\": \"m\", \"maxSessionTurns\": 7"), "{}", file.text);
        assert_eq!(file.only_if_roots, Some(NO_TURNS));
        assert_eq!(started(&With(None), Some(7)).map(drop), Err(NO_TURNS.to_owned()));
        assert!(started(&With(None), None).is_ok());
    }
}
