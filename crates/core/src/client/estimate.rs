//! What requests have used that a client did not report, because it was cut off first or never reports it.
//!
//! Each request sends the conversation so far once more. So the number of requests and the growth of the conversation,
//! both of which the stream shows, give a figure. It is meant to stay below the truth.

use super::{Adapter, Happening};
use crate::run::Usage;

/// Instructions and tools that every client sends with its first request. Real clients send more.
const OPENING: u64 = 8_000;
/// Bytes in a token, for English and code.
const BYTES: u64 = 4;
/// How many bytes of a line of the stream are the client's own wrapping.
const WRAPPING: u64 = 800;
/// Clients cut longer results of tools before they send them.
const LONGEST_RESULT: u64 = 40 * 1024;

/// Whether a request is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Request {
    #[default]
    None,
    Sent,
    /// The client says that it failed and that it tries again. Providers do not bill that.
    Failing,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Estimate {
    has_begun: bool,
    request: Request,
    /// Tokens that the next request sends.
    context: u64,
    /// Of requests that were answered before the current one.
    input: u64,
    output: u64,
    /// Of the current one: what it sent, unless that was reported; bytes of the answer; tokens of it that were reported.
    sent: u64,
    written: u64,
    reported: u64,
    /// The model that was named last.
    pub(super) model: String,
}

impl Estimate {
    /// `size` is the length of the line that it was read from.
    pub(super) fn take(&mut self, adapter: Adapter, happening: &Happening, size: usize) {
        let size = (size as u64).saturating_sub(WRAPPING);
        match happening {
            Happening::Session { .. } if !self.has_begun => {
                self.has_begun = true;
                self.request = Request::Sent;
                self.context = OPENING;
            }
            Happening::Session { .. } | Happening::Limit { .. } | Happening::Denied { .. } => {}
            Happening::Message { text, .. } => self.answer(text.len() as u64),
            Happening::ToolCall { .. } => self.answer(size),
            Happening::ToolResult { .. } => self.send(size),
            Happening::Step { model, usage, .. } => {
                self.answer(0);
                self.model.clone_from(model);
                self.sent = 0;
                self.reported = usage.output.unwrap_or(0);
                self.context = usage.input.unwrap_or(self.context).saturating_add(self.reported);
            }
            Happening::Usage { so_far, of } => {
                *self = Estimate {
                    has_begun: true,
                    context: self.context,
                    model: self.model.clone(),
                    ..Estimate::default()
                };
                if adapter.facts().reports_each_request && !so_far {
                    // It reports each request by itself, and the next one follows.
                    let usage = Usage::sum(of);
                    self.context = usage.input.unwrap_or(0).saturating_add(usage.output.unwrap_or(0));
                    self.request = Request::Sent;
                }
            }
            Happening::Retry { .. } if self.request == Request::Sent => self.request = Request::Failing,
            Happening::Retry { .. } => {}
            Happening::End(_) => self.request = Request::None,
        }
    }

    /// A line that is too long to be read holds a file that a tool returned.
    pub(super) fn skip(&mut self, size: usize) {
        self.send(size as u64);
    }

    /// The model has written this many more bytes.
    fn answer(&mut self, bytes: u64) {
        if self.request != Request::None {
            self.close();
            self.sent = self.context;
            self.request = Request::None;
        }
        self.written = self.written.saturating_add(bytes);
    }

    /// This many more bytes go into the conversation, and the client asks the model again.
    fn send(&mut self, bytes: u64) {
        self.close();
        self.context = self.context.saturating_add(bytes.min(LONGEST_RESULT) / BYTES);
        self.request = Request::Sent;
    }

    fn close(&mut self) {
        let unreported = (self.written / BYTES).saturating_sub(self.reported);
        self.input = self.input.saturating_add(self.sent);
        self.output = self.output.saturating_add(unreported);
        self.context = self.context.saturating_add(unreported);
        (self.sent, self.written, self.reported) = (0, 0, 0);
    }

    /// What is not reported of requests that were answered; `None` if there is nothing of the kind.
    pub(super) fn answered(&self) -> Option<Usage> {
        self.sum(0)
    }

    /// The same when the client was cut off: it pays also for the request that was under way.
    pub(super) fn cut_off(&self) -> Option<Usage> {
        let mut whole = self.clone();
        whole.close();
        self.sum(if self.request == Request::Sent { whole.context } else { 0 })
    }

