//! The graph of a plan, to look at: where each task stands in a drawing, and the drawing as text, Graphviz, Mermaid or SVG.
//!
//! A column is a layer: a task stands to the right of everything it waits for. A group is a rectangle that no other group
//! and no task of another group reaches into. The drawing depends on the tasks and not on their order, so it does not jump
//! when a journal is read again.

mod dot;
mod layers;
mod mermaid;
mod place;
mod svg;
#[cfg(test)]
mod tests;
mod text;

use serde::Serialize;

use crate::plan::TaskId;
use crate::run::Status;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
pub use text::{Extent, Row, Rows, rows};

/// A task of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: TaskId,
    pub title: String,
    pub group: Option<String>,
    pub status: Status,
    /// What it waits for. Ids that no node has are ignored.
    pub after: Vec<TaskId>,
}

/// Where a task stands. One unit is the box of a task with the gap around it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    pub id: TaskId,
    /// The longest chain of tasks before it.
    pub layer: u32,
    pub x: f32,
    pub y: f32,
}

/// A drawing of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Layout {
    /// In the order of the nodes that it was made of.
    pub nodes: Vec<Placed>,
    /// From a task to one that waits for it, by position in `nodes`. The second is in a later layer.
    pub edges: Vec<(u32, u32)>,
    pub groups: Vec<Frame>,
    pub width: f32,
    pub height: f32,
}

/// The rectangle around a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frame {
    pub name: String,
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
    /// By position in the nodes.
    pub members: Vec<u32>,
}

/// Lay out a plan. It takes about as long as it takes to sort its tasks and edges a dozen times.
pub fn layout(nodes: &[Node]) -> Layout {
    place::layout(nodes)
}

/// The statuses that are drawn alike, by the name of their colour class.
pub(super) fn shade(status: Status) -> &'static str {
    match status {
        Status::Pending | Status::Waiting => "open",
        Status::InProgress | Status::Confirming | Status::Verifying => "busy",
        Status::Verified | Status::Merging => "landing",
        Status::Completed => "done",
        Status::Failed => "failed",
        Status::Abandoned | Status::Blocked => "stuck",
        Status::Skipped | Status::Unreachable | Status::PassedOver => "skipped",
    }
}

/// A class with its colours: fill, stroke and text. Each text is readable on its fill (WCAG AA).
struct Colours {
    shade: &'static str,
    light: [&'static str; 3],
    dark: [&'static str; 3],
}

#[rustfmt::skip]
const COLOURS: [Colours; 7] = [
    Colours { shade: "open",    light: ["#f4f4f5", "#71717a", "#27272a"], dark: ["#27272a", "#a1a1aa", "#e4e4e7"] },
    Colours { shade: "busy",    light: ["#dbeafe", "#1d4ed8", "#172554"], dark: ["#172554", "#60a5fa", "#dbeafe"] },
    Colours { shade: "landing", light: ["#ede9fe", "#6d28d9", "#2e1065"], dark: ["#2e1065", "#a78bfa", "#ede9fe"] },
    Colours { shade: "done",    light: ["#dcfce7", "#15803d", "#052e16"], dark: ["#052e16", "#4ade80", "#dcfce7"] },
    Colours { shade: "failed",  light: ["#fef3c7", "#b45309", "#451a03"], dark: ["#451a03", "#fbbf24", "#fef3c7"] },
    Colours { shade: "stuck",   light: ["#fee2e2", "#b91c1c", "#450a0a"], dark: ["#450a0a", "#f87171", "#fee2e2"] },
    Colours { shade: "skipped", light: ["#fafafa", "#a1a1aa", "#52525b"], dark: ["#18181b", "#71717a", "#a1a1aa"] },
];

/// The same colours for words of a page that have this class and one of those of the statuses, `s-done` and others.
pub(super) fn chip_styles(class: &str) -> String {
    let rules = |of: fn(&Colours) -> [&'static str; 3]| -> String {
        let rule = |colours: &Colours| {
            let [fill, stroke, font] = of(colours);
            format!("{class}.s-{}{{background:{fill};border-color:{stroke};color:{font}}}\n", colours.shade)
        };
        COLOURS.iter().map(rule).collect()
    };
    let (light, dark) = (rules(|colours| colours.light), rules(|colours| colours.dark));
    format!("{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n")
}

/// The groups in the order in which they first come, each with its members. Tasks of no group are under `None`.
fn groups(nodes: &[Node]) -> Vec<(Option<&str>, Vec<usize>)> {
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let name = node.group.as_deref();
        let group = *known.entry(name).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(at);
    }
    groups
}
