//! The other lists of a master list: their ids may be waited for, and their boxes say how far they are where no run does.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::Path;

use super::state::{self, TaskWord};
use super::todolist::Todolist;
use super::{MASTER, is_list, stem};
use crate::plan::{Outside, RepoPath, TaskId};
use crate::system::Elsewhere;
use crate::system::finding::join;
use crate::system::kit::checklist;
use crate::system::kit::links::{self, Linked, Named, Others, Referent, numbered};
use crate::system::kit::problems::Problems;
use crate::system::kit::text;
use crate::system::{Disk, file_of};

/// The other lists of the master list that names this one, by their real paths. If none does, those next to it.
pub(super) fn beside(list: &str, root: &str, disk: &dyn Disk) -> Vec<String> {
    let parent = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let Some(folder) = parent(list) else { return Vec::new() };
    let is_inside = |above: &String| *above == root || above.starts_with(&join(root, ""));
    let masters = std::iter::successors(Some(folder.clone()), |folder| parent(folder)).take_while(is_inside);
    let named = masters
        .map(|above| lists_of(&join(&above, MASTER), disk))
        .find(|lists| lists.iter().any(|named| named == list));
    let lists = named.unwrap_or_else(|| {
        let lists = disk.names(&folder).into_iter().filter(|name| is_list(name));
        lists.map(|name| join(&folder, &name)).filter(|list| disk.is_file(list)).collect()
    });
    lists.into_iter().filter(|other| other != list).collect()
}

/// The real paths of the lists that a master list names, in its order.
fn lists_of(master: &str, disk: &dyn Disk) -> Vec<String> {
    let Some(bytes) = disk.read(master) else { return Vec::new() };
    let read = super::master::read(&text::decode(&bytes).text);
    let named = read.entries.iter().filter_map(|entry| file_of(master, entry.list.as_ref()?.as_str(), disk));
    named.filter_map(|list| disk.real(&list)).collect()
}

/// Another list, as far as those who wait for its tasks have to know it.
#[derive(Clone, Debug, Default)]
pub struct Sibling {
    /// From the root of the project.
    pub list: String,
    pub tasks: Vec<SiblingTask>,
    ids: HashMap<String, usize>,
    ambiguous: HashSet<String>,
    stories: HashMap<String, Vec<usize>>,
}

/// One task of another list.
#[derive(Clone, Debug)]
pub struct SiblingTask {
    pub id: TaskId,
    /// Its box and its steps are ticked.
    pub done: bool,
    pub files: Vec<RepoPath>,
}

impl Sibling {
    /// Read a list. What is wrong with it is not reported here, but where it is read as a plan.
    pub fn read(list: &str, bytes: &[u8]) -> Sibling {
        let text = text::decode(bytes).text;
        let todolist = Todolist::read(&checklist::scan(&text), &text, &mut Problems::default());
        let mut sibling = Sibling { list: list.to_owned(), ..Sibling::default() };
        sibling.ambiguous.clone_from(&todolist.ambiguous);
        for (nth, task) in todolist.tasks.iter().enumerate() {
            sibling.ids.insert(task.id.folded(), nth);
            if let Some(story) = task.story {
                let id = todolist.stories[story].story.id.to_lowercase();
                sibling.stories.entry(id).or_default().push(nth);
            }
            let files = task.files.iter().flatten().map(|said| said.value.clone()).collect();
            sibling.tasks.push(SiblingTask { id: task.id.clone(), done: task.is_done(), files });
        }
        sibling
    }

    /// Whether a word names this list: by its path, its file, or what it is about.
    fn is_called(&self, word: &str) -> bool {
        let file = self.list.rsplit('/').next().unwrap_or(&self.list);
        [self.list.as_str(), file, stem(&self.list)].iter().any(|name| name.eq_ignore_ascii_case(word))
    }

    fn need(&self, nth: usize) -> Outside {
        Outside { list: self.list.clone(), task: self.tasks[nth].id.clone() }
    }
}

/// The tasks of a list that those who wait for them need not wait for any more. As a run of it would take it over: what
/// is called done counts if the files that it names are there.
pub(super) fn done(other: &Elsewhere<'_>) -> Vec<TaskId> {
    let said = other.state.map(|state| said_done(state, other.plan, other.root)).unwrap_or_default();
    let tasks = Sibling::read(other.plan, other.bytes).tasks.into_iter();
    let is_done = |task: &SiblingTask| {
        (task.done || said.contains(&task.id)) && task.files.iter().all(|file| (other.is_there)(file))
    };
    tasks.filter(is_done).map(|task| task.id).collect()
}

