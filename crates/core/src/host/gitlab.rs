//! Requests of GitLab: what its answers say about one, which jobs of its pipeline failed, and what its reviewers wrote.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::answer::{Ask, MOST, NAME, ask, oid, opened, parse, short, text};
use super::{Kind, Place};
use crate::plan::Oid;
use crate::run::request::{Mergeable, Phase, RedCheck, Remark, Review, Seen};

/// The role of a Developer, the first that may push. People with less have no say.
const DEVELOPER: u64 = 30;
/// So many authors of notes are looked up. More do not review one request.
const AUTHORS: usize = 20;

/// The jobs that made a pipeline red; none if it is not known which pipeline that is.
pub fn failed_jobs(place: &Place, red: &[RedCheck]) -> Option<Ask> {
    let [pipeline] = red else { return None };
    let number = number_in(place, &pipeline.url, "/-/pipelines/")?;
    Some(ask(["api", &format!("{}/pipelines/{number}/jobs?scope[]=failed&per_page=100", place.api_path())]))
}

/// The latest pipeline of a branch at a commit.
pub(super) fn pipelines(place: &Place, branch: &str, commit: &Oid) -> Ask {
    let branch: String = branch.split('/').collect::<Vec<_>>().join("%2F");
    let query = format!("sha={commit}&ref={branch}&order_by=id&sort=desc&per_page=1");
    ask(["api", &format!("{}/pipelines?{query}", place.api_path())])
}

/// What is red in the answer to [`pipelines`]: the pipeline as a whole.
pub fn red_pipeline(answer: &[u8]) -> Result<Vec<RedCheck>, String> {
    let all: Vec<Pipeline> = parse(answer)?;
    let latest = all.into_iter().next().filter(|pipeline| pipeline.status == "failed");
    Ok(latest.map(|pipeline| red(&pipeline)).into_iter().collect())
}

fn red(pipeline: &Pipeline) -> RedCheck {
    RedCheck { name: "pipeline".to_owned(), url: opened(0, &pipeline.web_url).url }
}

/// The answer to [`failed_jobs`].
pub fn red_jobs(answer: &[u8]) -> Result<Vec<RedCheck>, String> {
    let all: Vec<Job> = parse(answer)?;
    let is_red = |job: &Job| job.status == "failed" && !job.allow_failure;
    let check = |job: Job| RedCheck { name: short(&job.name, NAME), url: opened(0, &job.web_url).url };
    Ok(all.into_iter().filter(is_red).take(MOST).map(check).collect())
}

/// What a job printed.
pub(super) fn trace(place: &Place, job: &RedCheck) -> Option<Ask> {
    let number = number_in(place, &job.url, "/-/jobs/")?;
    Some(ask(["api", &format!("{}/jobs/{number}/trace", place.api_path())]))
}

/// The number that follows a part of an address of this host.
fn number_in<'u>(place: &Place, url: &'u str, part: &str) -> Option<&'u str> {
    let (_, rest) = url.split_once(part).filter(|_| place.kind == Kind::GitLab)?;
    let number = rest.split(['/', '?', '#']).next()?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// What each reviewer came to, if the answer to `view` names any.
pub fn verdicts(place: &Place, number: u64, view: &[u8]) -> Option<Ask> {
    let request: GitLabReviewers = parse(view).ok().filter(|_| place.kind == Kind::GitLab)?;
    let has_any = request.reviewers.is_some_and(|all| !all.is_empty());
    has_any.then(|| ask(["api", &format!("{}/merge_requests/{number}/reviewers", place.api_path())]))
}

/// The reviewers who ask for changes: the answer to [`verdicts`].
pub fn asking_for_changes(answer: &[u8]) -> Result<BTreeSet<u64>, String> {
    let all: Vec<Verdict> = parse(answer)?;
    Ok(all.into_iter().filter(|one| one.state == "requested_changes").map(|one| one.user.id).collect())
}

/// What was written about a request, the latest first.
pub fn notes(place: &Place, number: u64) -> Ask {
    let query = "sort=desc&order_by=created_at&per_page=100";
    ask(["api", &format!("{}/merge_requests/{number}/notes?{query}", place.api_path())])
}

/// Whether somebody is a member, and as what.
pub fn member(place: &Place, user: u64) -> Ask {
    ask(["api", &format!("{}/members/all/{user}", place.api_path())])
}

/// The answer to [`member`]: whether what they write counts.
pub fn has_a_say(answer: &[u8]) -> Result<bool, String> {
    let member: Member = parse(answer)?;
    Ok(member.access_level >= DEVELOPER && member.state.is_none_or(|state| state == "active"))
}

