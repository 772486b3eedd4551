//! The part of GitLab's REST API that Piton asks for with `glab api`.

use serde_json::{Map, Value, json};

use super::args::Args;
use super::gitlab::Glab;
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
                        Ok(json(&Value::Array(discussions(request, rest[0] == "notes"))))
                    }
                    ["pipelines"] => Ok(json(&json!([self.shown(request)["pipeline"]]))),
                    _ => Err(missing()),
                }
            }
            ("POST", ["merge_requests", at, "notes"]) => {
                self.note(&[(*at).to_owned(), format!("--message={}", field("body"))], true)?;
                Ok(json(&json!({"id": self.state.next_id() - 1, "body": field("body")})))
            }
            ("GET", ["pipelines", _, "jobs"]) => {
                let checks = self
                    .state
                    .requests
                    .iter()
                    .rev()
                    .map(|request| self.state.checks_of(&request.head))
                    .find(|checks| !checks.is_empty());
                let job = |(at, check): (usize, &Check)| json!({"id": at + 1, "name": check.name, "status": job(check.result), "allow_failure": false, "stage": "test"});
                Ok(json(&Value::Array(checks.unwrap_or_default().iter().enumerate().map(job).collect())))
            }
            ("GET", ["jobs", at, "trace"]) => {
                let checks = self
                    .state
                    .requests
                    .iter()
                    .rev()
                    .map(|request| self.state.checks_of(&request.head))
                    .find(|checks| !checks.is_empty());
                let at = number(at)?.checked_sub(1).and_then(|at| usize::try_from(at).ok());
                let check = at.and_then(|at| checks.unwrap_or_default().get(at)).ok_or_else(missing)?;
                Ok(Reply { stdout: check.log.clone(), code: 0, stderr: String::new() })
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
        "id": comment.id, "body": comment.body, "author": {"username": comment.by}, "system": false,
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
                "id": review.id * 100 + nth as u64, "body": body, "author": {"username": review.by}, "system": false,
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
