//! What happened to a request, in one line.

use super::describe::Tone;
use crate::run::RequestFact;
use crate::run::request::{Phase, Seen};
use crate::terminal::one_line;

pub(super) fn describe(fact: &RequestFact) -> (Tone, String) {
    match fact {
        RequestFact::Prepared { branch, head, .. } => {
            (Tone::Quiet, format!("about to push {} to {branch}", head.short()))
        }
        RequestFact::Pushed { head } => (Tone::Quiet, format!("pushed {}", head.short())),
        RequestFact::Opened { number, url } => {
            (Tone::Plain, format!("request #{number} is open: {}", one_line(url)))
        }
        RequestFact::Seen { seen } => (Tone::Quiet, format!("the host says: {}", said(seen))),
        RequestFact::MergeBegins { head } => {
            (Tone::Quiet, format!("about to ask the host to merge {}", head.short()))
        }
        RequestFact::MergeAsked { .. } => (Tone::Plain, "the host accepted to merge it".to_owned()),
        RequestFact::MergeRefused { reason, .. } => {
            (Tone::Warning, format!("the host rejected the merge: {}", one_line(reason)))
        }
        RequestFact::SentBack { .. } => (Tone::Warning, "the host's answer goes to another agent".to_owned()),
        RequestFact::Unstacked { reason, .. } => {
            (Tone::Warning, format!("waits with its work kept: {}", one_line(reason)))
        }
        RequestFact::Returned { reason } => {
            (Tone::Plain, format!("it is proven again: {}", one_line(reason)))
        }
        RequestFact::Missing { commit } => {
            (Tone::Warning, format!("the target does not have {}, which the host names", commit.short()))
        }
        RequestFact::Merged { commit } => (Tone::Good, format!("the host merged it as {}", commit.short())),
    }
}

fn said(seen: &Seen) -> String {
    match seen.phase {
        Phase::Merged { .. } => return "merged".to_owned(),
        Phase::Closed => return "closed".to_owned(),
        Phase::Open => {}
    }
    let count = |number: usize, what: &str| (number > 0).then(|| format!("{number} {what}"));
    let parts = [
        count(seen.passed as usize, "passed"),
        count(seen.red.len(), "red"),
        count(seen.stuck.len(), "without a verdict"),
        count(seen.pending.len(), "running"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no checks".to_owned() } else { format!("checks: {}", parts.join(", ")) }
}
