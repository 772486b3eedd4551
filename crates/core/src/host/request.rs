//! Requests of both hosts: which questions are asked about them, and what the answers mean. What an answer says was written
//! by another program and by people, so nothing of it is believed before it has the right form, and every text is bounded.

use serde::Deserialize;

pub use super::answer::Ask;
use super::answer::{MOST, NAME, ask, oid, opened, parse, short, text};
use super::gitlab::{self, GitLabRequest};
use super::{Kind, Place};
use crate::message::{RUN_TRAILER, TASK_TRAILER};
use crate::plan::{MergeBy, Method, Oid, Requests, RunId, TaskSpec};
use crate::run::request::{Mergeable, Opened, Phase, RedCheck, Remark, Review, Seen};
use crate::terminal::clean_text;
use crate::view::recap::MOST_CHARACTERS;

const FIELDS: &str = "number,url,state,baseRefName,headRefOid,isDraft,mergeable,mergeStateStatus,mergeCommit,\
                      reviewDecision,reviews,comments,statusCheckRollup,autoMergeRequest";

/// What a request is opened with.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    pub branch: &'a str,
    pub target: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    pub draft: bool,
    pub labels: &'a [String],
}

/// What a repository allows, asked before anything is done.
pub fn repository(place: &Place) -> Ask {
    match place.kind {
        Kind::GitHub => ask([
            "repo",
            "view",
            &place.argument(),
            "--json",
            "viewerPermission,mergeCommitAllowed,squashMergeAllowed,rebaseMergeAllowed",
        ]),
        Kind::GitLab => ask(["api", &place.api_path()]),
    }
}

/// Whether requests can be opened and merged as the settings say. `Err`: why not.
pub fn allows(place: &Place, answer: &[u8], settings: &Requests) -> Result<(), String> {
    if place.kind == Kind::GitLab {
        // Any answer shows that it is there and may be read; the rest shows at the first request.
        return parse::<GitLabProject>(answer).map(drop);
    }
    let rules: GitHubRules = parse(answer)?;
    let permission = rules.viewer_permission.unwrap_or_default();
    if !matches!(permission.as_str(), "ADMIN" | "MAINTAIN" | "WRITE") {
        return Err("you may not push there".to_owned());
    }
    let (allowed, name) = match settings.method {
        Method::Merge => (rules.merge_commit_allowed, "merge"),
        Method::Squash => (rules.squash_merge_allowed, "squash"),
        Method::Rebase => (rules.rebase_merge_allowed, "rebase"),
    };
    if allowed == Some(false) && settings.merge != MergeBy::Person {
        return Err(format!("its settings do not allow to {name}: choose another --merge-method"));
    }
    Ok(())
}

/// The open requests of a branch.
pub fn list(place: &Place, branch: &str) -> Ask {
    match place.kind {
        Kind::GitHub => {
            ask(["pr", "list", "--head", branch, "--state", "open", "--limit", "10", "--json", "number,url"])
        }
        Kind::GitLab => ask(["mr", "list", "--source-branch", branch, "--output", "json"]),
    }
}

/// The title of a task's request.
pub fn title(spec: &TaskSpec, prefix: Option<&str>) -> String {
    let prefix = prefix.map(|prefix| format!("{prefix} ")).unwrap_or_default();
    short(&format!("{prefix}[{}] {}", spec.id, spec.title), 250)
}

/// What people read about it: what was asked for, and what has proven it here.
pub fn body(spec: &TaskSpec, run: &RunId) -> String {
    let line = |text: &str| short(text, 500);
    let code = |text: &str| line(text).replace('`', "'");
    let mut body = format!("{}\n", line(&spec.title));
    if !spec.criteria.is_empty() {
        body += "\n## What it has to do\n\n";
        spec.criteria.iter().take(MOST).for_each(|one| body += &format!("- {}\n", line(one)));
    }
    body += "\n## What has proven it\n\n";
    match spec.checks.as_slice() {
        [] => body += "The plan has no check for it.\n",
        checks => {
            body += "These checks passed on this branch with the target merged in:\n\n";
            checks.iter().take(MOST).for_each(|check| body += &format!("- `{}`\n", code(&check.name)));
        }
    }
    body + &format!("\n{RUN_TRAILER}: {run}\n{TASK_TRAILER}: {}\n", spec.id)
}

/// The title of a run's request, or of a group's.
pub fn title_of_run(name: &str, batch: Option<&str>, prefix: Option<&str>) -> String {
    let prefix = prefix.map(|prefix| format!("{prefix} ")).unwrap_or_default();
    let batch = batch.map(|batch| format!(": {batch}")).unwrap_or_default();
    short(&format!("{prefix}{name}{batch}"), 250)
}

