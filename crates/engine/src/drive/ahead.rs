//! Conflicts that are coming. While agents work, what they have made so far is merged with the target and with each other, in
//! a temporary object database. Nothing is written to the repository or to a worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, RepoPath, TaskId};
use piton_core::run::{Command, ConflictAhead, Note, Run, State, Task};
use piton_core::time::{Span, Timestamp};

use super::{EngineError, Loop, Wake};
use crate::git::{GitError, Merged, Repo, Worktree};
use crate::project::Project;
use crate::{clock, slots};

/// The time between two looks, at least.
const EVERY: Span = Span::seconds(30);
/// And so many times as long as the last look took: then it takes less than a hundredth of a processor, although git reads
/// with several threads at times.
const SHARE: u64 = 125;
/// Work that changes more files than that, or more bytes of them, is not looked at.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 50_000_000;

/// An agent that knows of so many knows enough: which others come on top of them is not looked at.
const MOST_CONFLICTS: usize = 3;

/// When to look next.
#[derive(Debug)]
pub(super) struct Outlook {
    next: Timestamp,
    is_looking: bool,
}

/// A worktree that an agent works in.
#[derive(Debug)]
struct Scene {
    task: TaskId,
    fence: u64,
    path: Utf8PathBuf,
    base: Oid,
}

/// What is in a worktree now, as a commit.
struct Work<'s> {
    scene: &'s Scene,
    commit: Oid,
    /// The files that it changes.
    files: BTreeSet<String>,
}

/// A look that is over.
#[derive(Debug)]
pub(super) struct Looked {
    pub commands: Vec<Command>,
    took: Span,
}

impl Outlook {
    /// Agents that have just begun have made nothing.
    pub(super) fn new() -> Outlook {
        Outlook { next: clock::now().plus(EVERY), is_looking: false }
    }

    pub(super) fn heard(&mut self, looked: &Looked) {
        let pause = EVERY.0.max(looked.took.0.saturating_mul(SHARE));
        *self = Outlook { next: clock::now().plus(Span(pause)), is_looking: false };
    }
}

impl Loop<'_> {
    /// Begin a look, if it is time for one.
    pub(super) fn look_ahead(&mut self) -> Result<(), EngineError> {
        let now = clock::now();
        let is_due = !self.outlook.is_looking && now >= self.outlook.next;
        let (Some(run), Some(repo)) = (self.state.run().filter(|_| is_due), &self.site.repo) else {
            return Ok(());
        };
        let (Some(target), false) = (run.target.clone(), run.settings.late_conflicts || run.stop.is_some())
        else {
            return Ok(());
        };
        let scenes = scenes(&self.state, run, &self.site.project);
        if scenes.is_empty() {
            return Ok(());
        }
        self.outlook.is_looking = true;
        let (repo, owned, done) = (repo.clone(), self.site.owned.clone(), self.inbox.sender.clone());
        let work = move || {
            let begun = Instant::now();
            // It is a help and no proof. What cannot be looked at now is looked at the next time.
            let found = look(&repo, &target, &scenes, &owned).unwrap_or_default();
            drop(repo);
            let took = Span(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
            let note = |(scene, conflicts): (&Scene, Vec<ConflictAhead>)| Command::Note {
                by: "Piton".to_owned(),
                note: Note::ConflictsAhead { task: scene.task.clone(), fence: scene.fence, conflicts },
            };
            let commands = found.into_iter().map(note).collect();
            // The loop may have ended.
            let _ = done.send(Wake::LookedAhead(Looked { commands, took }));
        };
        self.workers
            .give(Box::new(work))
            .map_err(|source| EngineError::Io { what: "cannot start a thread".to_owned(), source })
    }
}

