//! The part of GitLab's REST API that Piton asks for with `glab api`.

use serde_json::{Map, Value, json};

use super::args::Args;
use super::gitlab::{Glab, pipeline};
use super::gitlab_json::{pipeline_of, reviewers, user_of};
use super::reply::{Reply, Said, json, refused};
use super::state::{Check, CheckResult, Comment, Issue, Phase, Request};

impl Glab<'_> {
    pub(super) fn api(&mut self, args: &[String]) -> Said {
        let valued = [
            "--method|-X",
            "--raw-field|-f",
            "--field|-F",
            "--header|-H",
            "--hostname",
            "--input",
            "--output",
        ];
        let args = Args::read(args, &valued, &["--paginate", "--include|-i"])?;
        let path = args.word(0).unwrap_or_default().trim_start_matches('/').to_owned();
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let mut fields: Map<String, Value> = ["--raw-field", "--field"]
            .into_iter()
            .flat_map(|flag| args.all(flag).collect::<Vec<_>>())
            .filter_map(|field| field.split_once('='))
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        if args.get("--input") == Some("-") {
            let body: Value =
                serde_json::from_str(self.stdin).map_err(|_| refused("glab", 400, "400 Bad request"))?;
            fields.extend(body.as_object().cloned().unwrap_or_default());
        }
        let method =
            args.get("--method").unwrap_or(if fields.is_empty() { "GET" } else { "POST" }).to_owned();
        if path == "user" {
            return Ok(json(&json!({"username": "me", "id": 1})));
        }
        let own = format!("projects/{}", self.state.full_name().replace('/', "%2F"));
        let rest = path
            .strip_prefix(&own)
            .or_else(|| path.strip_prefix("projects/:id"))
            .or_else(|| path.strip_prefix("projects/:fullpath"));
        let rest = rest.ok_or_else(|| refused("glab", 404, "404 Project Not Found"))?;
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        self.rest(&method, &parts, query, &fields)
    }

    fn rest(&mut self, method: &str, parts: &[&str], query: &str, fields: &Map<String, Value>) -> Said {
        let missing = || refused("glab", 404, "404 Not found");
        let number = |text: &str| text.parse::<u64>().map_err(|_| missing());
        let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let asks = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        match (method, parts) {
            ("GET", []) => Ok(json(&self.project())),
            ("GET", ["merge_requests"]) => {
                let state = asks("state").unwrap_or("all");
                let branch = asks("source_branch").map(|branch| branch.replace("%2F", "/"));
                let fits = |request: &&Request| {
                    (state == "all" || (state == "opened") == (request.phase == Phase::Open))
                        && branch.as_ref().is_none_or(|branch| *branch == request.branch)
                };
                let all = self.state.requests.iter().rev().filter(fits).map(|request| self.shown(request));
                Ok(json(&Value::Array(all.collect())))
            }
            ("POST", ["merge_requests"]) => {
                let opened = self.open(
                    &field("source_branch"),
                    &field("target_branch"),
                    &field("title"),
                    &field("description"),
                );
                let number = opened.map_err(|(status, problem)| refused("glab", status, &problem))?;
                let request =
                    self.state.requests.iter().find(|request| request.number == number).expect("opened");
                Ok(json(&self.shown(request)))
            }
            ("GET", ["merge_requests", at, rest @ ..]) => {
                let at = number(at)?;
                let request =
                    self.state.requests.iter().find(|request| request.number == at).ok_or_else(missing)?;
                match rest {
                    [] => Ok(json(&self.shown(request))),
                    ["notes" | "discussions"] => {
                        let mut all = discussions(request, rest[0] == "notes");
                        if asks("sort") == Some("desc") {
                            all.reverse();
                        }
                        Ok(json(&Value::Array(all)))
                    }
                    ["reviewers"] => Ok(json(&Value::Array(reviewers(request)))),
                    ["pipelines"] => Ok(json(&json!([self.shown(request)["pipeline"]]))),
                    _ => Err(missing()),
                }
            }
            ("POST", ["merge_requests", at, "notes"]) => {
                self.note(&[(*at).to_owned(), format!("--message={}", field("body"))], true)?;
                Ok(json(&json!({"id": self.state.next_id() - 1, "body": field("body")})))
            }
            ("GET", ["approval_rules" | "push_rule"]) if self.state.rules.hidden => {
                Err(refused("glab", 403, "403 Forbidden"))
            }
            ("GET", ["approval_rules"]) => {
                let count = u64::from(self.state.rules.review);
                Ok(json(&json!([{"id": 1, "name": "All Members", "approvals_required": count}])))
            }
            ("GET", ["push_rule"]) => {
                Ok(json(&json!({"id": 1, "reject_unsigned_commits": self.state.rules.signed})))
            }
            ("GET", ["pipelines"]) => {
                let commit = asks("sha").unwrap_or_default();
                let checks = self.state.checks_of(commit);
                let id = pipeline_of(commit);
                let page = format!("https://{}/{}/-/pipelines/{id}", self.state.host, self.state.full_name());
                let one = json!({"id": id, "sha": commit, "status": pipeline(checks), "web_url": page});
                Ok(json(&Value::Array((!checks.is_empty()).then_some(one).into_iter().collect())))
            }
            ("GET", ["pipelines", at, "jobs"]) => {
                let commit = self.commit_of(number(at)?).ok_or_else(missing)?;
                let all = self.state.checks_of(&commit).iter().enumerate();
                let wanted = asks("scope[]");
                let fits =
                    |(_, check): &(usize, &Check)| wanted.is_none_or(|wanted| wanted == job(check.result));
                let job = |(at, check): (usize, &Check)| {
                    let id = pipeline_of(&commit) * 100 + at as u64;
                    let page = format!("https://{}/{}/-/jobs/{id}", self.state.host, self.state.full_name());
                    json!({"id": id, "name": check.name, "status": job(check.result), "allow_failure": false, "stage": "test", "web_url": page})
                };
                Ok(json(&Value::Array(all.filter(fits).map(job).collect())))
            }
            ("GET", ["jobs", at, "trace"]) => {
                let at = number(at)?;
                let commit = self.commit_of(at / 100).ok_or_else(missing)?;
                let nth = usize::try_from(at % 100).unwrap_or_default();
                let check = self.state.checks_of(&commit).get(nth).ok_or_else(missing)?;
                Ok(Reply { stdout: check.log.clone(), code: 0, stderr: String::new() })
            }
            ("GET", ["members", "all", at]) => {
                let at = number(at)?;
                let level = self.access_level(at).ok_or_else(missing)?;
                Ok(json(&json!({"id": at, "access_level": level, "state": "active"})))
            }
            ("GET", ["issues"]) => {
                let (label, milestone) = (asks("labels"), asks("milestone"));
                let fits = |issue: &&Issue| {
                    label.is_none_or(|label| issue.labels.iter().any(|known| known == label))
                        && milestone.is_none_or(|title| issue.milestone.as_deref() == Some(title))
                };
                let number =
                    |name: &str, usual: usize| asks(name).and_then(|text| text.parse().ok()).unwrap_or(usual);
                let (page, size) = (number("page", 1), number("per_page", 20).min(100));
                let all =
                    self.state.issues.iter().filter(fits).skip(page.saturating_sub(1) * size).take(size);
                Ok(json(&Value::Array(all.map(|issue| self.shown_issue(issue)).collect())))
            }
            ("PUT", ["issues", at]) => {
                let (at, now) = (number(at)?, self.state.now());
                let issue =
                    self.state.issues.iter_mut().find(|issue| issue.number == at).ok_or_else(missing)?;
                if asks("state_event") == Some("close") && !issue.closed {
                    (issue.closed, issue.updated_at) = (true, now);
                }
                let plain = |text: &str| text.replace("%20", " ");
                issue.labels.extend(asks("add_labels").map(plain));
                if let Some(label) = asks("remove_labels").map(plain) {
                    issue.labels.retain(|known| *known != label);
                }
                match (asks("assignee_ids"), asks("assignee_ids%5B%5D")) {
                    (Some("0"), _) => issue.assignees.clear(),
                    (_, Some("1")) => issue.assignees = vec!["me".to_owned()],
                    _ => {}
                }
                let issue = issue.clone();
                Ok(json(&self.shown_issue(&issue)))
            }
            ("GET", ["issues", at, rest @ ..]) => {
                let at = number(at)?;
                let issue = self.state.issues.iter().find(|issue| issue.number == at).ok_or_else(missing)?;
                match rest {
                    [] => Ok(json(&self.shown_issue(issue))),
                    ["notes"] => Ok(json(&Value::Array(issue.comments.iter().map(note).collect()))),
                    ["links"] => {
                        let linked = |wanted: &[u64], kind: &str| -> Vec<Value> {
                            let all = self.state.issues.iter().filter(|other| wanted.contains(&other.number));
                            all.map(|other| {
                                let mut shown = self.shown_issue(other);
                                shown["link_type"] = json!(kind);
                                shown
                            })
                            .collect()
                        };
                        let blocks: Vec<u64> = self
                            .state
                            .issues
                            .iter()
                            .filter(|other| other.blocked_by.contains(&at))
                            .map(|other| other.number)
                            .collect();
                        Ok(json(&Value::Array(
                            [linked(&issue.blocked_by, "is_blocked_by"), linked(&blocks, "blocks")].concat(),
                        )))
                    }
                    _ => Err(missing()),
                }
            }
            ("POST", ["issues", at, "notes"]) => {
                self.note(&[(*at).to_owned(), format!("--message={}", field("body"))], false)?;
                Ok(json(&json!({"id": self.state.next_id() - 1, "body": field("body")})))
            }
            _ => Err(missing()),
        }
    }
}

