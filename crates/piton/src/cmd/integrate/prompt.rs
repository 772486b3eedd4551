//! `piton prompt`: the prompt that an agent would get, and the templates that it is made of.

use clap::Args;
use piton_core::plan::TaskId;
use piton_engine::drive::{self, NoPrompt};

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing, templates};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The task's id
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
}

pub(crate) fn prompt(args: &PromptArgs) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let prompts = templates::in_force(&project, &facts.settings.escalation)?;
    let text =
        drive::next_prompt(&project, &journal, &facts, &args.task, &prompts).map_err(|no| match no {
            NoPrompt::Journal(error) => error.into(),
            NoPrompt::Broken(broken) => Failure::new(broken.to_string()),
        })?;
    let text = text.ok_or_else(|| find::no_task(&journal, &run, &args.task))?;
    ui::answer_raw(text.as_bytes());
    Ok(FINE)
}
