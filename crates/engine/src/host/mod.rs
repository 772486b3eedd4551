//! GitHub and GitLab, through their own programs: the only place that starts `gh` and `glab`.
//!
//! They log people in, keep their secrets and speak their APIs, so Piton holds no token. A question is an argument vector and
//! a text for its standard input. What its end means is decided in the core's room of the same name.

mod local;
mod process;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::host::{Asked, Ended, Failure, Kind, Place, ask_again_after};
use piton_core::time::Span;

pub use local::Local;

use crate::lock::Lock;
use crate::{clock, secrets};
use process::{End, Process};

/// Far longer than an answer takes, also of a host that is busy; a person waits for some of them.
const PATIENCE: Span = Span::seconds(60);
/// A thousand issues of the usual length are a quarter of this.
const MOST: usize = 16 * 1024 * 1024;

/// A repository at a host, and the program that talks to it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Host {
    place: Place,
    folder: Utf8PathBuf,
    env: Vec<(String, String)>,
    patience: Span,
    most: usize,
    guard: Option<Arc<Lock>>,
    stopped: Arc<AtomicBool>,
}

/// What a host's program is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub asked: Asked,
    /// Without the program's name.
    pub args: Vec<String>,
    /// For its standard input. A text of an agent or a person belongs here, not into an argument.
    pub text: Option<String>,
}

impl Question {
    pub fn read<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Question {
        Question { asked: Asked::Read, args: args.into_iter().map(Into::into).collect(), text: None }
    }

    pub fn write<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Question {
        Question { asked: Asked::Write, ..Question::read(args) }
    }

    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Question {
        Question { text: Some(text.into()), ..self }
    }
}

/// What a host's program printed. Another program wrote it, and people wrote what is in it: nothing of it is validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub stdout: Vec<u8>,
}

impl Answer {
    /// With replacement characters for what is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Host {
    /// The program is started in `folder`, and finds no other repository there: `place` says which one is meant.
    pub fn new(place: Place, folder: &Utf8Path) -> Host {
        Host {
            place,
            folder: folder.to_owned(),
            env: Vec::new(),
            patience: PATIENCE,
            most: MOST,
            guard: None,
            stopped: Arc::default(),
        }
    }

    /// With additional variables, which take precedence over those of this process.
    #[must_use]
    pub fn with_env(self, env: &[(&str, &str)]) -> Host {
        let env = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Host { env, ..self }
    }

    /// With other bounds than the usual ones.
    #[must_use]
    pub fn within(self, patience: Span, most: usize) -> Host {
        Host { patience, most, ..self }
    }

