//! A change as a plan: each section of its list is a group, each box of two numbers a task.

use std::collections::BTreeMap;

use super::deltas::scenarios;
use super::place::Change;
use crate::diagnostic::Diagnostic;
use crate::system::kit::checklist::{self, Checklist};
use crate::system::kit::draft::{
    Draft, DraftTask, Kind, Phase, Standing, commands_of, fails_first, kind_of, paths_of, title_of,
};
use crate::system::kit::numbered::{Depth, NumberedBox, NumberedList, Part, Surroundings, brief, lead};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// A longer number is a part of its task.
pub(super) const DEPTH: Depth = Depth::Two;
/// Scenarios that every agent is shown. The specs have all of them.
const SHOWN: usize = 30;
/// Characters of such a scenario.
const LONGEST: usize = 400;
/// In a list with more tasks than these only the last one has them.
const MANY: usize = 2000;

pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let mut found = Problems::new(given.strictness);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let text = decoded.text;
    let list = checklist::scan(&text);
    list.problems.iter().for_each(|problem| found.push(problem.clone()));
    let boxes = NumberedList::read(&list, &text, DEPTH, &mut found);
    let change = Change::at(given.place);
    let mut draft =
        Draft { name: change.map_or(given.name, |change| change.id).to_owned(), ..Draft::default() };
    let wanted = change.map(|change| beside(&change, folder, &mut draft)).unwrap_or_default();
    if let Some(change) = change.filter(|change| change.is_archived) {
        let told = Diagnostic::error(0..0, "this change is archived: its specs count as reached");
        let told = told.label("not a plan any more");
        found.push(
            told.help(format!(
                "to work on it again, move it to openspec/changes as `{}`",
                undated(change.id)
            )),
        );
    }
    misplaced(&boxes, &mut found);
    tasks(&mut draft, &boxes, (&list, &text), given, &wanted, &mut found);
    let problems = found.finish().into_iter();
    draft.problems.extend(problems.map(|diagnostic| Problem { file: given.place.to_owned(), diagnostic }));
    draft.texts.insert(given.place.to_owned(), text);
    draft
}

/// What agents should read, and what is odd about the files beside the list. Returns what the whole change is to do.
fn beside(change: &Change<'_>, folder: &Folder, draft: &mut Draft) -> Vec<String> {
    let mut wanted = Vec::new();
    let has = |file: &String| folder.files.contains_key(file);
    draft.context.extend(["proposal.md", "design.md"].map(|name| change.file(name)).into_iter().filter(has));
    let mut others: BTreeMap<&str, &str> = BTreeMap::new();
    for file in folder.files.keys() {
        others.extend(change.other(file).map(|(id, capability)| (capability, id)));
    }
    for (file, bytes) in &folder.files {
        let Some(capability) = change.capability(file) else { continue };
        let decoded = text::decode(bytes);
        draft.context.push(file.clone());
        draft.context.extend(Some(change.standing(capability)).filter(has));
        wanted.extend(scenarios(&decoded.text));
        if let Some(other) = others.get(capability) {
            let message = format!("the change `{other}` is about `{capability}`, too");
            let told = Diagnostic::warning(0..0, message).label("what is done last may undo the other");
            draft.problems.push(Problem { file: file.clone(), diagnostic: told });
            draft.texts.insert(file.clone(), decoded.text);
        }
    }
    draft.context.extend(change.of_project().into_iter().filter(has));
    let settings = change.file(".openspec.yaml");
    if let Some(bytes) = folder.files.get(&settings) {
        let text = text::decode(bytes).text;
        if let Some(problem) = schema(&text) {
            draft.problems.push(Problem { file: settings.clone(), diagnostic: problem });
            draft.texts.insert(settings, text);
        }
    }
    wanted
}

/// A schema of the project's own may keep its tasks elsewhere.
fn schema(text: &str) -> Option<Diagnostic> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let Some(value) = line.strip_prefix("schema:") else { continue };
        let name = value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if name.is_empty() || name == "spec-driven" {
            return None;
        }
        let message = format!("the schema `{}` may keep tasks in other files, too", cut(name));
        let span = at..at + line.trim_end().len();
        return Some(Diagnostic::warning(span, message).label("only tasks.md is read"));
    }
    None
}

/// `2.4` below `## 3. Name`: the place says which section it belongs to. One warning for all of them.
fn misplaced(boxes: &NumberedList, found: &mut Problems) {
    let chapter = |number: &str| number.split('.').next().unwrap_or_default().to_lowercase();
    let is_misplaced = |nth: usize, one: &NumberedBox| {
        let heading =
            boxes.headings(nth).find_map(|section| lead(&section.title)).map(|lead| chapter(lead.number));
        one.number.contains('.') && heading.is_some_and(|heading| heading != chapter(&one.number))
    };
    let odd: Vec<&NumberedBox> =
        boxes.tasks().filter(|(nth, _, one)| is_misplaced(*nth, one)).map(|(_, _, one)| one).collect();
    if let Some(first) = odd.first() {
        let message = format!("{} below the heading of another number", stand(odd.len()));
        let told = Diagnostic::warning(first.at.clone(), message);
        found.push(told.label(format!("`{}` stays where it is; this is the first", cut(&first.number))));
    }
}

