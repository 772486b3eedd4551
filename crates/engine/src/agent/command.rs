//! The `command` agent: any program that takes a prompt on standard input or in a file.

use std::collections::BTreeMap;

use camino::Utf8Path;
use piton_core::plan::{Agent, PromptBy, RunId, TaskId, TaskSpec};
use piton_core::run::{AgentEnd, verdict};
use piton_core::signal::{Signal, last_signal};
use piton_core::time::Timestamp;

use super::outbox::{Message, OUTBOX, Said, TOKEN};
use crate::keeper::{Ended, JobSpec};

/// `EX_TEMPFAIL`: the program itself says that trying again may help.
const TEMPORARY: i32 = 75;

/// Variables that would make an agent's git, or its own Piton, work somewhere else.
pub(crate) const NOT_INHERITED: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "PITON_CRASH",
    "PITON_CRASH_TRACE",
    "PITON_PAUSE",
];

/// The job of one try, with the prompt already in `prompt`.
pub fn job(
    agent: &Agent,
    spec: &TaskSpec,
    run: &RunId,
    attempt: u32,
    cwd: &Utf8Path,
    prompt: &Utf8Path,
) -> JobSpec {
    let mut job = start(agent, cwd, prompt);
    job.env.extend(environment(run, &spec.id, attempt));
    let folder = prompt.parent().unwrap_or(Utf8Path::new("."));
    job.env.insert(OUTBOX.to_owned(), folder.join("outbox.jsonl").into_string());
    job.env.insert(TOKEN.to_owned(), uuid::Uuid::now_v7().simple().to_string());
    job.wall_ms = Some(spec.timeout.0);
    job.silence_ms = spec.silence.map(|span| span.0);
    job
}

/// A client with a prompt, whatever it is asked for.
pub(crate) fn start(agent: &Agent, cwd: &Utf8Path, prompt: &Utf8Path) -> JobSpec {
    let argv = agent.command.iter().map(|word| word.replace("{prompt}", prompt.as_str()));
    let mut job = JobSpec::new(argv, cwd);
    job.env = agent.env.clone();
    job.env.insert("PITON_PROMPT".to_owned(), prompt.to_string());
    job.env_remove = NOT_INHERITED.map(str::to_owned).to_vec();
    job.stdin = (agent.prompt == PromptBy::Stdin).then(|| prompt.to_owned());
    job
}

/// What every child of an attempt knows about it.
pub(crate) fn environment(run: &RunId, task: &TaskId, attempt: u32) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("PITON_RUN".to_owned(), run.to_string()),
        ("PITON_TASK".to_owned(), task.to_string()),
        ("PITON_ATTEMPT".to_owned(), attempt.to_string()),
    ])
}

/// What the end of the process means. `tail` is the end of its output, `said` what it reported by command.
pub fn end_of(
    ended: &Ended,
    tail: &str,
    said: Option<&Message>,
    spec: &TaskSpec,
    now: Timestamp,
) -> AgentEnd {
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
        Ended::WallClock => return failed(format!("the agent had not finished after {}", spec.timeout)),
        Ended::Silence => {
            let limit = spec.silence.unwrap_or_default();
            return failed(format!("the agent said nothing for {limit}"));
        }
        Ended::Exited { .. } => {}
    }
    match said.map(|message| &message.said) {
        Some(Said::Blocked { reason }) => return AgentEnd::Blocked { reason: reason.clone() },
        Some(Said::Failed { reason }) => return failed(reason.clone()),
        Some(Said::Done) | None => {}
    }
    match (last_signal(tail, &spec.id, now), ended) {
        (Some(Signal::Blocked(reason)), _) => AgentEnd::Blocked { reason },
        (Some(Signal::Failed(reason)), _) => failed(reason),
        (Some(Signal::Retry(reason)), _) => AgentEnd::Transient { reason },
        (Some(Signal::Limit(until)), _) => {
            AgentEnd::Limit { reason: "the agent reached a usage limit".to_owned(), until }
        }
        (_, Ended::Exited { code: 0 }) => AgentEnd::Done,
        (_, Ended::Exited { code: TEMPORARY }) => {
            AgentEnd::Transient { reason: "the agent asked to be run again".to_owned() }
        }
        (_, Ended::Exited { code }) => failed(format!("the agent ended with exit status {code}")),
        (_, _) => failed("the agent did not finish".to_owned()),
    }
}
