//! The list of lists: a table that says how far each is, and the order in which they are worked on.

use std::collections::HashMap;
use std::ops::Range;

use super::tables::{Columns, cells, is_rule, trimmed};
use super::{is_list, line::plain, stem};
use crate::diagnostic::Diagnostic;
use crate::plan::RepoPath;
pub use crate::system::Standing;
use crate::system::kit::checklist::{self, Checklist, Kind, Line, Mark};
pub use crate::system::kit::outline::Word;
use crate::system::kit::problems::cut;
use crate::system::kit::text::{self, key};

/// The lists, in the order in which they are worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Master {
    pub entries: Vec<Entry>,
    pub problems: Vec<Diagnostic>,
}

/// One list, by a row of the table, a box of the order, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub plan: Option<RepoPath>,
    /// As it is written: a path from the root of the project, or a file name in the folder of the master list. `None`: there
    /// is no list yet.
    pub list: Option<RepoPath>,
    /// `None`: it has no status, or says that there is no list yet.
    pub status: Option<Word>,
    /// Where problems with it are shown.
    pub at: Range<usize>,
    number: String,
    status_at: Option<Range<usize>>,
    progress_at: Option<Range<usize>>,
    ticked: Option<(Mark, Range<usize>)>,
}

/// Read a master list.
pub fn read(text: &str) -> Master {
    let list = checklist::scan(text);
    let mut reader =
        Reader { text, list: &list, rows: Vec::new(), items: Vec::new(), problems: list.problems.clone() };
    reader.walk();
    reader.join()
}

/// The file with the row and the box of one list updated, and every other byte unchanged. `None` if the list is not in
/// there, or the file is not UTF-8 text.
pub fn update(bytes: &[u8], list: &str, standing: Standing) -> Option<Vec<u8>> {
    let decoded = text::decode(bytes);
    let text = &decoded.text;
    let master = read(text);
    let percent = (standing.done * 100).checked_div(standing.total).unwrap_or(0);
    let (of, percent) = (format!("{}/{}", standing.done, standing.total), format!("{percent}%"));
    let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
    let mut named = false;
    for entry in master.entries.iter().filter(|entry| entry.is_about(list)) {
        named = true;
        if let Some(at) = entry.status_at.clone().filter(|_| entry.status != Some(standing.status)) {
            edits.push((at, word(standing.status)));
        }
        if let Some(at) = entry.progress_at.clone() {
            // In the form that the row has.
            let new = if text[at.clone()].contains('/') { &of } else { &percent };
            edits.push((at, new));
        }
        if let Some((mark, at)) = &entry.ticked {
            match (standing.status == Word::Completed, mark.is_done()) {
                (true, false) => edits.push((at.clone(), "x")),
                (false, true) => edits.push((at.clone(), " ")),
                (true, true) | (false, false) => {}
            }
        }
    }
    if named { checklist::replace(bytes, text, &edits) } else { None }
}

/// Say where the master list disagrees with the lists themselves, which are right. `count` knows how many tasks of a
/// list are done, of how many.
pub fn compare(master: &Master, count: impl Fn(&RepoPath) -> Option<(usize, usize)>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for entry in &master.entries {
        let Some((list, (done, total))) = entry.list.as_ref().and_then(|list| Some((list, count(list)?)))
        else {
            continue;
        };
        let ticked = entry.ticked.as_ref().is_some_and(|(mark, _)| mark.is_done());
        let message = match entry.status {
            Some(Word::Completed) if done < total => {
                format!("this says completed, but `{list}` has {} open", total - done)
            }
            None if ticked && done < total => {
                format!("this is ticked, but `{list}` has {} open", total - done)
            }
            Some(Word::Pending | Word::InProgress) if done == total && total > 0 => {
                format!("this says that there is work left, but `{list}` is done")
            }
            _ => continue,
        };
        let at = entry.status_at.clone().unwrap_or_else(|| entry.at.clone());
        problems.push(Diagnostic::warning(at, message).label("the list decides"));
    }
    Diagnostic::sort(&mut problems);
    problems
}

impl Entry {
    /// Whether a path or a name means this list.
    pub fn is_about(&self, list: &str) -> bool {
        self.list.as_ref().is_some_and(|own| name(own.as_str()) == name(list))
    }

    /// Whether it is to be worked on, as far as the master list knows.
    pub fn is_open(&self) -> bool {
        let ticked = self.ticked.as_ref().is_some_and(|(mark, _)| mark.is_done());
        self.list.is_some() && !self.status.map_or(ticked, |status| status == Word::Completed)
    }
}

fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn word(status: Word) -> &'static str {
    match status {
        Word::Pending => "pending",
        Word::InProgress => "in_progress",
        Word::Completed => "completed",
        Word::Blocked => "blocked",
        Word::Failed => "failed",
    }
}

