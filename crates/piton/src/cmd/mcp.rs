//! `piton mcp`: the ledger as tools, for clients that speak the Model Context Protocol over standard input and output.
//!
//! Of the protocol only what tools need is here: one JSON object to a line, four methods. Nothing is remembered between
//! two messages, so a client may begin with any of them. Unknown fields are ignored, as clients add their own.

mod tools;

use std::io::{self, BufRead, Read};
use std::sync::mpsc::sync_channel;
use std::thread;

use piton_engine::agent::Attempt;
use serde_json::{Map, Value, json};

use super::{Exit, FINE};
use crate::args::Mcp;
use crate::failure::{Failure, Outcome};
use crate::{find, ui};
use tools::Tool;

/// The revision without a handshake: each request says for itself that it is of this one.
const MODERN: &str = "2026-07-28";
/// Those with `initialize`, the newest first: it is offered to whoever asks for one that we do not speak.
const WITH_HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// No message is longer: the longest there are carry a report.
const LONGEST: usize = 4 * 1024 * 1024;
/// So many calls may wait for the one that runs; then reading waits too.
const WAITING: usize = 64;

const NOT_JSON: i32 = -32700;
const NO_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const NOT_SPOKEN: i32 = -32022;

pub(crate) fn mcp(args: &Mcp) -> Outcome<Exit> {
    let attempt = find::attempt()?;
    let desk = Desk { tools: tools::offered(args.all), by: super::ledger::holder(&args.by.by)?, attempt };
    let send = |answer: &Value| ui::answer_raw(format!("{answer}\n").as_bytes());
    serve(io::stdin().lock(), &send, &desk).map_err(Failure::io("cannot read what the client says"))?;
    Ok(FINE)
}

/// What is offered, and to whom.
struct Desk {
    tools: Vec<&'static Tool>,
    by: String,
    attempt: Option<Attempt>,
}

/// Answer until nobody speaks any more. Calls are carried out one after the other in the order they came, since each may
/// rest on the one before; everything else is answered at once.
fn serve(mut input: impl BufRead, send: &(dyn Fn(&Value) + Sync), desk: &Desk) -> io::Result<()> {
    thread::scope(|scope| {
        let (calls, waiting) = sync_channel::<Call>(WAITING);
        scope.spawn(move || waiting.into_iter().for_each(|call| send(&call.carry_out(desk))));
        let mut line = Vec::new();
        while let Some(is_whole) = next_line(&mut input, &mut line)? {
            let heard = match is_whole {
                true => hear(&line, desk),
                false => Heard::Answer(refusal(&Value::Null, NO_REQUEST, "this message is too long")),
            };
            match heard {
                Heard::Nothing => {}
                Heard::Answer(answer) => send(&answer),
                // The other end lives as long as this one.
                Heard::Call(call) => drop(calls.send(call)),
            }
        }
        Ok(())
    })
}

/// Read a line; `None` at the end, `false` if it was too long to be kept.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.len() < LONGEST || line.ends_with(b"\n") {
        return Ok(Some(true));
    }
    line.clear();
    input.skip_until(b'\n')?;
    Ok(Some(false))
}

enum Heard {
    Nothing,
    Answer(Value),
    Call(Call),
}

struct Call {
    id: Value,
    modern: bool,
    tool: &'static Tool,
    arguments: Map<String, Value>,
}

impl Call {
    fn carry_out(&self, desk: &Desk) -> Value {
        let (text, failed) = self.tool.call(&self.arguments, &desk.by, desk.attempt.as_ref());
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": failed });
        answer(&self.id, result, self.modern)
    }
}

