//! A plan as lines: a tree in which a task stands below the last of those that it waits for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use super::Node;
use super::layers::Layered;
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::Status;
use crate::view::{counted, sign};

/// Plans with more tasks are shown with their groups folded, and at most so many lines.
const MOST: usize = 60;
/// Groups of so many tasks stay open, if the others have made enough room.
const SMALL: usize = 6;
/// A deeper branch goes on further below, at the margin. Half of a line of 80 columns is left for words.
const DEEPEST: usize = 12;
/// So many of the others that a task waits for are named.
const NAMED: usize = 4;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A large plan has its groups folded.
    Folded,
    EveryTask,
}

/// A plan as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// How many layers the plan has, whatever of it is folded.
    pub layers: usize,
    /// Tasks that stand behind the line of their group.
    pub folded: usize,
    /// Tasks that have no line at all.
    pub left_out: usize,
}

/// One line. Its parts may hold anything but line breaks: whoever prints them removes control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The branches that lead to it.
    pub stem: String,
    /// `None`: the line says where a branch goes on.
    pub status: Option<Status>,
    /// How many tasks it stands for.
    pub tasks: usize,
    /// The id of the task, or the name of a group.
    pub label: String,
    pub title: String,
    pub note: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stem)?;
        if let Some(status) = self.status {
            write!(f, "{} ", sign(status))?;
        }
        f.write_str(&self.label)?;
        for part in [&self.title, &self.note].into_iter().filter(|part| !part.is_empty()) {
            write!(f, "  {part}")?;
        }
        Ok(())
    }
}

/// A task, or a group that is folded.
struct Vertex {
    label: String,
    title: String,
    group: Option<String>,
    status: Status,
    size: usize,
}

pub fn rows(nodes: &[Node], extent: Extent) -> Rows {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.arrange_by(|&a, &b| nodes[a].id.cmp(&nodes[b].id));
    let nodes: Vec<&Node> = order.into_iter().map(|at| &nodes[at]).collect();
    let mut fold_above = usize::MAX;
    if extent == Extent::Folded && nodes.len() > MOST {
        let sizes = group_sizes(&nodes);
        let shown = |bound: usize| -> usize {
            sizes.iter().map(|(name, size)| if name.is_some() && *size > bound { 1 } else { *size }).sum()
        };
        fold_above = if shown(SMALL) > MOST { 1 } else { SMALL };
    }
    let (vertices, graph) = fold(&nodes, fold_above);
    let mut rows = Tree::new(&vertices, &graph).rows();
    let is_folded = vertices.len() < nodes.len();
    rows.layers = if is_folded { fold(&nodes, usize::MAX).1.depth() } else { graph.depth() };
    if extent == Extent::Folded {
        rows.rows.truncate(MOST);
    }
    let count = |row: &Row| row.tasks;
    rows.folded = rows.rows.iter().map(count).filter(|&tasks| tasks > 1).sum();
    rows.left_out = nodes.len() - rows.rows.iter().map(count).sum::<usize>();
    rows
}

fn group_sizes<'n>(nodes: &[&'n Node]) -> HashMap<Option<&'n str>, usize> {
    let mut sizes = HashMap::new();
    for node in nodes {
        *sizes.entry(node.group.as_deref()).or_default() += 1;
    }
    sizes
}

/// What is shown: tasks, and in place of those of large groups, the groups.
fn fold(nodes: &[&Node], above: usize) -> (Vec<Vertex>, Layered) {
    let sizes = group_sizes(nodes);
    let mut vertices = Vec::new();
    let mut of_group: HashMap<&str, u32> = HashMap::new();
    let mut vertex_of: HashMap<&TaskId, u32> = HashMap::new();
    let mut members: Vec<Vec<&Node>> = Vec::new();
    for node in nodes {
        let folded = node.group.as_deref().filter(|name| sizes[&Some(*name)] > above);
        let next = u32::try_from(vertices.len()).unwrap_or(u32::MAX);
        let at = folded.map_or(next, |name| *of_group.entry(name).or_insert(next));
        if at == next {
            let (label, title) = match folded {
                Some(name) => (name.to_owned(), String::new()),
                None => (node.id.to_string(), node.title.clone()),
            };
            let group = if folded.is_some() { None } else { node.group.clone() };
            vertices.push(Vertex { label, title, group, status: node.status, size: 1 });
            members.push(Vec::new());
        }
        members[at as usize].push(node);
        vertex_of.insert(&node.id, at);
    }
    let mut needs = vec![Vec::new(); vertices.len()];
    for (at, (vertex, members)) in vertices.iter_mut().zip(&members).enumerate() {
        let after = members.iter().flat_map(|node| &node.after);
        needs[at] = after.filter_map(|id| vertex_of.get(id).copied()).collect();
        if members.len() > 1 {
            vertex.size = members.len();
            vertex.status = of_several(members);
            let done = members.iter().filter(|node| node.status == Status::Completed).count();
            vertex.title = format!("{}, {done} completed", counted(members.len() as u64, "task"));
        }
    }
    (vertices, Layered::new(needs))
}

