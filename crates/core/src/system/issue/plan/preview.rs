//! How the plan of an issue is shown.

use serde_json::{Value, json};

use super::{IssueReading, Node, Role};
use crate::plan::{Check, Plan, TaskId};
use crate::view::counted;
use crate::view::preview::{Line, MOST, and_more};

/// What `--json` has in addition to other plans.
pub(super) fn describe(read: &IssueReading, document: &mut Value) {
    let done = read.outline.done();
    let node = |(nth, node): (usize, &Node)| {
        json!({
            "id": node.id,
            "title": node.title,
            "role": role(node.role),
            "line": node.line,
            "parent": node.parent.map(|above| &read.outline.nodes[above].id),
            "done": done[nth],
            "optional": node.optional,
            "dropped": node.dropped,
        })
    };
    document["issue"] = json!({
        "number": read.issue.number,
        "title": read.issue.title,
        "branch": read.issue.branch(),
    });
    document["boxes"] = read.outline.nodes.iter().enumerate().map(node).collect();
    document["before"] = json!(read.reading.before);
    document["detected"] = json!(read.detected);
    document["coverage"] = json!(read.coverage.rows);
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Parent => "parent",
        Role::Task => "task",
        Role::Step => "step",
    }
}

/// Phases with their boxes, the checks and where they come from, and what the requirements are covered by.
pub(super) fn show(read: &IssueReading, plan: &Plan, all: bool) -> Vec<Line> {
    let before = &read.reading.before;
    let tasks = counted(before.len() as u64, "task");
    let done = before.values().filter(|before| before.done).count();
    let done = if done == 0 { String::new() } else { format!(" ({done} done before)") };
    let branch = read.issue.branch();
    let mut lines =
        vec![Line::bold(&plan.name).and(format!(" {tasks}{done}, one after the other, on {branch}"))];
    boxes(read, plan, all, &mut lines);
    checks(read, plan, &mut lines);
    coverage(read, all, &mut lines);
    lines
}

fn heading(lines: &mut Vec<Line>, title: &str) {
    lines.extend([Line::default(), Line::bold(title)]);
}

fn boxes(read: &IssueReading, plan: &Plan, all: bool, lines: &mut Vec<Line>) {
    let (nodes, done) = (&read.outline.nodes, read.outline.done());
    let mut depths = vec![0_usize; nodes.len()];
    let mut steps = vec![0_u64; nodes.len()];
    for (nth, node) in nodes.iter().enumerate() {
        if let Some(above) = node.parent {
            depths[nth] = depths[above] + 1;
            steps[above] += u64::from(node.role == Role::Step);
        }
    }
    let mut groups = plan_groups(read, plan);
    let mut shown = 0;
    for (nth, node) in nodes.iter().enumerate().filter(|(_, node)| node.role != Role::Step) {
        if let Some((_, title)) = groups.pop_if(|(line, _)| *line <= node.line) {
            heading(lines, &title);
        }
        shown += 1;
        if shown > MOST && !all {
            continue;
        }
        let before = read.reading.before.get(&node.id);
        let is_done = before.map_or(done[nth], |before| before.done);
        let mark = match (node.dropped, is_done) {
            (true, _) => "[-]",
            (false, true) => "[x]",
            (false, false) => "[ ]",
        };
        let mut notes: Vec<String> = Vec::new();
        notes.extend(node.optional.then(|| "optional".to_owned()));
        notes.extend(node.dropped.then(|| "dropped".to_owned()));
        notes.extend((steps[nth] > 0).then(|| counted(steps[nth], "step")));
        notes.extend(before.is_some_and(|before| before.is_branch).then(|| "Piton does this".to_owned()));
        let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
        let indent = "  ".repeat(depths[nth].min(8));
        lines.push(Line::plain(format!("  {indent}{mark} {:6} {}", node.id, node.title)).dim(notes));
    }
    if shown > MOST && !all {
        lines.push(and_more(shown - MOST));
    }
}

/// The line of the first box of each group, and the group's title; the first group comes last.
fn plan_groups(read: &IssueReading, plan: &Plan) -> Vec<(usize, String)> {
    let mut first: Vec<(usize, String)> = Vec::new();
    let mut lines = read.outline.tasks().map(|(nth, node)| {
        // A phase begins with the parents of its first task.
        let above = std::iter::successors(Some(nth), |nth| read.outline.nodes[*nth].parent);
        (node.id.clone(), above.map(|nth| read.outline.nodes[nth].line).min().unwrap_or(node.line))
    });
    let mut group = None;
    for task in &plan.tasks {
        let Some((_, line)) = lines.next() else { break };
        if group != Some(task.group) {
            group = Some(task.group);
            let title = plan.groups.get(task.group as usize).map(|group| group.title.clone());
            first.push((line, title.unwrap_or_default()));
        }
    }
    // The tasks of the first parents may come later.
    first.first_mut().into_iter().for_each(|(line, _)| *line = 0);
    first.reverse();
    first
}

fn checks(read: &IssueReading, plan: &Plan, lines: &mut Vec<Line>) {
    heading(lines, "checks of every task");
    for found in &read.detected {
        let line = Line::plain(format!("  {:7} {}  ", found.about, found.check.run));
        lines.push(line.dim(format!("found in {}", found.from)));
    }
    // A task that is not a checkpoint has the checks of all, and no others.
    let usual = plan.tasks.iter().filter(|task| !task.may_change_nothing).map(|task| &task.checks).next();
    if read.detected.is_empty() {
        for check in usual.into_iter().flatten() {
            lines.push(Line::plain(format!("  {}  ", check.run)).dim("set in piton.toml"));
        }
        if usual.is_none_or(Vec::is_empty) {
            lines.push(Line::plain("  none: Piton trusts what the agent reports"));
        }
    }
    for task in plan.tasks.iter().filter(|task| task.may_change_nothing) {
        let known = |check: &&Check| usual.is_none_or(|usual| !usual.contains(check));
        let own: Vec<String> = task.checks.iter().filter(known).map(|check| check.run.to_string()).collect();
        if !own.is_empty() {
            lines.push(Line::plain(format!("  {:7} {}", task.id, own.join("; "))));
        }
    }
}

fn coverage(read: &IssueReading, all: bool, lines: &mut Vec<Line>) {
    let rows = &read.coverage.rows;
    if rows.is_empty() {
        return;
    }
    heading(lines, "requirements");
    for row in rows.iter().take(if all { rows.len() } else { MOST }) {
        let names = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let tests = match &row.tests[..] {
            [] => "no tests".to_owned(),
            tests => format!("tests: {}", names(tests)),
        };
        let by = if row.tasks.is_empty() {
            "no task".to_owned()
        } else {
            format!("{}; {tests}", names(&row.tasks))
        };
        lines.push(Line::plain(format!("  {:6} {by}  ", row.key)).dim(shortened(&row.text)));
    }
    if rows.len() > MOST && !all {
        lines.push(and_more(rows.len() - MOST));
    }
}

/// The beginning of a text, on one line.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
