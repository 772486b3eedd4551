//! Adds a unit to a list, behind the last one. The existing text does not change.

use super::LISTS;
use crate::plan::{Mode, Plan, RepoPath, TaskId};
use crate::run::Refusal;
use crate::system::Folder;
use crate::system::addition::{Addition, refused};
use crate::system::kit::checklist::{self, number};
use crate::system::kit::outline::{Outline, end_of};
use crate::system::kit::problems::Problems;
use crate::system::kit::text;

/// The list's name and its bytes with the unit in it, or `None` if it is in it already.
pub fn add(folder: &Folder, plan: &Plan, task: &Addition) -> Result<Option<(String, Vec<u8>)>, Refusal> {
    let knowledge = plan.settings.form.brief().is_some_and(|about| about.mode == Mode::Knowledge);
    let name = if knowledge { LISTS[1] } else { LISTS[0] };
    let bytes = folder.files.get(name).ok_or_else(|| refused("the plan has no list of units", None))?;
    if task.checks.is_some() || task.layer.is_some() {
        let hint = "in `piton.toml`: `[defaults]` with `checks = [\"make test\"]`".to_owned();
        return Err(refused("a unit of a list has no checks and no group of its own", Some(hint)));
    }
    if !is_id(&task.id) {
        let hint = Some("like T12".to_owned());
        return Err(refused(format!("{} cannot be a unit of a list", task.id), hint));
    }
    let text = text::decode(bytes).text;
    let list = checklist::scan(&text);
    let outline = Outline::read(&list, &text, &mut Problems::default());
    let title = task.title.trim();
    if let Some(known) = outline.nodes.iter().find(|node| node.id.folded() == task.id.folded()) {
        return if known.title == title { Ok(None) } else { Err(task.taken()) };
    }
    let last = outline.nodes.iter().rposition(|node| node.parent.is_none() && node.place.is_some());
    let last = last.ok_or_else(|| refused("the list has no unit to put it after", None))?;
    let end = end_of(&list, &outline, last);
    let line = &text[list.lines[outline.nodes[last].line - 1].at.clone()];
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut block = format!("\n{indent}- [ ] **{}**: {title}", task.id);
    let mut bullet = |text: &str| block += &format!("\n{indent}  - {text}");
    let told = task.description.as_deref().unwrap_or_default().lines().map(str::trim);
    let bare =
        |line| ["- ", "* ", "+ "].iter().find_map(|sign| str::strip_prefix(line, sign)).unwrap_or(line);
    told.map(bare).filter(|line| !line.is_empty()).for_each(&mut bullet);
    if !task.files.is_empty() {
        let files: Vec<String> = task.files.iter().map(|file: &RepoPath| format!("`{file}`")).collect();
        bullet(&format!("Files: {}", files.join(", ")));
    }
    let needs: Vec<&str> = task.after.iter().map(TaskId::as_str).collect();
    bullet(&format!("Depends: {}", if needs.is_empty() { "none".to_owned() } else { needs.join(", ") }));
    let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
    let block = if crlf { block.replace('\n', "\r\n") } else { block };
    match checklist::replace(bytes, &text, &[(end..end, block)]) {
        Some(new) => Ok(Some((name.to_owned(), new))),
        None => Err(refused(format!("`{name}` is not UTF-8, so Piton does not change it"), None)),
    }
}

/// Whether a list can name a unit so.
pub(super) fn is_id(id: &TaskId) -> bool {
    number(&format!("**{id}**: x")) == Some((id.as_str(), "x"))
}
