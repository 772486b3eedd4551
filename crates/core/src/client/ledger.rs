//! Files that make a client which a person talks to use Piton's ledger. They can be removed again without a trace.

use serde_json::{Value, json};

use crate::settings_file::{self, Spot, Unfit};

/// The skill that teaches a client to use Piton.
pub(super) const SKILL: &str = include_str!("skill.md");
pub(super) const OF_MARKDOWN: Marks = ("<!-- piton: begin -->", "<!-- piton: end -->");
pub(super) const OF_TOML: Marks = ("# piton: begin", "# piton: end");
/// Where most clients have their servers of tools.
pub(super) const SERVERS: Spot<'_> = Spot::Member { below: &["mcpServers"], name: "piton" };

/// The lines around what is ours.
type Marks = (&'static str, &'static str);

/// What a client needs in a project.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub parts: Vec<Part>,
    /// What is left to do for a person.
    pub advice: &'static str,
}

/// Something of ours in a file of the project.
#[derive(Clone, Debug)]
pub struct Part {
    pub file: &'static str,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// A file of its own.
    Whole(String),
    /// A part of a file that people write, between marks.
    Block(Marks, String),
    /// A value in a JSON file.
    Value(Spot<'static>, Value),
}

impl Part {
    pub(super) fn whole(file: &'static str, text: String) -> Part {
        Part { file, content: Content::Whole(text) }
    }

    pub(super) fn block(file: &'static str, marks: Marks, text: String) -> Part {
        Part { file, content: Content::Block(marks, text) }
    }

    pub(super) fn value(file: &'static str, spot: Spot<'static>, value: Value) -> Part {
        Part { file, content: Content::Value(spot, value) }
    }

    /// The file with this in it.
    pub fn put_into(&self, text: &str) -> Result<String, Unfit> {
        match &self.content {
            Content::Whole(own) => Ok(own.clone()),
            Content::Block(marks, body) => {
                let with = settings_file::put_block(text, *marks, body);
                if *marks == OF_TOML {
                    settings_file::is_toml(&with)?;
                }
                Ok(with)
            }
            Content::Value(spot, value) => settings_file::put(text, *spot, value, &is_ours),
        }
    }

    /// The file without it; `None` where nothing is left.
    pub fn taken_from(&self, text: &str) -> Result<Option<String>, Unfit> {
        match &self.content {
            Content::Whole(_) => Ok(None),
            Content::Block(marks, _) => Ok(settings_file::take_block(text, *marks)),
            Content::Value(spot, _) => settings_file::take(text, *spot, &is_ours),
        }
    }
}

/// The skill without the head that only one client reads.
pub(super) fn words() -> String {
    let body = SKILL.splitn(3, "---\n").nth(2).unwrap_or(SKILL);
    body.trim_start().to_owned()
}

/// Piton's server of tools, as most clients write it.
pub(super) fn server(name: &str) -> Value {
    json!({ "command": "piton", "args": ["mcp", "--by", name] })
}

/// The stop hook, in the form that most clients use.
pub(super) fn hook(name: &str) -> Value {
    json!({ "hooks": [{ "type": "command", "command": format!("piton hook stop --by {name}") }] })
}

/// What an earlier version wrote, too.
fn is_ours(value: &Value) -> bool {
    let text = value.to_string();
    ["piton hook ", "piton.md"].iter().any(|mark| text.contains(mark))
}
