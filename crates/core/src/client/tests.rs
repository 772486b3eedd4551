//! Streams of the real clients, recorded against a scripted model and cleaned of what is not looked at.

use super::*;
use crate::terminal::clean_text;

/// When they were recorded.
const NOW: &str = "2026-11-15T20:43:30Z";

/// The recording, and how its process ended.
macro_rules! streams {
    ($($name:literal $exit:expr),* $(,)?) => {
        &[$(($name, $exit, include_bytes!(concat!("fixtures/", $name, ".jsonl")) as &[u8])),*]
    };
}

const STREAMS: &[(&str, Exit, &[u8])] = streams![
    "claude-plain" Exit::Code(0),
    "claude-429-twice" Exit::Code(0),
    "claude-429-forever" Exit::Code(1),
    "claude-server" Exit::Code(1),
    "claude-limit" Exit::Code(1),
    "claude-quoted" Exit::Code(0),
    "claude-auth" Exit::Code(1),
    "claude-billing" Exit::Code(1),
    "claude-denied" Exit::Code(0),
    "claude-turns" Exit::Code(1),
    "claude-budget" Exit::Code(1),
    "claude-killed" Exit::Signal(9),
    "claude-resumed" Exit::Code(0),
    "claude-gone" Exit::Code(1),
    "claude-badflag" Exit::Code(1),
    "claude-stopped" Exit::Code(143),
    "claude-interrupted" Exit::Code(0),
    "claude-woken" Exit::Code(0),
    "codex-plain" Exit::Code(0),
    "codex-429-twice" Exit::Code(0),
    "codex-429-forever" Exit::Code(1),
    "codex-500" Exit::Code(1),
    "codex-cut" Exit::Code(1),
    "codex-limit" Exit::Code(1),
    "codex-limit2" Exit::Code(1),
    "codex-limit3" Exit::Code(1),
    "codex-quoted" Exit::Code(0),
    "codex-auth" Exit::Code(1),
    "codex-quota" Exit::Code(1),
    "codex-400" Exit::Code(1),
    "codex-404" Exit::Code(1),
    "codex-killed" Exit::Signal(9),
    "codex-resumed" Exit::Code(0),
    "codex-gone" Exit::Code(1),
    "codex-badflag" Exit::Code(2),
    "gemini-plain" Exit::Code(0),
    "gemini-auth" Exit::Code(145),
    "gemini-gone" Exit::Code(42),
    "gemini-turns" Exit::Code(53),
    "opencode-plain" Exit::Code(0),
    "opencode-auth" Exit::Code(1),
    "opencode-gone" Exit::Code(1),
    "opencode-denied" Exit::Code(0),
];

fn story(name: &str, output: &[u8]) -> Story {
    let adapter = Adapter::all().find(|adapter| name.starts_with(adapter.name()));
    let now = Timestamp::parse(NOW).expect("a time");
    Story::of(adapter.expect("a client"), output, now).expect("it has a stream")
}

fn shown(name: &str, exit: Exit, output: &[u8]) -> String {
    let story = story(name, output);
    let meaning = match story.meaning(exit) {
        Meaning::Finished => "finished".to_owned(),
        Meaning::Broken { fault: Fault::Limit, reason } => {
            let until = story.limit().map_or("?".to_owned(), |until| until.to_string());
            format!("limit until {until}: {reason}")
        }
        Meaning::Broken { fault, reason } => format!("{fault:?}: {reason}"),
    };
    let used = match &story.used {
        None => "unknown".to_owned(),
        Some(used) => serde_json::to_string(used).expect("plain values"),
    };
    let session = if story.session.is_some() { "session" } else { "no session" };
    format!("{name}, {session}, {} calls, said {:?}\n  {meaning}\n  {used}\n", story.calls, story.said)
}

#[test]
fn every_recorded_end_means_what_it_meant() {
    let all: String = STREAMS.iter().map(|(name, exit, output)| shown(name, *exit, output)).collect();
    insta::assert_snapshot!(all);
}

