//! From a checklist to a draft.

use super::needs::needs_of;
use crate::diagnostic::Diagnostic;
use crate::system::kit::checklist::{self, Checklist, Item, Kind as LineKind, Line, number};
use crate::system::kit::draft::{
    BoxAt, Draft, DraftTask, Entries, Entry, Kind, Phase, Standing, commands_of, fails_first, kind_of,
    paths_of, standing, title_of,
};
use crate::system::kit::headings::is_about_criteria;
use crate::system::kit::text::{self, key};
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// Headings of what is not to be done now.
const LATER: [&str; 13] = [
    "future",
    "future ideas",
    "future work",
    "future enhancements",
    "someday",
    "later",
    "icebox",
    "ideas",
    "nice to have",
    "out of scope",
    "won't do",
    "wont do",
    "not planned",
];
/// Words in headings that say how urgent what follows is, and the priority that it gets.
const URGENCY: [(&str, u32); 10] = [
    ("critical", 10),
    ("p0", 10),
    ("p1", 20),
    ("high priority", 20),
    ("priority: high", 20),
    ("p2", 50),
    ("medium priority", 50),
    ("p3", 80),
    ("low priority", 80),
    ("priority: low", 80),
];

/// The draft of a plan's file, with what is wrong with it.
pub(super) fn plan(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut draft = draft(&decoded.text, given.place);
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems.extend(decoded.problems.into_iter().map(problem));
    draft.name = given.name.rsplit_once('.').map_or(given.name, |(stem, _)| stem).to_owned();
    draft.texts.insert(given.place.to_owned(), decoded.text);
    draft
}