fn hear(line: &[u8], desk: &Desk) -> Heard {
    if line.trim_ascii().is_empty() {
        return Heard::Nothing;
    }
    let refuse = |id: &Value, code, why: &str| Heard::Answer(refusal(id, code, why));
    let message = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(message)) => message,
        Ok(_) => return refuse(&Value::Null, NO_REQUEST, "a message is one JSON object"),
        Err(error) => return refuse(&Value::Null, NOT_JSON, &error.to_string()),
    };
    let Some(method) = message.get("method") else {
        // We ask nothing, so an answer is to somebody else's question.
        let is_answer = message.contains_key("result") || message.contains_key("error");
        return if is_answer {
            Heard::Nothing
        } else {
            refuse(&Value::Null, NO_REQUEST, "it names no method")
        };
    };
    let id = match message.get("id") {
        // Of what clients tell without a question, nothing concerns us.
        None => return Heard::Nothing,
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        Some(_) => return refuse(&Value::Null, NO_REQUEST, "an id is a text or a number"),
    };
    let nothing = Value::Null;
    let params = message.get("params").unwrap_or(&nothing);
    let version = params.pointer("/_meta").and_then(|meta| meta.get(VERSION)).and_then(Value::as_str);
    let modern = version == Some(MODERN);
    match (method.as_str().unwrap_or_default(), version) {
        ("initialize", _) => Heard::Answer(answer(&id, desk.introduction(params), false)),
        (_, Some(version)) if !modern && !WITH_HANDSHAKE.contains(&version) => {
            let mut no = refusal(&id, NOT_SPOKEN, "this version of the protocol is not spoken here");
            no["error"]["data"] = json!({ "requested": version, "supported": versions() });
            Heard::Answer(no)
        }
        ("server/discover", _) => Heard::Answer(answer(&id, desk.discovery(), true)),
        ("ping", _) => Heard::Answer(answer(&id, json!({}), modern)),
        ("tools/list", _) => Heard::Answer(answer(&id, desk.list(modern), modern)),
        ("tools/call", _) => {
            let name = params["name"].as_str().unwrap_or_default();
            let arguments = match &params["arguments"] {
                Value::Null => Map::new(),
                Value::Object(arguments) => arguments.clone(),
                _ => return refuse(&id, BAD_PARAMS, "arguments are an object"),
            };
            match desk.tools.iter().find(|tool| tool.name == name) {
                Some(tool) => Heard::Call(Call { id, modern, tool, arguments }),
                None => refuse(&id, BAD_PARAMS, &format!("there is no tool `{}`", shortened(name))),
            }
        }
        (method, _) => refuse(&id, NO_METHOD, &format!("there is no method `{}`", shortened(method))),
    }
}

impl Desk {
    fn introduction(&self, params: &Value) -> Value {
        let wanted = params["protocolVersion"].as_str();
        let spoken = WITH_HANDSHAKE.into_iter().find(|version| wanted == Some(version));
        json!({
            "protocolVersion": spoken.unwrap_or(WITH_HANDSHAKE[0]),
            "capabilities": { "tools": {} },
            "serverInfo": who(),
            "instructions": self.instructions(),
        })
    }

    fn discovery(&self) -> Value {
        json!({
            "supportedVersions": versions(),
            "capabilities": { "tools": {} },
            "instructions": self.instructions(),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": who() },
        })
    }

    fn list(&self, modern: bool) -> Value {
        let is_inside = self.attempt.is_some();
        let mut list =
            json!({ "tools": self.tools.iter().map(|tool| tool.described(is_inside)).collect::<Vec<_>>() });
        if modern {
            list["ttlMs"] = json!(0);
            list["cacheScope"] = json!("private");
        }
        list
    }

    fn instructions(&self) -> String {
        match &self.attempt {
            Some(Attempt { task, .. }) => format!(
                "You work on the task {task}. `orient` tells what you have to know. Before you end, `report` what \
                 came of it: `done` starts its checks, and only they decide. You cannot report on another task."
            ),
            None => "Piton keeps the state of a plan of tasks. `next` names what can be worked on, `start` takes a \
                     task, `orient` tells what to know about it, and `report` says what came of it: `done` starts \
                     the checks, and only they decide. Where no run is found, call `next` with the path of the plan."
                .to_owned(),
        }
    }
}

fn who() -> Value {
    json!({ "name": "piton", "version": env!("CARGO_PKG_VERSION") })
}

fn versions() -> Vec<&'static str> {
    [MODERN].into_iter().chain(WITH_HANDSHAKE).collect()
}

fn answer(id: &Value, mut result: Value, modern: bool) -> Value {
    if modern {
        result["resultType"] = json!("complete");
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn refusal(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// A name from outside, as it may be repeated.
fn shortened(name: &str) -> String {
    ui::plain(name).chars().take(80).collect()
}
