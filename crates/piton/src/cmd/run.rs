//! `piton run`: start the run of a plan, or go on with it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::diagnostic;
use piton_core::dialect::native;
use piton_core::plan::{Plan, RepoPath, RunId, TaskId, TaskSpec};
use piton_core::run::{Command, NewRun, Selection, Session, Status, StopReason};
use piton_core::view::{self, counted};
use piton_engine::drive::{self, Engine};
use piton_engine::git::{NEEDED, Repo};
use piton_engine::journal::Journal;
use piton_engine::lock::Lock;
use piton_engine::project::{Project, new_run_id};
use piton_engine::{clock, disk};

use super::Exit;
use crate::args::{Loudness, Run, Which};
use crate::failure::{Failure, Outcome};
use crate::find::{self, FoundPlan};
use crate::{cmd, progress, ui};

pub(crate) fn run(args: &Run) -> Outcome<Exit> {
    let mut found = find::plan(&args.plan)?;
    apply_flags(&mut found.plan, args);
    let start = args.project_path.clone().unwrap_or_else(|| folder_of(&found.path));
    let project = find::project(Some(&start))?;
    if args.dry_run {
        return dry_run(args, &found, &project);
    }
    preflight(args, &found.plan, &project)?;
    let mut journal = Journal::open(&project.home)?;
    let (run, lock) = settle_run(args, &found, &project, &mut journal)?;
    for task in &args.reset_task {
        journal.command(&run, &Command::Reset { task: task.clone(), by: "you".to_owned() }, clock::now())?;
    }
    // In place or not is settled when a run begins; going on need not say it again.
    found.plan.settings.no_commits |= journal.facts(&run)?.is_some_and(|facts| facts.settings.no_commits);
    let loudness = args.loudness;
    if !loudness.json && !loudness.quiet {
        say_beginning(&journal, &run, &found, &project)?;
    }
    let engine = Engine {
        session: session(args, &found.plan),
        owned: owned(&found.path, &project),
        plan_changed: watch(&found, &journal.specs(&run)?),
        keeper: keeper()?,
        project: project.clone(),
        journal,
        run: run.clone(),
        lock,
    };
    let titles = found.plan.tasks.iter().map(|task| (task.id.clone(), task.title.clone())).collect();
    let reason = drive_to_end(engine, loudness, titles)?;
    conclude(&project, &run, &reason, loudness)?;
    Ok(view::exit_code(&reason))
}

fn folder_of(plan: &Utf8Path) -> Utf8PathBuf {
    plan.parent().unwrap_or(Utf8Path::new(".")).to_owned()
}

/// What a run fixes when it begins.
fn apply_flags(plan: &mut Plan, args: &Run) {
    let settings = &mut plan.settings;
    settings.no_commits |= args.no_commits;
    settings.commit_prefix = args.commit_prefix.clone().or(settings.commit_prefix.take());
    settings.author = args.author.clone().or(settings.author.take());
}

/// Run the engine with the screen and the signals of this process.
pub(crate) fn drive_to_end(
    engine: Engine,
    loudness: Loudness,
    titles: BTreeMap<TaskId, String>,
) -> Outcome<StopReason> {
    let (handle, inbox) = drive::channels();
    let mut signals = signal_hook::iterator::Signals::new(signal_hook::consts::TERM_SIGNALS)
        .map_err(Failure::io("cannot listen for signals"))?;
    std::thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            match count {
                // On a live screen the observer says so: it knows where the cursor is.
                _ if ui::is_terminal() && count < 2 => {}
                0 => ui::say(
                    "\nstopping: what runs is finished first. Again to stop at once; nothing is lost either way",
                ),
                1 => ui::say("stopping at once; `piton run` goes on from here"),
                // Three times means it: the next start sorts out whatever was going on.
                _ => drop(signal_hook::low_level::emulate_default_handler(signal)),
            }
            handle.interrupt();
        }
    });
    let mut observer = progress::observer(loudness, titles);
    Ok(engine.run(inbox, observer.as_mut())?)
}

