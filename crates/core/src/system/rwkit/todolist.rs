//! A whole list: its stories with their criteria, its tasks wherever they stand, the batches and totals it gives itself.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::line::{Head, is_certain, plain, story_id};
use super::rows::TaskRow;
use super::sections::{Section, is_criteria, story_heading};
use super::tables::{Columns, cells};
use super::tags::{Name, Tagged};
use super::totals::{self, Total};
use crate::diagnostic::Diagnostic;
use crate::order::Arrange;
use crate::plan::{RepoPath, Story, TaskId};
use crate::system::kit::checklist::{Checklist, Item, Kind, Line, Mark, number};
use crate::system::kit::files::files;
use crate::system::kit::problems::{Problems, Spanned, cut};

/// How many lines below a task may continue its tags.
const LONGEST_WRAP: usize = 8;

/// A list as far as it was understood.
#[derive(Clone, Debug, Default)]
pub struct Todolist {
    pub title: String,
    pub stories: Vec<ListedStory>,
    /// In the order of the file.
    pub tasks: Vec<Task>,
    /// As the file has them.
    pub(super) batches: Vec<FileBatch>,
    /// Ids that several tasks have; nothing can refer to one.
    pub(super) ambiguous: HashSet<String>,
    /// Ids of tasks that are crossed out.
    pub(super) dropped: HashSet<String>,
    pub(super) totals: Vec<Total>,
}

/// A story, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedStory {
    pub story: Story,
    /// Its heading, or where a task names it first.
    pub(super) at: Range<usize>,
    pub(super) has_heading: bool,
    /// The user story, as quoted below the heading.
    pub(super) quote: Vec<Range<usize>>,
    /// When it is accepted: boxes that are not tasks.
    pub(super) criteria: Vec<Range<usize>>,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub mark: Mark,
    /// What stands in its box. A task that only a table has may have no box.
    pub place: Option<Range<usize>>,
    /// From 1.
    pub line: usize,
    /// It is a row, and has no line with a box.
    pub(super) in_table: bool,
    /// The list says that it cannot continue.
    pub blocked: bool,
    pub(super) at: Range<usize>,
    pub(super) note: String,
    pub(super) priority: Option<u32>,
    /// By position.
    pub(super) story: Option<usize>,
    /// The story whose part of the file it stands in.
    pub(super) section: Option<usize>,
    pub(super) agent: Option<Spanned<String>>,
    pub(super) size: Option<Spanned<String>>,
    pub(super) deps: Vec<Range<usize>>,
    /// `None`: it says nothing about files. Empty: it says that it has no files.
    pub(super) files: Option<Vec<Spanned<RepoPath>>>,
    /// Tags of others, as they are written.
    pub(super) others: Vec<Range<usize>>,
    /// Boxes below it that are parts of it.
    pub(super) steps: Vec<Step>,
    /// Lines below it, by position.
    pub(super) details: Range<usize>,
    pub(super) indent: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) place: Range<usize>,
    pub(super) mark: Mark,
    pub(super) optional: bool,
}

impl Task {
    /// Whether it is done as its list has it: its own box, and those of its steps.
    pub fn is_done(&self) -> bool {
        self.mark.is_done() && self.steps.iter().all(|step| step.mark.is_done() || step.optional)
    }
}

/// A batch of the file itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileBatch {
    /// Its heading.
    pub(super) at: Range<usize>,
    pub(super) rows: Vec<Row>,
}

/// A task that a batch names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: Spanned<String>,
    /// What it says this one waits for.
    pub(super) deps: Option<Range<usize>>,
}

impl Todolist {
    pub(super) fn read(list: &Checklist, text: &str, found: &mut Problems) -> Todolist {
        let mut builder = Builder {
            list,
            text,
            found,
            out: Todolist::default(),
            section: Section::default(),
            stories: HashMap::new(),
            last: None,
            columns: None,
            unnumbered: Vec::new(),
            in_tables: Vec::new(),
            in_batches: Vec::new(),
        };
        let mut nth = 0;
        while nth < list.lines.len() {
            nth = builder.line(nth);
        }
        builder.close(list.lines.len());
        builder.finish()
    }

    /// Positions by id in lower case.
    pub(super) fn positions(&self) -> HashMap<String, usize> {
        self.tasks.iter().enumerate().map(|(nth, task)| (task.id.folded(), nth)).collect()
    }
}

struct Builder<'l, 'f> {
    list: &'l Checklist,
    text: &'l str,
    found: &'f mut Problems,
    out: Todolist,
    section: Section,
    /// By id.
    stories: HashMap<String, usize>,
    /// The task whose details continue.
    last: Option<usize>,
    /// Those of the table we are in.
    columns: Option<Columns>,
    /// Tasks without an id.
    unnumbered: Vec<usize>,
    /// Tasks that tables name, which may be nowhere else.
    in_tables: Vec<(Task, Option<Spanned<String>>)>,
    /// Boxes in the list of batches, which may be nowhere else.
    in_batches: Vec<(usize, Task)>,
}

