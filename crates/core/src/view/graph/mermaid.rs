//! A plan for Mermaid, which GitHub and GitLab draw in Markdown.

use std::collections::HashMap;
use std::fmt::Write;

use super::{COLOURS, Node, groups, shade};
use crate::plan::TaskId;

/// The plan as a Mermaid flowchart, with a subgraph for each group.
pub fn mermaid(nodes: &[Node]) -> String {
    let mut text = "flowchart LR\n".to_owned();
    for (number, (name, members)) in groups(nodes).into_iter().enumerate() {
        if let Some(name) = name {
            let _ = writeln!(text, "  subgraph g{number}[\"{}\"]", escaped(name));
        }
        for at in members {
            let Node { id, title, status, .. } = &nodes[at];
            let label = if title.is_empty() { id.to_string() } else { format!("{id}: {title}") };
            let _ = writeln!(text, "    n{at}[\"{}\"]:::{}", escaped(&label), shade(*status));
        }
        if name.is_some() {
            text.push_str("  end\n");
        }
    }
    let position: HashMap<&TaskId, usize> =
        nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    for (at, node) in nodes.iter().enumerate() {
        for need in node.after.iter().filter_map(|need| position.get(need)) {
            let _ = writeln!(text, "  n{need} --> n{at}");
        }
    }
    for colours in COLOURS {
        let [fill, stroke, font] = colours.light;
        let _ = writeln!(text, "  classDef {} fill:{fill},stroke:{stroke},color:{font}", colours.shade);
    }
    text
}

/// A text for a label in quotes. Mermaid takes many characters for syntax, Markdown or HTML, also there. So only those stay
/// that mean nothing anywhere; the others become its entities.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            c if c.is_control() => escaped.push(' '),
            c if c.is_alphanumeric() || " .,:_-/+'?!".contains(c) => escaped.push(c),
            c => drop(write!(escaped, "#{};", u32::from(c))),
        }
    }
    escaped
}
