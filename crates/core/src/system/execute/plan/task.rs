//! One task file: from its elements to what a plan needs to know.

use std::collections::HashSet;
use std::ops::Range;

use super::prompt::{is_none, prompt};
use super::steps::{self, Step};
use super::xml::{self, Element};
use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::{Export, RepoPath, TaskId};
use crate::system::kit::problems::{Problems, Spanned, cut};
use crate::system::kit::text;
use crate::terminal::misleads;

/// Names that the templates of this system leave to be filled in.
const PLACEHOLDERS: [&str; 7] = [
    "TARGET_DIR",
    "TEMPLATE_PATH",
    "TEMPLATE_NAME",
    "PROJECT_NAME",
    "PROJECT_SLUG",
    "TECH_STACK_SUMMARY",
    "BACKEND_PORT",
];

/// A task as its file says it.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) file: String,
    pub(super) id: Spanned<TaskId>,
    pub(super) name: String,
    /// The folder it lies in.
    pub(super) layer: String,
    pub(super) priority: Option<u32>,
    pub(super) cwd: Option<RepoPath>,
    pub(super) files: Vec<Spanned<RepoPath>>,
    pub(super) steps: Vec<Step>,
    pub(super) exports: Vec<Export>,
    pub(super) prompt: String,
    /// The same without what its checks should show.
    pub(super) own: String,
}

/// The id a file's name begins with, as in `L1-002-store.xml`.
pub(super) fn id_in_name(file: &str) -> Option<&str> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let length = id_length(name)?;
    (!name[length..].starts_with(|c: char| c.is_alphanumeric())).then(|| &name[..length])
}

/// Whether a text is an id of this system: `L`, the layer's number, and at least three digits.
pub(super) fn is_id(text: &str) -> bool {
    id_length(text) == Some(text.len()) && text.starts_with('L')
}

fn id_length(text: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix(['L', 'l'])?;
    let layer = digits(rest);
    let number = digits(rest[layer..].strip_prefix('-')?);
    (layer > 0 && number >= 3).then_some(layer + number + 2)
}

/// Read a task file that lies in the folder `layer`. Without a task, an error says why.
pub(super) fn read(file: &str, layer: &str, text: &str, found: &mut Problems) -> Option<Task> {
    if text.trim().is_empty() {
        let message = "this file is empty";
        found.push(Diagnostic::error(0..0, message).label("a task file holds one `<task>…</task>`"));
        return None;
    }
    let root = xml::read(text, found)?;
    warn_of_typos(&root, found);
    refuse_placeholders(&root, text, found);
    let Some(meta) = root.child("meta") else {
        missing(&root, "meta", found);
        return None;
    };
    let id = read_id(file, meta, found);
    read_layer(file, layer, meta, found);
    let name = match line(meta, "name") {
        Some(name) => name.value,
        None => {
            missing(meta, "name", found);
            String::new()
        }
    };
    let steps = read_steps(&root, found);
    let task = Task {
        file: file.to_owned(),
        id: id?,
        name,
        layer: layer.to_owned(),
        priority: read_priority(meta, found),
        cwd: read_cwd(meta, found),
        files: read_files(&root, found),
        exports: read_exports(&root, found),
        prompt: prompt(&root, &steps),
        own: prompt(&root, &[]),
        steps,
    };
    Some(task)
}

/// The text of an element on one line, if there is any.
pub(super) fn line(parent: &Element, name: &str) -> Option<Spanned<String>> {
    let element = parent.child(name)?;
    let plain = |word: &str| word.chars().filter(|c| !misleads(*c)).collect();
    let words: Vec<String> = element.text.split_whitespace().map(plain).collect();
    let value = words.join(" ").trim().to_owned();
    (!value.is_empty()).then(|| Spanned { value, at: element.text_at.clone() })
}

fn missing(parent: &Element, name: &str, found: &mut Problems) {
    let message = match parent.child(name) {
        Some(_) => format!("`<{name}>` is empty"),
        None => format!("`<{name}>` is missing"),
    };
    let at = parent.child(name).unwrap_or(parent).at.clone();
    found.push(Diagnostic::error(at, message).label(format!("a task needs its `{name}`")));
}

