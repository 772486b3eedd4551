//! While an engine works: reports completed tasks to their issues, and asks now and then what the issues say by now.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Command, Note, Proof, State, Status, Task};
use piton_core::system::asked::{Ask, Closing, ReportedFacts, WriteKind};

use super::error::IssuesError;
use super::holding::{Holds, Showing, showing};
use super::tracker::Tracker;
use super::wishes::Wishes;
use super::{answers, closing};
use crate::drive::Reserve;
use crate::journal::Journal;
use crate::project::Project;
use crate::{clock, disk};

/// How soon a completed task is reported.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a report that failed waits.
const RETRY: Duration = Duration::from_secs(60);

/// A thread that reports completed work and asks for changed issues.
#[derive(Debug)]
pub struct Watching {
    ends: Sender<()>,
    thread: JoinHandle<()>,
    holds: Arc<Holds>,
}

impl Watching {
    /// Report what was completed while nobody watched, and then what is completed. `warn` gets each obstacle once.
    pub fn begin(
        project: &Project,
        run: &RunId,
        tracker: Tracker,
        ask: Ask,
        wishes: Wishes,
        warn: impl Fn(&str) + Send + 'static,
    ) -> Result<Watching, IssuesError> {
        let mut journal = project.journal()?;
        let state = journal.load(run)?;
        let folder = project.home.join("runs").join(run.as_str());
        let reported = folder.join("issues-reported.json");
        let path = state.run().map(|run| Utf8PathBuf::from(&run.plan)).unwrap_or_default();
        let held = folder.join("issues-held.json");
        let holds = Arc::new(Holds::new(tracker, ask, wishes, path, held));
        let mut watch = Watch {
            done: load(&reported),
            reported,
            run: run.clone(),
            holds: Arc::clone(&holds),
            journal,
            state,
            later: BTreeMap::new(),
            held_later: BTreeMap::new(),
            told: BTreeMap::new(),
            warn: Box::new(warn),
        };
        let (ends, ended) = channel();
        let thread = thread::Builder::new().name("issues".to_owned()).spawn(move || {
            let mut asked = Instant::now();
            loop {
                let ends = !matches!(ended.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout));
                watch.hold();
                if watch.holds.wishes.reports && watch.holds.tracker.is_writable() {
                    watch.report(ends);
                }
                if ends {
                    return;
                }
                if asked.elapsed() >= watch.holds.wishes.poll {
                    watch.ask_again();
                    asked = Instant::now();
                }
            }
        });
        let thread = thread.map_err(IssuesError::io(&project.home))?;
        Ok(Watching { ends, thread, holds })
    }

    /// Takes the issue of a task before its agent starts. Where that fails, the work goes on: the thread says why.
    pub fn reserve(&self) -> Reserve {
        let holds = Arc::clone(&self.holds);
        Box::new(move |task| {
            if !holds.excludes() {
                return Ok(());
            }
            let taken = holds.take(&mut holds.lock(), task);
            let Ok(Some(holder)) = taken else { return Ok(()) };
            // The plan then says so, too.
            let _ = answers::refresh(&holds.tracker, &holds.ask, holds.wishes.comments, &holds.path);
            Err(format!("{holder} works on {task}, says {}", holds.ask.source.name()))
        })
    }

    /// Report what is left, and end the thread.
    pub fn end(self) {
        // A thread that is gone has ended already, and one that panicked has said so.
        let _ = self.ends.send(());
        let _ = self.thread.join();
    }
}

struct Watch {
    run: RunId,
    holds: Arc<Holds>,
    journal: Journal,
    state: State,
    /// What was reported, by task: the commit, or a dash.
    done: BTreeMap<TaskId, String>,
    reported: Utf8PathBuf,
    /// Since when a report that failed waits.
    later: BTreeMap<TaskId, Instant>,
    /// The same for what an issue is to show.
    held_later: BTreeMap<TaskId, Instant>,
    /// What was said about each obstacle.
    told: BTreeMap<String, String>,
    warn: Box<dyn Fn(&str) + Send>,
}