/// What a group looks like from outside.
fn of_several(members: &[&Node]) -> Status {
    let is = |which: fn(Status) -> bool| move |node: &&Node| which(node.status);
    if members.iter().all(is(Status::satisfies)) {
        Status::Completed
    } else if members.iter().any(is(Status::is_dead)) {
        Status::Abandoned
    } else if members.iter().all(is(|status| matches!(status, Status::Pending | Status::Waiting))) {
        Status::Pending
    } else {
        Status::InProgress
    }
}

struct Tree<'v> {
    vertices: &'v [Vertex],
    graph: &'v Layered,
    /// The vertex that each one stands below, and those that stand below each one.
    above: Vec<Option<u32>>,
    below: Vec<Vec<u32>>,
}

impl Tree<'_> {
    fn new<'v>(vertices: &'v [Vertex], graph: &'v Layered) -> Tree<'v> {
        let layer = |at: u32| graph.layers[at as usize];
        // The last that it waits for; the first of several, since they come in order.
        let last = |needs: &Vec<u32>| needs.iter().copied().rev().max_by_key(|&need| layer(need));
        let above: Vec<Option<u32>> = graph.needs.iter().map(last).collect();
        let mut below = vec![Vec::new(); vertices.len()];
        for (at, above) in (0_u32..).zip(&above) {
            if let Some(above) = above {
                below[*above as usize].push(at);
            }
        }
        Tree { vertices, graph, above, below }
    }

    fn rows(&self) -> Rows {
        let mut rows = Vec::new();
        let mut later = VecDeque::new();
        let roots: Vec<u32> =
            (0_u32..).zip(&self.above).filter(|(_, above)| above.is_none()).map(|(at, _)| at).collect();
        for root in roots {
            self.branch(root, &mut rows, &mut later);
        }
        while let Some(at) = later.pop_front() {
            let label = format!("after {}:", self.vertices[at as usize].label);
            rows.push(Row { label, ..Row::default() });
            for &child in &self.below[at as usize] {
                self.branch(child, &mut rows, &mut later);
            }
        }
        Rows { rows, ..Rows::default() }
    }

    /// A vertex at the margin, with what stands below it.
    fn branch(&self, root: u32, rows: &mut Vec<Row>, later: &mut VecDeque<u32>) {
        // Each with the stem of its own line, and of the lines below it.
        let mut open = vec![(root, String::new(), String::new(), 0)];
        while let Some((at, stem, below, depth)) = open.pop() {
            let children = &self.below[at as usize];
            let is_cut = depth == DEEPEST && !children.is_empty();
            rows.push(self.row(at, stem, is_cut));
            if is_cut {
                later.push_back(at);
                continue;
            }
            for (nth, &child) in children.iter().enumerate().rev() {
                let (fork, gap) =
                    if nth + 1 == children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                open.push((child, format!("{below}{fork}"), format!("{below}{gap}"), depth + 1));
            }
        }
    }

    fn row(&self, at: u32, stem: String, is_cut: bool) -> Row {
        let vertex = &self.vertices[at as usize];
        let above = self.above[at as usize];
        let needs = &self.graph.needs[at as usize];
        let layer = |at: u32| self.graph.layers[at as usize];
        // What stands above it on the way to the margin goes without saying.
        let first = needs.iter().map(|&need| layer(need)).min();
        let higher = std::iter::successors(above, |&at| self.above[at as usize]);
        let higher: HashSet<u32> =
            higher.take_while(|&at| first.is_some_and(|first| layer(at) >= first)).collect();
        let others: Vec<&str> = needs
            .iter()
            .filter(|need| !higher.contains(need))
            .map(|&need| self.vertices[need as usize].label.as_str())
            .collect();
        let mut notes = Vec::new();
        if !others.is_empty() {
            let named = others[..others.len().min(NAMED)].join(", ");
            let more = others.len().saturating_sub(NAMED);
            notes.push(if more == 0 {
                format!("also after {named}")
            } else {
                format!("also after {named} and {more} more")
            });
        }
        let group_above = above.and_then(|above| self.vertices[above as usize].group.as_ref());
        if let Some(group) = vertex.group.as_ref().filter(|group| Some(*group) != group_above) {
            notes.push(format!("[{group}]"));
        }
        if is_cut {
            notes.push("continues below".to_owned());
        }
        let (label, title) = (vertex.label.clone(), vertex.title.clone());
        Row { stem, status: Some(vertex.status), tasks: vertex.size, label, title, note: notes.join("  ") }
    }
}
