//! `brief.md`: what is wanted, when it is reached, and what binds whoever works on it.

use std::ops::Range;

use super::unit::placeholder;
use crate::diagnostic::{Diagnostic, nearest};
use crate::dialect::checklist::{self, Checklist, Kind, field, shift};
use crate::dialect::found::{Found, Said, cut};
use crate::dialect::text::key;
use crate::plan::{Domain, Mode};

/// Words of a brief that go into questions: more of them than this says nothing new.
const LONGEST: usize = 4000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Brief {
    pub(super) name: Option<String>,
    pub(super) mode: Option<Said<Mode>>,
    pub(super) domains: Vec<Domain>,
    pub(super) outcome: String,
    pub(super) done_when: Vec<String>,
    pub(super) constraints: Vec<String>,
}

/// Which part of the brief a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head,
    Outcome,
    DoneWhen,
    Constraints,
    Other,
}

impl Part {
    /// By its heading, also as an older layout calls it.
    fn of(heading: &str) -> Part {
        let plain = key(heading).to_lowercase();
        match plain.trim_matches(|c: char| !c.is_alphanumeric()) {
            "outcome needed" | "outcome" | "goal" | "goals" | "objective" | "problem" | "overview"
            | "summary" => Part::Outcome,
            "done when"
            | "done"
            | "success criteria"
            | "acceptance criteria"
            | "definition of done"
            | "requirements" => Part::DoneWhen,
            "constraints" | "constraint" => Part::Constraints,
            _ => Part::Other,
        }
    }
}

impl Brief {
    pub(super) fn read(text: &str, found: &mut Found) -> Brief {
        let list = checklist::scan(text);
        let mut brief = Brief { name: title(&list, text, found), ..Brief::default() };
        let mut part = Part::Head;
        for line in &list.lines {
            if let Kind::Heading(level) = line.kind {
                part = if level == 1 { Part::Head } else { Part::of(&text[line.text.clone()]) };
                continue;
            }
            let said = text[line.text.clone()].trim();
            let is_text = matches!(line.kind, Kind::Bullet | Kind::Text | Kind::Item(_) | Kind::Quote);
            if !is_text || said.is_empty() {
                continue;
            }
            let is_item = matches!(line.kind, Kind::Bullet | Kind::Item(_));
            match part {
                Part::Head => brief.head(text, &line.text, found),
                Part::Other => {}
                Part::Outcome | Part::DoneWhen | Part::Constraints if placeholder(said) => {
                    found.push(left(line.text.clone(), said));
                }
                Part::Outcome => {
                    let sign = if is_item { "- " } else { "" };
                    grow(&mut brief.outcome, &format!("{sign}{said}"), "\n");
                }
                Part::DoneWhen => item(&mut brief.done_when, said, is_item),
                Part::Constraints => item(&mut brief.constraints, said, is_item),
            }
        }
        brief
    }

    /// `**Mode:** knowledge` and `**Domain:** research`.
    fn head(&mut self, text: &str, at: &Range<usize>, found: &mut Found) {
        let Some((name, value)) = field(&text[at.clone()]) else { return };
        let at = shift(value, at.start);
        let said = &text[at.clone()];
        match name.as_str() {
            "mode" => self.mode = mode(said, &at, found).map(|value| Said { value, at }),
            "domain" | "domains" => self.domains = domains(said, &at, found),
            _ => {}
        }
    }
}

/// A line of a list, or the rest of the one before it.
fn item(items: &mut Vec<String>, said: &str, is_new: bool) {
    let total: usize = items.iter().map(String::len).sum();
    if total > LONGEST {
        return;
    }
    match items.last_mut().filter(|_| !is_new) {
        Some(last) => grow(last, said, " "),
        None => {
            items.push(String::new());
            item(items, said, false);
        }
    }
}

/// One line more, as far as there is room.
fn grow(text: &mut String, said: &str, joint: &str) {
    let room = LONGEST.saturating_sub(text.len());
    if room > 0 {
        let joint = if text.is_empty() { "" } else { joint };
        let said: String = said.chars().filter(|c| !c.is_control()).take(room).collect();
        *text += joint;
        *text += &said;
    }
}

/// What the work is called, by the first heading: `# Export invoices - Tasks`.
pub(super) fn title(list: &Checklist, text: &str, found: &mut Found) -> Option<String> {
    let line = list.lines.iter().find(|line| line.kind == Kind::Heading(1))?;
    let said = &text[line.text.clone()];
    let mut name = said.trim();
    for end in ["tasks", "phases", "plan", "brief", "prd", "requirements"] {
        let start = name.len().saturating_sub(end.len());
        if let Some(rest) = name.get(..start).filter(|_| name[start..].eq_ignore_ascii_case(end)) {
            let stem = rest.trim_end().trim_end_matches(['-', '–', '—', ':', '\u{ff1a}']);
            if stem.len() < rest.trim_end().len() {
                name = stem.trim_end();
                break;
            }
        }
    }
    if placeholder(name) {
        found.push(left(line.text.clone(), name));
        return None;
    }
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    Some(name).filter(|name| !name.is_empty())
}

pub(super) fn mode(said: &str, at: &Range<usize>, found: &mut Found) -> Option<Mode> {
    let mode = Mode::read(said);
    if placeholder(said) {
        found.push(left(at.clone(), said));
    } else if mode.is_none() && !said.is_empty() {
        let message = format!("{:?} is no mode that is known", cut(said));
        let told = Diagnostic::warning(at.clone(), message);
        found.push(told.label("development or knowledge; the list decides"));
    }
    mode
}

/// One, or several that are chained: `research → writing`.
pub(super) fn domains(said: &str, at: &Range<usize>, found: &mut Found) -> Vec<Domain> {
    if placeholder(said) {
        found.push(left(at.clone(), said));
        return Vec::new();
    }
    let said = said.replace(" then ", ",").replace(" and ", ",").replace("->", ",");
    let parts = said.split([',', '→', '+', '/', '&', ';', '>']).map(str::trim);
    let mut domains = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        match Domain::read(part) {
            Some(domain) if domains.contains(&domain) => {}
            Some(domain) => domains.push(domain),
            None => {
                let words = Domain::ALL.map(Domain::word);
                let near = nearest(&cut(part), words);
                let label = near.map_or_else(|| words.join(", "), |near| format!("did you mean `{near}`?"));
                let message = format!("{:?} is no domain that is known", cut(part));
                found.push(Diagnostic::warning(at.clone(), message).label(label));
            }
        }
    }
    domains
}

/// Something of the template that nobody has filled in.
pub(super) fn left(at: Range<usize>, said: &str) -> Diagnostic {
    let message = format!("`{}` is a placeholder of the template", cut(said));
    Diagnostic::error(at, message).label("say what is meant, or remove it")
}
