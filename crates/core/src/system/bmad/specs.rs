//! The stories of a spec, `stories.yaml` beside `SPEC.md`: the list gives their order, and each story's own file in `stories`
//! says how far it is. A story that has no file yet is what the list says about it.

use std::collections::HashSet;
use std::ops::Range;

use super::board::Stage;
use super::one_story::{DRAFT, OneStory, kind, stage_of, standing};
use super::place::{self, FOLDER, SPEC, key_of, root_of};
use super::read::{around, tell};
use super::spec_list::{ListedStory, Part, SpecList};
use super::story::Story;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{Group, TaskId};
use crate::system::finding::join;
use crate::system::kit::draft::{Draft, DraftTask, Kind, Need, Order, Standing, paths_of};
use crate::system::kit::frontmatter::Fields;
use crate::system::kit::problems::{Problems, cut};
use crate::system::kit::text;
use crate::system::state_files::Companion;
use crate::system::{
    Claim, Detects, Disk, FileClaim, Files, Folder, Form, Given, Policy, Problem, ReadPlan, Strength, System,
};
use crate::view::counted;

const LIST: &str = "stories.yaml";
/// The folder beside it that has the files of the stories.
const STORIES: &str = "stories";
/// The status of a story that may be implemented.
const READY: &str = "ready-for-dev";
/// Names of one folder; more are not looked at.
const MOST: usize = 5000;
/// What every prompt ends with.
const CLOSING: &str =
    "Do only this story. Leave its file and the list of the stories as they are: Piton writes how far it is.";

/// A list of stories.
#[derive(Clone, Copy, Debug)]
pub struct Specs;

/// Its row.
pub static SPECS: Specs = Specs;

impl System for Specs {
    fn name(&self) -> &'static str {
        "bmad-stories"
    }

    fn about(&self) -> &'static str {
        "The stories.yaml of a spec of BMAD, with the files of its stories"
    }

    fn plain(&self) -> Form {
        Form::Added(&SPECS)
    }

    fn policy(&self) -> Policy {
        Policy { detects: Detects::Always, ..Policy::USUAL }
    }

    fn files(&self) -> Files {
        Files {
            plan_is_file: true,
            usual_folder: Some(FOLDER),
            has_companions_below: true,
            ..Files::default()
        }
    }

    /// A task may not make a file for a story that has none: it would be another task then.
    fn owned(&self, _: &[Group]) -> Vec<String> {
        vec![STORIES.to_owned()]
    }

    fn claims_folder(&self, folder: &str, disk: &dyn Disk) -> Option<Claim> {
        is_list(&join(folder, LIST), disk).then(|| Claim::new(LIST, Strength::ByName))
    }

    fn claims_file(&self, name: &str, path: &str, disk: &dyn Disk) -> FileClaim {
        if name == LIST && is_list(path, disk) { FileClaim::Yes } else { FileClaim::No }
    }

    fn read_along(&self, plan: &str, disk: &dyn Disk) -> Vec<String> {
        if plan.rsplit('/').next() != Some(LIST) {
            return Vec::new();
        }
        let spec = join(root_of(plan), SPEC);
        let said = text::decode(&disk.read(&spec).unwrap_or_default()).text;
        let companions = place::companions_of(plan, &said).into_iter().filter_map(|(_, path)| path);
        let stories = join(root_of(plan), STORIES);
        let names = disk.names(&stories).into_iter().filter(|name| key_of(name).is_some()).take(MOST);
        let own = names.map(|name| join(&stories, &name));
        [spec].into_iter().chain(companions).chain(own).chain(place::about_spec(plan)).collect()
    }

    fn read(&self, folder: &Folder, given: &Given<'_>) -> Box<dyn ReadPlan> {
        Box::new(read(folder, given).plan(&SPECS, given))
    }

    fn companions_below(&self, plan: &[u8], names: &dyn Fn(&str) -> Vec<String>) -> Vec<Box<dyn Companion>> {
        let Some(list) = SpecList::read(&text::decode(plan).text) else { return Vec::new() };
        let names: Vec<String> = names(STORIES).into_iter().take(MOST).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let file = |(id, files): (TaskId, Vec<&str>)| match files[..] {
            [name] => Some(OneStory { id, name: join(STORIES, name), open: READY }),
            _ => None,
        };
        let found = list.ids().into_iter().zip(list.files(&names)).filter_map(file);
        found.map(|story| Box::new(story) as Box<dyn Companion>).collect()
    }
}