    fn sum(&self, more: u64) -> Option<Usage> {
        let mut whole = self.clone();
        whole.close();
        let (input, output) = (whole.input.saturating_add(more), whole.output);
        (input > 0 || output > 0).then_some(Usage {
            input: Some(input),
            output: Some(output),
            ..Usage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::client::{Meter, client};
    use crate::run::{ByModel, Usage};

    fn told(name: &str, stream: &str) -> (Usage, Option<Usage>) {
        let mut meter = Meter::new(client(name));
        meter.read(stream.as_bytes());
        (meter.used(&ByModel::new()), meter.estimate.cut_off())
    }

    fn tokens(input: u64, output: u64) -> Usage {
        Usage { input: Some(input), output: Some(output), ..Usage::default() }
    }

    #[test]
    fn what_messages_report_is_not_estimated_again() {
        let begun = r#"{"type":"system","subtype":"init","session_id":"s"}
"#;
        assert_eq!(told("claude", begun), (Usage::default(), Some(tokens(8000, 0))));
        let mut meter = Meter::new(client("claude"));
        meter.read(begun.as_bytes());
        assert_eq!(meter.unreported(), None, "nobody is stopped for an answer that has yet to come");
        let words = "x".repeat(400);
        let answered = format!(
            "{begun}{{\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"model\":\"o\",\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}],\
             \"usage\":{{\"input_tokens\":5000,\"output_tokens\":1}}}}}}\n"
        );
        // It names the first token of an answer and no more.
        assert_eq!(told("claude", &answered), (tokens(5000, 1), Some(tokens(0, 99))));
        let asked = format!(
            "{answered}{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"content\":\"ok\"}}]}}}}\n"
        );
        assert_eq!(told("claude", &asked), (tokens(5000, 1), Some(tokens(5100, 99))));
        let ended = format!(
            "{asked}{{\"type\":\"result\",\"modelUsage\":{{\"o\":{{\"inputTokens\":9000,\"outputTokens\":300}}}}}}\n"
        );
        assert_eq!(told("claude", &ended), (tokens(9000, 300), None));
    }

    #[test]
    fn a_client_that_reports_at_its_end_is_estimated_by_its_requests() {
        let call = r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"command_execution","status":"completed","aggregated_output":""}}
"#;
        let codex = format!("{{\"type\":\"thread.started\",\"thread_id\":\"t\"}}\n{call}{call}");
        // Two requests were answered, and a third is under way.
        assert_eq!(told("codex", &codex), (Usage::default(), Some(tokens(24_000, 0))));
        let failed = format!("{codex}{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"no\"}}}}\n");
        assert_eq!(told("codex", &failed).1, Some(tokens(16_000, 0)), "the last one failed");
        let retries = format!("{codex}{{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}}\n");
        assert_eq!(told("codex", &retries).1, Some(tokens(16_000, 0)));
        let ended = format!(
            "{codex}{{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":7,\"output_tokens\":1}}}}\n"
        );
        assert_eq!(told("codex", &ended), (tokens(7, 1), None));
        let gemini = r#"{"type":"init","session_id":"s","model":"m"}
{"type":"tool_use","tool_name":"ls","parameters":{}}
{"type":"tool_result","status":"success","output":""}
"#;
        assert_eq!(told("gemini", gemini), (Usage::default(), Some(tokens(16_000, 0))));
    }

    #[test]
    fn a_client_that_reports_each_request_lacks_the_last_one() {
        let step = r#"{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","tokens":{"input":3000,"output":20}}}
"#;
        assert_eq!(told("opencode", step), (tokens(3000, 20), Some(tokens(3020, 0))));
        let stop = step.replace("tool-calls", "stop");
        assert_eq!(told("opencode", &stop), (tokens(3000, 20), None));
    }

    #[test]
    fn a_line_that_is_too_long_to_be_read_is_sent_all_the_same() {
        let codex =
            format!("{{\"type\":\"thread.started\",\"thread_id\":\"t\"}}\n{}\n", "x".repeat(300 * 1024));
        assert_eq!(told("codex", &codex).1, Some(tokens(8000 + 10 * 1024, 0)));
    }
}
