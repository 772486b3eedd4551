//! One try of an agent on a task: its job, and what its end means.

use std::collections::BTreeMap;
use std::io;

use piton_core::client::Fault;
use piton_core::plan::{Agent, RunId, SILENCE, TaskId, TaskSpec};
use piton_core::run::{AgentEnd, SILENT, TIMED_OUT, verdict};
use piton_core::signal::Signal;
use piton_core::time::Span;

use super::heard::Heard;
use super::outbox::{Message, OUTBOX, OUTBOX_FILE, Said, TOKEN};
use super::place::Place;
use super::session::Session;
use super::start::start;
use crate::keeper::{Ended, JobSpec};

/// `EX_TEMPFAIL`: the program itself says that trying again may help.
const TEMPORARY: i32 = 75;

/// The longest a client with a stream may take for its first line, which says that it has begun.
const STARTUP: Span = Span::minutes(2);

/// The job of one try, with the prompt already in its file.
pub(crate) fn job(
    agent: &Agent,
    spec: &TaskSpec,
    run: &RunId,
    attempt: u32,
    place: &Place<'_>,
    session: Option<&Session>,
) -> io::Result<JobSpec> {
    let mut job = start(agent, place, session)?;
    job.env.extend(environment(run, &spec.id, attempt));
    place.put_in_path(&mut job.env)?;
    job.env.insert(OUTBOX.to_owned(), place.folder().join(OUTBOX_FILE).into_string());
    job.env.insert(TOKEN.to_owned(), uuid::Uuid::now_v7().simple().to_string());
    job.wall_ms = Some(spec.timeout.0);
    job.silence_ms = spec.silence_of(agent.adapter).map(|span| span.0);
    // A run's own settings are applied later, and take precedence.
    job.startup_ms = (!agent.adapter.is_command()).then_some(STARTUP.0);
    Ok(job)
}

/// What every child of an attempt knows about it.
pub(crate) fn environment(run: &RunId, task: &TaskId, attempt: u32) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("PITON_RUN".to_owned(), run.to_string()),
        ("PITON_TASK".to_owned(), task.to_string()),
        ("PITON_ATTEMPT".to_owned(), attempt.to_string()),
    ])
}

/// What the end of the process means, given its parsed output. `said` is what it reported by command.
pub fn end_of(ended: &Ended, heard: &Heard, said: Option<&Message>, spec: &TaskSpec) -> AgentEnd {
    let tail = heard.said.as_str();
    // What the agent itself advises stands first.
    let advice = said.map(|message| message.report.feedback.trim()).filter(|advice| !advice.is_empty());
    let advice = advice.map(|advice| format!("{advice}\n\n")).unwrap_or_default();
    let failed = |reason: String| AgentEnd::Failed {
        feedback: format!("{advice}{reason}\nThe end of its output:\n{}\n", verdict::excerpt(tail, 4000)),
        reason,
    };
    match ended {
        Ended::Stopped => return AgentEnd::Stopped,
        Ended::Died => return AgentEnd::Transient { reason: "the agent died with its keeper".to_owned() },
        Ended::NotStarted { reason } => {
            return AgentEnd::Transient { reason: format!("the agent could not be started: {reason}") };
        }
        Ended::Signalled { signal } => {
            return AgentEnd::Transient { reason: format!("the agent was killed by signal {signal}") };
        }
        // Neither the agent nor its task is to blame.
        Ended::WallClock | Ended::Silence if heard.outage().is_some() => {
            return heard.outage().unwrap_or(AgentEnd::Stopped);
        }
        Ended::WallClock => return failed(format!("{TIMED_OUT}{}", spec.timeout)),
        Ended::Silence => {
            let limit = spec.silence.unwrap_or(SILENCE);
            let reason = format!("{SILENT}{limit}");
            return if heard.waits_for_others() { AgentEnd::Transient { reason } } else { failed(reason) };
        }
        Ended::Startup => return AgentEnd::Transient { reason: "the agent never said anything".to_owned() },
        Ended::Exited { .. } => {}
    }
    match said.map(|message| &message.said) {
        Some(Said::Blocked { reason }) => return AgentEnd::Blocked { reason: reason.clone() },
        Some(Said::Failed { reason }) => return failed(reason.clone()),
        Some(Said::Done | Said::Already { .. }) | None => {}
    }
    if let Some(outage) = heard.outage() {
        return outage;
    }
    match &heard.broken {
        None => {}
        Some((Fault::Own, reason)) => return failed(reason.clone()),
        Some((Fault::Declined, reason)) => return AgentEnd::Declined { reason: reason.clone() },
        Some((Fault::Outside, reason)) => return AgentEnd::Transient { reason: reason.clone() },
        Some((Fault::Person | Fault::Limit | Fault::Busy | Fault::Down | Fault::Refused, reason)) => {
            return AgentEnd::Blocked { reason: reason.clone() };
        }
        Some((Fault::Gone, reason)) => {
            return AgentEnd::Transient {
                reason: format!("the next try begins a new conversation: {reason}"),
            };
        }
    }
    let said = said.map(|message| &message.said);
    match (heard.signal(&spec.id), ended) {
        (Some(Signal::Blocked(reason)), _) => AgentEnd::Blocked { reason },
        (Some(Signal::Failed(reason)), _) => failed(reason),
        (Some(Signal::Retry(reason)), _) => AgentEnd::Transient { reason },
        (Some(Signal::Refused(reason)), _) => AgentEnd::Refused { reason },
        (Some(Signal::Limit(until)), _) => {
            AgentEnd::Limit { reason: "the agent reached a usage limit".to_owned(), until, model: None }
        }
        (signal, Ended::Exited { code: 0 }) => match (said, signal) {
            (Some(Said::Already { reason }), _) => AgentEnd::Already { reason: reason.clone() },
            (_, Some(Signal::Already(reason))) => AgentEnd::Already { reason },
            _ => AgentEnd::Done,
        },
        (_, Ended::Exited { code: TEMPORARY }) => {
            AgentEnd::Transient { reason: "the agent asked to be run again".to_owned() }
        }
        (_, Ended::Exited { code }) => failed(format!("the agent ended with exit status {code}")),
        (_, _) => failed("the agent did not finish".to_owned()),
    }
}
