//! What a client has written so far.

use piton_core::client::{Adapter, Story};
use piton_core::run::{ByModel, Usage};
use piton_core::time::Timestamp;

use crate::keeper::Job;

/// What the stream of a job that ended at `ended_at` says; `None` for a client without a stream.
pub(super) fn story(adapter: Adapter, job: &Job, ended_at: Timestamp) -> Option<Story> {
    if adapter.is_command() {
        return None;
    }
    let whole = job.output().read_all().ok()?;
    let mut output = whole.head;
    if whole.omitted > 0 {
        // Before and after the gap are parts of different lines.
        output.push(b'\n');
        output.extend(whole.tail);
    }
    let mut story = Story::of(adapter, &output, ended_at)?;
    if whole.omitted > 0 && adapter.facts().reports_each_request {
        // The client reports each step by itself, and some are missing: the sum of the rest is too small.
        let seen = story.used.take().into_iter().chain([std::mem::take(&mut story.unreported)]);
        story.unreported = together(seen.flatten());
    }
    Some(story)
}

/// The sum for each model.
pub(super) fn together(parts: impl Iterator<Item = (String, Usage)>) -> ByModel {
    let mut sum = ByModel::new();
    for (model, usage) in parts {
        let part = sum.entry(model).or_default();
        *part = part.plus(usage);
    }
    sum
}
