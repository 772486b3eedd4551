//! Adds a task at the end of a `plan.toml`. The existing text does not change.

use toml::Value;
use toml::de::DeTable;

use crate::plan::{Plan, RepoPath, TaskId};
use crate::run::Refusal;
use crate::system::addition::{Addition, refused};

/// The text with the task in it, or `None` if just this task is in it already. `plan` is what the text says.
pub fn add(text: &str, plan: &Plan, task: &Addition) -> Result<Option<String>, Refusal> {
    let declares_groups = DeTable::parse(text).is_ok_and(|table| table.get_ref().contains_key("group"));
    let layer = match (&task.layer, &plan.groups[..]) {
        (Some(layer), _) => Some(layer),
        (None, [only]) => Some(&only.id),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|group| group.id.as_str()).collect();
            let hint = format!("--layer NAME, one of {}", names.join(", "));
            return Err(refused("the plan has several groups: say in which one", Some(hint)));
        }
    };
    let ends = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut block = format!("[[task]]{ends}");
    let mut line = |key: &str, value: Value| block += &format!("{key} = {value}{ends}");
    let list = |items: Vec<&str>| Value::Array(items.into_iter().map(Value::from).collect());
    line("id", task.id.as_str().into());
    line("title", task.title.trim().into());
    if let Some(layer) = layer.filter(|_| declares_groups) {
        line("group", layer.as_str().into());
    }
    line("prompt", task.description.as_deref().unwrap_or(&task.title).into());
    if !task.after.is_empty() {
        line("depends_on", list(task.after.iter().map(TaskId::as_str).collect()));
    }
    if !task.files.is_empty() {
        line("files", list(task.files.iter().map(RepoPath::as_str).collect()));
    }
    if let Some(checks) = &task.checks {
        line("checks", list(checks.iter().map(|check| check.trim()).collect()));
    }
    if task.is_in(plan) {
        return if text.contains(&block) { Ok(None) } else { Err(task.taken()) };
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => ends,
        _ => &ends.repeat(2),
    };
    Ok(Some(format!("{text}{gap}{block}")))
}
