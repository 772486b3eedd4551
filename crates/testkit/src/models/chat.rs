//! Chat completions, as opencode asks.

use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::{Act, Asked};

pub(super) fn asked(request: &Request) -> Option<Asked> {
    if request.method != "POST" || !request.path.ends_with("/chat/completions") {
        return None;
    }
    let messages = request.body["messages"].as_array()?;
    let (mut prompt, mut turn) = (String::new(), 0);
    for message in messages {
        match message["role"].as_str() {
            Some("assistant") => turn += 1,
            Some("user") => (prompt, turn) = (text_of(&message["content"]), 0),
            _ => {}
        }
    }
    let tools = request.body["tools"].as_array().into_iter().flatten();
    Some(Asked {
        prompt,
        turn,
        length: messages.len(),
        tools: tools.filter_map(|tool| tool["function"]["name"].as_str()).map(str::to_owned).collect(),
        model: request.body["model"].as_str().unwrap_or("model").to_owned(),
        stream: request.body["stream"] == true,
    })
}

fn text_of(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    content.as_str().map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

pub(super) fn answer(asked: &Asked, act: &Act) -> Answer {
    let id = format!("call_{}-{}", asked.turn, asked.prompt.len());
    let call = |name: &str, input: &Value| {
        json!([{
            "index": 0, "id": id, "type": "function",
            "function": { "name": name, "arguments": input.to_string() },
        }])
    };
    let (said, calls) = match act {
        Act::Say(text) | Act::Decline(text) => (json!(text), None),
        Act::Shell(line) => {
            (Value::Null, Some(call("bash", &json!({ "command": line, "description": "as scripted" }))))
        }
        Act::Tool(name, input) => (Value::Null, Some(call(name, input))),
        Act::Mcp(server, name, input) => (Value::Null, Some(call(&format!("{server}_{name}"), input))),
    };
    let stop = if calls.is_some() { "tool_calls" } else { "stop" };
    let mut message = json!({ "role": "assistant", "content": said });
    if let Some(calls) = calls {
        message["tool_calls"] = calls;
    }
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    let frame = |kind: &str, choices: Value| json!({ "id": "chat", "object": kind, "created": 0, "model": asked.model, "choices": choices });
    if !asked.stream {
        let choice = json!([{ "index": 0, "message": message, "finish_reason": stop }]);
        let mut whole = frame("chat.completion", choice);
        whole["usage"] = usage;
        return Answer::json(200, &whole);
    }
    let chunk = |choices: Value| frame("chat.completion.chunk", choices);
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    Answer::data(&[
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }])).to_string(),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": stop }])).to_string(),
        last.to_string(),
        "[DONE]".to_owned(),
    ])
}