impl Builder<'_, '_> {
    /// Take one line, and say which is next.
    fn line(&mut self, nth: usize) -> usize {
        let list = self.list;
        let line = &list.lines[nth];
        let said = &self.text[line.text.clone()];
        if line.kind != Kind::Table {
            self.columns = None;
        }
        match &line.kind {
            Kind::Heading(level) => {
                self.close(nth);
                self.heading(line, *level);
            }
            Kind::Item(item) => return self.item(nth, line, item),
            Kind::Rule => self.close(nth),
            Kind::Table => self.table(nth, line),
            Kind::Quote => {
                if let Some(story) = self.section.fresh_story() {
                    self.out.stories[story].quote.push(line.text.clone());
                }
            }
            Kind::Text | Kind::Bullet => {
                if line.kind == Kind::Text && is_criteria(said) {
                    self.section.criteria = Some(u8::MAX);
                }
                self.total(line);
            }
            Kind::Blank | Kind::Code | Kind::Comment | Kind::FrontMatter => {}
        }
        nth + 1
    }

    fn total(&mut self, line: &Line) {
        let section = (self.section.story(), self.section.summary);
        self.out.totals.extend(totals::said(self.text, &line.text, section));
    }

    fn heading(&mut self, line: &Line, level: u8) {
        let said = &self.text[line.text.clone()];
        self.section.enter(said, &line.text, level);
        self.total(line);
        if self.out.title.is_empty() && level == 1 {
            let plain = plain(std::iter::once(said));
            let title = plain.split_once(':').map_or(plain.as_str(), |(_, title)| title).trim();
            self.out.title = title.to_owned();
        }
        if let Some((id, title)) = story_heading(said) {
            let told = ListedStory { at: line.text.clone(), has_heading: true, ..ListedStory::default() };
            let nth = self.story(&id, told);
            self.out.stories[nth].has_heading = true;
            if self.out.stories[nth].story.title.is_empty() {
                self.out.stories[nth].story.title = title;
            }
            self.section.tell(nth, level);
        } else if self.section.batches.is_some() && self.section.is_batch {
            self.out.batches.push(FileBatch { at: line.text.clone(), rows: Vec::new() });
        } else if let Some((id, _)) = number(said).filter(|(id, _)| is_heading_task(id)) {
            let told =
                Diagnostic::warning(line.text.clone(), format!("`{}` is a heading without a box", cut(id)));
            self.found.forgive(told.label("not read as a task; write it like `- [ ] T001 …`"));
        }
    }

    fn story(&mut self, id: &str, told: ListedStory) -> usize {
        if let Some(&known) = self.stories.get(id) {
            return known;
        }
        self.stories.insert(id.to_owned(), self.out.stories.len());
        let story = Story { id: id.to_owned(), title: String::new() };
        self.out.stories.push(ListedStory { story, ..told });
        self.out.stories.len() - 1
    }

    /// What belongs to the last task ends before this line.
    fn close(&mut self, nth: usize) {
        if let Some(task) = self.last.take().and_then(|last| self.out.tasks.get_mut(last)) {
            task.details.end = nth;
        }
    }

    fn item(&mut self, nth: usize, line: &Line, item: &Item) -> usize {
        let (at, next) = self.extent(nth, line);
        let tagged = Tagged::read(self.text, at, self.found);
        let mut head = Head::read(self.text, &tagged);
        if head.id.is_none() {
            // A number or an id before the box.
            head.id = item.ordinal.clone().map(|at| Spanned { value: self.text[at.clone()].to_owned(), at });
            head.certain = head.id.as_ref().is_some_and(|id| is_certain(&id.value));
        }
        let in_criteria = self.section.criteria.is_some();
        let below = self.last.filter(|&last| self.out.tasks[last].indent < line.indent);
        let looks_like_one = tagged.is_task() || (head.certain && (!in_criteria || head.priority.is_some()));
        if !looks_like_one {
            if let Some(task) = below.filter(|_| !head.certain) {
                let step = Step {
                    place: item.place.clone(),
                    mark: item.mark,
                    optional: item.optional || item.struck,
                };
                self.out.tasks[task].steps.push(step);
                return next;
            }
            if !self.section.has_tasks() {
                self.foreign(line, &head);
                return next;
            }
        }
        let task = self.task(nth, line, item, &tagged, &head);
        let task = Task { details: next..next, ..task };
        if item.struck {
            self.close(nth);
            self.out.dropped.extend(head.id.map(|id| id.value.to_ascii_lowercase()));
        } else if self.section.batches.is_some() && !tagged.is_task() && head.id.is_some() {
            self.close(nth);
            self.in_batches.push((self.out.batches.len().saturating_sub(1), task));
        } else {
            self.close(nth);
            self.last = Some(self.out.tasks.len());
            if head.id.is_none() {
                self.unnumbered.push(self.out.tasks.len());
            }
            self.out.tasks.push(task);
        }
        next
    }

