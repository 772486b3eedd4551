//! `piton run`: start the run of a plan, or resume it.

pub(crate) mod demo;
mod detach;

use std::thread;

use camino::Utf8Path;
use piton_core::diagnostic;
use piton_core::order::Pairs;
use piton_core::plan::{Check, Per, Plan, RunId, Sandbox};
use piton_core::run::{Command, Selection, Session, Status, StopReason, shell_word};
use piton_core::time::Span;
use piton_core::view::recap::markdown;
use piton_core::view::{self, Item, Kind, Results, counted};
use piton_engine::clock;
use piton_engine::drive::{Engine, PlanNow, PlanRead, Summary};
use piton_engine::files::{FilesError, Keeping};
use piton_engine::git::NEEDED;
use piton_engine::issues::Watching;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::args::Loudness;
use crate::failure::{self, Exit, Failure, Outcome};
use crate::notify::{self, Notifier};
use crate::paths::typed;
use crate::plans::{self, FoundPlan, How};
use crate::runs::conclusion::Delivery;
use crate::runs::flags::{NotifyArgs, RunArgs};
use crate::runs::found::FoundRun;
use crate::runs::preview::{self, PreviewForm};
use crate::runs::show::{self, Listed};
use crate::runs::{
    begin, conclusion, create, detected, engine, grow, in_place, inbox, known, master, recap, refusals,
    resume, same_plan, siblings, standing, state_files, templates,
};
use crate::{commands, preflight, progress, ui};