struct Reader<'l> {
    text: &'l str,
    list: &'l Checklist,
    rows: Vec<Entry>,
    items: Vec<Entry>,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn walk(&mut self) {
        let list = self.list;
        let (mut order, mut columns, mut counts): (Option<u8>, Option<Columns>, bool) = (None, None, false);
        for line in &list.lines {
            let said = &self.text[line.text.clone()];
            if line.kind != Kind::Table {
                columns = None;
            }
            match &line.kind {
                Kind::Heading(level) => {
                    order = order.filter(|own| own < level);
                    let plain = key(said).to_lowercase();
                    if plain.contains("order") {
                        order = Some(*level);
                    }
                    counts = false;
                }
                Kind::Table => self.table(line, &mut columns),
                Kind::Item(item) if order.is_some() => {
                    let ticked = Some((item.mark, item.place.clone()));
                    let named = self.named(&line.text);
                    self.items.push(Entry { ticked, ..named });
                    counts = true;
                }
                // Its file may stand below it.
                Kind::Bullet | Kind::Text if counts && order.is_some() => {
                    let below = self.named(&line.text);
                    if let Some(last) = self.items.last_mut() {
                        last.list = last.list.take().or(below.list);
                        last.plan = last.plan.take().or(below.plan);
                    }
                }
                _ => {}
            }
        }
    }

    /// What a line of the order names.
    fn named(&mut self, at: &Range<usize>) -> Entry {
        let said = &self.text[at.clone()];
        let (list, plan) = self.files(at);
        let plain = plain(std::iter::once(said));
        let plain = plain.trim_matches(|c: char| "*_`".contains(c));
        // `Module 4: Campsite detail** (3 days)`.
        let (head, title) = plain.split_once(':').unwrap_or(("", plain));
        let number: String = head.chars().filter(char::is_ascii_digit).take(9).collect();
        let title = title.split(['*', '(']).next().unwrap_or_default().trim();
        Entry { name: title.to_owned(), list, plan, at: at.clone(), number, ..Entry::default() }
    }

    /// The list and the plan that a text names.
    fn files(&mut self, at: &Range<usize>) -> (Option<RepoPath>, Option<RepoPath>) {
        let (mut list, mut plan) = (None, None);
        let words = self.text[at.clone()].split(|c: char| c.is_whitespace() || "`()[]<>*|\"'".contains(c));
        for word in words.filter(|word| word.ends_with(".md")) {
            match RepoPath::new(word) {
                Ok(path) if word.ends_with("-plan.md") => drop(plan.get_or_insert(path)),
                Ok(path) if is_list(word) => drop(list.get_or_insert(path)),
                Ok(_) => {}
                Err(reason) => {
                    let message = format!("{:?} cannot be a file of the project: {reason}", cut(word));
                    self.problems.push(Diagnostic::warning(at.clone(), message).label("left out"));
                }
            }
        }
        (list, plan)
    }

    fn table(&mut self, line: &Line, columns: &mut Option<Columns>) {
        let cells = cells(self.text, &line.text);
        let Some(columns) = columns else {
            *columns = Some(Columns::read(self.text, &cells));
            return;
        };
        let column = |names: &[&str]| columns.find(names).and_then(|nth| cells.get(nth)).cloned();
        let Some(own) = column(&["todolist file", "todolist", "todo list", "list"]) else { return };
        if is_rule(self.text, &cells) {
            return;
        }
        let word = |at: Option<Range<usize>>| {
            at.map_or("", |at| self.text[at].trim_matches(['*', '_', '`'])).to_owned()
        };
        let (number, name) =
            (word(column(&["#", "no", "no.", "nr", "number"])), word(column(&["module", "name", "title"])));
        // One that is called by two names holds what comes first: the list is not overwritten by its status.
        let status = column(&["status"]).filter(|at| *at != own);
        let progress = column(&["progress"]).filter(|at| *at != own && Some(at) != status.as_ref());
        let [status_at, progress_at] = [status, progress].map(|at| at.map(|at| inner(self.text, at)));
        let plan = column(&["plan file", "plan"]);
        // A list may be called anything where a column says that it is one.
        let list = self.files(&own).0.or_else(|| self.any_file(&own));
        let plan = plan.and_then(|at| self.files(&at).1.or_else(|| self.any_file(&at)));
        let status = status_at.as_ref().and_then(|at| self.status(at));
        let at = line.text.clone();
        if list.is_some() || plan.is_some() || !name.is_empty() {
            self.rows.push(Entry {
                name,
                plan,
                list,
                status,
                at,
                number,
                status_at,
                progress_at,
                ticked: None,
            });
        }
    }

    fn any_file(&self, at: &Range<usize>) -> Option<RepoPath> {
        let said = self.text[at.clone()].trim_matches(['`', '*', '_']);
        RepoPath::new(said).ok().filter(|path| path.as_str().ends_with(".md"))
    }

    fn status(&mut self, at: &Range<usize>) -> Option<Word> {
        let said = &self.text[at.clone()];
        let plain = key(said).to_lowercase();
        let none = plain.is_empty()
            || plain.starts_with("no ")
            || plain.chars().all(|c| !c.is_alphanumeric() && c.is_ascii());
        let known = Word::read(said);
        if known.is_none() && !none {
            let message = format!("`{}` is not a known status", cut(said));
            let label = "use pending, in_progress, completed, blocked or failed; read as pending";
            self.problems.push(Diagnostic::warning(at.clone(), message).label(label));
            return Some(Word::Pending);
        }
        known.filter(|_| !none)
    }

    /// Rows and boxes that mean the same list are one entry. The boxes give the order, where there are some.
    fn join(mut self) -> Master {
        let index = Index::new(&self.rows);
        let mut rows: Vec<Option<Entry>> = std::mem::take(&mut self.rows).into_iter().map(Some).collect();
        let mut entries: Vec<Entry> = Vec::new();
        for item in std::mem::take(&mut self.items) {
            let row = index.find(&item).and_then(|nth| rows[nth].take());
            if item.list.is_none()
                && item.plan.is_some()
                && row.as_ref().is_some_and(|row| row.list.is_some())
            {
                let message = "this names a plan, not the list that was made of it";
                self.problems.push(Diagnostic::warning(item.at.clone(), message).label("found by the table"));
            }
            match row {
                Some(row) => entries.push(Entry { ticked: item.ticked, ..row }),
                None if item.list.is_some() => entries.push(item),
                // `(create todolist first)`.
                None if self.text[item.at.clone()].trim_start().starts_with('(') => {}
                None => {
                    let message = "this does not name a list, and is not in the table";
                    self.problems.push(Diagnostic::warning(item.at.clone(), message).label("ignored"));
                }
            }
        }
        let unordered = rows.iter().flatten().find(|row| row.list.is_some() && !entries.is_empty());
        if let Some((row, list)) = unordered.and_then(|row| Some((row, row.list.as_ref()?))) {
            let told = Diagnostic::warning(row.at.clone(), format!("the order does not name `{list}`"));
            self.problems.push(told.label("it comes last"));
        }
        entries.extend(rows.into_iter().flatten());
        let mut problems = self.problems;
        if entries.iter().all(|entry| entry.list.is_none()) {
            let told = Diagnostic::error(0..0, "the master list does not name any list");
            problems.push(told.label("no row like `| 1 | 1-a-plan.md | 1-a-todolist.md | pending | 0% |`"));
        }
        Diagnostic::sort(&mut problems);
        Master { entries, problems }
    }
}

