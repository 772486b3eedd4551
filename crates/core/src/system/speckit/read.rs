//! From `tasks.md` to a draft.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::ids::id_at;
use super::line::{TaskLine, without_needs};
use super::needs::{Known, in_sections, needs_in};
use super::stories::{scenarios, story_of};
use crate::diagnostic::Diagnostic;
use crate::order::{Arrange, Pairs};
use crate::system::kit::checklist::{self, Checklist, Item, Kind as LineKind, Line};
use crate::system::kit::draft::{
    BoxAt, Draft, DraftTask, Entries, Entry, Kind, Order, Phase, Standing, commands_of, fails_first, kind_of,
    paths_of, standing, title_of,
};
use crate::system::kit::text::{self, key};
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// Fields of a phase that its agents have to know.
const FIELDS: [&str; 4] = ["goal", "purpose", "independent test", "checkpoint"];

/// The draft of a plan's file and of what lies beside it.
pub(super) fn plan(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut draft = draft(&decoded.text, given.place);
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems.extend(decoded.problems.into_iter().map(problem));
    let home = given.place.rsplit_once('/').map_or("", |(home, _)| home);
    draft.name = home.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("spec").to_owned();
    draft.texts.insert(given.place.to_owned(), decoded.text);
    draft.context = context(folder, given.place);
    if let Some((_, spec)) =
        folder.files.iter().find(|(name, _)| name.ends_with("/spec.md") || *name == "spec.md")
    {
        judge_stories(&mut draft, &text::decode(spec).text);
    }
    if matches!(given.config.policy.order, Some(Order::Groups | Order::Free)) {
        // Stories may overlap. What comes before the first one, and the last one, still separate.
        let is_story = |phase: &Phase| story_of(&phase.title).is_some();
        let last = draft.groups.iter().rposition(is_story);
        for (nth, phase) in draft.groups.iter_mut().enumerate().filter(|(_, phase)| is_story(phase)) {
            phase.barrier = Some(nth) == last;
        }
    }
    draft
}

/// What agents read first: the documents of the feature, the weightiest first.
fn context(folder: &Folder, place: &str) -> Vec<String> {
    const RANKS: [&str; 7] = [
        "plan.md",
        "spec.md",
        "data-model.md",
        "contracts/",
        "research.md",
        "quickstart.md",
        "constitution.md",
    ];
    let rank = |path: &str| {
        RANKS.iter().position(|name| match name.strip_suffix('/') {
            Some(folder) => path.split('/').rev().nth(1) == Some(folder),
            None => path.rsplit('/').next() == Some(name),
        })
    };
    let mut files: Vec<(usize, &String)> = folder
        .files
        .keys()
        .filter(|path| *path != place)
        .map(|path| (rank(path).unwrap_or(RANKS.len()), path))
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path.clone()).collect()
}

/// The scenarios of a story judge its last task.
fn judge_stories(draft: &mut Draft, spec: &str) {
    for (story, scenarios) in scenarios(spec) {
        let label = format!("(US{story})");
        let is_its = |task: &DraftTask, groups: &[Phase]| {
            let by_group = groups.get(task.group).and_then(|phase| story_of(&phase.title));
            by_group.is_some_and(|own| own == story) || task.around.contains(&label)
        };
        let groups = &draft.groups;
        let last = draft.tasks.iter_mut().rev().find(|task| {
            !matches!(task.standing, Standing::Dropped) && task.kind == Kind::Work && is_its(task, groups)
        });
        if let Some(last) = last {
            last.criteria.extend(scenarios);
        }
    }
}

