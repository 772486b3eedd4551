//! A model on loopback that answers by a script, so that real clients do real work offline.
//!
//! Nothing but the count of refusals is remembered between requests: which turn it is follows from the conversation
//! that the client sends along. So one server serves many clients at once, and also a client that comes back after a
//! crash.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod openai;

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use http::{Answer, Request};

/// Whose requests it understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Messages, as Claude Code asks.
    Anthropic,
    /// Responses, as Codex asks.
    OpenAi,
    /// Chat completions, as opencode asks.
    Chat,
    /// generateContent, as Gemini CLI asks.
    Gemini,
}

/// What the model does when it is asked about something.
#[derive(Clone, Debug)]
pub struct Script {
    /// A text in the prompt that this script answers; the first script that fits is played.
    pub about: String,
    pub turns: Vec<Turn>,
}

/// One answer of the model.
#[derive(Clone, Debug)]
pub struct Turn {
    act: Act,
    refusal: Option<Refusal>,
}

#[derive(Clone, Debug)]
enum Act {
    Say(String),
    /// Words after which the model declines to go on, where its service can say so.
    Decline(String),
    Shell(String),
    Tool(String, Value),
    /// A tool of an MCP server. Every client names it in its own way.
    Mcp(String, String, Value),
}

/// An error in place of an answer.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// How often, before the answer comes.
    pub times: u32,
}

/// The last words; the client ends its turn.
pub fn say(text: &str) -> Turn {
    Turn { act: Act::Say(text.to_owned()), refusal: None }
}

/// A safety refusal.
pub fn decline(text: &str) -> Turn {
    Turn { act: Act::Decline(text.to_owned()), refusal: None }
}

/// A command, by the client's own tool for that.
pub fn shell(line: &str) -> Turn {
    Turn { act: Act::Shell(line.to_owned()), refusal: None }
}

/// Any tool, by its exact name.
pub fn tool(name: &str, input: Value) -> Turn {
    Turn { act: Act::Tool(name.to_owned(), input), refusal: None }
}

/// A tool of Piton's own server.
pub fn piton(tool: &str, input: Value) -> Turn {
    Turn { act: Act::Mcp("piton".to_owned(), tool.to_owned(), input), refusal: None }
}

pub fn script(about: &str, turns: impl IntoIterator<Item = Turn>) -> Script {
    Script { about: about.to_owned(), turns: turns.into_iter().collect() }
}

impl Turn {
    #[must_use]
    pub fn after(self, refusal: Refusal) -> Turn {
        Turn { refusal: Some(refusal), ..self }
    }
}

impl Refusal {
    /// Too many requests, `times` in a row.
    pub fn busy(times: u32) -> Refusal {
        Refusal {
            status: 429,
            headers: vec![("retry-after".to_owned(), "0".to_owned())],
            body: json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } }),
            times,
        }
    }

    pub fn for_ever(self) -> Refusal {
        Refusal { times: u32::MAX, ..self }
    }
}

/// What a client asked for.
#[derive(Clone, Debug)]
struct Asked {
    /// The last message to the model that is not the client's own.
    prompt: String,
    /// How often the model has answered since.
    turn: usize,
    /// How long the whole conversation is.
    length: usize,
    tools: Vec<String>,
    model: String,
    stream: bool,
}

/// A request that was answered, for those who count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub prompt: String,
    pub turn: usize,
    /// How many entries the whole conversation has.
    pub length: usize,
    /// How large the request was, with the client's own instructions and tools.
    pub bytes: usize,
    pub status: u16,
}

/// The server. It ends with the process that has it.
#[derive(Clone, Debug)]
pub struct Models {
    port: u16,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    api: Api,
    scripts: Vec<Script>,
    refused: Mutex<HashMap<(usize, usize), u32>>,
    served: Mutex<Vec<Served>>,
    last: Mutex<Value>,
}

impl Models {
    pub fn serve(api: Api, scripts: impl IntoIterator<Item = Script>) -> Models {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("it is bound").port();
        let inner = Arc::new(Inner {
            api,
            scripts: scripts.into_iter().collect(),
            refused: Mutex::default(),
            served: Mutex::default(),
            last: Mutex::default(),
        });
        let models = Models { port, inner: Arc::clone(&inner) };
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let inner = Arc::clone(&inner);
                // Some tests end a client in the middle of an answer.
                thread::spawn(move || drop(inner.talk(connection)));
            }
        });
        models
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The whole text of the last request to the model.
    pub fn last_request(&self) -> String {
        locked(&self.inner.last).to_string()
    }

    /// The requests to the model so far, in the order of their answers, without those of helpers.
    pub fn served(&self) -> Vec<Served> {
        locked(&self.inner.served).clone()
    }
}

impl Inner {
    fn talk(&self, connection: TcpStream) -> io::Result<()> {
        let mut writer = connection.try_clone()?;
        let mut reader = BufReader::new(connection);
        while let Some(request) = Request::read(&mut reader)? {
            self.answer(&request).write(&mut writer, &request)?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Answer {
        let asked = match self.api {
            Api::Anthropic => anthropic::asked(request),
            Api::OpenAi => openai::asked(request),
            Api::Chat => chat::asked(request),
            Api::Gemini => gemini::asked(request),
        };
        let Some(asked) = asked else { return other(request) };
        // Without tools it is a helper's request, for a title or a summary.
        let is_helper = asked.tools.is_empty();
        let turn = if is_helper { say("ok") } else { self.turn(&asked) };
        let answer = match turn.refusal {
            Some(Refusal { status, headers, body, .. }) => Answer::json(status, &body).with(headers),
            None => match self.api {
                Api::Anthropic => anthropic::answer(&asked, &turn.act),
                Api::OpenAi => openai::answer(&asked, &turn.act),
                Api::Chat => chat::answer(&asked, &turn.act),
                Api::Gemini => gemini::answer(&asked, &turn.act),
            },
        };
        if is_helper {
            return answer;
        }
        let Asked { prompt, turn, length, .. } = asked;
        locked(&self.served).push(Served {
            prompt,
            turn,
            length,
            bytes: request.bytes,
            status: answer.status,
        });
        locked(&self.last).clone_from(&request.body);
        answer
    }

    /// What is done now: a refusal as long as there are some left.
    fn turn(&self, asked: &Asked) -> Turn {
        let fits = |script: &Script| asked.prompt.contains(&script.about);
        let Some(nth) = self.scripts.iter().position(fits) else {
            return say("(nothing is known about this)");
        };
        let Some(turn) = self.scripts[nth].turns.get(asked.turn) else {
            return say("(the script has ended)");
        };
        let mut refused = locked(&self.refused);
        let count = refused.entry((nth, asked.turn)).or_default();
        let refusal = turn.refusal.clone().filter(|refusal| *count < refusal.times);
        if refusal.is_some() {
            *count += 1;
        }
        Turn { act: turn.act.clone(), refusal }
    }
}

/// Questions about anything else.
fn other(request: &Request) -> Answer {
    if request.path.ends_with("/count_tokens") {
        return Answer::json(200, &json!({ "input_tokens": 100 }));
    }
    if request.path.ends_with("/models") {
        return Answer::json(200, &json!({ "object": "list", "data": [], "models": [] }));
    }
    Answer::json(404, &json!({ "error": { "message": format!("there is nothing at {}", request.path) } }))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