/// What people read about a run's request: a summary of the run, as far as a host accepts it.
pub fn body_of_run(summary: &str, run: &RunId) -> String {
    let end = format!("\n{RUN_TRAILER}: {run}\n");
    let mut room = summary.len().min(MOST_CHARACTERS - end.len());
    while !summary.is_char_boundary(room) {
        room -= 1;
    }
    format!("{}{end}", &summary[..room])
}

/// What comes before the text of a request that stands on others.
pub fn stands_on(below: &[&str]) -> String {
    match below {
        [] => String::new(),
        below => format!("Built on {}, and to be merged after that.\n\n", below.join(", ")),
    }
}

/// The branch that a request is to be merged into, by the answer to [`view`].
pub fn base(place: &Place, answer: &[u8]) -> Result<Option<String>, String> {
    let base: Base = parse(answer)?;
    let name = match place.kind {
        Kind::GitHub => base.base_ref_name,
        Kind::GitLab => base.target_branch,
    };
    Ok(name.map(|name| short(&name, 500)))
}

pub fn change_base(place: &Place, number: u64, base: &str) -> Ask {
    let number = number.to_string();
    match place.kind {
        Kind::GitHub => ask(["pr", "edit", &number, "--base", base]),
        Kind::GitLab => ask(["mr", "update", &number, "--target-branch", base]),
    }
}

pub fn open(place: &Place, opening: &Opening<'_>) -> Ask {
    let Opening { branch, target, title, body, draft, labels } = *opening;
    let mut asked = match place.kind {
        Kind::GitHub => {
            ask(["pr", "create", "--head", branch, "--base", target, "--title", title, "--body-file", "-"])
        }
        Kind::GitLab => ask([
            "mr",
            "create",
            "--source-branch",
            branch,
            "--target-branch",
            target,
            "--title",
            title,
            "--description",
            body,
            "--yes",
        ]),
    };
    asked.text = (place.kind == Kind::GitHub).then(|| body.to_owned());
    if draft {
        asked.words.push("--draft".to_owned());
    }
    for label in labels {
        asked.words.extend(["--label".to_owned(), label.clone()]);
    }
    asked
}

pub fn view(place: &Place, number: u64) -> Ask {
    let number = number.to_string();
    match place.kind {
        Kind::GitHub => ask(["pr", "view", &number, "--json", FIELDS]),
        Kind::GitLab => ask(["mr", "view", &number, "--output", "json"]),
    }
}

/// Ask for the merge of exactly this commit.
pub fn merge(place: &Place, number: u64, head: &Oid, settings: &Requests) -> Ask {
    let number = number.to_string();
    let by_host = settings.merge == MergeBy::Host;
    let mut asked = match place.kind {
        Kind::GitHub => ask(["pr", "merge", &number, "--match-head-commit", head.as_str()]),
        Kind::GitLab => ask(["mr", "merge", &number, "--sha", head.as_str(), "--yes"]),
    };
    let more = match (place.kind, settings.method) {
        (Kind::GitHub, Method::Merge) => Some("--merge"),
        (Kind::GitLab, Method::Merge) => None,
        (_, Method::Squash) => Some("--squash"),
        (_, Method::Rebase) => Some("--rebase"),
    };
    let when = match (place.kind, by_host) {
        (Kind::GitHub, true) => Some("--auto"),
        (Kind::GitHub, false) => None,
        (Kind::GitLab, true) => Some("--auto-merge"),
        (Kind::GitLab, false) => Some("--auto-merge=false"),
    };
    asked.words.extend(more.into_iter().chain(when).map(str::to_owned));
    asked
}

/// Remarks on lines of the work, which are no part of the request itself.
pub fn line_remarks(place: &Place, number: u64) -> Option<Ask> {
    let path = format!("{}/pulls/{number}/comments?per_page=100", place.api_path());
    (place.kind == Kind::GitHub).then(|| ask(["api", &path]))
}

/// What a red check printed: at GitHub all red jobs of its run.
pub fn log(place: &Place, check: &RedCheck) -> Option<Ask> {
    if place.kind == Kind::GitLab {
        return gitlab::trace(place, check);
    }
    let (_, rest) = check.url.split_once("/actions/runs/")?;
    let run = rest.split('/').next().filter(|run| !run.is_empty())?;
    run.bytes().all(|byte| byte.is_ascii_digit()).then(|| ask(["run", "view", run, "--log-failed"]))
}