pub(crate) fn keeper() -> Outcome<Vec<String>> {
    let program = std::env::current_exe().map_err(Failure::io("cannot find Piton's own program"))?;
    let program = Utf8PathBuf::from_path_buf(program)
        .map_err(|path| Failure::new(format!("Piton's path {} is not UTF-8", path.display())))?;
    Ok(vec![program.into_string(), "keeper".to_owned()])
}

/// Everything that would make the run fail is found before it begins.
fn preflight(args: &Run, plan: &Plan, project: &Project) -> Outcome {
    let Some(repo) = project.repo()? else {
        let failure =
            Failure::new(format!("{} is not in a git repository, which the engine needs", project.root));
        return Err(failure
            .hint("git init && git add -A && git commit -m 'First commit'")
            .hint("without git, Piton keeps the ledger: piton start TASK, piton report TASK done"));
    };
    repo.git().version()?;
    if !plan.settings.no_commits {
        repo.check_worktree_dir(&worktree_dir(args, project))?;
    }
    if let Some(author) = &plan.settings.author {
        repo.check_author(author)?;
    }
    preflight_selection(args, plan)?;
    if repo.has_submodules() && !args.loudness.quiet {
        ui::hint("this repository has submodules: worktrees are made without them, and they are left alone");
    }
    let names: std::collections::BTreeSet<&String> = match &args.agent {
        Some(agent) => [agent].into(),
        None => plan.tasks.iter().map(|task| &task.agent).collect(),
    };
    for name in names {
        let Some(agent) = plan.settings.agents.get(name) else {
            let known: Vec<&str> = plan.settings.agents.keys().map(String::as_str).collect();
            let failure =
                Failure::usage(format!("the agent `{name}` is not defined in the plan or piton.toml"));
            return Err(if known.is_empty() {
                failure.hint(format!(
                    "add to the plan:\n  [agents.{name}]\n  command = [\"your-agent\", \"--its-flags\"]"
                ))
            } else {
                failure.hint(format!("defined are: {}", known.join(", ")))
            });
        };
        let program = agent.command.first().map(String::as_str).unwrap_or_default();
        if !is_runnable(program, &project.root) {
            let failure = Failure::new(format!(
                "the agent `{name}` cannot be started: there is no program `{program}`"
            ));
            return Err(failure.hint(format!("install it, or change `command` of [agents.{name}]")));
        }
    }
    Ok(())
}

/// What is selected exists. A run that is only begun has nothing done yet that a task could depend on.
fn preflight_selection(args: &Run, plan: &Plan) -> Outcome {
    if let Some(layer) = args.layer.as_ref().or(args.start_layer.as_ref())
        && !plan.groups.iter().any(|group| &group.id == layer)
    {
        let known: Vec<&str> = plan.groups.iter().map(|group| group.id.as_str()).collect();
        return Err(Failure::new(format!("there is no layer {layer}"))
            .hint(format!("the layers are {}", known.join(", "))));
    }
    if let Some(task) = &args.task
        && !plan.tasks.iter().any(|spec| &spec.id == task)
    {
        let near = diagnostic::nearest(task.as_str(), plan.tasks.iter().map(|spec| spec.id.as_str()));
        let failure = Failure::new(format!("there is no task {task} in the plan"));
        return Err(near
            .map(|near| format!("did you mean {near}?"))
            .into_iter()
            .fold(failure, Failure::hint));
    }
    Ok(())
}

