//! The scripted `glab`: as much of it as Piton uses, with the messages and exit codes of glab 1.120.

use serde_json::{Value, json};

use super::acts::{self, NotOpened, Obstacle};
use super::args::Args;
use super::gitlab_json::{named_reviewers, pipeline_of};
use super::reply::{Reply, Said, boxed, json, line, refused, said};
use super::repository::Repository;
use super::state::{Check, CheckResult, Comment, Method, Phase, Request, State};

pub(super) struct Glab<'a> {
    pub(super) state: &'a mut State,
    pub(super) repository: &'a Repository,
    pub(super) stdin: &'a str,
}

pub(super) const REPO: &str = "--repo|-R";
pub(super) const OUTPUT: &str = "--output|-F|-O";

pub(super) fn answer(mut glab: Glab<'_>, args: &[String]) -> Said {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if words == ["--version"] {
        return Ok(line("glab 1.120.0 (78790114c)"));
    }
    if let ["auth", "status", ..] = words.as_slice() {
        return glab.auth(&args[2..]);
    }
    if !glab.state.rules.logged_in {
        return Err(if words.first() == Some(&"api") {
            refused("glab", 401, "401 Unauthorized")
        } else {
            boxed("Unauthenticated.")
        });
    }
    match words.as_slice() {
        ["mr", "create", ..] => glab.create(&args[2..]),
        ["mr", "view", ..] => glab.view(&args[2..]),
        ["mr", "list", ..] => glab.list(&args[2..]),
        ["mr", "update", ..] => glab.update(&args[2..]),
        ["mr", "merge", ..] => glab.merge(&args[2..]),
        ["mr", "note", "create", ..] => glab.note(&args[3..], true),
        ["mr", "note", ..] => glab.note(&args[2..], true),
        ["mr", "close", ..] => glab.close(&args[2..]),
        ["mr", "rebase", ..] => glab.rebase(&args[2..]),
        ["issue", "list", ..] => glab.issues(&args[2..]),
        ["issue", "view", ..] => glab.issue(&args[2..]),
        ["issue", "update", ..] => glab.update_issue(&args[2..]),
        ["issue", "note", ..] => glab.note(&args[2..], false),
        ["issue", "close", ..] => glab.close_issue(&args[2..], true),
        ["issue", "reopen", ..] => glab.close_issue(&args[2..], false),
        ["repo", "view", ..] => glab.repo(&args[2..]),
        ["api", ..] => glab.api(&args[1..]),
        _ => Err(boxed(&format!("Unknown command {:?} for \"glab\".", words.join(" ")))),
    }
}

fn not_found(number: u64) -> Reply {
    boxed(&format!("Failed to get merge request {number}: 404 Not Found."))
}

