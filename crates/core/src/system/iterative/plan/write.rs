//! A plan as a folder of this system: what it has words for.

use std::fmt::Write;

use super::add::is_id;
use super::{BRIEFS, LISTS, REVIEW};
use crate::plan::{Iterative, Mode, Plan, RepoPath, TaskId, TaskSpec};
use crate::system::config::DEFAULT_AGENT;
use crate::system::export::renumber;
use crate::system::iterative::context::{self, Facts};

/// The same plan with ids that such a list can have; others are counted. The reader adds the review again.
pub fn fit(plan: &Plan) -> Plan {
    let mut fitted = plan.clone();
    let last = |task: &TaskSpec| {
        let group = plan.groups.get(task.group as usize);
        plan.settings.form.brief().is_some() && group.is_some_and(|group| group.id.as_str() == REVIEW)
    };
    fitted.tasks.retain(|task| !last(task));
    if fitted.tasks.iter().all(|task| is_id(&task.id)) {
        return fitted;
    }
    renumber(&mut fitted, |nth| {
        TaskId::new(&format!("T{}", nth + 1)).expect("a letter and digits are an id")
    });
    fitted
}

/// The brief, the list, and the file that every agent is pointed to when it starts. What a task has besides its fields
/// stands below its box, as bullets.
pub fn write(plan: &Plan, done: impl Fn(&TaskId) -> bool) -> Vec<(String, String)> {
    let unsaid = Iterative { name: plan.name.clone(), ..Iterative::default() };
    let about = plan.settings.form.brief().unwrap_or(&unsaid);
    let (list, title) = match about.mode {
        Mode::Development => (LISTS[0], "Tasks"),
        Mode::Knowledge => (LISTS[1], "Phases"),
    };
    let mut text = format!("# {} - {title}\n\n", about.name);
    if !about.domains.is_empty() && about.mode == Mode::Knowledge {
        let _ = writeln!(text, "**Domain:** {}", joined(about.domains.iter()));
    }
    let _ = write!(text, "**Total:** {} {}\n\n## {title}\n", plan.tasks.len(), title.to_lowercase());
    for task in &plan.tasks {
        unit(&mut text, task, done(&task.id), about);
    }
    let context = context::write(&facts(plan, about));
    vec![
        (BRIEFS[0].to_owned(), brief(about, list)),
        (list.to_owned(), text),
        (context::FILE.to_owned(), context),
    ]
}

/// What a plan tells every agent that starts.
fn facts(plan: &Plan, about: &Iterative) -> Facts {
    let made = plan.tasks.iter().flat_map(|task| {
        let outputs = about.units.get(&task.id).map(|unit| unit.outputs.as_slice()).unwrap_or_default();
        let files = task.files.iter().map(RepoPath::as_str);
        files.chain(outputs.iter().map(String::as_str)).map(|path| (path.to_owned(), task.title.clone()))
    });
    Facts {
        task: about.name.clone(),
        goal: about.outcome.clone(),
        approach: String::new(),
        files: made.collect(),
        patterns: about.constraints.clone(),
        signals: plan.tasks.iter().map(|task| (task.id.to_string(), task.title.clone())).collect(),
    }
}

fn unit(text: &mut String, task: &TaskSpec, done: bool, about: &Iterative) {
    let mark = if done { 'x' } else { ' ' };
    let _ = write!(text, "\n- [{mark}] **{}**: {}\n", task.id, task.title);
    for line in task.prompt.lines().map(str::trim).filter(|line| !line.is_empty() && *line != task.title) {
        let _ = writeln!(text, "  - {}", line.trim_start_matches(['-', '*', '+', '#', '[', '>', ' ']));
    }
    if !task.files.is_empty() {
        let files: Vec<String> = task.files.iter().map(|file: &RepoPath| format!("`{file}`")).collect();
        let _ = writeln!(text, "  - Files: {}", files.join(", "));
    }
    if !task.criteria.is_empty() {
        text.push_str("  - Criteria:\n");
        task.criteria.iter().for_each(|criterion| *text += &format!("    - {criterion}\n"));
    }
    for output in about.units.get(&task.id).map(|unit| unit.outputs.as_slice()).unwrap_or_default() {
        let _ = writeln!(text, "  - Output: `{output}`");
    }
    let needs = if task.depends_on.is_empty() { "none".to_owned() } else { joined(task.depends_on.iter()) };
    let _ = writeln!(text, "  - Completion: `<signal>{}_DONE</signal>`", task.id);
    let _ = writeln!(text, "  - Max iterations: {}\n  - Depends: {needs}", task.attempts);
    if task.agent != DEFAULT_AGENT {
        let _ = writeln!(text, "  - Model: {}", task.agent);
    }
}

fn brief(about: &Iterative, list: &str) -> String {
    let mut text = format!("# {}\n\n**Mode:** {}\n", about.name, about.mode.word());
    if !about.domains.is_empty() {
        let _ = writeln!(text, "**Domain:** {}", joined(about.domains.iter()));
    }
    let outcome =
        if about.outcome.is_empty() { format!("Everything in `{list}`.") } else { about.outcome.clone() };
    let _ = write!(text, "\n## Outcome Needed\n\n{outcome}\n");
    for (title, items) in [("Done When", &about.done_when), ("Constraints", &about.constraints)] {
        if !items.is_empty() {
            let _ = write!(text, "\n## {title}\n\n");
            items.iter().for_each(|item| text += &format!("- {item}\n"));
        }
    }
    text
}

fn joined<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