fn read_id(file: &str, meta: &Element, found: &mut Problems) -> Option<Spanned<TaskId>> {
    let Some(said) = line(meta, "id") else {
        missing(meta, "id", found);
        return None;
    };
    let value = text::key(&said.value);
    let id = TaskId::new(&value).ok().filter(|_| is_id(&value));
    let Some(id) = id else {
        let message = format!("{:?} is not a task id", cut(&said.value));
        let label = "write `L`, the number of the layer, and at least three digits: `L1-002`";
        found.push(Diagnostic::error(said.at, message).label(label));
        return None;
    };
    match id_in_name(file) {
        Some(named) if named.eq_ignore_ascii_case(&value) => Some(Spanned { value: id, at: said.at }),
        named => {
            let message = format!("this task is `{value}`, but its file is `{file}`");
            let label = match named {
                Some(named) => format!("the file's name says `{named}`"),
                None => format!("the file's name must begin with `{value}-`"),
            };
            found.push(Diagnostic::error(said.at, message).label(label));
            None
        }
    }
}

fn read_layer(file: &str, layer: &str, meta: &Element, found: &mut Problems) {
    let Some(said) = line(meta, "layer") else { return missing(meta, "layer", found) };
    if text::key(&said.value) != layer {
        let message = format!("this task names layer `{}`, but its file is `{file}`", cut(&said.value));
        found.push(Diagnostic::error(said.at, message).label(format!("it is in the folder `{layer}`")));
    }
}

fn read_priority(meta: &Element, found: &mut Problems) -> Option<u32> {
    let said = line(meta, "priority")?;
    match text::key(&said.value).parse::<u32>() {
        Ok(number @ 1..=99) => Some(number),
        number => {
            let message = format!("the priority {:?} is not a number from 1 to 99", cut(&said.value));
            let used = number.ok().map(|number| number.clamp(1, 99));
            let label = used.map_or_else(|| "ignored".to_owned(), |used| format!("read as {used}"));
            found.push(Diagnostic::warning(said.at, message).label(label));
            used
        }
    }
}

fn read_cwd(meta: &Element, found: &mut Problems) -> Option<RepoPath> {
    let said = line(meta, "cwd")?;
    if matches!(said.value.as_str(), "." | "./") {
        return None;
    }
    path(&said, "the folder of the commands", found)
}

fn path(said: &Spanned<String>, what: &str, found: &mut Problems) -> Option<RepoPath> {
    match RepoPath::new(said.value.trim_end_matches('/')) {
        Ok(path) => Some(path),
        Err(reason) => {
            let message = format!("{:?} cannot be {what}: {reason}", cut(&said.value));
            let label = "write it from the top of the project, like `src/a.rs`";
            found.push(Diagnostic::error(said.at.clone(), message).label(label));
            None
        }
    }
}

fn read_files(root: &Element, found: &mut Problems) -> Vec<Spanned<RepoPath>> {
    let Some(section) = root.child("files-to-create") else { return Vec::new() };
    let mut files: Vec<Spanned<RepoPath>> = Vec::new();
    let mut seen = HashSet::new();
    stray(section, found);
    for element in section.all("file") {
        let text = text::key(&element.text);
        if is_none(&text) {
            continue;
        }
        let bare = text.trim_matches('`');
        // A remark behind the path is a habit; a path with spaces is rare, but may be.
        let remark = bare.find(" (").or_else(|| bare.find(" - ")).or_else(|| bare.find('`'));
        if let Some(at) = remark {
            let message = format!("the file {:?} has a comment", cut(bare));
            let label = format!("read as `{}`", cut(bare[..at].trim()));
            found.push(Diagnostic::warning(element.text_at.clone(), message).label(label));
        }
        let value = bare[..remark.unwrap_or(bare.len())].trim().to_owned();
        let said = Spanned { value, at: element.text_at.clone() };
        if let Some(path) = path(&said, "a file of this task", found)
            && seen.insert(path.clone())
        {
            files.push(Spanned { value: path, at: said.at });
        }
    }
    files
}

fn read_steps(root: &Element, found: &mut Problems) -> Vec<Step> {
    let Some(section) = root.child("verification") else {
        missing(root, "verification", found);
        return Vec::new();
    };
    stray(section, found);
    let mut steps = Vec::new();
    let mut any = false;
    for element in section.all("step") {
        any = true;
        let said = Spanned { value: element.text.as_str(), at: element.text_at.clone() };
        steps.extend(steps::read(&said, found));
    }
    if !any {
        let message = "no step verifies this task";
        let label = "add `<step>Run: `…`</step>`: a command that proves it done";
        found.push(Diagnostic::error(section.at.clone(), message).label(label));
    }
    steps
}

