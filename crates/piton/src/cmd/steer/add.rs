//! `piton add`: one more task, in the plan and in its run.
//!
//! The plan's files come first, the journal second: whoever dies in between leaves a plan with more in it than its
//! run, which the next `piton add` or `piton run --replan` takes up.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::{AboutTask, Dialect, Digest, GroupId, Plan, RepoPath, RunId, TaskId};
use piton_core::run::{Command, Event, Recorded};
use piton_core::system::{Addition, execute, issue, iterative, native, rwkit};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::{clock, crash, disk};
use serde_json::json;

use crate::args::{Loudness, Which};
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::plans::{self, FoundPlan, How, Source};
use crate::runs::begin;
use crate::runs::find::{self, FoundRun};
use crate::runs::flags::RunArgs;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its id, in the form that ids of this plan have
    pub task: TaskId,
    /// What it is about, in one line
    #[arg(long, value_name = "TEXT", help_heading = "The task")]
    pub title: String,
    /// What whoever works on it is told [default: the title]
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
    let task = Addition {
        id: args.task.clone(),
        title: args.title.clone(),
        description: args.description.clone(),
        layer: args.layer.clone(),
        after: args.after.clone(),
        files: args.files.clone(),
        checks: (args.no_check || !args.checks.is_empty()).then(|| args.checks.clone()),
    };
    let about = AboutTask {
        story: args.story.clone(),
        agent: args.agent.clone(),
        size: args.size.clone(),
        files: Vec::new(),
    };
    let mut site = Site::find(&args.which)?;
    if site.dialect != Dialect::Rwkit && about != AboutTask::default() {
        return Err(Failure::usage("only a task of a todolist names a story, an agent or a size"));
    }
    let Site { path, dialect, project, found } = &mut site;
    let run = found.as_mut().map(|found| (&mut found.journal, &found.run));
    let (written, events) = grow(project, (path, *dialect), run, (&task, &about))?;
    if let Some(found) = &mut site.found {
        found.settle_file().map_err(|failure| Failure {
            message: format!("it is recorded, but the state file is not written: {}", failure.message),
            ..failure
        })?;
    }
    site.tell(&task.id, &written, &events, args.json);
    Ok(FINE)
}

/// The same for a task that somebody wrote into the state file. Why it cannot be, in one line.
pub(crate) fn take_up(
    project: &Project,
    journal: &mut Journal,
    run: &RunId,
    task: &Addition,
    about: &AboutTask,
) -> Result<(), String> {
    let mut added = || -> Outcome {
        let Some(facts) = journal.facts(run)? else { return Ok(()) };
        let place = (Utf8Path::new(&facts.plan), facts.settings.dialect());
        grow(project, place, Some((journal, run)), (task, about)).map(drop)
    };
    added().map_err(|failure| {
        let hints = failure.hints.iter().map(|hint| format!("; {hint}")).collect::<String>();
        failure.message + &hints
    })
}

/// How often somebody may write the plan in the very moment we do.
const ROUNDS: usize = 8;

/// Change the plan and, if there is one, its run. What was written, and what the journal says of it.
fn grow(
    project: &Project,
    (path, dialect): (&Utf8Path, Dialect),
    mut run: Option<(&mut Journal, &RunId)>,
    (task, about): (&Addition, &AboutTask),
) -> Outcome<(Vec<Utf8PathBuf>, Vec<Recorded>)> {
    // An engine does not look at the plan meanwhile: it would find a plan that is not its run's.
    let lock = project.plan_lock(path);
    let _quiet = lock.map_err(Failure::io(format!("cannot lock {}", project.home)))?;
    // What was found in the project when the run began holds: by now its agents have changed it.
    let tests = match &run {
        Some((journal, run)) => begin::checks_found(dialect, journal, run)?,
        None => None,
    };
    let how = How { project: Some(&project.root), tests: tests.as_deref(), ..How::default() };
    for _ in 0..ROUNDS {
        let source = plans::source(path, dialect)?;
        let (before, _) = plans::understand(path, &source, how)?;
        task.fits(&before.plan)?;
        let changes = changes(path, &source, &before.plan, (task, about))?;
        let (after, _) = plans::understand(path, &grown(&source, &changes), how)?;
        task.is_read_as_meant(&after.plan)?;
        rwkit::write::is_said(&after.plan, &task.id, about)?;
        if others(&before, task) != others(&after, task) {
            return Err(Failure::new(format!("{} cannot be added without changing other tasks", task.id)));
        }
        let command = match &mut run {
            // There, whatever follows it waits for it.
            Some((journal, run)) if dialect == Dialect::Issue => {
                begin::forget_dead_engine(project, journal, run)?;
                Command::Replan(Box::new(after.plan))
            }
            _ => Command::Extend(Box::new(after.plan)),
        };
        if let Some((journal, run)) = &mut run {
            journal.rehearse(run, &command, clock::now())?;
        }
        if !write_all(&changes)? {
            continue;
        }
        let events = match run {
            Some((journal, run)) => journal.command(run, &command, clock::now())?,
            None => Vec::new(),
        };
        return Ok((changes.into_iter().map(|change| change.path).collect(), events));
    }
    Err(Failure::new(format!("{} is written by somebody else all the time", find::shown(path)))
        .hint("run the same command again"))
}

