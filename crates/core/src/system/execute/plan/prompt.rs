//! A task's content as an agent reads it: Markdown, without the tags and without what Piton does itself.

use super::steps::Step;
use super::xml::{Element, dedent};

/// What the agent is asked to do. The caller adds files, checks and criteria.
pub(super) fn prompt(root: &Element, steps: &[Step]) -> String {
    let mut text = root.child("objective").map(Element::dedented).unwrap_or_default();
    let section = |name: &str| root.child(name).into_iter();
    for element in section("requirements") {
        list(&mut text, "## Requirements", element, "requirement", "R");
    }
    for element in section("test-requirements") {
        list(&mut text, "## Tests to write first", element, "test", "T");
    }
    for element in section("dependencies") {
        interfaces(&mut text, "## What you can build on", element);
    }
    for element in section("exports") {
        interfaces(&mut text, "## What this task must provide", element);
    }
    for element in section("context") {
        context(&mut text, element);
    }
    let expected: Vec<String> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Run { command, expected } if !expected.is_empty() => {
                Some(format!("- `{command}`: {expected}"))
            }
            Step::Run { .. } | Step::Look { .. } | Step::Condition(_) => None,
        })
        .collect();
    if !expected.is_empty() {
        block(&mut text, "## What the checks should show", &expected.join("\n"));
    }
    text.trim_start().to_owned()
}

/// A heading and what stands under it.
fn block(text: &mut String, heading: &str, body: &str) {
    *text += &format!("\n\n{heading}\n\n{body}");
}

fn list(text: &mut String, heading: &str, section: &Element, item: &str, letter: &str) {
    let mut lines: Vec<String> = Vec::new();
    if !is_none(&section.text) {
        lines.push(format!("{}\n", dedent(&section.text)));
    }
    for element in section.all(item) {
        let id = element.attribute("id").map(|said| said.value.trim()).unwrap_or_default();
        let id = if id.starts_with(|c: char| c.is_ascii_digit()) {
            format!("{letter}{id}")
        } else {
            id.to_owned()
        };
        let mark = if id.is_empty() { String::new() } else { format!("**{id}** ") };
        lines.push(format!("- {mark}{}", element.dedented().replace('\n', "\n  ")));
    }
    if !lines.is_empty() {
        block(text, heading, &lines.join("\n"));
    }
}

fn interfaces(text: &mut String, heading: &str, section: &Element) {
    let value =
        |element: &Element, name: &str| element.attribute(name).map(|said| said.value.trim().to_owned());
    let mut parts = Vec::new();
    if !is_none(&section.text) {
        parts.push(dedent(&section.text));
    }
    for element in &section.children {
        let title = match element.name.as_str() {
            "interface" => {
                let name = value(element, "name").unwrap_or_else(|| "?".to_owned());
                match value(element, "type").filter(|kind| !kind.is_empty()) {
                    Some(kind) => format!("`{name}` ({kind})"),
                    None => format!("`{name}`"),
                }
            }
            "api" => {
                let words = [
                    value(element, "method").map(|method| method.to_uppercase()),
                    value(element, "endpoint"),
                ];
                format!("`{}`", words.into_iter().flatten().collect::<Vec<_>>().join(" "))
            }
            _ => continue,
        };
        let code = element.dedented();
        parts.push(if code.is_empty() {
            format!("### {title}")
        } else {
            format!("### {title}\n\n{}", fenced(&code))
        });
    }
    if !parts.is_empty() {
        block(text, heading, &parts.join("\n\n"));
    }
}

fn context(text: &mut String, section: &Element) {
    for element in &section.children {
        let heading = match element.name.as_str() {
            "prd-excerpt" => "## Background".to_owned(),
            "tech-stack" => "## Technology".to_owned(),
            name => format!("## {}", title(name)),
        };
        let body = element.dedented();
        if element.name == "acceptance-criteria" {
            list(text, &heading, element, "criterion", "");
        } else if !body.is_empty() {
            let body = if element.name == "project-structure" { fenced(&body) } else { body };
            block(text, &heading, &body);
        }
    }
    if !is_none(&section.text) {
        block(text, "## Context", &dedent(&section.text));
    }
}

/// `data-model` as a heading has it: `Data model`.
fn title(name: &str) -> String {
    let words = name.replace(['-', '_'], " ");
    let mut chars = words.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Code between fences that are longer than any in it.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{code}\n{fence}")
}

/// Whether a text says that there is nothing.
pub(super) fn is_none(text: &str) -> bool {
    let plain = text.trim().trim_matches(['.', '(', ')', '-']).to_lowercase();
    matches!(plain.as_str(), "" | "none" | "n/a" | "nothing" | "no files" | "none required")
}
