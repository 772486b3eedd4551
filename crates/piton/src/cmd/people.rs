//! What a person may say about a run: stop, retry, reset, skip, unblock, raise.

use piton_core::run::{Command, Recorded};

use super::{Exit, FINE};
use crate::args::{OfTask, Raise, Skip, Stop, Which};
use crate::failure::{Failure, Outcome};
use crate::find::{self, FoundRun};
use crate::{progress, ui};

/// The name under which a person appears in the journal.
fn you() -> String {
    std::env::var("USER").ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "you".to_owned())
}

/// Carry a command out, and tell what came of it.
pub(super) fn say(which: &Which, json: bool, command: &Command) -> Outcome<Exit> {
    let mut found = run(which)?;
    let events = found.command(command)?;
    tell(&events, json);
    Ok(FINE)
}

/// The run that a person means. Whoever did not name it hears which one it is, where there are several.
fn run(which: &Which) -> Outcome<FoundRun> {
    let found = find::run_to_change(which)?;
    if which.run.is_none() && which.plan.is_none() && found.journal.runs()?.len() > 1 {
        ui::say(format!("in the run {}", found.run));
    }
    Ok(found)
}

pub(super) fn tell(events: &[Recorded], json: bool) {
    for recorded in events {
        ui::answer_line(if json { progress::json(recorded).to_string() } else { progress::line(recorded) });
    }
}

pub(crate) fn stop(args: &Stop) -> Outcome<Exit> {
    let mut found = run(&args.which)?;
    if !found.project.engine_lives(&found.run) {
        let failure = Failure::new(format!("no engine is working on the run {}", found.run));
        return Err(failure.hint("piton status"));
    }
    let events = found.command(&Command::RequestStop { by: you(), now: args.now })?;
    tell(&events, args.json);
    Ok(FINE)
}

pub(crate) fn retry(args: &OfTask) -> Outcome<Exit> {
    say(&args.which, args.json, &Command::Retry { task: args.task.clone(), by: you() })
}

pub(crate) fn reset(args: &OfTask) -> Outcome<Exit> {
    say(&args.which, args.json, &Command::Reset { task: args.task.clone(), by: you() })
}

pub(crate) fn skip(args: &Skip) -> Outcome<Exit> {
    let command = Command::Skip { task: args.task.clone(), by: you(), reason: args.reason.clone() };
    say(&args.which, args.json, &command)
}

pub(crate) fn unblock(args: &OfTask) -> Outcome<Exit> {
    say(&args.which, args.json, &Command::Unblock { task: args.task.clone(), by: you() })
}

pub(crate) fn raise(args: &Raise) -> Outcome<Exit> {
    let command = Command::Raise { task: args.task.clone(), by: you(), attempts: args.attempts };
    say(&args.which, args.json, &command)
}
