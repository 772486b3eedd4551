//! What is reported to a tracker about a task that is completed: a comment with the evidence, and that the issue is closed.
//!
//! Whoever writes looks first, does one thing, and looks again. So an answer that was lost, or a process that died, repeats
//! nothing: a comment carries a mark by which it is found.

use serde_json::Value;

use super::ask::IssueSource;
use super::json::{items, text};
use super::{beads, gitlab};

/// How a comment of Piton's says which report it is. A reader of the page does not see it.
const MARK: &str = "<!-- piton ";

/// What is to be reported about an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    pub source: IssueSource,
    /// The repository, such as `github.com/owner/name`.
    pub of: String,
    /// The issue.
    pub id: String,
    /// Whether it is closed, too.
    pub closes: bool,
    pub evidence: ReportedFacts,
}

/// What proves that a task is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedFacts {
    pub run: String,
    /// The commit that landed, and the branch. `None`: nothing had to change.
    pub landed: Option<(String, String)>,
    /// The host has the commit, because it was landed there.
    pub is_at_host: bool,
    /// The names of the checks that passed.
    pub checks: Vec<String>,
}

/// What a tracker says about an issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssueSeen {
    pub is_open: bool,
    /// The comment about this very evidence is there.
    pub has_comment: bool,
}

/// Something to do at a tracker: the arguments of its program, and the text for its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackerWrite {
    pub args: Vec<String>,
    pub text: Option<String>,
    pub what: WriteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    Comment,
    Close,
    /// Others see that Piton works on it, or not any more.
    Hold,
}

impl Closing {
    /// What the program is asked to tell how the issue is: the arguments of each question.
    pub fn look(&self) -> Vec<Vec<String>> {
        let (id, of) = (self.id.as_str(), self.of.as_str());
        match self.source {
            IssueSource::GitHub => {
                vec![words(["issue", "view", id, "--repo", of, "--json", "state,comments"])]
            }
            IssueSource::GitLab => vec![gitlab::get(of, &format!("issues/{id}")), gitlab::notes(id, of)],
            IssueSource::Beads => vec![beads::show(id)],
        }
    }

    /// What the answers to these say. `None`: they are none.
    pub fn seen(&self, answers: &[String]) -> Option<IssueSeen> {
        let answers: Option<Vec<Value>> =
            answers.iter().map(|answer| serde_json::from_str(answer).ok()).collect();
        let (first, second) = (answers.as_ref()?.first()?, answers.as_ref()?.get(1));
        let mark = self.mark();
        let has_mark = |comment: &Value| text(comment, "body").contains(&mark);
        match self.source {
            IssueSource::GitHub => {
                first.get("comments")?.as_array()?;
                // Anybody can copy a mark. An older program does not say whose comment it is.
                let is_ours =
                    |comment: &&Value| comment.get("viewerDidAuthor").and_then(Value::as_bool) != Some(false);
                let has_comment = items(first, "comments").filter(is_ours).any(has_mark);
                Some(IssueSeen { is_open: is_open(first, "open")?, has_comment })
            }
            IssueSource::GitLab => {
                let has_comment = second?.as_array()?.iter().any(has_mark);
                Some(IssueSeen { is_open: is_open(first, "opened")?, has_comment })
            }
            IssueSource::Beads => {
                let issue = beads::shown(first, &self.id)?;
                let is_open = issue.get("status")?.as_str()? != "closed";
                Some(IssueSeen { is_open, has_comment: text(issue, "notes").contains(&mark) })
            }
        }
    }

    /// What is to be done next. `None`: nothing, as is the case for an issue that was closed by somebody else.
    pub fn next(&self, seen: IssueSeen) -> Option<TrackerWrite> {
        match seen {
            IssueSeen { is_open: false, .. } => None,
            // The reason for which it is closed is the comment.
            IssueSeen { .. } if self.source == IssueSource::Beads && self.closes => Some(self.close()),
            IssueSeen { has_comment: false, .. } => Some(self.comment()),
            IssueSeen { has_comment: true, .. } => self.closes.then(|| self.close()),
        }
    }

