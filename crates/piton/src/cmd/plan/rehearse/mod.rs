//! `piton rehearse`: what would fail in a run, found out without a token. All of it happens in a scratch clone: every check
//! runs on the base, hooks are asked about a commit, and the whole plan is run by a stand-in that changes the files that
//! tasks name.

mod base;
mod order;
mod scratch;

use camino::Utf8PathBuf;
use clap::Args;
use piton_core::view::counted;
use serde_json::json;

use self::base::Base;
use self::order::Rehearsed;
use self::scratch::Scratch;
use crate::args::{Loudness, SystemArg};
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::plans::{self, FoundPlan, How};
use crate::preflight::{self, Finding, Start};
use crate::runs::flags::RunArgs;
use crate::runs::{begin, create};
use crate::ui::{self, BOLD};

/// The exit code of a plan that a run would fail with.
const WOULD_FAIL: u8 = 1;

#[derive(Debug, Args)]
#[command(
    after_help = "Nothing of your project changes, and no agent is started. Checks run as in a run: each once, on the \
    commit that work would begin on."
)]
pub(crate) struct RehearseArgs {
    /// The plan's file or folder, the number or slug that it goes by, or issues, as in gh:label:NAME
    pub plan: Utf8PathBuf,
    /// The system the plan is of [default: as its files tell]
    #[arg(long, value_name = "SYSTEM")]
    pub dialect: Option<SystemArg>,
    /// The project [default: the one around the plan]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// The branch that work would begin on [default: the one checked out]
    #[arg(long, value_name = "BRANCH")]
    pub base_branch: Option<String>,
    /// Leave the scratch clone where it is
    #[arg(long)]
    pub keep: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn rehearse(args: &RehearseArgs) -> Outcome<Exit> {
    let how = How {
        system: args.dialect.map(|arg| arg.0),
        project: args.project_path.as_deref(),
        ..How::default()
    };
    let found = plans::plan(&args.plan, how)?;
    let loudness = Loudness { quiet: true, ..Loudness::default() };
    let begun = RunArgs {
        base_branch: args.base_branch.clone(),
        project_path: args.project_path.clone(),
        ..RunArgs::of_plan(args.plan.clone(), loudness)
    };
    let project = begin::project_of(&begun, &found)?;
    let Some(repo) = project.repo()? else { return Err(create::without_git(&begun, &project)) };
    let target = create::target(&begun, repo)?;
    let start = Start {
        root: &project.root,
        project: Some(&project),
        plan: &found.path,
        named: found.read.named(),
        target: Some(&target),
        agent: None,
        sandbox: None,
    };
    let missing = preflight::foresee(&found.plan, start)?;
    if !args.json {
        preflight::tell(&missing);
    }
    let say = |text: String| {
        if !args.json {
            ui::say(text);
        }
    };
    let scratch = Scratch::make(repo, &project, &target, &found.plan.settings.worktree.copy, args.keep)?;
    say(format!("{} in a scratch clone of {target}", ui::styled(BOLD, "Checks")));
    let base = base::look(&found, &scratch, &begun, &say)?;
    say(format!("\n{} with simulated work", ui::styled(BOLD, "Order and landing")));
    let rehearsed = order::rehearse(&found, &scratch)?;
    if args.json {
        ui::answer_json(&json!({
            "plan": found.plan.name,
            "target": target,
            "missing": missing.iter().map(Finding::as_json).collect::<Vec<_>>(),
            "checks": base.document(),
            "green_already": base.green,
            "setup": base.setup,
            "hooks": base.hooks,
            "order": rehearsed.document(),
            "ready": is_ready(&missing, &base, &rehearsed),
        }));
    } else {
        rehearsed.lines().into_iter().for_each(ui::say);
    }
    if let Some(kept) = scratch.end() {
        say(format!("\nthe scratch clone is {kept}"));
    }
    if is_ready(&missing, &base, &rehearsed) {
        say(summary(&found, &base));
        return Ok(FINE);
    }
    if args.json {
        return Ok(WOULD_FAIL);
    }
    let failure = Failure::new(format!("a run of {} would fail", found.plan.name));
    Err(base.advice().into_iter().chain(rehearsed.advice()).fold(failure, Failure::hint))
}

fn is_ready(missing: &[Finding], base: &Base, rehearsed: &Rehearsed) -> bool {
    !missing.iter().any(Finding::stops) && base.is_ready() && rehearsed.is_ready()
}

fn summary(found: &FoundPlan, base: &Base) -> String {
    let tasks = counted(found.plan.tasks.len() as u64, "task");
    let green = match base.green.len() as u64 {
        0 => String::new(),
        count => format!("; the checks of {} pass already", counted(count, "task")),
    };
    format!("\n{}: {tasks} can be run{green}", ui::styled(BOLD, &found.plan.name))
}