impl Glab<'_> {
    /// The commit that a pipeline is for.
    fn commit_of(&self, pipeline: u64) -> Option<String> {
        let heads = self.state.requests.iter().map(|request| request.head.clone());
        let targets = self.state.requests.iter().filter_map(|request| self.repository.tip(&request.base));
        heads.chain(targets).find(|commit| pipeline_of(commit) == pipeline)
    }

    /// What a person may do, if they are a member: reviewers are, and others by the role of what they wrote.
    fn access_level(&self, user: u64) -> Option<u64> {
        self.state.requests.iter().find_map(|request| {
            let reviewer = request.reviews.iter().find(|review| user_of(&review.by) == user).map(|_| 40);
            let role = request.comments.iter().find(|comment| user_of(&comment.by) == user);
            reviewer.or_else(|| match role?.role.as_str() {
                "OWNER" => Some(50),
                "MEMBER" | "COLLABORATOR" => Some(30),
                "GUEST" => Some(10),
                _ => None,
            })
        })
    }
}

fn job(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Pending => "running",
        CheckResult::Green => "success",
        CheckResult::Red => "failed",
        CheckResult::Cancelled => "canceled",
    }
}

fn note(comment: &Comment) -> Value {
    json!({
        "id": comment.id, "body": comment.body, "author": {"username": comment.by, "id": user_of(&comment.by)}, "system": comment.role == "SYSTEM",
        "created_at": comment.at, "updated_at": comment.at, "resolvable": false, "internal": false, "type": null,
    })
}

/// Its notes, each in a discussion of its own or without.
fn discussions(request: &Request, flat: bool) -> Vec<Value> {
    let of_lines = request.reviews.iter().flat_map(|review| {
        let first = (!review.body.is_empty()).then(|| (None, review.body.clone()));
        let lines = review.lines.iter().map(|(path, line, text)| (Some((path.clone(), *line)), text.clone()));
        first.into_iter().chain(lines).enumerate().map(move |(nth, (place, body))| {
            json!({
                "id": review.id * 100 + nth as u64, "body": body, "author": {"username": review.by, "id": user_of(&review.by)}, "system": false,
                "created_at": review.at, "updated_at": review.at, "resolvable": true, "resolved": review.resolved,
                "type": if place.is_some() { "DiffNote" } else { "DiscussionNote" },
                "position": place.map(|(path, line)| json!({"new_path": path, "new_line": line, "position_type": "text"})),
            })
        })
    });
    let notes = request.comments.iter().map(note).chain(of_lines);
    notes
        .map(|note| if flat { note } else { json!({"id": format!("{:040x}", note["id"].as_u64().unwrap_or(0)), "individual_note": note["resolvable"] == false, "notes": [note]}) })
        .collect()
}
