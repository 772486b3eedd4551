//! `gh issue`.

use serde_json::Value;

use super::args::Args;
use super::github::{Gh, JSON, REPO};
use super::github_json as show;
use super::reply::{Reply, Said, json, line, nothing, said};

impl Gh<'_> {
    pub(super) fn named_issue(&self, args: &Args) -> Said<u64> {
        self.meant(args)?;
        let number = args.number(0)?;
        let exists = self.state.issues.iter().any(|issue| issue.number == number)
            || self.state.requests.iter().any(|request| request.number == number);
        let problem = || {
            said(
                1,
                format!(
                    "GraphQL: Could not resolve to an issue or pull request with the number of {number}. (repository.issue)"
                ),
            )
        };
        if exists { Ok(number) } else { Err(problem()) }
    }

    pub(super) fn issues(&self, args: &[String]) -> Said {
        let valued = [
            "--state|-s",
            "--limit|-L",
            "--label|-l",
            "--milestone|-m",
            "--search|-S",
            "--assignee|-a",
            "--author|-A",
            JSON[0],
            JSON[1],
            REPO,
        ];
        let args = Args::read(args, &valued, &[])?;
        self.meant(&args)?;
        let most = args.get("--limit").and_then(|most| most.parse().ok()).unwrap_or(30);
        let fits = |issue: &&super::state::Issue| {
            let is_state = match args.get("--state").unwrap_or("open") {
                "open" => !issue.closed,
                "closed" => issue.closed,
                _ => true,
            };
            is_state
                && args
                    .list("--label")
                    .iter()
                    .all(|label| issue.labels.iter().any(|known| known.eq_ignore_ascii_case(label)))
                && args.get("--milestone").is_none_or(|name| issue.milestone.as_deref() == Some(name))
        };
        let mut all: Vec<_> = self.state.issues.iter().filter(fits).collect();
        all.sort_by_key(|issue| std::cmp::Reverse(issue.number));
        let wanted = args.get("--json").unwrap_or("number,title");
        show::known_of_issues(self.state, wanted)?;
        let shown: Said<Vec<Value>> =
            all.into_iter().take(most).map(|issue| show::issue(self.state, issue, wanted)).collect();
        Ok(json(&Value::Array(shown?)))
    }

    pub(super) fn issue(&self, args: &[String]) -> Said {
        let args = Args::read(args, &JSON, &["--comments|-c"])?;
        let number = self.named_issue(&args)?;
        let wanted = args.get("--json").unwrap_or("number,title");
        match self.state.issues.iter().find(|issue| issue.number == number) {
            Some(issue) => Ok(json(&show::issue(self.state, issue, wanted)?)),
            // The real one answers with the request, too.
            None => {
                let request =
                    self.state.requests.iter().find(|request| request.number == number).expect("named");
                let shared = wanted.split(',').filter(|field| {
                    [
                        "number",
                        "title",
                        "body",
                        "state",
                        "url",
                        "labels",
                        "comments",
                        "updatedAt",
                        "author",
                        "closed",
                    ]
                    .contains(field)
                });
                Ok(json(&show::request(
                    self.state,
                    self.repository,
                    request,
                    &shared.collect::<Vec<_>>().join(","),
                )?))
            }
        }
    }

    pub(super) fn edit_issue(&mut self, args: &[String]) -> Said {
        let valued = [
            "--title|-t",
            "--body|-b",
            "--body-file|-F",
            "--add-label",
            "--remove-label",
            "--add-assignee",
            "--remove-assignee",
            "--milestone|-m",
            REPO,
        ];
        let args = Args::read(args, &valued, &[])?;
        let (number, body, now) = (self.named_issue(&args)?, self.body(&args)?, self.state.now());
        let url = show::issue_url(self.state, number);
        let removed = args.list("--remove-label");
        let unassigned: Vec<String> = args.list("--remove-assignee").iter().map(|name| named(name)).collect();
        if let Some(issue) = self.state.issues.iter_mut().find(|issue| issue.number == number) {
            issue.title = args.get("--title").unwrap_or(&issue.title).to_owned();
            issue.body = body.unwrap_or_else(|| issue.body.clone());
            issue.labels.retain(|label| !removed.contains(label));
            issue.labels.extend(args.list("--add-label"));
            issue.assignees.retain(|name| !unassigned.contains(name));
            issue.assignees.extend(args.list("--add-assignee").iter().map(|name| named(name)));
            issue.updated_at = now;
        }
        Ok(line(url))
    }

    pub(super) fn close_issue(&mut self, args: &[String], close: bool) -> Said {
        let args = Args::read(args, &["--comment|-c", "--reason|-r", REPO], &[])?;
        let (number, name, now) = (self.named_issue(&args)?, self.state.full_name(), self.state.now());
        if let Some(comment) = args.get("--comment") {
            self.add_comment(number, comment.to_owned());
        }
        let issue = self.state.issues.iter_mut().find(|issue| issue.number == number);
        let issue = issue.ok_or_else(|| said(1, format!("issue {number} is a pull request")))?;
        let (done, doing) = if close { ("closed", "Closed") } else { ("open", "Reopened") };
        if issue.closed == close {
            return Ok(Reply {
                stderr: format!("! Issue {name}#{number} ({}) is already {done}\n", issue.title),
                ..nothing()
            });
        }
        (issue.closed, issue.updated_at) = (close, now);
        issue.not_planned = args.get("--reason") == Some("not planned");
        Ok(Reply { stderr: format!("✓ {doing} issue {name}#{number} ({})\n", issue.title), ..nothing() })
    }
}

/// `@me` is who is logged in.
fn named(name: &str) -> String {
    if name == "@me" { "me".to_owned() } else { name.to_owned() }
}
