//! `piton run` without a plan.

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::run::Status;
use piton_engine::journal::Journal;

use crate::args::Which;
use crate::failure::{Failure, Outcome};
use crate::paths::{self, typed};
use crate::runs::flags::RunArgs;
use crate::runs::{find, hints, standing};
use crate::ui;

/// `piton run` without a plan: the only run that is unfinished is resumed.
pub(crate) fn resumed(args: &RunArgs) -> Outcome<RunArgs> {
    if args.reset {
        return Err(Failure::usage("--reset begins a new run: name its plan"));
    }
    let project = find::project(args.project_path.as_deref())?;
    let journal = project.existing_journal()?;
    let all = journal.as_ref().map(Journal::runs).transpose()?.unwrap_or_default();
    if args.run.is_some() {
        let which = Which { run: args.run.clone(), plan: None, project_path: args.project_path.clone() };
        let found = find::run(&which)?;
        let plan = standing::facts(&found.journal, &found.run)?.plan;
        return Ok(RunArgs { plan: Some(plan.into()), ..args.clone() });
    }
    match &find::unfinished(&all)[..] {
        [run] => {
            let plan = Utf8PathBuf::from(&run.plan);
            if !args.loudness.json && !args.loudness.quiet {
                ui::say(format!("the run {} of {} is resumed", run.id, paths::shown(&plan)));
            }
            Ok(RunArgs { plan: Some(plan), run: Some(run.id.to_string()), ..args.clone() })
        }
        [] => {
            let failure = Failure::usage(format!("no run is unfinished in {}: name a plan", project.root));
            Err(hints::plan_hints(&project.root).into_iter().fold(failure, Failure::hint))
        }
        several => {
            let failure = Failure::usage(format!("several runs are unfinished in {}", project.root));
            Err(several.iter().take(10).fold(failure, |failure, run| {
                let done = run.counts.of(Status::Completed);
                let told = format!("resumes {}, {done}/{} done", run.id, run.counts.total());
                failure.hint(format!("piton run {}   {told}", typed(Utf8Path::new(&run.plan))))
            }))
        }
    }
}
