//! The jobs of a task: its agents and its checks, by attempt, and where their output is.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::Adapter;
use piton_core::order::Arrange;
use piton_core::plan::{RunId, Settings, TaskId};
use piton_core::run::Event;
use piton_engine::journal::Journal;
use piton_engine::keeper::{Ended, Job};
use piton_engine::project::Project;

use crate::failure::Outcome;

/// Events read at once.
const PAGE: usize = 500;

/// The jobs of a task, in the order in which they began.
pub(crate) struct TaskJobs {
    pub all: Vec<Listed>,
    attempts: BTreeMap<u64, u32>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Agents,
    Checks,
}

impl TaskJobs {
    pub(crate) fn find(
        project: &Project,
        journal: &Journal,
        run: &RunId,
        task: &TaskId,
    ) -> Outcome<TaskJobs> {
        let JobRecord { attempts, logs } = job_record(journal, run, task)?;
        let mut all = list(&project.task_folder(run, task))?;
        all.extend(logs.into_iter().filter_map(|(fence, log)| where_it_landed(project, run, fence, &log)));
        all.arrange_by(|a, b| (a.fence, started(a), &a.what).cmp(&(b.fence, started(b), &b.what)));
        Ok(TaskJobs { all, attempts })
    }

    pub(crate) fn attempt_of(&self, job: &Listed) -> Option<u32> {
        self.attempts.range(..=job.fence).next_back().map(|(_, attempt)| *attempt)
    }

    /// All checks of the last start, or its one agent; of one attempt, or of any.
    pub(crate) fn last(&self, kind: Kind, attempt: Option<u32>) -> Vec<&Listed> {
        let is_meant = |job: &&Listed| {
            let is_kind = match kind {
                Kind::Checks => job.what.contains("check"),
                Kind::Agents => job.what.starts_with("agent") || job.what == "setup",
            };
            is_kind && attempt.is_none_or(|attempt| self.attempt_of(job) == Some(attempt))
        };
        let last = self.all.iter().rfind(is_meant).map(|last| last.fence);
        self.all.iter().filter(|job| is_meant(job) && Some(job.fence) == last).collect()
    }
}

/// The parts of a job's folder name: `7.agent0`, `7.check.0123.4567`.
pub(crate) struct Listed {
    pub fence: u64,
    pub what: String,
    pub path: Utf8PathBuf,
}

/// What the journal says of a task's jobs.
#[derive(Default)]
struct JobRecord {
    /// The first start of each attempt: it may be resumed under a later number.
    attempts: BTreeMap<u64, u32>,
    /// The checks that judged it, by the start: those that ran where it was to land lie in a folder of their own.
    logs: BTreeSet<(u64, String)>,
}

fn job_record(journal: &Journal, run: &RunId, task: &TaskId) -> Outcome<JobRecord> {
    let (mut record, mut after) = (JobRecord::default(), 0);
    loop {
        let page = journal.events(run, after, Some(task), PAGE)?;
        for recorded in &page {
            after = recorded.seq;
            match &recorded.event {
                Event::AttemptStarted { attempt, fence, .. } => {
                    record.attempts.insert(*fence, *attempt);
                }
                Event::ChecksEnded { fence, results, .. } => {
                    record.logs.extend(results.iter().map(|result| (*fence, result.log.clone())));
                }
                Event::Failed { fence, pointers, .. } => {
                    record.logs.extend(pointers.logs.iter().map(|log| (*fence, log.log.clone())));
                }
                _ => {}
            }
        }
        if page.len() < PAGE {
            return Ok(record);
        }
    }
}

/// A check that ran where a task was to land.
fn where_it_landed(project: &Project, run: &RunId, fence: u64, log: &str) -> Option<Listed> {
    let path = project.home.join(log);
    let name = path.strip_prefix(project.landing_folder(run)).ok()?.as_str();
    let what = name.split_once('.').map_or(name, |(_, what)| what).to_owned();
    Some(Listed { fence, what, path })
}

/// Which client it was, by the program that was started.
pub(crate) fn adapter_of(job: &Job, settings: &Settings) -> Adapter {
    let argv = job.spec().ok().flatten().map(|spec| spec.argv).unwrap_or_default();
    let asked = job.dir().join("prompt.md").exists();
    let Some(program) = argv.first().filter(|_| asked) else { return Adapter::default() };
    let profile = settings.agents.values().find(|agent| agent.program() == program);
    // A profile that was removed since may have been of a client with its usual name.
    let usual = || Adapter::named(Utf8Path::new(program).file_name()?);
    profile.map(|agent| agent.adapter).or_else(usual).unwrap_or_default()
}

impl Listed {
    /// What was run: `agent`, `check: cargo test`.
    pub(crate) fn title(&self) -> String {
        let kind: String =
            self.what.split('.').find(|part| !part.starts_with("report")).unwrap_or_default().to_owned();
        let kind = kind.trim_end_matches(|c: char| c.is_ascii_digit());
        let argv = Job::at(&self.path).spec().ok().flatten().map(|spec| spec.argv).unwrap_or_default();
        match &argv[..] {
            [shell, flag, line] if shell == "sh" && flag == "-c" => format!("{kind}: {line}"),
            [] => kind.to_owned(),
            words => format!("{kind}: {}", words.join(" ")),
        }
    }

    /// How it ended.
    pub(crate) fn ended(&self) -> String {
        match Job::at(&self.path).outcome().ok().flatten().map(|outcome| outcome.ended) {
            None => "running, or cut off".to_owned(),
            Some(Ended::Exited { code }) => format!("exit status {code}"),
            Some(Ended::Signalled { signal }) => format!("killed by signal {signal}"),
            Some(Ended::WallClock) => "took too long".to_owned(),
            Some(Ended::Silence) => "said nothing for too long".to_owned(),
            Some(Ended::Startup) => "never said anything".to_owned(),
            Some(Ended::Stopped) => "stopped".to_owned(),
            Some(Ended::Died) => "cut off".to_owned(),
            Some(Ended::NotStarted { reason }) => format!("not started: {reason}"),
        }
    }
}

fn list(folder: &Utf8Path) -> Outcome<Vec<Listed>> {
    let Ok(entries) = folder.read_dir_utf8() else { return Ok(Vec::new()) };
    // A folder may be there before its job has begun.
    let begun = |job: &Listed| Job::at(&job.path).is_begun().unwrap_or(true);
    let jobs = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let (fence, what) = entry.file_name().split_once('.')?;
            Some(Listed { fence: fence.parse().ok()?, what: what.to_owned(), path: entry.path().to_owned() })
        })
        .filter(begun)
        .collect();
    Ok(jobs)
}

fn started(job: &Listed) -> Option<i64> {
    Job::at(&job.path).started_at_ms()
}
