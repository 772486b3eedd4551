//! `piton archive`: put finished plans away. Never one that is worked on, and nothing is lost.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::RepoPath;
use piton_core::run::{Command, Note, Status};
use piton_core::system::{self, Archive, System, SystemRef};
use piton_core::view::counted;
use piton_engine::git::Rescue;
use piton_engine::journal::{Journal, RunSummary};
use piton_engine::project::Project;
use piton_engine::{clock, crash};
use serde_json::json;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::{self, typed};
use crate::runs::found::FoundRun;
use crate::runs::{find, known, standing};
use crate::{plans, ui};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ArchiveArgs {
    /// Plans of issues by folder or number, of the iterative system by folder or slug [default: all that are finished]
    pub plans: Vec<Utf8PathBuf>,
    /// Remove folders of the iterative system instead; their content is kept under a rescue ref
    #[arg(long, requires = "plans")]
    pub remove: bool,
    /// Do it without being asked again
    #[arg(long, requires = "remove")]
    pub yes: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Only say what would be moved
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A plan that is finished.
struct Finished {
    plan: Utf8PathBuf,
    run: RunSummary,
    system: SystemRef,
    archive: Archive,
    /// Where it goes.
    to: Utf8PathBuf,
}

pub(crate) fn archive(args: &ArchiveArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let Some(journal) = project.existing_journal()? else {
        return Err(Failure::new(format!("there is no run in {}", project.root)));
    };
    let mut wanted = Vec::new();
    for plan in &args.plans {
        wanted.push(plans::place(plan, None)?.0);
    }
    let finished = finished(&project, &journal, &wanted)?;
    if args.remove {
        return remove(args, &project, &finished);
    }
    if !args.dry_run {
        for one in &finished {
            complete(&project, one)?;
            put(&one.plan, &one.to)?;
        }
    }
    if args.json {
        let each = finished.iter().map(|one| json!({ "from": one.plan, "to": one.to })).collect::<Vec<_>>();
        ui::answer_json(&json!({ "moved": each, "dry_run": args.dry_run }));
        return Ok(FINE);
    }
    let verb = if args.dry_run { "would move" } else { "moved" };
    for one in &finished {
        ui::answer_line(format!("{verb} {} to {}", paths::shown(&one.plan), paths::shown(&one.to)));
    }
    if finished.is_empty() {
        ui::say("there is no finished plan to archive");
    }
    Ok(FINE)
}

/// The plans that can go: those that are asked for, or all.
fn finished(project: &Project, journal: &Journal, wanted: &[Utf8PathBuf]) -> Outcome<Vec<Finished>> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let runs = journal.runs()?;
    let is_busy =
        |plan: &Utf8Path| runs.iter().any(|run| run.plan == plan && project.is_led(journal, &run.id));
    for run in &runs {
        let plan = Utf8Path::new(&run.plan);
        // Of several runs of a plan the newest comes first, and only that one says how far the plan is.
        if !seen.insert(plan.to_owned()) {
            continue;
        }
        let asked = wanted.iter().any(|path| path == plan);
        let system = standing::facts(journal, &run.id)?.settings.form.system();
        let Some(archive) = system.files().archive.filter(|_| plan.is_dir()) else { continue };
        if (!wanted.is_empty() && !asked) || known::is_put_away(journal, run)? {
            continue;
        }
        let over =
            run.counts.sum(if archive.needs_success { Status::satisfies } else { Status::is_finished });
        if over < run.counts.total() || is_busy(plan) {
            if asked {
                let failure = Failure::new(format!("{} is not finished, so it stays", paths::shown(plan)));
                return Err(failure.hint("piton status"));
            }
            continue;
        }
        let to = free_place(plan, archive)?;
        found.push(Finished { plan: plan.to_owned(), run: run.clone(), system, archive, to });
    }
    match wanted.iter().find(|path| !found.iter().any(|one| one.plan == **path)) {
        Some(path) => {
            let failure = Failure::new(format!("there is no run of {} that is finished", paths::shown(path)));
            Err(failure.hint(format!("piton run {}", typed(path))))
        }
        None => Ok(found),
    }
}

