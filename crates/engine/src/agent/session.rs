//! The conversation of an attempt. An interrupted conversation is resumed, so its name is on disk before the work
//! begins. Piton gives the name to the client; a client that takes none prints its own at the beginning of its output.

use std::{fs, io};

use camino::Utf8Path;
use piton_core::client::{Adapter, Conversation, Exit, Fault, Meaning, Story};
use piton_core::plan::Agent;
use piton_core::run::ByModel;
use serde::{Deserialize, Serialize};

use super::stream::story;
use crate::disk;
use crate::keeper::{Ended, Job};

const FILE: &str = "session.json";
/// In the folder of a job that was stopped at a budget: which, and what was used of it.
pub(crate) const OVER_BUDGET: &str = "over-budget";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its agent and attempt: a new attempt begins a new conversation, with what went wrong in its prompt.
    pub(crate) agent: String,
    adapter: Adapter,
    attempt: u32,
    /// Its name; a client that takes none reports its own later.
    id: Option<String>,
    /// It was begun by an earlier try.
    resumes: bool,
    /// What it had used when this try began, for clients that keep counting in a resumed conversation.
    #[serde(default)]
    before: ByModel,
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
            id: agent.adapter.facts().takes_session_name.then(|| uuid::Uuid::now_v7().to_string()),
            resumes: false,
            before: ByModel::new(),
        };
        let session = interrupted(job, &wanted).unwrap_or(wanted);
        let text = serde_json::to_vec(&session).map_err(io::Error::other)?;
        disk::write(&path, &text)?;
        Ok(Some(session))
    }

    /// The session of a job that has begun, if it has one.
    pub(crate) fn at(job: &Job) -> Option<Session> {
        read(&job.dir().join(FILE))
    }

    pub(super) fn conversation(&self) -> Conversation<'_> {
        Conversation { id: self.id.as_deref(), resumes: self.resumes }
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.resumes
    }

    /// What this try has used. `told` is the client's figure for the whole conversation.
    pub(super) fn own_use(&self, told: &ByModel) -> ByModel {
        piton_core::run::usage_since(told, &self.before)
    }
}

fn read(path: &Utf8Path) -> Option<Session> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// The session of the try before this one, if that was cut off and can be resumed.
fn interrupted(job: &Job, wanted: &Session) -> Option<Session> {
    let (fence, pass) = number(job.dir())?;
    let jobs = job.dir().parent()?.read_dir_utf8().ok()?;
    let earlier = jobs.flatten().filter_map(|entry| Some((number(entry.path())?, entry.into_path())));
    let earlier = earlier.filter(|((earlier, _), _)| *earlier < fence);
    // One that never began is not a try.
    let was_tried = |dir: &Utf8Path| Job::at(dir).started_at_ms().is_some();
    let ((_, last_pass), last) = earlier.filter(|(_, dir)| was_tried(dir)).max()?;
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
    let counts_on = wanted.adapter.facts().counts_on;
    if counts_on {
        before.extend(story.used.into_iter().flatten());
    }
    // Such a client's figure includes what was recorded for it, reported or estimated. If it was killed, it could not
    // save its figure.
    let counted = counts_on && !matches!(outcome.ended, Ended::Died | Ended::Signalled { .. });
    for (model, usage) in story.since.into_iter().chain(story.unreported).filter(|_| counted) {
        let sum = before.entry(model).or_default();
        *sum = sum.plus(usage);
    }
    // A client that has not named the conversation has not begun it.
    Some(Session { id: Some(story.session?), resumes: true, before, ..wanted.clone() })
}

/// What a session of this job had used when the job began.
pub fn before(job: &Job) -> ByModel {
    read(&job.dir().join(FILE)).map(|session| session.before).unwrap_or_default()
}

fn was_cut_off(ended: &Ended, story: &Story) -> bool {
    match ended {
        Ended::Died | Ended::Stopped | Ended::Signalled { .. } => true,
        Ended::Silence => !story.is_in_call(),
        Ended::Exited { code } => matches!(
            story.meaning(Exit::Code(*code)),
            Meaning::Broken { fault: Fault::Outside | Fault::Limit | Fault::Busy | Fault::Down, .. }
        ),
        _ => false,
    }
}

/// The fence and the pass in the name of an agent's job.
fn number(dir: &Utf8Path) -> Option<(u64, u32)> {
    let (fence, pass) = dir.file_name()?.split_once(".agent")?;
    Some((fence.parse().ok()?, pass.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use piton_core::run::Usage;

    use super::*;

    #[test]
    fn only_of_what_a_client_counts_on_is_the_earlier_part_taken_off() {
        let used = Usage { input: Some(300), output: Some(30), ..Usage::default() };
        let told = |model: &str| ByModel::from([(model.to_owned(), used)]);
        let claude = r#"{"type":"system","subtype":"init","session_id":"s1"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":500,"modelUsage":{"m":{"inputTokens":200,"outputTokens":20}}}"#;
        let codex = r#"{"type":"thread.started","thread_id":"s1"}
{"type":"turn.completed","usage":{"input_tokens":200,"output_tokens":20}}"#;
        let gemini = r#"{"type":"init","session_id":"s1"}
{"type":"result","status":"error","error":"503","stats":{"models":{"m":{"input_tokens":200,"output_tokens":20}}}}"#;
        let opencode = r#"{"type":"step_finish","sessionID":"s1","part":{"reason":"tool-calls","tokens":{"input":200,"output":20}}}"#;
        for (name, stream, model, own) in [
            ("claude", claude, "m", 100),
            ("codex", codex, "", 100),
            ("gemini", gemini, "m", 300),
            ("opencode", opencode, "", 300),
        ] {
            let temp = tempfile::tempdir().expect("a temporary folder");
            let here = Utf8PathBuf::from_path_buf(temp.path().to_owned()).expect("UTF-8");
            let adapter = Adapter::named(name).expect("a known client");
            let agent = Agent { adapter, ..Agent::default() };
            let session = |fence: u32| {
                let job = Job::at(here.join(format!("{fence}.agent0")));
                disk::private_folder(job.dir()).expect("a new folder");
                let session = Session::of(&job, &agent, "default", 1).expect("it is written");
                (job, session.expect("it has sessions"))
            };
            let (first, _) = session(1);
            let started = r#"{"at_ms":0,"marker":"","spec":{"argv":[],"cwd":"/","grace_ms":0,"output_head":0,"output_tail":0}}"#;
            disk::write(&first.dir().join("started.json"), started.as_bytes()).expect("a file");
            disk::write(&first.dir().join("output.log"), format!("{stream}\n").as_bytes()).expect("a file");
            let outcome = r#"{"ended":{"kind":"signalled","signal":9},"started_at_ms":0,"ended_at_ms":1}"#;
            disk::write(&first.dir().join("outcome.json"), outcome.as_bytes()).expect("a file");
            // What never began is not a try.
            disk::private_folder(&here.join("2.agent0")).expect("a new folder");
            let (_, next) = session(3);
            assert!(next.is_resumed(), "{name}");
            assert_eq!(next.own_use(&told(model))[model].input, Some(own), "{name}");
        }
    }
}
