//! Starting a client as its row in the table of clients says.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::{Adapter, GO_ON, Launch, OwnFile, Start, StopBy};
use piton_core::order::Pairs;
use piton_core::plan::Agent;
use serde::{Deserialize, Serialize};

use super::homes::make_homes;
use super::machine::Here;
use super::place::Place;
use super::session::Session;
use super::tools::KNOWN;
use crate::keeper::{Fence, Job, JobSpec, StopSignal};
use crate::{disk, environment};

/// Temporary files of a client that gets a folder for its own.
const TEMPORARY: &str = "tmp";

/// In the folder of a job: which client it was begun with. Its agent may be another client by the time it ends.
const CLIENT: &str = "client.json";

#[derive(Serialize, Deserialize)]
struct Begun {
    adapter: Adapter,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

/// The agent of a job, as far as its output is concerned: what the job was begun with, or else what the settings say.
/// Jobs of earlier versions do not record it.
pub(crate) fn as_begun(job: &Job, agent: Option<&Agent>) -> Option<Agent> {
    let begun = job.started_at_ms().and_then(|_| fs::read_to_string(job.dir().join(CLIENT)).ok());
    let begun = begun.and_then(|text| serde_json::from_str::<Begun>(&text).ok());
    match (begun, agent.cloned()) {
        (Some(Begun { adapter, model }), agent) => {
            Some(Agent { adapter, model, ..agent.unwrap_or_default() })
        }
        (None, agent) => agent,
    }
}

/// The file of the prompt: as it was written, or with a note for an agent that was interrupted.
pub(crate) fn prompt_of(session: Option<&Session>, written: &Utf8Path) -> io::Result<Utf8PathBuf> {
    if !session.is_some_and(Session::is_resumed) {
        return Ok(written.to_owned());
    }
    let path = written.with_file_name("go-on.md");
    if !path.exists() {
        let text = [GO_ON.as_bytes(), &std::fs::read(written)?].concat();
        disk::write(&path, &text)?;
    }
    Ok(path)
}

/// A client with a prompt, whatever it is asked for. Without a `session` it begins one that Piton never resumes.
pub(crate) fn start(agent: &Agent, place: &Place<'_>, session: Option<&Session>) -> io::Result<JobSpec> {
    if place.fenced {
        make_homes(agent);
    }
    let folder = place.folder();
    if Job::at(folder).started_at_ms().is_none() {
        let begun = Begun { adapter: agent.adapter, model: agent.model.clone() };
        let text = serde_json::to_vec(&begun).map_err(io::Error::other)?;
        disk::fill(&folder.join(CLIENT), &text)?;
    }
    let launch = agent.adapter.start(&Start {
        agent,
        folder: folder.as_str(),
        prompt: place.prompt.as_str(),
        session: session.map(Session::conversation),
        server: place.server(agent),
        hook: place.hook(agent).as_deref(),
        attempt: &KNOWN,
        fenced: place.fenced,
        machine: &Here { added: &agent.env, cwd: place.cwd },
    });
    let launch = launch.map_err(|why| io::Error::new(io::ErrorKind::Unsupported, why))?;
    for file in &launch.files {
        put(file, folder)?;
    }
    if launch.own_temporary {
        disk::private_folder(&folder.join(TEMPORARY))?;
    }
    Ok(job(launch, agent, place))
}

fn put(file: &OwnFile, folder: &Utf8Path) -> io::Result<()> {
    let path = folder.join(file.name);
    disk::write(&path, file.text.as_bytes())?;
    match file.only_if_roots {
        Some(why) if !is_roots(&path) => Err(io::Error::new(io::ErrorKind::Unsupported, why)),
        _ => Ok(()),
    }
}

fn job(launch: Launch, agent: &Agent, place: &Place<'_>) -> JobSpec {
    let mut job = JobSpec::new(launch.words, place.cwd);
    job.env =
        launch.usual_env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).into_map();
    job.env.extend(agent.env.clone());
    job.env.insert("PITON_PROMPT".to_owned(), place.prompt.to_string());
    job.env.extend(launch.env.into_iter().map(|(name, value)| (name.to_owned(), value)));
    if launch.own_temporary {
        job.env.insert("TMPDIR".to_owned(), place.folder().join(TEMPORARY).into_string());
    }
    for (name, value) in launch.secret_env {
        job.env.remove(name);
        job.secrets.insert(name.to_owned(), value);
    }
    job.env_remove =
        environment::not_inherited().chain(launch.env_remove.iter().copied()).map(str::to_owned).collect();
    job.stdin = (!launch.reads_prompt_file).then(|| place.prompt.to_owned());
    job.fence = launch.needs_fence.then(|| Fence { writable: Vec::new(), required: true, view: false });
    job.stop_signal = match launch.stop {
        StopBy::Term => StopSignal::Term,
        StopBy::Int => StopSignal::Int,
    };
    job
}

/// Whether only root can have put this there.
#[cfg(unix)]
fn is_roots(path: &Utf8Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_roots =
        |path: &Utf8Path| fs::metadata(path).is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0);
    path.canonicalize_utf8().is_ok_and(|path| path.ancestors().all(is_roots))
}

#[cfg(not(unix))]
fn is_roots(_path: &Utf8Path) -> bool {
    false
}
