//! What keeps the agents of a run from starting, in the same words wherever it is shown.

use piton_core::run::{self, Run};
use piton_core::time::Timestamp;

/// One thing that keeps agents from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldUp {
    /// Short enough for one line among others.
    pub text: String,
    /// What the client said about it, where it said something.
    pub reason: String,
}

impl HeldUp {
    /// All that is known.
    pub(crate) fn whole(&self) -> String {
        if self.reason.is_empty() { self.text.clone() } else { format!("{}: {}", self.text, self.reason) }
    }
}

pub(crate) fn held_up(run: &Run, now: Timestamp) -> Vec<HeldUp> {
    let limits = run::limits(run, now).map(|(name, until)| HeldUp {
        text: format!("usage limit of {name}, over in {}", until.since(now)),
        reason: String::new(),
    });
    let parked = run::parked(run).map(|(name, overload)| {
        let next = match overload.ask_at {
            at if at > now => format!("Piton asks again in {}", at.since(now)),
            _ => "Piton asks again soon".to_owned(),
        };
        HeldUp { text: format!("{name} does not answer, {next}"), reason: overload.reason.clone() }
    });
    let refused = run::refused(run).map(|(name, outage)| HeldUp {
        text: format!("{name} rejects the login of `{}`", outage.agent),
        reason: outage.reason.clone(),
    });
    limits.chain(parked).chain(refused).collect()
}