/// The draft of the text alone: who reads and who ticks have to find the same tasks.
pub(super) fn draft(text: &str, file: &str) -> Draft {
    let list = checklist::scan(text);
    let entries = Entries::of(&list);
    let mut problems = list.problems.clone();
    // The label of the legend, and of tasks without a box, which are said below.
    let is_about_label = |problem: &Diagnostic| {
        let said = &text[problem.span.clone()];
        said == "[P]" || problem.message == "this box is in a heading" && said.contains("[P]")
    };
    problems.retain(|problem| !is_about_label(problem));
    let sources = sources(text, &list, &entries, &mut problems);
    let ids = sources.iter().map(|source| source.said.id.clone()).filter(|id| !id.is_empty()).collect();
    let mut known = Known::new(ids);
    let mut edges: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (task, need) in in_sections(&list, &entries, text, &mut known, &mut problems) {
        edges.entry(task).or_default().push(need);
    }
    let mut reader = Reader {
        text,
        file,
        list: &list,
        entries: &entries,
        phases: phases(text, &entries, &sources),
        groups: BTreeMap::new(),
        fields: BTreeMap::new(),
        draft: Draft { order: Order::Groups, ..Draft::default() },
        problems,
        known,
    };
    reader.refuse_templates();
    for source in &sources {
        let mut task = reader.task(source);
        task.needs.extend(edges.remove(&task.name).unwrap_or_default());
        reader.draft.tasks.push(task);
    }
    reader.independent_tests();
    let Reader { mut draft, problems, .. } = reader;
    let problem = |diagnostic| Problem { file: file.to_owned(), diagnostic };
    draft.problems.extend(problems.into_iter().map(problem));
    draft
}

/// A line that is a task.
struct Source<'l> {
    said: TaskLine,
    entry: Entry,
    /// `None`: it has no box.
    item: Option<&'l Item>,
    /// A heading or a line without a box that ends with a sign for done.
    is_signed_off: bool,
}

/// The tasks of a file: its boxes with ids. Files of other habits have headings, rows of tables or plain bullets.
fn sources<'l>(
    text: &str,
    list: &'l Checklist,
    entries: &Entries,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Source<'l>> {
    let mut sources: Vec<Source<'l>> = Vec::new();
    let (mut without_id, mut lost) = (Vec::new(), Vec::new());
    for entry in &entries.entries {
        let line = &list.lines[entry.line];
        let LineKind::Item(item) = &line.kind else { continue };
        let said = read_item(text, line, item);
        let source = |said, item| Source { said, entry: entry.clone(), item, is_signed_off: false };
        match (is_label(text, item), said.id.is_empty()) {
            (false, false) => sources.push(source(said, Some(item))),
            (false, true) => without_id.push(source(said, Some(item))),
            // `- [P] T012 …`. Without an id, as in `- [P] tasks = different files`, it explains the label.
            (true, false) if item.ordinal.is_none() => {
                lost.push(source(TaskLine { beside: true, ..said }, None));
            }
            (true, _) => {}
        }
    }
    if sources.is_empty() {
        sources = without_boxes(text, list, entries, problems);
        let inside: BTreeSet<usize> =
            sources.iter().flat_map(|source| source.entry.details.clone()).collect();
        without_id.retain(|source| !inside.contains(&source.entry.line));
    } else {
        let known: BTreeSet<String> = sources.iter().map(|source| source.said.id.clone()).collect();
        lost.retain(|source| !known.contains(&source.said.id));
        for source in lost {
            let at = list.lines[source.entry.line].text.clone();
            let told = Diagnostic::warning(at, format!("{} has lost its box", source.said.id));
            let told = told.label("read as open; Piton cannot tick it");
            problems.push(told.help("write it like `- [ ] T012 [P] …`"));
            sources.push(source);
        }
    }
    // A box without an id is a task where tasks stand. Elsewhere it is something to be looked at in the end.
    let tasks: BTreeSet<usize> =
        sources.iter().filter_map(|source| phase_of(text, entries, source.entry.section)).collect();
    let (inside, outside): (Vec<_>, Vec<_>) = without_id.into_iter().partition(|source| {
        let section = source.entry.section;
        let title = key(&text[entries.sections[section].title.clone()]).to_lowercase();
        let is_criterion = ["acceptance", "checklist", "criteria", "validation", "verification"]
            .iter()
            .any(|word| title.contains(word));
        !is_criterion && phase_of(text, entries, section).is_some_and(|phase| tasks.contains(&phase))
    });
    if let Some(first) = outside.first() {
        let message =
            format!("{} without an id outside of the phases", counted(outside.len() as u64, "item"));
        let at = list.lines[first.entry.line].text.clone();
        problems.push(Diagnostic::warning(at, message).label("read as criteria, not as tasks"));
    }
    sources.extend(inside);
    sources.arrange_by_key(|source| source.entry.line);
    sources
}

/// Whether brackets hold the label `[P]`, and are not a box.
fn is_label(text: &str, item: &Item) -> bool {
    &text[item.place.clone()] == "P"
}

