//! `piton init`: looks at disk, git and `PATH`, shows what it found, and writes `piton.toml` where there is none.

use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::client::Adapter;
use piton_core::run::Status;
use piton_core::survey::{Branches, Include, Lacking, PlanSeen, Project, Repository, Size, Survey, survey};
use piton_core::system::config::Config;
use piton_engine::disk;
use piton_engine::git::{GitError, Repo};
use piton_engine::journal::RunSummary;
use serde_json::json;

use crate::cmd::integrate::init::flags::InitArgs;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{shown, typed};
use crate::plans::{self, How};
use crate::programs::{is_runnable, missing};
use crate::runs::{attempt, master};
use crate::ui;

const FILE: &str = "piton.toml";

pub(super) fn init(args: &InitArgs) -> Outcome<Exit> {
    if !args.dry_run {
        attempt::outside_of_attempts()?;
    }
    let place = Place::find(args.project_path.as_deref())?;
    let path = place.root.join(FILE);
    let config = existing(&path)?;
    let plans: Vec<PlanSeen> = plans::seen(&place.root).iter().map(|path| place.plan(path)).collect();
    let survey = place.survey(config.as_ref(), &plans)?;
    let lacking = config.as_ref().map(|config| survey.wanted.lacking(config));
    let is_written = lacking.is_none() && !args.dry_run;
    if is_written {
        write(&path, &survey.wanted.text())?;
    }
    if args.json {
        ui::answer_json(&document(&place.root, &survey, &plans, lacking.as_deref(), is_written));
        return Ok(FINE);
    }
    ui::answer(survey.text());
    match lacking.as_deref() {
        None if is_written => ui::say(format!("\nwrote {}", shown(&path))),
        None => {
            ui::answer(format!("\n{}", survey.wanted.text()));
            ui::say(format!("\nwould write this to {}", shown(&path)));
        }
        Some([]) => ui::say(format!("\n{} has all of this: nothing to change", shown(&path))),
        Some(lacking) => {
            ui::say(format!("\n{} stays as it is; you could add:", shown(&path)));
            ui::answer(lines(lacking, &path));
        }
    }
    ui::hint(&survey.next);
    Ok(FINE)
}

/// The project, and what git knows of it.
struct Place {
    root: Utf8PathBuf,
    repository: Repository,
    ignored: Vec<String>,
    include: Option<Include>,
    runs: Vec<RunSummary>,
}

impl Place {
    fn find(given: Option<&Utf8Path>) -> Outcome<Place> {
        let start = match given {
            Some(path) => path.canonicalize_utf8().map_err(Failure::io(format!("cannot open {path}")))?,
            None => crate::paths::here()?,
        };
        let without = |root: Utf8PathBuf, repository| Place {
            root,
            repository,
            ignored: Vec::new(),
            include: None,
            runs: Vec::new(),
        };
        let project = match piton_engine::project::Project::around(&start) {
            Ok(project) => project,
            Err(GitError::EmptyRepository { path }) => return Ok(without(path, Repository::Empty)),
            Err(error) => return Err(error.into()),
        };
        // A journal that cannot be read is for other commands to report.
        let journal = project.existing_journal().ok().flatten();
        let runs = journal.and_then(|journal| journal.runs().ok()).unwrap_or_default();
        let Some(repo) = project.repo()? else {
            return Ok(Place { runs, ..without(project.root.clone(), Repository::Missing) });
        };
        Ok(Place {
            repository: Repository::With(branches(repo)?),
            ignored: repo.ignored_in(&project.root)?,
            include: repo.included_in(&project.root)?,
            runs,
            root: project.root.clone(),
        })
    }

    fn survey(&self, config: Option<&Config>, plans: &[PlanSeen]) -> Outcome<Survey> {
        let clients: Vec<Adapter> =
            Adapter::known().filter(|client| is_runnable(client.name(), &self.root)).collect();
        Ok(survey(&Project {
            root: &plans::files_at(&self.root)?,
            parts: &plans::parts_of(&self.root)?,
            ci: &plans::ci_files(&self.root),
            repository: &self.repository,
            clients: &clients,
            ignored: &self.ignored,
            include: self.include.as_ref(),
            plans,
            missing: &|check| missing(check, &self.root),
            config,
        }))
    }

