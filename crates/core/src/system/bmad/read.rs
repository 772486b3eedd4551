//! A board with its stories as a plan of Piton's: each story is a task, each epic a group.

use std::ops::Range;

use super::board::{Board, Entry, Stage};
use super::one_story::kind;
use super::place::{self, key_of, root_of};
use super::story::Story;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::RepoPath;
use crate::system::kit::draft::{Draft, DraftTask, Order, Phase, Standing, paths_of, title_of};
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::{Folder, Given, Problem};
use crate::view::counted;

/// What every prompt ends with.
const CLOSING: &str =
    "Do only this story. Leave its file and the board as they are: Piton writes how far it is.";

pub(super) fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    let mut found = Problems::new(given.strictness);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let mut draft = Draft { order: Order::All, closing: Some(CLOSING), ..Draft::default() };
    match Board::read(&decoded.text) {
        Some(board) => {
            draft.name = board.project.clone().unwrap_or_else(|| "sprint".to_owned());
            let titles = titles(folder, given.place);
            let title = |epic: &super::board::Epic| {
                let number = epic.key.trim_start_matches("epic-");
                let named = titles.iter().find(|(known, _)| known == number).map(|(_, title)| title.as_str());
                named.map_or_else(|| format!("Epic {number}"), |title| format!("Epic {number}: {title}"))
            };
            draft.groups =
                board.epics.iter().map(|epic| Phase { title: title(epic), barrier: false }).collect();
            if draft.groups.is_empty() {
                draft.groups.push(Phase { title: draft.name.clone(), barrier: false });
            }
            let known = |file: &String| folder.files.contains_key(file);
            draft.context = place::about_project(given.place).into_iter().filter(known).collect();
            stories(&board, folder, given, &mut draft, &mut found);
        }
        None if is_read => {
            let told = Diagnostic::error(0..0, "this is not a board of BMAD");
            found.push(told.label("it has no `development_status`"));
        }
        None => {}
    }
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems.extend(found.finish().into_iter().map(problem));
    draft.texts.insert(given.place.to_owned(), decoded.text);
    draft
}

/// `## Epic 1: Title`, where the epics are written down, by their numbers.
fn titles(folder: &Folder, board: &str) -> Vec<(String, String)> {
    let files = place::about_project(board).into_iter().filter(|file| file.ends_with("epics.md"));
    let Some(bytes) = files.filter_map(|file| folder.files.get(&file)).next() else { return Vec::new() };
    let said = text::decode(bytes).text;
    let title = |line: &str| {
        let (number, title) = line.trim_start_matches('#').trim().strip_prefix("Epic ")?.split_once(':')?;
        line.starts_with('#').then(|| (number.trim().to_owned(), title.trim().to_owned()))
    };
    said.lines().filter_map(title).collect()
}