/// The line of a box. Its id may stand before the box: `17. **T032**: [x] …`.
fn read_item(text: &str, line: &Line, item: &Item) -> TaskLine {
    let said = TaskLine::read(text, line.text.clone());
    let before = item.ordinal.clone().filter(|ordinal| id_at(&text[ordinal.clone()]).is_some());
    match before {
        Some(ordinal) if said.id.is_empty() => TaskLine { id: text[ordinal].to_owned(), ..said },
        _ => said,
    }
}

/// Tasks of a file that has none in boxes: headings, else rows of tables, else bullets.
fn without_boxes<'l>(
    text: &str,
    list: &'l Checklist,
    entries: &Entries,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Source<'l>> {
    let section_of =
        |nth: usize| entries.sections.partition_point(|section| section.lines.start <= nth).max(1) - 1;
    let plain = |at: Range<usize>, nth: usize, details: Vec<usize>| {
        let said = TaskLine::read(text, at.clone());
        let is_signed_off = text[at].trim_end().ends_with(['✅', '✓', '✔']);
        // A heading that is a task is not the group of what follows.
        let is_group =
            |section: &usize| TaskLine::read(text, entries.sections[*section].title.clone()).id.is_empty();
        let section = entries.around(section_of(nth)).find(is_group).unwrap_or(0);
        let entry = Entry { line: nth, section, details };
        (!said.id.is_empty()).then_some(Source { said, entry, item: None, is_signed_off })
    };
    let lines = || list.lines.iter().enumerate();
    // Headings and bullets as they stand: `T001 [P] …` looks like a box behind a number.
    let headings: Vec<(usize, Range<usize>)> =
        lines().filter_map(|(nth, line)| Some((nth, heading(text, line)?))).collect();
    let mut found: Vec<Source<'l>> = Vec::new();
    for (place, (nth, at)) in headings.iter().enumerate() {
        let end = headings.get(place + 1).map_or(list.lines.len(), |(next, _)| *next);
        found.extend(plain(at.clone(), *nth, (nth + 1..end).collect()));
    }
    if found.is_empty() {
        for (nth, line) in list.lines.iter().enumerate().filter(|(_, line)| line.kind == LineKind::Table) {
            let row = &text[line.text.clone()];
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [id, title, ..] = cells[..] else { continue };
            if id_at(id.trim_matches('*')) != Some(id.trim_matches('*').len()) {
                continue;
            }
            let start = line.text.start + (title.as_ptr() as usize - row.as_ptr() as usize);
            let said = TaskLine::read(text, start..start + title.len());
            let said = TaskLine { id: id.trim_matches('*').to_owned(), ..said };
            let entry = Entry { line: nth, section: section_of(nth), details: Vec::new() };
            found.push(Source { said, entry, item: None, is_signed_off: false });
        }
    }
    if found.is_empty() {
        let is_prose = |section: usize| {
            key(&text[entries.sections[section].title.clone()]).to_lowercase().contains("dependenc")
        };
        for (nth, line) in lines().filter(|(_, line)| line.indent < 2) {
            if let Some(at) = bullet(text, line).filter(|_| !is_prose(section_of(nth))) {
                found.extend(plain(at, nth, Vec::new()));
            }
        }
    }
    if let Some(first) = found.first() {
        let at = list.lines[first.entry.line].text.clone();
        let message =
            format!("{} of this list {} no box", counted(found.len() as u64, "task"), has(found.len()));
        let told = Diagnostic::warning(at, message).label("Piton works on them, but cannot tick them here");
        problems.push(told.help("write them like `- [ ] T001 …`"));
    }
    found
}

/// The words of a line that is a heading below the title, whatever the scanner made of it.
fn heading(text: &str, line: &Line) -> Option<Range<usize>> {
    let is_one = matches!(line.kind, LineKind::Heading(_) | LineKind::Item(_));
    let said = text[line.at.clone()].trim();
    let rest = said.trim_start_matches('#');
    let signs = said.len() - rest.len();
    let is_one = is_one && (2..=6).contains(&signs) && rest.starts_with(' ');
    let end = line.at.start + text[line.at.clone()].trim_end().len();
    is_one.then(|| end - rest.trim_start().len()..end)
}

