//! Where a client is started.

use camino::Utf8Path;

/// The file of an agent's prompt, in the folder of its job.
pub(crate) const PROMPT: &str = "prompt.md";

/// Where a client is started, and with which prompt; the prompt lies in the folder of its job.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub cwd: &'a Utf8Path,
    pub prompt: &'a Utf8Path,
    /// `None` if Piton expects no report: the agent answers a question and has no task.
    pub tools: Option<Tools<'a>>,
    /// Whether it will run inside a fence.
    pub fenced: bool,
}

impl Place<'_> {
    pub(super) fn folder(&self) -> &Utf8Path {
        self.prompt.parent().unwrap_or(Utf8Path::new("."))
    }
}

/// What an agent gets of Piton.
#[derive(Clone, Copy, Debug)]
pub struct Tools<'a> {
    /// This program.
    pub piton: &'a str,
    /// Whether it may be asked for a report before it stops. It is not, if the plan's system has other ways to report.
    pub asked: bool,
}
