//! Where a client is started.

use camino::Utf8Path;

/// What an agent is told, in the folder of its job.
pub(crate) const PROMPT: &str = "prompt.md";

/// Where a client is started, and with which prompt; the prompt lies in the folder of its job.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub cwd: &'a Utf8Path,
    pub prompt: &'a Utf8Path,
    /// `None` where nobody listens: it answers a question and has no task to report on.
    pub tools: Option<Tools<'a>>,
    /// Whether a fence will be put up around it.
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
    /// Whether it may be asked for a report before it stops. Not where a plan's own system has other ways to report.
    pub asked: bool,
}
