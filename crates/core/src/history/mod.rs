//! The history of a target: which task a commit belongs to, which commit reverts another, and which replaces one that
//! no longer exists. This module only judges what was read; another one calls git.

mod target;

use std::collections::{BTreeSet, HashMap, HashSet};

pub use target::{Change, Lost, Part, Recorded, Target, Whole};

use crate::message::merged_task;
use crate::plan::{Content, Digest, Oid, TaskId, TaskSpec};

/// A commit in a history, and what its message says about the task that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: Oid,
    pub tree: Oid,
    /// The commit it was made on.
    pub parent: Option<Oid>,
    /// What it merges into that.
    pub merges: Vec<Oid>,
    pub subject: String,
    /// The task that a trailer names.
    pub task: Option<String>,
    /// The run of ours that made it.
    pub run: Option<String>,
    /// What the task asked for that it lands.
    pub content: Option<Content>,
}

impl Commit {
    /// The task that it lands, if it can be a merge that a run of ours made: one commit merged into the target, with the
    /// subject and the trailers that we write. Whether it is depends on where it stands, too.
    pub fn lands(&self) -> Option<&str> {
        let task = merged_task(&self.subject)?;
        let is_ours = self.merges.len() == 1 && self.run.is_some() && self.task.as_deref() == Some(task);
        is_ours.then_some(task)
    }
}

/// A commit by its place in the history: the smaller, the newer.
pub type Place = usize;

#[derive(Clone, Debug)]
pub struct History {
    commits: Vec<Commit>,
    /// Sorted, to find short hashes.
    ids: Vec<(String, Place)>,
    /// The tasks that messages name.
    named: HashMap<Place, TaskId>,
    by_task: HashMap<TaskId, Vec<Place>>,
    /// Whose work a commit without such a name is: by what was recorded, or because it was found to be.
    owners: HashMap<Place, BTreeSet<TaskId>>,
    /// Merges by which runs of ours landed something, on the target's own line.
    landings: HashSet<Place>,
    /// Commits on that line without a word of ours that name a task by a trailer alone: its work was squashed.
    squashed: HashSet<Place>,
    /// Commits that came in with one of them.
    brought: HashMap<Place, Place>,
    /// Commits that were reverted, and by which commit.
    undone: HashMap<Place, Place>,
}

/// The end of a task's story in the target.
#[derive(Debug, PartialEq, Eq)]
pub enum LastWord {
    Landed(Place),
    TakenBack(Place),
}

/// What the target has in place of lost work.
#[derive(Debug, PartialEq, Eq)]
pub enum StandIn {
    Found(Place, &'static str),
    /// More than this work, as one.
    Holds(Place),
    /// The same is there as another task's work.
    OfAnother(Place),
    Nothing,
}

impl History {
    /// `commits` newest first; `reverts` with the commits that each says it takes back; `tasks` that can own one.
    pub fn new(commits: Vec<Commit>, reverts: &[(Oid, Vec<String>)], tasks: &HashSet<&TaskId>) -> History {
        let mut ids: Vec<(String, Place)> =
            commits.iter().enumerate().map(|(place, commit)| (commit.id.to_string(), place)).collect();
        ids.sort_unstable();
        let mut history = History {
            commits: Vec::new(),
            ids,
            named: HashMap::new(),
            by_task: HashMap::new(),
            owners: HashMap::new(),
            landings: HashSet::new(),
            squashed: HashSet::new(),
            brought: HashMap::new(),
            undone: HashMap::new(),
        };
        history.commits = commits;
        let line;
        (line, history.brought) = history.read_landings();
        let commits = std::mem::take(&mut history.commits);
        for (place, commit) in commits.iter().enumerate() {
            let by = history.brought.get(&place).and_then(|by| commits[*by].lands());
            if let Some((named, by_trailer)) = named(commit, tasks) {
                // What comes in with a landing of ours is the work of the task that landed, whatever its message says.
                if by.is_some_and(|by| by != named.as_str()) {
                    continue;
                }
                if by_trailer && commit.run.is_none() && line.contains(&place) {
                    history.squashed.insert(place);
                }
                history.by_task.entry(named.clone()).or_default().push(place);
                history.named.insert(place, named);
            }
        }
        history.commits = commits;
        let mut reverts: Vec<(Place, &Vec<String>)> =
            reverts.iter().filter_map(|(id, of)| Some((history.find(id.as_str())?, of))).collect();
        reverts.sort_unstable();
        for (by, of) in reverts {
            // A revert that was itself reverted has no effect.
            if history.undone.contains_key(&by) {
                continue;
            }
            for place in of.iter().filter_map(|name| history.find(name)).collect::<Vec<_>>() {
                if by < place {
                    history.undone.entry(place).or_insert(by);
                }
            }
        }
        history
    }