/// The rows by what a box may call them.
#[derive(Default)]
struct Index(HashMap<(By, String), usize>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum By {
    List,
    /// The plan, or what both file names have in common.
    Plan,
    Name,
    Number,
}

impl Index {
    fn new(rows: &[Entry]) -> Index {
        let mut index = Index::default();
        for (nth, row) in rows.iter().enumerate() {
            let list = row.list.as_ref().map(|list| name(list.as_str()).to_owned());
            let stem = row.list.as_ref().map(|list| stem(list.as_str()).to_owned());
            let keys = [
                (By::List, list),
                (By::Plan, row.plan_stem()),
                (By::Plan, stem),
                (By::Name, row.called()),
                (By::Number, row.counted()),
            ];
            for (by, key) in keys {
                if let Some(key) = key {
                    index.0.entry((by, key)).or_insert(nth);
                }
            }
        }
        index
    }

    fn find(&self, item: &Entry) -> Option<usize> {
        if let Some(list) = &item.list {
            return self.0.get(&(By::List, name(list.as_str()).to_owned())).copied();
        }
        let keys = [(By::Plan, item.plan_stem()), (By::Name, item.called()), (By::Number, item.counted())];
        keys.into_iter().find_map(|(by, key)| self.0.get(&(by, key?)).copied())
    }
}

impl Entry {
    fn plan_stem(&self) -> Option<String> {
        let name = name(self.plan.as_ref()?.as_str());
        Some(name.strip_suffix("-plan.md").unwrap_or(name).to_owned())
    }

    fn called(&self) -> Option<String> {
        Some(key(&self.name).to_lowercase()).filter(|name| !name.is_empty())
    }

    fn counted(&self) -> Option<String> {
        Some(self.number.clone()).filter(|number| !number.is_empty())
    }
}

/// A cell without emphasis around it.
fn inner(text: &str, at: Range<usize>) -> Range<usize> {
    let said = &text[at.clone()];
    let inside = said.trim_matches(['*', '_', '`']);
    let start = at.start + (said.len() - said.trim_start_matches(['*', '_', '`']).len());
    if inside.is_empty() { at } else { trimmed(text, start..start + inside.len()) }
}
