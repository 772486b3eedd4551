//! How a run begins, or is found again: the journal's side of `piton run` and `piton import`.

use std::collections::BTreeMap;

use camino::Utf8Path;
use piton_core::plan::{Plan, RunId, TaskId, TaskSpec, difference};
use piton_core::run::{
    Closed, Command, Event, ImportedTask, NewRun, Note, Proof, Recorded, Refusal, Reopening, Revision,
    Status, follows_settings, settings_that_wait,
};
use piton_core::system::Detects;
use piton_core::view;
use piton_engine::files::kept;
use piton_engine::journal::Journal;
use piton_engine::landed::{Before, by_lost_runs};
use piton_engine::lock::Lock;
use piton_engine::project::{Project, new_run_id};
use piton_engine::{clock, disk, files};

use crate::args::Which;
use crate::failure::{Failure, Outcome};
use crate::paths::{self, typed};
use crate::plans::{self, Aside, FoundPlan, How, Stamp};
use crate::runs::flags::RunArgs;
use crate::runs::takeover::{self, Place, TakeOver};
use crate::runs::{create, detected, find, in_place, known, lock, same_plan, state_files};
use crate::ui;

/// The project a plan is for: where the command line says, else where its run is, else where the plan says or lies.
pub(crate) fn project_of(args: &RunArgs, found: &FoundPlan) -> Outcome<Project> {
    find::of_plan(&found.path, args.project_path.as_deref())
}

/// Held while an engine works on a plan whose state file is that of the whole project. A second engine, on another such
/// plan, would overwrite what the first one shows, and what people write into it.
pub(crate) fn alone(project: &Project, found: &FoundPlan) -> Outcome<Option<Lock>> {
    let taken = files::alone(project, found.system(), &found.path);
    match taken.map_err(Failure::io(format!("cannot lock {}", project.home)))? {
        Ok(lock) => Ok(lock),
        // Beginning the run marks it as worked on.
        Err(other) if other == found.path => Ok(None),
        Err(other) => {
            let file = found.system().files().state.unwrap_or_default();
            let (shown, plan) = match other.as_str() {
                "" => ("another plan".to_owned(), "PLAN".to_owned()),
                _ => (paths::shown(&other), typed(&other)),
            };
            let why = format!("an engine is working on {shown}, and {file} shows one plan at a time");
            let failure =
                Failure::new(why).hint(format!("piton stop --plan {plan}   or wait until it has ended"));
            Err(failure.hint("the lists of a master list run one after the other"))
        }
    }
}

