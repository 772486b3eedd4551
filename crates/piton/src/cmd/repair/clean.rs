//! `piton clean`: remove what finished runs left behind. Nothing that exists once goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::order::Pairs;
use piton_core::plan::{Oid, RunId, TaskId, WorktreeSetup};
use piton_core::run::{Command, Status, Task};
use piton_core::view::counted;
use piton_engine::check_worktrees::Pool;
use piton_engine::git::{GitError, Pin, RefChange, Repo, Rescue, Worktree};
use piton_engine::journal::Journal;
use piton_engine::project::{Project, remove_worktree_dir};
use piton_engine::slots::{Seen, SlotPool, SlotState};
use piton_engine::{clock, drive, slots};
use serde_json::json;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::find;
use crate::runs::found::FoundRun;
use crate::{paths, ui};

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also worktrees of runs that are not finished; their content goes to a rescue ref first
    #[arg(long)]
    pub unfinished: bool,
    /// The project [default: the one around this folder]
    #[arg(long, value_name = "DIR")]
    pub project_path: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where agents take turns.
const SHARED: &str = "the worktree of all tasks";
const CHECKS: &str = "a worktree for checks";

/// Something that can go.
struct Leftover {
    what: What,
    run: RunId,
    bytes: u64,
}

enum What {
    Worktree {
        task: TaskId,
        fence: u64,
        path: Utf8PathBuf,
    },
    /// A worktree of the run as a whole.
    Place {
        path: Utf8PathBuf,
        of: &'static str,
    },
    /// A worktree of the pool that no task has.
    Slot {
        path: Utf8PathBuf,
    },
    Pin {
        task: TaskId,
        name: String,
    },
    Branch {
        name: String,
    },
    Jobs {
        path: Utf8PathBuf,
    },
    /// A git of an earlier `clean` was killed over it.
    Lock {
        path: Utf8PathBuf,
    },
}

impl What {
    fn describe(&self) -> String {
        match self {
            What::Worktree { task, path, .. } => format!("the worktree of {task}, {path}"),
            What::Place { path, of } => format!("{of}, {path}"),
            What::Slot { path } => format!("a worktree that the next task would have used, {path}"),
            What::Pin { name, .. } => format!("the ref refs/piton/{name}"),
            What::Branch { name } => format!("the branch {name}, which has landed"),
            What::Jobs { path } => format!("the output of agents and checks, {path}"),
            What::Lock { path } => format!("a stale lock, {path}"),
        }
    }
}

pub(crate) fn clean(args: &CleanArgs) -> Outcome<Exit> {
    let project = find::project(args.project_path.as_deref())?;
    let leftovers = match project.existing_journal()? {
        Some(journal) => find_leftovers(args, &project, &journal)?,
        None => Vec::new(),
    };
    let total: u64 = leftovers.iter().map(|left| left.bytes).sum();
    if args.json {
        let all = leftovers
            .iter()
            .map(|left| json!({ "run": left.run, "what": left.what.describe(), "bytes": left.bytes }));
        ui::answer_json(
            &json!({ "dry_run": args.dry_run, "bytes": total, "leftovers": all.collect::<Vec<_>>() }),
        );
    } else if leftovers.is_empty() {
        ui::say("nothing to clean");
        return Ok(FINE);
    }
    for left in &leftovers {
        if !args.json {
            let verb = if args.dry_run { "would remove" } else { "removing" };
            ui::answer_line(format!("{verb} {} ({})", left.what.describe(), paths::size(left.bytes)));
        }
    }
    if !args.json {
        ui::say(format!("{} in all, {}", paths::size(total), counted(leftovers.len() as u64, "thing")));
    }
    if args.dry_run || leftovers.is_empty() {
        return Ok(FINE);
    }
    let mut journal = project.journal()?;
    for of_run in leftovers.chunk_by(|one, next| one.run == next.run) {
        remove_all(&project, &mut journal, of_run)?;
    }
    // Their state files list worktrees.
    let runs: BTreeSet<&RunId> = leftovers.iter().map(|left| &left.run).collect();
    for run in runs {
        let (project, journal) = (project.clone(), project.journal()?);
        FoundRun { project, journal, run: run.clone() }.settle_file()?;
    }
    Ok(FINE)
}