#[test]
fn a_stream_that_breaks_off_anywhere_is_never_taken_for_done() {
    for (name, _, output) in STREAMS {
        let lines: Vec<&[u8]> = output.split_inclusive(|byte| *byte == b'\n').collect();
        for cut in 0..lines.len() {
            let story = story(name, &lines[..cut].concat());
            let ended = lines[..cut].iter().any(|line| {
                let line = String::from_utf8_lossy(line);
                ["\"type\":\"result\"", "\"turn.completed\"", "\"reason\":\"stop\""]
                    .iter()
                    .any(|end| line.contains(end))
            });
            let finished = story.meaning(Exit::Code(0)) == Meaning::Finished;
            assert!(!finished || ended, "{name} after {cut} lines");
            assert_ne!(story.meaning(Exit::Signal(9)), Meaning::Finished, "{name} after {cut} lines");
        }
    }
}

#[test]
fn who_goes_on_after_an_end_has_not_ended() {
    let end = r#"{"type":"result","subtype":"success","is_error":false,"modelUsage":{}}"#;
    let call = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":"Bash"}]}}"#;
    let meaning = |lines: &[&str]| story("claude", lines.join("\n").as_bytes()).meaning(Exit::Code(0));
    assert_eq!(meaning(&[end]), Meaning::Finished);
    assert!(matches!(meaning(&[end, call]), Meaning::Broken { fault: Fault::Outside, .. }));
    assert_eq!(meaning(&[end, call, end]), Meaning::Finished);
}

#[test]
fn a_message_is_the_text_of_its_parts() {
    let part = |id: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let said =
        story("claude", [part("a", "One."), part("b", "Two."), part("b", "Three.")].join("\n").as_bytes());
    assert_eq!(said.said, "Two.\nThree.");
    let delta =
        |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    assert_eq!(story("gemini", [delta("Al"), delta("l.")].join("\n").as_bytes()).said, "All.");
}

