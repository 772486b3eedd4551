//! While an engine works, a thread keeps its run's state file up to date and applies edits of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use piton_core::plan::{RunId, TaskId, TaskSpec};
use piton_core::run::Task;
use piton_core::system::Addition;

use super::mirror::{Aide, FilesError, Mirror, Wait};
use crate::claims::{Judgement, Place};
use crate::journal::Journal;
use crate::project::Project;

/// How long changes are gathered before they are written, and how soon an edit is applied.
const PAUSE: Duration = Duration::from_millis(100);

/// Writes a task into the plan of a run and adds it to the run; see [`Aide::add`]. The caller provides it, since this
/// crate does not read plans.
pub type TakeUp = fn(&Project, &mut Journal, &RunId, &Addition) -> Result<(), String>;

/// Keeps a state file until it is told to stop.
#[derive(Debug)]
pub struct Keeping {
    asks: Sender<Ask>,
    thread: JoinHandle<()>,
}

/// What the thread can be asked to do at once.
#[derive(Debug)]
enum Ask {
    /// Bring the files up to date, and answer whether a claim is still being decided.
    Settle(Sender<bool>),
    /// Reconcile once more, and end.
    End,
}

impl Keeping {
    /// Apply what was written to the state files while no engine ran, write the current state, and keep doing both.
    /// `None` if the run has no state file. `warn` gets each obstacle once.
    pub fn begin(
        project: &Project,
        run: &RunId,
        keeper: &[String],
        take_up: TakeUp,
        warn: impl Fn(&FilesError) + Send + Sync + 'static,
    ) -> Result<Option<Keeping>, FilesError> {
        let mut journal = project.journal()?;
        let warn: Arc<dyn Fn(&FilesError) + Send + Sync> = Arc::new(warn);
        let mut aide = ClaimThreads {
            warn: warn.clone(),
            project: project.clone(),
            run: run.clone(),
            keeper: keeper.to_vec(),
            take_up,
            at_work: HashMap::new(),
        };
        let taken = Mirror::taken(project, &mut journal, &mut aide, run)?;
        let Some(mut mirror) = taken else { return Ok(None) };
        mirror.hide();
        mirror.settle(&mut journal, &mut aide)?;
        // A task that was reported as done while no engine ran may be the next one: nothing begins before that is
        // decided.
        while !mirror.claimed.is_empty() {
            thread::sleep(PAUSE);
            mirror.settle(&mut journal, &mut aide)?;
        }
        mirror.take_back(&mut journal)?;
        mirror.settle(&mut journal, &mut aide)?;
        let (path, (asks, asked)) = (mirror.path().to_owned(), channel());
        let thread = thread::Builder::new().name("state file".to_owned()).spawn(move || {
            let mut told = None;
            loop {
                let ask = match asked.recv_timeout(PAUSE) {
                    Ok(ask) => Some(ask),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => Some(Ask::End),
                };
                // A look at the end of a pause does not wait: the next one comes soon.
                let settled = match &ask {
                    Some(_) => mirror.settle(&mut journal, &mut aide),
                    None => mirror.settle_unless_held(&mut journal, &mut aide).map(drop),
                };
                if let Err(error) = settled {
                    // The same error is reported once.
                    let text = error.to_string();
                    if told.as_ref() != Some(&text) {
                        warn(&error);
                        told = Some(text);
                    }
                } else {
                    told = None;
                }
                match ask {
                    None => {}
                    // The caller may be gone.
                    Some(Ask::Settle(answer)) => drop(answer.send(!mirror.claimed.is_empty())),
                    Some(Ask::End) => return,
                }
            }
        });
        let thread = thread.map_err(|source| FilesError::Io { path, source })?;
        Ok(Some(Keeping { asks, thread }))
    }

    /// Wait until the files are as they should be by now.
    pub fn settles(&self) -> impl Fn() + Send + Sync + 'static {
        let asks = self.asks.clone();
        move || {
            let (answer, answered) = channel();
            if asks.send(Ask::Settle(answer)).is_ok() {
                // If the thread has ended, there is no answer, and nothing to wait for.
                let _ = answered.recv();
            }
        }
    }

    /// Whether a claim in one of the files may still be undecided: an engine does not end before that. Never waits: the
    /// answer is ready at a later call.
    pub fn undecided(&self) -> impl FnMut() -> bool + 'static {
        let asks = self.asks.clone();
        let mut asked: Option<Receiver<bool>> = None;
        move || {
            let Some(answered) = &asked else {
                let (answer, answered) = channel();
                let sent = asks.send(Ask::Settle(answer)).is_ok();
                asked = sent.then_some(answered);
                return sent;
            };
            match answered.try_recv() {
                Err(TryRecvError::Empty) => true,
                // A thread that has ended decides nothing any more.
                answer => {
                    asked = None;
                    answer.unwrap_or(false)
                }
            }
        }
    }

    /// Write the final state, and end the thread.
    pub fn end(self) {
        // A thread that is gone has ended already.
        let _ = self.asks.send(Ask::End);
        // A thread that panicked has said so.
        let _ = self.thread.join();
    }
}

/// Runs the checks of claims, each in a thread of its own.
struct ClaimThreads {
    warn: Arc<dyn Fn(&FilesError) + Send + Sync>,
    project: Project,
    run: RunId,
    keeper: Vec<String>,
    take_up: TakeUp,
    at_work: HashMap<(TaskId, u64), Receiver<Result<Judgement, String>>>,
}

impl Aide for ClaimThreads {
    fn waits(&mut self, wait: &Wait) {
        (self.warn)(&FilesError::Waits(wait.clone()));
    }

    fn add(&mut self, journal: &mut Journal, task: &Addition) -> Result<(), String> {
        (self.take_up)(&self.project, journal, &self.run, task)
    }

    fn judge(
        &mut self,
        task: &Task,
        spec: &TaskSpec,
        place: Option<&Place>,
    ) -> Option<Result<Judgement, String>> {
        let key = (task.id.clone(), task.fence);
        if let Some(running) = self.at_work.get(&key) {
            return match running.try_recv() {
                Ok(judged) => {
                    self.at_work.remove(&key);
                    Some(judged)
                }
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => {
                    self.at_work.remove(&key);
                    Some(Err("its checks could not be run".to_owned()))
                }
            };
        }
        let Some(place) = place.cloned() else {
            return Some(Err("it was started or reset again while its checks ran".to_owned()));
        };
        let (done, judged) = channel();
        let (project, run, spec, keeper) =
            (self.project.clone(), self.run.clone(), spec.clone(), self.keeper.clone());
        let fence = task.fence;
        let worker = move || {
            let name = format!("{fence}.report");
            let result = place.judge(&project, &run, &spec, &name, &keeper, &|_| {});
            // If the receiver is gone, the file still shows the claim.
            let _ = done.send(result.map_err(|no| no.to_string()));
        };
        match thread::Builder::new().spawn(worker) {
            Ok(_) => {
                self.at_work.insert(key, judged);
                None
            }
            Err(error) => Some(Err(error.to_string())),
        }
    }
}
