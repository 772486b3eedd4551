//! A report about a task: its arguments, and what becomes of it.

use camino::Utf8Path;
use clap::{Args, ValueEnum};
use piton_core::plan::TaskId;
use piton_core::run::{Claim, Command, CommitMade, Event, Note, Recorded, Report, Task, Tests};
use piton_core::system::{Account, NOT_FINISHED, ReportedAs};
use piton_core::{runners, view};
use piton_engine::agent::{Attempt, Message, Said};
use piton_engine::check_worktrees::{self, Pool};
use piton_engine::clock;
use piton_engine::gates::{self, Stale};

use crate::args::{By, Which};
use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::progress::line;
use crate::runs::found::FoundRun;
use crate::runs::judge::Purpose;
use crate::runs::{attempt, by_hand, command, find, judge, standing};
use crate::ui;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reported {
    Done,
    /// Nothing had to be changed for it; --reason says why. The same as done --no-change
    Already,
    /// It goes on with what remains
    Unfinished,
    Failed,
    Blocked,
}

impl From<Reported> for ReportedAs {
    fn from(reported: Reported) -> ReportedAs {
        match reported {
            Reported::Done => ReportedAs::Done,
            Reported::Already => ReportedAs::Already,
            Reported::Unfinished => ReportedAs::Unfinished,
            Reported::Failed => ReportedAs::Failed,
            Reported::Blocked => ReportedAs::Blocked,
        }
    }
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
    pub(crate) fn new(
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

/// Take a report about a task. A task that is called done is checked.
pub(crate) fn claim(args: &ReportArgs, purpose: Purpose) -> Outcome<Exit> {
    let is_done = matches!(args.what, Reported::Done | Reported::Already);
    if args.no_change && !is_done {
        return Err(Failure::usage("--no-change is for what is done"));
    }
    // Two ways to say the same.
    let what = if args.no_change { Reported::Already } else { args.what };
    let args = &ReportArgs { what, ..args.clone() };
    let reason = match (args.what, &args.reason) {
        // The next iteration deals with what stood in the way. The report says what it was.
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
    let mut told = Report {
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
        told.note = format!("nothing had to change: {reason}");
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
                judge::judge((&found.project, &mut found.journal, &found.run), &task, &told, &by, purpose)?;
            (told, seen) = (judged.told, judged.seen);
            judged.claim
        }
    };
    let FoundRun { journal, run, .. } = &mut found;
    let facts = standing::facts(journal, run)?;
    let entry = facts.settings.form.system().log_entry(&Account {
        run: &facts,
        task: &task,
        reported: args.what.into(),
        reason: args.reason.as_deref(),
        report: &told,
        at: clock::now(),
    });
    let entry = entry.map(|text| Command::Note {
        by: by.clone(),
        note: Note::Entry { task: Some(task.id.clone()), text, for_next: false },
    });
    let command = Command::Report {
        task: args.task.clone(),
        by,
        fence: Some(task.fence),
        claim,
        report: Box::new(told),
    };
    if let Some(entry) = entry {
        // The log entry comes before the result, but only if the result will be accepted.
        journal.rehearse(run, &command, clock::now())?;
        journal.command(run, &entry, clock::now())?;
    }
    let events = found.command_and(&command, seen.as_ref())?;
    tidy(&found)?;
    command::tell(&events, args.json);
    if let Some(files) = events.iter().find_map(waiting) {
        ui::hint(format!("{}   so that it can be judged", view::commit_command(files, &args.task)));
        ui::hint(format!(
            "piton report {} done   then, or --commit HASH if that work is already committed",
            args.task
        ));
        return Ok(ERROR);
    }
    let is_open = |recorded: &Recorded| matches!(recorded.event, Event::ConfirmationStarted { .. });
    if events.iter().any(is_open) && !args.json {
        ui::hint(format!("piton confirm {}   when someone else has found nothing left to do", args.task));
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

/// A complete run does not need its worktree for checks any more.
fn tidy(found: &FoundRun) -> Outcome {
    let FoundRun { project, journal, run } = found;
    let Some(dir) = journal.facts(run)?.and_then(|facts| facts.worktree_dir) else { return Ok(()) };
    if check_worktrees::paths(Utf8Path::new(&dir), run).is_empty() || project.is_led(journal, run) {
        return Ok(());
    }
    let finished = journal.runs()?.iter().any(|other| other.id == *run && other.is_finished());
    if let Some(repo) = project.repo()?.filter(|_| finished) {
        Pool { project, repo, run, dir: Utf8Path::new(&dir) }.remove();
    }
    Ok(())
}

/// From inside an attempt: the engine takes it in when the agent has ended.
fn leave(args: &ReportArgs, reason: String, told: Report, attempt: &Attempt) -> Outcome<Exit> {
    let own = &attempt.task;
    if args.task != *own {
        return Err(Failure::new(format!("this attempt is for {own}, not for {}", args.task))
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

/// A gate that passed on an older tree is opened again before it is reported or started.
pub(crate) fn look_again(found: &mut FoundRun, task: &TaskId) -> Outcome {
    let facts = standing::facts(&found.journal, &found.run)?;
    let gates: Vec<Task> =
        standing::gates_of(&found.journal, &facts)?.into_iter().filter(|gate| gate.id == *task).collect();
    for Stale { gate, reason } in gates::stale(&found.project, &facts, &gates)? {
        let events = found.command(&Command::Reopen { task: gate, reason })?;
        events.iter().for_each(|recorded| ui::say(line::line(recorded)));
    }
    Ok(())
}

/// A hash as it was given. Git resolves it when it is needed.
fn commit_made(hash: &str) -> Outcome<CommitMade> {
    let is_hash = (4..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(Failure::usage(format!("`{}` is not a commit hash", ui::plain(hash))));
    }
    Ok(CommitMade { hash: hash.to_owned(), subject: String::new() })
}

/// Test results: a file with a runner's output, or text.
fn test_results(given: &str) -> Outcome<Tests> {
    let path = Utf8Path::new(given);
    let text = match path.is_file() {
        true => {
            let bytes = std::fs::read(path).map_err(Failure::io(format!("cannot read {path}")))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        false => given.to_owned(),
    };
    runners::reported_counts(&text).ok_or_else(|| {
        Failure::usage("--test-results contains no tests")
            .hint("the output of cargo test, nextest, pytest, jest, vitest or go test -v, or a JUnit report")
            .hint("or in short: --test-results '12 passed, 1 failed'")
    })
}

fn waiting(recorded: &Recorded) -> Option<&Vec<String>> {
    match &recorded.event {
        Event::ClaimWaits { files, .. } => Some(files),
        _ => None,
    }
}