    /// The line with those below it that continue its tags, and the position behind them.
    fn extent(&self, nth: usize, line: &Line) -> (Range<usize>, usize) {
        let depth = |text: &str| {
            text.bytes().fold(0_i64, |depth, byte| depth + i64::from(byte == b'[') - i64::from(byte == b']'))
        };
        let (mut end, mut next) = (line.text.end, nth + 1);
        let mut open = depth(&self.text[line.text.clone()]);
        for more in self.list.lines[nth + 1..].iter().take(LONGEST_WRAP) {
            let said = &self.text[more.text.clone()];
            let goes_on = match more.kind {
                Kind::Text => open > 0 || said.starts_with('['),
                Kind::Bullet => said.starts_with('[') && more.indent > line.indent && said.contains(':'),
                _ => false,
            };
            if !goes_on {
                break;
            }
            open += depth(said);
            (end, next) = (more.text.end, next + 1);
        }
        (line.text.start..end, next)
    }

    /// A box that is not a task.
    fn foreign(&mut self, line: &Line, head: &Head) {
        if self.section.criteria.is_some() {
            if let Some(story) = self.section.story() {
                self.out.stories[story].criteria.push(line.text.clone());
            }
            if head.certain {
                let told =
                    Diagnostic::warning(line.text.clone(), "this looks like a task, but is among criteria");
                self.found.push(told.label("not read as one: it has neither a priority nor a tag"));
            }
        } else if !std::mem::replace(&mut self.section.told, true) {
            let message = "boxes in this part of the file are not read as tasks";
            self.found
                .push(Diagnostic::warning(line.text.clone(), message).label("they have no id like `T001`"));
        }
    }

    fn task(&mut self, nth: usize, line: &Line, item: &Item, tagged: &Tagged, head: &Head) -> Task {
        let text = self.text;
        let value = |tag: &super::tags::Tag| {
            let at = super::tables::trimmed(text, tag.value.clone());
            Spanned { value: text[at.clone()].to_owned(), at }
        };
        let first = |name: Name| tagged.named(name).map(value).find(|said| !said.value.is_empty());
        let mut said_files: Option<Vec<Spanned<RepoPath>>> = None;
        for tag in tagged.named(Name::Files) {
            files(text, &tag.value, said_files.get_or_insert_default(), self.found);
        }
        let other = |word: &str| {
            tagged.named(Name::Other).find(|tag| text[tag.word.clone()].eq_ignore_ascii_case(word))
        };
        let advised = item.advice.as_ref().is_some_and(|advice| says_blocked(&text[advice.at.clone()]));
        let blocked = says_blocked(&text[item.place.clone()])
            || other("blocked").is_some()
            || other("status").is_some_and(|tag| says_blocked(&text[tag.value.clone()]))
            || advised;
        if let Some(deferred) = other("deferred").filter(|_| item.mark.is_done()) {
            let told = Diagnostic::warning(deferred.at.clone(), "this task is both checked and deferred");
            self.found.push(told.label("the box decides"));
        }
        Task {
            id: head.id.as_ref().map_or_else(unnamed, |id| task_id(id, nth + 1, self.found)),
            title: head.title.clone(),
            mark: item.mark,
            place: Some(item.place.clone()),
            line: nth + 1,
            in_table: false,
            blocked: blocked && !item.mark.is_done(),
            at: head.id.as_ref().map_or_else(|| line.text.clone(), |id| id.at.clone()),
            note: head.note.clone(),
            priority: head.priority,
            story: self.story_of(head.story.as_ref()),
            section: self.section.story(),
            agent: first(Name::Agent),
            size: first(Name::Size),
            deps: tagged.named(Name::Deps).map(|tag| tag.value.clone()).collect(),
            files: said_files,
            others: tagged.named(Name::Other).map(|tag| tag.at.clone()).collect(),
            steps: Vec::new(),
            details: nth + 1..nth + 1,
            indent: line.indent,
        }
    }

    /// The story that a task names, or the one it stands below.
    fn story_of(&mut self, said: Option<&Spanned<String>>) -> Option<usize> {
        match said {
            Some(said) => {
                Some(self.story(&said.value, ListedStory { at: said.at.clone(), ..ListedStory::default() }))
            }
            None => self.section.story(),
        }
    }

