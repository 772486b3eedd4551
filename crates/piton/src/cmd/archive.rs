//! `piton archive`: put the plans of finished issues away. Never one that somebody works on, and nothing is deleted.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::Dialect;
use piton_engine::journal::Journal;
use serde_json::json;

use super::{Exit, FINE, status};
use crate::args::Archive;
use crate::failure::{Failure, Outcome};
use crate::{find, ui};

/// Below the folder that the plans are in.
const PLACE: &str = "archive/completed";

pub(crate) fn archive(args: &Archive) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let Some(journal) = Journal::open_existing(&project.home)? else {
        return Err(Failure::new(format!("there is no run in {}", project.root)));
    };
    let mut wanted = Vec::new();
    for plan in &args.plans {
        wanted.push(crate::reading::place(plan, None)?.0);
    }
    let (mut moved, mut seen) = (Vec::new(), BTreeSet::new());
    let runs = journal.runs()?;
    let is_busy = |plan: &Utf8Path| runs.iter().any(|run| run.plan == plan && project.engine_lives(&run.id));
    for run in &runs {
        let plan = Utf8Path::new(&run.plan);
        // Of several runs of a plan the newest comes first, and it alone says how far the plan is.
        if !seen.insert(plan.to_owned()) {
            continue;
        }
        let asked = wanted.iter().any(|path| path == plan);
        let is_issue = status::facts(&journal, &run.id)?.settings.dialect == Dialect::Issue;
        if !is_issue || !plan.is_dir() || (!wanted.is_empty() && !asked) {
            continue;
        }
        if !run.is_finished() || is_busy(plan) {
            if asked {
                let failure = Failure::new(format!("{} is not finished, and stays", find::shown(plan)));
                return Err(failure.hint("piton status"));
            }
            continue;
        }
        let to = free_place(plan)?;
        if !args.dry_run {
            put(plan, &to)?;
        }
        moved.push((plan.to_owned(), to));
    }
    if args.json {
        let each = moved.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect::<Vec<_>>();
        ui::answer_json(&json!({ "moved": each, "dry_run": args.dry_run }));
        return Ok(FINE);
    }
    let verb = if args.dry_run { "would move" } else { "moved" };
    for (from, to) in &moved {
        ui::answer_line(format!("{verb} {} to {}", find::shown(from), find::shown(to)));
    }
    if moved.is_empty() {
        ui::say("no plan of an issue is finished");
    }
    Ok(FINE)
}

/// Where a plan goes: under its own name, with a number where one of that name is there already.
fn free_place(plan: &Utf8Path) -> Outcome<Utf8PathBuf> {
    let none = || Failure::new(format!("{plan} has no place"));
    let (around, name) = (plan.parent().ok_or_else(none)?, plan.file_name().ok_or_else(none)?);
    let names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}-{n}")));
    let mut places = names.map(|name| around.join(PLACE).join(name));
    places.find(|place| !place.exists()).ok_or_else(none)
}

fn put(from: &Utf8Path, to: &Utf8Path) -> Outcome {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    std::fs::rename(from, to).map_err(Failure::io(format!("cannot move {from}")))
}
