//! The tools: each is a command of the ledger under a name of its own. What a tool takes is read off the command's
//! arguments, and a call runs that very command, so there is nothing that one can do and the other cannot.

use std::any::TypeId;

use clap::{Arg, ArgAction};
use piton_engine::agent::Attempt;
use serde_json::{Map, Value, json};

use crate::{commands, own_command, ui};

/// No text is longer: systems do not take a longer argument.
const LONGEST: usize = 64 * 1024;
/// An answer beyond this fills a client's memory with little use.
const LARGEST: usize = 256 * 1024;

/// Arguments that a client must not set: the project, its own name, and options that do not end or do not give an
/// answer.
const OURS: [&str; 7] = ["project_path", "journal", "by", "held_while", "follow", "raw", "help"];
/// From inside an attempt there is only one run.
const OUTSIDE: [&str; 2] = ["run", "plan"];

pub(super) struct Tool {
    pub(super) name: &'static str,
    /// What is typed for it.
    words: &'static [&'static str],
    need: Need,
    effect: Effect,
}

/// Which clients need a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Every agent.
    Agents,
    /// A client that drives a run.
    Clients,
}

/// What a tool does to a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Changes,
}

const fn tool(name: &'static str, words: &'static [&'static str], need: Need, effect: Effect) -> Tool {
    Tool { name, words, need, effect }
}

const TOOLS: &[Tool] = &[
    tool("orient", &["orient"], Need::Agents, Effect::Reads),
    // With a plan it may make a run.
    tool("next", &["next"], Need::Agents, Effect::Changes),
    tool("start", &["start"], Need::Agents, Effect::Changes),
    tool("report", &["report"], Need::Agents, Effect::Changes),
    tool("journal", &["journal", "add"], Need::Agents, Effect::Changes),
    tool("guardrail", &["guardrail", "add"], Need::Agents, Effect::Changes),
    tool("status", &["status"], Need::Agents, Effect::Reads),
    tool("why", &["why"], Need::Agents, Effect::Reads),
    tool("guardrails", &["guardrail", "list"], Need::Clients, Effect::Reads),
    tool("guardrail_remove", &["guardrail", "remove"], Need::Clients, Effect::Changes),
    tool("verify", &["verify"], Need::Clients, Effect::Changes),
    tool("progress", &["progress"], Need::Clients, Effect::Reads),
    tool("log", &["log"], Need::Clients, Effect::Reads),
    tool("queue", &["queue"], Need::Clients, Effect::Reads),
    tool("complete", &["complete"], Need::Clients, Effect::Reads),
    tool("context", &["context"], Need::Clients, Effect::Reads),
    tool("output", &["output"], Need::Clients, Effect::Reads),
    tool("diff", &["diff"], Need::Clients, Effect::Reads),
    tool("ops", &["ops"], Need::Clients, Effect::Reads),
    tool("prompt", &["prompt"], Need::Clients, Effect::Reads),
    tool("add", &["add"], Need::Clients, Effect::Changes),
    tool("stop", &["stop"], Need::Clients, Effect::Changes),
    tool("retry", &["retry"], Need::Clients, Effect::Changes),
    tool("reset", &["reset"], Need::Clients, Effect::Changes),
    tool("skip", &["skip"], Need::Clients, Effect::Changes),
    tool("answer", &["answer"], Need::Clients, Effect::Changes),
    tool("unblock", &["unblock"], Need::Clients, Effect::Changes),
    tool("raise", &["raise"], Need::Clients, Effect::Changes),
    tool("unpark", &["unpark"], Need::Clients, Effect::Changes),
    // It can mark things as seen.
    tool("inbox", &["inbox"], Need::Clients, Effect::Changes),
    tool("checks", &["checks"], Need::Clients, Effect::Reads),
    tool("cost", &["cost"], Need::Clients, Effect::Reads),
    tool("gate", &["gate"], Need::Clients, Effect::Changes),
    tool("batch", &["batch"], Need::Clients, Effect::Changes),
    tool("resume_point", &["resume-point"], Need::Clients, Effect::Reads),
];

pub(super) fn offered(all: bool) -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| all || tool.need == Need::Agents).collect()
}

impl Tool {
    fn command(&self) -> clap::Command {
        let find = |command: clap::Command, word: &&str| {
            command.find_subcommand(word).expect("a tool's words are a command's").clone()
        };
        self.words.iter().fold(commands::command_line(), find)
    }