    fn table(&mut self, nth: usize, line: &Line) {
        let Some(columns) = &self.columns else {
            self.columns = Some(Columns::read(self.text, &cells(self.text, &line.text)));
            return;
        };
        let Some(row) = TaskRow::read(self.text, columns, line) else { return };
        if self.section.batches.is_some() {
            if self.out.batches.is_empty() {
                self.out.batches.push(FileBatch { at: line.text.clone(), rows: Vec::new() });
            }
            let batch = self.out.batches.last_mut().expect("one was made");
            batch.rows.push(Row { deps: row.deps(), id: row.id });
            return;
        }
        let heading = plain(std::iter::once(&self.text[self.section.heading.clone()]));
        let task = Task { section: self.section.story(), ..row.task(nth + 1, &heading, self.found) };
        self.in_tables.push((task, row.story()));
    }

    fn finish(mut self) -> Todolist {
        let mut known: HashSet<String> = self.out.tasks.iter().map(|task| task.id.folded()).collect();
        for (batch, task) in std::mem::take(&mut self.in_batches) {
            if known.contains(&task.id.folded()) {
                let id = Spanned { value: task.id.to_string(), at: task.at.clone() };
                if let Some(batch) = self.out.batches.get_mut(batch) {
                    batch.rows.push(Row { id, deps: None });
                }
            } else {
                self.out.tasks.push(task);
            }
        }
        known.extend(self.out.tasks.iter().map(|task| task.id.folded()));
        for (task, story) in std::mem::take(&mut self.in_tables) {
            if !self.out.dropped.contains(&task.id.folded()) && known.insert(task.id.folded()) {
                let story = story.map(|said| {
                    self.story(&said.value, ListedStory { at: said.at, ..ListedStory::default() })
                });
                self.out.tasks.push(Task { story: story.or(task.section), ..task });
            }
        }
        self.name_all();
        self.out.tasks.arrange_by_key(|task| task.line);
        self.out
    }

    /// Every task gets an id of its own.
    fn name_all(&mut self) {
        let unnumbered: HashSet<usize> = std::mem::take(&mut self.unnumbered).into_iter().collect();
        let mut lines: HashMap<String, usize> = HashMap::new();
        for nth in (0..self.out.tasks.len()).filter(|nth| !unnumbered.contains(nth)) {
            let task = &mut self.out.tasks[nth];
            let Some(&first) = lines.get(&task.id.folded()) else {
                lines.insert(task.id.folded(), task.line);
                continue;
            };
            let second = format!("{}@L{}", task.id, task.line);
            let message =
                format!("the id `{}` is used twice, in line {first} and line {}", task.id, task.line);
            self.out.ambiguous.insert(task.id.folded());
            // An id of the largest length has no room for its line.
            task.id = TaskId::new(&second).unwrap_or_else(|_| {
                TaskId::new(&format!("L{}", task.line)).expect("a letter and a number are an id")
            });
            let told = Diagnostic::warning(task.at.clone(), message);
            self.found.forgive(told.label(format!("called `{}` here", task.id)));
            lines.insert(task.id.folded(), task.line);
        }
        let mut next = 0;
        let mut nths: Vec<usize> = unnumbered.into_iter().collect();
        nths.sort_unstable();
        for nth in nths {
            let task = &mut self.out.tasks[nth];
            task.id = loop {
                next += 1;
                let id = TaskId::new(&format!("U{next}")).expect("a letter and a number are an id");
                if lines.insert(id.folded(), task.line).is_none() {
                    break id;
                }
            };
            let told = Diagnostic::warning(task.at.clone(), "this task has no id");
            self.found.push(told.label(format!("called `{}` here; give it one, like `T001`", task.id)));
        }
    }
}

/// An invalid id is reported, and the number of the line is used instead.
pub(super) fn task_id(said: &Spanned<String>, line: usize, found: &mut Problems) -> TaskId {
    TaskId::new(&said.value).unwrap_or_else(|reason| {
        let message = format!("`{}` cannot be an id: {reason}", cut(&said.value));
        let told = Diagnostic::warning(said.at.clone(), message);
        found.push(told.label(format!("called `L{line}` here")));
        TaskId::new(&format!("L{line}")).expect("a letter and a number are an id")
    })
}

/// Stands in until every id is known.
fn unnamed() -> TaskId {
    TaskId::new("task").expect("a word is an id")
}

/// `TASK-2.7.1`, `PAY-001`, `Task 1.1`: headings that other systems have instead of boxes.
fn is_heading_task(id: &str) -> bool {
    let serial = id.rsplit_once('-').is_some_and(|(_, last)| last.len() >= 3);
    is_certain(id) || (serial && story_id(id).is_none())
}

pub(super) fn says_blocked(text: &str) -> bool {
    let plain = text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    plain.starts_with("blocked")
}