fn read_exports(root: &Element, found: &mut Problems) -> Vec<Export> {
    let Some(section) = root.child("exports") else { return Vec::new() };
    let value = |element: &Element, name: &str| {
        element.attribute(name).map(|said| text::key(&said.value)).unwrap_or_default()
    };
    let mut exports = Vec::new();
    for element in &section.children {
        match element.name.as_str() {
            "interface" => {
                let name = value(element, "name");
                if name.is_empty() {
                    let message = "an exported interface has no name";
                    found.push(
                        Diagnostic::warning(element.at.clone(), message)
                            .label("only the agent of this task sees it"),
                    );
                    continue;
                }
                exports.push(Export::Interface {
                    name,
                    kind: value(element, "type"),
                    text: element.dedented(),
                });
            }
            "api" => {
                let path = value(element, "endpoint");
                // Some put both into one: `endpoint="GET /items"`.
                let (method, path) = match path.split_once(' ') {
                    Some((method, path)) if path.trim_start().starts_with('/') => {
                        (method.to_owned(), path.trim().to_owned())
                    }
                    _ => (value(element, "method"), path),
                };
                if path.is_empty() {
                    let message = "an exported endpoint has no `endpoint`";
                    found.push(
                        Diagnostic::warning(element.at.clone(), message)
                            .label("only the agent of this task sees it"),
                    );
                    continue;
                }
                let method = if method.is_empty() { "GET".to_owned() } else { method.to_uppercase() };
                exports.push(Export::Endpoint { method, path, text: element.dedented() });
            }
            _ => {}
        }
    }
    exports
}

/// Text that should have been in an element of its own, where it cannot be used.
fn stray(section: &Element, found: &mut Problems) {
    if !is_none(&section.text) {
        let known = xml::known_in(&section.name).and_then(|known| known.first()).copied().unwrap_or_default();
        let message = format!("this text in `<{}>` is not inside a `<{known}>`", section.name);
        found.forgive(Diagnostic::warning(section.text_at.clone(), message).label("ignored"));
    }
}

/// An unknown element is ignored, unless it looks like a misspelt one.
fn warn_of_typos(root: &Element, found: &mut Problems) {
    for parent in std::iter::once(root).chain(&root.children) {
        let Some(known) = xml::known_in(&parent.name) else { continue };
        let single = matches!(parent.name.as_str(), "task" | "meta");
        let mut seen = HashSet::new();
        for child in &parent.children {
            let name = child.name.as_str();
            if known.contains(&name) {
                if single && name != "source-feature" && !seen.insert(name) {
                    let message = format!("`<{name}>` appears twice");
                    found.push(Diagnostic::error(child.at.clone(), message).label("keep one of them"));
                }
            } else if let Some(near) = nearest(&cut(name), known.iter().copied()) {
                let message = format!("there is no element `<{name}>` in `<{}>`", parent.name);
                let label = format!("did you mean `<{near}>`?");
                found.repair(child.at.clone(), message, label);
            }
        }
    }
}

/// A name in braces that a template left behind is an error. Braces in code are not.
fn refuse_placeholders(root: &Element, text: &str, found: &mut Problems) {
    let mut open = vec![root];
    while let Some(element) = open.pop() {
        open.extend(&element.children);
        if !element.children.is_empty() {
            continue;
        }
        let names = match element.name.as_str() {
            "file" | "cwd" => Names::Any,
            _ => Names::OfTemplates,
        };
        let attributes = element.attributes.iter().map(|(_, said)| said.at.clone());
        for place in attributes.chain([element.text_at.clone()]) {
            for at in placeholders(text, place, names) {
                let message = format!("`{}` was never filled in", &text[at.clone()]);
                found.push(Diagnostic::error(at, message).label("a template left this here"));
            }
        }
    }
}

/// Which names in braces are placeholders.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Those that the templates use.
    OfTemplates,
    /// Every name in capitals.
    Any,
}

/// Where placeholders stand in a part of a text.
pub(super) fn placeholders(text: &str, within: Range<usize>, names: Names) -> Vec<Range<usize>> {
    let any = names == Names::Any;
    let inside = &text[within.clone()];
    let mut places = Vec::new();
    for (at, _) in inside.match_indices('{') {
        // `${NAME}` belongs to a shell.
        if inside[..at].ends_with('$') {
            continue;
        }
        let name = inside[at + 1..]
            .split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
            .next();
        let name = name.unwrap_or_default();
        let rest = &inside[at + 1 + name.len()..];
        let filled = rest.starts_with('}') && (PLACEHOLDERS.contains(&name) || any && !name.is_empty());
        let dots = any && ["…}", "...}"].iter().any(|dots| inside[at + 1..].starts_with(dots));
        if filled || dots {
            let end = at + inside[at..].find('}').unwrap_or(0) + 1;
            places.push(within.start + at..within.start + end);
        }
    }
    places
}
