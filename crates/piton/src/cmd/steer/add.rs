//! `piton add`: one more task, in the plan and in its run.

use camino::Utf8PathBuf;
use clap::Args;
use piton_core::plan::{AboutTask, GroupId, RepoPath, TaskId};
use piton_core::run::{Event, Recorded};
use piton_core::system::{Addition, SystemRef};
use piton_engine::project::Project;
use serde_json::json;

use crate::args::{Loudness, Which};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::plans::{self, How};
use crate::runs::flags::RunArgs;
use crate::runs::found::FoundRun;
use crate::runs::{begin, find, grow};
use crate::{paths, ui};

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its id, in the form that ids of this plan have
    pub task: TaskId,
    /// What it is about, in one line
    #[arg(long, value_name = "TEXT", help_heading = "The task")]
    pub title: String,
    /// The instructions for the agent [default: the title]
    #[arg(long, value_name = "TEXT", help_heading = "The task")]
    pub description: Option<String>,
    /// The layer it goes into [default: the only one, or the one with the number in its id]
    #[arg(long, value_name = "NAME", help_heading = "The task")]
    pub layer: Option<GroupId>,
    /// A task that has to be completed first
    #[arg(long, value_name = "ID", help_heading = "The task")]
    pub after: Vec<TaskId>,
    /// A file it makes or changes
    #[arg(long = "file", value_name = "PATH", help_heading = "The task")]
    pub files: Vec<RepoPath>,
    /// The story it is for; only todolists have them
    #[arg(long, value_name = "ID", help_heading = "Todolists only")]
    pub story: Option<String>,
    /// The agent it names; only in todolists
    #[arg(long, value_name = "NAME", help_heading = "Todolists only")]
    pub agent: Option<String>,
    /// Its size, S or M; only in todolists
    #[arg(long, value_name = "SIZE", help_heading = "Todolists only")]
    pub size: Option<String>,
    /// A command that proves it done
    #[arg(long = "check", value_name = "COMMAND", help_heading = "How it is proven")]
    pub checks: Vec<String>,
    /// Nothing can prove it: a report about it is taken as it is
    #[arg(long, conflicts_with = "checks", help_heading = "How it is proven")]
    pub no_check: bool,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn add(args: &AddArgs) -> Outcome<Exit> {
    let about = AboutTask {
        story: args.story.clone(),
        agent: args.agent.clone(),
        size: args.size.clone(),
        files: Vec::new(),
    };
    let task = Addition {
        id: args.task.clone(),
        title: args.title.clone(),
        description: args.description.clone(),
        layer: args.layer.clone(),
        after: args.after.clone(),
        files: args.files.clone(),
        checks: (args.no_check || !args.checks.is_empty()).then(|| args.checks.clone()),
        about,
    };
    let mut site = Site::find(&args.which)?;
    if !site.system.policy().has_stories && task.about != AboutTask::default() {
        return Err(Failure::usage("only a task of a todolist names a story, an agent or a size"));
    }
    let Site { path, system, project, found } = &mut site;
    let run = found.as_mut().map(|found| (&mut found.journal, &found.run));
    let (written, events) = grow::grow(project, (path, *system), run, &task)?;
    if let Some(found) = &mut site.found {
        found.settle_file().map_err(|failure| Failure {
            message: format!("it is recorded, but the state file could not be written: {}", failure.message),
            ..failure
        })?;
    }
    site.tell(&task.id, &written, &events, args.json);
    Ok(FINE)
}

/// A plan, and its run if it has one.
struct Site {
    path: Utf8PathBuf,
    system: SystemRef,
    project: Project,
    found: Option<FoundRun>,
}

impl Site {
    fn find(which: &Which) -> Outcome<Site> {
        let Some(given) = &which.plan else {
            let found = find::run_to_change(which, None)?;
            let facts = found.journal.facts(&found.run)?;
            let facts =
                facts.ok_or_else(|| Failure::new(format!("the run {} has no beginning", found.run)))?;
            let (path, system) = (facts.plan.into(), facts.settings.form.system());
            return Ok(Site { path, system, project: found.project.clone(), found: Some(found) });
        };
        let (path, system) = plans::place(given, None)?;
        let how = How { project: which.project_path.as_deref(), ..How::default() };
        let (plan, _) = plans::read(&path, system, how)?;
        let flags = RunArgs::of_plan(given.clone(), Loudness::default());
        let flags = RunArgs { project_path: which.project_path.clone(), ..flags };
        let project = begin::project_of(&flags, &plan)?;
        let mut found = None;
        if project.may_have_journal() {
            let journal = project.journal()?;
            let run = journal.runs()?.into_iter().find(|run| run.plan == path).map(|run| run.id);
            found = run.map(|run| FoundRun { project: project.clone(), journal, run });
        }
        Ok(Site { path, system, project, found })
    }

    fn tell(&self, id: &TaskId, written: &[Utf8PathBuf], events: &[Recorded], json: bool) {
        let planned = |recorded: &Recorded| match &recorded.event {
            Event::TaskAdded { spec, .. } => Some(spec.id.clone()),
            _ => None,
        };
        let taken_up: Vec<TaskId> = events.iter().filter_map(planned).collect();
        let run = self.found.as_ref().map(|found| &found.run);
        if json {
            return ui::answer_json(&json!({
                "task": id, "plan": self.path, "written": written, "run": run, "taken_up": taken_up,
            }));
        }
        match written {
            [] => ui::answer_line(format!("{id} is already in the plan")),
            written => written.iter().for_each(|path| {
                ui::answer_line(format!("{id} is added to {}", paths::shown(path)));
            }),
        }
        match run {
            None => ui::say("the plan has no run yet"),
            Some(_) if events.is_empty() => {}
            Some(run) => {
                let ids: Vec<&str> = taken_up.iter().map(TaskId::as_str).collect();
                ui::answer_line(format!("the run {run} has taken up {}", ids.join(", ")));
            }
        }
    }
}