/// Where agents work, those that began first before the others.
fn scenes(state: &State, run: &Run, project: &Project) -> Vec<Scene> {
    let Some(dir) = run.worktree_dir.as_deref().map(Utf8Path::new) else { return Vec::new() };
    if run.settings.no_commits || run.settings.worktree.shared.is_some() {
        return Vec::new();
    }
    let is_at_work = |task: &&Task| task.is_under_way() && task.progress.ready;
    let mut tasks: Vec<_> = state.active().filter(is_at_work).collect();
    tasks.sort_by_key(|task| (task.since, task.fence, task.id.clone()));
    let scene = |task: &Task| {
        let path = project.worktree_path_if_owned(&run.id, dir, run.settings.worktree.place(&task.id))?;
        let path = slots::place_of(project, &path);
        Some(Scene { task: task.id.clone(), fence: task.fence, path, base: task.progress.base.clone()? })
    };
    tasks.into_iter().filter_map(scene).collect()
}

/// What each of these will be in conflict with: the target, or one that began before it.
fn look<'s>(
    repo: &Repo,
    target: &str,
    scenes: &'s [Scene],
    owned: &[RepoPath],
) -> Result<Vec<(&'s Scene, Vec<ConflictAhead>)>, GitError> {
    let Some(tip) = repo.branch_tip(target)? else { return Ok(Vec::new()) };
    if let [scene] = scenes
        && scene.base == tip
    {
        return Ok(vec![(scene, Vec::new())]);
    }
    let repo = repo.for_looking_aside()?;
    let is_owned = |file: &String| owned.iter().any(|path| Utf8Path::new(file).starts_with(path.as_str()));
    let files_between = |from: &Oid, to: &Oid| -> Result<BTreeSet<String>, GitError> {
        Ok(repo.diff_names(from, to)?.into_iter().filter(|file| !is_owned(file)).collect())
    };
    let conflicts = |ours: &Oid, theirs: &Oid| -> Result<Vec<String>, GitError> {
        Ok(match repo.merge(ours, theirs)? {
            Merged::Conflict { files, .. } => files.into_iter().filter(|file| !is_owned(file)).collect(),
            Merged::Clean { .. } => Vec::new(),
        })
    };
    let mut moved: BTreeMap<&Oid, BTreeSet<String>> = BTreeMap::new();
    let mut works: Vec<Work<'s>> = Vec::new();
    let mut found = Vec::new();
    for scene in scenes {
        // Its agent may be writing, or be done by now.
        let Ok(Some(tree)) = tree_now(&repo, scene) else { continue };
        let files = files_between(&scene.base, &tree)?;
        if files.is_empty() {
            found.push((scene, Vec::new()));
            continue;
        }
        let commit = repo.commit_tree(&tree, &[&scene.base], "work under way", None)?;
        let mut ahead = Vec::new();
        if !moved.contains_key(&scene.base) {
            moved.insert(&scene.base, files_between(&scene.base, &tip)?);
        }
        let landed = moved.get(&scene.base).filter(|landed| !landed.is_disjoint(&files));
        let with_target = if landed.is_some() { conflicts(&tip, &commit)? } else { Vec::new() };
        ahead.extend((!with_target.is_empty()).then_some(ConflictAhead { with: None, files: with_target }));
        for other in works.iter().filter(|other| !other.files.is_disjoint(&files)) {
            if ahead.len() >= MOST_CONFLICTS {
                break;
            }
            let files = conflicts(&other.commit, &commit)?;
            let with = Some(other.scene.task.clone());
            ahead.extend((!files.is_empty()).then_some(ConflictAhead { with, files }));
        }
        works.push(Work { scene, commit, files });
        found.push((scene, ahead));
    }
    Ok(found)
}

fn tree_now(repo: &Repo, scene: &Scene) -> Result<Option<Oid>, GitError> {
    let Some(worktree) = Worktree::open(repo, &scene.path)? else { return Ok(None) };
    worktree.tree_now(MOST_FILES, MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_look_takes_the_rarer_it_is() {
        for (took, pause) in [(10, 30_000), (240, 30_000), (2_000, 250_000)] {
            let (mut outlook, before) = (Outlook { is_looking: true, ..Outlook::new() }, clock::now());
            outlook.heard(&Looked { commands: Vec::new(), took: Span(took) });
            assert!(outlook.next.since(before) >= Span(pause), "after {took} ms");
            assert!(!outlook.is_looking);
        }
    }
}
