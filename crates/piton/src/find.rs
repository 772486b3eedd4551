//! Which plan, which project, which run.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic::Severity;
use piton_core::dialect::native;
use piton_core::plan::{Plan, RunId};
use piton_core::run::{Command, NewRun, Status};
use piton_engine::clock;
use piton_engine::journal::{Journal, JournalError, RunSummary};
use piton_engine::lock::Lock;
use piton_engine::project::{Project, new_run_id};

use crate::args::Which;
use crate::failure::{Failure, Outcome};
use crate::{picture, ui};

/// A plan as read from disk.
#[derive(Debug)]
pub(crate) struct FoundPlan {
    pub path: Utf8PathBuf,
    pub plan: Plan,
}

pub(crate) fn here() -> Outcome<Utf8PathBuf> {
    let here = std::env::current_dir().map_err(Failure::io("cannot tell the current folder"))?;
    Utf8PathBuf::from_path_buf(here).map_err(|path| Failure::new(format!("{} is not UTF-8", path.display())))
}

/// Read a plan and the project's defaults; warnings are shown, errors end here.
pub(crate) fn plan(given: &Utf8Path) -> Outcome<FoundPlan> {
    let path = plan_path(given)?;
    let (plan, warnings) = read_plan(&path)?;
    if let Some(warnings) = warnings {
        ui::say(warnings);
    }
    Ok(FoundPlan { path, plan })
}

fn plan_path(given: &Utf8Path) -> Outcome<Utf8PathBuf> {
    let file = if given.is_dir() { given.join("plan.toml") } else { given.to_owned() };
    if !file.is_file() {
        let failure = Failure::new(format!("there is no plan at {file}"));
        return Err(failure.hint(format!("piton new {}", file.file_stem().unwrap_or("plan"))));
    }
    file.canonicalize_utf8().map_err(Failure::io(format!("cannot read {file}")))
}

/// The plan, and the drawn warnings if there are any.
pub(crate) fn read_plan(path: &Utf8Path) -> Outcome<(Plan, Option<String>)> {
    let config = config(path)?;
    let text = text_of(path)?;
    let overrides = native::Overrides::default();
    let reading = native::read(&text, path.file_stem().unwrap_or("plan"), &config, &overrides);
    let picture =
        (!reading.diagnostics.is_empty()).then(|| picture::draw(&shown(path), &text, &reading.diagnostics));
    let errors = reading.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    if errors > 0 {
        let problems = piton_core::view::counted(errors as u64, "problem");
        let failure = Failure::new(format!("{} has {problems}", shown(path)));
        return Err(Failure { picture, ..failure });
    }
    Ok((reading.plan, picture))
}

/// The nearest piton.toml at or above the plan, inside its repository.
fn config(plan: &Utf8Path) -> Outcome<native::Config> {
    for folder in plan.ancestors().skip(1) {
        let path = folder.join("piton.toml");
        if path.is_file() {
            let text = text_of(&path)?;
            let (config, diagnostics) = native::read_config(&text);
            let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
            if !diagnostics.is_empty() {
                let picture = picture::draw(&shown(&path), &text, &diagnostics);
                if errors > 0 {
                    let failure = Failure::new(format!("{} cannot be used", shown(&path)));
                    return Err(Failure { picture: Some(picture), ..failure });
                }
                ui::say(picture);
            }
            return Ok(config);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Ok(native::Config::default())
}

fn text_of(path: &Utf8Path) -> Outcome<String> {
    let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!("{path} is not UTF-8 (at byte {at})"))
    })
}

/// A path as short as it can be said from here.
pub(crate) fn shown(path: &Utf8Path) -> String {
    here()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(ToString::to_string))
        .unwrap_or_else(|| path.to_string())
}

pub(crate) fn project(given: Option<&Utf8Path>) -> Outcome<Project> {
    let start = match given {
        Some(path) => path.canonicalize_utf8().map_err(Failure::io(format!("cannot open {path}")))?,
        None => here()?,
    };
    Ok(Project::around(&start)?)
}

/// A run that exists, with its project and a journal to read.
#[derive(Debug)]
pub(crate) struct FoundRun {
    pub project: Project,
    pub journal: Journal,
    pub run: RunId,
}

/// The run that is meant, opened for reading: nothing is created.
pub(crate) fn run(which: &Which) -> Outcome<FoundRun> {
    run_in(which, Journal::open_existing)
}

