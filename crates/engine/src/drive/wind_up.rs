//! End what a killed engine left running, as that engine would have done when told to stop at once: nothing begins, and
//! no task is to blame.

use std::sync::mpsc::RecvTimeoutError;

use camino::Utf8Path;
use piton_core::order::Arrange;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{self, Action, Command, StopReason};

use super::{Engine, EngineError, Inbox, LOOK, Loop, Observer};
use crate::agent;
use crate::clock;
use crate::keeper::Job;
use crate::project::Project;

/// A job of an engine that is at work.
#[derive(Clone, Debug)]
pub struct LeftJob {
    /// `None`: it is a check of candidates that are about to land.
    pub task: Option<TaskId>,
    pub job: Job,
}

impl LeftJob {
    /// For people: `the agent of T1`.
    pub fn describe(&self) -> String {
        let Some(task) = &self.task else { return "a check of what is to land".to_owned() };
        let name = self.job.dir().file_name().unwrap_or_default();
        let kind = name.split('.').nth(1).unwrap_or_default();
        let kind = match kind.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "agent" => "the agent",
            "check" => "a check",
            "setup" => "the set-up command",
            "feedback" => "the feedback writer",
            _ => "a helper",
        };
        format!("{kind} of {task}")
    }
}

/// The jobs of a run that are at work and were begun by an engine. Checks that a person asked for by command are not
/// listed.
pub fn left_running(project: &Project, run: &RunId) -> Vec<LeftJob> {
    let entries = |folder: &Utf8Path| folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut found = Vec::new();
    for folder in entries(&project.home.join("runs").join(run.as_str())) {
        let task = TaskId::new(folder.file_name()).ok();
        if task.is_none() && folder.path() != project.landing_folder(run) {
            continue;
        }
        for entry in entries(folder.path()) {
            let what = entry.file_name().split('.').nth(1).unwrap_or_default();
            if matches!(what, "report" | "verify") {
                continue;
            }
            // A question to a provider has its job one folder further down.
            let jobs = [Job::at(entry.path()), Job::at(entry.path().join(agent::TRIAL_JOB))];
            let at_work = jobs.into_iter().filter(|job| job.is_at_work().unwrap_or(false));
            found.extend(at_work.map(|job| LeftJob { task: task.clone(), job }));
        }
    }
    found.arrange_by(|a, b| a.job.dir().cmp(b.job.dir()));
    found
}

impl Engine {
    /// End these jobs, which a dead engine left, record their results and those of jobs that died with it, and leave
    /// the run stopped.
    pub fn wind_up(
        self,
        by: &str,
        left: &[LeftJob],
        inbox: Inbox,
        observer: &mut dyn Observer,
    ) -> Result<StopReason, EngineError> {
        for LeftJob { job, .. } in left {
            // All are asked before the first is waited for.
            let what = || format!("cannot stop {}", job.dir());
            job.request_stop().map_err(|source| EngineError::Io { what: what(), source })?;
        }
        for LeftJob { job, .. } in left {
            job.settle()?;
        }
        let mut this = Loop::begin(self, inbox, observer)?;
        this.take_in()?;
        this.commit(&[Command::RequestStop { by: by.to_owned(), now: true }])?;
        this.drive()
    }
}

impl Loop<'_> {
    /// Record how the jobs of all tasks ended, as if they had been adopted.
    fn take_in(&mut self) -> Result<(), EngineError> {
        let is_cut = |action: &Action| {
            matches!(action, Action::Prepare { .. } | Action::Work { .. } | Action::Check { .. })
        };
        self.begins_nothing = true;
        for action in run::next(&self.state, clock::now()).into_iter().filter(is_cut) {
            self.dispatch(action)?;
        }
        self.begins_nothing = false;
        while !self.under_way.is_empty() {
            let mut commands = Vec::new();
            match self.inbox.receiver.recv_timeout(LOOK) {
                Ok(wake) => self.take(wake, &mut commands),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if !commands.is_empty() {
                self.commit(&commands)?;
            }
        }
        Ok(())
    }
}
