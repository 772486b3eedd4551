//! How an agent that works on a task talks back: by Piton's own tools, and when it is about to stop without a word. What
//! is started for that is this very program, not whatever a search path has.

use piton_core::plan::Agent;

use super::Place;
use super::outbox::{OUTBOX, TOKEN};
use crate::keeper::MARKER;

/// The name of the server, in every client.
pub(super) const SERVER: &str = "piton";

/// What the server has to know of its attempt. Some clients give their servers nothing that they are not told to.
pub(super) const KNOWN: [&str; 6] = ["PITON_RUN", "PITON_TASK", "PITON_ATTEMPT", OUTBOX, TOKEN, MARKER];

#[derive(Clone, Copy, Debug)]
pub struct Talk<'a> {
    /// This program.
    pub piton: &'a str,
    /// Whether it may be asked for a report before it stops. Not where a plan's own system has other ways to report.
    pub asked: bool,
}

impl Place<'_> {
    /// The program whose tools the client gets.
    pub(super) fn server(&self, agent: &Agent) -> Option<&str> {
        self.talk.filter(|_| !agent.no_mcp).map(|talk| talk.piton)
    }

    /// The line, for a shell, that is asked when the client is about to stop.
    pub(super) fn hook(&self, agent: &Agent) -> Option<String> {
        let talk = self.talk.filter(|talk| agent.hooks && talk.asked)?;
        Some(format!("'{}' hook stop --attempt", talk.piton.replace('\'', r"'\''")))
    }
}
