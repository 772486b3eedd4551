//! `piton run --detach`: the run continues in the background.
//!
//! The same command is started again, in a session of its own. Until its engine begins it speaks to this terminal, so all that
//! can be wrong with a run is said where it was typed. Then its output goes to a file. Its standard input is a pipe on which
//! it writes: the file's name first, then the run, once its engine has begun. The end of the pipe without that is its failure.

use std::io::{self, BufRead, BufReader, Write};
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::RunId;
use piton_core::run::{Event, Recorded, State};
use piton_engine::drive::Observer;
use piton_engine::project::Project;
use serde_json::json;

use crate::failure::{ERROR, Exit, FINE, Failure, Outcome};
use crate::runs::engine;
use crate::runs::flags::RunArgs;
use crate::{paths, ui};

/// The flag of the process in the background.
const DETACHED: &str = "--detached";

/// Start the run in the background, and return once its engine has begun.
pub(super) fn in_background(args: &RunArgs) -> Outcome<Exit> {
    let cannot = || Failure::io("cannot start the run in the background");
    let program = engine::keeper()?.swap_remove(0);
    let (told, tells) = io::pipe().map_err(cannot())?;
    let mut is_swapped = false;
    let words = std::env::args_os().skip(1).map(|word| match word == "--detach" && !is_swapped {
        true => {
            is_swapped = true;
            DETACHED.into()
        }
        false => word,
    });
    let mut child = Command::new(program).args(words).stdin(tells).spawn().map_err(cannot())?;
    let mut lines = BufReader::new(told).lines().map_while(Result::ok);
    let (log, run) = (lines.next().map(Utf8PathBuf::from), lines.next());
    let Some((log, run)) = log.clone().zip(run) else {
        let status = child.wait().map_err(cannot())?;
        // What it said after it had left the terminal.
        let said = log.and_then(|log| std::fs::read_to_string(log).ok()).unwrap_or_default();
        if !said.trim().is_empty() {
            ui::say(said.trim_end());
        }
        return Ok(status.code().and_then(|code| Exit::try_from(code).ok()).unwrap_or(ERROR));
    };
    let pid = child.id();
    if args.loudness.json {
        ui::answer_json(&json!({ "run": run, "pid": pid, "log": log }));
        return Ok(FINE);
    }
    if !args.loudness.quiet {
        ui::say(format!("{} continues in the background (process {pid})", ui::styled(ui::BOLD, &run)));
        ui::say(format!("its output is in {}", paths::shown(&log)));
        ui::say("");
        for hint in ["piton watch", "piton log --follow", "piton stop"] {
            ui::hint(format!("{hint} --run {run}"));
        }
    }
    Ok(FINE)
}

/// Leave the session of the terminal. A process that leads one already has none to leave.
pub(super) fn leave_terminal() {
    let _ = rustix::process::setsid();
}

/// From here on the output of this process goes to a file of the run. The observer tells the first process when the engine
/// has begun.
pub(super) fn leave_streams(project: &Project, run: &RunId) -> Outcome {
    let log = project.home.join("runs").join(run.as_str()).join("engine.log");
    let cannot = || Failure::io(format!("cannot write {log}"));
    std::fs::create_dir_all(log.parent().unwrap_or(Utf8Path::new("."))).map_err(cannot())?;
    // What an earlier engine of this run said stays where it was typed, or in the journal.
    let file = std::fs::File::create(&log).map_err(cannot())?;
    tell(log.as_str());
    let _ = io::stdout().flush();
    rustix::stdio::dup2_stdout(&file).map_err(|error| cannot()(error.into()))?;
    rustix::stdio::dup2_stderr(&file).map_err(|error| cannot()(error.into()))
}

/// If nobody listens any more, the run goes on all the same.
fn tell(line: &str) {
    let _ = rustix::io::write(rustix::stdio::stdin(), format!("{line}\n").as_bytes());
}

pub(super) struct Beginning {
    pub(super) observer: Box<dyn Observer>,
    pub(super) run: Option<RunId>,
}

impl Observer for Beginning {
    fn event(&mut self, recorded: &Recorded, state: &State) {
        if matches!(recorded.event, Event::EngineStarted { .. })
            && let Some(run) = self.run.take()
        {
            tell(run.as_str());
            // Whoever started this may go on.
            if let Ok(nothing) = std::fs::File::open("/dev/null") {
                let _ = rustix::stdio::dup2_stdin(&nothing);
            }
        }
        self.observer.event(recorded, state);
    }

    fn tick(&mut self, state: &State) {
        self.observer.tick(state);
    }
}
