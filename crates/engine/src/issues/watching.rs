//! While an engine works: reports completed tasks to their issues, and asks now and then what the issues say by now.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Command, Note, Proof, State, Status, Task};
use piton_core::system::asked::{Ask, Closing, ReportedFacts, WriteKind};

use super::error::IssuesError;
use super::tracker::Tracker;
use super::{answers, closing};
use crate::journal::Journal;
use crate::project::Project;
use crate::{clock, disk};

/// How soon a completed task is reported.
const PAUSE: Duration = Duration::from_secs(1);
/// How often the issues are asked for. Each time costs one question, and a host answers thousands in an hour.
const ASK: Duration = Duration::from_secs(60);
/// How long a report that failed waits.
const RETRY: Duration = Duration::from_secs(60);

/// What a person wants of the issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Completed tasks are reported.
    pub reports: bool,
    /// Their issues are closed, too.
    pub closes: bool,
    /// Comments of people who may write to the repository are a part of the plan.
    pub comments: bool,
}

/// A thread that reports completed work and asks for changed issues.
#[derive(Debug)]
pub struct Watching {
    ends: Sender<()>,
    thread: JoinHandle<()>,
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
        let mut journal = Journal::open(&project.home)?;
        let state = journal.load(run)?;
        let reported = project.home.join("runs").join(run.as_str()).join("issues-reported.json");
        let path = state.run().map(|run| Utf8PathBuf::from(&run.plan)).unwrap_or_default();
        let mut watch = Watch {
            done: load(&reported),
            reported,
            run: run.clone(),
            tracker,
            ask,
            wishes,
            path,
            journal,
            state,
            later: BTreeMap::new(),
            told: BTreeMap::new(),
            warn: Box::new(warn),
        };
        let (ends, ended) = channel();
        let thread = thread::Builder::new().name("issues".to_owned()).spawn(move || {
            let mut asked = Instant::now();
            loop {
                let ends = !matches!(ended.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout));
                if watch.wishes.reports && watch.tracker.is_writable() {
                    watch.report(ends);
                }
                if ends {
                    return;
                }
                if asked.elapsed() >= ASK {
                    watch.ask_again();
                    asked = Instant::now();
                }
            }
        });
        let thread = thread.map_err(IssuesError::io(&project.home))?;
        Ok(Watching { ends, thread })
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
    tracker: Tracker,
    ask: Ask,
    wishes: Wishes,
    path: Utf8PathBuf,
    journal: Journal,
    state: State,
    /// What was reported, by task: the commit, or a dash.
    done: BTreeMap<TaskId, String>,
    reported: Utf8PathBuf,
    /// Since when a report that failed waits.
    later: BTreeMap<TaskId, Instant>,
    /// What was said about each obstacle.
    told: BTreeMap<String, String>,
    warn: Box<dyn Fn(&str) + Send>,
}

impl Watch {
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
        let snapshot = answers::snapshot_in(&self.path);
        let Some(issue) = snapshot.as_ref().and_then(|snapshot| snapshot.issue_of(id)) else { return Ok(()) };
        let wanted = Closing {
            source: self.ask.source,
            of: self.tracker.of(),
            id: issue.id.clone(),
            closes: self.wishes.closes,
            evidence: ReportedFacts {
                run: self.run.to_string(),
                landed: landed.map(|commit| (commit, target)),
                is_at_host: self.state.run().is_some_and(|run| run.settings.requests.is_some()),
                checks: checks.into_iter().map(|check| check.name).collect(),
            },
        };
        let name = if wanted.of.is_empty() { wanted.id.clone() } else { format!("#{}", wanted.id) };
        let done = closing::report(&self.tracker, &wanted)?;
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
        match answers::refresh(&self.tracker, &self.ask, self.wishes.comments, &self.path) {
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
    }
}

fn load(path: &Utf8Path) -> BTreeMap<TaskId, String> {
    fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}
