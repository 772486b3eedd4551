//! What clients write while they work.

use piton_core::client::{Adapter, Exit, Fault, Meaning, Story};
use piton_core::time::Timestamp;

use crate::same;

pub(crate) const LINES: &[&str] = &[
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"a-1\"}\n",
    "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n",
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"modelUsage\":{}}\n",
    "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":429}\n",
    "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":9223372036854775807}}\n",
    "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n",
    "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"hi\"}}\n",
    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n",
    "{\"type\":\"turn.failed\",\"error\":{\"message\":\"hit your usage limit, try again at 10:43 PM.\"}}\n",
    "try again at Feb 30th, 2026 11:49 AM.",
    "{\"type\":\"error\",\"message\":\"Reconnecting... 1/2\"}\n",
    "{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{\"reason\":\"stop\",\"tokens\":{\"input\":1}}}\n",
    "\"cost\":1e300",
    "18446744073709551615",
    "-1",
    "\\u0000",
    "null",
    "[]",
    "\n",
];

/// Any bytes, from any client, with any end.
pub(crate) fn streams(bytes: &[u8]) {
    assert!(Story::of(Adapter::default(), bytes, Timestamp(0)).is_none(), "a command writes what it likes");
    for adapter in Adapter::known() {
        let read = || Story::of(adapter, bytes, Timestamp(1_800_000_000_000)).expect("it has a stream");
        let story = same(read);
        if let Some(session) = &story.session {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            assert!(session.chars().all(plain) && !session.starts_with('-'), "it goes onto a command line");
        }
        for exit in [Exit::Code(0), Exit::Code(1), Exit::Code(42), Exit::Signal(9)] {
            match story.meaning(exit) {
                Meaning::Finished => assert_eq!(exit, Exit::Code(0), "only a good end may be a claim"),
                Meaning::Broken { fault, reason } => {
                    assert!(!reason.contains(['\n', '\u{1b}']), "a reason is a line");
                    assert!(fault != Fault::Limit || story.session.is_some() || !bytes.is_empty());
                }
            }
        }
    }
}
