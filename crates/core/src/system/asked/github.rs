//! The words of `gh`: what it is asked, and what its answers mean.

use serde_json::Value;

use super::ask::Which;
use super::json::{items, line, names, text};
use super::snapshot::{Issue, IssueComment, IssueState};
use crate::system::kit::json_texts::readable;

/// What every `gh` knows of an issue.
const FIELDS: &str = "number,title,body,state,stateReason,labels,milestone,author,updatedAt,url";
/// What newer ones know.
const EDGES: &str = "blockedBy,parent,subIssues";
/// So many issues are asked for at once.
pub(super) const MOST: usize = 1000;
/// Who may write to the repository.
const WRITERS: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];

/// How much is asked for of each issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// What waits for what, and what is a part of what.
    pub(super) edges: bool,
    pub(super) comments: bool,
}

impl Fields {
    fn names(self) -> String {
        let edges = self.edges.then_some(EDGES);
        let comments = self.comments.then_some("comments");
        [Some(FIELDS), edges, comments].into_iter().flatten().collect::<Vec<_>>().join(",")
    }
}

/// The words of a question about many issues; `None` where each is asked about by its number.
pub(super) fn list(which: &Which, of: &str, fields: Fields) -> Option<Vec<String>> {
    // One word, so that no name is taken for an option.
    let wanted = match which {
        Which::Label(name) => format!("--label={name}"),
        Which::Milestone(name) => format!("--milestone={name}"),
        Which::All | Which::Numbers(_) => return None,
    };
    let most = MOST.to_string();
    let words = ["issue", "list", "--repo", of, "--state", "all", "--limit", &most, &wanted, "--json"];
    Some(words.into_iter().map(str::to_owned).chain([fields.names()]).collect())
}

pub(super) fn view(number: u64, of: &str, fields: Fields) -> Vec<String> {
    let number = number.to_string();
    let words = ["issue", "view", &number, "--repo", of, "--json"];
    words.into_iter().map(str::to_owned).chain([fields.names()]).collect()
}

/// Whether a program said that it does not know one of the fields.
pub(super) fn knows_not(refusal: &str) -> bool {
    refusal.to_lowercase().contains("unknown json field")
}

/// An issue, and the numbers of those that it has as its parts. `None` if the answer is not one.
pub(super) fn issue(answer: &Value) -> Option<(Issue, Vec<u64>)> {
    let id = answer.get("number")?.as_u64()?;
    let reason = line(answer, "stateReason").to_lowercase();
    let state = match line(answer, "state").to_lowercase().as_str() {
        "open" => IssueState::Open,
        "closed" if ["not_planned", "duplicate"].contains(&reason.as_str()) => IssueState::Dropped,
        "closed" => IssueState::Closed,
        _ => return None,
    };
    let parent = answer.get("parent").filter(|parent| parent.get("number").is_some());
    let number = |item: &Value| item.get("number").and_then(Value::as_u64);
    let parts = items(answer, "subIssues").filter_map(number).collect();
    let issue = Issue {
        id: id.to_string(),
        title: line(answer, "title"),
        state,
        assignee: String::new(),
        by: answer.get("author").map(|author| line(author, "login")).unwrap_or_default(),
        url: line(answer, "url"),
        updated: line(answer, "updatedAt"),
        labels: names(answer, "labels", "name"),
        milestone: answer.get("milestone").map(|milestone| line(milestone, "title")).unwrap_or_default(),
        parent: parent.and_then(number).map(|number| number.to_string()).unwrap_or_default(),
        parent_title: parent.map(|parent| line(parent, "title")).unwrap_or_default(),
        criteria: Vec::new(),
        priority: None,
        is_group: false,
        needs: items(answer, "blockedBy").filter_map(number).map(|number| number.to_string()).collect(),
        body: text(answer, "body"),
        is_refuted: false,
        comments: items(answer, "comments").filter_map(comment).collect(),
    };
    Some((issue, parts))
}

/// A comment of somebody who may write to the repository.
fn comment(item: &Value) -> Option<IssueComment> {
    if !WRITERS.contains(&line(item, "authorAssociation").as_str()) {
        return None;
    }
    let text = readable(item.get("body")?.as_str()?);
    let by = item.get("author").map(|author| line(author, "login")).unwrap_or_default();
    Some(IssueComment { by, text }).filter(|comment| !comment.text.is_empty())
}

/// Whether an address is that of a pull request: `gh` answers for those as well.
pub(super) fn is_request(issue: &Issue) -> bool {
    issue.url.contains("/pull/")
}
