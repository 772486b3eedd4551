//! Stories of version 4, such as `docs/stories/1.2.sign-in.md`. They have no board: each file states its own status.

use std::ops::Range;

use super::one_story::{DRAFT, OneStory, kind, stage_of, standing};
use super::place::BOARD;
use super::story::Story;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::TaskId;
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask, Order, Phase, Standing, paths_of, title_of};
use crate::system::kit::problems::Problems;
use crate::system::kit::text;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, Problem, ReadPlan, Strength, System,
};

/// The folder that the stories lie in.
const PLACE: &str = "docs";
/// The word of a story that may be implemented.
const APPROVED: &str = "Approved";
/// Stories that are read to find out whether a folder is one of them.
const LOOKED_AT: usize = 5;
/// Names of one folder; more are not looked at.
const MOST: usize = 5000;
/// What every prompt ends with.
const CLOSING: &str = "Do only this story. Leave its file as it is: Piton writes how far it is.";

/// A folder of stories.
#[derive(Clone, Copy, Debug)]
pub struct Stories;

/// Its row.
pub static STORIES: Stories = Stories;

/// A file that is a story by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoryPath {
    id: TaskId,
    name: String,
    /// `1.2` is the second of the first epic.
    number: Vec<u32>,
}

/// `1.2` of `1.2.sign-in.md`, `story-1.2.md`.
fn number_of(name: &str) -> Option<Vec<u32>> {
    let stem = name.strip_suffix(".md").filter(|stem| !stem.contains('/'))?;
    let stem = stem.strip_prefix("story-").or_else(|| stem.strip_prefix("story.")).unwrap_or(stem);
    let end = stem.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(stem.len());
    let (number, rest) = stem.split_at(end);
    let is_number = rest.is_empty() || number.ends_with('.') || rest.starts_with(['-', '_', ' ']);
    let parts: Vec<u32> =
        number.trim_end_matches('.').split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    (is_number && parts.len() >= 2).then_some(parts)
}

/// The stories among these names, in the order of their numbers. Reader and writer call them the same.
pub(super) fn stories<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<StoryPath> {
    let mut found: Vec<(Vec<u32>, &str)> =
        names.into_iter().take(MOST).filter_map(|name| Some((number_of(name)?, name))).collect();
    found.sort();
    let called = |number: &[u32]| number.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    let task = |(number, _): &(Vec<u32>, &str)| DraftTask { name: called(number), ..DraftTask::default() };
    let ids = Draft { tasks: found.iter().map(task).collect(), ..Draft::default() }.ids();
    ids.into_iter()
        .zip(found)
        .map(|(id, (number, name))| StoryPath { id, name: name.to_owned(), number })
        .collect()
}

impl System for Stories {
    fn name(&self) -> &'static str {
        "bmad-v4"
    }

    fn about(&self) -> &'static str {
        "The stories of BMAD version 4, each a file"
    }

    fn plain(&self) -> Form {
        Form::Added(&STORIES)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files { usual_folder: Some(PLACE), has_companions_below: true, ..Files::default() }
    }

    /// A board beside the stories says how far they are: then the folder is one of a later version.
    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        let names = disk.names(folder);
        if names.iter().any(|name| name == BOARD) {
            return None;
        }
        let found = stories(names.iter().map(String::as_str));
        let is_story = |story: &StoryPath| {
            let bytes = disk.read(&join(folder, &story.name)).unwrap_or_default();
            let story = Story::read(&text::decode(&bytes).text);
            let is_known = story.status.as_ref().is_some_and(|status| status.stage().is_some());
            is_known && !(story.steps.is_empty() && story.criteria.is_empty())
        };
        let first = found.iter().take(LOOKED_AT).find(|story| is_story(story))?;
        Some(Claim::new(&first.name, Strength::ByName))
    }

    fn claims_file(&self, name: &str, _: &str, _: &dyn Disk) -> FileClaim {
        if number_of(name).is_some() { FileClaim::InItsFolder } else { FileClaim::No }
    }

    fn is_part(&self, name: &str) -> bool {
        number_of(name).is_some()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read(folder, given).plan(&STORIES, given))
    }

    fn companions_below(&self, _: &[u8], names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
        let names = names("");
        let found = stories(names.iter().map(String::as_str)).into_iter();
        let file = |story: StoryPath| OneStory { id: story.id, name: story.name, open: APPROVED };
        found.map(|story| Box::new(file(story)) as Box<dyn Companion>).collect()
    }
}

fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let mut draft = Draft { order: Order::All, closing: Some(CLOSING), ..Draft::default() };
    draft.name = given.name.to_owned();
    let mut drafts: Vec<(Range<usize>, String)> = Vec::new();
    for story in stories(folder.files.keys().map(String::as_str)) {
        let decoded = text::decode_with(&folder.files[&story.name], given.strictness);
        let mut found = Problems::new(given.strictness);
        decoded.problems.into_iter().for_each(|problem| found.push(problem));
        let title = format!("Epic {}", story.number[0]);
        let group = draft.groups.iter().position(|group| group.title == title).unwrap_or_else(|| {
            draft.groups.push(Phase { title, barrier: false });
            draft.groups.len() - 1
        });
        let task = task(&story, &Story::read(&decoded.text), group, &mut found);
        if task.standing == DRAFT {
            drafts.push((task.at.clone(), story.name.clone()));
        }
        draft.tasks.push(task);
        let problem = |diagnostic| Problem { file: story.name.clone(), diagnostic };
        draft.problems.extend(found.finish().into_iter().map(problem));
        draft.texts.insert(story.name, decoded.text);
    }
    if draft.tasks.is_empty() {
        // What is wrong is said of the folder.
        draft.texts.insert(given.place.to_owned(), String::new());
    }
    if let Some((at, file)) = drafts.first().cloned() {
        let message = match drafts.len() {
            1 => "1 story is a draft".to_owned(),
            more => format!("{more} stories are drafts"),
        };
        let told = Diagnostic::warning(at, message).label("left to a person");
        let told = told.help(format!("set the status to `{APPROVED}`, and Piton does it"));
        draft.problems.push(Problem { file, diagnostic: told });
    }
    draft
}

fn task(path: &StoryPath, story: &Story, group: usize, found: &mut Problems) -> DraftTask {
    let at = story.title.as_ref().map_or(0..0, |(_, at)| at.clone());
    let standing = standing(story, &at, found);
    let mut odd = Vec::new();
    let files = paths_of(&story.tasks, at.start, &mut odd);
    if standing == Standing::Open {
        let own = odd.into_iter().filter(|problem| problem.severity < Severity::Error);
        own.for_each(|problem| found.push(Diagnostic { span: at.clone(), ..problem }));
    }
    let stem = path.name.trim_end_matches(".md");
    DraftTask {
        name: path.id.to_string(),
        file: path.name.clone(),
        at: at.clone(),
        title: title_of(story.title.as_ref().map_or(stem, |(title, _)| title)),
        words: story.words.clone(),
        kind: kind(story, stage_of(story), &at, &mut |told| found.push(told)),
        group,
        files,
        criteria: story.criteria.clone(),
        commands: story.commands.clone(),
        standing,
        ..DraftTask::default()
    }
}
