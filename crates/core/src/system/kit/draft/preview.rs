//! What is shown of such a plan before a run: where each task stands, who does it, and what judges it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{DraftTask, Kind, Standing};
use crate::order::Pairs;
use crate::plan::{Graph, Plan, TaskId, TaskSpec};
use crate::view::counted;
use crate::view::preview::{Line, MOST, and_more};

/// What a plan's file says about a task, beyond what a run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    file: String,
    /// From 1.
    line: usize,
    kind: Kind,
    standing: Standing,
}

impl Source {
    pub(super) fn new(task: &DraftTask, lines: &LineStarts) -> Source {
        let line = lines.line_of(&task.file, task.at.start);
        Source { file: task.file.clone(), line, kind: task.kind, standing: task.standing.clone() }
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.standing == Standing::Claimed
    }

    /// Who does it, where that is not an agent.
    fn who(&self) -> Option<String> {
        if let Some(why) = self.standing.why_not_ours() {
            return Some(format!("left to others: {why}"));
        }
        match (&self.standing, self.kind) {
            (Standing::Claimed, _) => Some("claimed done, and not run again".to_owned()),
            (Standing::Unwanted(why), _) => Some(format!("skipped: {why}")),
            (_, Kind::Person) => Some("done by a person".to_owned()),
            (_, Kind::Git) => Some("done by Piton itself".to_owned()),
            (_, Kind::Work | Kind::Verify) => None,
        }
    }

    fn judges(&self, spec: &TaskSpec) -> String {
        let checks: Vec<String> = spec.checks.iter().map(|check| check.run.to_string()).collect();
        match (self.who(), checks.len()) {
            (Some(who), _) => who,
            (None, 0) => "nothing judges it: Piton trusts what the agent reports".to_owned(),
            (None, _) if self.kind == Kind::Verify => format!("only looks: {}", checks.join("; ")),
            (None, _) => checks.join("; "),
        }
    }
}

/// Where the lines of each file begin: a plan may have very many tasks.
pub(super) struct LineStarts<'f>(BTreeMap<&'f str, Vec<usize>>);

impl<'f> LineStarts<'f> {
    pub(super) fn new(texts: &'f BTreeMap<String, String>) -> LineStarts<'f> {
        let starts = |text: &str| text.match_indices('\n').map(|(at, _)| at + 1).collect();
        LineStarts(texts.iter().map(|(file, text)| (file.as_str(), starts(text))).into_map())
    }

    /// From 1.
    fn line_of(&self, file: &str, at: usize) -> usize {
        self.0.get(file).map_or(0, |starts| starts.partition_point(|start| *start <= at)) + 1
    }
}

pub(super) fn lines(plan: &Plan, sources: &[Source], all: bool) -> Option<Vec<Line>> {
    let graph = Graph::new(&plan.tasks).ok()?;
    let groups = counted(plan.groups.len() as u64, "group");
    let tasks = counted(plan.tasks.len() as u64, "task");
    let claimed = sources.iter().filter(|source| source.is_claimed()).count();
    let claimed = if claimed == 0 { String::new() } else { format!(", {claimed} claimed done") };
    let most = plan.settings.max_parallel;
    let mut lines =
        vec![Line::bold(&plan.name).and(format!(" {tasks} in {groups}{claimed}, up to {most} at once"))];
    let mut group = None;
    let mut hidden = 0;
    for (nth, (spec, source)) in plan.tasks.iter().zip(sources).enumerate() {
        if nth >= MOST && !all {
            hidden += 1;
            continue;
        }
        if group.replace(spec.group) != Some(spec.group)
            && let Some(group) = plan.groups.get(spec.group as usize)
        {
            lines.push(Line::plain(""));
            lines.push(Line::bold(&group.title));
        }
        let needs: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" ← {}", needs.join(", ")) };
        let line = Line::plain(format!("  {:8} {}", spec.id, spec.title)).dim(needs);
        lines.push(line.dim(format!("  {}:{}  [{}]", source.file, source.line, source.judges(spec))));
    }
    if hidden > 0 {
        lines.push(and_more(hidden));
    }
    let (path, _) = graph.critical_path(|_| 1);
    let ids: Vec<&str> = path.iter().map(|&task| plan.tasks[task].id.as_str()).collect();
    let ids = match ids.len() {
        13.. => format!("{} → … → {}", ids[..6].join(" → "), ids[ids.len() - 5..].join(" → ")),
        _ => ids.join(" → "),
    };
    lines.push(Line::plain(""));
    lines.push(Line::bold("critical path").and(format!(" {}: {ids}", counted(path.len() as u64, "step"))));
    if !plan.settings.landing_checks.is_empty() {
        let checks = plan.settings.landing_checks.iter().map(|check| format!("`{}`", check.run));
        let checks: Vec<String> = checks.collect();
        lines.push(Line::bold("before each landing").and(format!(" {}", checks.join(", "))));
    }
    Some(lines)
}

/// The same for programs: `source`, `kind`, `claimed` and `judged_by` of each task of the document.
pub(super) fn describe(document: &mut Value, sources: &[Source]) {
    let Some(tasks) = document.get_mut("tasks").and_then(Value::as_array_mut) else { return };
    for (task, source) in tasks.iter_mut().zip(sources) {
        let commands: Vec<Value> = task["checks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|check| check.get("name").cloned())
            .collect();
        let why_not_ours = source.standing.why_not_ours();
        let judged_by = match source.kind {
            _ if why_not_ours.is_some() => json!("person"),
            Kind::Person => json!("person"),
            Kind::Git => json!("piton"),
            _ if commands.is_empty() => json!("report"),
            _ => json!(commands),
        };
        let kind = match source.kind {
            Kind::Work => "work",
            Kind::Verify => "verify",
            Kind::Person => "person",
            Kind::Git => "git",
        };
        let Some(task) = task.as_object_mut() else { continue };
        task.insert("source_file".to_owned(), json!({ "path": source.file, "line": source.line }));
        task.insert("kind".to_owned(), json!(kind));
        task.insert("claimed".to_owned(), json!(source.is_claimed()));
        task.insert("judged_by".to_owned(), judged_by);
        if let Some(why) = why_not_ours {
            task.insert("not_for_piton".to_owned(), json!(why));
        }
    }
}
