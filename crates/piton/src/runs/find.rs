//! Which project, which run.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::nearest;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::Status;
use piton_engine::journal::{Journal, JournalError, RunSummary};
use piton_engine::lock::Lock;
use piton_engine::project::Project;

use crate::args::Which;
use crate::failure::{Failure, Outcome};
use crate::plans::{self, How};
use crate::runs::found::FoundRun;
use crate::runs::{attempt, gone, hints, in_place, location, refusals, same_plan};
use crate::{commands, paths, ui};

pub(crate) fn project(given: Option<&Utf8Path>) -> Outcome<Project> {
    location::of(project_without_journal(given)?)
}

/// The same, before it is known where its journal is.
pub(crate) fn project_without_journal(given: Option<&Utf8Path>) -> Outcome<Project> {
    let start = match given {
        Some(path) => path.canonicalize_utf8().map_err(Failure::io(format!("cannot open {path}")))?,
        None => paths::here()?,
    };
    Ok(Project::around(&start)?)
}

/// The run that a command is about, opened for reading: nothing is created.
pub(crate) fn run(which: &Which) -> Outcome<FoundRun> {
    run_in(which, None, Project::existing_journal)
}

/// The same for a command about one task: if several runs are unfinished, the only one that has it.
pub(crate) fn run_of(task: &TaskId, which: &Which) -> Outcome<FoundRun> {
    run_in(which, Some(task), Project::existing_journal)
}

fn run_in(
    which: &Which,
    task: Option<&TaskId>,
    open: impl FnOnce(&Project) -> Result<Option<Journal>, JournalError>,
) -> Outcome<FoundRun> {
    let plan = which.plan.as_deref().map(|given| plans::place(given, None)).transpose()?;
    let mut plan = plan.map(|(path, _)| path);
    let mut project = match &plan {
        Some(plan) => of_plan(plan, which.project_path.as_deref())?,
        None => project(which.project_path.as_deref())?,
    };
    if plan.is_none() && which.run.is_none() && !project.may_have_journal() {
        // In the folder of a plan outside of its project, commands are about that plan.
        let around = plans::place(&paths::here()?, None).ok().map(|(path, _)| path);
        if let Some(around) = around.filter(|_| which.project_path.is_none()) {
            project = of_plan(&around, None)?;
            plan = Some(around);
        }
    }
    // An agent has nothing that opens a server, and is not to look for it.
    if project.server().is_some() && attempt::attempt()?.is_some() {
        let failure = Failure::new("the journal is on a server, which an attempt cannot read");
        return Err(
            failure.hint("piton report TASK blocked --reason TEXT   if something is missing in your prompt")
        );
    }
    let Some(journal) = open(&project)? else {
        return Err(no_run(&project, plan.as_deref().filter(|_| which.plan.is_some())));
    };
    let runs = journal.runs()?;
    let run = match &plan {
        Some(plan) => match runs.iter().find(|run| run.plan == *plan) {
            Some(run) => run.id.clone(),
            None => run_of_same_plan(plan, &project, &journal)?,
        },
        None => choose(&runs, which.run.as_deref(), &project, |run| {
            task.is_none_or(|task| journal.task(&run.id, task).is_ok_and(|found| found.is_some()))
        })?,
    };
    name_in_hints(&runs, &run);
    if let Some(task) = task
        && journal.task(&run, task)?.is_none()
    {
        return Err(no_task(&journal, &run, task));
    }
    refusals::say(&project, &journal, &run);
    gone::say(&journal, &run);
    Ok(FoundRun { project, journal, run })
}

/// The run of a plan that has none under its own path: the same file of another checkout is the same plan.
fn run_of_same_plan(plan: &Utf8Path, project: &Project, journal: &Journal) -> Outcome<RunId> {
    let nothing = || no_run(project, Some(plan));
    let how = How { project: Some(&project.root), ..How::default() };
    let read = plans::place(plan, None).and_then(|(path, system)| plans::read(&path, system, how));
    // A plan that cannot be read has begun no run from here.
    let Ok((mut found, _)) = read else { return Err(nothing()) };
    in_place::settle_in_place(&mut found, project)?;
    let same = same_plan::look(&found, project, journal, None)?;
    let Some((run, its)) = same.run() else { return Err(same.hints(nothing())) };
    ui::say(format!("the run {run} has this plan, from {its}"));
    Ok(run.clone())
}

/// The project of a plan, wherever the plan and the current folder are: the project that has its run. Without a run it
/// is the one that the plan names, else the one around it.
pub(crate) fn of_plan(plan: &Utf8Path, given: Option<&Utf8Path>) -> Outcome<Project> {
    if given.is_some() {
        return project(given);
    }
    let (named, around) = (plans::project_named(plan), plans::folder_of(plan).to_owned());
    let likeliest = project(Some(named.as_deref().unwrap_or(&around)));
    let mut seen: Vec<Utf8PathBuf> = Vec::new();
    // The project may have been named on the command line: then its state file says where that is.
    let others = [Some(around), plans::project_in_state(plan), paths::here().ok()];
    let top = |folder: &Utf8PathBuf| {
        let is_top = |above: &&Utf8Path| above.join(".git").exists();
        folder.canonicalize_utf8().ok()?.ancestors().find(is_top).map(Utf8Path::to_owned)
    };
    let is_likeliest = |folder: &Utf8PathBuf| {
        likeliest.as_ref().is_ok_and(|likeliest| top(folder).as_ref() == Some(&likeliest.root))
    };
    let others = others.into_iter().flatten().filter(|folder| folder.is_dir() && !is_likeliest(folder));
    let others = others.filter_map(|folder| location::of(Project::around(&folder).ok()?).ok());
    for candidate in likeliest.as_ref().ok().cloned().into_iter().chain(others) {
        if seen.contains(&candidate.home) {
            continue;
        }
        seen.push(candidate.home.clone());
        let has_run = |journal: Journal| Ok::<_, Failure>(journal.runs()?.iter().any(|run| run.plan == plan));
        // A command that uses an unreadable journal reports it.
        let journal = candidate.existing_journal().ok().flatten();
        if journal.map(has_run).transpose()?.unwrap_or(false) {
            return Ok(candidate);
        }
    }
    likeliest
}

