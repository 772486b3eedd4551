//! Gemini's generateContent.

use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::{Act, Asked};

/// How texts begin that the client adds in the user's name.
const NOT_A_PROMPT: [&str; 2] = ["<session_context>", "<hook_context>"];

pub(super) fn asked(request: &Request) -> Option<Asked> {
    let (_, model) = request.path.split_once("models/")?;
    let (model, call) = model.split_once(':')?;
    if request.method != "POST" || !matches!(call, "generateContent" | "streamGenerateContent") {
        return None;
    }
    let contents = request.body["contents"].as_array()?;
    let (mut prompt, mut turn) = (String::new(), 0);
    for content in contents {
        let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        if content["role"] == "model" {
            turn += 1;
        } else if parts.iter().all(|part| part.get("functionResponse").is_none()) {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            let own = |text: &&str| !NOT_A_PROMPT.iter().any(|start| text.trim_start().starts_with(start));
            let texts: Vec<&str> = texts.filter(own).collect();
            if !texts.is_empty() {
                (prompt, turn) = (texts.join("\n"), 0);
            }
        }
    }
    let tools = request.body["tools"].as_array().into_iter().flatten();
    let named = tools.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
    Some(Asked {
        prompt,
        turn,
        length: contents.len(),
        tools: named.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect(),
        model: model.to_owned(),
        stream: call == "streamGenerateContent",
    })
}

pub(super) fn answer(asked: &Asked, act: &Act) -> Answer {
    let call = |name: &str, args: &Value| json!({ "functionCall": { "name": name, "args": args } });
    let part = match act {
        Act::Say(text) | Act::Decline(text) => json!({ "text": text }),
        Act::Shell(line) => {
            call("run_shell_command", &json!({ "command": line, "description": "as scripted" }))
        }
        Act::Tool(name, input) => call(name, input),
        Act::Mcp(server, name, input) => call(&format!("mcp_{server}_{name}"), input),
    };
    let whole = json!({
        "responseId": "1", "modelVersion": asked.model,
        "candidates": [
            { "index": 0, "finishReason": "STOP", "content": { "role": "model", "parts": [part] } },
        ],
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110 },
    });
    if asked.stream { Answer::data(&[whole.to_string()]) } else { Answer::json(200, &whole) }
}
