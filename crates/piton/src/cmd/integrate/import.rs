//! `piton import`: take over what another system left half-done.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::Dialect;
use piton_engine::disk;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::cmd::system::older;
use crate::cmd::{Exit, FINE};
use crate::failure::{Failure, Outcome};
use crate::plans::{self, Aside, FoundPlan, How};
use crate::runs::begin;
use crate::runs::find::{self, FoundRun, typed};
use crate::runs::flags::RunArgs;
use crate::runs::takeover::{self, Place, TakeOver};
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The plan's folder, or the state file in it
    pub plan: Utf8PathBuf,
    /// The project [default: where the plan says, else the repository around it]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// The branch that work landed on [default: the current one]
    #[arg(long, value_name = "BRANCH")]
    pub base_branch: Option<String>,
    /// Also where the plan has a run already: a new one is made
    #[arg(long)]
    pub reset: bool,
    /// Tell what would be believed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn import(args: &ImportArgs) -> Outcome<Exit> {
    let how = How { project: args.project_path.as_deref(), ..How::default() };
    let mut found = match older::meant(&args.plan)? {
        Some((from, to)) => older::found(&from, &to, how, args.dry_run)?,
        None => plans::plan(&args.plan, how)?,
    };
    if found.plan.settings.dialect() == Dialect::Native {
        let failure = Failure::new(format!("{} is a plan of Piton's own", find::shown(&found.path)));
        return Err(failure.hint("there is nothing to take over: piton run PLAN"));
    }
    let flags = RunArgs {
        project_path: args.project_path.clone(),
        base_branch: args.base_branch.clone(),
        ..RunArgs::of_plan(args.plan.clone(), crate::args::Loudness::default())
    };
    let project = begin::project_of(&flags, &found)?;
    warn_of_second_copy(&found, &project);
    let mut journal = Journal::open(&project.home)?;
    let _beginning = find::beginning(&project)?;
    let known = find::run_of_plan(&journal, &found.path)?;
    if let Some(known) = known.filter(|_| !args.reset && !args.dry_run) {
        let failure = Failure::new(format!("{} has the run {known} already", find::shown(&found.path)));
        return Err(failure
            .hint("piton doctor   compares it with git")
            .hint(format!("piton import {} --reset   takes the state file over anew", typed(&args.plan))));
    }
    if found.plan.settings.dialect() != Dialect::Execute {
        if args.dry_run {
            let tip = match project.repo()? {
                Some(repo) if found.iterative.is_some() => repo.branch_tip(&begin::target(&flags, repo)?)?,
                _ => None,
            };
            let place = Place { project: &project, tip: tip.as_ref(), onto: None };
            return takeover::past(&mut found, place, &journal, Aside::Leave).map(|_| FINE);
        }
        let run = begin::create_for_ledger(&flags, &mut found, &project, &mut journal)?;
        FoundRun { project, journal, run }.settle_file()?;
        ui::hint(format!("piton run {}   goes on from here", typed(&found.path)));
        return Ok(FINE);
    }
    let aside = if args.dry_run { Aside::Leave } else { Aside::Put };
    let left = takeover::look(&found.path, &project, aside)?.unwrap_or_default();
    let taken = TakeOver::new(&flags, &mut found, &project, &journal, (&left, aside))?;
    if args.dry_run {
        taken.tell(args.json);
        return Ok(FINE);
    }
    let run = taken.begin(&flags, &found, &project, &mut journal)?;
    taken.tell(args.json);
    FoundRun { project, journal, run }.settle_file()?;
    ui::hint(format!("piton run {}   goes on from here", typed(&found.path)));
    Ok(FINE)
}

/// A state file in the project itself, beside the one in the plan: some tools write one there, and nobody reads it.
pub(crate) fn second_copy(dialect: Dialect, plan: &Utf8Path, project: &Project) -> Option<Utf8PathBuf> {
    let copy =
        project.root.join(dialect.system().files().state.filter(|_| !dialect.system().files().of_project)?);
    let real = |folder: &Utf8Path| folder.canonicalize_utf8().ok();
    // Many a project has a file of that name for itself.
    let tells = || std::fs::read_to_string(&copy).is_ok_and(|text| text.contains("\"slug\""));
    let is_one = copy.is_file() && (dialect != Dialect::Iterative || tells());
    (is_one && real(&project.root) != real(plan)).then_some(copy)
}

pub(crate) fn warn_of_second_copy(found: &FoundPlan, project: &Project) {
    if let Some(copy) = second_copy(found.plan.settings.dialect(), &found.path, project) {
        let counts = find::shown(&found.path.join(copy.file_name().unwrap_or_default()));
        ui::say(format!(
            "warning: {} is a second copy of the state file; {counts} counts",
            find::shown(&copy)
        ));
    }
}

/// Whether a state file lies where the plan's system keeps it.
pub(crate) fn has_state_file(found: &FoundPlan, project: &Project) -> bool {
    let dialect = found.plan.settings.dialect();
    let home = if dialect.system().files().of_project { &project.root } else { &found.path };
    dialect.system().files().state.is_some_and(|name| home.join(name).is_file())
}

/// Put a state file aside before it is begun anew.
pub(crate) fn back_up(found: &FoundPlan, take_away: bool) -> Outcome {
    let Some(name) = found.plan.settings.dialect().system().files().state else { return Ok(()) };
    let path = found.path.join(name);
    let kept = Utf8PathBuf::from(format!("{path}.bak"));
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::io(format!("cannot read {path}"))(error)),
    };
    // One that could not be used is kept already, and an older version of it may be all there is.
    let is_bad = || std::fs::read(format!("{path}.bad")).is_ok_and(|bad| bad == bytes);
    if take_away || !is_bad() {
        disk::write(&kept, &bytes).map_err(Failure::io(format!("cannot write {kept}")))?;
    }
    if take_away {
        std::fs::remove_file(&path).map_err(Failure::io(format!("cannot remove {path}")))?;
    }
    Ok(())
}
