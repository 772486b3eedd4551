//! `piton hook stop`: a client calls it when it is about to stop. The client may stop unless it has taken a task and
//! not reported on it. With `--attempt`, an agent that Piton started may stop once it has reported the result of its
//! task.
//!
//! Exit code 2 makes the client continue, with the printed message. Any error here lets it stop: a hook must not hold a
//! client for a reason that it cannot fix.

use std::io::Read;

use clap::{Args, ValueEnum};
use piton_core::hook;
use piton_core::run::{Holder, Task};
use piton_core::signal::{Output, heard};
use piton_engine::agent::Attempt;
use piton_engine::{clock, holders};

use crate::args::{By, Which};
use crate::failure::{Exit, FINE, Outcome, USAGE};
use crate::runs::find;
use crate::runs::found::FoundRun;
use crate::ui;

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// When the client calls
    pub at: HookAt,
    /// For an agent that Piton started: check that it has reported on its task
    #[arg(long)]
    pub attempt: bool,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookAt {
    Stop,
}

/// What clients say is short; what is longer is not read to its end.
const LONGEST: u64 = 1024 * 1024;

pub(crate) fn hook(args: &HookArgs) -> Exit {
    let mut said = Vec::new();
    // Without its words nothing is known, also not whether it was sent on before.
    let heard = std::io::stdin().take(LONGEST).read_to_end(&mut said);
    let Some(stopping) = heard.ok().and_then(|_| hook::stopping(&said)) else { return FINE };
    // An agent that cannot report after being asked once must be able to stop.
    if stopping.again {
        return FINE;
    }
    if args.attempt {
        return of_attempt(&stopping.last);
    }
    // Agents that Piton started hold no task of the ledger; the engine looks after them.
    if std::env::var_os(piton_engine::agent::OUTBOX).is_some() {
        return FINE;
    }
    match held(args) {
        Ok(tasks) if !tasks.is_empty() => {
            let first = &tasks[0];
            ui::say(format!(
                "You have taken {} and not reported on it. Report the result before you stop: `piton report {first} done` if it is done, else `failed` or `blocked` with --reason; the tool `report` does the same.",
                tasks.join(", ")
            ));
            USAGE
        }
        _ => FINE,
    }
}

/// Whether an agent that ends with these words has reported the result of its task, in them or by a command.
fn of_attempt(last: &str) -> Exit {
    let Ok(Some(attempt)) = Attempt::around_us() else { return FINE };
    let output = Output { text: last, ..Output::default() };
    if attempt.has_reported() || heard(output, &attempt.task, clock::now()).signal.is_some() {
        return FINE;
    }
    let task = &attempt.task;
    ui::say(format!(
        "You are about to stop and have not reported the result of {task}. If it is not done, continue: nobody answers questions. If it is, report `done` with what later tasks should know; if a person has to decide, report `blocked` with the reason. Use the tool `report` of the server `piton`, or `piton report {task} done`."
    ));
    USAGE
}

/// What this holder works on, in the run that commands are about. Several sessions of a client share one name. If a
/// hold is bound to a process, the process tells whose it is.
fn held(args: &HookArgs) -> Outcome<Vec<String>> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let theirs = |holder: &Holder| matches!(holder, Holder::Ledger(name) if *name == args.by.by);
    let is_ours = |task: &Task| task.progress.process.as_ref().is_none_or(holders::is_of_our_client);
    let tasks = journal.under_way(&run)?.into_iter();
    let tasks = tasks.filter(|task| task.holder.as_ref().is_some_and(theirs) && is_ours(task));
    Ok(tasks.map(|task| task.id.to_string()).collect())
}
