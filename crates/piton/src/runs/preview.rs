//! A plan as it would be run: layers, batches and the critical path.

use std::collections::BTreeMap;

use piton_core::order::Arrange;
use piton_core::plan::{Graph, Plan, Schedule, TaskId, TaskSpec};
use piton_core::run::{Selection, Session};
use piton_core::view::counted;
use piton_core::view::preview::{Line, MOST, Part, and_more};
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::plans::{self, FoundPlan};
use crate::preflight::{self, Finding};
use crate::runs::find;
use crate::ui::{self, BOLD, DIM};

/// What a run of the plan would miss here.
pub(crate) fn missing(found: &FoundPlan) -> Outcome<Vec<Finding>> {
    let project = find::of_plan(&found.path, None).ok();
    let root = project.as_ref().map_or_else(|| plans::folder_of(&found.path), |project| &project.root);
    let start = preflight::Start {
        root,
        project: project.as_ref(),
        plan: &found.path,
        named: found.read.named(),
        target: None,
        agent: None,
        sandbox: None,
    };
    preflight::foresee(&found.plan, start)
}

/// The plan for programs.
pub(crate) fn document(found: &FoundPlan, session: &Session, missing: &[Finding]) -> Value {
    let plan = &found.plan;
    // The reader refuses cycles, so there is a graph.
    let Ok(graph) = Graph::new(&plan.tasks) else { return Value::Null };
    let batches = batches(&plan.tasks, &graph, session.schedule);
    let mut document = json!({
        "plan": plan.name,
        "path": found.path,
        "hash": plan.hash(),
        "schedule": session.schedule,
        "max_parallel": session.max_parallel,
        "groups": plan.groups,
        "batches": batches.iter().map(|((group, level), tasks)| json!({
            "group": plan.groups.get(*group as usize).map(|group| &group.id),
            "level": level,
            "tasks": tasks.iter().map(|task| &task.id).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "critical_path": critical_path(plan, &graph),
        "tasks": plan.tasks,
        "missing": missing.iter().map(Finding::as_json).collect::<Vec<_>>(),
    });
    found.read.describe(&mut document);
    document
}

fn critical_path<'p>(plan: &'p Plan, graph: &Graph) -> Vec<&'p str> {
    let (path, _) = graph.critical_path(|_| 1);
    path.iter().map(|&task| plan.tasks[task].id.as_str()).collect()
}

/// How a plan is shown before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreviewForm {
    Json,
    /// Text that leaves out tasks if there are many.
    Short,
    EveryTask,
}

/// A session as the plan alone says it.
pub(crate) fn session(plan: &Plan) -> Session {
    Session {
        schedule: plan.settings.schedule,
        max_parallel: plan.settings.max_parallel,
        landing_parallel: 1,
        landing_by_load: false,
        selection: Selection::All,
        agent: None,
        budget: plan.settings.budget,
        fences: plan.settings.fences.clone(),
        verbose: false,
        quiet: false,
    }
}

/// Layers, batches and the critical path.
pub(crate) fn show(found: &FoundPlan, session: &Session, form: PreviewForm, missing: &[Finding]) {
    let all = form == PreviewForm::EveryTask;
    if form == PreviewForm::Json {
        return ui::answer_json(&document(found, session, missing));
    }
    // After the answer, where it is seen.
    match found.read.preview(&found.plan, all) {
        Some(lines) => lines.iter().for_each(|line| ui::answer_line(drawn(line))),
        None => show_graph(found, session, all),
    }
    preflight::tell(missing);
}

/// A line in its printed form.
fn drawn(line: &Line) -> String {
    let part = |part: &Part| match part {
        Part::Plain(text) => ui::plain(text),
        Part::Bold(text) => ui::styled(BOLD, ui::plain(text)).to_string(),
        Part::Dim(text) => ui::styled(DIM, ui::plain(text)).to_string(),
    };
    line.0.iter().map(part).collect()
}

fn show_graph(found: &FoundPlan, session: &Session, all: bool) {
    let plan = &found.plan;
    let Ok(graph) = Graph::new(&plan.tasks) else { return };
    let path = critical_path(plan, &graph);
    let batches = batches(&plan.tasks, &graph, session.schedule);
    let schedule = format!("{:?}", session.schedule).to_lowercase();
    let size = plan.size_in_groups().unwrap_or_else(|| {
        let layers = counted(plan.groups.len() as u64, "layer");
        format!("{} in {layers}, {schedule}", counted(plan.tasks.len() as u64, "task"))
    });
    ui::answer_line(format!(
        "{} {size}, up to {} at once",
        ui::styled(BOLD, &plan.name),
        session.max_parallel
    ));
    let mut shown = 0;
    let mut last_group = None;
    for ((group, level), tasks) in &batches {
        if last_group != Some(*group) && session.schedule != Schedule::Flow {
            last_group = Some(*group);
            if let Some(group) = plan.groups.get(*group as usize) {
                ui::answer_line(format!(
                    "\n{} {}",
                    ui::styled(BOLD, group.id.as_str()),
                    ui::plain(&group.title)
                ));
            }
        } else if last_group.is_none() {
            ui::answer_line("");
            last_group = Some(*group);
        }
        for task in tasks {
            shown += 1;
            if shown > MOST && !all {
                continue;
            }
            ui::answer_line(line(task, *level));
        }
    }
    if shown > MOST && !all {
        ui::answer_line(drawn(&and_more(shown - MOST)));
    }
    let steps = counted(path.len() as u64, "step");
    let path = if path.len() > 12 {
        format!("{} → … → {}", path[..6].join(" → "), path[path.len() - 5..].join(" → "))
    } else {
        path.join(" → ")
    };
    ui::answer_line(format!("\n{} {steps}: {path}", ui::styled(BOLD, "critical path")));
    if !plan.settings.landing_checks.is_empty() {
        let checks: Vec<String> =
            plan.settings.landing_checks.iter().map(|check| format!("`{}`", check.run)).collect();
        ui::answer_line(format!("{} {}", ui::styled(BOLD, "before each landing"), checks.join(", ")));
    }
}

fn line(task: &TaskSpec, level: u32) -> String {
    let needs: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
    let needs = if needs.is_empty() { String::new() } else { format!(" ← {}", needs.join(", ")) };
    let checks: Vec<String> = task.checks.iter().map(|check| check.run.to_string()).collect();
    let checks = match checks.len() {
        0 => "no check: Piton trusts what the agent reports".to_owned(),
        _ => checks.join("; "),
    };
    format!(
        "  {level}  {:8} {}{}  {}",
        task.id,
        ui::plain(&task.title),
        ui::styled(DIM, needs),
        ui::styled(DIM, format!("[{}]", ui::plain(&checks)))
    )
}

/// Tasks by group and dependency level, each in the order they would start.
fn batches<'p>(
    tasks: &'p [TaskSpec],
    graph: &Graph,
    schedule: Schedule,
) -> BTreeMap<(u32, u32), Vec<&'p TaskSpec>> {
    let mut batches: BTreeMap<(u32, u32), Vec<&TaskSpec>> = BTreeMap::new();
    for (task, &level) in tasks.iter().zip(&graph.levels) {
        let group = if schedule == Schedule::Flow { 0 } else { task.group };
        batches.entry((group, level)).or_default().push(task);
    }
    for batch in batches.values_mut() {
        batch.arrange_by(|a, b| (a.priority, &a.id).cmp(&(b.priority, &b.id)));
    }
    batches
}
