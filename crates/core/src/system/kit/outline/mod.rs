//! The boxes of a list as a tree: by their numbers, and by where they stand. `word` has the status words, `fields` the
//! fields below a box, `status` what follows from them.

pub(in crate::system) mod fields;
mod status;
pub(in crate::system) mod word;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use self::fields::status_box;
use self::word::reference;
use crate::diagnostic::Diagnostic;
use crate::plan::TaskId;
use crate::system::kit::checklist::{Checklist, Item, Kind, Line, Mark, field, number};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text::key;

pub(in crate::system) use status::{end_of, joined, status};
pub use word::Word;

/// Every box of a list, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub nodes: Vec<Node>,
    /// Ids that several boxes have; nothing can refer to one.
    pub(in crate::system) ambiguous: BTreeSet<String>,
    /// Headings like `Phase 2: Storage`, with their lines.
    pub(in crate::system) phases: Vec<(usize, Range<usize>)>,
}

/// One box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// For a step: the id of its task with the number of the step, `3#1`.
    pub id: TaskId,
    pub title: String,
    pub role: Role,
    pub mark: Mark,
    pub optional: bool,
    /// Crossed out: it is not to be done, and is not done.
    pub dropped: bool,
    /// From 1.
    pub line: usize,
    /// The box it stands below.
    pub parent: Option<usize>,
    /// What stands in the box. A heading may have no box: it is done when its steps are.
    pub place: Option<Range<usize>>,
    pub(in crate::system) text: Range<usize>,
    /// The lines that belong to it, by position.
    pub(in crate::system) details: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has tasks below it, and is what they are.
    Parent,
    /// It runs.
    Task,
    /// A part of its task, without a number.
    Step,
}

impl Outline {
    /// The boxes above one, the nearest first.
    pub(in crate::system) fn above(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.nodes[node].parent, |above| self.nodes[*above].parent)
    }

    pub(in crate::system) fn read(list: &Checklist, text: &str, found: &mut Problems) -> Outline {
        let mut builder = Builder {
            list,
            text,
            found,
            outline: Outline { nodes: Vec::with_capacity(list.items().count()), ..Outline::default() },
            step: TaskId::new("step").expect("a word is an id"),
            open: Vec::new(),
            last: None,
            latest: HashMap::new(),
            unnumbered: Vec::new(),
            chapter: None,
            criteria: None,
        };
        builder.walk();
        builder.finish()
    }

    /// What is wrong with the boxes of a list. A box in the middle of a line is fine if it is that of a status.
    pub(in crate::system) fn problems<'l>(&self, list: &'l Checklist) -> Vec<&'l Diagnostic> {
        let ignored: HashSet<usize> = list.ignored.iter().map(|place| place.start).collect();
        let starts = self.nodes.iter().filter_map(|node| node.place.as_ref().map(|place| place.start));
        let used: HashSet<usize> = starts.filter(|start| ignored.contains(start)).collect();
        list.problems.iter().filter(|problem| !used.contains(&(problem.span.start + 1))).collect()
    }

    /// The boxes that run, in order.
    pub fn tasks(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.role == Role::Task && !node.dropped)
    }

    /// The boxes below one.
    pub fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().skip(parent + 1).filter(move |(_, node)| node.parent == Some(parent))
    }

    /// Whether a box is done as its list has it: its own mark and those of its steps, or those of its tasks. What is
    /// optional or dropped does not hold it up.
    pub fn done(&self) -> Vec<bool> {
        let mut open_below = vec![false; self.nodes.len()];
        let mut done = vec![false; self.nodes.len()];
        for (nth, node) in self.nodes.iter().enumerate().rev() {
            done[nth] =
                !open_below[nth] && !node.dropped && (node.role == Role::Parent || node.mark.is_done());
            if let Some(parent) = node.parent.filter(|_| !done[nth] && !node.optional && !node.dropped) {
                open_below[parent] = true;
            }
        }
        done
    }
}