fn stand(count: usize) -> String {
    format!("{} {}", counted(count as u64, "task"), if count == 1 { "stands" } else { "stand" })
}

fn tasks(
    draft: &mut Draft,
    boxes: &NumberedList,
    (list, text): (&Checklist, &str),
    given: &Given<'_>,
    wanted: &[String],
    found: &mut Problems,
) {
    let done = boxes.done();
    let mut surroundings = Surroundings::new(boxes, list, text);
    let mut groups: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for (nth, id, one) in boxes.tasks() {
        let standing = boxes.standing(nth, &done);
        let phases = &mut draft.groups;
        let mut new = || {
            let title = one.section.map_or(&*draft.name, |section| &boxes.sections[section].title);
            let title = lead(title).map_or(title, |lead| lead.rest);
            phases.push(Phase { title: title.to_owned(), barrier: false });
            phases.len() - 1
        };
        let is_left_out = standing == Standing::Dropped;
        let group = if is_left_out { 0 } else { *groups.entry(one.section).or_insert_with(&mut new) };
        let words = one.words(list, text);
        let whole = format!("{}\n{words}", one.title);
        let title = title_of(&one.title);
        // What a title has no room for is said below it.
        let words = if title.ends_with('…') { whole.clone() } else { words };
        let heading = boxes.headings(nth).next().map_or("", |section| &section.title);
        let mut odd = Vec::new();
        let files = paths_of(&text[one.at.clone()], one.at.start, &mut odd);
        let files = files.into_iter().chain(paths_of(&words, one.at.start, &mut Vec::new()));
        let files = files.collect();
        odd.into_iter().for_each(|problem| found.push(problem));
        let kind = kind_of(&one.title);
        draft.tasks.push(DraftTask {
            name: id.to_string(),
            file: given.place.to_owned(),
            at: one.at.clone(),
            title,
            around: surroundings.of(nth),
            group,
            files,
            commands: proofs(&whole, kind),
            kind,
            standing,
            fails_first: fails_first(&whole, heading),
            words,
            ..DraftTask::default()
        });
    }
    let own = boxes.boxes.iter().filter(|one| one.part == Part::Criterion && !one.dropped);
    let wanted: Vec<String> = wanted.iter().cloned().chain(own.map(|one| one.title.clone())).collect();
    meet(draft, &wanted);
}

/// The commands that a task is proven by: those behind a word for that, or that have to pass.
fn proofs(text: &str, kind: Kind) -> Vec<String> {
    const WORDS: [&str; 10] =
        ["run", "runs", "rerun", "execute", "verify", "verified", "validate", "check", "confirm", "ensure"];
    if kind == Kind::Verify {
        return commands_of(text);
    }
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        let plain = line.to_lowercase();
        // Small letters may take more or fewer bytes than large ones.
        let is_same = plain.len() == line.len();
        let behind = plain.match_indices(|c: char| c.is_alphanumeric()).map(|(at, _)| at).find(|at| {
            let starts = !plain[..*at].ends_with(|c: char| c.is_alphanumeric());
            let word = || plain[*at..].split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            starts && WORDS.contains(&word())
        });
        let passes = ["pass", "succeed", "is green", "are green"].iter().any(|word| plain.contains(word));
        let said = match behind.filter(|_| is_same && !passes) {
            Some(at) => &line[at..],
            None if passes => line,
            None => continue,
        };
        found.extend(commands_of(said));
    }
    found.dedup();
    found
}

/// What the whole change is to do: the last task is judged by it, and the others know of it.
fn meet(draft: &mut Draft, wanted: &[String]) {
    if wanted.is_empty() {
        return;
    }
    let last =
        draft.tasks.iter().rposition(|task| task.kind == Kind::Work && task.standing != Standing::Dropped);
    let mut shown: Vec<String> =
        wanted.iter().take(SHOWN).map(|line| format!("- {}", brief(line, LONGEST))).collect();
    if wanted.len() > SHOWN {
        shown.push(format!("- and {} more, in the specs of the change", wanted.len() - SHOWN));
    }
    let shown =
        format!("When the whole change is done, this holds. This task does its part:\n{}", shown.join("\n"));
    let is_short = draft.tasks.len() <= MANY;
    for (nth, task) in draft.tasks.iter_mut().enumerate() {
        if Some(nth) == last {
            task.criteria = wanted.to_vec();
        } else if is_short {
            task.around = format!("{}\n\n{shown}", task.around).trim().to_owned();
        }
    }
}

/// `2026-01-31-add-it` is `add-it`.
fn undated(id: &str) -> &str {
    id.get("2026-01-31-".len()..).filter(|_| id.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(id)
}
