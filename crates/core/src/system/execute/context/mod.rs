//! `PROJECT.md`: what a run has made is entered in the project's own description.
//!
//! The file is prose with one `<project-context>` block in it. Text is put into that block. Nothing else of the file
//! changes, not by a byte, and what is not understood stays.

mod block;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use crate::plan::{Export, RepoPath, TaskSpec};
use crate::system::{Description, Folded, Unchanged};
use crate::tags::{Tag, encode, plain};
use crate::time::Timestamp;
use block::Block;

/// Where it is, below the root of the project.
pub const FILE: &str = "PROJECT.md";

/// How this system keeps the description of a project.
pub const DESCRIPTION: Description = Description {
    file: FILE,
    fold: |text, done, hash, time| {
        fold(text, done, hash, time).map_err(|skipped| Unchanged {
            is_complete: skipped == Skipped::NothingNew,
            reason: skipped.to_string(),
        })
    },
};

/// Why the file stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// No task says what it makes for others.
    NoExports,
    NoBlock,
    SeveralBlocks {
        lines: Vec<usize>,
    },
    /// An element has a beginning and no end.
    NotClosed {
        what: String,
        line: usize,
    },
    UnknownVersion {
        version: String,
        line: usize,
    },
    /// A quote without an end, or the like: what is entered could not be read again.
    Unreadable,
    /// All of it is there already.
    NothingNew,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skipped::NoExports => f.write_str("no task exports an endpoint, a model or a feature"),
            Skipped::NoBlock => write!(f, "{FILE} has no <project-context> block"),
            Skipped::SeveralBlocks { lines } => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let lines = lines.join(", ");
                write!(
                    f,
                    "{FILE} has several <project-context> blocks, at lines {lines}: which one is meant?"
                )
            }
            Skipped::NotClosed { what, line } => write!(f, "{FILE}:{line}: <{what}> is not closed"),
            Skipped::UnknownVersion { version, line } => {
                write!(f, "{FILE}:{line}: the <project-context> block is of version {version}, not 1.0")
            }
            Skipped::Unreadable => {
                write!(
                    f,
                    "the <project-context> block of {FILE} is not well-formed: close its tags and quotes"
                )
            }
            Skipped::NothingNew => write!(f, "{FILE} already has all of it"),
        }
    }
}

/// Enter what `done` tasks export. `hash` is the commit that the file is brought up to.
pub fn fold(text: &str, done: &[&TaskSpec], hash: &str, time: Timestamp) -> Result<Folded, Skipped> {
    let mut news = News::new(done);
    if news.is_empty() {
        return Err(Skipped::NoExports);
    }
    let block = Block::find(text)?;
    block.tags().for_each(|tag| news.forget(&tag));
    if news.is_empty() {
        return Err(Skipped::NothingNew);
    }
    let mut warnings = block.bare_ampersands();
    let last_hash = last_hash(&block, &mut warnings);
    let mut edits = block.edits();
    edits.set(&[("last-updated", &time.to_string()), ("last-context-hash", &encode(hash))])?;
    edits.add("features", news.features.iter().map(|(_, entry)| entry))?;
    edits.add("api-registry", news.endpoints.iter().map(|(_, entry)| entry))?;
    edits.add("schema-registry", news.models.iter().map(|(_, entry)| entry))?;
    let text = edits.apply();
    // Otherwise it would be entered again and again.
    let mut unread = News::new(done);
    Block::find(&text)?.tags().for_each(|tag| unread.forget(&tag));
    if !unread.is_empty() {
        return Err(Skipped::Unreadable);
    }
    let names = |of: Vec<(String, Entry)>| of.into_iter().map(|(name, _)| name).collect();
    Ok(Folded {
        text,
        features: names(news.features),
        endpoints: names(news.endpoints),
        models: names(news.models),
        last_hash,
        warnings,
    })
}

/// Words such as `current-HEAD` are not a commit: then it is unknown.
fn last_hash(block: &Block<'_>, warnings: &mut Vec<String>) -> Option<String> {
    let (said, line) = block.value("last-context-hash")?;
    let is_hash = (7..=64).contains(&said.len()) && said.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash && !said.is_empty() {
        warnings.push(format!("{FILE}:{line}: `{said}` is not a commit, so the last one is unknown"));
    }
    is_hash.then_some(said)
}

/// An element to be entered, its children a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// Without its brackets.
    head: String,
    children: Vec<String>,
}