struct Builder<'l, 'f> {
    list: &'l Checklist,
    text: &'l str,
    found: &'f mut Problems,
    outline: Outline,
    /// Stands in for numbers until every one is known.
    step: TaskId,
    /// Tasks that the next lines may stand below, with their indentation. Headings have none.
    open: Vec<(Option<usize>, usize)>,
    /// The task whose details continue.
    last: Option<usize>,
    /// Where an id was seen last, in lower case.
    latest: HashMap<String, usize>,
    /// Tasks without a number.
    unnumbered: Vec<usize>,
    /// The last heading that is not a task: the group of headings that are.
    chapter: Option<(usize, Range<usize>)>,
    /// The indentation of a bullet `Criteria:`, below which boxes are not tasks, whatever they begin with.
    criteria: Option<usize>,
}

/// Which part of the file a line stands in.
#[derive(Clone, Debug, Default)]
struct Section {
    /// The level of the heading `Tasks`, below which we are.
    tasks: Option<u8>,
    /// The level of a heading about criteria or tests, below which we are: they have boxes that are not tasks.
    criteria: Option<u8>,
    told: bool,
}

impl Builder<'_, '_> {
    fn walk(&mut self) {
        let list = self.list;
        let headings = list.lines.iter().filter(|line| matches!(line.kind, Kind::Heading(_)));
        let scoped = headings.clone().any(|line| is_tasks(&self.text[line.text.clone()]));
        let mut section = Section::default();
        for (nth, line) in list.lines.iter().enumerate() {
            if line.kind != Kind::Blank && self.criteria.is_some_and(|indent| line.indent <= indent) {
                self.criteria = None;
            }
            match &line.kind {
                Kind::Bullet if self.criteria.is_none() && is_criteria(&self.text[line.text.clone()]) => {
                    self.criteria = Some(line.indent);
                }
                Kind::Heading(level) => {
                    self.close_details(nth);
                    self.open.clear();
                    section = self.heading(nth, line, *level, &section);
                    let foreign = (scoped && section.tasks.is_none()) || section.criteria.is_some();
                    if !foreign
                        && !self.heading_task(nth, line)
                        && *level > 1
                        && section.tasks != Some(*level)
                    {
                        self.chapter = Some((nth, line.text.clone()));
                    }
                }
                Kind::Rule => self.close_details(nth),
                Kind::Item(item) => {
                    let foreign = (scoped && section.tasks.is_none()) || section.criteria.is_some();
                    self.item(nth, line, item, foreign, &mut section);
                }
                _ => {}
            }
        }
        self.close_details(list.lines.len());
    }

    fn heading(&mut self, nth: usize, line: &Line, level: u8, before: &Section) -> Section {
        let said = &self.text[line.text.clone()];
        let plain = key(said).to_lowercase();
        let words = plain.trim_start_matches(|c: char| !c.is_alphanumeric());
        let is_phase = words.strip_prefix("phase").is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
        if is_phase {
            self.outline.phases.push((nth, line.text.clone()));
            self.chapter = None;
        }
        let tasks = if is_tasks(said) { Some(level) } else { before.tasks.filter(|above| *above < level) };
        // A part of such a part is one as well.
        let within = before.criteria.filter(|above| *above < level);
        let criteria = within.or(is_about_proof(&plain).then_some(level));
        let criteria = criteria.filter(|_| !is_tasks(said) && !is_phase);
        Section { tasks, criteria, told: false }
    }