/// What another system's state file calls completed, if it is about this list.
fn said_done(bytes: &[u8], list: &str, root: &str) -> BTreeSet<TaskId> {
    let found = state::read(&text::decode(bytes).text).state;
    let is_ours = found.piton_run.is_some();
    let is_about = found.todolist_path.as_deref().is_some_and(|path| {
        let path = Path::new(path.trim());
        path == Path::new(list) || path.strip_prefix(root).is_ok_and(|path| path == Path::new(list))
    });
    let done = found.tasks.iter().filter(|(_, task)| task.status == TaskWord::Completed);
    done.filter(|_| is_about && !is_ours).map(|(id, _)| id.clone()).collect()
}

/// All tasks of that name in other lists: `T090`, or `1-1-auth:T090` for that of one list.
fn task(siblings: &[Sibling], said: &str) -> Referent {
    let split = said.rsplit_once([':', '#', '/']);
    let split = split.filter(|(list, _)| siblings.iter().any(|sibling| sibling.is_called(list.trim())));
    let (list, id) = split.map_or((None, said), |(list, id)| (Some(list.trim()), id.trim()));
    let folded = id.to_lowercase();
    let named = siblings.iter().filter(|sibling| list.is_none_or(|list| sibling.is_called(list)));
    let having: Vec<(&Sibling, usize)> =
        named.filter_map(|sibling| Some((sibling, *sibling.ids.get(&folded)?))).collect();
    match &having[..] {
        [] => Referent::Nothing,
        [(sibling, nth)] if !sibling.ambiguous.contains(&folded) => Referent::These(vec![sibling.need(*nth)]),
        several => Referent::Several(several.iter().map(|(sibling, _)| sibling.list.clone()).collect()),
    }
}

/// The tasks of a story that only one other list has.
fn story(siblings: &[Sibling], id: &str) -> Referent {
    let having: Vec<(&Sibling, &Vec<usize>)> =
        siblings.iter().filter_map(|sibling| Some((sibling, sibling.stories.get(id)?))).collect();
    match &having[..] {
        [] => Referent::Nothing,
        [(sibling, nths)] => Referent::These(nths.iter().map(|nth| sibling.need(*nth)).collect()),
        several => Referent::Several(several.iter().map(|(sibling, _)| sibling.list.clone()).collect()),
    }
}

/// The tasks of other lists in a series from one number to another, without those that the list itself has.
fn range(
    siblings: &[Sibling],
    stem: &str,
    numbers: RangeInclusive<u64>,
    is_own: &dyn Fn(&str) -> bool,
) -> Referent {
    let (mut needs, mut twice) = (BTreeSet::new(), BTreeSet::new());
    let mut seen: HashMap<String, &str> = HashMap::new();
    for sibling in siblings {
        for (nth, task) in sibling.tasks.iter().enumerate() {
            let within = numbered(task.id.as_str())
                .is_some_and(|(own, number)| own.eq_ignore_ascii_case(stem) && numbers.contains(&number));
            if !within || is_own(task.id.as_str()) {
                continue;
            }
            if let Some(other) = seen.insert(task.id.folded(), &sibling.list) {
                twice.extend([other.to_owned(), sibling.list.clone()]);
            }
            needs.insert(sibling.need(nth));
        }
    }
    match (twice.is_empty(), needs.is_empty()) {
        (false, _) => Referent::Several(twice.into_iter().collect()),
        (true, true) => Referent::Nothing,
        (true, false) => Referent::These(needs.into_iter().collect()),
    }
}

struct Siblings<'s>(&'s [Sibling]);

impl Others for Siblings<'_> {
    fn task(&self, said: &str) -> Referent {
        task(self.0, said)
    }

    fn story(&self, id: &str) -> Referent {
        story(self.0, id)
    }

    fn range(&self, stem: &str, numbers: RangeInclusive<u64>, is_own: &dyn Fn(&str) -> bool) -> Referent {
        range(self.0, stem, numbers, is_own)
    }

    fn stem<'l>(&self, list: &'l str) -> &'l str {
        stem(list)
    }
}

/// What each task of a list waits for, by position.
pub(super) fn link(list: &Todolist, siblings: &[Sibling], text: &str, found: &mut Problems) -> Linked {
    let mut stories: HashMap<String, Vec<usize>> =
        list.stories.iter().map(|told| (told.story.id.to_lowercase(), Vec::new())).collect();
    for (nth, task) in list.tasks.iter().enumerate() {
        if let Some(story) = task.story {
            stories.entry(list.stories[story].story.id.to_lowercase()).or_default().push(nth);
        }
    }
    let named = Named {
        ids: list.tasks.iter().map(|task| &task.id).collect(),
        deps: list.tasks.iter().map(|task| task.deps.as_slice()).collect(),
        ambiguous: list.ambiguous.clone(),
        dropped: list.dropped.clone(),
        stories,
        help: "name the tasks, like `[deps: T001, T004-T006]`, or a story, like `[deps: All US-001 tasks]`",
        others: &Siblings(siblings),
    };
    links::link_named(&named, text, found)
}
