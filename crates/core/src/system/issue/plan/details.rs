//! What stands below a task: what it asks for, and the fields that say something about it.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::system::kit::checklist::{Checklist, Kind, shift};
use crate::system::kit::commands::looks_like_a_command;
use crate::system::kit::outline::fields::{Field, behind_box, field};
use crate::system::kit::outline::word::{is_none, reference};
use crate::system::kit::outline::{Node, Word, joined};
use crate::system::kit::problems::{Problems, Spanned, cut};
use crate::system::kit::text::key;

/// The parsed lines of one task. Places are bytes of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    /// What it asks for, as Markdown, without marks and fields that change while it is worked on.
    pub(super) body: String,
    pub(super) status: Option<Word>,
    pub(super) started: Option<String>,
    pub(super) completed: Option<String>,
    pub(super) notes: Option<String>,
    pub(super) files: Vec<Range<usize>>,
    /// References to requirements.
    pub(super) references: Vec<Range<usize>>,
    /// References to other tasks.
    pub(super) needs: Vec<Range<usize>>,
    /// Bullets that begin with a command.
    pub(super) commands: Vec<Spanned<String>>,
}

pub(super) fn read(list: &Checklist, text: &str, node: &Node, found: &mut Problems) -> Details {
    let mut details = Details::default();
    let mut body: Vec<(usize, String)> = Vec::new();
    details
        .references
        .extend(reference(&text[node.text.clone()]).map(|(_, value)| shift(value, node.text.start)));
    for line in list.lines.get(node.details.clone()).unwrap_or_default() {
        let said = &text[line.text.clone()];
        match &line.kind {
            Kind::Blank => body.push((usize::MAX, String::new())),
            Kind::Item(item) if item.struck => {}
            Kind::Item(_) => body.push((line.indent, format!("- {said}"))),
            Kind::Bullet | Kind::Text => {
                if let Some((field, value)) = field(said) {
                    let value = shift(value, line.text.start);
                    details.take(field, value.clone(), text, found);
                    if field != Field::Design {
                        continue;
                    }
                }
                if let Some((_, value)) = reference(said) {
                    details.references.push(shift(value, line.text.start));
                }
                if line.kind == Kind::Bullet {
                    let command = command(said).map(|command| (command, line.text.clone()));
                    details
                        .commands
                        .extend(command.map(|(value, at)| Spanned { value: value.to_owned(), at }));
                }
                body.push((line.indent, text[line.at.clone()].trim().to_owned()));
            }
            Kind::Code | Kind::Quote | Kind::Table => {
                body.push((line.indent, text[line.at.clone()].trim().to_owned()));
            }
            Kind::Heading(_) | Kind::Rule | Kind::Comment | Kind::FrontMatter => {}
        }
    }
    details.body = joined(&body);
    details
}

impl Details {
    pub(super) const EMPTY: Details = Details {
        body: String::new(),
        status: None,
        started: None,
        completed: None,
        notes: None,
        files: Vec::new(),
        references: Vec::new(),
        needs: Vec::new(),
        commands: Vec::new(),
    };

    fn take(&mut self, field: Field, at: Range<usize>, text: &str, found: &mut Problems) {
        let at = if field == Field::Status { behind_box(text, at) } else { at };
        let value = &text[at.clone()];
        let said = || Some(value.to_owned()).filter(|value| !is_none(value));
        match field {
            Field::Status => {
                self.status = Word::read(value);
                if self.status.is_none() && !is_none(value) {
                    let message = format!("`{}` is not a known status", cut(value));
                    let label = "use pending, in_progress, completed, blocked or failed; read as not done";
                    found.push(Diagnostic::warning(at, message).label(label));
                    self.status = Some(Word::Pending);
                }
            }
            Field::Started => self.started = said(),
            Field::Completed => self.completed = said(),
            Field::Notes => self.notes = said(),
            Field::Files => self.files.push(at),
            Field::Requirements => self.references.push(at),
            Field::Needs => self.needs.push(at),
            Field::Design => {}
        }
    }
}

/// The command that a bullet is about: ``- `cargo test` passes`` or ``- Run `npm test` ``.
fn command(bullet: &str) -> Option<&str> {
    let (before, rest) = bullet.split_once('`')?;
    let (inside, after) = rest.split_once('`')?;
    let inside = inside.trim();
    let lower = key(before).to_lowercase();
    let verb =
        ["run", "execute", "ensure", "verify", "confirm", "check"].iter().any(|verb| lower.starts_with(verb));
    if inside.is_empty() || !(lower.is_empty() || verb) {
        return None;
    }
    if looks_like_a_command(inside) {
        return Some(inside);
    }
    let outcome = key(after).to_lowercase();
    let outcome = outcome.trim_matches(|c: char| !c.is_alphanumeric());
    let succeeds = outcome.is_empty()
        || ["pass", "succeed", "is green", "exits", "runs", "works", "completes", "reports no"]
            .iter()
            .any(|word| outcome.starts_with(word));
    let first = inside.split_whitespace().next().unwrap_or_default();
    let is_program = first.starts_with("./") || !first.contains(['/', '.', '(', ':', '<']);
    (lower.is_empty() && succeeds && is_program).then_some(inside)
}