    /// `### TASK-2.7.1: Name`, with boxes below it that have no numbers: a task, and these are its steps. What says its
    /// status may have a box of its own, as in `- **Status**: [x] Completed`.
    fn heading_task(&mut self, nth: usize, line: &Line) -> bool {
        let said = &self.text[line.text.clone()];
        // `2. Storage` is a part of the file, and `Step 2` of a task.
        let is_named = said.starts_with(|c: char| c.is_ascii_alphabetic())
            && !said.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("step"));
        let Some((id, rest)) = number(said).filter(|_| is_named) else { return false };
        let Ok(id) = TaskId::new(id) else { return false };
        let below =
            self.list.lines[nth + 1..].iter().take_while(|line| !matches!(line.kind, Kind::Heading(_)));
        let (mut own, mut steps) = (None, 0);
        for line in below {
            match &line.kind {
                Kind::Item(item) => {
                    if item.ordinal.is_some() || number(&self.text[line.text.clone()]).is_some() {
                        return false;
                    }
                    steps += 1;
                }
                _ => own = own.or_else(|| status_box(self.text, line)),
            }
        }
        if steps == 0 && own.is_none() {
            return false;
        }
        let (mark, place) = own.map_or((Mark::Open, None), |(mark, place)| (mark, Some(place)));
        let told = Diagnostic::warning(line.text.clone(), "this heading is read as a task");
        self.found.forgive(told.label(format!("write it like `- [ ] {id} …`")));
        self.outline.phases.extend(self.chapter.take());
        let title =
            title(rest.trim_end_matches(|c: char| c.is_whitespace() || "✅❌🔄⏳✓✔\u{fe0f}".contains(c)));
        let node = Node {
            id: id.clone(),
            title,
            role: Role::Task,
            mark,
            optional: false,
            dropped: false,
            line: nth + 1,
            parent: None,
            place,
            text: line.text.clone(),
            details: nth + 1..nth + 1,
        };
        self.numbered(line, None, &id, None, node);
        true
    }

    /// What belongs to the last box ends before this line.
    fn close_details(&mut self, nth: usize) {
        if let Some(last) = self.last.take() {
            self.outline.nodes[last].details.end = nth;
        }
    }

    fn item(&mut self, nth: usize, line: &Line, item: &Item, foreign: bool, section: &mut Section) {
        let said = &self.text[line.text.clone()];
        // Whatever stands below `Acceptance Criteria` may be counted, and is still not a task.
        let counts = self.criteria.is_none() && section.criteria.is_none();
        let counted = number(said).filter(|_| counts);
        let ordinal = item.ordinal.as_ref().map(|at| &self.text[at.clone()]);
        let ordinal = ordinal.filter(|_| !foreign && counts);
        let mut id = counted.map(|(id, _)| id).or(ordinal);
        let mut own = None;
        if let Some(text) = id {
            match TaskId::new(text) {
                Ok(fits) => own = Some(fits),
                Err(reason) => {
                    let message = format!("`{}` cannot be a number: {reason}", cut(text));
                    let told = Diagnostic::warning(line.text.clone(), message);
                    self.found.push(told.label("read as if it had none"));
                    id = None;
                }
            }
        }
        while self.open.pop_if(|(indent, _)| *indent >= Some(line.indent)).is_some() {}
        let above = self.open.last().map(|(_, node)| *node);
        if id.is_none() && above.is_none() && foreign {
            if !std::mem::replace(&mut section.told, true) {
                let message = "boxes in this part of the file are not read as tasks";
                self.found
                    .push(Diagnostic::warning(line.text.clone(), message).label("nor are those below it"));
            }
            return;
        }
        let text = counted.map_or(line.text.clone(), |(_, rest)| line.text.end - rest.len()..line.text.end);
        let title = title(&self.text[text.clone()]);
        let node = Node {
            id: own.clone().unwrap_or_else(|| self.step.clone()),
            title,
            role: Role::Task,
            mark: item.mark,
            optional: item.optional,
            dropped: item.struck,
            line: nth + 1,
            parent: None,
            place: Some(item.place.clone()),
            text: line.text.clone(),
            details: nth + 1..nth + 1,
        };
        match (own, above) {
            (None, Some(task)) => {
                self.outline.nodes.push(Node { role: Role::Step, parent: Some(task), ..node });
            }
            (None, None) => {
                self.close_details(nth);
                self.unnumbered.push(self.outline.nodes.len());
                self.push(Some(line.indent), node);
            }
            (Some(id), above) => {
                self.close_details(nth);
                self.numbered(line, Some(line.indent), &id, above, node);
            }
        }
    }

    fn push(&mut self, indent: Option<usize>, node: Node) {
        self.open.push((indent, self.outline.nodes.len()));
        self.last = Some(self.outline.nodes.len());
        self.outline.nodes.push(node);
    }

    fn numbered(
        &mut self,
        line: &Line,
        indent: Option<usize>,
        id: &TaskId,
        above: Option<usize>,
        mut node: Node,
    ) {
        let prefixes = id.as_str().rmatch_indices('.').map(|(at, _)| &id.as_str()[..at]);
        let by_number = prefixes.filter_map(|prefix| self.latest.get(&prefix.to_lowercase()).copied()).next();
        node.parent = match (above, by_number) {
            (None, by_number) => by_number,
            (Some(above), Some(by_number)) if self.is_below(by_number, above) => Some(by_number),
            (Some(above), _) => {
                let parent = &self.outline.nodes[above];
                let base = parent.id.as_str().split('@').next().unwrap_or_default();
                let fits = id.as_str().strip_prefix(base).is_some_and(|rest| rest.starts_with('.'));
                let is_number = |id: &str| id.starts_with(|c: char| c.is_ascii_digit());
                if !fits && is_number(id.as_str()) && is_number(base) {
                    let message = format!("`{id}` is below `{base}`");
                    let told = Diagnostic::warning(line.text.clone(), message);
                    self.found.push(told.label("its place decides, not its number"));
                }
                Some(above)
            }
        };
        if !node.dropped {
            if let Some(first) = self.latest.get(&id.folded()) {
                let first = self.outline.nodes[*first].line;
                let second = format!("{id}@L{}", node.line);
                let message =
                    format!("the number `{id}` is used twice, in line {first} and line {}", node.line);
                let told = Diagnostic::warning(line.text.clone(), message);
                self.found.forgive(told.label(format!("called `{second}` here")));
                self.outline.ambiguous.insert(id.folded());
                // An id of the largest length has no room for its line. Then it is reported as an invalid number.
                match TaskId::new(&second) {
                    Ok(second) => node.id = second,
                    Err(_) => self.unnumbered.push(self.outline.nodes.len()),
                }
            }
            self.latest.insert(id.folded(), self.outline.nodes.len());
        }
        self.push(indent, node);
    }

    fn is_below(&self, node: usize, above: usize) -> bool {
        std::iter::successors(Some(node), |node| self.outline.nodes[*node].parent).any(|node| node == above)
    }

    fn finish(mut self) -> Outline {
        // A list without any number is counted. In a list with numbers, a box without one is reported.
        let counted = self.latest.is_empty();
        let mut next = 0;
        for nth in std::mem::take(&mut self.unnumbered) {
            let id = loop {
                next += 1;
                let id = if counted { next.to_string() } else { format!("U{next}") };
                let id = TaskId::new(&id).expect("a letter and a number are an id");
                if self.latest.insert(id.folded(), nth).is_none() {
                    break id;
                }
            };
            if !counted {
                let message = "this task has no number";
                let told = Diagnostic::warning(self.outline.nodes[nth].text.clone(), message);
                self.found.push(told.label(format!("called `{id}` here")));
            }
            self.outline.nodes[nth].id = id;
        }
        self.roles();
        self.steps();
        self.headings();
        self.compare();
        self.outline
    }

    fn roles(&mut self) {
        let parents: BTreeSet<usize> = self
            .outline
            .nodes
            .iter()
            .filter(|node| node.role != Role::Step && !node.dropped)
            .filter_map(|node| node.parent)
            .collect();
        parents.into_iter().for_each(|nth| self.outline.nodes[nth].role = Role::Parent);
    }

    fn steps(&mut self) {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for nth in 0..self.outline.nodes.len() {
            let Some(task) =
                self.outline.nodes[nth].parent.filter(|_| self.outline.nodes[nth].role == Role::Step)
            else {
                continue;
            };
            let count = counts.entry(task).or_default();
            *count += 1;
            let id = format!("{}#{count}", self.outline.nodes[task].id);
            self.outline.nodes[nth].id = TaskId::new(&id).unwrap_or_else(|_| self.step.clone());
        }
    }

    /// A heading without a box of its own is ticked when its steps are.
    fn headings(&mut self) {
        let counts = |node: &&Node| node.role == Role::Step && !node.optional && !node.dropped;
        let (ticked, open): (Vec<&Node>, Vec<&Node>) =
            self.outline.nodes.iter().filter(counts).partition(|node| node.mark.is_done());
        let parents =
            |nodes: Vec<&Node>| nodes.iter().filter_map(|node| node.parent).collect::<BTreeSet<_>>();
        let (ticked, open) = (parents(ticked), parents(open));
        for (nth, node) in self.outline.nodes.iter_mut().enumerate() {
            if node.place.is_none() && ticked.contains(&nth) && !open.contains(&nth) {
                node.mark = Mark::Done;
            }
        }
    }

    /// Say where a box and those below it disagree.
    fn compare(&mut self) {
        let done = self.outline.done();
        let open = self.outline.nodes.iter().zip(&done).filter(|(node, done)| !**done && !node.dropped);
        let open_below: BTreeSet<usize> = open.filter_map(|(node, _)| node.parent).collect();
        for (nth, node) in self.outline.nodes.iter().enumerate().filter(|(_, node)| !node.dropped) {
            let ticked = node.mark.is_done();
            let message = match node.role {
                Role::Parent if ticked && !done[nth] => "this box is ticked, but one below it is not",
                Role::Parent if !ticked && !open_below.contains(&nth) => {
                    "this box is open, but all below it are ticked"
                }
                Role::Task if ticked && !done[nth] => "this box is ticked, but one of its steps is not",
                Role::Parent | Role::Task | Role::Step => continue,
            };
            let label = if node.role == Role::Task { "not done" } else { "those below it decide" };
            self.found.push(Diagnostic::warning(node.text.clone(), message).label(label));
        }
    }
}

