//! What a client is started with. Its row describes it, and the engine carries it out.

use std::fmt;
use std::path::Path;

use crate::plan::Agent;

/// The name of Piton's server of tools, in every client.
pub(super) const SERVER: &str = "piton";

/// One start of a client.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    pub agent: &'a Agent,
    /// The folder of its job, which holds its prompt.
    pub folder: &'a str,
    pub prompt: &'a str,
    /// `None`: the client starts a conversation that no later try resumes.
    pub session: Option<Conversation<'a>>,
    /// The program whose tools it gets.
    pub server: Option<&'a str>,
    /// The shell command that the client runs when it is about to stop.
    pub hook: Option<&'a str>,
    /// The variables that say which attempt it works on. Some clients pass only named variables on to their servers.
    pub attempt: &'a [&'a str],
    /// A fence will be put up around it.
    pub fenced: bool,
    pub machine: &'a dyn Machine,
}

/// The conversation of a try.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// `None`: the client will name it.
    pub id: Option<&'a str>,
    /// An earlier try began it.
    pub resumes: bool,
}

impl<'a> Conversation<'a> {
    /// Its name, where an earlier try began it.
    pub(super) fn resumed(&self) -> Option<&'a str> {
        self.id.filter(|_| self.resumes)
    }
}

/// What a client finds where it is started.
pub trait Machine: fmt::Debug {
    /// A variable as the client will see it. An empty one counts as unset.
    fn variable(&self, name: &str) -> Option<String>;

    /// The names of all variables that the client will see.
    fn variables(&self) -> Vec<String>;

    /// Whether Piton itself was started with this variable.
    fn inherits(&self, name: &str) -> bool;

    fn read(&self, path: &str) -> Result<Vec<u8>, Unread>;

    fn is_file(&self, path: &str) -> bool;

    fn exists(&self, path: &str) -> bool;

    /// Whether a text holds what is written nowhere.
    fn holds_secret(&self, text: &str) -> bool;

    /// The folders of git outside of the worktree that a commit on a detached HEAD writes to.
    fn git_folders(&self) -> Vec<String>;
}

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    Missing,
    Unreadable,
}

impl dyn Machine + '_ {
    /// What a file holds; nothing if it cannot be read.
    pub(super) fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.read(path).unwrap_or_default()).into_owned()
    }

    /// Whether its environment holds what looks like a key for some provider.
    pub(super) fn has_key(&self) -> bool {
        let ends = ["_API_KEY", "_TOKEN", "_ACCESS_KEY_ID", "_APPLICATION_CREDENTIALS", "AWS_PROFILE"];
        let is_key = |name: &String| ends.iter().any(|end| name.ends_with(end));
        self.variables().iter().any(|name| is_key(name) && self.variable(name).is_some())
    }
}

/// A path below a folder.
pub(super) fn below(folder: &str, path: &str) -> String {
    Path::new(folder).join(path).to_string_lossy().into_owned()
}

/// The process of a client. Its prompt is a file on standard input, which ends: an argument has a largest size, and
/// every user can list the arguments of processes.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program, and its arguments.
    pub words: Vec<String>,
    /// The prompt is not its input: it gets the path.
    pub reads_prompt_file: bool,
    /// Variables that a profile may say otherwise.
    pub usual_env: Vec<(&'static str, &'static str)>,
    /// Variables that are so whatever a profile says.
    pub env: Vec<(&'static str, String)>,
    /// The same, written nowhere: there may be keys in them.
    pub secret_env: Vec<(&'static str, String)>,
    pub env_remove: &'static [&'static str],
    /// Files in the folder of its job.
    pub files: Vec<OwnFile>,
    /// A folder of its own for temporary files.
    pub own_temporary: bool,
    pub stop: StopBy,
    /// Nothing else keeps it from writing anywhere: without a fence it is not started.
    pub needs_fence: bool,
}

/// A file that a client is started with.
#[derive(Clone, Debug)]
pub struct OwnFile {
    pub name: &'static str,
    pub text: String,
    /// The file counts only if root owns it and all folders above, and no other user may write to them. This is the
    /// reason why the client must not be started where that is not so.
    pub only_if_roots: Option<&'static str>,
}

/// The signal that asks a client to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopBy {
    #[default]
    Term,
    Int,
}

impl Start<'_> {
    /// Its program with these arguments.
    pub(super) fn launch(&self, first: &[&str]) -> Launch {
        let mut launch = Launch { words: vec![self.agent.program().to_owned()], ..Launch::default() };
        launch.add(first);
        launch
    }
}

impl Launch {
    pub(super) fn add(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(|word| (*word).to_owned()));
    }

    pub(super) fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(&[name, value]);
        }
    }

    /// What the profile adds, after Piton's own.
    pub(super) fn add_args(&mut self, agent: &Agent) {
        self.words.extend(agent.args.iter().cloned());
    }
}

/// How a client says whether it is logged in. No model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    /// Its arguments.
    pub question: &'static [&'static str],
    /// Whether this answer, with a bad exit status, says that it is logged out.
    pub says_logged_out: fn(&str) -> bool,
    /// The command that logs it in.
    pub command: &'static str,
}
