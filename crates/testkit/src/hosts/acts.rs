//! What a scripted host does, whatever program asks for it.

use piton_core::host::Kind;

use super::repository::Repository;
use super::state::{CheckResult, Method, Phase, Request, State};

/// What keeps a request from being merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    Conflict,
    Draft,
    Behind,
    /// A required check is not green.
    Check,
    Review,
}

/// Bring requests up to what the repository holds: branches that were pushed or deleted, and merges by hand.
pub(super) fn refresh(state: &mut State, repository: &Repository) {
    let (now, slow) = (state.now(), state.rules.slow);
    for request in state.requests.iter_mut().filter(|request| request.phase == Phase::Open) {
        match repository.tip(&request.branch) {
            // The host notices that the target has it all.
            Some(tip) if repository.contains(&request.base, &tip) => {
                request.head = tip;
                (request.phase, request.merged_at) = (Phase::Merged, Some(now.clone()));
                request.merge_commit = repository.tip(&request.base);
                request.updated_at.clone_from(&now);
            }
            Some(tip) if tip != request.head => {
                (request.head, request.unknown) = (tip, slow);
                request.updated_at.clone_from(&now);
            }
            Some(_) => {}
            None => {
                (request.phase, request.queued, request.auto) = (Phase::Closed, false, None);
                request.updated_at.clone_from(&now);
            }
        }
    }
    let armed: Vec<(u64, Method)> = state
        .requests
        .iter()
        .filter(|request| request.phase == Phase::Open)
        .filter_map(|request| request.auto.map(|method| (request.number, method)))
        .collect();
    for (number, method) in armed {
        // GitLab waits for the pipeline, whether it is required or not.
        let waits = state.kind == Kind::GitLab && {
            let request = state.requests.iter().find(|request| request.number == number);
            let checks = request.map_or(&[][..], |request| state.checks_of(&request.head));
            checks.iter().any(|check| check.result != CheckResult::Green)
        };
        if !waits && obstacles(state, repository, number).is_empty() {
            merge(state, repository, number, method, None);
        }
    }
}

/// Everything that keeps a request from being merged.
pub(super) fn obstacles(state: &State, repository: &Repository, number: u64) -> Vec<Obstacle> {
    let request = state.requests.iter().find(|request| request.number == number).expect("it exists");
    let checks = state.checks_of(&request.head);
    let is_green =
        |name: &String| checks.iter().any(|check| check.name == *name && check.result == CheckResult::Green);
    let mut all = Vec::new();
    if !repository.can_merge(&request.base, &request.head) {
        all.push(Obstacle::Conflict);
    }
    if request.draft {
        all.push(Obstacle::Draft);
    }
    let is_behind = !repository.is_up_to_date(&request.head, &request.base);
    if is_behind && (state.rules.strict || state.rules.fast_forward) {
        all.push(Obstacle::Behind);
    }
    if !state.rules.required.iter().all(is_green) {
        all.push(Obstacle::Check);
    }
    if state.rules.review && decision(state, request) != "APPROVED"
        || decision(state, request) == "CHANGES_REQUESTED"
    {
        all.push(Obstacle::Review);
    }
    all
}

/// What the reviews come to, as GitHub says it: the last word of each reviewer counts.
pub(super) fn decision(state: &State, request: &Request) -> &'static str {
    let mut last = std::collections::BTreeMap::new();
    for review in request.reviews.iter().filter(|review| review.state != "COMMENTED") {
        last.insert(review.by.as_str(), review.state.as_str());
    }
    let any = |wanted: &str| last.values().any(|state| *state == wanted);
    if any("CHANGES_REQUESTED") {
        "CHANGES_REQUESTED"
    } else if any("APPROVED") {
        "APPROVED"
    } else if state.rules.review {
        "REVIEW_REQUIRED"
    } else {
        ""
    }
}

/// Merge a request that nothing keeps from it. Whether it was merged.
pub(super) fn merge(
    state: &mut State,
    repository: &Repository,
    number: u64,
    method: Method,
    message: Option<(&str, &str)>,
) -> bool {
    let (kind, forward, now, delete) =
        (state.kind, state.rules.fast_forward, state.now(), state.rules.delete_branches);
    let Some(request) = state.request(number) else { return false };
    let usual = match (kind, method) {
        (_, Method::Squash) => format!("{} (#{number})", request.title),
        (Kind::GitHub, _) => format!("Merge pull request #{number} from {}", request.branch),
        (Kind::GitLab, _) => format!("Merge branch '{}' into '{}'", request.branch, request.base),
    };
    let (title, body) = message.unwrap_or((&usual, ""));
    let merged = match (kind, method) {
        (Kind::GitLab, _) if forward => repository.fast_forward(&request.base, &request.head),
        (Kind::GitLab, Method::Squash) => repository.squash_and_merge(&request.base, &request.head, title),
        _ => repository.merge(&request.base, &request.head, method, title, body),
    };
    let Some(merged) = merged else { return false };
    request.merge_commit = (!(kind == Kind::GitLab && forward)).then_some(merged.tip);
    request.squash_commit = merged.squash;
    (request.phase, request.queued, request.merged_at) = (Phase::Merged, false, Some(now.clone()));
    request.updated_at = now;
    if delete {
        repository.delete(&request.branch.clone());
    }
    true
}

/// Open a request. The error is why the host does not, in words of its own.
pub(super) fn open(
    state: &mut State,
    repository: &Repository,
    branch: &str,
    base: &str,
    title: &str,
    body: &str,
) -> Result<u64, NotOpened> {
    let existing = state
        .requests
        .iter()
        .find(|known| known.phase == Phase::Open && known.branch == branch && known.base == base);
    if let Some(existing) = existing {
        return Err(NotOpened::Exists(existing.number));
    }
    let head = repository.tip(branch).ok_or(NotOpened::NoBranch)?;
    if repository.tip(base).is_none() {
        return Err(NotOpened::NoBase);
    }
    if state.kind == Kind::GitHub && repository.contains(base, &head) {
        return Err(NotOpened::NoCommits);
    }
    let number = state.next_request();
    let request = Request {
        number,
        title: title.to_owned(),
        body: body.to_owned(),
        branch: branch.to_owned(),
        base: base.to_owned(),
        head,
        phase: Phase::Open,
        draft: false,
        labels: Vec::new(),
        auto: None,
        queued: false,
        merge_commit: None,
        squash_commit: None,
        merged_at: None,
        created_at: state.now(),
        updated_at: state.now(),
        reviews: Vec::new(),
        comments: Vec::new(),
        unknown: state.rules.slow,
    };
    state.requests.push(request);
    Ok(number)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotOpened {
    Exists(u64),
    NoBranch,
    NoBase,
    NoCommits,
}