pub(crate) fn run(args: &RunArgs) -> Outcome<Exit> {
    if args.detach {
        return detach::in_background(args);
    }
    if args.detached {
        detach::leave_terminal();
    }
    let Some(plan) = &args.plan else { return run(&resume::resumed(args)?) };
    let how = How {
        system: args.dialect.map(|arg| arg.0),
        strict: args.strict,
        project: args.project_path.as_deref(),
        ..How::default()
    };
    if let Some(collection) = master::collection(plan) {
        return master::run(plan, collection, args, run);
    }
    let mut found = plans::plan(plan, how)?;
    let mut args = habits(args, &found.plan)?;
    args.onto = args.onto.or_else(|| found.read.branch());
    let args = &args;
    apply_flags(&mut found.plan, args);
    let project = begin::project_of(args, &found)?;
    found.plan.settings.requests = args.requests(|| plans::requests(&found.path, &project.root));
    in_place::settle_in_place(&mut found, &project)?;
    if args.dry_run {
        return dry_run(args, &found, &project);
    }
    let sandbox = sandbox(args)?;
    let notifications =
        notify::channels(&plans::notify(&found.path, &project.root), &NotifyArgs::channels(&args.notify)?)?;
    preflight(args, &found, &project)?;
    let prompts = templates::in_force(&project, &found.plan.settings.escalation)?;
    state_files::warn_of_second_copy(&found, &project);
    let _alone = begin::alone(&project, &found)?;
    let mut journal = project.journal()?;
    let (run, lock) = begin::settle_run(args, &mut found, &project, &mut journal)?;
    tell_deleted(&found, &project, &mut journal, &run)?;
    if !args.reset_task.is_empty() {
        state_files::back_up(&found)?;
    }
    for task in &args.reset_task {
        journal.command(&run, &Command::Reset { task: task.clone(), by: "you".to_owned() }, clock::now())?;
    }
    // Whether a run works in place is decided when it begins. The command that resumes it need not repeat the flag.
    found.plan.settings.no_commits |= journal.facts(&run)?.is_some_and(|facts| facts.settings.no_commits);
    let loudness = args.loudness;
    let wanted = args.max_parallel.unwrap_or(found.plan.settings.max_parallel);
    if found.plan.settings.no_commits && wanted > 1 && !loudness.quiet {
        ui::hint("without commits the work is done in the checkout itself, one task at a time");
    }
    if !loudness.json && !loudness.quiet {
        say_beginning(&journal, &run, &found, &project)?;
    }
    // `Keeping` reconciles the files, below.
    let mut claims = FoundRun { project: project.clone(), journal, run: run.clone() };
    claims.settle_claims()?;
    let FoundRun { mut journal, .. } = claims;
    siblings::look(&project, &mut journal, &run)?;
    let warn = |error: &FilesError| match error {
        FilesError::Waits(wait) => ui::say(wait.to_string()),
        error => ui::say(format!("the state file is behind: {error}")),
    };
    let keeping = Keeping::begin(&project, &run, &engine::keeper()?, grow::take_up, warn)?;
    let issues = plans::watch_issues(&found.path, &project, &run)?;
    refusals::say(&project, &journal, &run);
    let tests = detected::checks_found(found.system(), &journal, &run)?;
    let engine = Engine {
        session: session(args, &found.plan),
        owned: engine::owned(&found.path, found.system(), &found.plan.groups, &project),
        sandbox,
        plan_now: watch(args, &found, &project, tests),
        keeper: engine::keeper()?,
        prompts,
        project: project.clone(),
        journal,
        run: run.clone(),
        lock,
        no_wait: args.no_wait,
        undecided: match &keeping {
            Some(keeping) => Box::new(keeping.undecided()),
            None => Box::new(|| false),
        },
        summary: summary(&project, &run),
        reserve: match &issues {
            Some(issues) => issues.reserve(),
            None => Box::new(|_| Ok(())),
        },
        settle_files: match &keeping {
            Some(keeping) => Box::new(keeping.settles()),
            None => Box::new(|| {}),
        },
    };
    // The engine has its own: what the plan says need not be kept twice.
    let tasks = std::mem::take(&mut found.plan.tasks);
    let titles = tasks.into_iter().map(|task| (task.id, task.title)).into_map();
    if args.detached {
        detach::leave_streams(&project, &run)?;
    }
    let mut observer = progress::observer(loudness, &project, titles);
    if args.detached {
        observer = Box::new(detach::Beginning { observer, run: Some(run.clone()) });
    }
    let mut notifier = Notifier::begin(&project, &run, notifications);
    if let Some(notifier) = &mut notifier {
        observer = notifier.watched(observer);
    }
    let began = clock::now();
    let ended = engine::drive_to_end(engine, observer);
    keeping.into_iter().for_each(Keeping::end);
    issues.into_iter().for_each(Watching::end);
    if let Some(notifier) = notifier {
        notifier.end(ended.as_ref().ok().cloned());
    }
    let reason = ended?;
    conclude(&project, &run, &reason, loudness, clock::now().since(began))?;
    if found.read.branch().is_some() && !loudness.json {
        let delivery = if args.gh { Delivery::SendWithGh } else { Delivery::Print };
        conclusion::conclude(&project, &run, &reason, delivery)?;
    }
    Ok(view::exit_code(&reason))
}

/// A deleted state file changes nothing. The person may have wanted a reset, so say which command resets.
fn tell_deleted(found: &FoundPlan, project: &Project, journal: &mut Journal, run: &RunId) -> Outcome {
    let name = found.system().files().state;
    let (Some(name), false) = (name, state_files::has_state_file(found, project)) else { return Ok(()) };
    // Written once at least, when work began.
    if journal.load(run)?.tasks().any(|task| task.fence > 0) {
        ui::say(format!("{name} was deleted: it is written again, and the run {run} is resumed"));
        let plan = typed(&found.path);
        ui::hint(format!("piton run {plan} --reset   begins a new run, as a full reset does"));
    }
    Ok(())
}

