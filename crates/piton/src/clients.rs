//! Trying clients out, in temporary folders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use camino::Utf8PathBuf;
use piton_core::plan::Agent;
use piton_engine::agent::{self, Trial};

use crate::failure::{Exit, Failure, Outcome};
use crate::runs::engine;

/// As when a run is stopped.
pub(crate) const STOPPED: Exit = 3;

/// Ask a client one harmless question.
pub(crate) fn ask(agent: &Agent) -> Outcome<Trial> {
    let tries = Tries::new(1)?;
    agent::trial(agent, &tries.folders[0], &engine::keeper()?)
        .map_err(|error| Failure::new(error.to_string()))
}

/// For each agent, the command that logs its client in, where that says that it is logged out.
pub(crate) fn logged_out(agents: &[&Agent]) -> Outcome<Vec<Option<&'static str>>> {
    if agents.iter().all(|agent| agent.adapter.is_command()) {
        return Ok(vec![None; agents.len()]);
    }
    let (tries, keeper) = (Tries::new(agents.len())?, engine::keeper()?);
    let mut logins = Vec::new();
    for (agent, folder) in agents.iter().zip(&tries.folders) {
        logins.push(agent::login_command(agent, folder, &keeper));
        if tries.are_stopped() {
            return Err(Failure { exit: STOPPED, ..Failure::new("stopped before anything was begun") });
        }
    }
    Ok(logins)
}

/// Places for clients, gone with all they hold at the end. Interrupting Piton meanwhile ends the clients as well:
/// they are out of a terminal's reach.
pub(crate) struct Tries {
    pub folders: Vec<Utf8PathBuf>,
    stopped: Arc<AtomicBool>,
    signals: signal_hook::iterator::Handle,
    listener: Option<JoinHandle<()>>,
    _kept: tempfile::TempDir,
}

impl Tries {
    pub(crate) fn new(count: usize) -> Outcome<Tries> {
        let kept = tempfile::Builder::new().prefix("piton-agents-").tempdir();
        let kept = kept.map_err(Failure::io("cannot make a temporary folder"))?;
        let path = Utf8PathBuf::from_path_buf(kept.path().to_owned());
        let path = path.map_err(|path| Failure::new(format!("{} is not UTF-8", path.display())))?;
        let folders: Vec<Utf8PathBuf> = (1..=count).map(|number| path.join(number.to_string())).collect();
        for folder in &folders {
            std::fs::create_dir(folder).map_err(Failure::io("cannot make a temporary folder"))?;
        }
        let mut signals = signal_hook::iterator::Signals::new(signal_hook::consts::TERM_SIGNALS)
            .map_err(Failure::io("cannot listen for signals"))?;
        let handle = signals.handle();
        let stopped = Arc::new(AtomicBool::new(false));
        let (all, flag) = (folders.clone(), Arc::clone(&stopped));
        let listener = std::thread::spawn(move || {
            for _ in &mut signals {
                flag.store(true, Ordering::Relaxed);
                all.iter().for_each(|folder| agent::stop(folder));
            }
        });
        Ok(Tries { folders, stopped, signals: handle, listener: Some(listener), _kept: kept })
    }

    pub(crate) fn are_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Drop for Tries {
    fn drop(&mut self) {
        self.signals.close();
        // First: it would write where nothing is any more.
        let _ = self.listener.take().map(JoinHandle::join);
    }
}