/// A plan, and its run if it has one.
struct Site {
    path: Utf8PathBuf,
    dialect: Dialect,
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
            let (path, dialect) = (facts.plan.into(), facts.settings.dialect());
            return Ok(Site { path, dialect, project: found.project.clone(), found: Some(found) });
        };
        let (path, dialect) = plans::place(given, None)?;
        let how = How { project: which.project_path.as_deref(), ..How::default() };
        let (plan, _) = plans::read(&path, dialect, how)?;
        let flags = RunArgs::of_plan(given.clone(), Loudness::default());
        let flags = RunArgs { project_path: which.project_path.clone(), ..flags };
        let project = begin::project_of(&flags, &plan)?;
        let mut found = None;
        if Journal::exists(&project.home) {
            let journal = Journal::open(&project.home)?;
            let run = journal.runs()?.into_iter().find(|run| run.plan == path).map(|run| run.id);
            found = run.map(|run| FoundRun { project: project.clone(), journal, run });
        }
        Ok(Site { path, dialect, project, found })
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
            [] => ui::answer_line(format!("{id} is in the plan already")),
            written => written.iter().for_each(|path| {
                ui::answer_line(format!("{id} is added to {}", find::shown(path)));
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

/// What a plan says but for this task. In a list, what comes behind it has a later turn, and that is all.
fn others(plan: &FoundPlan, task: &Addition) -> Digest {
    let mut plan = plan.plan.clone();
    plan.tasks.retain(|spec| spec.id != task.id);
    if plan.settings.dialect() == Dialect::Issue {
        let mut before = None;
        for spec in &mut plan.tasks {
            // Each waits for the one before it.
            spec.depends_on.retain(|id| *id != task.id && Some(id) != before.as_ref());
            spec.priority = 0;
            before = Some(spec.id.clone());
        }
    }
    if let Some(about) = plan.settings.form.brief() {
        // The review of the whole is also about what is added.
        plan.tasks.retain(|spec| about.units.contains_key(&spec.id));
    }
    if plan.settings.dialect() == Dialect::Rwkit {
        plan.groups.clear();
        plan.tasks.iter_mut().for_each(|spec| spec.group = 0);
    }
    plan.hash()
}

/// One file of the plan, as it was and as it is to be.
struct Change {
    path: Utf8PathBuf,
    /// Below the plan's folder.
    name: String,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

fn changes(
    path: &Utf8Path,
    source: &Source,
    plan: &Plan,
    (task, about): (&Addition, &AboutTask),
) -> Outcome<Vec<Change>> {
    Ok(match source {
        Source::File(text) => native::add(text, plan, task)?
            .into_iter()
            .map(|after| Change {
                path: path.to_owned(),
                name: String::new(),
                before: Some(text.clone().into_bytes()),
                after: after.into_bytes(),
            })
            .collect(),
        Source::Folder(folder) => execute::plan::add(folder, plan, task)?
            .into_iter()
            .map(|(name, after)| Change {
                path: path.join(&name),
                before: folder.files.get(&name).cloned(),
                name,
                after,
            })
            .collect(),
        Source::List(folder) => rwkit::write::add(folder, plan, task, about)?
            .into_iter()
            .map(|(name, after)| Change {
                path: path.to_owned(),
                before: folder.files.get(&name).cloned(),
                name,
                after,
            })
            .collect(),
        Source::Iterative(folder) => iterative::plan::add(folder, plan, task)?
            .into_iter()
            .map(|(name, after)| Change {
                path: path.join(&name),
                before: folder.files.get(&name).cloned(),
                name,
                after,
            })
            .collect(),
        Source::Issue(folder) => issue::plan::add(folder, task)?
            .into_iter()
            .map(|(name, after)| Change {
                path: path.join(&name),
                before: folder.files.get(&name).cloned(),
                name,
                after,
            })
            .collect(),
    })
}

/// The plan's files with the changes in them.
fn grown(source: &Source, changes: &[Change]) -> Source {
    let mut source = source.clone();
    for Change { name, after, .. } in changes {
        match &mut source {
            Source::File(text) => *text = String::from_utf8_lossy(after).into_owned(),
            Source::Folder(folder)
            | Source::Issue(folder)
            | Source::List(folder)
            | Source::Iterative(folder) => {
                drop(folder.files.insert(name.clone(), after.clone()));
            }
        }
    }
    source
}

/// Put the files in place. `false`: somebody else wrote one at this moment, and theirs is there.
fn write_all(changes: &[Change]) -> Outcome<bool> {
    for change in changes {
        crash::point("add.before-write");
        if !put(&change.path, change.before.as_deref(), &change.after)? {
            return Ok(false);
        }
        crash::point("add.written");
    }
    Ok(true)
}

/// The same for one file that was like this when it was read.
pub(crate) fn put(path: &Utf8Path, before: Option<&[u8]>, after: &[u8]) -> Outcome<bool> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    }
    // A link stays one; what it leads to is replaced.
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let put =
        |bytes: &[u8]| disk::exchange(&real, bytes).map_err(Failure::io(format!("cannot write {path}")));
    let displaced = put(after)?;
    if displaced.as_deref() == before {
        return Ok(true);
    }
    if let Some(theirs) = displaced {
        put(&theirs)?;
    }
    Ok(false)
}
