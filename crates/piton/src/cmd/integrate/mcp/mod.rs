//! `piton mcp`: the ledger as tools, for clients that speak the Model Context Protocol over standard input and output.

mod answers;
mod tools;

use std::io::{self, BufRead, Read};
use std::sync::mpsc::sync_channel;
use std::thread;

use clap::Args;
use piton_core::mcp::{self as protocol, Heard, Request, Wish};
use piton_engine::agent::Attempt;
use serde_json::{Map, Value, json};

use crate::args::By;
use crate::cmd::integrate::mcp::answers::Answers;
use crate::cmd::integrate::mcp::tools::Tool;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::attempt;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Offer every operation of the ledger, not only the few that an agent needs
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub by: By,
}

/// No message is longer: the longest there are carry a report.
const LONGEST: usize = 4 * 1024 * 1024;
/// How many calls may wait for the running one. Beyond that, reading waits too.
const WAITING: usize = 64;

pub(crate) fn mcp(args: &McpArgs) -> Outcome<Exit> {
    let attempt = attempt::attempt()?;
    let desk = Desk {
        tools: tools::offered(args.all),
        by: crate::runs::command::holder(&args.by.by)?,
        answers: attempt.as_ref().map(|attempt| Answers::to(&attempt.task)),
        attempt,
    };
    let send = |answer: &Value| ui::answer_raw(format!("{answer}\n").as_bytes());
    serve(io::stdin().lock(), &send, &desk).map_err(Failure::io("cannot read the client's messages"))?;
    Ok(FINE)
}

/// The tools that are offered, and the client's name and attempt.
struct Desk {
    tools: Vec<&'static Tool>,
    by: String,
    attempt: Option<Attempt>,
    /// What people say to the agent that is the client.
    answers: Option<Answers>,
}

/// Answer until the client closes the input. Calls are carried out one after the other in the order they came, since
/// each may rest on the one before. Everything else is answered at once.
fn serve(mut input: impl BufRead, send: &(dyn Fn(&Value) + Sync), desk: &Desk) -> io::Result<()> {
    thread::scope(|scope| {
        let (calls, waiting) = sync_channel::<Call>(WAITING);
        scope.spawn(move || waiting.into_iter().for_each(|call| send(&call.carry_out(desk))));
        let mut line = Vec::new();
        loop {
            let heard = match next_line(&mut input, &mut line)? {
                NextLine::End => break,
                NextLine::Read => protocol::hear(&line),
                NextLine::TooLong => Heard::Refused(protocol::too_long()),
            };
            match heard {
                Heard::Nothing => {}
                Heard::Refused(answer) => send(&answer),
                Heard::Asked(request, Wish::Call { tool, arguments }) => match desk.tool(&tool) {
                    // The other end lives as long as this one.
                    Some(tool) => drop(calls.send(Call { request, tool, arguments })),
                    None => send(&request.no_such_tool(&tool)),
                },
                Heard::Asked(request, wish) => send(&request.answer(desk.tell(&request, &wish))),
            }
        }
        Ok(())
    })
}

enum NextLine {
    Read,
    TooLong,
    End,
}

fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<NextLine> {
    line.clear();
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(NextLine::End);
    }
    if line.len() < LONGEST || line.ends_with(b"\n") {
        return Ok(NextLine::Read);
    }
    line.clear();
    input.skip_until(b'\n')?;
    Ok(NextLine::TooLong)
}

struct Call {
    request: Request,
    tool: &'static Tool,
    arguments: Map<String, Value>,
}

impl Call {
    fn carry_out(&self, desk: &Desk) -> Value {
        let (text, failed) = self.tool.call(&self.arguments, &desk.by, desk.attempt.as_ref());
        let said = desk.answers.as_ref().and_then(Answers::untold);
        let texts = [Some(text), said].into_iter().flatten();
        let content: Vec<Value> = texts.map(|text| json!({ "type": "text", "text": text })).collect();
        self.request.answer(members([("content", json!(content)), ("isError", json!(failed))]))
    }
}

impl Desk {
    fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.tools.iter().find(|tool| tool.name == name).copied()
    }

    /// What is asked about the server itself.
    fn tell(&self, request: &Request, wish: &Wish) -> Map<String, Value> {
        let forgettable = [("ttlMs", json!(0)), ("cacheScope", json!("private"))];
        match wish {
            Wish::Introduction { version } => members([
                ("protocolVersion", json!(version)),
                ("capabilities", json!({ "tools": {} })),
                ("serverInfo", who()),
                ("instructions", json!(self.instructions())),
            ]),
            Wish::Discovery => members(
                [
                    ("supportedVersions", json!(protocol::versions())),
                    ("capabilities", json!({ "tools": {} })),
                    ("instructions", json!(self.instructions())),
                    ("_meta", json!({ "io.modelcontextprotocol/serverInfo": who() })),
                ]
                .into_iter()
                .chain(forgettable),
            ),
            Wish::Tools => {
                let is_inside = self.attempt.is_some();
                let tools: Vec<Value> = self.tools.iter().map(|tool| tool.described(is_inside)).collect();
                let forgettable = forgettable.into_iter().filter(|_| request.is_modern());
                members([("tools", json!(tools))].into_iter().chain(forgettable))
            }
            Wish::Ping | Wish::Call { .. } => Map::new(),
        }
    }

    fn instructions(&self) -> String {
        match &self.attempt {
            Some(Attempt { task, .. }) => format!(
                "You work on the task {task}. `orient` says what you have to know. Before you end, `report` the result: `done` starts its checks, and only they decide. You cannot report on another task."
            ),
            None => "Piton keeps the state of a plan of tasks. `next` names what can be worked on, `start` takes a task, `orient` says what to know about it, and `report` records the result: `done` starts the checks, and only they decide. If no run is found, call `next` with the path of the plan."
                .to_owned(),
        }
    }
}

fn who() -> Value {
    json!({ "name": "piton", "version": env!("CARGO_PKG_VERSION") })
}

fn members(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