    /// Find the landings. With the target's own line, and the commits that came in with each landing: what its merge has
    /// besides the target.
    fn read_landings(&mut self) -> (HashSet<Place>, HashMap<Place, Place>) {
        let mut line: Vec<Place> = Vec::new();
        let mut tip = (!self.commits.is_empty()).then_some(0);
        while let Some(place) = tip {
            line.push(place);
            let parent = self.commits[place].parent.clone();
            // Each is older than the one before: a history is not a circle, whatever was written into it.
            tip = parent.and_then(|parent| self.find(parent.as_str())).filter(|parent| *parent > place);
        }
        self.landings = line.iter().copied().filter(|place| self.commits[*place].lands().is_some()).collect();
        let on_line: HashSet<Place> = line.iter().copied().collect();
        let mut brought: HashMap<Place, Place> = HashMap::new();
        // The oldest first: what it brought in came with no later one. A merge that Piton did not make is not a landing.
        let mut known: HashSet<Place> = HashSet::new();
        for by in line.into_iter().rev() {
            let is_landing = self.landings.contains(&by);
            let mut open: Vec<Oid> = self.commits[by].merges.clone();
            while let Some(id) = open.pop() {
                let Some(place) = self.find(id.as_str()) else { continue };
                if on_line.contains(&place) || !known.insert(place) {
                    continue;
                }
                if is_landing {
                    brought.insert(place, by);
                }
                let commit = &self.commits[place];
                open.extend(commit.parent.iter().chain(&commit.merges).cloned());
            }
        }
        (on_line, brought)
    }

