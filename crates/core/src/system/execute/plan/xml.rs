//! The XML of a task, as models write it: with unescaped code in its text, in a fence, with prose around it.
//!
//! A parser for XML proper gives up at the first bare `&`, and what it cannot read, it cannot repair. This one knows
//! which elements hold elements and which hold text: inside text only the element's own end is markup, so that `Vec<T>`
//! stays what it is. What has to be fixed is reported at its place. An element that is not closed is an error, since it
//! is unknown what belongs to it.

use std::ops::Range;

use crate::diagnostic::Diagnostic;
use crate::system::kit::problems::{Problems, Spanned};

/// An element with what it holds: elements, or text, or both where the text is not wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    /// Its opening tag.
    pub(super) at: Range<usize>,
    pub(super) attributes: Vec<(String, Spanned<String>)>,
    pub(super) children: Vec<Element>,
    pub(super) text: String,
    /// What is inside, without the space around it.
    pub(super) text_at: Range<usize>,
}

/// The elements that hold elements, with those that are known in them.
const CONTAINERS: &[(&str, &[&str])] = &[
    ("task", SECTIONS),
    (
        "meta",
        &[
            "id",
            "name",
            "layer",
            "priority",
            "estimated-files",
            "cwd",
            "source-feature",
            "moscow",
            "satisfies-criteria",
            "requirement-level",
        ],
    ),
    (
        "context",
        &[
            "prd-excerpt",
            "tech-stack",
            "template-base",
            "project-structure",
            "template-source",
            "target-directory",
            "project-directory",
            "acceptance-criteria",
            "data-model",
        ],
    ),
    ("acceptance-criteria", &["criterion"]),
    ("dependencies", &["interface"]),
    ("requirements", &["requirement"]),
    ("test-requirements", &["test"]),
    ("files-to-create", &["file"]),
    ("verification", &["step"]),
    ("exports", &["interface", "api"]),
];

/// What a task consists of.
pub(super) const SECTIONS: &[&str] = &[
    "meta",
    "context",
    "dependencies",
    "objective",
    "requirements",
    "test-requirements",
    "files-to-create",
    "verification",
    "exports",
];

/// Entities of HTML that models write without thinking of XML.
const ENTITIES: &[(&str, char)] = &[
    ("nbsp", '\u{a0}'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("hellip", '…'),
    ("rarr", '→'),
    ("larr", '←'),
    ("le", '≤'),
    ("ge", '≥'),
    ("ne", '≠'),
    ("times", '×'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("bull", '•'),
    ("middot", '·'),
    ("deg", '°'),
    ("euro", '€'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
];

/// What is known inside a container; nothing for an element that holds text.
pub(super) fn known_in(container: &str) -> Option<&'static [&'static str]> {
    CONTAINERS.iter().find(|(name, _)| *name == container).map(|(_, known)| *known)
}

/// The `<task>` of a file. If there is none that can be used, the problems say why.
pub(super) fn read(text: &str, found: &mut Problems) -> Option<Element> {
    let mut scan = Scan { text, at: 0, found };
    let root = scan.find_root()?;
    let element = scan.container(root, &[]).ok()?;
    scan.look_behind();
    Some(element)
}

impl Element {
    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&Spanned<String>> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, said)| said)
    }

    /// The text without the indentation that the file's layout gave it.
    pub(super) fn dedented(&self) -> String {
        dedent(&self.text)
    }
}

/// A block of text without the space around it and without the indentation its lines share. Text that begins right
/// behind its tag says nothing about the indentation of the rest.
pub(super) fn dedent(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = rest.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut block = first.trim().to_owned();
    for line in rest.lines() {
        block.push('\n');
        block += line.trim_end().get(shared..).unwrap_or_default();
    }
    block.trim_start_matches('\n').trim_end().to_owned()
}

const BARE: &str = "a bare `<` in the text";
const BARE_LABEL: &str = "read as is; in XML write `&lt;`";

/// Reading cannot continue; the problem has been reported.
struct Lost;

/// A tag as it was read.
struct Tag {
    element: Element,
    closed: bool,
}

