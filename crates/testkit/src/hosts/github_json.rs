//! Values as `gh --json` and GitHub's API print them.

use serde_json::{Map, Value, json};

use super::acts::{Obstacle, decision, obstacles};
use super::reply::{Said, said};
use super::repository::Repository;
use super::state::{Check, CheckResult, Comment, Issue, Phase, Request, State};

const REQUEST: [&str; 33] = [
    "additions",
    "author",
    "autoMergeRequest",
    "baseRefName",
    "baseRefOid",
    "body",
    "changedFiles",
    "closed",
    "closedAt",
    "comments",
    "createdAt",
    "headRefName",
    "headRefOid",
    "headRepository",
    "headRepositoryOwner",
    "id",
    "isCrossRepository",
    "isDraft",
    "labels",
    "latestReviews",
    "mergeCommit",
    "mergeStateStatus",
    "mergeable",
    "mergedAt",
    "mergedBy",
    "number",
    "reviewDecision",
    "reviewRequests",
    "reviews",
    "state",
    "statusCheckRollup",
    "title",
    "updatedAt",
];
const ISSUE: [&str; 17] = [
    "assignees",
    "author",
    "body",
    "closed",
    "closedAt",
    "closedByPullRequestsReferences",
    "comments",
    "createdAt",
    "id",
    "labels",
    "milestone",
    "number",
    "state",
    "stateReason",
    "title",
    "updatedAt",
    "url",
];
/// Of `gh` 2.94 and newer.
const EDGES: [&str; 5] = ["blockedBy", "blocking", "parent", "subIssues", "subIssuesSummary"];

/// The wanted fields of a value, or the refusal of `gh` for one that it does not know.
fn picked(all: &Value, known: &[&str], wanted: &str) -> Said<Value> {
    let mut picked = Map::new();
    for field in wanted.split(',') {
        if field != "url" && !known.contains(&field) {
            let known = known.iter().map(|field| format!("  {field}\n")).collect::<String>();
            return Err(said(1, format!("Unknown JSON field: \"{field}\"\nAvailable fields:\n{known}")));
        }
        picked.insert(field.to_owned(), all.get(field).cloned().unwrap_or(Value::Null));
    }
    Ok(Value::Object(picked))
}

/// The refusal of a field that requests do not have, also where there is none to show.
pub(super) fn known_of_requests(wanted: &str) -> Said<()> {
    picked(&Value::Null, &REQUEST, wanted).map(drop)
}

pub(super) fn known_of_issues(state: &State, wanted: &str) -> Said<()> {
    let edges: &[&str] = if state.rules.no_edges { &[] } else { &EDGES };
    picked(&Value::Null, &[&ISSUE[..], edges].concat(), wanted).map(drop)
}

pub(super) fn request(
    state: &State,
    repository: &Repository,
    request: &Request,
    wanted: &str,
) -> Said<Value> {
    let is_open = request.phase == Phase::Open;
    let blocked = if is_open { obstacles(state, repository, request.number) } else { Vec::new() };
    let (mergeable, status) = merge_state(state, request, &blocked);
    let user = json!({"id": "U_1", "is_bot": false, "login": "me", "name": "Me"});
    let all = json!({
        "additions": 1,
        "author": user,
        "autoMergeRequest": request.auto.map(|method| json!({
            "authorEmail": null, "commitBody": null, "commitHeadline": null, "enabledAt": request.updated_at,
            "enabledBy": user, "mergeMethod": format!("{method:?}").to_uppercase(),
        })),
        "baseRefName": request.base,
        "baseRefOid": repository.tip(&request.base),
        "body": request.body,
        "changedFiles": 1,
        "closed": !is_open,
        "closedAt": (!is_open).then_some(&request.updated_at),
        "comments": request.comments.iter().map(|comment| gh_comment(state, request.number, comment)).collect::<Vec<_>>(),
        "createdAt": request.created_at,
        "headRefName": request.branch,
        "headRefOid": request.head,
        "headRepository": {"id": "R_1", "name": state.name},
        "headRepositoryOwner": {"id": "U_2", "login": state.owner},
        "id": format!("PR_{}", request.number),
        "isCrossRepository": false,
        "isDraft": request.draft,
        "labels": request.labels.iter().map(|label| json!({"name": label})).collect::<Vec<_>>(),
        "latestReviews": request.reviews.iter().map(review).collect::<Vec<_>>(),
        "mergeCommit": request.merge_commit.as_ref().map(|oid| json!({"oid": oid})),
        "mergeStateStatus": status,
        "mergeable": mergeable,
        "mergedAt": request.merged_at,
        "mergedBy": request.merged_at.as_ref().map(|_| user.clone()),
        "number": request.number,
        "reviewDecision": decision(state, request),
        "reviewRequests": [],
        "reviews": request.reviews.iter().map(review).collect::<Vec<_>>(),
        "state": format!("{:?}", request.phase).to_uppercase(),
        "statusCheckRollup": state.checks_of(&request.head).iter().enumerate()
            .map(|(at, check)| rollup(state, at, check)).collect::<Vec<_>>(),
        "title": request.title,
        "updatedAt": request.updated_at,
        "url": url(state, request.number),
    });
    picked(&all, &REQUEST, wanted)
}

