//! What clients say to Piton itself: requests for its tools, and that they are about to stop.

use piton_core::hook::stopping;
use piton_core::mcp::{Heard, Wish, hear, versions};
use serde_json::{Map, Value, json};

use crate::same;

pub(crate) const REQUESTS: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",",
    "\"id\":1,",
    "\"id\":\"a\",",
    "\"id\":null,",
    "\"method\":\"initialize\"",
    "\"method\":\"tools/call\"",
    "\"method\":\"tools/list\"",
    "\"method\":\"server/discover\"",
    "\"method\":\"ping\"",
    "\"method\":7",
    ",\"params\":{",
    "\"name\":\"report\"",
    "\"arguments\":{\"task\":\"T1\"}",
    "\"arguments\":[]",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}",
    "\"protocolVersion\":\"2024-11-05\"",
    "\"result\":{}",
    "}}",
    "[",
    "\\u001b[31m",
    "\\u202e",
    "\u{9b}2J",
    "\n",
];

pub(crate) fn request(bytes: &[u8]) {
    // A line is what is read; whatever it holds, its answer is one line too, and names the request.
    let heard = same(|| hear(bytes));
    let said = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let id = said.get("id").cloned().unwrap_or_default();
    match heard {
        Heard::Nothing => {
            let asks = said.get("method").is_some() && said.get("id").is_some();
            assert!(!asks, "a request gets an answer");
        }
        Heard::Refused(answer) => {
            assert_valid(&answer, &id);
            let error = &answer["error"];
            assert!(error["code"].as_i64().is_some_and(|code| code < 0), "{answer}");
            let why = error["message"].as_str().expect("a reason");
            assert!(!why.is_empty() && !why.chars().any(char::is_control), "{why:?}");
        }
        Heard::Asked(request, wish) => {
            let answer = request.answer(Map::from_iter([("answer".to_owned(), json!(1))]));
            assert_valid(&answer, &id);
            assert_eq!(answer["result"].get("resultType").is_some(), request.is_modern());
            match wish {
                Wish::Introduction { version } => assert!(versions().contains(&version)),
                Wish::Call { tool, arguments } => {
                    assert_valid(&request.no_such_tool(&tool), &id);
                    let given = said["params"].get("arguments").cloned().unwrap_or_default();
                    let none = given.is_null() && arguments.is_empty();
                    assert!(none || given == Value::Object(arguments), "arguments are handed on as they are");
                }
                Wish::Discovery | Wish::Ping | Wish::Tools => {}
            }
        }
    }
}

#[track_caller]
fn assert_valid(answer: &Value, id: &Value) {
    assert!(answer["id"] == *id || answer["id"].is_null(), "{answer} to {id}");
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_ne!(answer.get("result").is_some(), answer.get("error").is_some(), "{answer}");
    assert!(!answer.to_string().contains('\n'), "{answer}");
}

pub(crate) const STOPS: &[&str] = &[
    "{\"hook_event_name\":\"Stop\",",
    "\"stop_hook_active\":true",
    "\"stop_hook_active\":\"true\"",
    "\"last_assistant_message\":\"<signal>T1_DONE</signal>\"",
    "\"last_assistant_message\":null",
    "}",
    ",",
];

pub(crate) fn stop(bytes: &[u8]) {
    let Some(said) = same(|| stopping(bytes)) else { return };
    let whole: Value = serde_json::from_slice(bytes).expect("what is understood is JSON");
    assert_eq!(
        said.again,
        whole["stop_hook_active"] == true,
        "only a client that says so was sent on before"
    );
    assert_eq!(said.last, whole["last_assistant_message"].as_str().unwrap_or_default());
}
