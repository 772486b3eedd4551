//! Tells a person that an engine is gone which has not ended its run. An engine that is killed cannot do that itself.
//!
//! Where notifications are on, the engine starts this program once more, in a session of its own, with a pipe for its standard
//! input. Into it the engine writes what the watchdog has to know, and later the engine's own name. The pipe ends when the engine
//! does, however it dies, and nothing is asked before that. Then the journal says whether the run has ended. While it waits,
//! the watchdog has neither a lock nor a file of the project open, and nobody waits for it.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use camino::Utf8PathBuf;
use piton_core::plan::RunId;
use piton_core::run::{Run, StopReason};
use piton_engine::project::Project;
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::notify::channel::Notifications;
use crate::notify::teller::{SETTLE, Teller};
use crate::paths;
use crate::runs::{engine, standing};

/// The command that this program is started with.
const COMMAND: &str = "watchdog";

/// A run that another engine is about to take over is looked at again, at last this seldom: a start takes seconds.
const SELDOM: Duration = Duration::from_secs(60);

/// What a watchdog has to know.
#[derive(Debug, Serialize, Deserialize)]
struct Watched {
    root: Utf8PathBuf,
    /// Where the run was started: commands in the message can be typed there.
    folder: Utf8PathBuf,
    run: RunId,
    wanted: Notifications,
}

/// The engine's end of the pipe. The watchdog asks the journal when this is gone.
#[derive(Debug)]
pub(super) struct Watchdog {
    pipe: ChildStdin,
    _child: Child,
}

impl Watchdog {
    pub(super) fn start(project: &Project, run: &RunId, wanted: &Notifications) -> Outcome<Watchdog> {
        let program = engine::keeper()?.swap_remove(0);
        let mut command = Command::new(program);
        // It keeps no terminal, no output and no folder in use.
        command.arg(COMMAND).current_dir("/").stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let cannot = "the watchdog cannot be started";
        let mut child = command.spawn().map_err(Failure::io(cannot))?;
        let pipe = child.stdin.take().ok_or_else(|| Failure::new(cannot))?;
        let mut watchdog = Watchdog { pipe, _child: child };
        let (root, folder) = (project.root.clone(), paths::here()?);
        let watched = Watched { root, folder, run: run.clone(), wanted: wanted.clone() };
        let line = serde_json::to_string(&watched).map_err(|error| Failure::new(error.to_string()))?;
        watchdog.write(&line);
        Ok(watchdog)
    }

    /// The engine has begun, under this name.
    pub(super) fn name(&mut self, engine: &str) {
        self.write(engine);
    }

    /// If it has been killed, no message is sent. The run goes on.
    fn write(&mut self, line: &str) {
        let _ = self.pipe.write_all(format!("{line}\n").as_bytes());
    }
}

/// Wait for the end of the engine that has started this process, and tell if that was not the end of its run.
pub(crate) fn watch() -> Outcome<Exit> {
    // Keys that end the engine do not end its watchdog. Whoever leads a session has none to leave.
    let _ = rustix::process::setsid();
    let mut lines = io::stdin().lines().map_while(Result::ok);
    let Some(watched) = lines.next().and_then(|line| serde_json::from_str(&line).ok()) else {
        return Err(Failure::usage("the watchdog is started by the engine"));
    };
    let Watched { root, folder, run, wanted } = watched;
    let name = lines.last();
    let project = Project::around(&root)?;
    // It died before it could say its name.
    let name = match name {
        Some(name) => name,
        None => facts(&project, &run)?.and_then(|facts| facts.engine).unwrap_or_default(),
    };
    let mut pause = SETTLE;
    while facts(&project, &run)?.is_some_and(|facts| is_cut_off(&facts, &name)) {
        thread::sleep(pause);
        pause = (pause * 2).min(SELDOM);
        // Held, the lock is that of the next engine, or of what the dead one was doing in git.
        let stands = facts(&project, &run)?.is_some_and(|facts| is_cut_off(&facts, &name));
        if stands && !project.engine_lives(&run) {
            // It may be gone by now. Then paths in the message are whole.
            let _ = std::env::set_current_dir(&folder);
            let mut journal = project.journal()?;
            let mut teller = Teller::new(&project, &run, wanted);
            teller.look(&mut journal, Some(None));
            while !teller.fresh.is_empty() {
                thread::sleep(SETTLE);
                teller.look(&mut journal, Some(None));
            }
            break;
        }
    }
    Ok(FINE)
}

/// The run as it is now. The journal stays open for no longer than that.
fn facts(project: &Project, run: &RunId) -> Outcome<Option<Run>> {
    let journal = project.existing_journal()?;
    journal.map(|journal| standing::facts(&journal, run)).transpose()
}

/// Whether this engine was the last one, and has neither ended nor been asked to.
fn is_cut_off(facts: &Run, engine: &str) -> bool {
    let is_over = facts.closed.is_some() || facts.stop.is_some();
    // Commands of agents that outlive it write down that it is gone.
    let is_noted = facts.stopped.as_ref().is_some_and(StopReason::is_death);
    !is_over && facts.engine.as_deref().map_or(is_noted, |last| last == engine)
}
