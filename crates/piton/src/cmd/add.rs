//! `piton add`: one more task, in the plan and in its run.
//!
//! The plan's files come first, the journal second: whoever dies in between leaves a plan with more in it than its
//! run, which the next `piton add` or `piton run --replan` takes up.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::{Addition, execute, issue, iterative, native, rwkit};
use piton_core::plan::{Dialect, Digest, Plan, TaskId};
use piton_core::run::{Command, Event, Recorded};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::{clock, crash, disk};
use serde_json::json;

use super::{Exit, FINE, begin};
use crate::args::{Add, Loudness, Run, Which};
use crate::failure::{Failure, Outcome};
use crate::find::{self, FoundRun};
use crate::reading::{self, FoundPlan, How, Source};
use crate::ui;

pub(crate) fn add(args: &Add) -> Outcome<Exit> {
    let task = Addition {
        id: args.task.clone(),
        title: args.title.clone(),
        description: args.description.clone(),
        layer: args.layer.clone(),
        after: args.after.clone(),
        files: args.files.clone(),
        checks: (args.no_check || !args.checks.is_empty()).then(|| args.checks.clone()),
    };
    let mut site = Site::find(&args.which)?;
    let (written, events) = site.grow(&task)?;
    if let Some(found) = &mut site.found {
        found.settle_file().map_err(|failure| Failure {
            message: format!("it is recorded, but the state file is not written: {}", failure.message),
            ..failure
        })?;
    }
    site.tell(&task.id, &written, &events, args.json);
    Ok(FINE)
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
            let found = find::run_to_change(which)?;
            let facts = found.journal.facts(&found.run)?;
            let facts =
                facts.ok_or_else(|| Failure::new(format!("the run {} has no beginning", found.run)))?;
            let (path, dialect) = (facts.plan.into(), facts.settings.dialect);
            return Ok(Site { path, dialect, project: found.project.clone(), found: Some(found) });
        };
        let (path, dialect) = reading::place(given, None)?;
        let how = How { project: which.project_path.as_deref(), ..How::default() };
        let (plan, _) = reading::read(&path, dialect, how)?;
        let flags = Run::of_plan(given.clone(), Loudness::default());
        let flags = Run { project_path: which.project_path.clone(), ..flags };
        let project = begin::project_of(&flags, &plan)?;
        let mut found = None;
        if Journal::exists(&project.home) {
            let journal = Journal::open(&project.home)?;
            let run = journal.runs()?.into_iter().find(|run| run.plan == path).map(|run| run.id);
            found = run.map(|run| FoundRun { project: project.clone(), journal, run });
        }
        Ok(Site { path, dialect, project, found })
    }

    /// Change the plan and, if there is one, its run. What was written, and what the journal says of it.
    fn grow(&mut self, task: &Addition) -> Outcome<(Vec<Utf8PathBuf>, Vec<Recorded>)> {
        // An engine does not look at the plan meanwhile: it would find a plan that is not its run's.
        let lock = self.project.plan_lock(&self.path);
        let _quiet = lock.map_err(Failure::io(format!("cannot lock {}", self.project.home)))?;
        let how = How { project: Some(&self.project.root), ..How::default() };
        let source = reading::source(&self.path, self.dialect)?;
        let (before, _) = reading::understand(&self.path, &source, how)?;
        task.fits(&before.plan)?;
        let changes = changes(&self.path, &source, &before.plan, task)?;
        let (after, _) = reading::understand(&self.path, &grown(&source, &changes), how)?;
        task.is_read_as_meant(&after.plan)?;
        if others(&before, task) != others(&after, task) {
            return Err(Failure::new(format!("{} cannot be added without changing other tasks", task.id)));
        }
        let reorders = matches!(self.dialect, Dialect::Issue | Dialect::Rwkit);
        let command = match (reorders, &mut self.found) {
            // There, whatever follows it waits for it, or is in another batch now.
            (true, Some(FoundRun { journal, run, .. })) => {
                begin::forget_dead_engine(&self.project, journal, run)?;
                begin::replan(journal, run, &after.plan)?
            }
            _ => Command::Extend(Box::new(after.plan)),
        };
        if let Some(FoundRun { journal, run, .. }) = &mut self.found {
            journal.rehearse(run, &command, clock::now())?;
        }
        for change in &changes {
            write(change)?;
            crash::point("add.written");
        }
        let events = match &mut self.found {
            Some(FoundRun { journal, run, .. }) => journal.command(run, &command, clock::now())?,
            None => Vec::new(),
        };
        Ok((changes.into_iter().map(|change| change.path).collect(), events))
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
    let mut plan = plan.issue.as_ref().map_or(&plan.plan, |issue| &issue.reading.plan).clone();
    plan.tasks.retain(|spec| spec.id != task.id);
    if plan.settings.dialect == Dialect::Issue {
        plan.tasks.iter_mut().for_each(|spec| spec.priority = 0);
    }
    if plan.settings.dialect == Dialect::Rwkit {
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

fn changes(path: &Utf8Path, source: &Source, plan: &Plan, task: &Addition) -> Outcome<Vec<Change>> {
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
        Source::List(folder) => rwkit::write::add(folder, plan, task)?
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

/// Put a file in place, unless somebody else writes it at this moment.
fn write(change: &Change) -> Outcome {
    let Change { path, before, after, .. } = change;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    }
    // A link stays one; what it leads to is replaced.
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.clone());
    let put =
        |bytes: &[u8]| disk::exchange(&real, bytes).map_err(Failure::io(format!("cannot write {path}")));
    let displaced = put(after)?;
    if displaced == *before {
        return Ok(());
    }
    if let Some(theirs) = displaced {
        put(&theirs)?;
    }
    Err(Failure::new(format!("{} was written by somebody else at this moment", find::shown(path)))
        .hint("run the same command again"))
}