/// Where a plan goes: under its own name, in some systems with the day, and with a number where one of that name is there
/// already.
fn free_place(plan: &Utf8Path, archive: Archive) -> Outcome<Utf8PathBuf> {
    let none = || Failure::new(format!("{plan} has no folder"));
    let (around, name) = (plan.parent().ok_or_else(none)?, plan.file_name().ok_or_else(none)?);
    let name = if archive.is_dated {
        let day: String = clock::now().to_string().chars().take(10).filter(|c| *c != '-').collect();
        format!("{name}-{day}")
    } else {
        name.to_owned()
    };
    let names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
    let mut places = names.map(|name| around.join(archive.place).join(name));
    places.find(|place| !place.exists()).ok_or_else(none)
}

/// The last word of its state file, which the run itself cannot know.
fn complete(project: &Project, one: &Finished) -> Outcome {
    let (Some(file), Some(last)) = (one.system.files().state, one.archive.last_word) else { return Ok(()) };
    let (project, journal, run) = (project.clone(), project.journal()?, one.run.id.clone());
    let note = Note::Carried { file: file.to_owned(), fields: json!({ last.field: last.word }) };
    FoundRun { project, journal, run }.command(&Command::Note { by: "you".to_owned(), note })?;
    crash::point("archive.completed");
    Ok(())
}

fn put(from: &Utf8Path, to: &Utf8Path) -> Outcome {
    let folder = to.parent().unwrap_or(to);
    std::fs::create_dir_all(folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    std::fs::rename(from, to).map_err(Failure::io(format!("cannot move {from}")))
}

/// Take folders away. What was in them is kept under a ref first.
fn remove(args: &ArchiveArgs, project: &Project, finished: &[Finished]) -> Outcome<Exit> {
    if let Some(other) = finished.iter().find(|one| !one.archive.is_removable) {
        let is_removable = |system: &SystemRef| system.files().archive.is_some_and(|it| it.is_removable);
        let names: Vec<&str> = system::systems().filter(is_removable).map(System::name).collect();
        let (plan, names) = (paths::shown(&other.plan), names.join(" or the "));
        let failure = Failure::usage(format!("{plan} is not of the {names} system"));
        return Err(failure.hint(format!("piton archive {}", typed(&other.plan))));
    }
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let does = args.yes && !args.dry_run;
    let mut removed = Vec::new();
    for one in finished {
        let plan = paths::shown(&one.plan);
        let place = one.plan.strip_prefix(&root).ok().and_then(|place| RepoPath::new(place.as_str()).ok());
        let Some(place) = place else {
            return Err(Failure::new(format!("{plan} is outside of the project, so it stays")));
        };
        let files = paths::files_in(&one.plan);
        if let Some(inner) = files.iter().find(|file| file.components().any(|part| part.as_str() == ".git")) {
            return Err(Failure::new(format!("{inner} is part of another repository: {plan} stays")));
        }
        if !args.json {
            let verb = if does { "removing" } else { "would remove" };
            let (files, bytes) =
                (counted(files.len() as u64, "file"), paths::size(paths::bytes_in(&one.plan)));
            ui::answer_line(format!("{verb} {plan} ({files}, {bytes})"));
        }
        let mut kept = None;
        if does {
            complete(project, one)?;
            let store = project.repo_or_new_store()?;
            let tree = store.tree_at(&place)?;
            let subject = format!("{plan}, removed");
            let commit = store.commit_tree(&tree, &[], &subject, None)?;
            let rescue = Rescue::at(&format!("{}/removed", one.run.id), &subject);
            kept = store.rescue_commit(&rescue, Some(commit))?.map(|kept| kept.name);
            crash::point("archive.kept");
            // Half a folder must not look like one that is worked on.
            put(&one.plan, &one.to)?;
            std::fs::remove_dir_all(&one.to).map_err(Failure::io(format!("cannot remove {}", one.to)))?;
            let name = kept.as_deref().unwrap_or_default().trim_start_matches("refs/piton/rescue/");
            ui::hint(format!("piton rescue restore {name} --into DIR   brings it back"));
        }
        removed.push(json!({ "plan": one.plan, "files": files.len(), "kept": kept }));
    }
    if args.json {
        ui::answer_json(&json!({ "removed": removed, "dry_run": !does }));
    }
    if !does && !args.dry_run && !finished.is_empty() {
        let plans: Vec<String> = args.plans.iter().map(|plan| typed(plan)).collect();
        let failure = Failure::usage("nothing was removed: confirm with --yes");
        return Err(failure.hint(format!("piton archive {} --remove --yes", plans.join(" "))));
    }
    Ok(FINE)
}
