//! What a client has written so far.

use piton_core::client::{Adapter, Story};
use piton_core::run::{ByModel, Usage};
use piton_core::time::Timestamp;

use crate::keeper::Job;

/// What the stream of a job says that ended then; `None` for a client without one.
pub(super) fn story(adapter: Adapter, job: &Job, ended_at: Timestamp) -> Option<Story> {
    if adapter.is_command() {
        return None;
    }
    let whole = job.output().read_all().ok()?;
    let mut output = whole.head;
    if whole.omitted > 0 {
        // What stands before and after the gap are two halves of two lines.
        output.push(b'\n');
        output.extend(whole.tail);
    }
    let mut story = Story::of(adapter, &output, ended_at)?;
    if whole.omitted > 0 && adapter.facts().reports_each_request {
        // It tells of each step by itself, and some are missing: what is left is less than all.
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
