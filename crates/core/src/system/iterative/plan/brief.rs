//! `brief.md`: what is wanted, when it is reached, and the constraints on the work.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, nearest};
use crate::plan::{Domain, Mode};
use crate::system::kit::checklist::{self, Checklist, Kind, field, shift};
use crate::system::kit::problems::{Problems, Spanned, cut};
use crate::system::kit::text::key;

/// The most characters of each part of a brief: every review's prompt repeats them.
const LONGEST: usize = 4000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Brief {
    pub(super) name: Option<String>,
    pub(super) mode: Option<Spanned<Mode>>,
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
    fn from_heading(heading: &str) -> Part {
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
    pub(super) fn read(text: &str, found: &mut Problems) -> Brief {
        let list = checklist::scan(text);
        let mut brief = Brief { name: title(&list, text, found), ..Brief::default() };
        // `None`: the part has more than is kept, which was reported.
        let (mut part, mut room) = (Part::Head, Some(LONGEST));
        let mut level = 1;
        for line in &list.lines {
            let said = text[line.text.clone()].trim();
            if let Kind::Heading(own) = line.kind {
                let next = if own == 1 { Part::Head } else { Part::from_heading(said) };
                // A part may have parts of its own.
                if part == Part::Head || next != Part::Other || own <= level {
                    (part, level, room) = (next, own, Some(LONGEST));
                }
                continue;
            }
            let is_nothing = matches!(line.kind, Kind::Comment | Kind::Rule | Kind::FrontMatter);
            if is_nothing || said.is_empty() {
                continue;
            }
            let is_item = matches!(line.kind, Kind::Bullet | Kind::Item(_));
            match part {
                Part::Head => brief.head(text, &line.text, found),
                Part::Other => {}
                Part::Outcome | Part::DoneWhen | Part::Constraints if placeholder(said) => {
                    found.push(left(line.text.clone(), said));
                }
                part => {
                    let Some(left) = room else { continue };
                    room = left.checked_sub(said.len());
                    if room.is_some() {
                        brief.keep(part, said, is_item);
                        continue;
                    }
                    let message = format!("this part has more than {LONGEST} characters");
                    let told = Diagnostic::warning(line.text.clone(), message);
                    found.push(told.label("from here on it is ignored"));
                }
            }
        }
        brief
    }

    /// Add a line to a part: an item of a list, or the rest of the item before it.
    fn keep(&mut self, part: Part, said: &str, is_item: bool) {
        let said: String = said.chars().filter(|c| !c.is_control()).collect();
        let items = match part {
            Part::Head | Part::Other => return,
            Part::Outcome => {
                let joint = if self.outcome.is_empty() { "" } else { "\n" };
                let sign = if is_item { "- " } else { "" };
                self.outcome += &format!("{joint}{sign}{said}");
                return;
            }
            Part::DoneWhen => &mut self.done_when,
            Part::Constraints => &mut self.constraints,
        };
        match items.last_mut().filter(|_| !is_item) {
            Some(last) => *last += &format!(" {said}"),
            None => items.push(said),
        }
    }

    /// `**Mode:** knowledge` and `**Domain:** research`.
    fn head(&mut self, text: &str, at: &Range<usize>, found: &mut Problems) {
        let Some((name, value)) = field(&text[at.clone()]) else { return };
        let at = shift(value, at.start);
        let said = &text[at.clone()];
        match name.as_str() {
            "mode" => self.mode = mode(said, &at, found).map(|value| Spanned { value, at }),
            "domain" | "domains" => self.domains = domains(said, &at, found),
            _ => {}
        }
    }
}

/// What the work is called, by the first heading: `# Export invoices - Tasks`.
pub(super) fn title(list: &Checklist, text: &str, found: &mut Problems) -> Option<String> {
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

pub(super) fn mode(said: &str, at: &Range<usize>, found: &mut Problems) -> Option<Mode> {
    let mode = Mode::read(said);
    if placeholder(said) {
        found.push(left(at.clone(), said));
    } else if mode.is_none() && !said.is_empty() {
        let message = format!("{:?} is not a known mode", cut(said));
        let told = Diagnostic::warning(at.clone(), message);
        found.push(told.label("development or knowledge; the list decides"));
    }
    mode
}

/// One, or several that are chained: `research → writing`.
pub(super) fn domains(said: &str, at: &Range<usize>, found: &mut Problems) -> Vec<Domain> {
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
                let message = format!("{:?} is not a known domain", cut(part));
                found.push(Diagnostic::warning(at.clone(), message).label(label));
            }
        }
    }
    domains
}

/// A placeholder that was not filled in: `{title}`.
pub(super) fn placeholder(text: &str) -> bool {
    let bare = text.trim().trim_matches(['`', '*', '_', '"', '\'']).trim();
    let inside = bare.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|inside| !inside.trim().is_empty() && !inside.contains(['{', '}']))
}

/// The error for a placeholder of the template that was not filled in.
pub(super) fn left(at: Range<usize>, said: &str) -> Diagnostic {
    let message = format!("`{}` is a placeholder of the template", cut(said));
    Diagnostic::error(at, message).label("fill it in, or remove it")
}
