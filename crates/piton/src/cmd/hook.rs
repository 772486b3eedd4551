//! `piton hook stop`: asked by a client that is about to stop. It may, unless it has taken a task and not reported on it.
//!
//! Exit code 2 sends the client on, with what is said. Whatever goes wrong here lets it stop: a hook must not hold
//! anybody for a reason that they cannot mend.

use std::io::Read;

use piton_core::run::Holder;
use serde_json::Value;

use super::{Exit, FINE};
use crate::args::Hook;
use crate::failure::{Outcome, USAGE};
use crate::find::{self, FoundRun};
use crate::ui;

/// What clients say is short; what is longer is not read to its end.
const LONGEST: u64 = 1024 * 1024;

pub(crate) fn hook(args: &Hook) -> Exit {
    let mut said = Vec::new();
    // Without its words nothing is known, also not whether it was sent on before.
    let heard = std::io::stdin().take(LONGEST).read_to_end(&mut said);
    let Some(Value::Object(said)) = heard.ok().and_then(|_| serde_json::from_slice(&said).ok()) else {
        return FINE;
    };
    // It was sent on once already: whoever cannot report after that must be able to stop.
    let again = said.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false);
    // Agents that Piton started hold no task of the ledger; the engine looks after them.
    if again || std::env::var_os(piton_engine::agent::OUTBOX).is_some() {
        return FINE;
    }
    match held(args) {
        Ok(tasks) if !tasks.is_empty() => {
            let first = &tasks[0];
            ui::say(format!(
                "You have taken {} and not reported on it. Report what came of it before you stop: `piton report {first} \
                 done` if it is done, else `failed` or `blocked` with --reason; the tool `report` does the same.",
                tasks.join(", ")
            ));
            USAGE
        }
        _ => FINE,
    }
}

/// What they work on, in the run that commands are about.
fn held(args: &Hook) -> Outcome<Vec<String>> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let theirs = |holder: &Holder| matches!(holder, Holder::Ledger(name) if *name == args.by.by);
    let tasks = journal.under_way(&run)?.into_iter().filter(|task| task.holder.as_ref().is_some_and(theirs));
    Ok(tasks.map(|task| task.id.to_string()).collect())
}