struct Scan<'t, 'f> {
    text: &'t str,
    at: usize,
    found: &'f mut Problems,
}

impl<'t> Scan<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Whether `opening` stands here, and then something that cannot be part of its name.
    fn is_at(&self, opening: &str, name: &str) -> bool {
        let Some(rest) = self.rest().strip_prefix(opening).and_then(|rest| rest.strip_prefix(name)) else {
            return false;
        };
        !rest.starts_with(is_name_char)
    }

    fn error(&mut self, at: Range<usize>, message: impl Into<String>, label: &str) {
        self.found.push(Diagnostic::error(at, message).label(label));
    }

    /// The opening tag of the task, with a word about what stands before it.
    fn find_root(&mut self) -> Option<Element> {
        let mut prose: Option<usize> = None;
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.at += blank;
            } else if rest.is_empty() {
                let message = "there is no `<task>` in this file";
                self.error(0..0, message, "a task file holds one `<task>…</task>`");
                return None;
            } else if rest.starts_with("<!--") {
                self.comment().ok()?;
            } else if let Some(length) = instruction(rest) {
                self.at += length;
            } else if rest.starts_with("<!") {
                self.refuse_declaration();
                return None;
            } else if self.is_at("<", "task") {
                break;
            } else {
                prose.get_or_insert(self.at);
                let skip = rest.char_indices().skip(1).find(|(_, c)| *c == '<');
                self.at += skip.map_or(rest.len(), |(at, _)| at);
            }
        }
        if let Some(start) = prose {
            self.found.repair(start..self.at, "there is text before `<task>`", "ignored");
        }
        let start = self.at;
        match self.tag() {
            Some(tag) if tag.closed => {
                self.error(start..self.at, "this task is empty", "nothing in it");
                None
            }
            Some(tag) => Some(tag.element),
            None => {
                self.error(start..start + 5, "the tag `<task` is not closed", "a `>` is missing");
                None
            }
        }
    }

    /// What stands behind the task must be no second one.
    fn look_behind(&mut self) {
        let start = self.at + (self.rest().len() - self.rest().trim_start().len());
        let mut prose = false;
        while self.at < self.text.len() {
            let rest = self.rest();
            if rest.starts_with("<!--") {
                if self.comment().is_err() {
                    return;
                }
            } else if self.is_at("<", "task") {
                let at = self.at..self.at + 5;
                self.error(at, "there is a second `<task>` in this file", "a file holds one task");
                return;
            } else {
                let skip = rest.char_indices().skip(1).find(|(_, c)| *c == '<');
                let end = self.at + skip.map_or(rest.len(), |(at, _)| at);
                prose |= !self.text[self.at..end].trim().is_empty();
                self.at = end;
            }
        }
        if prose {
            let end = start + self.text[start..].trim_end().len();
            self.found.repair(start..end, "there is text after `</task>`", "ignored");
        }
    }

    fn refuse_declaration(&mut self) {
        let at = self.at..self.at + 2;
        self.error(at, "this file declares a document type or entities", "Piton does not read these");
    }

    fn comment(&mut self) -> Result<(), Lost> {
        let start = self.at;
        let inside = &self.text[start + 4..];
        let Some(end) = inside.find("-->") else {
            self.error(start..start + 4, "this comment is not closed", "`-->` is missing");
            return Err(Lost);
        };
        if let Some(dashes) = inside[..end].find("--") {
            let at = start + 4 + dashes;
            self.found.repair(at..at + 2, "a comment holds `--`", "XML has no such comments");
        }
        self.at = start + 4 + end + 3;
        Ok(())
    }

    /// The inside of a CDATA section.
    fn verbatim(&mut self) -> Result<&'t str, Lost> {
        let start = self.at;
        let inside = &self.text[start + 9..];
        let Some(end) = inside.find("]]>") else {
            self.error(start..start + 9, "this CDATA section is not closed", "`]]>` is missing");
            return Err(Lost);
        };
        self.at = start + 9 + end + 3;
        Ok(&inside[..end])
    }

    /// An element that holds elements, whose opening tag has been read. `around` are those it stands in.
    fn container(&mut self, mut element: Element, around: &[&str]) -> Result<Element, Lost> {
        let name = element.name.clone();
        let known = known_in(&name).unwrap_or_default();
        let inside: Vec<&str> = around.iter().copied().chain([name.as_str()]).collect();
        let start = self.at;
        let mut stray: Option<Range<usize>> = None;
        loop {
            let rest = self.rest();
            let here = self.at;
            if rest.is_empty() {
                self.unclosed(&element);
                return Err(Lost);
            } else if rest.starts_with("<!--") {
                self.comment()?;
            } else if rest.starts_with("<![CDATA[") {
                element.text += self.verbatim()?;
                stray.get_or_insert(here..here).end = self.at;
            } else if let Some(length) = instruction(rest) {
                self.at += length;
            } else if rest.starts_with("<!") {
                self.refuse_declaration();
                return Err(Lost);
            } else if self.is_at("</", &name) {
                self.close(&name);
                break;
            } else if around.iter().any(|outer| self.is_at("</", outer)) {
                self.unclosed(&element);
                return Err(Lost);
            } else if self.is_at("<", "task") {
                let message = format!("a `<task>` begins inside `<{name}>`");
                self.error(here..here + 5, message, "a file holds one task, and tasks cannot be nested");
                return Err(Lost);
            } else if let Some(name) = rest.strip_prefix("</") {
                let end = name.find(['>', '<', '\n']).unwrap_or(name.len());
                let length = 2 + end + usize::from(name[end..].starts_with('>'));
                self.found.repair(here..here + length, "this tag closes nothing", "ignored");
                self.at += length;
            } else if let Some(opened) = rest.strip_prefix('<') {
                let next = opened.split(|c| !is_name_char(c)).next().unwrap_or_default();
                if !known.contains(&next) && around.iter().any(|outer| is_known(outer, next)) {
                    self.unclosed(&element);
                    return Err(Lost);
                }
                let Some(tag) = self.tag() else {
                    self.bare_less_than(here);
                    element.text.push('<');
                    stray.get_or_insert(here..here).end = self.at;
                    continue;
                };
                let child = if tag.closed {
                    tag.element
                } else if known_in(&tag.element.name).is_some() && known.contains(&next) {
                    self.container(tag.element, &inside)?
                } else {
                    self.leaf(tag.element, &inside, known.contains(&next))?
                };
                element.children.push(child);
            } else {
                let text = self.run();
                if !text.trim().is_empty() {
                    let lead = text.len() - text.trim_start().len();
                    stray.get_or_insert(here + lead..here).end = here + text.trim_end().len();
                }
                self.decode(here, text, &mut element.text);
            }
        }
        let end = start + self.text[start..self.at].rfind("</").unwrap_or(0);
        element.text_at = stray.unwrap_or_else(|| trimmed(self.text, start..end));
        Ok(element)
    }

    /// An element that holds text, whose opening tag has been read.
    fn leaf(&mut self, mut element: Element, around: &[&str], known: bool) -> Result<Element, Lost> {
        let name = element.name.clone();
        let start = self.at;
        let mut depth = 1_usize;
        // Tags in the text that may yet find their ends, and are markup then.
        let mut open: Vec<(&str, usize)> = Vec::new();
        let end = loop {
            let rest = self.rest();
            let here = self.at;
            if rest.is_empty() || around.iter().any(|outer| self.is_at("</", outer)) {
                self.unclosed(&element);
                return Err(Lost);
            } else if rest.starts_with("<!--") {
                self.comment()?;
            } else if rest.starts_with("<![CDATA[") {
                element.text += self.verbatim()?;
            } else if self.is_at("</", &name) {
                depth -= 1;
                self.close(&name);
                if depth == 0 {
                    break here;
                }
                element.text += &self.text[here..self.at];
            } else if self.is_at("<", &name) && known {
                self.unclosed(&element);
                return Err(Lost);
            } else if let Some(inside) = rest.strip_prefix('<') {
                let end = inner_tag(rest);
                let inner = inside.trim_start_matches('/').split(|c| !is_name_char(c)).next();
                let inner = inner.unwrap_or_default();
                match end {
                    Some(length) if rest.starts_with("</") => {
                        if open.last().is_some_and(|(last, _)| *last == inner) {
                            open.pop();
                        } else {
                            self.found.repair(here..here + 1, BARE, BARE_LABEL);
                        }
                        self.at = here + length;
                    }
                    Some(length) => {
                        if inner == name {
                            depth += 1;
                        } else if !rest[..length].ends_with("/>") {
                            open.push((inner, here));
                        }
                        self.at = here + length;
                    }
                    None => self.bare_less_than(here),
                }
                element.text += &self.text[here..self.at];
            } else {
                let text = self.run();
                self.decode(here, text, &mut element.text);
            }
        };
        for (_, at) in open {
            self.found.repair(at..at + 1, BARE, BARE_LABEL);
        }
        element.text_at = trimmed(self.text, start..end);
        Ok(element)
    }

    /// Text up to the next `<`.
    fn run(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find('<').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Go behind a `<` that is not markup.
    fn bare_less_than(&mut self, at: usize) {
        self.found.repair(at..at + 1, BARE, BARE_LABEL);
        self.at = at + 1;
    }

    /// Go behind the closing tag that stands here.
    fn close(&mut self, name: &str) {
        let start = self.at;
        self.at += 2 + name.len();
        let rest = self.rest();
        match rest.find(|c: char| !c.is_whitespace()) {
            Some(at) if rest[at..].starts_with('>') => self.at += at + 1,
            _ => self.found.repair(start..self.at, format!("`</{name}` has no `>`"), "read as if it had one"),
        }
    }

    fn unclosed(&mut self, element: &Element) {
        let message = format!("`<{}>` is not closed", element.name);
        let label = format!("`</{}>` is missing, or comes too late", element.name);
        self.found.push(Diagnostic::error(element.at.clone(), message).label(label));
    }

    /// The opening tag that stands here, or `None`.
    fn tag(&mut self) -> Option<Tag> {
        let start = self.at;
        let rest = self.rest();
        let length = rest[1..].find(|c| !is_name_char(c)).unwrap_or(rest.len() - 1);
        if length == 0 || !rest[1..].starts_with(is_name_start) {
            return None;
        }
        let mut element = Element {
            name: rest[1..=length].to_owned(),
            at: start..start,
            attributes: Vec::new(),
            children: Vec::new(),
            text: String::new(),
            text_at: start..start,
        };
        let mut at = start + 1 + length;
        loop {
            at += self.text[at..].len() - self.text[at..].trim_start().len();
            let rest = &self.text[at..];
            if rest.starts_with('>') || rest.starts_with("/>") {
                let closed = rest.starts_with('/');
                self.at = at + if closed { 2 } else { 1 };
                element.at = start..self.at;
                element.text_at = self.at..self.at;
                return Some(Tag { element, closed });
            }
            let length = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
            if length == 0 {
                return None;
            }
            at = self.value(&mut element, at..at + length)?;
        }
    }

    /// The value of an attribute whose name stands at `name`, and where it ends.
    fn value(&mut self, element: &mut Element, name: Range<usize>) -> Option<usize> {
        let key = self.text[name.clone()].to_owned();
        let rest = self.text[name.end..].trim_start();
        let Some(rest) = rest.strip_prefix('=') else {
            self.found.repair(name.clone(), format!("the attribute `{key}` has no value"), "ignored");
            return Some(name.end);
        };
        let rest = rest.trim_start();
        let start = self.text.len() - rest.len();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (inside, end) = match quote {
            Some(quote) => {
                let end = rest[1..].find([quote, '\n']).filter(|end| !rest[1 + end..].starts_with('\n'));
                let Some(length) = end else {
                    let message = format!("the value of `{key}` is not closed");
                    self.error(start..start + 1, message, "this quote has no partner in its line");
                    return None;
                };
                (start + 1..start + 1 + length, start + length + 2)
            }
            None => {
                let length = rest.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(rest.len());
                let at = start..start + length;
                self.found.repair(at.clone(), format!("the value of `{key}` has no quotes"), "read as is");
                (at.clone(), at.end)
            }
        };
        let mut value = String::new();
        self.decode(inside.start, &self.text[inside.clone()], &mut value);
        if let Some(at) = self.text[inside.clone()].find('<').map(|at| inside.start + at) {
            self.found.repair(at..at + 1, "a bare `<` in a value", "read as is");
        }
        if element.attributes.iter().any(|(known, _)| *known == key) {
            self.found.repair(name, format!("`{key}` appears twice"), "the first is used");
        } else {
            element.attributes.push((key, Spanned { value, at: inside }));
        }
        Some(end)
    }

    /// Text with its entities resolved, and whatever is not an entity kept.
    fn decode(&mut self, start: usize, text: &str, into: &mut String) {
        let mut at = 0;
        while let Some(found) = text[at..].find(['&', ']']) {
            into.push_str(&text[at..at + found]);
            at += found;
            let rest = &text[at..];
            if let Some(rest) = rest.strip_prefix(']') {
                if rest.starts_with("]>") {
                    let place = start + at;
                    self.found.repair(place..place + 3, "`]]>` in the text", "read as is");
                }
                into.push(']');
                at += 1;
                continue;
            }
            match entity(rest) {
                Some((length, c, proper)) => {
                    if !proper {
                        let place = start + at..start + at + length;
                        let message = format!("`{}` is not an XML entity", &rest[..length]);
                        self.found.repair(place, message, format!("read as {c:?}"));
                    }
                    into.push(c);
                    at += length;
                }
                None => {
                    let length = rest.len() - rest.trim_start_matches('&').len();
                    // The last of several may begin an entity.
                    let length =
                        if length > 1 && entity(&rest[length - 1..]).is_some() { length - 1 } else { length };
                    let place = start + at..start + at + length;
                    self.found.repair(place, "a bare `&` in the text", "read as is; in XML write `&amp;`");
                    into.push_str(&rest[..length]);
                    at += length;
                }
            }
        }
        into.push_str(&text[at..]);
    }
}

