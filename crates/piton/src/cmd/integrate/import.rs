//! `piton import`: import the unfinished work of another system.

use camino::Utf8PathBuf;
use clap::Args;
use piton_core::system::kit::takeover::{LeftFiles, StateText};
use piton_core::system::own;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{self, typed};
use crate::plans::{self, Aside, How};
use crate::runs::flags::RunArgs;
use crate::runs::found::FoundRun;
use crate::runs::takeover::{self, Place, TakeOver};
use crate::runs::{begin, create, find, known, older, state_files};
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
    let mut found = match older::find(&args.plan)? {
        Some(older) => older::found(&older, how, args.dry_run)?,
        None => plans::plan(&args.plan, how)?,
    };
    if found.system() == own() {
        let failure = Failure::new(format!("{} is a native plan", paths::shown(&found.path)));
        return Err(failure.hint("there is nothing to take over: piton run PLAN"));
    }
    let flags = RunArgs {
        project_path: args.project_path.clone(),
        base_branch: args.base_branch.clone(),
        ..RunArgs::of_plan(args.plan.clone(), crate::args::Loudness::default())
    };
    let project = begin::project_of(&flags, &found)?;
    state_files::warn_of_second_copy(&found, &project);
    let mut journal = project.journal()?;
    let _beginning = find::beginning(&project)?;
    let known = known::run_of_plan(&journal, &found.path)?;
    if let Some(known) = known.filter(|_| !args.reset && !args.dry_run) {
        let failure = Failure::new(format!("{} already has the run {known}", paths::shown(&found.path)));
        return Err(failure
            .hint("piton doctor   compares it with git")
            .hint(format!("piton import {} --reset   takes over the state file again", typed(&args.plan))));
    }
    if !found.policy().adopts_worktrees {
        if args.dry_run {
            let tip = match project.repo()? {
                Some(repo) if found.policy().judged_by_target => {
                    repo.branch_tip(&create::target(&flags, repo)?)?
                }
                _ => None,
            };
            let place = Place { project: &project, tip: tip.as_ref(), onto: None, distrusts_ticks: false };
            return takeover::past(&mut found, place, &journal, Aside::Leave).map(|_| FINE);
        }
        let run = begin::create_for_ledger(&flags, &mut found, &project, &mut journal)?;
        FoundRun { project, journal, run }.settle_file()?;
        ui::hint(format!("piton run {}   resumes from here", typed(&found.path)));
        return Ok(FINE);
    }
    let aside = if args.dry_run { Aside::Leave } else { Aside::Put };
    let left = takeover::left(&found, &project, None, &journal, aside)?;
    // Without a state file, only git counts.
    let state = if left.state == StateText::Missing { StateText::Broken } else { left.state };
    let left = LeftFiles { state, ..left };
    let Some(taken) = TakeOver::new(&flags, &mut found, &project, &journal, (left, aside))? else {
        return Err(Failure::new(format!("there is nothing to take over in {}", paths::shown(&found.path))));
    };
    let print = || if args.json { taken.print_json() } else { taken.print() };
    if args.dry_run {
        print();
        return Ok(FINE);
    }
    let run = taken.begin(&flags, &found, &project, &mut journal)?;
    print();
    FoundRun { project, journal, run }.settle_file()?;
    ui::hint(format!("piton run {}   resumes from here", typed(&found.path)));
    Ok(FINE)
}
