//! The Model Context Protocol, as far as tools need it: what a client's line asks for, and how it is answered.
//!
//! One JSON object to a line, five methods. Nothing is remembered between two messages, so a client may begin with any of
//! them. Unknown fields are ignored, as clients add their own.

use serde_json::{Map, Value, json};

use crate::terminal::clean_text;

/// The revision without a handshake: each request says for itself that it is of this one.
const MODERN: &str = "2026-07-28";
/// Those with `initialize`, the newest first: it is offered to a client that asks for an unknown one.
const WITH_HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

const NOT_JSON: i32 = -32700;
const NO_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const NOT_SPOKEN: i32 = -32022;

/// What a line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// The client does not wait for an answer.
    Nothing,
    /// This is the answer: it cannot be had.
    Refused(Value),
    Asked(Request, Wish),
}

/// Whom an answer is for, and in which words.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    id: Value,
    is_modern: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// `initialize`, with the revision that both speak.
    Introduction {
        version: &'static str,
    },
    Discovery,
    Ping,
    Tools,
    Call {
        tool: String,
        arguments: Map<String, Value>,
    },
}

/// What a client says in one line.
pub fn hear(line: &[u8]) -> Heard {
    if line.trim_ascii().is_empty() {
        return Heard::Nothing;
    }
    let message = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(message)) => message,
        Ok(_) => return refused("a message must be one JSON object"),
        Err(error) => return Heard::Refused(refusal(&Value::Null, NOT_JSON, &error.to_string())),
    };
    let Some(method) = message.get("method") else {
        // Piton asks nothing, so an answer is not for it.
        let is_answer = message.contains_key("result") || message.contains_key("error");
        return if is_answer { Heard::Nothing } else { refused("the message has no `method`") };
    };
    let id = match message.get("id") {
        // Notifications of clients do not concern this server.
        None => return Heard::Nothing,
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        Some(_) => return refused("an id must be a string or a number"),
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    let version = params.pointer("/_meta").and_then(|meta| meta.get(VERSION)).and_then(Value::as_str);
    let method = method.as_str().unwrap_or_default();
    let is_modern = match method {
        "initialize" => false,
        "server/discover" => true,
        _ => version == Some(MODERN),
    };
    let request = Request { id, is_modern };
    let wish = match (method, version) {
        ("initialize", _) => Wish::Introduction { version: spoken(params["protocolVersion"].as_str()) },
        (_, Some(version)) if !versions().contains(&version) => {
            let mut no = request.refusal(NOT_SPOKEN, "this protocol version is not supported");
            no["error"]["data"] = json!({ "requested": version, "supported": versions() });
            return Heard::Refused(no);
        }
        ("server/discover", _) => Wish::Discovery,
        ("ping", _) => Wish::Ping,
        ("tools/list", _) => Wish::Tools,
        ("tools/call", _) => {
            let arguments = match &params["arguments"] {
                Value::Null => Map::new(),
                Value::Object(arguments) => arguments.clone(),
                _ => return Heard::Refused(request.refusal(BAD_PARAMS, "`arguments` must be an object")),
            };
            Wish::Call { tool: params["name"].as_str().unwrap_or_default().to_owned(), arguments }
        }
        (method, _) => {
            let why = format!("there is no method `{}`", shortened(method));
            return Heard::Refused(request.refusal(NO_METHOD, &why));
        }
    };
    Heard::Asked(request, wish)
}

/// The answer to a line that is longer than the server reads.
pub fn too_long() -> Value {
    refusal(&Value::Null, NO_REQUEST, "this message is too long")
}

/// All revisions that are spoken, the newest first.
pub fn versions() -> Vec<&'static str> {
    [MODERN].into_iter().chain(WITH_HANDSHAKE).collect()
}

impl Request {
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    pub fn answer(&self, mut result: Map<String, Value>) -> Value {
        if self.is_modern {
            result.insert("resultType".to_owned(), json!("complete"));
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result })
    }

    pub fn no_such_tool(&self, name: &str) -> Value {
        self.refusal(BAD_PARAMS, &format!("there is no tool `{}`", shortened(name)))
    }

    fn refusal(&self, code: i32, why: &str) -> Value {
        refusal(&self.id, code, why)
    }
}

fn spoken(wanted: Option<&str>) -> &'static str {
    WITH_HANDSHAKE.into_iter().find(|version| wanted == Some(version)).unwrap_or(WITH_HANDSHAKE[0])
}

fn refused(why: &str) -> Heard {
    Heard::Refused(refusal(&Value::Null, NO_REQUEST, why))
}

fn refusal(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// A name from outside, as it may be repeated.
fn shortened(name: &str) -> String {
    clean_text(name.as_bytes()).chars().filter(|c| !c.is_control()).take(80).collect()
}