pub(super) fn url(state: &State, number: u64) -> String {
    format!("https://{}/{}/pull/{number}", state.host, state.full_name())
}

pub(super) fn issue_url(state: &State, number: u64) -> String {
    format!("https://{}/{}/issues/{number}", state.host, state.full_name())
}

fn merge_state(state: &State, request: &Request, blocked: &[Obstacle]) -> (&'static str, &'static str) {
    if request.phase != Phase::Open || request.unknown {
        return ("UNKNOWN", "UNKNOWN");
    }
    let has = |obstacle| blocked.contains(&obstacle);
    if has(Obstacle::Conflict) {
        return ("CONFLICTING", "DIRTY");
    }
    let checks = state.checks_of(&request.head);
    let status = if has(Obstacle::Check) || has(Obstacle::Review) {
        "BLOCKED"
    } else if has(Obstacle::Behind) {
        "BEHIND"
    } else if checks.iter().any(|check| check.result != CheckResult::Green) {
        "UNSTABLE"
    } else {
        "CLEAN"
    };
    ("MERGEABLE", status)
}

fn review(review: &super::state::Review) -> Value {
    json!({
        "id": format!("PRR_{}", review.id), "author": {"login": review.by}, "authorAssociation": "MEMBER",
        "body": review.body, "submittedAt": review.at, "includesCreatedEdit": false, "reactionGroups": [],
        "state": review.state, "commit": {"oid": review.commit},
    })
}

fn gh_comment(state: &State, number: u64, comment: &Comment) -> Value {
    json!({
        "id": format!("IC_{}", comment.id), "author": {"login": comment.by}, "authorAssociation": comment.role,
        "body": comment.body, "createdAt": comment.at, "includesCreatedEdit": false, "isMinimized": false,
        "minimizedReason": "", "reactionGroups": [],
        "url": format!("{}#issuecomment-{}", issue_url(state, number), comment.id),
        "viewerDidAuthor": comment.by == "me",
    })
}

fn rollup(state: &State, at: usize, check: &Check) -> Value {
    let (status, conclusion) = match check.result {
        CheckResult::Pending => ("IN_PROGRESS", ""),
        CheckResult::Green => ("COMPLETED", "SUCCESS"),
        CheckResult::Red => ("COMPLETED", "FAILURE"),
        CheckResult::Cancelled => ("COMPLETED", "CANCELLED"),
    };
    let completed = if conclusion.is_empty() { "0001-01-01T00:00:00Z".to_owned() } else { state.now() };
    let details = format!("https://{}/{}/actions/runs/77/job/{}", state.host, state.full_name(), at + 1);
    json!({
        "__typename": "CheckRun", "completedAt": completed, "conclusion": conclusion, "detailsUrl": details,
        "name": check.name, "startedAt": state.now(), "status": status, "workflowName": "ci",
    })
}

/// As `gh pr checks --json` prints a check.
pub(super) fn check(state: &State, at: usize, check: &Check, wanted: &str) -> Said<Value> {
    let known =
        ["bucket", "completedAt", "description", "event", "link", "name", "startedAt", "state", "workflow"];
    let seen = rollup(state, at, check);
    let (bucket, word) = match check.result {
        CheckResult::Pending => ("pending", "IN_PROGRESS"),
        CheckResult::Green => ("pass", "SUCCESS"),
        CheckResult::Red => ("fail", "FAILURE"),
        CheckResult::Cancelled => ("cancel", "CANCELLED"),
    };
    let all = json!({
        "bucket": bucket, "completedAt": seen["completedAt"], "description": "", "event": "pull_request",
        "link": seen["detailsUrl"], "name": check.name, "startedAt": seen["startedAt"], "state": word, "workflow": "ci",
    });
    picked(&all, &known, wanted)
}

