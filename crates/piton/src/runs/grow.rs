//! One more task, in the plan and in its run.
//!
//! The plan's files come first, the journal second: whoever dies in between leaves a plan with more in it than its
//! run, which the next `piton add` or `piton run --replan` takes up.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{AboutTask, Dialect, Digest, Plan, RunId};
use piton_core::run::{Command, Recorded};
use piton_core::system::{Addition, execute, issue, iterative, native, rwkit};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::{clock, crash};

use crate::failure::{Failure, Outcome};
use crate::paths;
use crate::plans::{self, FoundPlan, How, Source};
use crate::runs::{detected, lock};

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
pub(crate) fn grow(
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
        Some((journal, run)) => detected::checks_found(dialect, journal, run)?,
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
                lock::forget_dead_engine(project, journal, run)?;
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
    Err(Failure::new(format!("{} is written by somebody else all the time", paths::shown(path)))
        .hint("run the same command again"))
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
        if !paths::put(&change.path, change.before.as_deref(), &change.after)? {
            return Ok(false);
        }
        crash::point("add.written");
    }
    Ok(true)
}
