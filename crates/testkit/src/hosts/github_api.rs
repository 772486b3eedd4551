//! The part of GitHub's REST API that Piton asks for with `gh api`.

use serde_json::{Map, Value, json};

use super::args::Args;
use super::github::Gh;
use super::github_json as show;
use super::reply::{Said, json, refused};
use super::state::{Check, CheckResult, Method};

impl Gh<'_> {
    pub(super) fn api(&mut self, args: &[String]) -> Said {
        let valued = [
            "--method|-X",
            "--raw-field|-f",
            "--field|-F",
            "--header|-H",
            "--hostname",
            "--input",
            "--jq|-q",
            "--cache",
        ];
        let args = Args::read(args, &valued, &["--paginate", "--include|-i", "--slurp"])?;
        let path = args.word(0).unwrap_or_default().trim_start_matches('/').to_owned();
        let path = path.split('?').next().unwrap_or_default();
        let own = format!("repos/{}", self.state.full_name());
        let not_found = || refused("gh", 404, "Not Found");
        if path == "user" {
            return Ok(json(&json!({"login": "me"})));
        }
        if path == "graphql" {
            return if self.state.rules.hidden {
                Err(refused("gh", 403, "Resource not accessible by personal access token"))
            } else {
                Ok(json(&self.protection()))
            };
        }
        let rest = path.replace("repos/{owner}/{repo}", &own);
        let rest = rest.strip_prefix(&own).ok_or_else(not_found)?;
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let mut fields: Map<String, Value> = ["--raw-field", "--field"]
            .into_iter()
            .flat_map(|flag| args.all(flag).collect::<Vec<_>>())
            .filter_map(|field| field.split_once('='))
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        if args.get("--input") == Some("-") {
            let body: Value =
                serde_json::from_str(self.stdin).map_err(|_| refused("gh", 400, "Problems parsing JSON"))?;
            fields.extend(body.as_object().cloned().unwrap_or_default());
        }
        let method =
            args.get("--method").unwrap_or(if fields.is_empty() { "GET" } else { "POST" }).to_owned();
        self.rest(&method, &parts, &fields)
    }

    /// The answer to the one question about branch protection.
    fn protection(&self) -> Value {
        let rules = &self.state.rules;
        let rule = json!({
            "requiredApprovingReviewCount": null, "requiresLinearHistory": rules.linear, "requiresSignatures": rules.signed,
        });
        let rule = if rules.linear || rules.signed { rule } else { Value::Null };
        let queue = rules.queue.then(|| json!({"id": "MQ_1"}));
        json!({"data": {"repository": {"mergeQueue": queue, "ref": {"refUpdateRule": rule}}}})
    }

    fn rest(&mut self, method: &str, parts: &[&str], fields: &Map<String, Value>) -> Said {
        let not_found = || refused("gh", 404, "Not Found");
        let number = |text: &str| text.parse::<u64>().map_err(|_| not_found());
        let texts = |all: Vec<Value>| Ok(json(&Value::Array(all)));
        match (method, parts) {
            ("GET", []) => Ok(json(&json!({
                "full_name": self.state.full_name(), "default_branch": "main", "allow_auto_merge": self.state.rules.auto_merge,
                "allow_merge_commit": self.state.rules.methods.contains(&Method::Merge),
                "allow_squash_merge": self.state.rules.methods.contains(&Method::Squash),
                "allow_rebase_merge": self.state.rules.methods.contains(&Method::Rebase),
                "delete_branch_on_merge": self.state.rules.delete_branches, "permissions": {"push": true},
            }))),
            ("GET", ["branches", branch @ ..]) => {
                let tip = self
                    .repository
                    .tip(&branch.join("/"))
                    .ok_or_else(|| refused("gh", 404, "Branch not found"))?;
                Ok(json(
                    &json!({"name": branch.join("/"), "commit": {"sha": tip}, "protected": !self.state.rules.required.is_empty()}),
                ))
            }
            ("GET", ["commits", commit, "check-runs"]) => {
                let run = |check: &Check| {
                    let (status, end) = match check.result {
                        CheckResult::Pending => ("in_progress", None),
                        CheckResult::Green => ("completed", Some("success")),
                        CheckResult::Red => ("completed", Some("failure")),
                        CheckResult::Cancelled => ("completed", Some("cancelled")),
                    };
                    json!({"name": check.name, "status": status, "conclusion": end, "head_sha": commit})
                };
                let all: Vec<Value> = self.state.checks_of(commit).iter().map(run).collect();
                Ok(json(&json!({"total_count": all.len(), "check_runs": all})))
            }
            ("GET", ["commits", commit, "status"]) => {
                Ok(json(&json!({"state": "pending", "sha": commit, "total_count": 0, "statuses": []})))
            }
            ("GET", ["rules", "branches", ..]) => {
                let checks: Vec<Value> =
                    self.state.rules.required.iter().map(|name| json!({"context": name})).collect();
                let mut rules = Vec::new();
                if !checks.is_empty() {
                    rules.push(json!({"type": "required_status_checks", "parameters": {"strict_required_status_checks_policy": self.state.rules.strict, "required_status_checks": checks}}));
                }
                if self.state.rules.review {
                    rules.push(
                        json!({"type": "pull_request", "parameters": {"required_approving_review_count": 1}}),
                    );
                }
                if self.state.rules.queue {
                    rules.push(json!({"type": "merge_queue", "parameters": {}}));
                }
                texts(rules)
            }
            ("GET", ["pulls", at]) => {
                let at = number(at)?;
                let request =
                    self.state.requests.iter().find(|request| request.number == at).ok_or_else(not_found)?;
                Ok(json(&show::rest_request(self.state, self.repository, request)))
            }
            ("GET", ["pulls", at, "comments"]) => {
                let at = number(at)?;
                let request =
                    self.state.requests.iter().find(|request| request.number == at).ok_or_else(not_found)?;
                texts(request.reviews.iter().flat_map(|review| review.lines.iter().enumerate().map(move |(nth, (path, line, text))| json!({
                    "id": review.id * 100 + nth as u64, "pull_request_review_id": review.id, "path": path, "line": line, "body": text,
                    "user": {"login": review.by}, "author_association": "MEMBER", "commit_id": review.commit, "created_at": review.at,
                }))).collect())
            }
            ("GET", ["issues", at]) => {
                let at = number(at)?;
                let issue =
                    self.state.issues.iter().find(|issue| issue.number == at).ok_or_else(not_found)?;
                Ok(json(&show::rest_issue(self.state, issue)))
            }
            ("GET", ["issues", at, "comments"]) => {
                let at = number(at)?;
                let of_issue =
                    self.state.issues.iter().find(|issue| issue.number == at).map(|issue| &issue.comments);
                let of_request = self
                    .state
                    .requests
                    .iter()
                    .find(|request| request.number == at)
                    .map(|request| &request.comments);
                let comments = of_issue.or(of_request).ok_or_else(not_found)?;
                texts(comments.iter().map(show::rest_comment).collect())
            }
            ("POST", ["issues", at, "comments"]) => {
                let (at, body) =
                    (number(at)?, fields.get("body").and_then(Value::as_str).unwrap_or_default().to_owned());
                self.add_comment(at, body);
                Ok(json(&json!({"id": self.state.next_id() - 1})))
            }
            ("GET", ["issues", at, "dependencies", "blocked_by"]) => {
                let at = number(at)?;
                let issue =
                    self.state.issues.iter().find(|issue| issue.number == at).ok_or_else(not_found)?;
                let named = |number: &u64| self.state.issues.iter().find(|issue| issue.number == *number);
                texts(
                    issue
                        .blocked_by
                        .iter()
                        .filter_map(named)
                        .map(|issue| show::rest_issue(self.state, issue))
                        .collect(),
                )
            }
            ("GET", ["issues", at, "sub_issues"]) => {
                let at = number(at)?;
                let parts = self.state.issues.iter().filter(|issue| issue.parent == Some(at));
                texts(parts.map(|issue| show::rest_issue(self.state, issue)).collect())
            }
            _ => Err(not_found()),
        }
    }
}