/// Other tools have files of this name, too.
fn is_list(path: &str, disk: &dyn Disk) -> bool {
    let bytes = disk.read(path).unwrap_or_default();
    let list = SpecList::read(&text::decode(&bytes).text);
    list.is_some_and(|list| list.is_certain || disk.is_file(&join(root_of(path), SPEC)))
}

fn read(folder: &Folder, given: &Given<'_>) -> Draft {
    let bytes = folder.files.get(given.place).map(Vec::as_slice).unwrap_or_default();
    let decoded = text::decode_with(bytes, given.strictness);
    let is_read = decoded.problems.iter().all(|problem| problem.severity < Severity::Error);
    let mut found = Problems::new(given.strictness);
    decoded.problems.into_iter().for_each(|problem| found.push(problem));
    let root = root_of(given.place);
    let name = root.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("stories").to_owned();
    let mut draft = Draft { name, order: Order::All, closing: Some(CLOSING), ..Draft::default() };
    match SpecList::read(&decoded.text) {
        Some(list) => {
            context(folder, given, &mut draft);
            tell_about_list(&list, &mut found);
            Reader { list: &list, folder, given, draft: &mut draft, found: &mut found }.read();
        }
        None if is_read => {
            let told = Diagnostic::error(0..0, "this is not a list of stories of BMAD");
            found.push(told.label("it has no item with `id` and `title`"));
        }
        None => {}
    }
    let problem = |diagnostic| Problem { file: given.place.to_owned(), diagnostic };
    draft.problems.extend(found.finish().into_iter().map(problem));
    draft.texts.insert(given.place.to_owned(), decoded.text);
    draft
}

/// What agents read first: the spec, its companions, and what is about the project.
fn context(folder: &Folder, given: &Given<'_>, draft: &mut Draft) {
    let spec = join(root_of(given.place), SPEC);
    if let Some(bytes) = folder.files.get(&spec) {
        let said = text::decode(bytes).text;
        draft.context.push(spec.clone());
        for (value, path) in place::companions_of(given.place, &said) {
            match path.filter(|path| folder.files.contains_key(path)) {
                Some(path) if !draft.context.contains(&path) => draft.context.push(path),
                Some(_) => {}
                None => {
                    let message =
                        format!("the companion `{}` was not found in the project", cut(&value.text));
                    let told = Diagnostic::warning(value.at, message).label("agents are not told to read it");
                    draft.problems.push(Problem { file: spec.clone(), diagnostic: told });
                }
            }
        }
        draft.texts.insert(spec, said);
    }
    let about = place::about_spec(given.place).into_iter().filter(|file| folder.files.contains_key(file));
    let about: Vec<String> = about.filter(|file| !draft.context.contains(file)).collect();
    draft.context.extend(about);
}

