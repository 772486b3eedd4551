//! The rw-kit system: todolists whose lines carry agents, dependencies, files and sizes as tags, in stories and
//! batches, and a master list that names them in order.
//!
//! Everything here is read from what people and models wrote. A line that looks like a task is one, or is reported.
//! Numbers that a list counts itself are counted again.

pub mod batches;
pub mod boxes;
mod differ;
mod gates;
mod line;
pub mod master;
mod new;
mod ops;
pub mod plan;
mod prompt;
mod row;
mod rows;
pub mod said;
mod sections;
mod siblings;
pub mod state;
mod tables;
mod tags;
pub mod takeover;
#[cfg(test)]
mod tests;
mod todolist;
mod totals;
pub mod write;
mod writers;

pub use row::{LIST, Rwkit};
pub use siblings::{Sibling, SiblingTask};
pub use todolist::{ListedStory, Task, Todolist};

/// The list of lists.
pub const MASTER: &str = "00-master-todolist.md";

/// How the names of lists end, and what the name of the plan has there instead.
const ENDS: [&str; 4] = ["-todolist.md", ".todolist.md", "-todo.md", ".todo.md"];

/// What a list is about, by its file's name: `1-1-user-auth` of `plans/1-1-user-auth-todolist.md`.
pub fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ends = ENDS.iter().find_map(|end| name.strip_suffix(end));
    ends.or_else(|| name.strip_suffix(".md")).unwrap_or(name)
}

/// Whether a file is named like a list; others are lists if a person names them.
pub fn is_list(path: &str) -> bool {
    ENDS.iter().any(|end| path.ends_with(end)) && !is_master(path)
}

pub fn is_master(path: &str) -> bool {
    path.rsplit(['/', '\\']).next() == Some(MASTER)
}

/// The path of the plan that a list was made from: next to the list.
pub fn plan_path(list: &str) -> Option<String> {
    let end = ENDS.iter().find(|end| list.ends_with(**end))?;
    Some(format!("{}-plan.md", &list[..list.len() - end.len()]))
}
