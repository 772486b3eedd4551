//! `piton prompt`: what an agent would be told, and the templates that say it.

use clap::Args;
use piton_core::diagnostic::nearest;
use piton_core::plan::TaskId;
use piton_core::prompt::Prompts;
use piton_engine::drive::{self, NoPrompt};
use piton_engine::project::Project;
use piton_engine::prompts::{self, NoPrompts};

use crate::args::Which;
use crate::cmd::watch::status;
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::runs::find::{self, FoundRun};
use crate::{picture, ui};

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The task's id
    pub task: TaskId,
    #[command(flatten)]
    pub which: Which,
}

pub(crate) fn prompt(args: &PromptArgs) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let facts = status::facts(&journal, &run)?;
    let prompts = in_force(&project, &facts.settings.escalation)?;
    let text =
        drive::next_prompt(&project, &journal, &facts, &args.task, &prompts).map_err(|no| match no {
            NoPrompt::Journal(error) => error.into(),
            NoPrompt::Broken(broken) => Failure::new(broken.to_string()),
        })?;
    let text = text.ok_or_else(|| find::no_task(&journal, &run, &args.task))?;
    ui::answer_raw(text.as_bytes());
    Ok(FINE)
}

/// The templates of a project. One that cannot be used is an error before anything begins.
pub(crate) fn in_force(project: &Project, roles: &[String]) -> Outcome<Prompts> {
    let place = |name: &str| format!("{}/{name}.md", prompts::FOLDER);
    let found = prompts::of(project).map_err(|no| match no {
        NoPrompts::Io { path, source } => Failure::io(format!("cannot read {path}"))(source),
        NoPrompts::Broken(broken) => {
            let drawn = broken
                .iter()
                .map(|it| picture::draw(&place(&it.name), &it.text, std::slice::from_ref(&*it.problem)));
            let drawn = drawn.collect::<Vec<_>>().join("\n\n");
            let names: Vec<String> = broken.iter().map(|it| place(&it.name)).collect();
            let failure = Failure::new(format!("agents cannot be told what to do: {}", names.join(", ")));
            Failure { picture: Some(drawn), ..failure }
                .hint("mend it, or remove it: then Piton's own words are used")
        }
    })?;
    let files = prompts::files(project).map_err(|no| Failure::new(no.to_string()))?;
    let known: Vec<String> = Prompts::names().map(str::to_owned).chain(roles.iter().cloned()).collect();
    for (name, _) in files.iter().filter(|(name, _)| !known.contains(name)) {
        let meant = nearest(name, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("; did you mean {meant}.md?")).unwrap_or_default();
        ui::hint(format!("{} is used by nobody{meant}", place(name)));
    }
    Ok(found)
}