impl Glab<'_> {
    fn auth(&self, args: &[String]) -> Said {
        Args::read(args, &["--hostname|-h"], &["--all|-a"])?;
        let host = &self.state.host;
        if self.state.rules.logged_in {
            return Ok(said(0, format!("{host}\n  ✓ Logged in to {host} as me (keyring)")));
        }
        Err(said(
            1,
            format!(
                "{host}\n  x {host} has not been authenticated with glab. Run `glab auth login --hostname {host}`"
            ),
        ))
    }

    pub(super) fn meant(&self, args: &Args) -> Said<()> {
        let (host, name) = (&self.state.host, self.state.full_name());
        match args.get("--repo") {
            Some(meant) if meant != name && meant != format!("https://{host}/{name}") => {
                Err(boxed("404 Project Not Found."))
            }
            _ => Ok(()),
        }
    }

    /// The number of a request that exists.
    pub(super) fn named(&self, args: &Args) -> Said<u64> {
        self.meant(args)?;
        let number = args.number(0)?;
        let exists = self.state.requests.iter().any(|request| request.number == number);
        if exists { Ok(number) } else { Err(not_found(number)) }
    }

    fn url(&self, number: u64) -> String {
        format!("https://{}/{}/-/merge_requests/{number}", self.state.host, self.state.full_name())
    }

    pub(super) fn issue_url(&self, number: u64) -> String {
        format!("https://{}/{}/-/work_items/{number}", self.state.host, self.state.full_name())
    }

    fn repo(&self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO, OUTPUT], &[])?;
        self.meant(&args)?;
        Ok(json(&self.project()))
    }

    pub(super) fn project(&self) -> Value {
        json!({
            "id": 1, "path_with_namespace": self.state.full_name(), "default_branch": "main",
            "merge_method": if self.state.rules.fast_forward { "ff" } else { "merge" },
            "only_allow_merge_if_pipeline_succeeds": !self.state.rules.required.is_empty(),
            "remove_source_branch_after_merge": self.state.rules.delete_branches,
            "merge_trains_enabled": self.state.rules.queue, "permissions": {"project_access": {"access_level": 40}},
        })
    }

    fn create(&mut self, args: &[String]) -> Said {
        let valued = [
            "--source-branch|-s",
            "--target-branch|-b",
            "--title|-t",
            "--description|-d",
            "--label|-l",
            "--assignee|-a",
            "--reviewer",
            "--milestone|-m",
            REPO,
        ];
        let args = Args::read(
            args,
            &valued,
            &[
                "--draft",
                "--wip",
                "--yes|-y",
                "--remove-source-branch",
                "--squash-before-merge",
                "--no-editor",
            ],
        )?;
        self.meant(&args)?;
        let (Some(title), Some(body), Some(branch)) =
            (args.get("--title"), args.get("--description"), args.get("--source-branch"))
        else {
            return Err(boxed("--Title or --fill required for non-interactive mode."));
        };
        let base = args.get("--target-branch").unwrap_or("main");
        let number = self.open(branch, base, title, body).map_err(|(status, problem)| {
            let path = format!(
                "https://{}/api/v4/projects/{}/merge_requests",
                self.state.host,
                self.state.full_name().replace('/', "%2F")
            );
            boxed(&format!("Post {path}: {status} {{message: {problem}}}."))
        })?;
        let draft = args.has("--draft") || args.has("--wip");
        let request = self.state.request(number).expect("just opened");
        request.draft = draft;
        request.labels = args.list("--label");
        let stderr =
            format!("\nCreating merge request for {branch} into {base} in {}\n\n", self.state.full_name());
        Ok(Reply { stderr, ..line(self.url(number)) })
    }

    pub(super) fn open(
        &mut self,
        branch: &str,
        base: &str,
        title: &str,
        body: &str,
    ) -> Result<u64, (u16, String)> {
        acts::open(self.state, self.repository, branch, base, title, body).map_err(|why| match why {
            NotOpened::Exists(number) => (
                409,
                format!("[Another open merge request already exists for this source branch: !{number}]"),
            ),
            NotOpened::NoBranch => (400, "{source_branch: [does not exist]}".to_owned()),
            NotOpened::NoBase | NotOpened::NoCommits => (400, "{target_branch: [does not exist]}".to_owned()),
        })
    }

    pub(super) fn shown(&self, request: &Request) -> Value {
        let is_open = request.phase == Phase::Open;
        let blocked =
            if is_open { acts::obstacles(self.state, self.repository, request.number) } else { Vec::new() };
        let checks = self.state.checks_of(&request.head);
        let newest = (!checks.is_empty()).then(|| json!({
            "id": pipeline_of(&request.head), "iid": 7, "status": pipeline(checks), "sha": request.head, "ref": request.branch,
            "source": "push", "web_url": format!("https://{}/{}/-/pipelines/{}", self.state.host, self.state.full_name(), pipeline_of(&request.head)),
        }));
        let status = if !is_open {
            "not_open"
        } else if request.unknown {
            "unchecked"
        } else {
            blocked.first().map_or("mergeable", |obstacle| match obstacle {
                Obstacle::Conflict if self.state.rules.fast_forward => "need_rebase",
                Obstacle::Conflict => "conflict",
                Obstacle::Draft => "draft_status",
                Obstacle::Behind => "need_rebase",
                Obstacle::Check if pipeline(checks) == "running" => "ci_still_running",
                Obstacle::Check => "ci_must_pass",
                Obstacle::Review if acts::decision(self.state, request) == "CHANGES_REQUESTED" => {
                    "requested_changes"
                }
                Obstacle::Review => "not_approved",
            })
        };
        let title = if request.draft { format!("Draft: {}", request.title) } else { request.title.clone() };
        json!({
            "id": 4000 + request.number, "iid": request.number, "project_id": 1, "title": title,
            "description": request.body, "draft": request.draft,
            "state": match request.phase { Phase::Open => "opened", Phase::Merged => "merged", Phase::Closed => "closed" },
            "source_branch": request.branch, "target_branch": request.base, "sha": request.head,
            "merge_commit_sha": request.merge_commit, "squash_commit_sha": request.squash_commit,
            "merged_at": request.merged_at, "merge_when_pipeline_succeeds": request.auto.is_some(),
            "has_conflicts": blocked.contains(&Obstacle::Conflict) && !request.unknown && !self.state.rules.fast_forward,
            "detailed_merge_status": status, "blocking_discussions_resolved": request.reviews.iter().all(|review| review.resolved),
            "labels": request.labels, "web_url": self.url(request.number), "author": {"username": "me"},
            "created_at": request.created_at, "updated_at": request.updated_at,
            "head_pipeline": newest.clone(), "pipeline": newest, "merge_error": null,
            "user_notes_count": request.comments.len(), "reviewers": named_reviewers(request),
        })
    }

    fn view(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO, OUTPUT], &["--comments|-c"])?;
        let number = self.named(&args)?;
        let request = self.state.requests.iter().find(|request| request.number == number).expect("named");
        let shown = self.shown(request);
        self.state.request(number).expect("named").unknown = false;
        Ok(json(&shown))
    }

    fn list(&self, args: &[String]) -> Said {
        let valued = [
            "--source-branch|-s",
            "--target-branch|-t",
            "--label|-l",
            "--per-page|-P",
            "--page|-p",
            "--author",
            "--search",
            REPO,
            OUTPUT,
        ];
        let args = Args::read(
            args,
            &valued,
            &["--all|-A", "--merged|-M", "--closed|-c", "--draft|-d", "--not-draft"],
        )?;
        self.meant(&args)?;
        let fits = |request: &&Request| {
            let is_phase = match request.phase {
                _ if args.has("--all") => true,
                Phase::Merged => args.has("--merged"),
                Phase::Closed => args.has("--closed"),
                Phase::Open => !args.has("--merged") && !args.has("--closed"),
            };
            is_phase
                && args.get("--source-branch").is_none_or(|branch| branch == request.branch)
                && args.get("--target-branch").is_none_or(|branch| branch == request.base)
        };
        let all: Vec<Value> =
            self.state.requests.iter().rev().filter(fits).map(|request| self.shown(request)).collect();
        Ok(json(&Value::Array(all)))
    }

    fn update(&mut self, args: &[String]) -> Said {
        let valued =
            ["--title|-t", "--description|-d", "--label|-l", "--unlabel|-u", "--target-branch", REPO];
        let args = Args::read(args, &valued, &["--draft", "--ready|-r", "--wip"])?;
        let (number, now) = (self.named(&args)?, self.state.now());
        let url = self.url(number);
        let request = self.state.request(number).expect("named");
        request.title = args.get("--title").unwrap_or(&request.title).to_owned();
        request.body = args.get("--description").unwrap_or(&request.body).to_owned();
        request.base = args.get("--target-branch").unwrap_or(&request.base).to_owned();
        request.draft = (request.draft || args.has("--draft")) && !args.has("--ready");
        request.labels.extend(args.list("--label"));
        request.updated_at = now;
        Ok(line(format!("- Updating merge request !{number}\n{url}")))
    }

    fn merge(&mut self, args: &[String]) -> Said {
        let valued = ["--sha", "--message|-m", "--squash-message", REPO];
        let plain = ["--yes|-y", "--squash|-s", "--rebase|-r", "--remove-source-branch|-d", "--auto-merge"];
        let args = Args::read(args, &valued, &plain)?;
        let number = self.named(&args)?;
        let (url, rules) = (self.url(number), self.state.rules.clone());
        let request = self.state.request(number).expect("named");
        let (head, branch) = (request.head.clone(), request.branch.clone());
        match request.phase {
            Phase::Merged => return Err(boxed("This merge request has already been merged.")),
            Phase::Closed => return Err(boxed("This merge request has been closed.")),
            Phase::Open => {}
        }
        let (host, project) = (self.state.host.clone(), self.state.full_name().replace('/', "%2F"));
        let attempt = |problem: &str| {
            let path = format!("https://{host}/api/v4/projects/{project}/merge_requests/{number}/merge");
            boxed(&format!("All attempts fail:\n#1: PUT {path}: {problem}."))
        };
        if args.get("--sha").is_some_and(|sha| sha != head) {
            return Err(attempt(&format!(
                "409 {{message: SHA does not match HEAD of source branch: {head}}}"
            )));
        }
        let method = if args.has("--squash") { Method::Squash } else { Method::Merge };
        let checks = self.state.checks_of(&head);
        let waits = args.get("--auto-merge") != Some("false") && pipeline(checks) == "running";
        match acts::obstacles(self.state, self.repository, number).first() {
            Some(Obstacle::Draft) => {
                return Err(boxed(&format!(
                    "This merge request is still a draft; run `glab mr update {number} --ready` to mark it as ready for review."
                )));
            }
            Some(Obstacle::Conflict) if !rules.fast_forward => {
                return Err(boxed(
                    "Merge conflicts exist; resolve the conflicts and try again, or merge locally.",
                ));
            }
            _ if waits => {
                self.state.request(number).expect("named").auto = Some(method);
                return Ok(line(format!("! Pipeline status: running\n✓ Auto-merge enabled\n{url}")));
            }
            Some(Obstacle::Check) if checks.is_empty() => {
                return Err(boxed("This merge request requires a passing pipeline before merging."));
            }
            // Whatever keeps it, the host gives no reason.
            Some(_) => return Err(attempt("405 {message: 405 Method Not Allowed}")),
            None => {}
        }
        let message = args.get("--squash-message").or_else(|| args.get("--message")).map(|text| (text, ""));
        if !acts::merge(self.state, self.repository, number, method, message) {
            return Err(attempt("406 {message: Branch cannot be merged}"));
        }
        if args.has("--remove-source-branch") && self.repository.tip(&branch).is_some() {
            self.repository.delete(&branch);
        }
        Ok(line(format!("! No pipeline running on {branch}\n✓ Merged!\n{url}")))
    }

    fn rebase(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO], &["--skip-ci"])?;
        let number = self.named(&args)?;
        let request = self.state.request(number).expect("named");
        match self.repository.bring_in(&request.branch, &request.base) {
            Some(_) => Ok(line("✓ Rebase successful!")),
            None => {
                Err(boxed("Rebase failed: Rebase locally, resolve all conflicts, then push the branch.."))
            }
        }
    }

    pub(super) fn note(&mut self, args: &[String], of_request: bool) -> Said {
        let args = Args::read(args, &["--message|-m", REPO], &["--unique"])?;
        let body = args.get("--message").map_or_else(|| self.stdin.trim_end().to_owned(), str::to_owned);
        if body.is_empty() {
            return Err(boxed("Aborted: note has an empty message."));
        }
        let number = if of_request { self.named(&args)? } else { self.named_issue(&args)? };
        let (id, at) = (self.state.next_id(), self.state.now());
        let url = if of_request { self.url(number) } else { self.issue_url(number) };
        let comment = Comment { id, by: "me".to_owned(), role: "OWNER".to_owned(), body, at: at.clone() };
        if of_request {
            self.state.request(number).expect("named").comments.push(comment);
        } else if let Some(issue) = self.state.issues.iter_mut().find(|issue| issue.number == number) {
            issue.comments.push(comment);
            issue.updated_at = at;
        }
        Ok(line(format!("{url}#note_{id}")))
    }

    fn close(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO], &[])?;
        let (number, now) = (self.named(&args)?, self.state.now());
        let request = self.state.request(number).expect("named");
        if request.phase != Phase::Open {
            return Err(boxed("This merge request has been closed."));
        }
        (request.phase, request.auto, request.updated_at) = (Phase::Closed, None, now);
        Ok(line(format!(
            "- Closing merge request...\n✓ Closed merge request !{number}.\n{}",
            self.url(number)
        )))
    }
}

/// What all checks of a commit come to.
pub(super) fn pipeline(checks: &[Check]) -> &'static str {
    let any = |result| checks.iter().any(|check| check.result == result);
    if checks.is_empty() {
        ""
    } else if any(CheckResult::Pending) {
        "running"
    } else if any(CheckResult::Red) {
        "failed"
    } else if any(CheckResult::Cancelled) {
        "canceled"
    } else {
        "success"
    }
}