/// An entity at the start of a text: its length, what it stands for, and whether XML knows it.
fn entity(text: &str) -> Option<(usize, char, bool)> {
    // The longest name has a few letters, and a number up to eight digits.
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16).ok()?,
            None if number.bytes().all(|b| b.is_ascii_digit()) => number.parse().ok()?,
            _ => return None,
        };
        let c = char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))?;
        return Some((end + 1, c, true));
    }
    let proper = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    };
    let known = ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, c)| *c);
    proper.map(|c| (end + 1, c, true)).or(known.map(|c| (end + 1, c, false)))
}

/// The length of a well-formed tag inside text, or `None` if the `<` does not begin a tag.
fn inner_tag(text: &str) -> Option<usize> {
    let closing = text.starts_with("</");
    let name = text.get(if closing { 2 } else { 1 }..)?;
    if !name.starts_with(is_name_start) {
        return None;
    }
    let mut rest = name.trim_start_matches(is_name_char);
    loop {
        let trimmed = rest.trim_start();
        for end in [">", "/>"] {
            if trimmed.starts_with(end) && !(closing && end == "/>") {
                return Some(text.len() - trimmed.len() + end.len());
            }
        }
        let after = trimmed.trim_start_matches(is_name_char);
        if closing || trimmed.len() == rest.len() || after.len() == trimmed.len() {
            return None;
        }
        let value = after.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        // A value of more than a line is a quote in a text that is not XML.
        let length = value[1..].find([quote, '\n']).filter(|end| value[1 + end..].starts_with(quote))?;
        rest = &value[length + 2..];
    }
}

/// The length of a processing instruction, such as the declaration of XML itself.
fn instruction(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("<?")?;
    let end = inside.find(['<', '>'])?;
    inside[..=end].ends_with("?>").then_some(end + 3)
}

fn is_known(container: &str, name: &str) -> bool {
    known_in(container).is_some_and(|known| known.contains(&name))
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

/// A place without the white space at its ends.
fn trimmed(text: &str, at: Range<usize>) -> Range<usize> {
    let inside = &text[at.clone()];
    let start = at.start + (inside.len() - inside.trim_start().len());
    start..start.max(at.start + inside.trim_end().len())
}