/// What there is to enter, each once, under the name it is known by.
#[derive(Debug, Default)]
struct News {
    features: Vec<(String, Entry)>,
    endpoints: Vec<(String, Entry)>,
    models: Vec<(String, Entry)>,
}

impl News {
    fn new(done: &[&TaskSpec]) -> News {
        let mut news = News::default();
        for spec in done {
            spec.exports.iter().for_each(|export| news.export(spec, export));
        }
        for list in [&mut news.features, &mut news.endpoints, &mut news.models] {
            let mut seen = BTreeSet::new();
            list.retain(|(name, _)| !name.trim().is_empty() && seen.insert(name.clone()));
        }
        news
    }

    fn export(&mut self, spec: &TaskSpec, export: &Export) {
        match export {
            Export::Endpoint { method, path, text } => {
                let (method, path) = (plain(method).to_ascii_uppercase(), plain(path));
                let head = format!("endpoint method=\"{}\" path=\"{}\"", encode(&method), encode(&path));
                let entry = Entry { head, children: element("description", text) };
                self.endpoints.push((endpoint(&method, &path), entry));
            }
            Export::Interface { name, kind, .. } => match Registry::parse(kind) {
                Some(Registry::Models { is_table }) => {
                    let table = if is_table { format!(" table=\"{}\"", encode(name)) } else { String::new() };
                    let head = format!("model name=\"{}\"{table}", encode(name));
                    self.models.push((plain(name), Entry { head, children: Vec::new() }));
                }
                Some(Registry::Features) => {
                    let id = kebab(name);
                    let files: Vec<&str> = spec.files.iter().map(RepoPath::as_str).collect();
                    let mut children = element("name", name);
                    children.extend(element("files", &files.join(", ")));
                    let head = format!("feature id=\"{}\" status=\"complete\"", encode(&id));
                    self.features.push((id, Entry { head, children }));
                }
                None => {}
            },
        }
    }

    /// What the block has already is not new.
    fn forget(&mut self, tag: &Tag<'_>) {
        let said = |name: &str| tag.attribute(name).unwrap_or_default();
        let (list, name) = match tag.name {
            "feature" => (&mut self.features, plain(&said("id"))),
            "endpoint" => (&mut self.endpoints, endpoint(&said("method"), &said("path"))),
            "model" => (&mut self.models, plain(&said("name"))),
            _ => return,
        };
        list.retain(|(known, _)| *known != name);
    }

    fn is_empty(&self) -> bool {
        self.features.is_empty() && self.endpoints.is_empty() && self.models.is_empty()
    }
}

fn endpoint(method: &str, path: &str) -> String {
    format!("{} {}", plain(method).to_ascii_uppercase(), plain(path))
}

/// No element where there is nothing to say.
fn element(name: &str, text: &str) -> Vec<String> {
    let text = encode(text);
    if text.is_empty() { Vec::new() } else { vec![format!("<{name}>{text}</{name}>")] }
}

/// Which list an interface of some kind belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registry {
    Models { is_table: bool },
    Features,
}

impl Registry {
    /// Any word of the plan's name for it decides. Functions, structs and the like are details of some feature.
    fn parse(kind: &str) -> Option<Registry> {
        const MODELS: [&str; 4] = ["model", "table", "schema", "entity"];
        const FEATURES: [&str; 17] = [
            "component",
            "service",
            "feature",
            "module",
            "page",
            "view",
            "screen",
            "layout",
            "widget",
            "hook",
            "controller",
            "handler",
            "middleware",
            "provider",
            "worker",
            "job",
            "plugin",
        ];
        let kind = kind.to_ascii_lowercase();
        let words: Vec<&str> = kind.split(|c: char| !c.is_alphanumeric()).collect();
        let is_one_of = |names: &[&str]| words.iter().any(|word| names.contains(word));
        if is_one_of(&MODELS) {
            return Some(Registry::Models { is_table: words.contains(&"table") });
        }
        is_one_of(&FEATURES).then_some(Registry::Features)
    }
}

/// `CartService` and `cart service` are `cart-service`.
fn kebab(name: &str) -> String {
    let mut id = String::new();
    let mut lower_before = false;
    for c in name.trim().chars() {
        if !c.is_alphanumeric() {
            if !id.is_empty() && !id.ends_with('-') {
                id.push('-');
            }
            lower_before = false;
            continue;
        }
        if c.is_uppercase() && lower_before {
            id.push('-');
        }
        lower_before = c.is_lowercase() || c.is_numeric();
        id.extend(c.to_lowercase());
    }
    id.trim_end_matches('-').to_owned()
}