/// The notes about a request that may count, the earliest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// The answer to [`notes`]. What GitLab wrote by itself does not count, nor what is resolved. Internal notes are not for
    /// everybody who reads the work.
    pub fn read(answer: &[u8]) -> Result<Notes, String> {
        let mut all: Vec<Note> = parse(answer)?;
        all.retain(|note| {
            !note.system
                && !note.internal
                && !note.confidential
                && !note.resolved
                && !note.body.trim().is_empty()
        });
        all.reverse();
        Ok(Notes(all))
    }

    /// Who wrote them.
    pub fn authors(&self) -> BTreeSet<u64> {
        self.0.iter().rev().map(|note| note.author.id).take(AUTHORS).collect()
    }

    /// Put those of people who have a say where they belong: what reviewers ask for, and other remarks.
    pub fn sort_into(self, seen: &mut Seen, have_a_say: &BTreeSet<u64>, asking: &BTreeSet<u64>) {
        let asks_for_changes = seen.review == Review::ChangesWanted;
        for note in self.0.into_iter().filter(|note| have_a_say.contains(&note.author.id)) {
            let is_wanted = asks_for_changes && (note.resolvable || asking.contains(&note.author.id));
            let list = if is_wanted { &mut seen.wanted } else { &mut seen.remarks };
            if list.len() < MOST {
                list.push(note.remark());
            }
        }
    }
}

#[derive(Deserialize)]
struct Job {
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    allow_failure: bool,
    #[serde(default)]
    web_url: String,
}

#[derive(Deserialize)]
struct Member {
    access_level: u64,
    #[serde(default)]
    state: Option<String>,
}

#[derive(Deserialize)]
struct GitLabReviewers {
    #[serde(default)]
    reviewers: Option<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct Verdict {
    user: Author,
    #[serde(default)]
    state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Author {
    id: u64,
    #[serde(default)]
    username: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Note {
    id: u64,
    author: Author,
    #[serde(default)]
    body: String,
    #[serde(default)]
    system: bool,
    #[serde(default)]
    internal: bool,
    /// The name of `internal` before GitLab 15.
    #[serde(default)]
    confidential: bool,
    #[serde(default)]
    resolvable: bool,
    #[serde(default)]
    resolved: bool,
    #[serde(default)]
    position: Option<Position>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Position {
    #[serde(default)]
    new_path: Option<String>,
    #[serde(default)]
    old_path: Option<String>,
    #[serde(default)]
    new_line: Option<u64>,
}

impl Note {
    fn remark(self) -> Remark {
        let place = self.position.and_then(|at| {
            let line = at.new_line.map(|line| format!(":{line}")).unwrap_or_default();
            Some(format!("{}{line}", at.new_path.or(at.old_path)?))
        });
        Remark {
            id: format!("note-{}", self.id),
            by: short(&self.author.username, NAME),
            text: text(&self.body),
            place: short(&place.unwrap_or_default(), NAME),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct GitLabRequest {
    state: String,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    merge_commit_sha: Option<String>,
    #[serde(default)]
    squash_commit_sha: Option<String>,
    #[serde(default)]
    has_conflicts: bool,
    #[serde(default)]
    detailed_merge_status: String,
    #[serde(default)]
    merge_when_pipeline_succeeds: bool,
    #[serde(default)]
    head_pipeline: Option<Pipeline>,
    #[serde(default)]
    pipeline: Option<Pipeline>,
}

#[derive(Deserialize)]
struct Pipeline {
    #[serde(default)]
    status: String,
    #[serde(default)]
    sha: String,
    #[serde(default)]
    web_url: String,
}

impl GitLabRequest {
    pub(super) fn seen(self) -> Result<Seen, String> {
        let head = oid(self.sha.as_deref().unwrap_or_default())?;
        let phase = match self.state.as_str() {
            "opened" | "locked" => Phase::Open,
            "closed" => Phase::Closed,
            "merged" => {
                // Without either the target was moved forward to the head itself.
                let commit = self.merge_commit_sha.or(self.squash_commit_sha);
                let commit = commit.map_or(Ok(head.clone()), |commit| oid(&commit))?;
                Phase::Merged { commit: Some(commit) }
            }
            other => return Err(format!("the host calls the request `{}`", short(other, NAME))),
        };
        let (mergeable, review) = match self.detailed_merge_status.as_str() {
            _ if self.has_conflicts => (Mergeable::Conflict, Review::NotNeeded),
            "mergeable" => (Mergeable::Yes, Review::NotNeeded),
            "need_rebase" => (Mergeable::Behind, Review::NotNeeded),
            "conflict" => (Mergeable::Conflict, Review::NotNeeded),
            "not_approved" => (Mergeable::Blocked, Review::Needed),
            "requested_changes" | "discussions_not_resolved" => (Mergeable::Blocked, Review::ChangesWanted),
            "checking" | "unchecked" | "preparing" | "approvals_syncing" | "" => {
                (Mergeable::Unknown, Review::NotNeeded)
            }
            _ => (Mergeable::Blocked, Review::NotNeeded),
        };
        let mut seen = Seen {
            draft: self.draft,
            mergeable,
            review,
            queued: self.merge_when_pipeline_succeeds,
            ..Seen::bare(phase, head)
        };
        // A pipeline of an earlier push says nothing about this one.
        let of_head = |pipeline: &Pipeline| pipeline.sha == seen.head.as_str();
        let pipeline = [self.head_pipeline, self.pipeline].into_iter().flatten().find(of_head);
        if let Some(pipeline) = pipeline {
            let name = "pipeline".to_owned();
            match pipeline.status.as_str() {
                "success" | "skipped" => seen.passed = 1,
                "failed" => seen.red.push(red(&pipeline)),
                "canceled" | "canceling" | "manual" => seen.stuck.push(name),
                _ => seen.pending.push(name),
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
#[path = "gitlab_tests.rs"]
mod tests;
