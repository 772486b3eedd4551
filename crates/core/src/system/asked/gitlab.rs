//! The words of `glab`: what it is asked, and what its answers mean. All goes through `glab api`, whose answers are those of
//! GitLab itself and the same with every version of the program.

use serde_json::Value;

use super::ask::Which;
use super::json::{line, names, text};
use super::snapshot::{Issue, IssueState};

/// So many issues are on a page, the most that GitLab gives.
pub(super) const PAGE: usize = 100;
/// So many pages are asked for.
pub(super) const PAGES: usize = 10;

/// A page of the list; `None` where each issue is asked about by its number.
pub(super) fn list(which: &Which, of: &str, page: usize) -> Option<Vec<String>> {
    let wanted = match which {
        Which::Label(name) => format!("labels={}", encoded(name)),
        Which::Milestone(name) => format!("milestone={}", encoded(name)),
        Which::All | Which::Numbers(_) => return None,
    };
    let query = format!("issues?{wanted}&scope=all&per_page={PAGE}&page={page}&order_by=created_at&sort=asc");
    Some(get(of, &query))
}

pub(super) fn view(number: u64, of: &str) -> Vec<String> {
    get(of, &format!("issues/{number}"))
}

/// What an issue has to do with others.
pub(super) fn links(number: u64, of: &str) -> Vec<String> {
    get(of, &format!("issues/{number}/links?per_page={PAGE}"))
}

pub(super) fn notes(id: &str, of: &str) -> Vec<String> {
    get(of, &format!("issues/{id}/notes?per_page={PAGE}&sort=desc&order_by=created_at"))
}

pub(super) fn get(of: &str, what: &str) -> Vec<String> {
    vec!["api".to_owned(), format!("{}/{what}", project(of))]
}

pub(super) fn send(method: &str, of: &str, what: &str, more: &[&str]) -> Vec<String> {
    let words = ["api", "--method", method].into_iter().chain(more.iter().copied());
    words.map(str::to_owned).chain([format!("{}/{what}", project(of))]).collect()
}

/// The project in the path of the API.
fn project(of: &str) -> String {
    let (_, name) = of.split_once('/').unwrap_or(("", of));
    format!("projects/{}", encoded(name))
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// An issue, and whether others wait for it. `None` if the answer is not one.
pub(super) fn issue(answer: &Value) -> Option<(Issue, bool)> {
    let id = answer.get("iid")?.as_u64()?;
    let is_moved = answer.get("moved_to_id").is_some_and(|id| !id.is_null());
    let state = match line(answer, "state").as_str() {
        "opened" => IssueState::Open,
        "closed" if is_moved => IssueState::Dropped,
        "closed" => IssueState::Closed,
        _ => return None,
    };
    let blocks = answer.get("blocking_issues_count").and_then(Value::as_u64).is_some_and(|count| count > 0);
    let issue = Issue {
        id: id.to_string(),
        title: line(answer, "title"),
        state,
        by: answer.get("author").map(|author| line(author, "username")).unwrap_or_default(),
        url: line(answer, "web_url"),
        updated: line(answer, "updated_at"),
        labels: names(answer, "labels", "name"),
        milestone: answer.get("milestone").map(|milestone| line(milestone, "title")).unwrap_or_default(),
        body: text(answer, "description"),
        ..Issue::default()
    };
    Some((issue, blocks))
}

/// The issues of the same project that wait for the one whose links these are.
pub(super) fn waiting(answer: &Value, of: &str) -> Vec<u64> {
    let links = answer.as_array().into_iter().flatten();
    let blocks = links.filter(|link| line(link, "link_type") == "blocks");
    let address = format!("https://{of}/-/");
    let is_here = |link: &&Value| line(link, "web_url").starts_with(&address);
    blocks.filter(is_here).filter_map(|link| link.get("iid")?.as_u64()).collect()
}
