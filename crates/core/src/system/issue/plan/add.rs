//! Adds a box to a list, at its place in the order. The existing text does not change.

use super::{LISTS, Outline, Role};
use crate::plan::{RepoPath, TaskId};
use crate::run::Refusal;
use crate::system::Folder;
use crate::system::addition::{Addition, refused};
use crate::system::kit::checklist::{self, Checklist, Kind};
use crate::system::kit::outline::end_of;
use crate::system::kit::problems::Problems;
use crate::system::kit::text;

/// The list's name and its bytes with the task in it, or `None` if just this task is in it already.
pub fn add(folder: &Folder, task: &Addition) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    let list = LISTS.into_iter().find_map(|name| Some((name, folder.files.get(name)?)));
    let (name, bytes) = list.ok_or_else(|| refused("the plan has no list of tasks", None))?;
    if task.checks.is_some() {
        let hint = "in `piton.toml`: `[defaults]` with `checks = [\"make test\"]`".to_owned();
        return Err(refused("the checks of an issue are the same for all its tasks", Some(hint)));
    }
    if task.layer.is_some() {
        let hint = "--after ID puts it behind that task".to_owned();
        return Err(refused("the phase of a task is where it stands in the list", Some(hint)));
    }
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let outline = Outline::read(&list, &text, &mut Problems::default());
    let known = outline.nodes.iter().position(|node| node.id.folded() == task.id.folded());
    let (beside, end) = match known {
        Some(own) => (own, end_of(&list, &outline, own)),
        None => place(&list, &outline, task)?,
    };
    let line = &list.lines[outline.nodes[beside].line - 1];
    let block = block(task, &text[line.at.clone()]);
    if known.is_some() {
        return if text[line.at.start..end] == block[1..] { Ok(None) } else { Err(task.taken()) };
    }
    let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
    let block = if crlf { block.replace('\n', "\r\n") } else { block };
    match checklist::replace(bytes, &text, &[(end..end, block)]) {
        Some(new) => Ok(Some((name.to_owned(), new))),
        None => Err(refused(format!("`{name}` is not UTF-8, so Piton does not change it"), None)),
    }
}

/// The box that it goes next to, and its place in the text: behind the last task that it depends on, else behind those
/// of the parent in its number, else behind all.
fn place(list: &Checklist, outline: &Outline, task: &Addition) -> Result<(usize, usize), Refusal> {
    let nodes = &outline.nodes;
    let of = |id: &str| nodes.iter().position(|node| node.role != Role::Step && node.id.as_str() == id);
    let waits_for = task.after.iter().filter_map(|id| of(id.as_str())).max();
    let parent = task.id.as_str().rmatch_indices('.').find_map(|(at, _)| of(&task.id.as_str()[..at]));
    let sibling = |parent| nodes.iter().rposition(|node| node.parent == parent && node.role != Role::Step);
    let beside = waits_for.or_else(|| sibling(Some(parent?))).or_else(|| sibling(None));
    let beside = beside.ok_or_else(|| refused("the list has no task to put it next to", None))?;
    if !matches!(list.lines[nodes[beside].line - 1].kind, Kind::Item(_)) {
        let hint = format!("add a heading `### {}: {}` with boxes below it", task.id, task.title.trim());
        return Err(refused("the tasks of this list are headings", Some(hint)));
    }
    Ok((beside, end_of(list, outline, beside)))
}

/// The box and what stands below it, each line with its end before it.
fn block(task: &Addition, beside: &str) -> String {
    let indent = &beside[..beside.len() - beside.trim_start().len()];
    let dot = if task.id.as_str().contains('.') { "" } else { "." };
    let mut block = format!("\n{indent}- [ ] {}{dot} {}", task.id, task.title.trim());
    let mut bullet = |text: &str| block += &format!("\n{indent}  - {text}");
    let told = task.description.as_deref().unwrap_or_default().lines().map(str::trim);
    // Bullets are what they become anyway; a box without a number is a step.
    let bare =
        |line| ["- ", "* ", "+ "].iter().find_map(|sign| str::strip_prefix(line, sign)).unwrap_or(line);
    told.map(bare).filter(|line| !line.is_empty()).for_each(&mut bullet);
    if let [_, _, ..] = &task.after[..] {
        let ids: Vec<&str> = task.after.iter().map(TaskId::as_str).collect();
        bullet(&format!("Depends on: {}", ids.join(", ")));
    }
    if !task.files.is_empty() {
        let files: Vec<String> = task.files.iter().map(|file: &RepoPath| format!("`{file}`")).collect();
        bullet(&format!("Files: {}", files.join(", ")));
    }
    block
}