#[test]
fn a_key_that_is_not_valid_is_the_providers_refusal_and_no_fault_of_the_task() {
    let error =
        "HTTP 400 INVALID_ARGUMENT: API key not valid. Please pass a valid API key. (API_KEY_INVALID)";
    let line =
        format!(r#"{{"type":"result","status":"error","error":{{"type":"Error","message":"{error}"}}}}"#);
    let told = happenings(client("gemini"), &line, Timestamp::default());
    let ends = told
        .into_iter()
        .flatten()
        .filter(|happening| matches!(happening, Happening::End(End::Broken { fault: Fault::Refused, .. })));
    assert_eq!(ends.count(), 1);
}

#[test]
fn who_gives_up_on_too_many_requests_has_met_a_limit() {
    let error = |message: &str| {
        format!(r#"{{"type":"result","status":"error","error":{{"type":"unknown","message":"{message}"}}}}"#)
    };
    let failed = |message: &str| format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
    let refused = |more: &str| {
        format!(
            r#"{{"type":"error","error":{{"name":"APIError","data":{{"message":"no","statusCode":429{more}}}}}}}"#
        )
    };
    let claude =
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"no"}"#;
    let rate = "Rate limit reached for m on tokens per min. Please try again in 6m0.054s. Visit https://x/account/billing.";
    let header = r#","responseHeaders":{"retry-after":"3600"}"#;
    let quota = r#","responseBody":"{\"code\":\"insufficient_quota\"}""#;
    let busy = |until: Option<&str>| (Fault::Busy, until.map(str::to_owned));
    for (client, line, expected) in [
        ("claude", claude.to_owned(), busy(None)),
        ("codex", failed("exceeded retry limit, last status: 429 Too Many Requests"), busy(None)),
        ("codex", failed(rate), busy(Some("2026-11-15T20:49:30Z"))),
        ("codex", failed("Quota exceeded. Check your plan and billing details."), (Fault::Refused, None)),
        ("codex", failed("unexpected status 503 Service Unavailable"), (Fault::Down, None)),
        ("gemini", error(r#"{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}"#), busy(None)),
        // Not at once.
        ("gemini", error("RESOURCE_EXHAUSTED: Please retry in 4.07s."), busy(Some("2026-11-15T20:44:30Z"))),
        (
            "gemini",
            error("You have exhausted your capacity on this model. Your quota will reset after 3h20m5s."),
            (Fault::Limit, Some("2026-11-16T00:03:35Z".to_owned())),
        ),
        ("gemini", error("[API Error: 503 UNAVAILABLE]"), (Fault::Down, None)),
        ("opencode", refused(""), busy(None)),
        ("opencode", refused(header), busy(Some("2026-11-15T21:43:30Z"))),
        ("opencode", refused(quota), (Fault::Refused, None)),
    ] {
        let story = story(client, line.as_bytes());
        let Meaning::Broken { fault, .. } = story.meaning(Exit::Code(1)) else { panic!("{line}") };
        assert_eq!((fault, story.limit().map(|until| until.to_string())), expected, "{line}");
    }
}

/// Some limits are of one model. What the clients call them was found in their own sources and in reports of people.
#[test]
fn a_limit_of_one_model_is_told_from_one_of_the_provider() {
    let claude = |kind: &str| {
        let info = format!(r#"{{"status":"rejected","resetsAt":1763325000,"rateLimitType":"{kind}"}}"#);
        format!(r#"{{"type":"rate_limit_event","rate_limit_info":{info}}}"#)
    };
    let codex = |words: &str| {
        format!(r#"{{"type":"turn.failed","error":{{"message":"You’ve hit your usage limit{words}"}}}}"#)
    };
    let gemini = |words: &str| format!(r#"{{"type":"result","status":"error","error":"{words}"}}"#);
    let spark = " for GPT-5.3-Codex-Spark. Switch to another model now, or try again at 11:31 PM.";
    for (client, line, expected) in [
        ("claude", claude("five_hour"), None),
        ("claude", claude("seven_day"), None),
        ("claude", claude("seven_day_opus"), Some("opus")),
        ("codex", codex(". Visit https://x or try again at 10:43 PM."), None),
        ("codex", codex(spark), Some("GPT-5.3-Codex-Spark")),
        ("gemini", gemini("You have exhausted your daily quota on this model."), Some("this model")),
        ("gemini", gemini("Your quota will reset after 3h."), None),
    ] {
        assert_eq!(story(client, line.as_bytes()).limited(), expected, "{line}");
    }
}

/// A stream of each client in which its agent says this last, in the form of the recordings.
fn saying(adapter: Adapter, text: &str) -> Vec<u8> {
    use serde_json::json;
    let lines = match adapter.name() {
        "claude" => vec![
            json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": text}]}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "result": text}),
        ],
        "codex" => vec![
            json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}}),
            json!({"type": "turn.completed", "usage": {}}),
        ],
        "gemini" => {
            // In pieces, wherever they fall.
            let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            let piece =
                |text: &str| json!({"type": "message", "role": "assistant", "content": text, "delta": true});
            vec![piece(&text[..half]), piece(&text[half..]), json!({"type": "result", "status": "success"})]
        }
        "opencode" => vec![
            json!({"type": "text", "sessionID": "s", "part": {"messageID": "m", "text": text}}),
            json!({"type": "step_finish", "sessionID": "s", "part": {"reason": "stop"}}),
        ],
        _ => return text.as_bytes().to_vec(),
    };
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[test]
fn no_client_and_no_command_is_believed_in_a_quotation() {
    use crate::plan::TaskId;
    use crate::signal::tests::{QUOTATIONS, QUOTED};
    use crate::signal::{Output, Reach, heard};
    let task = TaskId::new("T1").expect("a valid id");
    for adapter in Adapter::all() {
        let signal = |text: &str, reach| {
            let stream = saying(adapter, text);
            let said = Story::of(adapter, &stream, Timestamp(0)).map(|story| {
                assert_eq!(story.meaning(Exit::Code(0)), Meaning::Finished);
                story.said
            });
            let said = said.unwrap_or_else(|| clean_text(&stream));
            heard(Output { text: &said, reach, ..Output::default() }, &task, Timestamp(0)).signal
        };
        for reach in [Reach::LastLine, Reach::Message] {
            for quoted in QUOTED {
                let whole = format!("<signal>{quoted}</signal>");
                for quotation in QUOTATIONS {
                    let text = quotation.replace("SIGNAL", &whole);
                    assert_eq!(signal(&text, reach), None, "{adapter:?}: {text}");
                }
                assert!(signal(&format!("Work.\n{whole}\n"), reach).is_some(), "{adapter:?}: {quoted}");
            }
        }
    }
}