pub(super) fn issue(state: &State, issue: &Issue, wanted: &str) -> Said<Value> {
    let named = |number: &u64| {
        let other = state.issues.iter().find(|other| other.number == *number);
        json!({
            "id": format!("I_{number}"), "number": number, "title": other.map_or("", |other| &other.title),
            "state": if other.is_some_and(|other| other.closed) { "CLOSED" } else { "OPEN" },
            "url": issue_url(state, *number), "repository": {"nameWithOwner": state.full_name()},
        })
    };
    let parts: Vec<u64> = state
        .issues
        .iter()
        .filter(|other| other.parent == Some(issue.number))
        .map(|other| other.number)
        .collect();
    let blocking: Vec<u64> = state
        .issues
        .iter()
        .filter(|other| other.blocked_by.contains(&issue.number))
        .map(|other| other.number)
        .collect();
    let nodes = |numbers: &[u64]| json!({"nodes": numbers.iter().map(named).collect::<Vec<_>>(), "totalCount": numbers.len()});
    let reason = match (issue.closed, issue.not_planned) {
        (false, _) => "",
        (true, false) => "COMPLETED",
        (true, true) => "NOT_PLANNED",
    };
    let all = json!({
        "assignees": issue.assignees.iter().map(|login| json!({"login": login})).collect::<Vec<_>>(),
        "author": {"id": "U_9", "is_bot": false, "login": issue.author, "name": issue.author},
        "body": issue.body,
        "closed": issue.closed,
        "closedAt": issue.closed.then_some(&issue.updated_at),
        "closedByPullRequestsReferences": [],
        "comments": issue.comments.iter().map(|comment| gh_comment(state, issue.number, comment)).collect::<Vec<_>>(),
        "createdAt": "2026-03-01T11:00:00Z",
        "id": format!("I_{}", issue.number),
        "labels": issue.labels.iter().map(|label| json!({"id": "LA_1", "name": label, "description": "", "color": "ededed"})).collect::<Vec<_>>(),
        "milestone": issue.milestone.as_ref().map(|title| json!({"number": 1, "title": title, "description": "", "dueOn": null})),
        "number": issue.number,
        "state": if issue.closed { "CLOSED" } else { "OPEN" },
        "stateReason": reason,
        "title": issue.title,
        "updatedAt": issue.updated_at,
        "url": issue_url(state, issue.number),
        "blockedBy": nodes(&issue.blocked_by),
        "blocking": nodes(&blocking),
        "parent": issue.parent.as_ref().map(named),
        "subIssues": nodes(&parts),
        "subIssuesSummary": {"total": parts.len(), "completed": 0, "percentCompleted": 0},
    });
    let edges: &[&str] = if state.rules.no_edges { &[] } else { &EDGES };
    picked(&all, &[&ISSUE[..], edges].concat(), wanted)
}

/// As the REST API has a request.
pub(super) fn rest_request(state: &State, repository: &Repository, request: &Request) -> Value {
    json!({
        "number": request.number, "title": request.title, "body": request.body, "draft": request.draft,
        "state": if request.phase == Phase::Open { "open" } else { "closed" },
        "merged": request.phase == Phase::Merged, "merged_at": request.merged_at,
        "merge_commit_sha": request.merge_commit, "html_url": url(state, request.number),
        "head": {"ref": request.branch, "sha": request.head},
        "base": {"ref": request.base, "sha": repository.tip(&request.base)},
    })
}

pub(super) fn rest_issue(state: &State, issue: &Issue) -> Value {
    json!({
        "id": 9_000 + issue.number, "number": issue.number, "title": issue.title, "body": issue.body,
        "state": if issue.closed { "closed" } else { "open" },
        "state_reason": issue.closed.then_some(if issue.not_planned { "not_planned" } else { "completed" }),
        "labels": issue.labels.iter().map(|label| json!({"name": label})).collect::<Vec<_>>(),
        "html_url": issue_url(state, issue.number), "updated_at": issue.updated_at, "user": {"login": issue.author},
    })
}

pub(super) fn rest_comment(comment: &Comment) -> Value {
    json!({
        "id": comment.id, "body": comment.body, "user": {"login": comment.by, "type": "User"},
        "author_association": comment.role, "created_at": comment.at, "updated_at": comment.at,
    })
}