/// What of the list Piton does not use.
fn tell_about_list(list: &SpecList, found: &mut Problems) {
    if let Some(first) = list.odd.first() {
        let lines = counted(list.odd.len() as u64, "line");
        let told = Diagnostic::warning(first.clone(), format!("{lines} of the list not understood"));
        found.push(told.label("this is the first"));
    }
    if let Some((_, at)) = list.unused.first() {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in &list.unused {
            let name = format!("`{}`", cut(name));
            if !names.contains(&name) && names.len() < 10 {
                names.push(name);
            }
        }
        let told = Diagnostic::warning(at.clone(), format!("Piton does not read {}", names.join(", ")));
        found.push(told.label("agents do not see what it says"));
    }
    for at in list.stories.iter().filter_map(|story| story.status.clone()) {
        found.repair(at, "this list has no statuses", "the story's own file says how far it is");
    }
    let mut known = HashSet::new();
    for story in list.stories.iter().filter(|story| !known.insert(story.id.to_lowercase())) {
        let message = format!("the id `{}` was used before", cut(&story.id));
        found.repair(story.at.clone(), message, "its files are taken for those of the first such story");
    }
    for story in list.stories.iter().filter(|story| story.is_unnamed) {
        found.repair(story.at.clone(), "this story has no id", format!("called `{}` here", cut(&story.id)));
    }
    for (story, other) in list.nested() {
        let message = format!("`{}` begins with the id `{}`", cut(&story.id), cut(other));
        found.repair(story.at.clone(), message, "BMAD cannot tell their files apart");
    }
}

struct Reader<'a, 'g> {
    list: &'a SpecList,
    folder: &'a Folder,
    given: &'a Given<'g>,
    draft: &'a mut Draft,
    found: &'a mut Problems,
}

impl Reader<'_, '_> {
    fn read(&mut self) {
        let list = self.list;
        let place = join(&join(root_of(self.given.place), STORIES), "");
        let own = self.folder.files.keys().filter_map(|name| name.strip_prefix(&place));
        let names: Vec<&str> = own.filter(|name| !name.contains('/')).take(MOST).collect();
        let files = list.files(&names);
        let (mut drafts, mut blocked, mut unwritten, mut silent) = (vec![], vec![], vec![], vec![]);
        // What the next story waits for besides the story before it.
        let mut held: Option<String> = None;
        for (story, files) in list.stories.iter().zip(files) {
            let (task, stage) = match files[..] {
                [] => {
                    let places = if story.description.is_empty() { &mut silent } else { &mut unwritten };
                    places.push(story.at.clone());
                    (self.unwritten(story), None)
                }
                [name] => self.written(story, &join(&place, name)),
                _ => {
                    let message = format!("{} files could be that of story {}", files.len(), cut(&story.id));
                    self.found.repair(story.at.clone(), message, "Piton does not take this story");
                    let standing = Standing::NotOurs("it has several files");
                    (DraftTask { standing, ..self.unwritten(story) }, None)
                }
            };
            match task.standing {
                DRAFT => drafts.push(story.at.clone()),
                _ if stage == Some(Stage::Blocked) => blocked.push(story.at.clone()),
                _ => {}
            }
            held = self.put(story, task, stage, held);
        }
        let waits = "left to a person, and the stories after it wait";
        tell(self.found, &drafts, "story is a draft", "stories are drafts", waits);
        tell(self.found, &blocked, "story is blocked", "stories are blocked", waits);
        let unseen = "Piton does what the list says; BMAD does not see when it is completed";
        tell(self.found, &silent, "story says nothing", "stories say nothing", waits);
        tell(self.found, &unwritten, "story has no file", "stories have no file", unseen);
    }