/// The run to work on, created if need be, and its lock: no other engine works on it.
pub(crate) fn settle_run(
    args: &RunArgs,
    found: &mut FoundPlan,
    project: &Project,
    journal: &mut Journal,
) -> Outcome<(RunId, Lock)> {
    let beginning = find::beginning(project)?;
    let existing = match &args.run {
        Some(_) => Some(
            find::run(&Which {
                run: args.run.clone(),
                plan: None,
                project_path: Some(project.root.clone()),
            })?
            .run,
        ),
        None => match known::run_of_plan(journal, &found.path)? {
            None if !args.reset => {
                let onto = args.onto.clone().or_else(|| args.base_branch.clone());
                same_plan::look(found, project, journal, onto)?.settle(&found.path)?
            }
            known => known,
        },
    };
    let existing = existing.filter(|_| !args.reset);
    let Some(run) = existing else {
        let goes_on = args.resume || !args.reset_task.is_empty();
        // A run continues from what another system left.
        if goes_on && !state_files::has_state_file(found, project) {
            let failure = Failure::new(format!("there is no run of {} to resume", paths::shown(&found.path)));
            return Err(failure.hint(format!("piton run {}", typed(&found.path))));
        }
        let is_planned = |id: &&TaskId| !found.plan.tasks.iter().any(|spec| spec.id == **id);
        if let Some(unknown) = args.reset_task.iter().find(is_planned) {
            return Err(Failure::new(format!("there is no task {unknown} in the plan")));
        }
        let needs = args.task.as_ref().and_then(|id| found.plan.tasks.iter().find(|spec| &spec.id == id));
        let is_done = |id: &TaskId| found.is_done_before(id);
        let open = |spec: &TaskSpec| spec.depends_on.iter().any(|id| !is_done(id));
        if let Some(spec) = needs.filter(|spec| open(spec)) {
            let needs: Vec<&str> =
                spec.depends_on.iter().filter(|id| !is_done(id)).map(TaskId::as_str).collect();
            let failure =
                Failure::new(format!("{} depends on tasks that are not done: {}", spec.id, needs.join(", ")));
            return Err(failure.hint(format!("piton run {}   works on the whole plan", typed(&found.path))));
        }
        let run = create(args, found, project, journal)?;
        find::name_in_hints(&journal.runs()?, &run);
        drop(beginning);
        let lock = lock::take_lock(project, &run)?;
        return Ok((run, lock));
    };
    if args.distrust_ticks {
        let why = format!("--distrust-ticks counts when a run begins, and the run {run} has begun");
        return Err(Failure::usage(why).hint("--reset begins a new run"));
    }
    drop(beginning);
    find::name_in_hints(&journal.runs()?, &run);
    let lock = lock::take_lock(project, &run)?;
    let state = journal.load(&run)?;
    let facts = state.run().ok_or_else(|| Failure::new(format!("the run {run} has no beginning")))?;
    if let Some(Closed { by, reason }) = &facts.closed {
        let why = if reason.is_empty() { String::new() } else { format!(" ({})", ui::plain(reason)) };
        ui::say(format!("the run {run} was closed by {by}{why}: it is opened again"));
    }
    let began_per = facts.settings.requests.as_ref().map(|requests| requests.per);
    let target = facts.destination();
    let fixed = [
        ("--no-commits", args.no_commits && !facts.settings.no_commits),
        ("--auto-answer", args.auto_answer && !facts.settings.auto_answer),
        (
            "--commit-prefix",
            args.commit_prefix.is_some() && args.commit_prefix != facts.settings.commit_prefix,
        ),
        ("--land", args.is_by_requests().is_some_and(|by| by != facts.settings.requests.is_some())),
        ("--pr", args.pr.is_some_and(|pr| began_per != Some(pr.into()))),
        ("--stack", args.stack && !facts.settings.requests.as_ref().is_some_and(|began| began.stack)),
        ("--author", args.author.is_some() && args.author != facts.settings.author),
        (
            "--base-branch",
            args.base_branch.is_some() && args.onto.is_none() && args.base_branch.as_ref() != target,
        ),
        ("--onto", args.onto.is_some() && args.onto.as_ref() != target),
        (
            "--worktree-dir",
            args.worktree_dir
                .as_ref()
                .is_some_and(|dir| facts.worktree_dir.as_deref() != Some(paths::absolute(dir).as_str())),
        ),
    ];
    // What no flag says stays as the run began.
    found.plan.settings.requests = facts.settings.requests.clone().map(|began| args.requests_over(began));
    if let Some((flag, _)) = fixed.iter().find(|(_, differs)| *differs) {
        let failure =
            Failure::usage(format!("{flag} cannot be changed: it was set when the run {run} began"));
        return Err(failure.hint("--reset begins a new run"));
    }
    let is_settled = match found.policy().detects {
        Detects::Once => true,
        Detects::AtBeginning => !args.replan,
        Detects::Never | Detects::Always => false,
    };
    if is_settled {
        // What was found in the project when the run began holds: by now its agents have changed it.
        let tests = detected::checks_found(found.system(), journal, &run)?.unwrap_or_default();
        let how = How { project: Some(&project.root), tests: Some(&tests), ..How::default() };
        let plan = plans::read(&found.path, found.system(), how)?.0.plan;
        (found.plan.tasks, found.plan.groups) = (plan.tasks, plan.groups);
    }
    // A process may have added a task to the plan and died before the journal had it: then the plan has changed.
    let is_same = facts.plan_hash == found.plan.hash();
    let waits = settings_that_wait(facts, &found.plan);
    if !is_same || args.replan && !waits.is_empty() {
        adopt_or_refuse(args, found, journal, &run)?;
    } else {
        adopt_settings(found, journal, &run)?;
    }
    if !args.replan && !waits.is_empty() {
        ui::say(format!("this run keeps its old settings for: {}", waits.join(", ")));
        ui::hint(format!("piton run {} --replan   adopts the new ones", typed(&found.path)));
    }
    Ok((run, lock))
}

/// The tasks are unchanged, but the settings of the plan and of `piton.toml` may not be.
fn adopt_settings(found: &FoundPlan, journal: &mut Journal, run: &RunId) -> Outcome {
    let Some(facts) = journal.facts(run)? else { return Ok(()) };
    if follows_settings(&facts, &found.plan, None) {
        return Ok(());
    }
    let revision = Revision::new(found.plan.clone(), &facts.plan_hash, &[]);
    let events = submit(journal, run, Command::Follow(Box::new(revision)))?.map_err(Failure::from)?;
    for recorded in &events {
        ui::say(view::describe(&recorded.event).text);
    }
    Ok(())
}