impl Watch {
    /// Others see which issues are worked on.
    fn hold(&mut self) {
        let holds = Arc::clone(&self.holds);
        let mut held = holds.lock();
        if !holds.shows() && held.is_empty() {
            return;
        }
        // What is taken by now was begun before, so its beginning is in the journal.
        if let Err(error) = self.journal.catch_up(&self.run, &mut self.state) {
            return self.tell("the journal", &error.to_string());
        }
        let wanted = |task: &Task| match showing(task) {
            Showing::Keep => None,
            Showing::Take if !holds.shows() => None,
            Showing::Take => Some((task.id.clone(), Showing::Take)),
            showing => held.contains_key(&task.id).then(|| (task.id.clone(), showing)),
        };
        let due: Vec<(TaskId, Showing)> = self.state.tasks().filter_map(wanted).collect();
        for (id, showing) in due {
            let about = format!("hold {id}");
            if self.held_later.get(&id).is_some_and(|since| since.elapsed() < RETRY) {
                continue;
            }
            let done = match showing {
                Showing::Take => holds.take(&mut held, &id).map(|holder| {
                    holder.map(|holder| {
                        format!("{holder} works on issue {id}, too, says {}", holds.ask.source.name())
                    })
                }),
                Showing::Keep => Ok(None),
                Showing::Done => holds.give_back(&mut held, &id, true).map(|()| None),
                Showing::GiveBack => holds.give_back(&mut held, &id, false).map(|()| None),
            };
            let said = match done {
                Ok(None) => {
                    self.told.remove(&about);
                    self.held_later.remove(&id);
                    continue;
                }
                Ok(Some(said)) => said,
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    let what = if showing == Showing::Take { "works on it" } else { "has ended its work" };
                    format!("issue {id} does not show that Piton {what}: {error}{hint}")
                }
            };
            self.held_later.insert(id, Instant::now());
            self.tell(&about, &said);
        }
    }

    fn report(&mut self, is_last: bool) {
        if let Err(error) = self.journal.catch_up(&self.run, &mut self.state) {
            return self.tell("the journal", &error.to_string());
        }
        let due: Vec<(TaskId, Option<String>)> = self.state.tasks().filter_map(proven).collect();
        for (id, landed) in due {
            let key = landed.clone().unwrap_or_else(|| "-".to_owned());
            let waits = self.later.get(&id).is_some_and(|since| since.elapsed() < RETRY) && !is_last;
            if waits || self.done.get(&id) == Some(&key) {
                continue;
            }
            match self.report_one(&id, landed) {
                Ok(()) => {
                    self.done.insert(id.clone(), key);
                    self.later.remove(&id);
                    self.told.remove(id.as_str());
                    self.save();
                }
                Err(error) => {
                    self.later.insert(id.clone(), Instant::now());
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    let text = format!("issue {id} does not know yet that it is done: {error}{hint}");
                    self.tell(id.as_str(), &text);
                    // The next one would wait as long for the same answer.
                    if matches!(error, IssuesError::Host(_)) {
                        break;
                    }
                }
            }
        }
    }

    fn report_one(&mut self, id: &TaskId, landed: Option<String>) -> Result<(), IssuesError> {
        let checks = match self.journal.spec(&self.run, id) {
            Ok(spec) => spec.map(|spec| spec.checks).unwrap_or_default(),
            Err(error) => return Err(IssuesError::Odd(error.to_string())),
        };
        let target = self.state.run().and_then(|run| run.target.clone()).unwrap_or_default();
        // The file may be newer than the plan that the run follows. Without the issue there is nothing to report to.
        let snapshot = answers::snapshot_in(&self.holds.path);
        let Some(issue) = snapshot.as_ref().and_then(|snapshot| snapshot.issue_of(id)) else { return Ok(()) };
        let wanted = Closing {
            source: self.holds.ask.source,
            of: self.holds.tracker.of(),
            id: issue.id.clone(),
            closes: self.holds.wishes.closes,
            evidence: ReportedFacts {
                run: self.run.to_string(),
                landed: landed.map(|commit| (commit, target)),
                is_at_host: self.state.run().is_some_and(|run| run.settings.requests.is_some()),
                checks: checks.into_iter().map(|check| check.name).collect(),
            },
        };
        let name = if wanted.of.is_empty() { wanted.id.clone() } else { format!("#{}", wanted.id) };
        let done = closing::report(&self.holds.tracker, &wanted)?;
        let words: Vec<&str> = done.iter().map(word).collect();
        let text = match words.join(" and ").as_str() {
            "" => format!("issue {name} needs no report: it says so already"),
            words => format!("issue {name} was {words}"),
        };
        let note = Note::Entry { task: Some(id.clone()), text, for_next: false };
        let command = Command::Note { by: "piton".to_owned(), note };
        let noted = self.journal.commit(&self.run, &mut self.state, &[command], clock::now());
        noted.map(drop).map_err(|error| IssuesError::Odd(error.to_string()))
    }

    /// The plan's own watcher sees a file that has changed.
    fn ask_again(&mut self) {
        match answers::refresh(
            &self.holds.tracker,
            &self.holds.ask,
            self.holds.wishes.comments,
            &self.holds.path,
        ) {
            Ok(_) => {
                self.told.remove("ask");
            }
            Err(error) => self.tell("ask", &format!("the issues could not be asked for: {error}")),
        }
    }

    /// The same is said once.
    fn tell(&mut self, about: &str, text: &str) {
        if self.told.get(about).map(String::as_str) != Some(text) {
            (self.warn)(text);
            self.told.insert(about.to_owned(), text.to_owned());
        }
    }

    /// For the next process. Where that fails, the next one asks the tracker what it knows.
    fn save(&self) {
        let folder = self.reported.parent().unwrap_or(Utf8Path::new("."));
        let text = serde_json::to_vec(&self.done).unwrap_or_default();
        let _ = disk::private_folder(folder).and_then(|()| disk::replace(&self.reported, &text));
    }
}

/// A task that is done and proven, with the commit by which it landed. What was only said to be done is not reported.
fn proven(task: &Task) -> Option<(TaskId, Option<String>)> {
    if task.decided != Status::Completed {
        return None;
    }
    match task.proof.as_ref()? {
        Proof::Landed { commit, .. } => Some((task.id.clone(), Some(commit.short().to_owned()))),
        Proof::Checked { .. } => Some((task.id.clone(), None)),
        Proof::Work { .. } | Proof::Reported => None,
    }
}

fn word(what: &WriteKind) -> &'static str {
    match what {
        WriteKind::Comment => "commented on",
        WriteKind::Close => "closed",
        WriteKind::Hold => "marked",
    }
}

fn load(path: &Utf8Path) -> BTreeMap<TaskId, String> {
    fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
