//! The ledger: a person or another program does the work and asks Piton to keep the state.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{
    Command, Event, Holder, HolderProcess, Recorded, Status, Task, Verdict, verdict, waits_for,
};
use piton_engine::journal::{CommandError, Journal};
use piton_engine::project::Project;
use piton_engine::{checks, claims, clock, holders};
use serde_json::json;

use crate::args::{By, OfTask, Which};
use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::judge::Purpose;
use crate::runs::report::{ReportArgs, Reported, claim, look_again};
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

pub(crate) fn report(args: &ReportArgs) -> Outcome<Exit> {
    claim(args, Purpose::Report)
}

pub(crate) fn next(args: &NextArgs) -> Outcome<Exit> {
    // Only a plan named for the first time has to be written down; otherwise this just looks.
    let mut found = if args.which.plan.is_some() {
        by_hand::run_for_ledger(&args.which, None)
    } else {
        find::run(&args.which)
    }?;
    if attempt::attempt()?.is_none() && found.may_have_changed()? {
        // Unless the state file was edited, work that a claim waits for was committed, or a holder has died: what
        // is next may depend on it.
        let (run, project) = (Some(found.run.to_string()), Some(found.project.root.clone()));
        found = find::run_to_change(&Which { run, plan: None, project_path: project }, None)?;
        found.settle_file()?;
    }
    let FoundRun { mut journal, run, .. } = found;
    let next_line = standing::facts(&journal, &run)?.settings.form.system().next_line();
    if let Some(next_line) = next_line.filter(|_| !args.json) {
        let (state, chronicle) = (journal.load(&run)?, journal.chronicle(&run)?);
        ui::answer_line(next_line(&state, &chronicle));
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
        ui::say("nothing is ready; `piton status` shows where the run stands");
    }
    Ok(FINE)
}

/// The holder of a task, and the command that frees it.
fn held(task: &Task, holder: &Holder) -> String {
    match &task.progress.uncommitted[..] {
        [] => format!("  held by {holder}; `piton reset {}` frees it", task.id),
        files => format!("  reported done by {holder}, {}", waits_for(files)),
    }
}

pub(crate) fn start(args: &StartArgs) -> Outcome<Exit> {
    if attempt::attempt()?.is_some_and(|attempt| attempt.task == args.task) {
        ui::say(format!("{} is already yours: Piton started you for it", args.task));
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
        ui::say(format!("{} is already yours", args.task));
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

/// Hold a task as long as a process lives; without one it is held until it is reported.
fn bind(found: &mut FoundRun, task: &TaskId, process: Option<HolderProcess>) -> Outcome {
    let (Some(process), Some(known)) = (process, found.journal.task(&found.run, task)?) else {
        return Ok(());
    };
    let command = Command::Bind { task: task.clone(), fence: known.fence, process };
    match found.journal.command(&found.run, &command, clock::now()) {
        // Another holder has taken it meanwhile.
        Ok(_) | Err(CommandError::Refused(_)) => Ok(()),
        Err(CommandError::Journal(error)) => Err(error.into()),
    }
}

/// The state of the project when a task is started. A later claim about it is compared with this.
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

/// Another person or agent has looked at work that was reported done, and found nothing left to do.
pub(crate) fn confirm(args: &ConfirmArgs) -> Outcome<Exit> {
    let found = find::run_of(&args.task, &args.which)?;
    let task = found.journal.task(&found.run, &args.task)?;
    if task.as_ref().is_some_and(|task| task.decided == Status::Completed) {
        // A second confirmation comes from a caller that lost the first answer.
        ui::say(format!("{} is already completed: there is nothing left to confirm", args.task));
        return Ok(FINE);
    }
    if let Some(task) = task.filter(|task| task.decided != Status::Confirming || task.is_engines()) {
        let failure =
            Failure::new(format!("{} is {}: there is nothing to confirm", args.task, task.status()));
        return Err(failure.hint(format!("piton report {} done", args.task)));
    }
    let (by, which) = (args.by.clone(), args.which.clone());
    let report = ReportArgs::new(args.task.clone(), Reported::Done, None, by, which, args.json);
    claim(&ReportArgs { note: args.note.clone(), ..report }, Purpose::Confirm)
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