fn adopt_or_refuse(args: &RunArgs, found: &FoundPlan, journal: &mut Journal, run: &RunId) -> Outcome {
    let specs = journal.specs(run)?;
    let difference = difference(&specs, &found.plan.tasks);
    if !args.replan {
        let from = journal.facts(run)?.map(|facts| facts.plan_hash).unwrap_or_else(|| found.plan.hash());
        let revision = Revision::new(found.plan.clone(), &from, &specs);
        return match submit(journal, run, Command::Follow(Box::new(revision)))? {
            Ok(events) => {
                ui::say(format!("the plan has changed; adopted as it is now:\n{difference}"));
                tell_rejudged(&events);
                Ok(())
            }
            Err(refusal) => Err(changed_too_much(found, journal, run, &refusal, difference)?),
        };
    }
    ui::say(format!("adopted the plan as it is now:\n{difference}"));
    let others = other_tasks(journal, run, &found.plan)?;
    if !others.is_empty() {
        ui::say(format!(
            "completed before but changed since, so they will be done again: {}",
            named(&others)
        ));
    }
    // An engine that died is still written down as working; its lock is ours, so it is not.
    lock::detach(journal, run)?;
    let replan = Command::Replan(Box::new(found.plan.clone()));
    tell_rejudged(&submit(journal, run, replan)?.map_err(Failure::from)?);
    Ok(())
}

fn tell_rejudged(events: &[Recorded]) {
    let rejudged = |recorded: &Recorded| match &recorded.event {
        Event::Reopened { task, reason: Reopening::Rejudged, .. } => Some(task.clone()),
        _ => None,
    };
    let tasks: Vec<TaskId> = events.iter().filter_map(rejudged).collect();
    if !tasks.is_empty() {
        ui::say(format!(
            "the checks have changed, so they run on the existing work before any agent starts: {}",
            named(&tasks)
        ));
    }
}

/// A change of the plan that a person has to decide about: it changes tasks that are in progress or completed, or
/// removes tasks.
fn changed_too_much(
    found: &FoundPlan,
    journal: &mut Journal,
    run: &RunId,
    refusal: &Refusal,
    difference: String,
) -> Outcome<Failure> {
    let failure = Failure::new(format!("the plan has changed since the run {run} began: {refusal}"));
    let failure = Failure { picture: Some(difference), ..failure };
    let plan = typed(&found.path);
    let again = format!("piton run {plan} --replan   adopts it, task by task");
    let anew = format!("piton run {plan} --reset    begins a new run");
    let others = other_tasks(journal, run, &found.plan)?;
    if others.is_empty() {
        return Ok(failure.hint(again).hint(anew));
    }
    // This is another plan rather than a changed one. A new run takes nothing of this one for done.
    let others = named(&others);
    Ok(failure.hint(anew).hint(format!("{again}; will be done again because they have changed: {others}")))
}

fn submit(journal: &mut Journal, run: &RunId, command: Command) -> Outcome<Result<Vec<Recorded>, Refusal>> {
    let mut state = journal.load(run)?;
    let done = journal.commit(run, &mut state, &[command], clock::now())?;
    Ok(done.outcomes.into_iter().next().unwrap_or(Ok(Vec::new())))
}