/// What the host's checks say about the target at this commit. Which of them are red is in [`red_names`].
pub fn target_checks(place: &Place, target: &str, tip: &Oid) -> Vec<Ask> {
    let commit = format!("{}/commits/{tip}", place.api_path());
    match place.kind {
        Kind::GitHub => vec![
            ask(["api", &format!("{commit}/check-runs?filter=latest&per_page=100")]),
            ask(["api", &format!("{commit}/status?per_page=100")]),
        ],
        Kind::GitLab => vec![gitlab::pipelines(place, target, tip)],
    }
}

/// The red ones in an answer to [`target_checks`] of GitHub.
pub fn red_names(answer: &[u8]) -> Result<Vec<String>, String> {
    let all: GitHubChecks = parse(answer)?;
    let ended = |end: Option<&str>| end.is_some_and(|end| matches!(end, "failure" | "error"));
    let runs = all.check_runs.into_iter().filter(|run| ended(run.conclusion.as_deref())).map(|run| run.name);
    let statuses =
        all.statuses.into_iter().filter(|status| ended(status.state.as_deref())).map(|one| one.context);
    Ok(runs.chain(statuses).map(|name| short(&name, NAME)).collect())
}

/// The open request among the answers to [`list`].
pub fn listed(place: &Place, answer: &[u8]) -> Result<Option<Opened>, String> {
    let opened = match place.kind {
        Kind::GitHub => {
            let all: Vec<GitHubName> = parse(answer)?;
            all.into_iter().map(|one| opened(one.number, &one.url)).next()
        }
        Kind::GitLab => {
            let all: Vec<GitLabName> = parse(answer)?;
            all.into_iter().map(|one| opened(one.iid, &one.web_url)).next()
        }
    };
    Ok(opened)
}

/// The request that was just opened: its programs print its address.
pub fn created(answer: &[u8]) -> Option<Opened> {
    let text = clean_text(answer);
    let words = text.split_whitespace().rev();
    words.into_iter().find_map(|word| {
        let is_request = word.contains("/pull/") || word.contains("/merge_requests/");
        let number = word.rsplit('/').next()?.parse::<u64>().ok()?;
        (is_request && word.contains("://")).then(|| opened(number, word))
    })
}

/// What a host says about a request.
pub fn seen(place: &Place, answer: &[u8]) -> Result<Seen, String> {
    match place.kind {
        Kind::GitHub => parse::<GitHubRequest>(answer)?.seen(),
        Kind::GitLab => parse::<GitLabRequest>(answer)?.seen(),
    }
}

/// The answer to [`line_remarks`].
pub fn remarks_on_lines(answer: &[u8]) -> Result<Vec<Remark>, String> {
    let all: Vec<GitHubLineRemark> = parse(answer)?;
    let has_say = |one: &GitHubLineRemark| has_a_say(&one.author_association);
    let remark = |one: GitHubLineRemark| {
        let line = one.line.map(|line| format!(":{line}")).unwrap_or_default();
        Remark {
            id: format!("line-{}", one.id),
            by: short(&one.user.unwrap_or_default().login, NAME),
            text: text(&one.body),
            place: short(&format!("{}{line}", one.path), NAME),
        }
    };
    Ok(all.into_iter().filter(has_say).take(MOST).map(remark).collect())
}