fn find_leftovers(args: &CleanArgs, project: &Project, journal: &Journal) -> Outcome<Vec<Leftover>> {
    let mut found = Vec::new();
    let runs = journal.runs()?;
    let refs = match project.repo()? {
        Some(repo) => repo.refs_in_files().map_or_else(|| repo.all_refs(), Ok)?,
        None => BTreeMap::new(),
    };
    let any_lives = runs.iter().any(|summary| project.is_led(journal, &summary.id));
    let mut seen = BTreeSet::new();
    for summary in &runs {
        let run = &summary.id;
        if project.is_led(journal, run) {
            continue;
        }
        // A closed run is removed as a whole.
        let unfinished = args.unfinished || summary.closed.is_some();
        let finished = summary.is_over();
        let Some(facts) = journal.facts(run)? else { continue };
        let mut add = |what, bytes| found.push(Leftover { what, run: run.clone(), bytes });
        if let (Some(repo), Some(dir)) = (project.repo()?, &facts.worktree_dir) {
            let dir = Utf8Path::new(dir);
            for task in with_leftovers(journal, run, &refs)? {
                let goes = task.progress.worktree && (unfinished || task.decided == Status::Completed);
                let own = facts.settings.worktree.shared.is_none() && goes;
                let path = own.then(|| project.worktree_path_if_owned(run, dir, task.id.as_str())).flatten();
                // Also one whose folder does not exist any more: a process may have been killed before it recorded
                // that.
                if let Some(path) = path {
                    let bytes = paths::bytes_in(&slots::place_of(project, &path));
                    add(What::Worktree { task: task.id.clone(), fence: task.fence, path }, bytes);
                }
                if task.decided == Status::Completed || unfinished {
                    for what in drive::PINS {
                        let name = format!("{run}/{what}/{}", task.id);
                        if refs.contains_key(&format!("refs/piton/{name}")) {
                            add(What::Pin { task: task.id.clone(), name }, 0);
                        }
                    }
                }
                if task.decided == Status::Completed {
                    let name = format!("worktree-{}-{run}", task.id);
                    if refs.contains_key(&format!("refs/heads/{name}")) {
                        add(What::Branch { name }, 0);
                    }
                }
            }
            let shared = facts.settings.worktree.shared.as_deref();
            let shared = shared.and_then(|name| project.worktree_path_if_owned(run, dir, name));
            // Earlier versions had one for merged trees and one for claims.
            let older = ["landing", "claims"].map(|name| dir.join(format!(".{name}-{run}"))).into_iter();
            let others = older.map(|path| (path, CHECKS)).chain(shared.map(|path| (path, SHARED)));
            let others = others.filter(|(path, _)| path.symlink_metadata().is_ok());
            let checks = Pool { project, repo, run, dir }.paths().into_iter().map(|path| (path, CHECKS));
            for (path, of) in checks.chain(others).filter(|_| finished || unfinished) {
                let bytes = paths::bytes_in(&path);
                add(What::Place { path, of }, bytes);
            }
            // While an engine works in this project, its tasks may want them.
            let is_free = |slot: &Seen| !matches!(slot.state, SlotState::Held(_));
            for slot in slots::all(project, dir).into_iter().filter(|slot| !any_lives && is_free(slot)) {
                if (finished || unfinished) && seen.insert(slot.path.clone()) {
                    let bytes = paths::bytes_in(&slot.path);
                    add(What::Slot { path: slot.path }, bytes);
                }
            }
            for path in repo.locks_of(run.as_str()) {
                add(What::Lock { path }, 0);
            }
        }
        let jobs = project.home.join("runs").join(run.as_str());
        if finished && jobs.exists() {
            let bytes = paths::bytes_in(&jobs);
            add(What::Jobs { path: jobs }, bytes);
        }
    }
    Ok(found)
}

/// Tasks that have a worktree, a pin or a branch, in order. The others of a large plan are not looked at.
fn with_leftovers(journal: &Journal, run: &RunId, refs: &BTreeMap<String, Oid>) -> Outcome<Vec<Task>> {
    let (pins, suffix) = (format!("refs/piton/{run}/"), format!("-{run}"));
    let pinned = |name: &str| Some(name.strip_prefix(&pins)?.split_once('/')?.1.to_owned());
    let branched =
        |name: &str| Some(name.strip_prefix("refs/heads/worktree-")?.strip_suffix(&suffix)?.to_owned());
    let named = refs.keys().filter_map(|name| pinned(name).or_else(|| branched(name)));
    let mut tasks: BTreeMap<TaskId, Task> =
        journal.with_worktree(run)?.into_iter().map(|task| (task.id.clone(), task)).into_map();
    for id in named.filter_map(|name| TaskId::new(&name).ok()) {
        if !tasks.contains_key(&id) {
            tasks.extend(journal.task(run, &id)?.map(|task| (id, task)));
        }
    }
    Ok(tasks.into_values().collect())
}