/// What people are used to from the plan's own system: its variables stand in for flags that were not given.
fn habits(args: &RunArgs, plan: &Plan) -> Outcome<RunArgs> {
    let mut args = args.clone();
    let system = plan.settings.form.system();
    if system.policy().in_sequence && args.max_parallel.is_some_and(|number| number > 1) {
        return Err(Failure::usage(
            "tasks of this plan are worked on one after the other: --max-parallel is 1",
        ));
    }
    let Some(habits) = system.habits() else { return Ok(args) };
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    if let (None, Some(value)) = (args.max_parallel, said(habits.max_parallel)) {
        let number = value.trim().parse().map_err(|_| {
            Failure::usage(format!("{} is `{value}`, which is not a number", habits.max_parallel))
        })?;
        args.max_parallel = Some(number);
    }
    if let (None, Some(folder)) = (&args.worktree_dir, said(habits.worktree_dir)) {
        args.worktree_dir = Some(folder.into());
    }
    let loud = said(habits.verbose).is_some_and(|value| !["0", "false", "no"].contains(&value.as_str()));
    args.loudness.verbose |= loud && !args.loudness.quiet && !args.loudness.json;
    let (name, most) = (system.name(), habits.most_at_once);
    match args.max_parallel {
        Some(number) if !(1..=most).contains(&number) => Err(Failure::usage(format!(
            "{number} tasks at once are not possible with a plan of the {name} system: from 1 to {most}"
        ))),
        _ => Ok(args),
    }
}

/// What was asked for about the sandbox: by flag, or for everything that is started here, by variable.
fn sandbox(args: &RunArgs) -> Outcome<Option<Sandbox>> {
    let said = std::env::var(piton_engine::sandbox::MODE)
        .ok()
        .filter(|value| args.sandbox.is_none() && !value.is_empty());
    let Some(said) = said else { return Ok(args.sandbox.map(Into::into)) };
    let known = Sandbox::ALL.iter().find(|(name, _)| *name == said);
    let bad = || Failure::usage(format!("PITON_SANDBOX is `{said}`: it can be auto, on or off"));
    known.map(|(_, mode)| Some(*mode)).ok_or_else(bad)
}

/// What a run fixes when it begins.
fn apply_flags(plan: &mut Plan, args: &RunArgs) {
    let settings = &mut plan.settings;
    settings.no_commits |= args.no_commits;
    settings.auto_answer |= args.auto_answer;
    settings.commit_prefix = args.commit_prefix.clone().or(settings.commit_prefix.take());
    settings.author = args.author.clone().or(settings.author.take());
}

/// Everything that would make the run fail is found before it begins.
fn preflight(args: &RunArgs, found: &FoundPlan, project: &Project) -> Outcome {
    let plan = &found.plan;
    let repo = match project.repo()? {
        Some(repo) => repo,
        None if plan.settings.no_commits => project.repo_or_new_store()?,
        None => return Err(create::without_git(args, project)),
    };
    repo.git().version()?;
    if !plan.settings.no_commits {
        repo.check_worktree_dir(&create::worktree_dir(args, project))?;
    }
    if let Some(author) = &plan.settings.author {
        repo.check_author(author)?;
    }
    if plan.settings.no_commits && args.max_parallel.is_some_and(|number| number > 1) {
        let failure = Failure::usage("--no-commits works in the checkout itself, one task at a time");
        return Err(failure.hint("leave out --max-parallel, or --no-commits"));
    }
    preflight_selection(args, plan)?;
    if args.pr.is_some() && args.is_by_requests() == Some(false) {
        return Err(Failure::usage("--pr is for --land pr").hint("leave out --land local, or --pr"));
    }
    preflight_stack(args, plan)?;
    if plan.settings.requests.is_some() && plan.settings.no_commits {
        return Err(Failure::usage(
            "a plan whose work is done in place has nothing to push: leave out --land pr",
        ));
    }
    if repo.has_submodules() && !args.loudness.quiet {
        ui::hint("this repository has submodules: worktrees are made without them, and they are left alone");
    }
    preflight::check(plan, start_of(args, found, project)?, args.loudness.quiet)
}