    /// A question without a text holds `guard` open as its standard input. A program that outlives a killed engine so keeps
    /// the lock, and the next engine does not ask while the first question may still take effect.
    #[must_use]
    pub fn guarded_by(self, guard: Arc<Lock>) -> Host {
        Host { guard: Some(guard), ..self }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// End the program that runs now, in any thread, and start no other. It holds for all clones.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Ask once.
    pub fn ask_once(&self, question: &Question) -> Result<Answer, Failure> {
        let kind = self.place.kind;
        let args = self.arguments(&question.args);
        let process = Process {
            program: kind.program(),
            args: &args,
            text: question.text.as_deref(),
            folder: &self.folder,
            env: self.environment(),
            guard: self.guard.as_deref(),
            patience: self.patience,
            most: self.most,
            stopped: &self.stopped,
        };
        let (code, stdout, stderr) = match process.run() {
            End::Exited { code, stdout, stderr } => (code, stdout, stderr),
            End::NotInstalled => return Err(Failure::NotInstalled { kind }),
            End::NotStarted(error) => return Err(Failure::NotStarted { kind, said: error.to_string() }),
            End::TimedOut => return Err(Failure::TimedOut { kind, after: self.patience }),
            End::Stopped => return Err(Failure::Stopped { kind }),
            End::TooMuchOutput => return Err(Failure::TooMuchOutput { kind, most: self.most }),
        };
        let stderr = secrets::redactor().bytes(&stderr);
        match Failure::read(&self.place, Ended { code, stdout: &stdout, stderr: &stderr }, clock::now()) {
            Some(failure) => Err(failure),
            None => Ok(Answer { stdout }),
        }
    }

    /// Ask, and again after a failure that passes: a read at most three times, a write only if nothing can have happened.
    pub fn ask(&self, question: &Question) -> Result<Answer, Failure> {
        self.ask_pausing(question, |span| self.pause(span))
    }

    fn ask_pausing(&self, question: &Question, pause: impl Fn(Span)) -> Result<Answer, Failure> {
        let mut tries = 0;
        loop {
            let failure = match self.ask_once(question) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            tries += 1;
            match ask_again_after(question.asked, &failure, tries, clock::now()) {
                Some(span) if !self.stopped.load(Ordering::SeqCst) => pause(span),
                _ => return Err(failure),
            }
        }
    }

    /// Wait, unless the engine ends.
    fn pause(&self, span: Span) {
        process::wait(span, &self.stopped);
    }

    /// `gh` learns the repository and its host from variables. `glab` has none for the repository, and would look for it in the
    /// remotes of the folder.
    fn arguments(&self, args: &[String]) -> Vec<String> {
        let mut all = args.to_vec();
        let has = |names: [&str; 2]| {
            args.iter().any(|arg| names.iter().any(|name| arg.split('=').next() == Some(*name)))
        };
        match (self.place.kind, args.first().map(String::as_str)) {
            (Kind::GitLab, Some("mr" | "issue" | "ci" | "repo")) if !has(["-R", "--repo"]) => {
                all.extend(["-R".to_owned(), self.place.argument()]);
            }
            (_, Some("api")) if !has(["--hostname", "--hostname"]) => {
                all.extend(["--hostname".to_owned(), self.place.host.clone()]);
            }
            _ => {}
        }
        all
    }

    /// What keeps the programs from asking, paging, colouring, looking for updates or reporting, and says which repository is
    /// meant. Tokens of the person's are left to them.
    fn environment(&self) -> Vec<(&str, Option<String>)> {
        let set = |text: &str| Some(text.to_owned());
        let mut all = vec![
            ("LC_ALL", set("C")),
            ("NO_COLOR", set("1")),
            ("CLICOLOR", set("0")),
            ("CLICOLOR_FORCE", None),
            ("PAGER", set("cat")),
            ("EDITOR", set("true")),
            ("VISUAL", set("true")),
            ("BROWSER", set("true")),
            ("GIT_TERMINAL_PROMPT", set("0")),
            ("DEBUG", None),
            // They ask git about the folder: a hook may have started Piton with these.
            ("GIT_DIR", None),
            ("GIT_WORK_TREE", None),
            ("GIT_INDEX_FILE", None),
        ];
        all.extend(match self.place.kind {
            Kind::GitHub => vec![
                ("GH_PROMPT_DISABLED", set("1")),
                ("GH_NO_UPDATE_NOTIFIER", set("1")),
                ("GH_NO_EXTENSION_UPDATE_NOTIFIER", set("1")),
                ("GH_SPINNER_DISABLED", set("1")),
                ("GH_TELEMETRY", set("0")),
                ("GH_PAGER", set("cat")),
                ("GH_FORCE_TTY", None),
                ("GH_DEBUG", None),
                ("GH_HOST", Some(self.place.host.clone())),
                ("GH_REPO", Some(self.place.argument())),
            ],
            Kind::GitLab => vec![
                ("GLAB_NO_PROMPT", set("1")),
                // Until 1.50 it has this name.
                ("NO_PROMPT", set("1")),
                ("GLAB_CHECK_UPDATE", set("false")),
                ("GLAB_SEND_TELEMETRY", set("false")),
                ("GLAB_PAGER", set("cat")),
                ("GLAB_DEBUG", None),
                ("GL_HOST", None),
                ("GITLAB_URI", None),
                ("FORCE_HYPERLINKS", None),
                ("GITLAB_HOST", Some(self.place.host.clone())),
            ],
        });
        all.extend(self.env.iter().map(|(key, value)| (key.as_str(), Some(value.clone()))));
        all
    }
}

#[cfg(test)]
mod tests;
