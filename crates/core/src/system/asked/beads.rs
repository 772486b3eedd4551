//! The words of `bd`, the program of Beads, and of the file that it exports: `.beads/issues.jsonl`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{line, names, text};
use super::snapshot::{Issue, IssueState};

/// What is asked for: everything, also what is closed.
pub(super) const LIST: [&str; 5] = ["list", "--all", "--limit", "0", "--json"];
/// Who Piton is there.
pub(super) const ACTOR: &str = "piton";
/// Piton's priorities for those of Beads, 0 to 4.
const PRIORITIES: [u32; 5] = [10, 20, 50, 80, 90];
/// What makes an issue wait for another.
const BLOCKING: [&str; 3] = ["blocks", "conditional-blocks", "waits-for"];

/// The issues in an answer: a list, an object that has it, or an object on each line. `None` if it is something else.
pub(super) fn issues(answer: &str) -> Option<Vec<Issue>> {
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(answer).into_iter::<Value>() {
        values.push(value.ok()?);
    }
    let list = match &values[..] {
        [Value::Array(items)] => items.clone(),
        [Value::Object(envelope)] if envelope.contains_key("data") => envelope["data"].as_array()?.clone(),
        _ => values,
    };
    let mut issues = BTreeMap::new();
    for value in &list {
        // Later lines of an export are newer.
        if let Some(issue) = issue(value).ok()? {
            issues.insert(issue.id.clone(), issue);
        }
    }
    Some(issues.into_values().collect())
}

/// The words of a question about one issue.
pub(super) fn show(id: &str) -> Vec<String> {
    ["show", id, "--json"].map(str::to_owned).to_vec()
}

/// The issue in the answer to it. `None`: it is about another one, or about nothing.
pub(super) fn shown<'v>(answer: &'v Value, id: &str) -> Option<&'v Value> {
    let issue = answer.get("data").unwrap_or(answer);
    let issue = issue.as_array().map_or(Some(issue), |all| all.first())?;
    (issue.get("id").and_then(Value::as_str) == Some(id)).then_some(issue)
}

/// What it is instead of an object of Beads.
struct Odd;

/// `None`: it is an object of Beads, and not an issue to be done.
fn issue(value: &Value) -> Result<Option<Issue>, Odd> {
    value.as_object().ok_or(Odd)?;
    let kind = line(value, "_type");
    if !kind.is_empty() && kind != "issue" {
        return Ok(None);
    }
    let (id, status) = (line(value, "id"), line(value, "status"));
    if id.is_empty() {
        return Err(Odd);
    }
    let is = |name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    let what = line(value, "issue_type");
    if status == "tombstone"
        || is("ephemeral")
        || is("is_template")
        || ["gate", "molecule", "agent", "event"].contains(&what.as_str())
    {
        return Ok(None);
    }
    let assignee = line(value, "assignee");
    let state = match status.as_str() {
        "closed" => IssueState::Closed,
        "open" | "" => IssueState::Open,
        "in_progress" | "hooked" if assignee == ACTOR => IssueState::Open,
        "in_progress" | "hooked" => IssueState::Taken,
        _ => IssueState::Later,
    };
    let state = if is("pinned") && state == IssueState::Open { IssueState::Later } else { state };
    let (mut needs, mut parent, mut only_if) = (Vec::new(), String::new(), false);
    for edge in value.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
        let (from, to, kind) = (line(edge, "issue_id"), line(edge, "depends_on_id"), line(edge, "type"));
        // `bd list` may name the other issue alone.
        let (to, kind) = match to.is_empty() {
            true => (line(edge, "id"), line(edge, "dependency_type")),
            false => (to, kind),
        };
        if to.is_empty() || !from.is_empty() && from != id {
            continue;
        }
        only_if |= kind == "conditional-blocks";
        match kind.as_str() {
            "parent-child" => parent = to,
            kind if BLOCKING.contains(&kind) => needs.push(to),
            _ => {}
        }
    }
    let parts = ["description", "design", "notes"].map(|name| text(value, name));
    let criteria = text(value, "acceptance_criteria");
    let criteria = criteria.lines().map(bare).filter(|line| !line.is_empty());
    let priority = value.get("priority").and_then(Value::as_u64);
    Ok(Some(Issue {
        state: if only_if && state == IssueState::Open { IssueState::Later } else { state },
        title: line(value, "title"),
        by: line(value, "created_by"),
        assignee: if state == IssueState::Taken { assignee } else { String::new() },
        updated: line(value, "updated_at"),
        labels: names(value, "labels", "name"),
        parent,
        needs,
        criteria: criteria.map(str::to_owned).collect(),
        priority: priority.map(|own| PRIORITIES[usize::try_from(own).map_or(4, |own| own.min(4))]),
        is_group: what == "epic",
        body: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"),
        id,
        ..Issue::default()
    }))
}

/// A line of a list without its mark.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix(['-', '*', '+']).map_or(line, str::trim_start);
    let line = ["[ ]", "[x]", "[X]"].iter().find_map(|sign| line.strip_prefix(sign)).unwrap_or(line);
    line.trim()
}