/// What a run's plan now asks for and the run has not done: completed tasks with new content, and new tasks. A plan
/// that cannot be read, or does not exist any more, asks for nothing.
pub(crate) fn asked_since(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome<Vec<TaskId>> {
    let Some(facts) = journal.facts(run)? else { return Ok(Vec::new()) };
    let tests = detected::checks_found(facts.settings.form.system(), journal, run)?.unwrap_or_default();
    let how = How { project: Some(&project.root), tests: Some(&tests), ..How::default() };
    let system = facts.settings.form.system();
    let stamp = Stamp::of(Utf8Path::new(&facts.plan), system);
    if stamp.as_ref().and_then(|stamp| stamp.hash(project)).is_some_and(|hash| hash == facts.plan_hash) {
        return Ok(Vec::new());
    }
    let Ok((found, _)) = plans::read(Utf8Path::new(&facts.plan), system, how) else {
        return Ok(Vec::new());
    };
    let hash = found.plan.hash();
    if let Some(stamp) = stamp {
        stamp.keep(project, &found, &hash);
    }
    if hash == facts.plan_hash {
        return Ok(Vec::new());
    }
    let state = journal.load(run)?;
    let is_new = |spec: &&TaskSpec| state.task(&spec.id).ok().flatten().is_none_or(|task| task.removed);
    let new: Vec<TaskId> = found.plan.tasks.iter().filter(is_new).map(|spec| spec.id.clone()).collect();
    Ok([other_tasks(journal, run, &found.plan)?, new].concat())
}

/// The completed tasks of a run whose id stands for something else in a plan.
fn other_tasks(journal: &mut Journal, run: &RunId, plan: &Plan) -> Outcome<Vec<TaskId>> {
    let state = journal.load(run)?;
    let is_other = |spec: &&TaskSpec| {
        let task = state.task(&spec.id).ok().flatten();
        task.is_some_and(|task| task.decided == Status::Completed && spec.is_another_than(task.content))
    };
    Ok(plan.tasks.iter().filter(is_other).map(|spec| spec.id.clone()).collect())
}

/// Some ids, and how many more there are.
fn named(ids: &[TaskId]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<String> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
    if ids.len() > SHOWN {
        shown.push(format!("and {} more", ids.len() - SHOWN));
    }
    shown.join(", ")
}

/// What a run before this one left in the plan's files says nothing about this one.
fn begin_anew(found: &FoundPlan) -> Outcome<Vec<Command>> {
    state_files::put_aside(found)?;
    let again = found.read.done_again(&|name| std::fs::read(found.path.join(name)).ok());
    if let Some((name, bytes, ticked)) = again.opened {
        let path = found.path.join(name);
        let real = path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))?;
        disk::write(&real, &bytes).map_err(Failure::io(format!("cannot write {path}")))?;
        let ticks = view::counted(ticked as u64, "tick");
        ui::say(format!("{ticks} removed from {}: everything is done again", paths::shown(&path)));
    }
    let note = |text| Note::Entry { task: None, text, for_next: false };
    Ok(again
        .entry
        .map(|text| Command::Note { by: "piton".to_owned(), note: note(text) })
        .into_iter()
        .collect())
}

/// Take the ticks out of the plan's files before the run begins: a box that is ticked after that is a claim.
fn open_ticks(found: &FoundPlan) -> Outcome {
    let Some(claims) = found.read.claims() else {
        let what = format!("the ticks of a plan of the {} system are not mere claims", found.system().name());
        return Err(Failure::usage(what).hint("leave out --distrust-ticks"));
    };
    for file in kept(found.system(), &found.path) {
        let path = &file.path;
        if !path.exists() {
            continue;
        }
        let real = path.canonicalize_utf8().map_err(Failure::io(format!("cannot read {path}")))?;
        let bytes = std::fs::read(&real).map_err(Failure::io(format!("cannot read {path}")))?;
        if let Some(opened) = file.companion().opened(&bytes) {
            disk::write(&real, &opened).map_err(Failure::io(format!("cannot write {path}")))?;
        }
    }
    if claims > 0 {
        let claims = view::counted(claims as u64, "tick");
        ui::say(format!("{claims} removed from {}: these tasks are done again", paths::shown(&found.path)));
    }
    Ok(())
}

fn create(args: &RunArgs, found: &mut FoundPlan, project: &Project, journal: &mut Journal) -> Outcome<RunId> {
    let anew = if args.reset { begin_anew(found)? } else { Vec::new() };
    if let Some(run) = take_over(args, found, project, journal)? {
        return Ok(run);
    }
    let run = new_run_id(&found.plan.name);
    if args.distrust_ticks {
        open_ticks(found)?;
    }
    let (onto, distrusts_ticks) = (args.onto.as_deref(), args.distrust_ticks);
    let here = Place { project, tip: None, onto, distrusts_ticks };
    // What a target holds is known once there is one; whether it was there, only before that.
    let by_git = found.policy().judged_by_target;
    let mut past = if by_git { anew } else { takeover::past(found, here, journal, Aside::Put)? };
    let creation = create::creation(args, found, project, &run)?;
    // `--reset` starts over, without the work that was done before.
    if let (Command::Create(new), true, false) = (&creation, by_git, args.reset) {
        past = takeover::past(found, Place { tip: new.base.as_ref(), ..here }, journal, Aside::Put)?;
    }
    let landed = if args.reset { Vec::new() } else { landed_before(&creation, found, project, journal)? };
    let commands: Vec<Command> = [creation].into_iter().chain(past).chain(landed).collect();
    // One copy of a large plan is enough while its events are made.
    drop(std::mem::take(&mut found.plan.tasks));
    create::begin(journal, project, &run, &commands)?;
    if let Some(Command::Create(new)) = commands.into_iter().next() {
        found.plan.tasks = new.plan.tasks;
    }
    if !found.system().files().of_project {
        // What it said is in the journal now, and is replaced next.
        state_files::back_up(found)?;
    }
    Ok(run)
}