/// Tasks stand on each other's requests only where each has one.
fn preflight_stack(args: &RunArgs, plan: &Plan) -> Outcome<()> {
    if args.stack && args.is_by_requests() == Some(false) {
        return Err(Failure::usage("--stack is for --land pr").hint("leave out --land local, or --stack"));
    }
    let Some(requests) = plan.settings.requests.as_ref().filter(|requests| requests.stack) else {
        return Ok(());
    };
    let is_needless = requests.per != Per::Task;
    if is_needless && args.stack {
        let why = "--stack is for a request of each task: where a request has many, they land on its branch at once";
        return Err(Failure::usage(why).hint("leave out --stack, or --pr"));
    }
    if is_needless && !args.loudness.quiet {
        ui::hint(
            "`stack` in `[requests]` changes nothing here: the tasks of one request land on its branch at once",
        );
    }
    Ok(())
}

/// How the run is started, as far as that decides what it needs.
fn start_of<'a>(
    args: &'a RunArgs,
    found: &'a FoundPlan,
    project: &'a Project,
) -> Outcome<preflight::Start<'a>> {
    Ok(preflight::Start {
        root: &project.root,
        project: Some(project),
        plan: &found.path,
        named: found.read.named(),
        target: args.onto.as_deref().or(args.base_branch.as_deref()),
        agent: args.agent.as_deref(),
        sandbox: sandbox(args)?,
    })
}

/// What is selected exists. A run that is only begun has nothing done yet that a task could depend on.
fn preflight_selection(args: &RunArgs, plan: &Plan) -> Outcome {
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
        return Err(match near {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("piton plan PLAN   lists its tasks"),
        });
    }
    Ok(())
}

fn session(args: &RunArgs, plan: &Plan) -> Session {
    let parallel = args.max_parallel.unwrap_or(plan.settings.max_parallel);
    let processors = thread::available_parallelism().map_or(1, |all| u32::try_from(all.get()).unwrap_or(1));
    Session {
        schedule: args.schedule.map_or(plan.settings.schedule, Into::into),
        max_parallel: if plan.settings.no_commits { 1 } else { parallel },
        landing_parallel: plan.settings.landing_parallel.unwrap_or(processors),
        landing_by_load: plan.settings.landing_parallel.is_none(),
        selection: match (&args.task, &args.layer, &args.start_layer) {
            (Some(task), _, _) => Selection::Task(task.clone()),
            (_, Some(layer), _) => Selection::Group(layer.clone()),
            (_, _, Some(layer)) => Selection::From(layer.clone()),
            (None, None, None) => Selection::All,
        },
        agent: args.agent.clone(),
        budget: plan.settings.budget,
        fences: plan.settings.fences.clone(),
        verbose: args.loudness.verbose,
        quiet: args.loudness.quiet,
    }
}

/// What people read about a run that lands as a whole.
fn summary(project: &Project, run: &RunId) -> Summary {
    let (project, run) = (project.clone(), run.clone());
    Box::new(move || {
        let mut journal = project.existing_journal().ok()??;
        let gathered = recap::of_run(&project, &mut journal, &run).ok()?;
        Some(markdown(&gathered))
    })
}

/// The plan as it is, once its files were written.
fn watch(args: &RunArgs, found: &FoundPlan, project: &Project, tests: Option<Vec<Check>>) -> PlanNow {
    let (path, system) = (found.path.clone(), found.system());
    let (project, args) = (project.root.clone(), args.clone());
    let in_place = found.plan.settings.no_commits;
    let mut seen = plans::stamp(&path, &project);
    Box::new(move || {
        let now = plans::stamp(&path, &project);
        if now == seen {
            return None;
        }
        seen = now;
        let how = How { project: Some(&project), tests: tests.as_deref(), ..How::default() };
        Some(match plans::read(&path, system, how) {
            Ok((found, _)) => {
                let mut plan = found.plan;
                apply_flags(&mut plan, &args);
                plan.settings.no_commits |= in_place;
                Ok(PlanRead { session: session(&args, &plan), plan })
            }
            Err(failure) => Err(format!("{}; `piton plan {}` shows why", failure.message, typed(&path))),
        })
    })
}