    /// The merges by which a task landed that asked for the same. One that does not say what the task asked for was made by
    /// an earlier version: there the title decides.
    pub fn landings(&self, spec: &TaskSpec) -> Vec<Place> {
        let mut own = self.naming(spec);
        let named = self.by_task.get(&spec.id).map(Vec::as_slice).unwrap_or_default();
        own.extend(named.iter().filter(|place| self.commits[**place].content.is_some()));
        own.retain(|place| self.landings.contains(place) && self.is_of(*place, spec));
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Whether a commit may be a task's work: it did not land as another task that had its id.
    pub fn is_of(&self, place: Place, spec: &TaskSpec) -> bool {
        let landing = Some(place).filter(|place| self.landings.contains(place));
        let landing = landing.or_else(|| self.brought.get(&place).copied());
        let content = landing.and_then(|place| self.commits[place].content);
        !content.is_some_and(|content| spec.is_another_than(content))
    }

    pub fn commit(&self, place: Place) -> &Commit {
        &self.commits[place]
    }

    /// The commit of a hash, if it is in the history and the hash is not ambiguous.
    pub fn find(&self, hash: &str) -> Option<Place> {
        let hash = name_of(hash);
        if !is_hash(&hash) {
            return None;
        }
        let from = self.ids.partition_point(|(id, _)| *id < hash);
        let mut fitting = self.ids[from..].iter().take_while(|(id, _)| id.starts_with(&hash));
        match (fitting.next(), fitting.next()) {
            (Some((_, place)), None) => Some(*place),
            _ => None,
        }
    }

    /// The commits that name a task by its id and its title: ids come back in every plan, titles rarely.
    pub fn naming(&self, spec: &TaskSpec) -> Vec<Place> {
        let title = plain(&spec.title);
        let places = self.by_task.get(&spec.id).map(Vec::as_slice).unwrap_or_default();
        let titled = |place: &Place| plain(&self.commits[*place].subject).ends_with(&title);
        let own = |place: &Place| self.is_of(*place, spec);
        places.iter().copied().filter(titled).filter(own).collect()
    }

    /// A report or a search says that a commit is a task's work.
    pub fn give(&mut self, place: Place, task: &TaskId) {
        self.owners.entry(place).or_default().insert(task.clone());
    }

    /// The other task that a commit belongs to, if any. Its message counts more than a recorded note.
    pub fn other_owner(&self, place: Place, task: &TaskId) -> Option<&TaskId> {
        match self.named.get(&place) {
            Some(named) => Some(named).filter(|named| *named != task),
            None => self.owners.get(&place)?.iter().find(|owner| *owner != task),
        }
    }

    /// What came last: one of a task's commits, or one that took it back.
    pub fn last_word(&self, own: &[Place]) -> Option<LastWord> {
        let landed = own.iter().copied().min()?;
        let back = own.iter().filter_map(|place| self.undone.get(place)).copied().min();
        Some(match back.filter(|back| *back < landed) {
            Some(back) => LastWord::TakenBack(back),
            None => LastWord::Landed(landed),
        })
    }

    /// A commit that came in by a merge: one that was itself the tip once may be where a branch began.
    pub fn merged(&self, id: &Oid) -> Option<Place> {
        let mut tip = self.commits.first();
        while let Some(commit) = tip {
            if commit.id == *id {
                return None;
            }
            let parent = commit.parent.as_ref().and_then(|parent| self.find(parent.as_str()));
            tip = parent.map(|place| &self.commits[place]);
        }
        self.find(id.as_str())
    }

    /// The commit that replaces lost work. Reverted commits do not count; nor do, for the work of one `task`, commits
    /// of another.
    pub fn stand_in(&self, task: Option<&TaskId>, tree: &Oid, work: &Change) -> StandIn {
        let mut later: Vec<Place> = work.later.iter().filter_map(|id| self.find(id.as_str())).collect();
        later.retain(|place| !self.undone.contains_key(place));
        later.sort_unstable();
        // Agents can write any trailer. It proves that work landed only in a merge of ours, or in a commit that a
        // person made of such work on the target itself.
        let names = |place: &&Place| {
            (self.landings.contains(*place) || self.squashed.contains(*place))
                && self.named.get(*place).is_some_and(|named| Some(named) == task)
        };
        if let Some(place) = later.iter().find(names) {
            return StandIn::Found(*place, "names it");
        }
        let change = |place: Place| work.changes.get(&self.commits[place].id);
        let same = |place: &Place| {
            self.commits[*place].tree == *tree || change(*place).is_some_and(|change| *change == work.whole)
        };
        let steps: HashSet<&Digest> = work.steps.iter().collect();
        let step = |place: &Place| change(*place).is_some_and(|change| steps.contains(change));
        let all: Vec<Place> = later.iter().copied().filter(same).collect();
        let found: Vec<Place> = later.iter().copied().filter(step).collect();
        let made: HashSet<&Digest> = found.iter().filter_map(|place| change(*place)).collect();
        let found = if all.is_empty() && !steps.is_empty() && made == steps { found } else { all };
        let others = |place: &&Place| task.is_some_and(|task| self.other_owner(**place, task).is_some());
        match (found.first(), found.iter().find(others)) {
            (None, _) => StandIn::Nothing,
            (Some(_), Some(others)) => StandIn::OfAnother(*others),
            (Some(place), None) if self.commits[*place].tree == *tree => {
                StandIn::Found(*place, "leaves the same files")
            }
            (Some(place), None) => StandIn::Found(*place, "makes the same change"),
        }
    }
}

/// A recorded commit hash, in the form in which hashes are compared.
pub fn name_of(hash: &str) -> String {
    hash.trim().to_ascii_lowercase()
}

/// Whether a text can be the beginning of a commit's name.
pub fn is_hash(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The task that a commit's message names: `[ID] …`, `Merge worktree-ID: …`, each perhaps behind a prefix, `ID: …`, or
/// a trailer; and whether it is by that alone.
fn named(commit: &Commit, tasks: &HashSet<&TaskId>) -> Option<(TaskId, bool)> {
    let subject = &commit.subject;
    if subject.starts_with("Revert \"") {
        return None;
    }
    let known = |text: &str| TaskId::new(text.trim()).ok().filter(|task| tasks.contains(task));
    let merged = subject.split_once("Merge worktree-").and_then(|(_, rest)| known(rest.split(':').next()?));
    let mut brackets = subject.split('[').skip(1).filter_map(|rest| known(rest.split_once(']')?.0));
    let by_subject = merged.or_else(|| brackets.next()).or_else(|| known(subject.split_once(": ")?.0));
    let by_trailer = by_subject.is_none();
    by_subject.or_else(|| known(commit.task.as_deref()?)).map(|task| (task, by_trailer))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests;
