//! Codex, `codex exec --json`.
//!
//! Errors are sentences without a code. `error` lines are mostly warnings; only `turn.failed` ends a turn. Usage keeps
//! counting when a conversation is resumed.

use std::path::Path;

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::json::{after, beginning, list, name, one_line, reason, session, text, tokens, wait_after, what};
use super::launch::{SERVER, below};
use super::ledger::{OF_MARKDOWN, OF_TOML, words};
use super::story::is_down;
use super::{
    Client, Conversation, Credentials, End, Facts, Fault, Happening, Home, Launch, Ledger, Login, Machine,
    Part, Start, StopBy,
};
use crate::plan::{Agent, Permissions};
use crate::run::ByModel;
use crate::time::Timestamp;

#[derive(Debug)]
pub(super) struct Codex;

/// No servers except the model's, and no endless waiting for one that is missing.
const QUIET: [&str; 4] = [
    "analytics.enabled=false",
    "features.plugins=false",
    "features.unbounded_connection_retries=false",
    "check_for_update_on_startup=false",
];

impl Client for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn facts(&self) -> Facts {
        Facts {
            checked_version: Some("0.166.0"),
            install: Some("npm install -g @openai/codex"),
            has_stream: true,
            counts_on: true,
            can_be_asked: true,
            own_arguments: &[
                "--json",
                "-m",
                "--model",
                "-C",
                "--cd",
                "-s",
                "--sandbox",
                "--dangerously-bypass-approvals-and-sandbox",
                "-",
            ],
            homes: &[Home { variable: "CODEX_HOME", below: "", usual: ".codex" }],
            credentials: Some(Credentials { variable: "CODEX_HOME", usual: ".codex", file: "auth.json" }),
            ..Facts::UNKNOWN
        }
    }

    fn provider<'a>(&self, _model: Option<&'a str>) -> Option<&'a str> {
        Some("openai")
    }

    fn start(&self, start: &Start<'_>) -> Result<Launch, String> {
        let (agent, machine) = (start.agent, start.machine);
        let resumed = start.session.as_ref().and_then(Conversation::resumed);
        let mut launch = start.launch(if resumed.is_some() { &["exec", "resume"] } else { &["exec"] });
        launch.add(&["--json", "--skip-git-repo-check"]);
        let mut set = |setting: &str| launch.add(&["-c", setting]);
        let own = home(machine).map(|home| machine.text(&below(&home, "config.toml"))).unwrap_or_default();
        let is_own = |setting: &&str| {
            // What the person has set about retries stays.
            let name = setting.split('=').next().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
            name == "unbounded_connection_retries" && own.contains(name)
        };
        QUIET.into_iter().filter(|setting| !is_own(setting)).for_each(&mut set);
        if let Some(program) = start.server {
            set(&format!(
                "mcp_servers.{SERVER}={{command={},args=[\"mcp\"],env_vars={},default_tools_approval_mode=\"approve\"}}",
                toml(program),
                toml(start.attempt)
            ));
        }
        if let Some(line) = start.hook {
            set(&format!("hooks.Stop=[{{hooks=[{{type=\"command\",command={}}}]}}]", toml(line)));
        }
        let own_sandbox = agent.permissions == Permissions::Narrow && !start.fenced;
        match agent.permissions {
            Permissions::Narrow if own_sandbox => {
                // Beside the worktree: where `piton report` writes, and of git what a commit needs.
                let folders: Vec<String> =
                    [start.folder.to_owned()].into_iter().chain(machine.git_folders()).collect();
                set("sandbox_mode=\"workspace-write\"");
                set(&format!("sandbox_workspace_write.writable_roots={}", toml(folders)));
            }
            // No process may make namespaces behind a fence, so codex cannot set up its own sandbox there. One sandbox
            // is enough.
            Permissions::Narrow => set("sandbox_mode=\"danger-full-access\""),
            Permissions::All => launch.add(&["--dangerously-bypass-approvals-and-sandbox"]),
        }
        if start.hook.is_some() {
            // Without it, hooks that no person has looked at are passed over without a word.
            launch.add(&["--dangerously-bypass-hook-trust"]);
        }
        launch.option("-m", agent.model.as_deref());
        launch.add_args(agent);
        launch.words.extend(resumed.map(str::to_owned));
        // The prompt is on standard input.
        launch.add(&["-"]);
        // Codex reports the end of a limit in local time, without the time zone.
        launch.env.push(("TZ", "UTC".to_owned()));
        // Without its own sandbox nothing else keeps it.
        launch.needs_fence = agent.permissions == Permissions::Narrow && start.fenced;
        launch.own_temporary = own_sandbox && is_home_temporary(machine);
        // At a TERM it dies and leaves what its tools had started.
        launch.stop = StopBy::Int;
        Ok(launch)
    }

    fn happenings(&self, line: &Value, now: Timestamp) -> Vec<Happening> {
        happenings(line, now)
    }

    fn fault(&self, words: &str, code: i32) -> Fault {
        fault_of_words(words, code)
    }

    fn login(&self) -> Option<Login> {
        Some(Login { question: &["login", "status"], says_logged_out, command: "codex login" })
    }

    /// Codex reports only its own login. It also takes a key, and other providers.
    fn has_another_way_in(&self, agent: &Agent, machine: &dyn Machine) -> bool {
        let settings =
            home(machine).map(|home| machine.text(&below(&home, "config.toml"))).unwrap_or_default();
        let names = |text: &str| ["provider", "oss", "profile"].iter().any(|word| text.contains(word));
        ["CODEX_API_KEY", "OPENAI_API_KEY"].into_iter().any(|name| machine.variable(name).is_some())
            || names(&settings)
            || agent.args.iter().any(|word| names(word))
    }

    fn ledger(&self) -> Option<Ledger> {
        let name = self.name();
        let settings = format!(
            "[mcp_servers.piton]\ncommand = \"piton\"\nargs = [\"mcp\", \"--by\", \"{name}\"]\n\
             # Checks may take their time.\ntool_timeout_sec = 3600\n\n\
             [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n\
             command = \"piton hook stop --by {name}\"\n"
        );
        Some(Ledger {
            parts: vec![
                Part::block("AGENTS.md", OF_MARKDOWN, words()),
                Part::block(".codex/config.toml", OF_TOML, settings),
            ],
            advice: "done; codex reads .codex/config.toml in projects that it trusts, and hooks once they are trusted",
        })
    }
}

