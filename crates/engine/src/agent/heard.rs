//! What a client printed and how it ended.

use std::{fs, io};

use piton_core::answer;
use piton_core::client::{Exit, Fault, Meaning};
use piton_core::plan::{Agent, TaskId};
use piton_core::run::{AgentEnd, Asks, ByModel, Closing, Usage, Verdict, verdict};
use piton_core::signal::{Output, Reach, Signal, heard};
use piton_core::terminal::clean_text;
use piton_core::time::{Span, Timestamp};

use super::place::PROMPT;
use super::session::Session;
use super::stream::{story, together};
use crate::keeper::{Ended, Job, Outcome};

/// What a client printed and how it ended.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The agent's last message; of a client without a stream, the end of its output.
    pub said: String,
    /// Not all of its output was read.
    is_cut: bool,
    /// Its prompt: a client that only prints this has said nothing.
    asked: String,
    /// Why the client itself says that it did not finish.
    pub(super) broken: Option<(Fault, String)>,
    /// What its servers refused when it was cut off.
    waits_out: Option<(Fault, String)>,
    /// When the limit that it met ends.
    until: Option<Timestamp>,
    /// The model that the limit applies to, if it does not apply to all.
    limited: Option<String>,
    /// When it ended. The output may be read much later: times in it are from before this.
    pub(crate) ended_at: Timestamp,
    has_stream: bool,
    /// What the client did not let its agent do.
    denied: Option<String>,
    /// Whether it waited for a tool when it ended.
    in_call: bool,
    /// What it has used, by model, if it reports that. `None` also for a client that never does.
    pub used: Option<ByModel>,
    /// What it has used beyond that, as an estimate.
    pub estimate: ByModel,
}

impl Heard {
    /// Whether a client that has become silent waits for its servers: then its agent is not to blame.
    pub(super) fn waits_for_others(&self) -> bool {
        self.has_stream && !self.in_call
    }

    /// Whether the client itself finished, so that its agent's words count.
    pub(crate) fn is_finished(&self) -> bool {
        self.broken.is_none()
    }

    /// The verdict of a review whose client did not finish.
    pub(crate) fn no_verdict(&self) -> Option<Verdict> {
        let (fault, reason) = self.broken.as_ref()?;
        let reason = reason.clone();
        Some(match fault {
            Fault::Person | Fault::Refused => Verdict::Impossible { reason },
            Fault::Own
            | Fault::Limit
            | Fault::Busy
            | Fault::Down
            | Fault::Declined
            | Fault::Outside
            | Fault::Gone => Verdict::Broken { reason },
        })
    }
}

impl Heard {
    /// Its last words. An agent that reported that it is done, or ended otherwise, does not wait for an answer.
    pub(crate) fn closing(&self, end: &AgentEnd, has_reported: bool) -> Closing {
        let denied = || self.denied.clone().map(|denied| Asks::Permission { denied });
        let question = || {
            let text = answer::closing_question(&self.said)?;
            let text = text.chars().take(LONGEST_QUESTION).collect();
            // A question that is part of its prompt is not its own.
            (!self.asked.contains(&text)).then_some(Asks::Question { text })
        };
        let waits = *end == AgentEnd::Done && !has_reported;
        let asks = if waits { denied().or_else(question) } else { None };
        Closing { words: verdict::excerpt(self.said.trim(), Closing::WORDS).to_owned(), asks }
    }

    /// Whether it ended because its budget was spent by its own count.
    pub(crate) fn is_used_up(&self) -> bool {
        matches!(self.broken, Some((Fault::Own, _)))
    }

    /// The signal at the end of its agent's words, as far as agents of this client may give it.
    pub(crate) fn signal(&self, task: &TaskId) -> Option<Signal> {
        heard(self.output(Reach::LastLine), task, self.ended_at).signal.filter(|signal| self.may_say(signal))
    }