/// What runs of this plan landed whose journal does not exist any more. Files of other systems record theirs.
fn landed_before(
    creation: &Command,
    found: &FoundPlan,
    project: &Project,
    journal: &Journal,
) -> Outcome<Vec<Command>> {
    let Command::Create(new) = creation else { return Ok(Vec::new()) };
    let (Some(repo), Some(tip), true) = (project.repo()?, &new.base, found.system().files().state.is_none())
    else {
        return Ok(Vec::new());
    };
    let runs: Vec<RunId> = journal.runs()?.into_iter().map(|run| run.id).collect();
    let is_known = |id: &str| runs.iter().any(|run| run.as_str() == id);
    let before = by_lost_runs(repo, tip, &new.plan, &is_known)?;
    let mut by_run: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for before in &before {
        by_run.entry(&before.run).or_default().push(before.task.as_str());
    }
    for (run, tasks) in by_run {
        let again = format!("piton run {} --reset", typed(&found.path));
        ui::say(format!(
            "already landed by the run {run}, whose journal no longer exists, so not done again: {}",
            tasks.join(", ")
        ));
        ui::hint(format!("{again}   does everything again"));
    }
    let adopt = |before: Before| {
        let proof = Proof::Landed { commit: before.commit.clone(), verified: before.commit };
        let past = ImportedTask { proof: Some(proof), ..ImportedTask::plain(Status::Completed) };
        Command::Adopt { task: before.task, by: before.run, past: Box::new(past) }
    };
    Ok(before.into_iter().map(adopt).collect())
}

/// A run that is driven by hand: without an engine and, if need be, without git.
pub(crate) fn create_for_ledger(
    args: &RunArgs,
    found: &mut FoundPlan,
    project: &Project,
    journal: &mut Journal,
) -> Outcome<RunId> {
    if project.repo()?.is_some()
        && let Some(run) = take_over(args, found, project, journal)?
    {
        return Ok(run);
    }
    if let (Some(branch), true) = (found.read.branch(), project.repo()?.is_some()) {
        let args = RunArgs { onto: args.onto.clone().or(Some(branch)), ..args.clone() };
        return create(&args, found, project, journal);
    }
    in_place::settle_in_place(found, project)?;
    if found.policy().judged_by_target && project.repo()?.is_some() {
        return create(args, found, project, journal);
    }
    let here = Place { project, tip: None, onto: None, distrusts_ticks: false };
    let past = takeover::past(found, here, journal, Aside::Put)?;
    let run = new_run_id(&found.plan.name);
    let target = project.repo()?.and_then(|repo| repo.current_branch().ok());
    // What is committed from here on may be work on its tasks.
    let base = match project.repo()? {
        Some(repo) => repo.head_of(&project.root)?,
        None => None,
    };
    let new = NewRun {
        run: run.clone(),
        plan_path: found.path.to_string(),
        // One copy of a large plan is enough.
        plan: Plan { tasks: std::mem::take(&mut found.plan.tasks), ..found.plan.clone() },
        base,
        worktree_dir: target.as_ref().map(|_| project.worktree_dir().into_string()),
        target,
    };
    let commands: Vec<Command> = [Command::Create(Box::new(new))].into_iter().chain(past).collect();
    create::begin(journal, project, &run, &commands)?;
    Ok(run)
}

/// The run continues from a state file that another system, or another journal, left in the plan.
fn take_over(
    args: &RunArgs,
    found: &mut FoundPlan,
    project: &Project,
    journal: &mut Journal,
) -> Outcome<Option<RunId>> {
    if !found.policy().adopts_worktrees {
        return Ok(None);
    }
    let left = takeover::left(found, project, None, journal, Aside::Put)?;
    let Some(taken) = TakeOver::new(args, found, project, journal, (left, Aside::Put))? else {
        return Ok(None);
    };
    let run = taken.begin(args, found, project, journal)?;
    if !args.loudness.json && !args.loudness.quiet {
        taken.print();
    }
    Ok(Some(run))
}