    fn comment(&self) -> TrackerWrite {
        let (id, of) = (self.id.as_str(), self.of.as_str());
        let (args, text) = match self.source {
            IssueSource::GitHub => {
                (words(["issue", "comment", id, "--repo", of, "--body-file", "-"]), Some(self.text()))
            }
            IssueSource::GitLab => {
                let more = ["--header", "Content-Type: application/json", "--input", "-"];
                let body = serde_json::json!({"body": self.text()}).to_string();
                (gitlab::send("POST", of, &format!("issues/{id}/notes"), &more), Some(body))
            }
            IssueSource::Beads => {
                let note = format!("--append-notes={} {}", self.sentence(), self.mark());
                (words(["update", id, &note, "--actor", beads::ACTOR, "--json"]), None)
            }
        };
        TrackerWrite { args, text, what: WriteKind::Comment }
    }

    fn close(&self) -> TrackerWrite {
        let (id, of) = (self.id.as_str(), self.of.as_str());
        let args = match self.source {
            IssueSource::GitHub => words(["issue", "close", id, "--repo", of, "--reason", "completed"]),
            IssueSource::GitLab => gitlab::send("PUT", of, &format!("issues/{id}?state_event=close"), &[]),
            IssueSource::Beads => {
                let reason = format!("--reason={}", self.sentence());
                words(["close", id, &reason, "--actor", beads::ACTOR, "--json"])
            }
        };
        TrackerWrite { args, text: None, what: WriteKind::Close }
    }

    /// The evidence, on one line.
    fn sentence(&self) -> String {
        let checks: Vec<String> =
            self.evidence.checks.iter().map(|name| format!("`{}`", plain(name))).collect();
        let checks = match &checks[..] {
            [] => "No check judged it.".to_owned(),
            checks => format!("Checks that passed: {}.", checks.join(", ")),
        };
        match &self.evidence.landed {
            Some((commit, branch)) => {
                format!("Piton has landed this as {commit} on `{}`. {checks}", plain(branch))
            }
            None => format!("Piton has found that this is done: nothing had to change. {checks}"),
        }
    }

    /// What people read in the issue.
    fn text(&self) -> String {
        let pushed = match self.evidence.landed {
            Some(_) if !self.evidence.is_at_host => {
                "\n\nPiton pushes nothing: the commit is here once somebody has pushed it."
            }
            _ => "",
        };
        format!("{}{pushed}\n\n{}\n", self.sentence(), self.mark())
    }

    fn mark(&self) -> String {
        let commit = self.evidence.landed.as_ref().map_or("-", |(commit, _)| commit.as_str());
        format!("{MARK}{} {} {commit} -->", self.evidence.run, self.id)
    }
}

