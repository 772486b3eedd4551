//! A plan as the list of an issue: what this system has words for.

use std::fmt::Write;

use super::LISTS;
use crate::plan::{Plan, RepoPath, TaskId};
use crate::system::export::renumber;

/// The same plan with ids that such a list can have: those that a reader takes for numbers stay, others are counted.
pub fn fit(plan: &Plan) -> Plan {
    let mut fitted = plan.clone();
    let is_number = |id: &TaskId| id.as_str().bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    if plan.tasks.iter().all(|task| is_number(&task.id)) {
        return fitted;
    }
    renumber(&mut fitted, |nth| TaskId::new(&(nth + 1).to_string()).expect("a number is an id"));
    fitted
}

/// The list. What it says about a task stands below its box, as bullets.
pub fn write(plan: &Plan, done: impl Fn(&TaskId) -> bool) -> Vec<(String, String)> {
    let about = plan.settings.form.issue().cloned().unwrap_or_default();
    let title = if about.title.is_empty() { &plan.name } else { &about.title };
    let mut text = match about.number {
        0 => format!("# Tasks: {title}\n\n## Tasks\n"),
        number => format!("# Tasks: Issue #{number} - {title}\n\n## Tasks\n"),
    };
    let mut group = None;
    for task in &plan.tasks {
        if plan.groups.len() > 1 && group != Some(task.group) {
            group = Some(task.group);
            let title = plan.groups.get(task.group as usize).map(|group| group.title.as_str());
            let title = title.filter(|title| !title.is_empty()).unwrap_or("Tasks");
            let _ = write!(text, "\n### Phase {}: {title}\n", task.group + 1);
        }
        let mark = if done(&task.id) { 'x' } else { ' ' };
        let _ = write!(text, "\n- [{mark}] {}. {}\n", task.id, task.title);
        for line in task.prompt.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "  - {}", line.trim_start_matches(['-', '*', '+', '#', '[', '>', ' ']));
        }
        if !task.files.is_empty() {
            let files: Vec<&str> = task.files.iter().map(RepoPath::as_str).collect();
            let _ = writeln!(text, "  - Files: {}", files.join(", "));
        }
    }
    vec![(LISTS[0].to_owned(), text)]
}
