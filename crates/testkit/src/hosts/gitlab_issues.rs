//! `glab issue`.

use serde_json::{Value, json};

use super::args::Args;
use super::gitlab::{Glab, OUTPUT, REPO};
use super::reply::{Said, boxed, json, line};
use super::state::Issue;

impl Glab<'_> {
    pub(super) fn named_issue(&self, args: &Args) -> Said<u64> {
        self.meant(args)?;
        let number = args.number(0)?;
        let exists = self.state.issues.iter().any(|issue| issue.number == number);
        if exists { Ok(number) } else { Err(boxed("404 Not Found.")) }
    }

    pub(super) fn shown_issue(&self, issue: &Issue) -> Value {
        json!({
            "id": 9000 + issue.number, "iid": issue.number, "project_id": 1, "title": issue.title,
            "description": issue.body, "state": if issue.closed { "closed" } else { "opened" },
            "labels": issue.labels, "milestone": issue.milestone.as_ref().map(|title| json!({"iid": 1, "title": title})),
            "author": {"username": issue.author}, "assignees": issue.assignees.iter().map(|name| json!({"username": name})).collect::<Vec<_>>(),
            "web_url": self.issue_url(issue.number), "updated_at": issue.updated_at, "created_at": "2026-03-01T11:00:00Z",
            "closed_at": issue.closed.then_some(&issue.updated_at), "user_notes_count": issue.comments.len(),
            "references": {"short": format!("#{}", issue.number), "full": format!("{}#{}", self.state.full_name(), issue.number)},
            "issue_type": "issue", "confidential": false,
        })
    }

    pub(super) fn issues(&self, args: &[String]) -> Said {
        let valued = [
            "--label|-l",
            "--milestone|-m",
            "--per-page|-P",
            "--page|-p",
            "--output|-O",
            "--output-format|-F",
            "--search",
            "--assignee|-a",
            "--author",
            REPO,
        ];
        let args = Args::read(args, &valued, &["--all|-A", "--closed|-c", "--opened|-o"])?;
        self.meant(&args)?;
        if args.get("--output-format").is_some_and(|format| !["urls", "details", "ids"].contains(&format)) {
            return Err(boxed(
                "Invalid argument \"json\" for \"-F, --output-format\" flag: must be one of [urls details ids].",
            ));
        }
        let fits = |issue: &&Issue| {
            (args.has("--all") || issue.closed == args.has("--closed"))
                && args.list("--label").iter().all(|label| issue.labels.contains(label))
                && args.get("--milestone").is_none_or(|name| issue.milestone.as_deref() == Some(name))
        };
        let number =
            |flag: &str, usual: usize| args.get(flag).and_then(|text| text.parse().ok()).unwrap_or(usual);
        let (page, size) = (number("--page", 1), number("--per-page", 30).min(100));
        let mut all: Vec<&Issue> = self.state.issues.iter().filter(fits).collect();
        all.sort_by_key(|issue| std::cmp::Reverse(issue.number));
        let all = all.into_iter().skip(page.saturating_sub(1) * size).take(size);
        Ok(json(&Value::Array(all.map(|issue| self.shown_issue(issue)).collect())))
    }

    pub(super) fn issue(&self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO, OUTPUT], &["--comments|-c"])?;
        let number = self.named_issue(&args)?;
        let issue = self.state.issues.iter().find(|issue| issue.number == number).expect("named");
        Ok(json(&self.shown_issue(issue)))
    }

    pub(super) fn update_issue(&mut self, args: &[String]) -> Said {
        let args = Args::read(
            args,
            &["--title|-t", "--description|-d", "--label|-l", "--unlabel|-u", "--assignee|-a", REPO],
            &[],
        )?;
        let (number, now) = (self.named_issue(&args)?, self.state.now());
        let (url, removed) = (self.issue_url(number), args.list("--unlabel"));
        let issue = self.state.issues.iter_mut().find(|issue| issue.number == number).expect("named");
        issue.labels.retain(|label| !removed.contains(label));
        issue.labels.extend(args.list("--label"));
        issue.assignees.extend(args.list("--assignee"));
        issue.updated_at = now;
        Ok(line(format!("- Updating issue #{number}\n{url}")))
    }

    pub(super) fn close_issue(&mut self, args: &[String], close: bool) -> Said {
        let args = Args::read(args, &[REPO], &[])?;
        let (number, now) = (self.named_issue(&args)?, self.state.now());
        let url = self.issue_url(number);
        let issue = self.state.issues.iter_mut().find(|issue| issue.number == number).expect("named");
        if issue.closed != close {
            (issue.closed, issue.updated_at) = (close, now);
        }
        let done = if close { "Closed" } else { "Reopened" };
        Ok(line(format!("- Closing issue...\n✓ {done} issue #{number}\n{url}")))
    }
}
