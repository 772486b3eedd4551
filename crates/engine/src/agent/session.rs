//! The conversation of a try. One that was interrupted is gone on with, so its name is on disk before the work begins:
//! given to the client where it takes one, and else at the beginning of its output.

use std::{fs, io};

use camino::Utf8Path;
use piton_core::client::{Exit, Fault, Meaning, Story};
use piton_core::plan::{Adapter, Agent};
use piton_core::run::ByModel;
use serde::{Deserialize, Serialize};

use super::story;
use crate::disk;
use crate::keeper::{Ended, Job};

const FILE: &str = "session.json";
/// In the folder of a job that was stopped at a budget: which, and what was used of it.
pub(crate) const OVER_BUDGET: &str = "over-budget";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Whose it is, and in which attempt: a new one begins anew, with what went wrong before its eyes.
    agent: String,
    adapter: Adapter,
    attempt: u32,
    /// Its name; a client that takes none tells its own later.
    pub(super) id: Option<String>,
    /// It was begun by an earlier try.
    pub(super) resumes: bool,
    /// What it had used when this try began: clients count on.
    #[serde(default)]
    pub(super) before: ByModel,
}

impl Session {
    /// The session of a job `FENCE.agentPASS`, whose earlier ones are in the same folder. `None` for a client without.
    pub(crate) fn of(job: &Job, agent: &Agent, name: &str, attempt: u32) -> io::Result<Option<Session>> {
        if agent.adapter.is_command() {
            return Ok(None);
        }
        let path = job.dir().join(FILE);
        if let Some(session) = read(&path) {
            return Ok(Some(session));
        }
        let wanted = Session {
            agent: name.to_owned(),
            adapter: agent.adapter,
            attempt,
            id: takes_a_name(agent.adapter).then(|| uuid::Uuid::now_v7().to_string()),
            resumes: false,
            before: ByModel::new(),
        };
        let session = interrupted(job, &wanted).unwrap_or(wanted);
        let text = serde_json::to_vec(&session).map_err(io::Error::other)?;
        disk::write(&path, &text)?;
        Ok(Some(session))
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.resumes
    }

    /// What this try has used, of what the client says about the whole conversation.
    pub(super) fn own_use(&self, told: &ByModel) -> ByModel {
        piton_core::run::usage_since(told, &self.before)
    }
}

fn takes_a_name(adapter: Adapter) -> bool {
    matches!(adapter, Adapter::Claude | Adapter::Gemini)
}

fn read(path: &Utf8Path) -> Option<Session> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The session of the try before this one, if that was cut off and can be gone on with.
fn interrupted(job: &Job, wanted: &Session) -> Option<Session> {
    let (fence, pass) = number(job.dir())?;
    let jobs = job.dir().parent()?.read_dir_utf8().ok()?;
    let earlier = jobs.flatten().filter_map(|entry| Some((number(entry.path())?, entry.into_path())));
    let ((_, last_pass), last) = earlier.filter(|((earlier, _), _)| *earlier < fence).max()?;
    let (session, last) = (read(&last.join(FILE))?, Job::at(last));
    let same = (&session.agent, session.adapter, session.attempt);
    if last_pass != pass || same != (&wanted.agent, wanted.adapter, wanted.attempt) {
        return None;
    }
    let outcome = last.outcome().ok()??;
    let story = story(wanted.adapter, &last, outcome.ended_at())?;
    if !was_cut_off(&outcome.ended, &story) {
        return None;
    }
    let mut before = session.before;
    before.extend(story.used.into_iter().flatten());
    if was_booked(&last) {
        for (model, usage) in story.since {
            let sum = before.entry(model).or_default();
            *sum = sum.plus(usage);
        }
    }
    // A client that has not named the conversation has not begun it.
    Some(Session { id: Some(story.session?), resumes: true, before, ..wanted.clone() })
}

/// What a session of this job had used when the job began.
pub(crate) fn before(job: &Job) -> ByModel {
    read(&job.dir().join(FILE)).map(|session| session.before).unwrap_or_default()
}

/// Of a client that was stopped at a budget, what its messages told is booked: it was stopped for that.
fn was_booked(job: &Job) -> bool {
    job.dir().join(OVER_BUDGET).exists()
}

fn was_cut_off(ended: &Ended, story: &Story) -> bool {
    match ended {
        Ended::Died | Ended::Stopped | Ended::Signalled { .. } => true,
        Ended::Exited { code } => matches!(
            story.meaning(Exit::Code(*code)),
            Meaning::Broken { fault: Fault::Outside | Fault::Limit, .. }
        ),
        _ => false,
    }
}

/// The fence and the pass in the name of an agent's job.
fn number(dir: &Utf8Path) -> Option<(u64, u32)> {
    let (fence, pass) = dir.file_name()?.split_once(".agent")?;
    Some((fence.parse().ok()?, pass.parse().ok()?))
}