/// Whether a program can be found: by its path, or along PATH.
fn is_runnable(program: &str, root: &Utf8Path) -> bool {
    if program.contains('/') {
        // A relative path is looked up in the worktree, where an earlier task may put it.
        return !Utf8Path::new(program).is_absolute() || root.join(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .any(|folder| folder.join(program).is_file() || folder.join(format!("{program}.exe")).is_file())
}

/// The run to work on, made if need be, and the proof that nobody else works on it.
fn settle_run(
    args: &Run,
    found: &FoundPlan,
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
        None => journal.runs()?.into_iter().find(|run| run.plan == found.path).map(|run| run.id),
    };
    let existing = existing.filter(|_| !args.reset);
    let Some(run) = existing else {
        if args.resume || !args.reset_task.is_empty() {
            let failure =
                Failure::new(format!("there is no run of {} to go on with", find::shown(&found.path)));
            return Err(failure.hint(format!("piton run {}", find::shown(&found.path))));
        }
        let needs = args.task.as_ref().and_then(|id| found.plan.tasks.iter().find(|spec| &spec.id == id));
        if let Some(spec) = needs.filter(|spec| !spec.depends_on.is_empty()) {
            let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
            let failure =
                Failure::new(format!("{} depends on what is not done: {}", spec.id, needs.join(", ")));
            return Err(
                failure.hint(format!("piton run {}   works on the whole plan", find::shown(&found.path)))
            );
        }
        let run = create(args, found, project, journal)?;
        drop(beginning);
        let lock = take_lock(project, &run)?;
        return Ok((run, lock));
    };
    drop(beginning);
    let lock = take_lock(project, &run)?;
    let state = journal.load(&run)?;
    let facts = state.run().ok_or_else(|| Failure::new(format!("the run {run} has no beginning")))?;
    let fixed = [
        ("--no-commits", args.no_commits && !facts.settings.no_commits),
        (
            "--commit-prefix",
            args.commit_prefix.is_some() && args.commit_prefix != facts.settings.commit_prefix,
        ),
        ("--author", args.author.is_some() && args.author != facts.settings.author),
        (
            "--base-branch",
            args.base_branch.is_some() && args.onto.is_none() && args.base_branch != facts.target,
        ),
        ("--onto", args.onto.is_some() && args.onto != facts.target),
        (
            "--worktree-dir",
            args.worktree_dir
                .as_ref()
                .is_some_and(|dir| facts.worktree_dir.as_deref() != Some(absolute(dir).as_str())),
        ),
    ];
    if let Some((flag, _)) = fixed.iter().find(|(_, differs)| *differs) {
        let failure =
            Failure::usage(format!("{flag} cannot be changed: it was settled when the run {run} began"));
        return Err(failure.hint("--reset begins a new run"));
    }
    if facts.plan_hash != found.plan.hash() {
        adopt_or_refuse(args, found, journal, &run)?;
    }
    Ok((run, lock))
}

fn take_lock(project: &Project, run: &RunId) -> Outcome<Lock> {
    let taken = project.engine_lock(run).map_err(Failure::io(format!("cannot lock {}", project.home)))?;
    taken.ok_or_else(|| {
        Failure::new(format!("another engine is working on the run {run}"))
            .hint("piton status")
            .hint("piton stop")
    })
}

fn adopt_or_refuse(args: &Run, found: &FoundPlan, journal: &mut Journal, run: &RunId) -> Outcome {
    let difference = difference(&journal.specs(run)?, &found.plan.tasks);
    if !args.replan {
        let failure = Failure::new(format!("the plan has changed since the run {run} began"));
        let again = format!("piton run {} --replan", find::shown(&found.path));
        return Err(Failure { picture: Some(difference), ..failure }
            .hint(format!("{again}   adopts it, task by task"))
            .hint(format!("piton run {} --reset    begins a new run", find::shown(&found.path))));
    }
    ui::say(format!("the plan is adopted as it is now:\n{difference}"));
    // An engine that died is still written down as working; its lock is ours, so it is not.
    let state = journal.load(run)?;
    if let Some(engine) = state.run().and_then(|run| run.engine.clone()) {
        let reason = StopReason::Environment { detail: "the engine ended without a word".to_owned() };
        journal.command(run, &Command::Detach { engine, reason }, clock::now())?;
    }
    let mut state = journal.load(run)?;
    let mut plan = found.plan.clone();
    if let Some(began) = state.run().map(|run| &run.settings) {
        // Flags the run began with hold where the plan says nothing.
        plan.settings.no_commits |= began.no_commits;
        plan.settings.commit_prefix = plan.settings.commit_prefix.or_else(|| began.commit_prefix.clone());
        plan.settings.author = plan.settings.author.or_else(|| began.author.clone());
    }
    let done = journal.commit(run, &mut state, &[Command::Replan(Box::new(plan))], clock::now())?;
    match done.outcomes.into_iter().next() {
        Some(Err(refusal)) => Err(refusal.into()),
        _ => Ok(()),
    }
}

fn difference(old: &[TaskSpec], new: &[TaskSpec]) -> String {
    let diff = native::diff(old, new);
    if diff.is_empty() { "groups or landing checks differ".to_owned() } else { diff.to_string() }
}

fn create(args: &Run, found: &FoundPlan, project: &Project, journal: &mut Journal) -> Outcome<RunId> {
    let repo = project.repo()?.ok_or_else(|| Failure::new("the engine needs a git repository"))?;
    let target = target(args, repo)?;
    let base = repo.branch_tip(&target)?;
    let run = new_run_id(&found.plan.name);
    let worktrees = if found.plan.settings.no_commits { None } else { Some(worktree_dir(args, project)) };
    let new = NewRun {
        run: run.clone(),
        plan: found.plan.clone(),
        plan_path: found.path.to_string(),
        target: Some(target),
        base,
        worktree_dir: worktrees.map(Utf8PathBuf::into_string),
    };
    disk::private_folder(&project.home).map_err(Failure::io(format!("cannot create {}", project.home)))?;
    journal.command(&run, &Command::Create(Box::new(new)), clock::now())?;
    Ok(run)
}

/// The branch work lands on.
fn target(args: &Run, repo: &Repo) -> Outcome<String> {
    let base = match &args.base_branch {
        Some(branch) => branch.clone(),
        // Landing elsewhere, from wherever this checkout is.
        None if args.onto.as_ref().is_some_and(|onto| matches!(repo.branch_tip(onto), Ok(Some(_)))) => {
            return Ok(args.onto.clone().unwrap_or_default());
        }
        None => repo.current_branch()?,
    };
    let Some(tip) = repo.branch_tip(&base)? else {
        return Err(Failure::usage(format!("there is no branch `{base}`")).hint("git branch --list"));
    };
    let Some(onto) = &args.onto else { return Ok(base) };
    if repo.branch_tip(onto)?.is_none() {
        repo.set_branch(onto, &tip, None)?;
    }
    Ok(onto.clone())
}

fn worktree_dir(args: &Run, project: &Project) -> Utf8PathBuf {
    args.worktree_dir.as_ref().map_or_else(|| find::worktree_dir(project), |dir| absolute(dir))
}

fn absolute(path: &Utf8Path) -> Utf8PathBuf {
    camino::absolute_utf8(path).unwrap_or_else(|_| path.to_owned())
}

fn session(args: &Run, plan: &Plan) -> Session {
    let parallel = args.max_parallel.unwrap_or(plan.settings.max_parallel);
    Session {
        schedule: args.schedule.map_or(plan.settings.schedule, Into::into),
        max_parallel: if plan.settings.no_commits { 1 } else { parallel },
        selection: match (&args.task, &args.layer, &args.start_layer) {
            (Some(task), _, _) => Selection::Task(task.clone()),
            (_, Some(layer), _) => Selection::Group(layer.clone()),
            (_, _, Some(layer)) => Selection::From(layer.clone()),
            (None, None, None) => Selection::All,
        },
        agent: args.agent.clone(),
    }
}

/// The plan and its defaults, where they are part of the repository: no task may change how it is judged.
fn owned(plan: &Utf8Path, project: &Project) -> Vec<RepoPath> {
    let root = project.root.canonicalize_utf8().unwrap_or_else(|_| project.root.clone());
    let inside = plan.strip_prefix(&root).ok().map(Utf8Path::as_str);
    inside.into_iter().chain(["piton.toml"]).filter_map(|path| RepoPath::new(path).ok()).collect()
}

/// Says what changed in the plan, once its file did.
fn watch(found: &FoundPlan, specs: &[TaskSpec]) -> Box<dyn FnMut() -> Option<String>> {
    let (path, hash) = (found.path.clone(), found.plan.hash());
    let specs = specs.to_vec();
    let stamp = |path: &Utf8Path| -> Option<(SystemTime, u64)> {
        let data = std::fs::metadata(path).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    let mut seen = stamp(&path);
    Box::new(move || {
        let now = stamp(&path);
        if now == seen {
            return None;
        }
        seen = now;
        match find::read_plan(&path) {
            Ok((plan, _)) if plan.hash() == hash => None,
            Ok((plan, _)) => Some(difference(&specs, &plan.tasks)),
            Err(failure) => Some(failure.message),
        }
    })
}

fn say_beginning(journal: &Journal, run: &RunId, found: &FoundPlan, project: &Project) -> Outcome {
    let facts = journal.facts(run)?;
    let onto = facts
        .and_then(|facts| facts.target)
        .map(|target| format!(", landing on {target}"))
        .unwrap_or_default();
    let tasks = counted(found.plan.tasks.len() as u64, "task");
    ui::say(format!("{} {tasks} in {}{onto}", ui::styled(ui::BOLD, run.as_str()), project.root));
    Ok(())
}

/// The end, told so that one knows what to do next.
pub(crate) fn conclude(project: &Project, run: &RunId, reason: &StopReason, loudness: Loudness) -> Outcome {
    if loudness.json {
        return Ok(());
    }
    let Some(mut journal) = Journal::open_existing(&project.home)? else { return Ok(()) };
    if let StopReason::PlanChanged { detail } = reason {
        ui::say(detail);
    }
    ui::say("");
    cmd::status::show(project, &mut journal, run, false)?;
    let hints: Vec<String> = match reason {
        StopReason::Completed | StopReason::Filter => Vec::new(),
        StopReason::Ended => {
            let mut stuck = journal.tasks_in(run, Status::Abandoned, 3)?;
            stuck.extend(journal.tasks_in(run, Status::Blocked, 3)?);
            stuck.iter().map(|task| format!("piton why {}", task.id)).collect()
        }
        StopReason::PlanChanged { .. } => {
            vec!["piton run PLAN --replan   adopts the plan as it is now".to_owned()]
        }
        StopReason::LandingWaits { detail } if detail.contains(" has changes of its own in ") => vec![
            "commit or stash your changes in that checkout, then `piton run` again".to_owned(),
            "or begin with --onto BRANCH to land elsewhere".to_owned(),
        ],
        StopReason::LandingWaits { .. } => vec!["see to that, then `piton run` again".to_owned()],
        StopReason::Person | StopReason::Elsewhere { .. } | StopReason::Environment { .. } => {
            let facts = journal.facts(run)?;
            let plan = facts.map(|facts| find::shown(Utf8Path::new(&facts.plan))).unwrap_or_default();
            vec![format!("piton run {plan}   goes on from here")]
        }
    };
    if !hints.is_empty() {
        ui::say("");
        hints.iter().for_each(ui::hint);
    }
    Ok(())
}

/// What would be done, and nothing done.
fn dry_run(args: &Run, found: &FoundPlan, project: &Project) -> Outcome<Exit> {
    if let Some(repo) = project.repo()? {
        let target = match (&args.onto, &args.base_branch) {
            (Some(branch), _) | (None, Some(branch)) => branch.clone(),
            (None, None) => repo.current_branch()?,
        };
        let git = repo.git().version()?;
        ui::say(format!(
            "would land on {target}, with worktrees in {} (git {git}, needs {NEEDED})",
            worktree_dir(args, project)
        ));
    }
    let existing = Journal::open_existing(&project.home)?
        .map(|journal| journal.runs())
        .transpose()?
        .unwrap_or_default()
        .into_iter()
        .find(|run| run.plan == found.path && !args.reset);
    match existing {
        Some(run) => ui::say(format!(
            "would go on with the run {}: {} of {} done",
            run.id,
            run.counts.of(Status::Completed),
            run.counts.total()
        )),
        None => ui::say("would begin a new run"),
    }
    let session = session(args, &found.plan);
    cmd::plan::show(found, &session, args.loudness.json, args.loudness.verbose);
    Ok(cmd::FINE)
}