/// The same of a text alone: who reads and who ticks have to find the same tasks.
pub(super) fn draft(text: &str, file: &str) -> Draft {
    let list = checklist::scan(text);
    let entries = Entries::of(&list);
    let mut reader = Reader {
        text,
        file,
        list: &list,
        entries: &entries,
        groups: vec![None; entries.sections.len()],
        around: vec![None; entries.sections.len()],
        draft: Draft::default(),
        problems: list.problems.clone(),
    };
    reader.read();
    let Reader { mut draft, problems, .. } = reader;
    needs_of(&mut draft, text);
    let problem = |diagnostic| Problem { file: file.to_owned(), diagnostic };
    draft.problems.extend(problems.into_iter().map(problem));
    draft
}

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
    list: &'t Checklist,
    entries: &'t Entries,
    /// By section, its group.
    groups: Vec<Option<usize>>,
    /// By section, what is said around its tasks.
    around: Vec<Option<String>>,
    draft: Draft,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn read(&mut self) {
        // By section: criteria that stand before any task.
        let mut later = vec![0_u64; self.entries.sections.len()];
        let mut criteria: Vec<(usize, String)> = Vec::new();
        let is_criterion = |entry: &Entry| self.heading_with(entry.section, is_about_criteria).is_some();
        let is_criterion: Vec<bool> = self.entries.entries.iter().map(is_criterion).collect();
        // A list of nothing but criteria is a list of tasks.
        let has_tasks = is_criterion.iter().any(|is| !is);
        for (nth, entry) in self.entries.entries.iter().enumerate() {
            let line = &self.list.lines[entry.line];
            let LineKind::Item(item) = &line.kind else { continue };
            if is_criterion[nth] && has_tasks {
                criteria.push((entry.section, self.text[line.text.clone()].to_owned()));
                continue;
            }
            let is_later = self.heading_with(entry.section, |title| LATER.contains(&title));
            let mut task = self.task(entry, line, item);
            if let Some(section) = is_later {
                later[section] += u64::from(task.standing == Standing::Open);
                task.standing = Standing::Dropped;
            }
            self.draft.tasks.push(task);
        }
        for (section, count) in later.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let at = self.entries.sections[section].title.clone();
            let message =
                format!("{} below this heading {} left out", counted(count, "open item"), is(count));
            let told = Diagnostic::warning(at, message).label("not to be done now");
            self.problems.push(told.help("to have them done, move them below another heading"));
        }
        self.judge_by(criteria);
    }

    fn task(&mut self, entry: &Entry, line: &Line, item: &Item) -> DraftTask {
        let said = &self.text[line.text.clone()];
        let (name, words) = number(said).map_or(("", said), |(id, rest)| (id, rest));
        let words = if words.is_empty() { said } else { words };
        let heading = self.title(entry.section);
        let required = |item: &Item| !item.struck && !item.optional;
        let steps: Vec<BoxAt> = entry
            .steps(self.list)
            .filter(|(_, _, item)| required(item))
            .map(|(_, _, item)| BoxAt::new(item))
            .collect();
        let details = entry.words(self.list, self.text);
        let title = title_of(words);
        let whole = if title.ends_with('…') { format!("{words}\n\n{details}") } else { details };
        let kind = kind_of(words);
        let mut commands = if kind == Kind::Verify { commands_of(words) } else { Vec::new() };
        let mut files = paths_of(said, line.text.start, &mut self.problems);
        for line in entry.details.iter().map(|nth| &self.list.lines[*nth]) {
            let said = &self.text[line.text.clone()];
            if matches!(line.kind, LineKind::Item(_) | LineKind::Bullet | LineKind::Text) {
                files.extend(paths_of(said, line.text.start, &mut self.problems));
                if kind_of(said) == Kind::Verify {
                    commands.extend(commands_of(said));
                }
            }
        }
        files.dedup();
        DraftTask {
            name: name.to_owned(),
            file: self.file.to_owned(),
            at: line.text.clone(),
            title,
            words: whole,
            around: self.around(entry.section),
            group: self.group(entry.section),
            files,
            commands,
            kind,
            standing: standing(item, &steps),
            priority: self.priority(entry.section),
            fails_first: fails_first(said, &heading),
            mark: Some(BoxAt::new(item)),
            steps,
            ..DraftTask::default()
        }
    }

    /// The group of a section, which is made when its first task is read.
    fn group(&mut self, section: usize) -> usize {
        if let Some(group) = self.groups[section] {
            return group;
        }
        let title = match self.title(section) {
            title if title.is_empty() => "Tasks".to_owned(),
            title => title,
        };
        let group = self.draft.groups.len();
        self.draft.groups.push(Phase { title, barrier: false });
        self.groups[section] = Some(group);
        group
    }

    fn title(&self, section: usize) -> String {
        title_of(&self.text[self.entries.sections[section].title.clone()])
    }

    /// The innermost heading around a section whose plain words are like this.
    fn heading_with(&self, section: usize, is_like: impl Fn(&str) -> bool) -> Option<usize> {
        self.entries.around(section).find(|section| {
            let title = key(&self.title(*section)).to_lowercase();
            is_like(title.trim_matches(|c: char| !c.is_alphanumeric()))
        })
    }

    /// Where a task stands, and what is written there about all of them.
    fn around(&mut self, section: usize) -> String {
        if let Some(around) = &self.around[section] {
            return around.clone();
        }
        let around = self.read_around(section);
        self.around[section] = Some(around.clone());
        around
    }

    fn read_around(&self, section: usize) -> String {
        let mut titles: Vec<String> =
            self.entries.around(section).map(|section| self.title(section)).collect();
        titles.retain(|title| !title.is_empty());
        titles.reverse();
        if titles.is_empty() {
            return String::new();
        }
        let place = format!("It stands below: {}", titles.join(" › "));
        match self.entries.introduction(section, self.list, self.text) {
            said if said.is_empty() => place,
            said => format!("{place}\n\n{said}"),
        }
    }

    fn priority(&self, section: usize) -> Option<u32> {
        self.entries.around(section).find_map(|section| {
            let title = key(&self.title(section)).to_lowercase();
            let has = |word: &str| {
                title.match_indices(word).any(|(at, _)| {
                    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                    !is_part(title[..at].chars().next_back())
                        && !is_part(title[at + word.len()..].chars().next())
                })
            };
            URGENCY.iter().find(|(word, _)| has(word)).map(|(_, priority)| *priority)
        })
    }

    /// Criteria judge the last task of the section around their own, or the last task of all.
    fn judge_by(&mut self, criteria: Vec<(usize, String)>) {
        let mut last = vec![None; self.draft.groups.len()];
        let mut last_of_all = None;
        let is_there = |(_, task): &(usize, &DraftTask)| task.standing != Standing::Dropped;
        for (nth, task) in self.draft.tasks.iter().enumerate().filter(is_there) {
            last[task.group] = Some(nth);
            last_of_all = Some(nth);
        }
        for (section, said) in criteria {
            let above = self.entries.sections[section].parent;
            let group = above.and_then(|above| self.groups[above]);
            match group.map_or(last_of_all, |group| last[group]) {
                Some(task) => self.draft.tasks[task].criteria.push(said),
                None => {
                    let at = self.entries.sections[section].title.clone();
                    let told = Diagnostic::warning(at, "these criteria judge no task");
                    self.problems.push(told.label("not used"));
                }
            }
        }
    }
}

fn is(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