    fn plan(&self, path: &Utf8Path) -> PlanSeen {
        let seen = |system, size| PlanSeen {
            path: path.strip_prefix(&self.root).unwrap_or(path).to_string(),
            command: format!("piton plan {}", typed(path)),
            system,
            size,
        };
        if plans::is_beads(path) {
            return seen("tracker", Size::Unasked);
        }
        let (place, system) = match plans::place(path, None) {
            Ok(found) => found,
            Err(failure) => return seen("unknown", Size::Unreadable(failure.message)),
        };
        if master::collection(path).is_some() {
            return seen(system.name(), Size::Collection);
        }
        // The newest run knows better than the files.
        if let Some(run) = self.runs.iter().find(|run| run.plan == place && run.closed.is_none()) {
            let (all, done) = (run.counts.total(), run.counts.sum(Status::is_finished));
            let size = Size::Tasks { open: (all - done) as usize, all: all as usize };
            return seen(system.name(), size);
        }
        let how = How { project: Some(&self.root), ..How::default() };
        match plans::read(&place, system, how) {
            Ok((found, _)) => {
                let tasks = &found.plan.tasks;
                let open = tasks.iter().filter(|task| !found.is_done_before(&task.id)).count();
                seen(system.name(), Size::Tasks { open, all: tasks.len() })
            }
            Err(failure) => seen(system.name(), Size::Unreadable(failure.message)),
        }
    }
}

fn branches(repo: &Repo) -> Outcome<Branches> {
    let present = match repo.current_branch() {
        Ok(branch) => Some(branch),
        Err(GitError::DetachedHead { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let mut main = None;
    for name in Branches::USUAL {
        if repo.branch_tip(name)?.is_some() {
            main = Some(name.to_owned());
            break;
        }
    }
    Ok(Branches { present, of_origin: repo.branch_of_origin()?, main })
}

/// The settings that are there. A mistake in them is shown, and nothing else is done.
fn existing(path: &Utf8Path) -> Outcome<Option<Config>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::io(format!("cannot read {path}"))(error)),
        Ok(_) if !path.is_file() => Err(Failure::new(format!("{} is not a file", shown(path)))
            .hint("put a file in its place, or remove it, then run the same command again")),
        Ok(_) => Ok(Some(plans::config(plans::folder_of(path))?.unwrap_or_default())),
    }
}

/// What was made meanwhile by somebody else stays.
fn write(path: &Utf8Path, text: &str) -> Outcome {
    disk::create_new(path, text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::new(format!("{} was made meanwhile", shown(path))).hint("run the same command again")
        }
        _ => Failure::io(format!("cannot write {path}"))(error),
    })
}

/// The lines that a file lacks, under the tables that they belong into.
fn lines(lacking: &[Lacking], path: &Utf8Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut shown = String::new();
    for (nth, Lacking { table, line }) in lacking.iter().enumerate() {
        if nth == 0 || lacking[nth - 1].table != *table {
            let is_there =
                text.lines().any(|line| line.split('#').next().unwrap_or_default().trim() == *table);
            let note = if is_there { "   # this table is there: add the lines below to it" } else { "" };
            shown += &format!("{table}{note}\n");
        }
        shown += &format!("{line}\n");
    }
    shown
}

fn document(
    root: &Utf8Path,
    survey: &Survey,
    plans: &[PlanSeen],
    lacking: Option<&[Lacking]>,
    is_written: bool,
) -> serde_json::Value {
    let state = match lacking {
        None if is_written => "written",
        None => "would_be_written",
        Some([]) => "complete",
        Some(_) => "incomplete",
    };
    json!({
        "root": root,
        "target": survey.target,
        "found": survey.found,
        "plans": plans,
        "config": {
            "path": root.join(FILE),
            "state": state,
            "text": lacking.is_none().then(|| survey.wanted.text()),
            "lacking": lacking.unwrap_or_default(),
        },
        "next": survey.next,
    })
}
