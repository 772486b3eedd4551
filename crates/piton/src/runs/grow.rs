//! One more task, in the plan and in its run.
//!
//! The plan's files come first, the journal second: a process that dies in between leaves tasks in the plan that its
//! run does not have. The next `piton add` or `piton run --replan` adopts them.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Digest, Plan, RunId};
use piton_core::run::{Command, Recorded};
use piton_core::system::{Addition, Folder, SystemRef};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::{clock, crash};

use crate::failure::{Failure, Outcome};
use crate::paths;
use crate::plans::{self, FoundPlan, How};
use crate::runs::{detected, lock};

/// The same for a task that was written into the state file. An error says in one line why it cannot be added.
pub(crate) fn take_up(
    project: &Project,
    journal: &mut Journal,
    run: &RunId,
    task: &Addition,
) -> Result<(), String> {
    let mut added = || -> Outcome {
        let Some(facts) = journal.facts(run)? else { return Ok(()) };
        let place = (Utf8Path::new(&facts.plan), facts.settings.form.system());
        grow(project, place, Some((journal, run)), task).map(drop)
    };
    added().map_err(|failure| {
        let hints = failure.hints.iter().map(|hint| format!("; {hint}")).collect::<String>();
        failure.message + &hints
    })
}

/// How often another process may write the plan at the same moment.
const ROUNDS: usize = 8;

/// Change the plan and, if there is one, its run. What was written, and what the journal says of it.
pub(crate) fn grow(
    project: &Project,
    (path, system): (&Utf8Path, SystemRef),
    mut run: Option<(&mut Journal, &RunId)>,
    task: &Addition,
) -> Outcome<(Vec<Utf8PathBuf>, Vec<Recorded>)> {
    // An engine must not read the plan meanwhile: the plan would differ from its run.
    let lock = project.plan_lock(path);
    let _quiet = lock.map_err(Failure::io(format!("cannot lock {}", project.home)))?;
    // What was found in the project when the run began holds: by now its agents have changed it.
    let tests = match &run {
        Some((journal, run)) => detected::checks_found(system, journal, run)?,
        None => None,
    };
    let how = How { project: Some(&project.root), tests: tests.as_deref(), ..How::default() };
    for _ in 0..ROUNDS {
        let source = plans::source(path, system)?;
        let (before, _) = plans::understand(path, system, &source, how)?;
        task.fits(&before.plan)?;
        let changes = changes((path, system), &source, &before.plan, task)?;
        let (after, _) = plans::understand(path, system, &grown(&source, &changes), how)?;
        task.is_read_as_meant(&after.plan)?;
        system.is_added(&after.plan, task)?;
        if others(&before, task) != others(&after, task) {
            return Err(Failure::new(format!("{} cannot be added without changing other tasks", task.id)));
        }
        let command = match &mut run {
            // There, whatever follows it waits for it.
            Some((journal, run)) if system.policy().in_sequence => {
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
    Err(Failure::new(format!("{} keeps changing while Piton writes it", paths::shown(path)))
        .hint("run the same command again"))
}

/// What a plan says without this task, and without what every new task changes.
fn others(plan: &FoundPlan, task: &Addition) -> Digest {
    let (policy, mut plan) = (plan.policy(), plan.plan.clone());
    plan.tasks.retain(|spec| spec.id != task.id);
    if policy.in_sequence {
        let mut before = None;
        for spec in &mut plan.tasks {
            // Each depends on the one before it, and comes later.
            spec.depends_on.retain(|id| *id != task.id && Some(id) != before.as_ref());
            spec.priority = 0;
            before = Some(spec.id.clone());
        }
    }
    if policy.review_of_all {
        // The review of the whole is also about what is added.
        let form = plan.settings.form.clone();
        plan.tasks.retain(|spec| form.lists(&spec.id));
    }
    if policy.shifting_groups {
        plan.groups.clear();
        plan.tasks.iter_mut().for_each(|spec| spec.group = 0);
    }
    plan.hash()
}

/// One file of the plan, before and after.
struct Change {
    path: Utf8PathBuf,
    /// Among the plan's files.
    name: String,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

fn changes(
    (path, system): (&Utf8Path, SystemRef),
    source: &Folder,
    plan: &Plan,
    task: &Addition,
) -> Outcome<Vec<Change>> {
    let base = plans::base(path, system);
    let change = |(name, after): (String, Vec<u8>)| Change {
        path: base.join(&name),
        before: source.files.get(&name).cloned(),
        name,
        after,
    };
    Ok(system.add(source, plan, task)?.into_iter().map(change).collect())
}

/// The plan's files with the changes in them.
fn grown(source: &Folder, changes: &[Change]) -> Folder {
    let mut source = source.clone();
    source.files.extend(changes.iter().map(|change| (change.name.clone(), change.after.clone())));
    source
}

/// Put the files in place. `false`: another process wrote one at this moment, and its version is there.
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
