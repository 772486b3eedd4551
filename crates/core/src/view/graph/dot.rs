//! A plan for Graphviz.

use std::fmt::Write;

use super::{COLOURS, Node, groups, shade};

/// The plan as a `digraph` in the language of Graphviz, with a cluster for each group.
pub fn dot(nodes: &[Node]) -> String {
    let mut text =
        "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\"];\n".to_owned();
    for (number, (name, members)) in groups(nodes).into_iter().enumerate() {
        let indent = if name.is_some() { "    " } else { "  " };
        if let Some(name) = name {
            let _ = writeln!(text, "  subgraph cluster_{number} {{\n    label={};", quoted(name));
        }
        for node in members.into_iter().map(|at| &nodes[at]) {
            let colours = COLOURS.iter().find(|colours| colours.shade == shade(node.status));
            let [fill, stroke, font] = colours.map_or(["white", "black", "black"], |colours| colours.light);
            let id = quoted(node.id.as_str());
            let label = quoted(&node.title);
            let _ = writeln!(
                text,
                "{indent}{id} [label={}\\n{}, tooltip=\"{}\", fillcolor=\"{fill}\", color=\"{stroke}\", fontcolor=\"{font}\"];",
                &id[..id.len() - 1],
                &label[1..],
                node.status,
            );
        }
        if name.is_some() {
            text.push_str("  }\n");
        }
    }
    let known: std::collections::HashSet<_> = nodes.iter().map(|node| &node.id).collect();
    for node in nodes {
        for need in node.after.iter().filter(|need| known.contains(need)) {
            let _ = writeln!(text, "  {} -> {};", quoted(need.as_str()), quoted(node.id.as_str()));
        }
    }
    text.push_str("}\n");
    text
}

/// A text in quotes. A backslash would begin an escape, such as `\G` for the name of the graph.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
