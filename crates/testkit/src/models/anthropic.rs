//! The Messages API.

use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::{Act, Asked};

/// The beginnings of texts that the client adds in the user's name.
const NOT_A_PROMPT: [&str; 5] = [
    "<system-reminder>",
    "Stop hook feedback",
    "<task-notification>",
    "Base directory for this skill",
    "Your response above was stopped by a safety classifier",
];

pub(super) fn asked(request: &Request) -> Option<Asked> {
    if request.method != "POST" || !request.path.ends_with("/v1/messages") {
        return None;
    }
    let body = &request.body;
    let (mut prompt, mut turn) = (String::new(), 0);
    for message in body["messages"].as_array()? {
        match message["role"].as_str() {
            Some("assistant") => turn += 1,
            Some("user") => {
                if let Some(text) = own_words(&message["content"]) {
                    (prompt, turn) = (text, 0);
                }
            }
            _ => {}
        }
    }
    let names = body["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    Some(Asked {
        prompt,
        turn,
        length: body["messages"].as_array().map_or(0, Vec::len),
        tools: names.map(str::to_owned).collect(),
        model: body["model"].as_str().unwrap_or("model").to_owned(),
        stream: body["stream"] == true,
    })
}

/// What the user says, if this is not a tool's answer.
fn own_words(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return is_prompt(text).then(|| text.to_owned());
    }
    let blocks = content.as_array()?;
    if blocks.iter().any(|block| block["type"] == "tool_result") {
        return None;
    }
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let texts: Vec<&str> = texts.filter(|text| is_prompt(text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn is_prompt(text: &str) -> bool {
    !NOT_A_PROMPT.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

pub(super) fn answer(asked: &Asked, act: &Act) -> Answer {
    let id = format!("{}-{}", asked.turn, asked.prompt.len());
    let call = |name: &str, input: &Value| json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": name, "input": input });
    let (block, stop) = match act {
        Act::Say(text) => (json!({ "type": "text", "text": text }), "end_turn"),
        Act::Decline(text) => (json!({ "type": "text", "text": text }), "refusal"),
        Act::Shell(line) => {
            (call("Bash", &json!({ "command": line, "description": "as scripted" })), "tool_use")
        }
        Act::Tool(name, input) => (call(name, input), "tool_use"),
        Act::Mcp(server, name, input) => (call(&format!("mcp__{server}__{name}"), input), "tool_use"),
    };
    let usage = json!({
        "input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    });
    let mut message = json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": asked.model,
        "content": [block], "stop_reason": stop, "stop_sequence": null, "usage": usage,
    });
    if !asked.stream {
        return Answer::json(200, &message);
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    let (mut empty, delta) = (
        block.clone(),
        match act {
            Act::Say(text) | Act::Decline(text) => json!({ "type": "text_delta", "text": text }),
            Act::Shell(_) | Act::Tool(..) | Act::Mcp(..) => {
                json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
            }
        },
    );
    match act {
        Act::Say(_) | Act::Decline(_) => empty["text"] = json!(""),
        Act::Shell(_) | Act::Tool(..) | Act::Mcp(..) => empty["input"] = json!({}),
    }
    Answer::events(&[
        ("message_start", json!({ "type": "message_start", "message": message })),
        ("content_block_start", json!({ "type": "content_block_start", "index": 0, "content_block": empty })),
        ("content_block_delta", json!({ "type": "content_block_delta", "index": 0, "delta": delta })),
        ("content_block_stop", json!({ "type": "content_block_stop", "index": 0 })),
        (
            "message_delta",
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": stop, "stop_sequence": null },
                "usage": { "output_tokens": 10 },
            }),
        ),
        ("message_stop", json!({ "type": "message_stop" })),
    ])
}