    /// Its words, in which signals are searched.
    pub(crate) fn output(&self, reach: Reach) -> Output<'_> {
        Output { text: &self.said, cut: self.is_cut, prompt: &self.asked, reach }
    }

    /// A client with a stream reports limits and refusals there. In its agent's words they may be an example.
    pub(crate) fn may_say(&self, signal: &Signal) -> bool {
        !(self.has_stream && matches!(signal, Signal::Limit(_) | Signal::Refused(_)))
    }

    /// The same for an agent that has no task: a custom program says it in its last line.
    pub(crate) fn outage_of_any(&self) -> Option<AgentEnd> {
        let any = TaskId::new("0").expect("a digit is a valid id");
        let said = || match self.signal(&any)? {
            Signal::Limit(until) => {
                let reason = "the agent reached a usage limit".to_owned();
                Some(AgentEnd::Limit { reason, until, model: None })
            }
            Signal::Refused(reason) => Some(AgentEnd::Refused { reason }),
            _ => None,
        };
        self.outage().or_else(said)
    }

    /// If the client did not finish because of its provider: what that means for the provider.
    pub(crate) fn outage(&self) -> Option<AgentEnd> {
        match self.broken.as_ref().or(self.waits_out.as_ref())? {
            (fault @ (Fault::Limit | Fault::Busy), reason) => {
                let unknown = if *fault == Fault::Busy { UNKNOWN_RATE } else { UNKNOWN_LIMIT };
                let until = self.until.unwrap_or(self.ended_at.plus(unknown));
                Some(AgentEnd::Limit { reason: reason.clone(), until, model: self.limited.clone() })
            }
            (Fault::Refused, reason) => Some(AgentEnd::Refused { reason: reason.clone() }),
            (Fault::Down, reason) => Some(AgentEnd::Unavailable { reason: reason.clone() }),
            (Fault::Own | Fault::Outside | Fault::Person | Fault::Declined | Fault::Gone, _) => None,
        }
    }
}

/// The most characters of a question that a reason quotes.
const LONGEST_QUESTION: usize = 300;

/// How long Piton waits at a usage limit whose end the client did not report. Most end within hours, and a look costs
/// little.
const UNKNOWN_LIMIT: Span = Span::minutes(30);
/// The same for too many requests, which are counted by the minute.
const UNKNOWN_RATE: Span = Span::minutes(5);

/// Parse what a client that has ended printed. `tail` is how many bytes of the end of unstructured output are read.
pub(crate) fn hear(
    agent: &Agent,
    job: &Job,
    session: Option<&Session>,
    outcome: &Outcome,
    tail: usize,
) -> io::Result<Heard> {
    let ended_at = outcome.ended_at();
    let asked = fs::read(job.dir().join(PROMPT)).unwrap_or_default();
    let asked = String::from_utf8_lossy(&asked).into_owned();
    let Some(story) = story(agent.adapter, job, ended_at) else {
        let said = clean_text(&job.output().tail(tail)?);
        return Ok(Heard {
            said,
            is_cut: outcome.output_bytes > tail as u64,
            asked,
            broken: None,
            waits_out: None,
            until: None,
            limited: None,
            ended_at,
            has_stream: false,
            denied: None,
            in_call: false,
            used: None,
            estimate: ByModel::new(),
        });
    };
    let exit = match &outcome.ended {
        Ended::Exited { code } => Some(Exit::Code(*code)),
        Ended::Signalled { signal } => Some(Exit::Signal(*signal)),
        _ => None,
    };
    let broken = exit.and_then(|exit| match story.meaning(exit) {
        Meaning::Finished => None,
        Meaning::Broken { fault, reason } => Some((fault, reason)),
    });
    let summed = story.used.as_ref();
    let own = summed.map(|told| session.map_or_else(|| told.clone(), |session| session.own_use(told)));
    // Single messages report what the client did not get to sum up.
    let since = Some(&story.since).filter(|since| !since.is_empty());
    let used = (own.is_some() || since.is_some()).then(|| {
        let parts = own.iter().chain(since).flatten();
        together(parts.map(|(model, usage)| (named(model, agent), *usage)))
    });
    // It never reported what those cost.
    let unpriced = story.since.keys().map(|model| (model, Usage::default()));
    let unreported = story.unreported.iter().map(|(model, usage)| (model, *usage)).chain(unpriced);
    let estimate = together(unreported.map(|(model, usage)| (named(model, agent), usage)));
    // A client that ended by itself has said why.
    let waits_out = story.waits_out().filter(|_| matches!(outcome.ended, Ended::Silence | Ended::WallClock));
    let waits_out = waits_out.map(|(fault, words)| (fault, format!("it waits for its servers: {words}")));
    let said = clean_text(story.said.as_bytes());
    let (until, in_call, denied) = (story.limit(), story.is_in_call(), story.denied.clone());
    Ok(Heard {
        said,
        is_cut: false,
        asked,
        broken,
        waits_out,
        until,
        limited: story.limited().map(str::to_owned),
        ended_at,
        has_stream: true,
        denied,
        in_call,
        used,
        estimate,
    })
}

/// The model. If the client does not report which one it used, it is the configured one.
fn named(model: &str, agent: &Agent) -> String {
    if model.is_empty() { agent.model.clone().unwrap_or_default() } else { model.to_owned() }
}
