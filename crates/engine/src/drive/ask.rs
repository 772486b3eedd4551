//! The harmless question to a provider whose servers failed an agent: it shows whether they answer again.

use std::sync::Arc;

use camino::Utf8PathBuf;
use piton_core::plan::Digest;
use piton_core::run::{AgentEnd, Command, Overload, Run};

use super::order::{Running, Site};
use crate::agent;
use crate::checks::AgentJob;
use crate::keeper::Job;

/// Everything the worker needs: like all workers it sees neither the journal nor the state.
#[derive(Clone)]
pub(super) struct Question {
    pub site: Arc<Site>,
    pub run: Arc<Run>,
    pub provider: String,
    pub overload: Overload,
    pub running: Running,
}

impl Question {
    /// The folder is the same for the next engine, so that it finds the question.
    fn folder(&self) -> Utf8PathBuf {
        let name = Digest::of(&self.provider);
        let (at, nth) = (self.overload.ask_at.0, self.overload.asked);
        let folder = self.site.project.task_folder(&self.run.id, &self.overload.task);
        folder.join(format!("ask-{}.{at}.{nth}", name.short()))
    }
}

pub(super) fn perform(question: &Question) -> Vec<Command> {
    let Question { run, provider, overload, running, site } = question;
    let answer =
        |end: Option<AgentEnd>| Command::Asked { provider: provider.clone(), nth: overload.asked, end };
    let Some(client) = run.settings.agents.get(&overload.agent) else { return vec![answer(None)] };
    let folder = question.folder();
    let job = Job::at(folder.join(agent::TRIAL_JOB));
    if !running.begin(&job, None) {
        return Vec::new();
    }
    let trial = agent::trial(client, &folder, &site.keeper);
    if running.is_stopped() {
        return Vec::new();
    }
    let end = match trial {
        Ok(trial) => trial.end,
        Err(error) => Some(AgentEnd::Transient { reason: error.to_string() }),
    };
    let asked = AgentJob { agent: overload.agent.clone(), job };
    let name = folder.file_name().unwrap_or_default();
    let bill = asked.spent(&run.settings.agents, &overload.task, 0, name);
    bill.into_iter().chain([answer(end)]).collect()
}