fn say_beginning(journal: &Journal, run: &RunId, found: &FoundPlan, project: &Project) -> Outcome {
    let facts = journal.facts(run)?;
    let onto = facts.map(|facts| standing::onto(&facts)).unwrap_or_default();
    let tasks = found.plan.size().unwrap_or_else(|| counted(found.plan.tasks.len() as u64, "task"));
    ui::say(format!("{} {tasks} in {}{onto}", ui::styled(ui::BOLD, run.as_str()), project.root));
    Ok(())
}

/// Report the end, with the commands to type next.
fn conclude(project: &Project, run: &RunId, reason: &StopReason, loudness: Loudness, took: Span) -> Outcome {
    if loudness.json {
        return Ok(());
    }
    let Some(mut journal) = project.existing_journal()? else { return Ok(()) };
    if let StopReason::PlanChanged { detail } = reason {
        ui::say(detail);
    }
    ui::say("");
    show::show(project, &mut journal, run, Listed::Some)?;
    sum_up(project, &mut journal, run, took)?;
    let hints: Vec<String> = match reason {
        StopReason::Completed | StopReason::Filter | StopReason::Ended => Vec::new(),
        StopReason::PlanChanged { .. } => {
            vec!["piton run PLAN   shows what has changed and how to continue".to_owned()]
        }
        StopReason::LandingWaits { .. } => vec![
            "commit, stash or fix what is in the way, then `piton run` again".to_owned(),
            "or begin with --onto BRANCH to land elsewhere".to_owned(),
        ],
        StopReason::Siblings { .. } => siblings_hints(&journal, run)?,
        StopReason::Budget { .. } => {
            vec!["raise it in `[budget]` of piton.toml or the plan, then `piton run` again".to_owned()]
        }
        StopReason::Person | StopReason::Elsewhere { .. } | StopReason::Environment { .. } => {
            let facts = journal.facts(run)?;
            let refused = facts.iter().flat_map(piton_core::run::refused);
            let plan = facts.as_ref().map(|facts| typed(Utf8Path::new(&facts.plan)));
            let plan = plan.unwrap_or_default();
            let tests = refused
                .map(|(_, outage)| format!("piton agents test {} --plan {plan}", shell_word(&outage.agent)));
            tests.chain([format!("piton run {plan}   resumes from here")]).collect()
        }
    };
    if !hints.is_empty() {
        ui::say("");
        hints.iter().for_each(ui::hint);
    }
    Ok(())
}

/// What the run has come to, and which tasks need a person.
fn sum_up(project: &Project, journal: &mut Journal, run: &RunId, took: Span) -> Outcome {
    let state = journal.load(run)?;
    let Some(facts) = state.run() else { return Ok(()) };
    let words = Results::new(state.tasks()).words();
    let cost = match view::bill(&facts.used) {
        Some(bill) => format!("; used {bill}"),
        None if facts.worked.is_zero() => String::new(),
        None => "; what it has cost is unknown".to_owned(),
    };
    ui::answer_line(format!("  {words}; took {took}{cost}"));
    // What stopped the run is said in hints, with what to do about it.
    let is_of_task =
        |item: &Item| matches!(item.kind, Kind::Blocked | Kind::Confirm | Kind::GivenUp | Kind::Look);
    let items = inbox::of_run(project, journal, run)?;
    let items: Vec<&Item> = items.iter().filter(|item| is_of_task(item)).collect();
    if items.is_empty() {
        return Ok(());
    }
    ui::say(format!("\n{}", ui::styled(ui::BOLD, "What needs you")));
    for item in items.iter().take(NEEDS) {
        // The reason of a task that does not go on names it.
        let about = match (item.kind, item.tasks.first()) {
            (Kind::Look, Some(task)) => format!("look at {task}: "),
            _ => String::new(),
        };
        ui::say(format!("  {}", ui::plain(&format!("{about}{}", item.reason))));
        let why = item.tasks.first().map(|task| commands::complete(&format!("piton why {task}")));
        let helps = item.helps.iter().take(2).filter(|help| Some(*help) != why.as_ref());
        for help in helps.chain(&why) {
            ui::say(format!("    {}", ui::styled(ui::DIM, format!("$ {help}"))));
        }
    }
    if items.len() > NEEDS {
        ui::say(format!("  … and {} more: piton inbox", items.len() - NEEDS));
    }
    Ok(())
}