/// The error for a task that a run does not have.
pub(crate) fn no_task(journal: &Journal, run: &RunId, task: &TaskId) -> Failure {
    let failure = Failure::new(format!("there is no task {task} in the run {run}"));
    let known: Vec<TaskId> = journal.ids(run).unwrap_or_default();
    let twin = known.iter().map(TaskId::as_str).find(|id| id.eq_ignore_ascii_case(task.as_str()));
    match twin.or_else(|| nearest(task.as_str(), known.iter().map(TaskId::as_str))) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint("piton status --all"),
    }
}

/// The same, opened for a command.
pub(crate) fn run_to_change(which: &Which, task: Option<&TaskId>) -> Outcome<FoundRun> {
    attempt::outside_of_attempts()?;
    run_in(which, task, |project| match project.may_have_journal() {
        true => project.journal().map(Some),
        false => Ok(None),
    })
}

/// The right to make a plan's first run.
pub(crate) fn beginning(project: &Project) -> Outcome<Lock> {
    project.beginning_lock().map_err(Failure::io(format!("cannot lock {}", project.home)))
}

pub(crate) fn no_run(project: &Project, plan: Option<&Utf8Path>) -> Failure {
    let Some(plan) = plan else {
        let failure = Failure::new(format!("there is no run in {}", project.root));
        let failure = hints::plan_hints(&project.root).into_iter().fold(failure, Failure::hint);
        return failure.hint("piton next --plan PLAN   begins a run whose tasks you do yourself");
    };
    Failure::new(format!("there is no run of {} in {}", paths::shown(plan), project.root))
        .hint(format!("piton run {}", paths::typed(plan)))
        .hint(format!("piton next --plan {}   begins a run whose tasks you do yourself", paths::typed(plan)))
}

fn choose(
    runs: &[RunSummary],
    wish: Option<&str>,
    project: &Project,
    is_meant: impl Fn(&RunSummary) -> bool,
) -> Outcome<RunId> {
    if let Some(prefix) = wish {
        let matching: Vec<&RunSummary> =
            runs.iter().filter(|run| run.id.as_str().starts_with(prefix)).collect();
        let exact = matching.iter().find(|run| run.id.as_str() == prefix);
        return match (exact, &matching[..]) {
            (Some(run), _) | (None, [run]) => Ok(run.id.clone()),
            (None, []) => {
                Err(list(Failure::new(format!("there is no run `{prefix}` in {}", project.root)), runs))
            }
            (None, several) => {
                let several: Vec<RunSummary> = several.iter().map(|&run| run.clone()).collect();
                Err(list(Failure::usage(format!("`{prefix}` matches several runs")), &several))
            }
        };
    }
    let unfinished = unfinished(runs);
    match (&unfinished[..], runs) {
        ([run], _) => Ok(run.id.clone()),
        ([], [newest, ..]) => Ok(newest.id.clone()),
        ([], []) => Err(no_run(project, None)),
        (several, _) => {
            let mut meant = several.iter().filter(|run| is_meant(run));
            if let (Some(run), None) = (meant.next(), meant.next()) {
                return Ok(run.id.clone());
            }
            let several: Vec<RunSummary> = several.iter().map(|&run| run.clone()).collect();
            let failure = Failure::usage("several runs are unfinished here: choose one with --run");
            Err(list(failure, &several).hint("piton close RUN   closes one that is no longer needed"))
        }
    }
}

/// If a command without a run could mean another one, the commands in hints name the run.
pub(crate) fn name_in_hints(runs: &[RunSummary], run: &RunId) {
    let is_one_of_several = unfinished(runs).iter().any(|other| other.id != *run);
    if let Some(known) = runs.iter().find(|known| known.id == *run) {
        commands::about(run, paths::typed(Utf8Path::new(&known.plan)), is_one_of_several);
    }
}

/// The runs that a command without a name may mean: those that are not over, newest first.
pub(crate) fn unfinished(runs: &[RunSummary]) -> Vec<&RunSummary> {
    // A run replaced by a newer one of the same plan is history.
    let mut plans = std::collections::BTreeSet::new();
    let current: Vec<&RunSummary> = runs.iter().filter(|run| plans.insert(run.plan.as_str())).collect();
    let has_plan = |run: &RunSummary| Utf8Path::new(&run.plan).exists();
    let any_plan = current.iter().any(|run| has_plan(run));
    // So is one whose plan does not exist any more, for example because the project was moved, if another has its plan.
    current.into_iter().filter(|run| !run.is_over() && (!any_plan || has_plan(run))).collect()
}

fn list(failure: Failure, runs: &[RunSummary]) -> Failure {
    runs.iter().take(10).fold(failure, |failure, run| {
        let done = run.counts.of(Status::Completed);
        failure.hint(format!("--run {}   ({done}/{} done, {})", run.id, run.counts.total(), run.plan))
    })
}
