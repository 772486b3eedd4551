//! Carries out a command, and reports its result.

use camino::Utf8Path;
use piton_core::plan::TaskId;
use piton_core::run::{Command, Recorded};

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::paths::typed;
use crate::progress::{self, line};
use crate::runs::found::FoundRun;
use crate::runs::{find, standing};
use crate::ui;

/// The name under which a person appears in the journal.
pub(crate) fn you() -> String {
    std::env::var("USER").ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "you".to_owned())
}

/// The name under which the caller appears there: a client of the MCP server has one of its own.
pub(crate) fn caller() -> Outcome<String> {
    let given = std::env::var("PITON_HOLDER").ok().filter(|name| !name.trim().is_empty());
    given.map_or_else(|| Ok(you()), |name| holder(&name))
}

/// Carry out a command, and report its result.
pub(crate) fn say(which: &Which, json: bool, command: &Command) -> Outcome<Exit> {
    let mut found = run(which, None)?;
    tell(&found.command(command)?, json);
    Ok(FINE)
}

/// The same about a task.
pub(crate) fn say_of(task: &TaskId, which: &Which, json: bool, command: &Command) -> Outcome<Exit> {
    let mut found = run(which, Some(task))?;
    tell(&found.command(command)?, json);
    go_on(&found, json)
}

/// If no engine is running any more, name the command that resumes the run.
pub(crate) fn go_on(found: &FoundRun, json: bool) -> Outcome<Exit> {
    let facts = standing::facts(&found.journal, &found.run)?;
    // A run that no engine has ever worked on is driven by hand.
    let had_engine = facts.engine.is_some() || facts.stopped.is_some();
    if !json && had_engine && !found.project.is_led(&found.journal, &found.run) {
        let plan = typed(Utf8Path::new(&facts.plan));
        ui::hint(format!("piton run {plan}   resumes it"));
    }
    Ok(FINE)
}

/// The run that a person means. Says which one it is, if they did not name it and there are several.
pub(crate) fn run(which: &Which, task: Option<&TaskId>) -> Outcome<FoundRun> {
    let found = find::run_to_change(which, task)?;
    if which.run.is_none() && which.plan.is_none() && found.journal.runs()?.len() > 1 {
        ui::say(format!("in the run {}", found.run));
    }
    Ok(found)
}

pub(crate) fn tell(events: &[Recorded], json: bool) {
    match json {
        true => tell_json(events),
        false => events.iter().for_each(|recorded| ui::answer_line(line::line(recorded))),
    }
}

pub(crate) fn tell_json(events: &[Recorded]) {
    events.iter().for_each(|recorded| ui::answer_json_line(&progress::json(recorded)));
}

/// A name people can read: it goes into journals and screens.
pub(crate) fn holder(name: &str) -> Outcome<String> {
    let name = name.trim();
    if name.is_empty() || name.len() > 100 || name.chars().any(char::is_control) {
        return Err(Failure::usage(
            "a holder's name has 1 to 100 characters, none of them control characters",
        ));
    }
    Ok(name.to_owned())
}