/// So many tasks that need a person are named at the end of a run.
const NEEDS: usize = 5;

/// The lists that a run waits for, and how to continue.
fn siblings_hints(journal: &Journal, run: &RunId) -> Outcome<Vec<String>> {
    let waiting = journal.tasks_in(run, Status::Waiting, usize::MAX)?;
    let open = waiting.iter().flat_map(|task| &task.outside).filter(|need| !need.done);
    let lists: std::collections::BTreeSet<&str> = open.map(|need| need.need.list.as_str()).collect();
    let plan = journal.facts(run)?.map(|facts| typed(Utf8Path::new(&facts.plan))).unwrap_or_default();
    let others = lists.iter().map(|list| format!("piton run {}", shell_word(list)));
    Ok(others.chain([format!("piton run {plan}   resumes after that")]).collect())
}

/// What would be done, and nothing done.
fn dry_run(args: &RunArgs, found: &FoundPlan, project: &Project) -> Outcome<Exit> {
    preflight_stack(args, &found.plan)?;
    if found.plan.settings.no_commits && project.repo()?.is_none() {
        ui::say(format!("would work in {} itself, without git", project.root));
    } else if let Some(repo) = project.repo()? {
        let target = match (&args.onto, &args.base_branch) {
            (Some(branch), _) | (None, Some(branch)) => branch.clone(),
            (None, None) => repo.current_branch()?,
        };
        let git = repo.git().version()?;
        let place = match found.policy().shared_worktree {
            true => format!("from one worktree, {}", create::shared_worktree(project, found)),
            false => format!("with worktrees in {}", create::worktree_dir(args, project)),
        };
        ui::say(format!("would land on {target}, {place} (git {git}, needs {NEEDED})"));
    }
    if found.plan.settings.requests.as_ref().is_some_and(|it| it.stack && it.per == Per::Task) {
        ui::say("tasks would begin on the open requests of what they depend on");
    }
    let journal = project.existing_journal()?.filter(|_| !args.reset);
    let existing = match &journal {
        Some(journal) => {
            let known = match known::run_of_plan(journal, &found.path)? {
                None => {
                    let onto = args.onto.clone().or_else(|| args.base_branch.clone());
                    same_plan::look(found, project, journal, onto)?.settle(&found.path)?
                }
                known => known,
            };
            journal.runs()?.into_iter().find(|run| Some(&run.id) == known.as_ref())
        }
        None => None,
    };
    match existing {
        Some(run) => ui::say(format!(
            "would resume the run {}: {} of {} done",
            run.id,
            run.counts.of(Status::Completed),
            run.counts.total()
        )),
        None => ui::say("would begin a new run"),
    }
    let session = session(args, &found.plan);
    let findings = preflight::foresee(&found.plan, start_of(args, found, project)?)?;
    let form = match args.loudness {
        Loudness { json: true, .. } => PreviewForm::Json,
        Loudness { verbose: true, .. } => PreviewForm::EveryTask,
        Loudness { .. } => PreviewForm::Short,
    };
    preview::show(found, &session, form, &findings);
    Ok(failure::FINE)
}
