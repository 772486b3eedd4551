//! Reporting one completed task: look, do one thing, look again.

use piton_core::system::asked::{Closing, IssueSeen, WriteKind};

use super::error::IssuesError;
use super::tracker::Tracker;
use crate::crash;

/// A comment and a close, and a look after each.
const ROUNDS: usize = 3;

/// What was done, as it was seen afterwards. Nothing, if the issue had been closed before.
pub(super) fn report(tracker: &Tracker, closing: &Closing) -> Result<Vec<WriteKind>, IssuesError> {
    let first = look(tracker, closing)?;
    let mut seen = first;
    let mut lost: Option<(WriteKind, IssuesError)> = None;
    for _ in 0..ROUNDS {
        let Some(write) = closing.next(seen) else { return Ok(done(first, seen)) };
        // It did not happen: this is why.
        if let Some((_, error)) = lost.take().filter(|(what, _)| *what == write.what) {
            return Err(error);
        }
        crash::point("issues.before-write");
        lost = tracker.write(&write)?.map(|error| (write.what, error));
        crash::point("issues.written");
        seen = look(tracker, closing)?;
    }
    match (closing.next(seen), lost) {
        (None, _) => Ok(done(first, seen)),
        (Some(_), Some((_, error))) => Err(error),
        (Some(_), None) => {
            Err(IssuesError::Odd(format!("issue {} does not show what was written to it", closing.id)))
        }
    }
}

fn done(first: IssueSeen, last: IssueSeen) -> Vec<WriteKind> {
    let comment = (!first.has_comment && last.has_comment).then_some(WriteKind::Comment);
    let close = (first.is_open && !last.is_open).then_some(WriteKind::Close);
    comment.into_iter().chain(close).collect()
}

fn look(tracker: &Tracker, closing: &Closing) -> Result<IssueSeen, IssuesError> {
    let answers: Result<Vec<String>, IssuesError> =
        closing.look().iter().map(|args| tracker.read(args)).collect();
    let odd = || IssuesError::Odd(format!("the answer about issue {} says nothing", closing.id));
    closing.seen(&answers?).ok_or_else(odd)
}
