//! The Responses API.

use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::{Act, Asked};

/// How texts begin that the client adds in the user's name.
const NOT_A_PROMPT: [&str; 2] = ["<", "# AGENTS.md"];

pub(super) fn asked(request: &Request) -> Option<Asked> {
    if request.method != "POST" || !request.path.ends_with("/responses") {
        return None;
    }
    let body = &request.body;
    let (mut prompt, mut turn, mut was_model) = (String::new(), 0, false);
    for item in body["input"].as_array()? {
        let kind = item["type"].as_str().unwrap_or("message");
        // Whatever the model produced without a break is one turn of it.
        let is_model = item["role"] == "assistant" || kind == "reasoning" || kind.ends_with("_call");
        turn += usize::from(is_model && !was_model);
        was_model = is_model;
        if kind == "message" && item["role"] == "user" {
            let parts = item["content"].as_array().into_iter().flatten();
            let text: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            let text = text.join("\n");
            if !NOT_A_PROMPT.iter().any(|beginning| text.trim_start().starts_with(beginning)) {
                (prompt, turn) = (text, 0);
            }
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let named = tools.filter_map(|tool| tool["name"].as_str().or(tool["type"].as_str()));
    Some(Asked {
        prompt,
        turn,
        length: body["input"].as_array().map_or(0, Vec::len),
        tools: named.map(str::to_owned).collect(),
        model: body["model"].as_str().unwrap_or("model").to_owned(),
        stream: body["stream"] == true,
    })
}

pub(super) fn answer(asked: &Asked, act: &Act) -> Answer {
    let id = format!("{}-{}", asked.turn, asked.prompt.len());
    let call = |name: &str, input: &Value| {
        json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": name,
            "status": "completed", "arguments": input.to_string(),
        })
    };
    let item = match act {
        Act::Say(text) | Act::Decline(text) => json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Act::Shell(line) => call("exec_command", &json!({ "cmd": line })),
        Act::Tool(name, input) => call(name, input),
        Act::Mcp(server, name, input) => {
            let mut call = call(name, input);
            call["namespace"] = json!(format!("mcp__{server}"));
            call
        }
    };
    let whole = json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": 0, "status": "completed",
        "model": asked.model, "output": [item],
        "usage": {
            "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 10, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 110,
        },
    });
    if !asked.stream {
        return Answer::json(200, &whole);
    }
    let mut start = whole.clone();
    start["status"] = json!("in_progress");
    start["output"] = json!([]);
    start["usage"] = Value::Null;
    let (added, done) = ("response.output_item.added", "response.output_item.done");
    Answer::events(&[
        ("response.created", json!({ "type": "response.created", "response": start })),
        (added, json!({ "type": added, "output_index": 0, "item": item })),
        (done, json!({ "type": done, "output_index": 0, "item": item })),
        ("response.completed", json!({ "type": "response.completed", "response": whole })),
    ])
}
