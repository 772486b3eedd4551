//! What an agent is doing, as far as its output tells.

use piton_core::client::{Adapter, Meter};
use piton_core::plan::RunId;
use piton_core::run::{ByModel, Run, Task, Usage};
use piton_core::terminal::clean_text;
use piton_core::view::{self, Lines, Stream};
use piton_engine::keeper::Job;
use piton_engine::project::Project;
use piton_engine::{agent, clock};

use crate::runs::jobs;

/// At most so much of a stream is read at one look; the rest at the next.
const READ: usize = 1024 * 1024;

/// An agent at work, read as its output grows.
#[derive(Debug, Default)]
pub(crate) struct AtWork {
    reading: Option<Reading>,
    /// The last thing that it did, in one line.
    pub act: Option<String>,
}

#[derive(Debug)]
struct Reading {
    /// The folder of the job, which says whose output it is.
    name: String,
    job: Job,
    /// What its conversation had used before this try.
    before: ByModel,
    read_to: u64,
    lines: Lines,
    /// For a client that writes a stream.
    stream: Option<(Stream, Meter)>,
}

impl AtWork {
    /// Read on. Output that cannot be read says nothing.
    pub(crate) fn look(&mut self, project: &Project, run: &Run, task: &Task) {
        let Some(name) = agent_job(project, &run.id, task) else { return };
        if self.reading.as_ref().is_none_or(|reading| reading.name != name) {
            let job = Job::at(project.task_folder(&run.id, &task.id).join(&name));
            // Whoever confirms may be of another client than whoever worked.
            let adapter = jobs::adapter_of(&job, &run.settings);
            *self = AtWork { reading: Some(Reading::new(name, job, adapter)), act: None };
        }
        if let Some(act) = self.reading.as_mut().and_then(Reading::read_on) {
            self.act = Some(act);
        }
    }

    /// What it has used so far, where its client tells.
    pub(crate) fn used(&self) -> Option<Usage> {
        let reading = self.reading.as_ref()?;
        let (_, meter) = reading.stream.as_ref()?;
        Some(meter.used(&reading.before)).filter(|used| !used.is_unknown())
    }
}

impl Reading {
    fn new(name: String, job: Job, adapter: Adapter) -> Reading {
        let stream = Stream::of(adapter).map(|stream| (stream, Meter::new(adapter)));
        Reading { name, before: agent::before(&job), job, read_to: 0, lines: Lines::default(), stream }
    }

    fn read_on(&mut self) -> Option<String> {
        let chunk = self.job.output().read_from(self.read_to, READ).ok()?;
        if chunk.at > self.read_to {
            self.lines.tear();
        }
        self.read_to = chunk.next();
        let lines = self.lines.take(&chunk.bytes);
        let Some((stream, meter)) = &mut self.stream else {
            let line = lines.iter().rev().map(|line| clean_text(line.as_bytes()));
            return line.map(|line| line.trim().to_owned()).find(|line| !line.is_empty());
        };
        meter.read(&chunk.bytes);
        let told: Vec<_> = lines.iter().flat_map(|line| stream.hear(line, clock::now())).collect();
        view::last_act(&told).map(str::to_owned)
    }
}

/// The folder of the agent that worked last in this try.
fn agent_job(project: &Project, run: &RunId, task: &Task) -> Option<String> {
    let entries = project.task_folder(run, &task.id).read_dir_utf8().ok()?;
    let begins = format!("{}.agent", task.fence);
    let number = |name: &str| name.strip_prefix(&begins)?.parse::<u32>().ok();
    let names = entries.flatten().map(|entry| entry.file_name().to_owned());
    names.filter_map(|name| Some((number(&name)?, name))).max().map(|(_, name)| name)
}
