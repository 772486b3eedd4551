//! Ids and people, as the scripted GitLab shows them.

use serde_json::{Value, json};

use super::state::Request;

/// The id of a person.
pub(super) fn user_of(name: &str) -> u64 {
    name.bytes().fold(7, |id, byte| (id * 31 + u64::from(byte)) % 1_000_003)
}

/// The id of the pipeline of a commit.
pub(super) fn pipeline_of(commit: &str) -> u64 {
    u64::from_str_radix(commit.get(..7).unwrap_or_default(), 16).unwrap_or_default()
}

/// The last verdict of each reviewer.
pub(super) fn reviewers(request: &Request) -> Vec<Value> {
    let mut last = std::collections::BTreeMap::new();
    for review in &request.reviews {
        last.insert(review.by.as_str(), review.state.as_str());
    }
    let state = |verdict: &str| match verdict {
        "APPROVED" => "approved",
        "CHANGES_REQUESTED" => "requested_changes",
        _ => "reviewed",
    };
    let one = |(by, verdict): (&str, &str)| json!({"user": {"id": user_of(by), "username": by}, "state": state(verdict)});
    last.into_iter().map(one).collect()
}

/// A request's reviewers, as its own answer names them.
pub(super) fn named_reviewers(request: &Request) -> Vec<Value> {
    reviewers(request).into_iter().map(|one| one["user"].clone()).collect()
}