/// Whether the state of an issue is this word. `None`: it has none.
fn is_open(issue: &Value, word: &str) -> Option<bool> {
    match issue.get("state")?.as_str()?.to_ascii_lowercase().as_str() {
        "closed" => Some(false),
        state if state == word => Some(true),
        _ => None,
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// A name that stays between its quotes.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && *c != '`').take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closing() -> Closing {
        Closing {
            source: IssueSource::GitHub,
            of: "github.com/o/r".to_owned(),
            id: "12".to_owned(),
            closes: true,
            evidence: ReportedFacts {
                run: "gh-label-agent-abc123".to_owned(),
                landed: Some(("0123456789".to_owned(), "main".to_owned())),
                is_at_host: false,
                checks: vec!["test`s".to_owned()],
            },
        }
    }

    fn seen(closing: &Closing, state: &str, comments: &[(&str, Option<bool>)]) -> IssueSeen {
        let comments: Vec<Value> = comments
            .iter()
            .map(|(body, ours)| serde_json::json!({"body": body, "viewerDidAuthor": ours}))
            .collect();
        let answer = serde_json::json!({"state": state, "comments": comments});
        closing.seen(&[answer.to_string()]).expect("an answer")
    }

    #[test]
    fn it_comments_and_then_closes_and_then_does_nothing() {
        let closing = closing();
        let first = closing.next(seen(&closing, "OPEN", &[("hello", None)])).expect("a comment");
        assert_eq!(first.args.join(" "), "issue comment 12 --repo github.com/o/r --body-file -");
        let text = first.text.expect("a text");
        insta::assert_snapshot!(text, @"
        Piton has landed this as 0123456789 on `main`. Checks that passed: `tests`.

        Piton pushes nothing: the commit is here once somebody has pushed it.

        <!-- piton gh-label-agent-abc123 12 0123456789 -->
        ");
        let second = closing.next(seen(&closing, "OPEN", &[(&text, Some(true))])).expect("a close");
        assert_eq!(second.args.join(" "), "issue close 12 --repo github.com/o/r --reason completed");
        assert_eq!(closing.next(seen(&closing, "CLOSED", &[(&text, None)])), None);
    }

    #[test]
    fn gitlab_is_asked_through_its_api() {
        let of = "gitlab.com/a/b/c".to_owned();
        let closing = Closing { source: IssueSource::GitLab, of, ..closing() };
        let look: Vec<String> = closing.look().iter().map(|args| args.join(" ")).collect();
        assert_eq!(look[0], "api projects/a%2Fb%2Fc/issues/12");
        assert!(look[1].starts_with("api projects/a%2Fb%2Fc/issues/12/notes?"), "{look:?}");
        let seen = |state: &str, notes: &str| {
            closing.seen(&[format!("{{\"state\": \"{state}\"}}"), notes.to_owned()]).expect("an answer")
        };
        let first = closing.next(seen("opened", "[]")).expect("a note");
        assert_eq!(
            first.args.join(" "),
            "api --method POST --header Content-Type: application/json --input - projects/a%2Fb%2Fc/issues/12/notes"
        );
        let body: Value = serde_json::from_str(&first.text.expect("a text")).expect("JSON");
        let second = closing.next(seen("opened", &serde_json::json!([body]).to_string())).expect("a close");
        assert_eq!(second.args.join(" "), "api --method PUT projects/a%2Fb%2Fc/issues/12?state_event=close");
        assert_eq!(closing.next(seen("closed", "[]")), None);
        assert_eq!(closing.seen(&["{\"state\": \"opened\"}".to_owned()]), None, "its notes are missing");
    }

    #[test]
    fn beads_is_closed_with_the_evidence_as_the_reason() {
        let closing =
            Closing { source: IssueSource::Beads, of: String::new(), id: "bd-a1".to_owned(), ..closing() };
        let seen = |answer: &str| closing.seen(&[answer.to_owned()]);
        let open = seen("[{\"id\": \"bd-a1\", \"status\": \"in_progress\"}]").expect("an answer");
        assert_eq!(
            closing.next(open).expect("a close").args.join(" "),
            "close bd-a1 --reason=Piton has landed this as 0123456789 on `main`. Checks that passed: `tests`. --actor piton --json"
        );
        assert_eq!(
            closing.next(seen("{\"data\": {\"id\": \"bd-a1\", \"status\": \"closed\"}}").expect("an answer")),
            None
        );
        assert_eq!(seen("[{\"id\": \"bd-b2\", \"status\": \"open\"}]"), None, "another issue");
        let only = Closing { closes: false, ..closing.clone() };
        assert!(only.next(open).expect("a note").args[2].starts_with("--append-notes=Piton has landed"));
    }

    #[test]
    fn what_the_host_has_is_not_said_to_be_missing_there() {
        let mut closing = closing();
        closing.evidence.is_at_host = true;
        assert!(!closing.text().contains("pushes nothing"), "{}", closing.text());
    }

    #[test]
    fn an_issue_that_is_closed_is_left_alone() {
        assert_eq!(closing().next(seen(&closing(), "CLOSED", &[])), None);
    }

    #[test]
    fn the_mark_of_somebody_else_does_not_count() {
        let copy = closing().mark();
        let next = closing().next(seen(&closing(), "OPEN", &[(&copy, Some(false))]));
        assert_eq!(next.map(|write| write.what), Some(WriteKind::Comment));
    }

    #[test]
    fn a_comment_alone_leaves_the_issue_open() {
        let only = Closing { closes: false, ..closing() };
        assert_eq!(only.next(seen(&only, "OPEN", &[(&only.mark(), None)])), None);
        assert_eq!(only.next(seen(&only, "OPEN", &[])).map(|write| write.what), Some(WriteKind::Comment));
    }

    #[test]
    fn what_is_not_an_answer_says_nothing() {
        for answer in
            ["", "[]", "{}", "{\"state\": \"OPEN\"}", "{\"state\": \"ODD\", \"comments\": []}", "null"]
        {
            assert_eq!(closing().seen(&[answer.to_owned()]), None, "{answer}");
        }
    }
}