fn home(machine: &dyn Machine) -> Option<String> {
    machine.variable("CODEX_HOME").or_else(|| Some(below(&machine.variable("HOME")?, ".codex")))
}

/// Its sandbox does not work while its home lies in the folder for temporary files, and the run ends with 0 all the same.
fn is_home_temporary(machine: &dyn Machine) -> bool {
    let temporary = machine.variable("TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    home(machine).is_some_and(|home| Path::new(&home).starts_with(temporary))
}

/// TOML and JSON write texts and lists of them alike.
fn toml(value: impl Into<Value>) -> String {
    value.into().to_string()
}

/// By what the version says that was checked.
fn says_logged_out(said: &str) -> bool {
    said.lines().any(|line| line.trim() == "Not logged in")
}

fn happenings(line: &Value, now: Timestamp) -> Vec<Happening> {
    let item = line.get("item").unwrap_or(&Value::Null);
    match text(line, "type") {
        "thread.started" => {
            session(line, "thread_id").map(|id| Happening::Session { id }).into_iter().collect()
        }
        "item.started" if is_call(item) => vec![call(item)],
        "item.completed" if is_call(item) => {
            let failed = text(item, "status") != "completed";
            let result = Happening::ToolResult { failed, text: came_back(item) };
            denied(item).into_iter().chain([result]).collect()
        }
        "item.completed" if text(item, "type") == "agent_message" => {
            vec![Happening::Message { of: text(item, "id").to_owned(), text: text(item, "text").to_owned() }]
        }
        "error" => vec![Happening::Retry { reason: reason(text(line, "message")) }],
        "turn.completed" => {
            let used = line.get("usage").unwrap_or(&Value::Null);
            let count = |key: &str| used.get(key).and_then(Value::as_u64);
            let usage =
                tokens(&[count("input_tokens")], count("cached_input_tokens"), &[count("output_tokens")]);
            let told = usage.input.is_some().then(|| Happening::Usage {
                so_far: true,
                // Which model it was is not said.
                of: ByModel::from([(String::new(), usage)]),
            });
            told.into_iter().chain([Happening::End(End::Finished)]).collect()
        }
        "turn.failed" => {
            let words = line.get("error").map(|error| text(error, "message")).unwrap_or_default();
            let fault = fault(words);
            let limit = match fault {
                Fault::Limit => Some(try_again_at(words, now)),
                Fault::Busy => Some(wait_after(words, &["try again in "]).map(|wait| after(now, wait))),
                _ => None,
            };
            let limit = limit.map(|until| Happening::Limit { until, model: limited(words) });
            let end = Happening::End(End::Broken { fault, reason: reason(words) });
            limit.into_iter().chain([end]).collect()
        }
        _ => Vec::new(),
    }
}

fn is_call(item: &Value) -> bool {
    matches!(
        text(item, "type"),
        "command_execution" | "file_change" | "mcp_tool_call" | "web_search" | "collab_tool_call"
    )
}

fn call(item: &Value) -> Happening {
    let tool = match text(item, "tool") {
        "" => text(item, "type"),
        tool => tool,
    };
    Happening::ToolCall { tool: name(tool), what: called_with(item) }
}

fn called_with(item: &Value) -> String {
    match text(item, "type") {
        "command_execution" => {
            let line = text(item, "command");
            // `/bin/bash -lc '…'` is its own, the rest the agent's.
            let words = shell_words::split(line).unwrap_or_default();
            let own = matches!(&words[..], [shell, flag, _] if shell.ends_with("sh") && flag == "-lc");
            one_line(if own { &words[2] } else { line })
        }
        "file_change" => {
            let paths: Vec<&str> = list(item, "changes").iter().map(|change| text(change, "path")).collect();
            one_line(&paths.join(" "))
        }
        "web_search" => one_line(text(item, "query")),
        _ => what(&item["arguments"]),
    }
}

/// A call that needs an approval. No person is there to give it.
fn denied(item: &Value) -> Option<Happening> {
    let words = text(&item["error"], "message");
    let declined = text(item, "status") == "declined" || words.contains("requires approval");
    let tool = [text(item, "tool"), text(item, "type")].into_iter().find(|tool| !tool.is_empty());
    let what = format!("{} {}", name(tool.unwrap_or_default()), called_with(item));
    declined.then(|| Happening::Denied { what: what.trim().to_owned() })
}

/// What a command printed, or a server of tools answered.
fn came_back(item: &Value) -> String {
    let answer = list(&item["result"], "content").iter().map(|part| text(part, "text"));
    let error = text(&item["error"], "message");
    let parts = [text(item, "aggregated_output"), error].into_iter().chain(answer);
    beginning(&parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

/// What a failed turn complains about. These are the client's own words: a tool's output never comes here.
fn fault(words: &str) -> Fault {
    let words = words.replace('’', "'");
    let has = |part: &str| words.contains(part);
    let refused = ["status 401", "status 402", "status 403"].iter().any(|status| has(status));
    let wrong = ["status 400", "status 404"].iter().any(|status| has(status));
    // An invalid request is reported as the server's own JSON.
    let own_json = words.trim_start().starts_with('{') && has("invalid_request_error");
    let busy = ["status: 429", "status 429", "Rate limit reached", "rate_limit_exceeded"];
    if has("flagged for ") || has("cyber_policy") || has("usage policy") {
        Fault::Declined
    } else if has("hit your usage limit") {
        Fault::Limit
    } else if busy.iter().any(|word| has(word)) && !has("insufficient_quota") {
        Fault::Busy
    } else if has("context window") {
        Fault::Own
    } else if refused
        || has("Quota exceeded")
        || has("insufficient_quota")
        || has("billing")
        || has("refresh token")
    {
        Fault::Refused
    } else if wrong
        || own_json
        || has("does not exist")
        || has("is not supported")
        || has("Missing environment variable")
    {
        Fault::Person
    } else if is_down(&words) || has("status 5") || has("status: 5") {
        Fault::Down
    } else {
        Fault::Outside
    }
}

/// `You've hit your usage limit for GPT-5.3-Codex-Spark. Switch to another model now, …`: the model.
fn limited(words: &str) -> Option<String> {
    let (_, rest) = words.split_once("hit your usage limit for ")?;
    let (model, _) = rest.split_once(". Switch to another model")?;
    Some(name(model))
}

/// What stands outside of the stream.
fn fault_of_words(words: &str, code: i32) -> Fault {
    let has = |part: &str| words.contains(part);
    if has("no rollout found for thread id") {
        Fault::Gone
    } else if code == 2 || has("Not inside a trusted directory") || has("Error loading config") {
        Fault::Person
    } else {
        Fault::Outside
    }
}

/// How far behind a minute that is named without a day may be: the client took its time to end, or its server has
/// another clock.
const LATE: SignedDuration = SignedDuration::from_mins(10);

/// `… or try again at 10:43 PM.`, `… at Nov 20th, 2026 11:49 AM.` The client is started in UTC, so this is UTC. It names
/// a minute, and in that minute the limit may hold still: it is over with the end of it.
fn try_again_at(words: &str, ended: Timestamp) -> Option<Timestamp> {
    let (_, at) = words.rsplit_once("try again at ").or_else(|| words.rsplit_once("Try again at "))?;
    let at = at.trim().trim_end_matches('.');
    let ended = jiff::Timestamp::from_millisecond(ended.0).ok()?;
    let over = |minute: DateTime| {
        minute.to_zoned(TimeZone::UTC).ok()?.timestamp().checked_add(SignedDuration::from_mins(1)).ok()
    };
    let until = match Time::strptime("%I:%M %p", at) {
        Ok(time) => {
            let today = ended.to_zoned(TimeZone::UTC).date();
            let days = [today.yesterday(), Ok(today), today.tomorrow()];
            // Told without a day it is the next time the clock shows this.
            let mut ends = days.into_iter().filter_map(|day| over(day.ok()?.to_datetime(time)));
            ends.find(|end| end.duration_since(ended) >= -LATE)?
        }
        Err(_) => {
            let plain =
                ["st,", "nd,", "rd,", "th,"].iter().fold(at.to_owned(), |at, end| at.replacen(end, ",", 1));
            over(DateTime::strptime("%b %d, %Y %I:%M %p", plain).ok()?)?
        }
    };
    // If that time has passed, the limit is probed again, but not at once.
    let soonest = if until < ended { ended.checked_add(SignedDuration::from_mins(1)).ok()? } else { until };
    Some(Timestamp(soonest.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str, now: &str) -> Option<String> {
        try_again_at(words, Timestamp::parse(now).expect("a time")).map(|until| until.to_string())
    }

    #[test]
    fn only_its_own_word_logs_it_out() {
        assert!(says_logged_out("WARNING: no aliases\nNot logged in\n"));
        assert!(!says_logged_out("Logged in using ChatGPT\n"));
        assert!(!says_logged_out("error: unrecognized subcommand 'status'"));
    }

    #[test]
    fn the_end_of_a_limit_is_read_from_a_sentence() {
        let read = |words: &str| read(words, "2026-11-15T20:43:00Z");
        let today = "You’ve hit your usage limit. Visit https://x or try again at 10:43 PM.";
        assert_eq!(read(today).as_deref(), Some("2026-11-15T22:44:00Z"));
        assert_eq!(read("try again at 1:05 AM.").as_deref(), Some("2026-11-16T01:06:00Z"));
        let later = "or try again at Nov 20th, 2026 11:49 AM.";
        assert_eq!(read(later).as_deref(), Some("2026-11-20T11:50:00Z"));
        assert_eq!(read("or try again at Aug 1st, 2027 12:00 AM.").as_deref(), Some("2027-08-01T00:01:00Z"));
        assert_eq!(read("You’ve hit your usage limit. Try again later."), None);
        assert_eq!(read("try again at the end of time"), None);
    }

    #[test]
    fn the_minute_in_which_a_limit_ends_is_not_that_of_tomorrow() {
        let at = |words: &str, now: &str| read(&format!("try again at {words}."), now).expect("a time");
        assert_eq!(at("10:43 PM", "2026-11-15T22:43:05Z"), "2026-11-15T22:44:00Z");
        // A client that took its time to end, or whose server has another clock: one more look soon.
        assert_eq!(at("10:43 PM", "2026-11-15T22:44:10Z"), "2026-11-15T22:45:10Z");
        assert_eq!(at("11:59 PM", "2026-11-16T00:00:05Z"), "2026-11-16T00:01:05Z");
        assert_eq!(at("Nov 15th, 2026 10:43 PM", "2026-11-15T22:44:10Z"), "2026-11-15T22:45:10Z");
        assert_eq!(at("10:43 PM", "2026-11-15T23:43:05Z"), "2026-11-16T22:44:00Z");
    }
}