/// Whether what somebody writes about a request counts. On a public host anybody may write.
fn has_a_say(association: &str) -> bool {
    matches!(association, "OWNER" | "MEMBER" | "COLLABORATOR")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitHubRules {
    viewer_permission: Option<String>,
    merge_commit_allowed: Option<bool>,
    squash_merge_allowed: Option<bool>,
    rebase_merge_allowed: Option<bool>,
}

#[derive(Deserialize)]
struct GitLabProject {
    #[serde(rename = "id")]
    _id: u64,
}

#[derive(Deserialize)]
struct GitHubName {
    number: u64,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
struct Base {
    #[serde(rename = "baseRefName")]
    base_ref_name: Option<String>,
    target_branch: Option<String>,
}

#[derive(Deserialize)]
struct GitLabName {
    iid: u64,
    #[serde(default)]
    web_url: String,
}

#[derive(Default, Deserialize)]
struct Login {
    #[serde(default)]
    login: String,
}

#[derive(Deserialize)]
struct GitHubChecks {
    #[serde(default)]
    check_runs: Vec<GitHubRun>,
    #[serde(default)]
    statuses: Vec<GitHubStatus>,
}

#[derive(Deserialize)]
struct GitHubRun {
    #[serde(default)]
    name: String,
    #[serde(default)]
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct GitHubStatus {
    #[serde(default)]
    context: String,
    #[serde(default)]
    state: Option<String>,
}

#[derive(Deserialize)]
struct Commit {
    oid: String,
}

#[derive(Deserialize)]
struct GitHubLineRemark {
    id: u64,
    #[serde(default)]
    user: Option<Login>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    author_association: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitHubRequest {
    state: String,
    head_ref_oid: String,
    #[serde(default)]
    is_draft: bool,
    #[serde(default)]
    mergeable: String,
    #[serde(default)]
    merge_state_status: String,
    #[serde(default)]
    merge_commit: Option<Commit>,
    #[serde(default)]
    review_decision: Option<String>,
    #[serde(default)]
    reviews: Option<Vec<GitHubRemark>>,
    #[serde(default)]
    comments: Option<Vec<GitHubRemark>>,
    #[serde(default)]
    status_check_rollup: Option<Vec<GitHubCheck>>,
    #[serde(default)]
    auto_merge_request: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitHubRemark {
    #[serde(default)]
    id: String,
    #[serde(default)]
    author: Option<Login>,
    #[serde(default)]
    author_association: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    state: String,
}

/// A check of a workflow has a name, a status and a conclusion; one that another program reports has a context and a state.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GitHubCheck {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    details_url: Option<String>,
    #[serde(default)]
    target_url: Option<String>,
}

impl GitHubRequest {
    fn seen(self) -> Result<Seen, String> {
        let phase = match self.state.as_str() {
            "OPEN" => Phase::Open,
            "CLOSED" => Phase::Closed,
            "MERGED" => Phase::Merged { commit: self.merge_commit.map(|it| oid(&it.oid)).transpose()? },
            other => return Err(format!("the host calls the request `{}`", short(other, NAME))),
        };
        let mergeable = match (self.mergeable.as_str(), self.merge_state_status.as_str()) {
            ("CONFLICTING", _) | (_, "DIRTY") => Mergeable::Conflict,
            (_, "BEHIND") => Mergeable::Behind,
            (_, "BLOCKED" | "DRAFT") => Mergeable::Blocked,
            ("UNKNOWN", _) | (_, "UNKNOWN") => Mergeable::Unknown,
            // Unstable: a check is red or runs that the host does not insist on. Checks are judged by themselves.
            (_, "CLEAN" | "HAS_HOOKS" | "UNSTABLE") | ("MERGEABLE", "") => Mergeable::Yes,
            _ => Mergeable::Unknown,
        };
        let review = match self.review_decision.as_deref() {
            Some("APPROVED") => Review::Approved,
            Some("CHANGES_REQUESTED") => Review::ChangesWanted,
            Some("REVIEW_REQUIRED") => Review::Needed,
            _ => Review::NotNeeded,
        };
        let mut seen = Seen {
            draft: self.is_draft,
            mergeable,
            review,
            queued: self.auto_merge_request.is_some_and(|it| !it.is_null()),
            ..Seen::bare(phase, oid(&self.head_ref_oid)?)
        };
        for check in self.status_check_rollup.unwrap_or_default() {
            check.count(&mut seen);
        }
        for (of_review, remark) in self
            .reviews
            .unwrap_or_default()
            .into_iter()
            .map(|it| (true, it))
            .chain(self.comments.unwrap_or_default().into_iter().map(|it| (false, it)))
        {
            if !has_a_say(&remark.author_association) || remark.id.is_empty() {
                continue;
            }
            let asks_for_changes = of_review && remark.state == "CHANGES_REQUESTED";
            let remark = Remark {
                id: short(&remark.id, NAME),
                by: short(&remark.author.unwrap_or_default().login, NAME),
                text: text(&remark.body),
                place: String::new(),
            };
            let list = if asks_for_changes { &mut seen.wanted } else { &mut seen.remarks };
            if list.len() < MOST && (asks_for_changes || !remark.text.is_empty()) {
                list.push(remark);
            }
        }
        Ok(seen)
    }
}

impl GitHubCheck {
    fn count(self, seen: &mut Seen) {
        let name = self.name.or(self.context).unwrap_or_default();
        let name = short(&name, NAME);
        let url = self.details_url.or(self.target_url).unwrap_or_default();
        let known =
            |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(str::to_owned);
        let end = match (known(&self.status).as_deref(), known(&self.conclusion), known(&self.state)) {
            (Some("COMPLETED"), Some(end), _) | (None, _, Some(end)) => end,
            _ => "PENDING".to_owned(),
        };
        match end.as_str() {
            "SUCCESS" | "NEUTRAL" | "SKIPPED" => seen.passed += 1,
            "FAILURE" | "ERROR" => seen.red.push(RedCheck { name, url: opened(0, &url).url }),
            "PENDING" | "EXPECTED" => seen.pending.push(name),
            // It was cancelled or timed out, or nobody started it: that says nothing about the work.
            _ => seen.stuck.push(name),
        }
        for list in [&mut seen.pending, &mut seen.stuck] {
            list.truncate(MOST);
        }
        seen.red.truncate(MOST);
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
