//! Trying a client out: which version it is, and whether it answers.

use std::io;

use camino::Utf8Path;
use piton_core::plan::Agent;
use piton_core::run::{AgentEnd, ByModel};
use piton_core::terminal::clean_text;
use piton_core::time::Span;

use super::heard::hear;
use super::login::LOGIN_JOB;
use super::place::Place;
use super::start::start;
use crate::disk;
use crate::keeper::{Ended, Job, JobSpec, KeeperError};

/// How long a client may take to print its version.
const VERSION: Span = Span::seconds(30);
/// One answer, from a model that may be busy.
const ANSWER: Span = Span::minutes(5);

/// The jobs in a folder in which a client is tried out.
const VERSION_JOB: &str = "version";
pub(crate) const TRIAL_JOB: &str = "job";

const PROMPT: &str =
    "This is a test of the connection. Use no tool and change nothing. Answer with one word: ready\n";

/// The version that a client prints, or why it prints none. It runs in `folder`, which is used for nothing else.
pub fn version(agent: &Agent, folder: &Utf8Path, keeper: &[String]) -> Result<String, String> {
    let mut spec = JobSpec::new([agent.program(), "--version"], folder);
    spec.env = agent.env.clone();
    spec.wall_ms = Some(VERSION.0);
    let job = Job::at(folder.join(VERSION_JOB));
    let outcome = job.run(&spec, keeper).map_err(|error| error.to_string())?;
    match outcome.ended {
        Ended::Exited { code: 0 } => {
            let said = clean_text(&job.output().tail(4096).unwrap_or_default());
            let digits = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
            let found = said.split_whitespace().find(digits);
            found.map(str::to_owned).ok_or_else(|| "it does not report its version".to_owned())
        }
        Ended::NotStarted { .. } => Err("not installed".to_owned()),
        _ => Err("it does not report its version".to_owned()),
    }
}

/// End the client that is being tried out in this folder, or will be.
pub fn stop(folder: &Utf8Path) {
    for name in [VERSION_JOB, TRIAL_JOB, LOGIN_JOB] {
        // If the request cannot be written, the job ends by its own limits.
        let _ = Job::at(folder.join(name)).request_stop();
    }
}

/// What one question came to.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Why it is not an answer.
    pub wrong: Option<String>,
    /// What that means for its provider.
    pub end: Option<AgentEnd>,
    pub said: String,
    pub used: Option<ByModel>,
    pub took: Span,
}

/// Ask a client one harmless question, in a folder that is for nothing else.
pub fn trial(agent: &Agent, folder: &Utf8Path, keeper: &[String]) -> Result<Trial, KeeperError> {
    let (job, cwd) = (Job::at(folder.join(TRIAL_JOB)), folder.join("work"));
    let prompt = job.dir().join("prompt.md");
    let prepare = || -> io::Result<JobSpec> {
        disk::private_folder(&cwd)?;
        disk::private_folder(job.dir())?;
        disk::write(&prompt, PROMPT.as_bytes())?;
        // One answer needs no bound, and a bound may be refused where this folder lies.
        let agent = Agent { max_turns: None, ..agent.clone() };
        start(&agent, &Place { cwd: &cwd, prompt: &prompt, tools: None, fenced: false }, None)
    };
    let failed = |source| KeeperError::File { deed: "write in", path: folder.to_owned(), source };
    let mut spec = prepare().map_err(failed)?;
    spec.wall_ms = Some(ANSWER.0);
    let outcome = job.run(&spec, keeper)?;
    let heard = hear(agent, &job, None, &outcome, 16 * 1024).map_err(failed)?;
    let outage = heard.outage_of_any();
    let told = outage.as_ref().map(|end| match end {
        AgentEnd::Limit { reason, until, .. } => format!("{reason} until {until}"),
        AgentEnd::Refused { reason } | AgentEnd::Unavailable { reason } => reason.clone(),
        end => format!("{end:?}"),
    });
    let wrong = match (&outcome.ended, &heard.broken) {
        (_, Some((_, reason))) => Some(reason.clone()),
        (Ended::Exited { code: 0 }, None) => told,
        (Ended::Exited { code }, None) => Some(format!("it ended with exit status {code}")),
        (Ended::Signalled { signal }, None) => Some(format!("it was killed by signal {signal}")),
        (Ended::NotStarted { reason }, None) => Some(format!("it could not be started: {reason}")),
        (Ended::WallClock, None) => Some(format!("it had not answered after {ANSWER}")),
        (_, None) => Some("it was stopped".to_owned()),
    };
    let took = Span(u64::try_from(outcome.ended_at_ms - outcome.started_at_ms).unwrap_or(0));
    let end = outage.or_else(|| wrong.clone().map(|reason| AgentEnd::Transient { reason }));
    Ok(Trial { wrong, end, said: heard.said, used: heard.used, took })
}