/// `Criteria:`, with nothing behind it: they stand below.
fn is_criteria(bullet: &str) -> bool {
    field(bullet).is_some_and(|(name, value)| name.ends_with("criteria") && value.is_empty())
}

/// A heading, in lower case, about how it is known that all is done: `Acceptance Criteria`, `Testing Strategy`.
fn is_about_proof(heading: &str) -> bool {
    let words = heading.trim_matches(|c: char| !c.is_alphanumeric());
    let strategy = |rest: &str| {
        let rest = rest.trim_start_matches("ing").trim_start();
        ["strategy", "plan", "approach", "checklist", "cases", "scenarios"]
            .iter()
            .any(|word| rest.starts_with(word))
    };
    ["criteria", "definition of done"].iter().any(|word| heading.contains(word))
        || words.strip_prefix("test").is_some_and(strategy)
}

fn is_tasks(heading: &str) -> bool {
    let plain = key(heading).to_lowercase();
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(
        plain,
        "tasks" | "task list" | "implementation tasks" | "implementation plan" | "task breakdown" | "phases"
    )
}

/// What means nothing but itself wherever it stands in a title.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".,;/#+=&%@!?'`".contains(&byte)
}

/// What a box says, on one line, without comments, emphasis around all of it, and references.
fn title(text: &str) -> String {
    let is_plain = |pair: &[u8]| pair != b"  " && pair.iter().all(|byte| *byte == b' ' || is_word(*byte));
    if text.as_bytes().windows(2).all(is_plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return text.trim_end().to_owned();
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain += before;
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain += rest;
    if let Some((whole, _)) = reference(&plain) {
        plain.truncate(whole.start);
    }
    let plain = plain.trim();
    let plain = plain.trim_start_matches(['-', '–', '—']).trim_start();
    let bold =
        plain.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).filter(|rest| !rest.contains("**"));
    let opened = plain.strip_suffix("**").filter(|rest| !rest.contains("**"));
    let words: Vec<&str> = bold.or(opened).unwrap_or(plain).split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).collect()
}