/// Remove what one run left, as its engine would. The lock of the run keeps engines out meanwhile, and the git
/// processes hold it too. So the next holder of the lock knows that files which killed git processes left belong to no
/// running process.
fn remove_all(project: &Project, journal: &mut Journal, leftovers: &[Leftover]) -> Outcome {
    let Some(Leftover { run, .. }) = leftovers.first() else { return Ok(()) };
    let Some(lock) = project.engine_lock(run).map_err(Failure::io(format!("cannot lock {run}")))? else {
        ui::say(format!("kept all of {run}: an engine has started to work on it"));
        return Ok(());
    };
    let repo = project.repo()?.map(|repo| repo.guarded_by(Arc::new(lock)));
    let since = journal.facts(run)?.map(|facts| clock::system_time(facts.created));
    if let (Some(repo), Some(since)) = (&repo, since) {
        repo.clear_dead_locks(run.as_str(), since)?;
    }
    for left in leftovers {
        let removed = match (&repo, since) {
            (Some(repo), Some(since)) => {
                let is_kill = |_: &Failure| repo.has_lost_a_process();
                repo.despite_kills(run.as_str(), since, is_kill, || {
                    remove(project, Some(repo), journal, left)
                })
            }
            _ => remove(project, repo.as_ref(), journal, left),
        };
        if let Err(failure) = removed {
            ui::say(format!("kept {}: {}", left.what.describe(), failure.message));
        }
    }
    Ok(())
}

fn remove(project: &Project, repo: Option<&Repo>, journal: &mut Journal, left: &Leftover) -> Outcome {
    let repo = || repo.ok_or_else(|| Failure::new("there is no git repository"));
    match &left.what {
        What::Worktree { task, fence, path } => {
            let removed = slots::remove(project, repo()?, path, &rescue(left, task))?;
            remove_worktree_dir(path.parent().unwrap_or(path));
            if let Some(kept) = removed.rescued {
                ui::say(format!("what was only there is kept as {}", kept.name));
                let rescued =
                    Command::Rescued { task: task.clone(), reference: kept.name, commit: kept.commit };
                journal.command(&left.run, &rescued, clock::now())?;
            }
            journal.command(
                &left.run,
                &Command::CleanedUp { task: task.clone(), fence: *fence },
                clock::now(),
            )?;
        }
        What::Place { path, of } => {
            let pool = Pool { project, repo: repo()?, run: &left.run, dir: path.parent().unwrap_or(path) };
            if pool.has(path) {
                pool.discard(path).map_err(|no| Failure::new(no.to_string()))?;
            } else {
                let rescue = Rescue::at(&format!("{}/checks", left.run), &format!("Left in {of}"));
                // If only Piton checks out commits there, they are kept elsewhere too.
                let rescue = if *of == SHARED { rescue } else { rescue.without_reflogs() };
                Worktree::remove(repo()?, path, &rescue)?;
            }
            remove_worktree_dir(path.parent().unwrap_or(path));
        }
        What::Slot { path } => {
            let dir = path.parent().unwrap_or(path);
            let setup = WorktreeSetup::default();
            SlotPool { project, repo: repo()?, dir, setup: &setup }.discard(path)?;
            remove_worktree_dir(dir);
        }
        What::Pin { task, name } => {
            let repo = repo()?;
            for pin in repo.pins(name)? {
                keep_if_alone(repo, left, task, &pin)?;
                repo.change_refs(&[RefChange::unpin(&pin.name)?])?;
            }
        }
        What::Branch { name } => {
            let facts = journal.facts(&left.run)?;
            let target = facts.and_then(|facts| facts.target).unwrap_or_default();
            if let Some(tip) = repo()?.branch_tip(&target)? {
                let away = repo()?.branch_removal(name, &tip)?;
                repo()?.change_refs(away.as_slice())?;
            }
        }
        // The next process that locks the run clears these.
        What::Lock { .. } => {}
        What::Jobs { path } => {
            piton_engine::sandbox::clear_all(path);
            std::fs::remove_dir_all(path).map_err(Failure::io(format!("cannot remove {path}")))?;
        }
    }
    Ok(())
}

/// A pinned commit that no branch, tag or rescue ref reaches is put under a rescue ref before its pin goes.
fn keep_if_alone(repo: &Repo, left: &Leftover, task: &TaskId, pin: &Pin) -> Result<(), GitError> {
    // A candidate that did not land is a merge Piton can build again from the work.
    if pin.name.contains("/candidate/") {
        return Ok(());
    }
    repo.rescue_commit(&rescue(left, task), Some(pin.oid.clone())).map(drop)
}

/// Where what only this task's worktree or pins hold is kept. The pins go, so they do not count as keeping.
fn rescue(left: &Leftover, task: &TaskId) -> Rescue {
    let mut rescue = Rescue::at(&format!("{}/{task}", left.run), &format!("Left of {task}"));
    rescue.kept =
        ["refs/heads", "refs/remotes", "refs/tags", "refs/piton/rescue"].map(str::to_owned).to_vec();
    rescue
}