    /// A story, and what a person looks at before it and after it. What comes back is what the next story waits for.
    fn put(
        &mut self,
        story: &ListedStory,
        mut task: DraftTask,
        stage: Option<Stage>,
        held: Option<String>,
    ) -> Option<String> {
        let is_free = self.given.config.policy.order == Some(Order::Free);
        let need = |name: &String| Need { name: name.clone(), at: story.at.clone() };
        let person = |part: Part, at: &Range<usize>, words: &str, is_over: bool| DraftTask {
            file: self.given.place.to_owned(),
            at: at.clone(),
            words: words.to_owned(),
            kind: Kind::Person,
            standing: match (&task.standing, is_over) {
                (Standing::Dropped, _) => Standing::Dropped,
                (_, true) => Standing::Claimed,
                (_, false) => Standing::Open,
            },
            ..story.named(part)
        };
        let begun = matches!(stage, Some(Stage::InProgress | Stage::Review | Stage::Done));
        let look =
            "A person looks at the plan of this story before an agent implements it (`spec_checkpoint`).";
        let spec = story.spec_checkpoint.as_ref().map(|at| person(Part::Spec, at, look, begun));
        let look = "A person looks at what was made before the next story begins (`done_checkpoint`).";
        let is_done = stage == Some(Stage::Done);
        let done = story.done_checkpoint.as_ref().map(|at| person(Part::Done, at, look, is_done));
        task.needs.extend(story.needs.iter().map(|(name, at)| Need { name: name.clone(), at: at.clone() }));
        task.needs.extend(held.iter().filter(|_| !is_free).map(need));
        task.needs.extend(spec.iter().map(|spec| need(&spec.name)));
        let is_held = task.standing.why_not_ours().is_some() || task.kind == Kind::Person;
        let done = done.map(|done| DraftTask { needs: vec![need(&task.name)], ..done });
        let spec = spec
            .map(|spec| DraftTask { needs: held.iter().filter(|_| !is_free).map(need).collect(), ..spec });
        let last = match (&done, is_held) {
            (Some(done), _) if done.standing != Standing::Dropped => Some(done.name.clone()),
            (_, true) => Some(task.name.clone()),
            _ => held.filter(|_| task.standing == Standing::Dropped),
        };
        self.draft.tasks.extend(spec.into_iter().chain([task]).chain(done));
        last
    }

    /// A story that the list alone describes.
    fn unwritten(&self, story: &ListedStory) -> DraftTask {
        DraftTask {
            file: self.given.place.to_owned(),
            words: story.description.clone(),
            around: guidance(story),
            kind: if story.description.is_empty() { Kind::Person } else { Kind::Work },
            ..story.named(Part::Story)
        }
    }

    fn written(&mut self, listed: &ListedStory, file: &str) -> (DraftTask, Option<Stage>) {
        let bytes = self.folder.files.get(file).map(Vec::as_slice).unwrap_or_default();
        let decoded = text::decode_with(bytes, self.given.strictness);
        let mut found = Problems::new(self.given.strictness);
        decoded.problems.into_iter().for_each(|problem| found.push(problem));
        let story = Story::read(&decoded.text);
        let front = || Fields::of_front(&decoded.text).0.get("title").map(|field| field.at.clone());
        let at = story.title.as_ref().map(|(_, at)| at.clone()).or_else(front).unwrap_or(0..0);
        let standing = standing(&story, &at, &mut found);
        let mut odd = Vec::new();
        let files = paths_of(&story.tasks, at.start, &mut odd);
        if standing == Standing::Open {
            let own = odd.into_iter().filter(|problem| problem.severity < Severity::Error);
            own.for_each(|problem| found.push(Diagnostic { span: at.clone(), ..problem }));
        }
        let task = DraftTask {
            file: file.to_owned(),
            at: at.clone(),
            words: story.words.clone(),
            around: [guidance(listed), around(&story)].join("\n\n").trim().to_owned(),
            kind: kind(&story, stage_of(&story), &at, &mut |told| found.push(told)),
            files,
            criteria: story.criteria.clone(),
            commands: story.commands.clone(),
            standing,
            ..listed.named(Part::Story)
        };
        let problem = |diagnostic| Problem { file: file.to_owned(), diagnostic };
        self.draft.problems.extend(found.finish().into_iter().map(problem));
        self.draft.texts.insert(file.to_owned(), decoded.text);
        (task, story.status.and_then(|status| status.stage()))
    }
}

/// The instructions of the planner for a story, word for word.
fn guidance(story: &ListedStory) -> String {
    match story.guidance.is_empty() {
        true => String::new(),
        false => format!("The planner's instructions for this story:\n{}", story.guidance),
    }
}