    pub(super) fn described(&self, is_inside: bool) -> Value {
        let command = self.command();
        let mut properties = Map::new();
        let mut required = Vec::new();
        for arg in arguments(&command, is_inside) {
            let name = arg.get_id().as_str();
            properties.insert(name.to_owned(), described(arg));
            if arg.is_required_set() && !(is_inside && name == "task") {
                required.push(name);
            }
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        json!({
            "name": self.name,
            "description": about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": { "readOnlyHint": self.effect == Effect::Reads, "destructiveHint": false, "openWorldHint": false },
        })
    }

    /// What is answered, and whether that is an error.
    pub(super) fn call(
        &self,
        given: &Map<String, Value>,
        by: &str,
        attempt: Option<&Attempt>,
    ) -> (String, bool) {
        let words = match self.typed(given, attempt) {
            Ok(words) => words,
            Err(why) => return (format!("error: {why}"), true),
        };
        // The server ends with its client. Then the client does not work on the task any more.
        let server = std::process::id().to_string();
        match own_command::run(&words, &[("PITON_HOLDER", by), ("PITON_HOLDER_PID", &server)]) {
            // Other codes than these say how a run stands, which is an answer.
            Ok(answer) => (as_answer(&answer.text), matches!(answer.code, None | Some(1 | 2))),
            Err(failure) => (format!("error: {}", failure.message), true),
        }
    }

    /// The same as words on a command line. No value can be mistaken for an option: it stands behind its option's `=`,
    /// or behind `--`.
    fn typed(&self, given: &Map<String, Value>, attempt: Option<&Attempt>) -> Result<Vec<String>, String> {
        let command = self.command();
        let known: Vec<&Arg> = arguments(&command, attempt.is_some()).collect();
        if let Some(strange) = given.keys().find(|name| known.iter().all(|arg| arg.get_id() != name.as_str()))
        {
            let names: Vec<&str> = known.iter().map(|arg| arg.get_id().as_str()).collect();
            let strange: String = ui::plain(strange).chars().take(80).collect();
            return Err(format!("`{}` does not take `{strange}`, but {}", self.name, names.join(", ")));
        }
        let mut words: Vec<String> = self.words.iter().map(ToString::to_string).collect();
        let mut places = Vec::new();
        let mut missing = None;
        for arg in known {
            let name = arg.get_id().as_str();
            let own = || attempt.filter(|_| name == "task").map(|attempt| json!(attempt.task));
            let value = given.get(name).filter(|value| !value.is_null()).cloned().or_else(own);
            let values = values(arg, value.as_ref()).map_err(|why| format!("`{name}` {why}"))?;
            match arg.get_long() {
                _ if arg.is_positional() => {
                    if values.is_empty() && arg.is_required_set() {
                        return Err(format!("`{name}` is missing"));
                    } else if values.is_empty() {
                        missing = missing.or(Some(name));
                    } else if let Some(missing) = missing {
                        return Err(format!("`{name}` needs `{missing}`"));
                    }
                    places.extend(values);
                }
                Some(long) if matches!(arg.get_action(), ArgAction::SetTrue) => {
                    words.extend(values.first().map(|_| format!("--{long}")));
                }
                long => {
                    let long = long.unwrap_or(name);
                    words.extend(values.iter().map(|value| format!("--{long}={value}")));
                }
            }
        }
        words.push("--".to_owned());
        words.extend(places);
        Ok(words)
    }
}

fn arguments(command: &clap::Command, is_inside: bool) -> impl Iterator<Item = &Arg> {
    let is_ours = move |name: &str| OURS.contains(&name) || (is_inside && OUTSIDE.contains(&name));
    command.get_arguments().filter(move |arg| !is_ours(arg.get_id().as_str()))
}

fn is_number(arg: &Arg) -> bool {
    let kind = arg.get_value_parser().type_id();
    [TypeId::of::<usize>(), TypeId::of::<u32>(), TypeId::of::<u64>()].into_iter().any(|number| kind == number)
}

/// What an argument takes, as a JSON Schema.
fn described(arg: &Arg) -> Value {
    let choices: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let one = match arg.get_action() {
        ArgAction::SetTrue => json!({ "type": "boolean" }),
        _ if is_number(arg) => json!({ "type": "integer", "minimum": 0 }),
        _ if !choices.is_empty() => json!({ "type": "string", "enum": choices }),
        _ => json!({ "type": "string" }),
    };
    let mut described = match arg.get_action() {
        ArgAction::Append => json!({ "type": "array", "items": one }),
        _ => one,
    };
    let help = arg.get_help().map(ToString::to_string);
    let help = help.or_else(|| match arg.get_id().as_str() {
        "task" => Some("The task's id".to_owned()),
        "json" => Some("Answer with JSON".to_owned()),
        _ => None,
    });
    described["description"] = json!(help.unwrap_or_default());
    described
}

/// What was given for an argument, in words.
fn values(arg: &Arg, given: Option<&Value>) -> Result<Vec<String>, String> {
    let text = |value: &Value| match value {
        Value::String(text) if text.contains('\0') => Err("must not hold the character NUL".to_owned()),
        Value::String(text) if text.len() > LONGEST => {
            Err(format!("is longer than {LONGEST} bytes: write it into a file, and name that"))
        }
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if is_number(arg) => Ok(number.to_string()),
        _ if is_number(arg) => Err("has to be a number".to_owned()),
        _ => Err("has to be a text".to_owned()),
    };
    match (arg.get_action(), given) {
        (_, None) | (ArgAction::SetTrue, Some(Value::Bool(false))) => Ok(Vec::new()),
        (ArgAction::SetTrue, Some(Value::Bool(true))) => Ok(vec![String::new()]),
        (ArgAction::SetTrue, Some(_)) => Err("has to be true or false".to_owned()),
        (ArgAction::Append, Some(Value::Array(all))) => all.iter().map(text).collect(),
        (ArgAction::Append, Some(value @ Value::String(_))) => Ok(vec![text(value)?]),
        (ArgAction::Append, Some(_)) => Err("has to be a list".to_owned()),
        (_, Some(value)) => Ok(vec![text(value)?]),
    }
}

/// An answer as clients understand it: prose or an object. Some take any other JSON for a mistake.
fn as_answer(text: &str) -> String {
    if text.is_empty() {
        return "done".to_owned();
    }
    if text.len() > LARGEST {
        let mut end = LARGEST;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        return format!("{}\n… {} bytes left out", &text[..end], text.len() - end);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) | Err(_) => text.to_owned(),
        Ok(value) => json!({ "answer": value }).to_string(),
    }
}