/// The words of a line that is a bullet.
fn bullet(text: &str, line: &Line) -> Option<Range<usize>> {
    let is_one = matches!(line.kind, LineKind::Bullet | LineKind::Item(_));
    let said = text[line.at.clone()].trim();
    let rest = said.strip_prefix(['-', '*', '+']).filter(|rest| is_one && rest.starts_with(' '))?;
    let end = line.at.start + text[line.at.clone()].trim_end().len();
    Some(end - rest.trim_start().len()..end)
}

/// The section that is the phase of what stands in `section`: the innermost heading that is called one, else the
/// outermost below the title.
fn phase_of(text: &str, entries: &Entries, section: usize) -> Option<usize> {
    let around: Vec<usize> =
        entries.around(section).filter(|section| entries.sections[*section].level > 0).collect();
    let is_phase = |section: &&usize| {
        let title = key(&text[entries.sections[**section].title.clone()]).to_lowercase();
        title.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with("phase")
    };
    let outermost = || around.iter().rev().find(|section| entries.sections[**section].level > 1);
    around.iter().find(is_phase).or_else(outermost).or(around.last()).copied()
}

/// The phases of each task's section.
fn phases(text: &str, entries: &Entries, sources: &[Source<'_>]) -> BTreeMap<usize, Option<usize>> {
    let sections = sources.iter().map(|source| source.entry.section);
    sections.map(|section| (section, phase_of(text, entries, section))).into_map()
}

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
    list: &'t Checklist,
    entries: &'t Entries,
    phases: BTreeMap<usize, Option<usize>>,
    /// By phase, its group.
    groups: BTreeMap<Option<usize>, usize>,
    /// By phase, its fields.
    fields: BTreeMap<usize, Vec<(&'static str, String)>>,
    draft: Draft,
    problems: Vec<Diagnostic>,
    known: Known,
}

impl Reader<'_> {
    /// A file that nobody has filled in asks for nothing. A text that only speaks of its placeholders is no template.
    fn refuse_templates(&mut self) {
        let is_heading: fn(&LineKind) -> bool = |kind| matches!(kind, LineKind::Heading(_));
        let is_item: fn(&LineKind) -> bool = |kind| matches!(kind, LineKind::Item(_));
        for (left, is_its) in [("[FEATURE NAME]", is_heading), ("TXXX", is_item)] {
            let mut lines = self.list.lines.iter().filter(|line| is_its(&line.kind));
            let at = lines.find_map(|line| Some(line.text.start + self.text[line.text.clone()].find(left)?));
            if let Some(at) = at {
                let told = Diagnostic::error(at..at + left.len(), "this is the template of a task list");
                self.problems.push(told.label("not filled in").help("let `/speckit.tasks` write it"));
            }
        }
    }

    fn task(&mut self, source: &Source<'_>) -> DraftTask {
        let Source { said, entry, item, is_signed_off } = source;
        let rest = self.text[said.rest.clone()].trim_end_matches(['✅', '✓', '✔', ' ']);
        let plain = without_needs(rest);
        let details = entry.words(self.list, self.text);
        let title = title_of(plain.trim_end_matches("~~"));
        let words = if title.ends_with('…') { format!("{plain}\n\n{details}") } else { details };
        let words = said.waits.map_or(words.clone(), |why| format!("Before it is done: {why}.\n\n{words}"));
        let steps: Vec<BoxAt> = entry
            .steps(self.list)
            .filter(|(_, _, item)| !item.struck && !item.optional)
            .map(|(_, _, item)| BoxAt::new(item))
            .collect();
        let standing = match item {
            _ if said.dropped => Standing::Dropped,
            Some(item) => standing(item, &steps),
            None if *is_signed_off => Standing::Claimed,
            None => Standing::Open,
        };
        let heading = self.title(entry.section);
        // Whoever knows why it waits says when it is done.
        let kind = if said.waits.is_some() { Kind::Person } else { kind_of(rest) };
        let mut files = paths_of(rest, said.rest.start, &mut self.problems);
        let mut needs = needs_in(self.text, &said.rest, &mut self.known);
        for nth in &entry.details {
            let line = &self.list.lines[*nth];
            if matches!(line.kind, LineKind::Item(_) | LineKind::Bullet | LineKind::Text) {
                files.extend(paths_of(&self.text[line.text.clone()], line.text.start, &mut self.problems));
                needs.extend(needs_in(self.text, &line.text, &mut self.known));
            }
        }
        DraftTask {
            name: said.id.clone(),
            file: self.file.to_owned(),
            at: said.rest.clone(),
            title,
            words,
            around: self.around(entry.section, said.story.as_deref()),
            group: self.group(entry.section),
            needs,
            beside: said.beside,
            files,
            commands: if kind == Kind::Verify { commands_of(rest) } else { Vec::new() },
            kind,
            standing,
            priority: self.priority(entry.section),
            fails_first: fails_first(rest, &heading),
            mark: item.map(BoxAt::new),
            steps,
            ..DraftTask::default()
        }
    }

    /// The group of a section: its phase, which the next one waits for.
    fn group(&mut self, section: usize) -> usize {
        let phase = self.phases.get(&section).copied().flatten();
        if let Some(group) = self.groups.get(&phase) {
            return *group;
        }
        let title = phase.map(|phase| self.title(phase)).filter(|title| !title.is_empty());
        let group = self.draft.groups.len();
        self.draft.groups.push(Phase { title: title.unwrap_or_else(|| "Tasks".to_owned()), barrier: true });
        self.groups.insert(phase, group);
        group
    }

    fn title(&self, section: usize) -> String {
        title_of(&self.text[self.entries.sections[section].title.clone()])
    }

    /// What the phase says about itself, and the story of the task.
    fn around(&mut self, section: usize, story: Option<&str>) -> String {
        let mut said = Vec::new();
        let phase = self.phases.get(&section).copied().flatten();
        if let Some(title) = phase.map(|phase| self.title(phase)).filter(|title| !title.is_empty()) {
            let story = story.map(|story| format!(" ({story})")).unwrap_or_default();
            said.push(format!("It is part of: {title}{story}"));
        }
        said.extend(self.fields(phase).iter().map(|(_, line)| line.clone()));
        said.join("\n")
    }

    /// The fields of a phase: their names, and their lines without emphasis.
    fn fields(&mut self, phase: Option<usize>) -> &[(&'static str, String)] {
        let Some(phase) = phase else { return &[] };
        let (list, entries, text) = (self.list, self.entries, self.text);
        self.fields.entry(phase).or_insert_with(|| {
            let own = &entries.sections[phase];
            let inside = entries.sections[phase + 1..].iter().take_while(|section| section.level > own.level);
            let lines =
                std::iter::once(own).chain(inside).flat_map(|section| &list.lines[section.lines.clone()]);
            let read = |line: &Line| {
                let said = &text[line.text.clone()];
                let (name, _) = checklist::field(said).filter(|_| line.kind == LineKind::Text)?;
                let field = FIELDS.iter().find(|field| **field == name)?;
                Some((*field, said.replace("**", "")))
            };
            lines.filter_map(read).take(FIELDS.len()).collect()
        })
    }

    /// `(Priority: P2)` in the heading of a phase.
    fn priority(&self, section: usize) -> Option<u32> {
        let phase = self.phases.get(&section).copied().flatten()?;
        let title = self.title(phase).to_lowercase();
        let (_, rest) = title.split_once("priority:")?;
        let number = rest.trim_start().strip_prefix('p')?.chars().next()?.to_digit(10)?;
        Some((number + 1) * 10)
    }

    /// The independent test of a phase judges its last task.
    fn independent_tests(&mut self) {
        let phases: Vec<(Option<usize>, usize)> =
            self.groups.iter().map(|(phase, group)| (*phase, *group)).collect();
        let mut last = vec![None; self.draft.groups.len()];
        let judged =
            |(_, task): &(usize, &DraftTask)| task.kind == Kind::Work && task.standing != Standing::Dropped;
        self.draft
            .tasks
            .iter()
            .enumerate()
            .filter(judged)
            .for_each(|(nth, task)| last[task.group] = Some(nth));
        for (phase, group) in phases {
            let test = self.fields(phase).iter().find(|(name, _)| *name == "independent test");
            if let Some(((_, test), last)) = test.cloned().zip(last[group]) {
                self.draft.tasks[last].criteria.push(test);
            }
        }
    }
}

fn has(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}