fn stories(board: &Board, folder: &Folder, given: &Given<'_>, draft: &mut Draft, found: &mut Problems) {
    let root = root_of(given.place);
    let is_below =
        |file: &&String| file.strip_prefix(root).is_some_and(|rest| root.is_empty() || rest.starts_with('/'));
    let files: Vec<&String> = folder.files.keys().filter(is_below).collect();
    let (mut backlog, mut missing) = (Vec::new(), Vec::new());
    let mut differing: Vec<(Range<usize>, String)> = Vec::new();
    for entry in &board.stories {
        let stage = entry.stage();
        if stage.is_none() {
            let message = format!("`{}` is not a status of BMAD", cut(&entry.status.text));
            let at = if entry.status.at.is_empty() { entry.at.clone() } else { entry.status.at.clone() };
            found.repair(at, message, "Piton does not take this story");
        }
        let file = files.iter().find(|file| key_of(file) == Some(&entry.key));
        let Some(file) = file.filter(|_| stage != Some(Stage::Backlog)) else {
            match stage {
                Some(Stage::Backlog) => backlog.push(entry.at.clone()),
                Some(Stage::Ready) => missing.push(entry.at.clone()),
                _ => {}
            }
            // What is over, or not to be done, needs no file.
            continue;
        };
        let decoded = text::decode_with(&folder.files[*file], given.strictness);
        let problem = |diagnostic| Problem { file: (*file).clone(), diagnostic };
        draft.problems.extend(decoded.problems.into_iter().map(problem));
        let story = Story::read(&decoded.text);
        let own = story.status.as_ref().map(|status| (status.word.text.clone(), status.stage()));
        if let Some((word, own)) = own.filter(|(_, own)| stage.is_some() && *own != stage) {
            let is_same = own.zip(stage).is_some_and(|(own, stage)| own.is_over() && stage.is_over());
            if !is_same {
                differing.push((
                    entry.status.at.clone(),
                    format!("the file of {} says `{}`", entry.key, cut(&word)),
                ));
            }
        }
        let task = task(entry, &story, file, stage, draft);
        draft.tasks.push(task);
        draft.texts.insert((*file).clone(), decoded.text);
    }
    tell(
        found,
        &backlog,
        "story is in the backlog",
        "stories are in the backlog",
        "not a task yet: its story has no file",
    );
    tell(found, &missing, "story has no file", "stories have no file", "Piton cannot work on it");
    for (at, message) in differing {
        found.repair(at, message, "the board decides");
    }
    if let Some(first) = board.odd.first() {
        let count = counted(board.odd.len() as u64, "line");
        found.push(
            Diagnostic::warning(first.clone(), format!("{count} of the board not understood"))
                .label("left as it is"),
        );
    }
}

pub(super) fn tell(found: &mut Problems, places: &[Range<usize>], one: &str, many: &str, label: &str) {
    let Some(first) = places.first() else { return };
    let message = match places.len() {
        1 => format!("1 {one}"),
        more => format!("{more} {many}"),
    };
    found.push(Diagnostic::warning(first.clone(), message).label(label));
}

fn task(entry: &Entry, story: &Story, file: &str, stage: Option<Stage>, draft: &mut Draft) -> DraftTask {
    let mut odd = Vec::new();
    let at = story.title.as_ref().map_or(0..0, |(_, at)| at.clone());
    let files = paths_of(&story.tasks, at.start, &mut odd);
    let unknown = Standing::NotOurs("the board has a word for it that Piton does not know");
    let standing = stage.map_or(unknown, Stage::standing);
    let mut tell =
        |diagnostic: Diagnostic| draft.problems.push(Problem { file: file.to_owned(), diagnostic });
    let kind = kind(story, stage, &at, &mut tell);
    if standing == Standing::Open {
        odd.into_iter().for_each(|problem| tell(Diagnostic { span: at.clone(), ..problem }));
    }
    DraftTask {
        name: entry.id.to_string(),
        file: file.to_owned(),
        at: at.clone(),
        title: title_of(story.title.as_ref().map_or(&entry.key, |(title, _)| title)),
        words: story.words.clone(),
        around: around(story),
        group: entry.epic.unwrap_or(0),
        files,
        criteria: story.criteria.clone(),
        commands: story.commands.clone(),
        kind,
        standing,
        ..DraftTask::default()
    }
}

/// The files that a story says matter, for its prompt.
pub(super) fn around(story: &Story) -> String {
    let read: Vec<String> =
        story.context.iter().filter_map(|path| path_of(path)).map(|path| format!("- {path}")).collect();
    match read.len() {
        0 => String::new(),
        _ => format!("The story says that these files matter:\n{}", read.join("\n")),
    }
}

/// A path of the project, without the name that BMAD has for its root.
fn path_of(path: &str) -> Option<String> {
    let bare = path.trim_start_matches("{project-root}/").trim_start_matches("./");
    RepoPath::new(bare).ok().map(|path| path.to_string())
}