fn run_in(
    which: &Which,
    open: impl FnOnce(&Utf8Path) -> Result<Option<Journal>, JournalError>,
) -> Outcome<FoundRun> {
    let plan = which.plan.as_deref().map(plan_path).transpose()?;
    let project = project(which.project_path.as_deref().or(plan.as_deref().and_then(Utf8Path::parent)))?;
    let Some(journal) = open(&project.home)? else {
        return Err(no_run(&project, plan.as_deref()));
    };
    let runs = journal.runs()?;
    let run = match &plan {
        Some(plan) => {
            let of_plan = runs.into_iter().find(|run| run.plan == *plan);
            of_plan.map(|run| run.id).ok_or_else(|| no_run(&project, Some(plan)))?
        }
        None => choose(&runs, which.run.as_deref(), &project)?,
    };
    Ok(FoundRun { project, journal, run })
}

/// The same, opened for a command.
pub(crate) fn run_to_change(which: &Which) -> Outcome<FoundRun> {
    run_in(which, |home| match Journal::exists(home) {
        true => Journal::open(home).map(Some),
        false => Ok(None),
    })
}

/// The same for somebody who keeps the ledger: a plan named for the first time gets its run here, without
/// an engine and, if need be, without git.
pub(crate) fn run_for_ledger(which: &Which) -> Outcome<FoundRun> {
    let Some(given) = &which.plan else { return run_to_change(which) };
    let found = plan(given)?;
    let project = project(which.project_path.as_deref().or(found.path.parent()))?;
    let mut journal = Journal::open(&project.home)?;
    let of_plan = |journal: &Journal| -> Outcome<Option<RunId>> {
        Ok(journal.runs()?.into_iter().find(|run| run.plan == found.path).map(|run| run.id))
    };
    let mut existing = of_plan(&journal)?;
    let mut beginning = None;
    if existing.is_none() {
        beginning = Some(self::beginning(&project)?);
        existing = of_plan(&journal)?;
    }
    let run = match existing {
        Some(run) => run,
        None => {
            let run = new_run_id(&found.plan.name);
            let target = project.repo()?.and_then(|repo| repo.current_branch().ok());
            let new = NewRun {
                run: run.clone(),
                plan_path: found.path.to_string(),
                plan: found.plan,
                base: None,
                worktree_dir: target.as_ref().map(|_| worktree_dir(&project).into_string()),
                target,
            };
            journal.command(&run, &Command::Create(Box::new(new)), clock::now())?;
            run
        }
    };
    drop(beginning);
    Ok(FoundRun { project, journal, run })
}

/// The right to make a plan's first run.
pub(crate) fn beginning(project: &Project) -> Outcome<Lock> {
    project.beginning_lock().map_err(Failure::io(format!("cannot lock {}", project.home)))
}

/// Beside the project, in a folder of its own so that projects do not clash.
pub(crate) fn worktree_dir(project: &Project) -> Utf8PathBuf {
    let name = project.root.file_name().unwrap_or("project");
    project.root.parent().unwrap_or(&project.root).join(".worktrees").join(name)
}

fn no_run(project: &Project, plan: Option<&Utf8Path>) -> Failure {
    let of = plan.map(|plan| format!(" of {}", shown(plan))).unwrap_or_default();
    let plan = plan.map_or("PLAN".to_owned(), shown);
    Failure::new(format!("there is no run{of} in {}", project.root))
        .hint(format!("piton run {plan}"))
        .hint(format!("or keep the ledger yourself: piton next --plan {plan}"))
}

fn choose(runs: &[RunSummary], wish: Option<&str>, project: &Project) -> Outcome<RunId> {
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
                Err(list(Failure::usage(format!("`{prefix}` fits several runs")), &several))
            }
        };
    }
    // Newest first; a run replaced by a newer one of the same plan is history.
    let mut plans = std::collections::BTreeSet::new();
    let current: Vec<&RunSummary> = runs.iter().filter(|run| plans.insert(run.plan.as_str())).collect();
    let unfinished: Vec<&RunSummary> = current.iter().copied().filter(|run| !run.is_finished()).collect();
    match (&unfinished[..], &current[..]) {
        ([run], _) | ([], [run, ..]) => Ok(run.id.clone()),
        ([], []) => Err(no_run(project, None)),
        (several, _) => {
            let several: Vec<RunSummary> = several.iter().map(|&run| run.clone()).collect();
            Err(list(Failure::usage("several runs are unfinished here: say which with --run"), &several))
        }
    }
}

fn list(failure: Failure, runs: &[RunSummary]) -> Failure {
    runs.iter().take(10).fold(failure, |failure, run| {
        let done = run.counts.of(Status::Completed);
        failure.hint(format!("--run {}   ({done}/{} done, {})", run.id, run.counts.total(), run.plan))
    })
}
