//! The ledger: somebody else does the work and asks Piton to keep the state.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::{Dialect, RunId, TaskId};
use piton_core::run::{
    Claim, Command, CommitMade, Event, Holder, HolderProcess, Recorded, Report as Told, Status, Task, Tests,
    Verdict, verdict, waits_for,
};
use piton_core::system::issue;
use piton_core::system::iterative::progress::NOT_FINISHED;
use piton_core::{runners, view};
use piton_engine::agent::{Attempt, Message, Said};
use piton_engine::check_worktrees::{self, Pool};
use piton_engine::gates::{self, Stale};
use piton_engine::journal::{CommandError, Journal};
use piton_engine::project::Project;
use piton_engine::{checks, claims, clock, holders};
use serde_json::json;

use crate::args::{By, OfTask, Which};
use crate::cmd::ledger::entry::{self, Reported};
use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::progress::line;
use crate::runs::found::FoundRun;
use crate::runs::{attempt, by_hand, command, engine, find, judge, standing};
use crate::{paths, ui};

#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    #[command(flatten)]
    pub which: Which,
    /// How many to name at most
    #[arg(long, short = 'n', default_value_t = 5)]
    pub count: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The task's id
    pub task: TaskId,
    /// Begin it although tasks of an earlier group or batch are open
    #[arg(long)]
    pub ahead: bool,
    /// Hold it only as long as this process lives; then it is free again [default: the client that --by names, where it
    /// runs this command]
    #[arg(long = "while", value_name = "PID", env = "PITON_HOLDER_PID")]
    pub held_while: Option<u32>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// The task's id
    pub task: TaskId,
    pub what: Reported,
    /// Why, for already, failed and blocked and with --no-change
    #[arg(long, visible_alias = "blockers", value_name = "TEXT", help_heading = "What stands in the way")]
    pub reason: Option<String>,
    /// Nothing had to change: it is done without work, which is shown as reported, not proven
    #[arg(long, requires = "reason", help_heading = "What stands in the way")]
    pub no_change: bool,
    /// What was done, and what the next ones should know
    #[arg(long, visible_alias = "did", value_name = "TEXT", help_heading = "What was done")]
    pub note: Option<String>,
    /// A file that was made or changed
    #[arg(long = "file", value_name = "PATH", help_heading = "What was done")]
    pub files: Vec<String>,
    /// A file that was made
    #[arg(long = "created", value_name = "PATH", help_heading = "What was done")]
    pub created: Vec<String>,
    /// Something later tasks can use
    #[arg(long = "export", value_name = "NAME", help_heading = "What was done")]
    pub exports: Vec<String>,
    /// A decision that was taken
    #[arg(long = "decision", value_name = "TEXT", help_heading = "What was done")]
    pub decisions: Vec<String>,
    /// A convention that later work should follow
    #[arg(long = "pattern", value_name = "TEXT", help_heading = "What was done")]
    pub patterns: Vec<String>,
    /// What the next try should do about it
    #[arg(long, visible_alias = "remaining", value_name = "TEXT", help_heading = "What stands in the way")]
    pub feedback: Option<String>,
    /// What the tests came to: a file with a runner's output, or a text such as `12 passed, 1 failed`. What the
    /// task's checks count beats it
    #[arg(long, value_name = "FILE|TEXT", help_heading = "What was done")]
    pub test_results: Option<String>,
    /// A commit of this work
    #[arg(long = "commit", value_name = "HASH", help_heading = "What was done")]
    pub commits: Vec<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl ReportArgs {
    /// Without anything but the claim.
    pub(crate) fn of(
        task: TaskId,
        what: Reported,
        reason: Option<String>,
        by: By,
        which: Which,
        json: bool,
    ) -> ReportArgs {
        ReportArgs {
            task,
            what,
            reason,
            no_change: false,
            note: None,
            files: Vec::new(),
            created: Vec::new(),
            exports: Vec::new(),
            decisions: Vec::new(),
            patterns: Vec::new(),
            feedback: None,
            test_results: None,
            commits: Vec::new(),
            by,
            which,
            json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ConfirmArgs {
    /// The task's id
    pub task: TaskId,
    /// What was looked at
    #[arg(long, visible_alias = "did", value_name = "TEXT")]
    pub note: Option<String>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn next(args: &NextArgs) -> Outcome<Exit> {
    // Only a plan named for the first time has to be written down; otherwise this just looks.
    let mut found = if args.which.plan.is_some() {
        by_hand::run_for_ledger(&args.which, None)
    } else {
        find::run(&args.which)
    }?;
    if attempt::attempt()?.is_none() && found.may_have_changed()? {
        // Unless somebody wrote into the state file, has committed what a claim waits for, or is not alive any more: what
        // is next may depend on it.
        let (run, project) = (Some(found.run.to_string()), Some(found.project.root.clone()));
        found = find::run_to_change(&Which { run, plan: None, project_path: project }, None)?;
        found.settle_file()?;
    }
    let FoundRun { mut journal, run, .. } = found;
    if !args.json && standing::facts(&journal, &run)?.settings.dialect() == Dialect::Issue {
        // In the words that this system's scripts look for.
        let (state, chronicle) = (journal.load(&run)?, journal.chronicle(&run)?);
        ui::answer_line(issue::progress::Next::of(&state, &chronicle).to_string());
        return Ok(FINE);
    }
    let mut tasks: Vec<_> = journal
        .under_way(&run)?
        .into_iter()
        .filter(|task| !task.is_engines() && task.holder.is_some())
        .collect();
    tasks.extend(journal.ready(&run, clock::now(), args.count)?);
    tasks.truncate(args.count);
    let mut listed = Vec::new();
    for task in &tasks {
        let title = journal.spec(&run, &task.id)?.map(|spec| spec.title).unwrap_or_default();
        if args.json {
            let holder = task.holder.as_ref().map(ToString::to_string);
            listed.push(
                json!({ "id": task.id, "title": title, "status": task.status().name(), "holder": holder }),
            );
        } else {
            let held = task.holder.as_ref().map(|holder| held(task, holder)).unwrap_or_default();
            ui::answer_line(format!("{:8} {}{held}", task.id, ui::plain(&title)));
        }
    }
    if args.json {
        ui::answer_json(&json!(listed));
    } else if tasks.is_empty() {
        ui::say("nothing is ready; `piton status` tells where the run stands");
    }
    Ok(FINE)
}

/// Who holds a task, and what frees it.
fn held(task: &Task, holder: &Holder) -> String {
    match &task.progress.uncommitted[..] {
        [] => format!("  held by {holder}; `piton reset {}` frees it", task.id),
        files => format!("  called done by {holder}, {}", waits_for(files)),
    }
}

pub(crate) fn start(args: &StartArgs) -> Outcome<Exit> {
    if attempt::attempt()?.is_some_and(|attempt| attempt.task == args.task) {
        ui::say(format!("{} is yours already: Piton started you for it", args.task));
        return Ok(FINE);
    }
    let holder = Holder::Ledger(command::holder(&args.by.by)?);
    let named = args.held_while.map(living).transpose()?;
    let process = named.or_else(|| holders::client_around(&args.by.by));
    let mut found = by_hand::run_for_ledger(&args.which, Some(&args.task))?;
    look_again(&mut found, &args.task)?;
    let task = args.task.clone();
    let command = match args.ahead {
        true => Command::StartAhead { task, holder },
        false => Command::Start { task, holder },
    };
    let mut events = found.command_then(&command, mark)?;
    bind(&mut found, &args.task, process)?;
    events.retain(|recorded| !matches!(recorded.event, Event::Marked { .. }));
    if events.is_empty() && !args.json {
        ui::say(format!("{} is yours already", args.task));
    }
    command::tell(&events, args.json);
    Ok(FINE)
}

/// The process that a hold is bound to.
fn living(pid: u32) -> Outcome<HolderProcess> {
    holders::process(pid).ok_or_else(|| {
        Failure::usage(format!("process {pid} cannot be watched")).hint(
            "name one that is alive, on a Linux machine; or leave out --while, and unset PITON_HOLDER_PID",
        )
    })
}

/// Hold a task as long as a process lives; without one it is held until somebody reports on it.
fn bind(found: &mut FoundRun, task: &TaskId, process: Option<HolderProcess>) -> Outcome {
    let (Some(process), Some(known)) = (process, found.journal.task(&found.run, task)?) else {
        return Ok(());
    };
    let command = Command::Bind { task: task.clone(), fence: known.fence, process };
    match found.journal.command(&found.run, &command, clock::now()) {
        // Whoever took it away meanwhile has it.
        Ok(_) | Err(CommandError::Refused(_)) => Ok(()),
        Err(CommandError::Journal(error)) => Err(error.into()),
    }
}

/// A gate that has passed, and not on what there is now, is open again for whoever turns to it.
fn look_again(found: &mut FoundRun, task: &TaskId) -> Outcome {
    let facts = standing::facts(&found.journal, &found.run)?;
    let gates: Vec<Task> =
        standing::gates_of(&found.journal, &facts)?.into_iter().filter(|gate| gate.id == *task).collect();
    for Stale { gate, reason } in gates::stale(&found.project, &facts, &gates)? {
        let events = found.command(&Command::Reopen { task: gate, reason })?;
        events.iter().for_each(|recorded| ui::say(line::line(recorded)));
    }
    Ok(())
}

/// Where things stand as a task is begun: what a claim about it is compared with.
fn mark(found: &FoundRun, events: &[Recorded]) -> Outcome<Option<Command>> {
    let Some(Event::AttemptStarted { task, fence, .. }) = events.first().map(|recorded| &recorded.event)
    else {
        return Ok(None);
    };
    let facts = standing::facts(&found.journal, &found.run)?;
    let Some(spec) = found.journal.spec(&found.run, task)? else { return Ok(None) };
    // Without it, a claim is compared with the beginning of the run.
    let mark = claims::mark(&found.project, &facts, &spec).unwrap_or_default();
    Ok(Some(Command::Mark { task: task.clone(), fence: *fence, mark }))
}

/// A hash as somebody gives it. What it stands for is git's business, and found out when it is needed.
fn commit_made(hash: &str) -> Outcome<CommitMade> {
    let is_hash = (4..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(Failure::usage(format!("`{}` is no commit's hash", ui::plain(hash))));
    }
    Ok(CommitMade { hash: hash.to_owned(), subject: String::new() })
}

/// What a runner wrote into a file, or somebody says.
fn test_results(given: &str) -> Outcome<Tests> {
    let path = Utf8Path::new(given);
    let text = match path.is_file() {
        true => {
            let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        false => given.to_owned(),
    };
    runners::told(&text).ok_or_else(|| {
        Failure::usage("--test-results tells of no tests")
            .hint("the output of cargo test, nextest, pytest, jest, vitest or go test -v, or a JUnit report")
            .hint("or in short: --test-results '12 passed, 1 failed'")
    })
}

/// Somebody new has looked at what another called done, and found nothing left to do.
pub(crate) fn confirm(args: &ConfirmArgs) -> Outcome<Exit> {
    let found = find::run_of(&args.task, &args.which)?;
    let task = found.journal.task(&found.run, &args.task)?;
    if task.as_ref().is_some_and(|task| task.decided == Status::Completed) {
        // Whoever confirms twice has lost the first answer.
        ui::say(format!("{} is completed already: there is nothing left to confirm", args.task));
        return Ok(FINE);
    }
    if let Some(task) = task.filter(|task| task.decided != Status::Confirming || task.is_engines()) {
        let failure =
            Failure::new(format!("{} is {}: there is nothing to confirm", args.task, task.status()));
        return Err(failure.hint(format!("piton report {} done", args.task)));
    }
    let (by, which) = (args.by.clone(), args.which.clone());
    let report = ReportArgs::of(args.task.clone(), Reported::Done, None, by, which, args.json);
    claim(&ReportArgs { note: args.note.clone(), ..report }, true)
}

pub(crate) fn report(args: &ReportArgs) -> Outcome<Exit> {
    claim(args, false)
}

fn claim(args: &ReportArgs, confirms: bool) -> Outcome<Exit> {
    let is_done = matches!(args.what, Reported::Done | Reported::Already);
    if args.no_change && !is_done {
        return Err(Failure::usage("--no-change is for what is done"));
    }
    // Two ways to say the same.
    let what = if args.no_change { Reported::Already } else { args.what };
    let args = &ReportArgs { what, ..args.clone() };
    let reason = match (args.what, &args.reason) {
        // What stands in the way is told, and the next iteration sees to it.
        (Reported::Unfinished, _) => NOT_FINISHED.to_owned(),
        (Reported::Done, Some(_)) => {
            return Err(Failure::usage(
                "--reason is for already, failed, blocked and --no-change; --note is for done",
            ));
        }
        (Reported::Already | Reported::Failed | Reported::Blocked, None) => {
            return Err(Failure::usage("say why: --reason TEXT"));
        }
        (_, reason) => reason.clone().unwrap_or_default(),
    };
    let mut told = Told {
        note: args.note.clone().unwrap_or_default(),
        files: [args.created.clone(), args.files.clone()].concat(),
        created: args.created.clone(),
        exports: args.exports.clone(),
        decisions: args.decisions.clone(),
        patterns: args.patterns.clone(),
        feedback: args.feedback.clone().unwrap_or_default(),
        commits: args.commits.iter().map(|hash| commit_made(hash)).collect::<Outcome<_>>()?,
        tests: args.test_results.as_deref().map(test_results).transpose()?,
        already: if args.what == Reported::Already { reason.clone() } else { String::new() },
    };
    if args.what == Reported::Already && told.note.is_empty() && attempt::attempt()?.is_some() {
        told.note = format!("it was already so: {reason}");
    }
    if let Some(attempt) = attempt::attempt()? {
        return leave(args, reason, told, &attempt);
    }
    let by = command::holder(&args.by.by)?;
    let mut found = by_hand::run_for_ledger(&args.which, Some(&args.task))?;
    found.settle_but(Some(&args.task))?;
    look_again(&mut found, &args.task)?;
    let FoundRun { journal, run, .. } = &mut found;
    let task = journal.task(run, &args.task)?;
    let Some(task) = task else {
        return Err(find::no_task(journal, run, &args.task));
    };
    let mut seen = None;
    let claim = match args.what {
        Reported::Failed | Reported::Unfinished => Claim::Failed { reason },
        Reported::Blocked => Claim::Blocked { reason },
        Reported::Done | Reported::Already => {
            let judged =
                judge::judge((&found.project, &mut found.journal, &found.run), &task, &told, &by, confirms)?;
            (told, seen) = (judged.told, judged.seen);
            judged.claim
        }
    };
    let FoundRun { journal, run, .. } = &mut found;
    let entry =
        entry::entry(&standing::facts(journal, run)?, &task, args.what, args.reason.as_deref(), (&told, &by));
    let command = Command::Report {
        task: args.task.clone(),
        by,
        fence: Some(task.fence),
        claim,
        report: Box::new(told),
    };
    if let Some(entry) = entry {
        // What was done is logged before what came of it, but not if nobody takes it.
        journal.rehearse(run, &command, clock::now())?;
        journal.command(run, &entry, clock::now())?;
    }
    let events = found.command_and(&command, seen.as_ref())?;
    tidy(&found)?;
    command::tell(&events, args.json);
    if let Some(files) = events.iter().find_map(waiting) {
        ui::hint(format!("{}   so that it can be judged", view::commit_command(files, &args.task)));
        ui::hint(format!(
            "piton report {} done   then, or --commit HASH if a commit has been that work",
            args.task
        ));
        return Ok(ERROR);
    }
    let is_open = |recorded: &Recorded| matches!(recorded.event, Event::ConfirmationStarted { .. });
    if events.iter().any(is_open) && !args.json {
        ui::hint(format!("piton confirm {}   when somebody new has found nothing left to do", args.task));
    }
    let not_done = matches!(args.what, Reported::Done | Reported::Already)
        && events.iter().any(|recorded| matches!(recorded.event, Event::Failed { .. }));
    if not_done {
        if let Some(Event::Failed { feedback, .. }) = events.last().map(|recorded| &recorded.event)
            && !args.json
        {
            ui::say(format!("\n{}", feedback.trim_end()));
        }
        return Ok(ERROR);
    }
    Ok(FINE)
}

/// Of a run that is complete, no worktree for checks is needed any more.
fn tidy(found: &FoundRun) -> Outcome {
    let FoundRun { project, journal, run } = found;
    let Some(dir) = journal.facts(run)?.and_then(|facts| facts.worktree_dir) else { return Ok(()) };
    if check_worktrees::paths(Utf8Path::new(&dir), run).is_empty() || project.engine_lives(run) {
        return Ok(());
    }
    let finished = journal.runs()?.iter().any(|other| other.id == *run && other.is_finished());
    if let Some(repo) = project.repo()?.filter(|_| finished) {
        Pool { project, repo, run, dir: Utf8Path::new(&dir) }.remove();
    }
    Ok(())
}

/// From inside an attempt: the engine takes it in when the agent has ended.
fn leave(args: &ReportArgs, reason: String, told: Told, attempt: &Attempt) -> Outcome<Exit> {
    let own = &attempt.task;
    if args.task != *own {
        return Err(Failure::new(format!("this attempt is about {own}, not about {}", args.task))
            .hint(format!("piton report {own} done")));
    }
    let said = match args.what {
        Reported::Done => Said::Done,
        Reported::Already => Said::Already { reason },
        Reported::Failed | Reported::Unfinished => Said::Failed { reason },
        Reported::Blocked => Said::Blocked { reason },
    };
    attempt
        .report(Message { said, report: told })
        .map_err(Failure::io("cannot write the attempt's outbox"))?;
    ui::say("noted; the checks decide when you are done");
    Ok(FINE)
}

/// Run a task's checks now, and only look at what they say.
pub(crate) fn verify(args: &OfTask) -> Outcome<Exit> {
    let FoundRun { project, journal, run } = find::run_of(&args.task, &args.which)?;
    let (Some(task), Some(spec)) = (journal.task(&run, &args.task)?, journal.spec(&run, &args.task)?) else {
        return Err(find::no_task(&journal, &run, &args.task));
    };
    if spec.checks.is_empty() {
        return Err(Failure::new(format!("{} has no check, so nothing can prove it", args.task)));
    }
    let place = workplace(&project, &journal, &run, &task)?;
    let shown = if place == project.root { "the project".to_owned() } else { paths::shown(&place) };
    ui::say(format!("in {shown}"));
    let (name, keeper) = (format!("{}.verify", task.fence), engine::keeper()?);
    let judged = checks::run_all(&project, &run, &spec, &place, &name, &keeper, &judge::say_check);
    let (_, results) = judged.map_err(|no| Failure::new(no.to_string()))?;
    let passed = results.iter().all(|result| result.verdict == Verdict::Pass);
    if args.json {
        let tests = verdict::tests(&results);
        ui::answer_json(&json!({
            "task": args.task, "place": place, "passed": passed, "tests": tests, "checks": results,
        }));
    } else {
        for result in &results {
            let sign = if result.verdict == Verdict::Pass { "✓" } else { "✗" };
            let tests = result.tests.map(|tests| format!("  ({tests})")).unwrap_or_default();
            ui::answer_line(format!("{sign} {}{tests}", ui::plain(&result.name)));
        }
        let feedback = verdict::feedback(&results);
        if !feedback.is_empty() {
            ui::say(format!("\n{}", feedback.trim_end()));
        }
    }
    Ok(if passed { FINE } else { ERROR })
}

/// Where a task's work is: in its worktree if it has one and no agent is in it, else in the project.
fn workplace(project: &Project, journal: &Journal, run: &RunId, task: &Task) -> Outcome<Utf8PathBuf> {
    let busy = task.is_engines() && task.status().holds_slot();
    let facts = journal.facts(run)?.filter(|_| task.progress.worktree && !busy);
    let own = facts.and_then(|facts| {
        let (dir, name) = (facts.worktree_dir?, facts.settings.worktree.place(&task.id));
        project.worktree_path_if_owned(run, Utf8Path::new(&dir), name)
    });
    Ok(own.filter(|path| path.is_dir()).unwrap_or_else(|| project.root.clone()))
}

fn waiting(recorded: &Recorded) -> Option<&Vec<String>> {
    match &recorded.event {
        Event::ClaimWaits { files, .. } => Some(files),
        _ => None,
    }
}
