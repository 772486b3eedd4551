//! What a task has changed, as git shows it.

use camino::Utf8Path;
use piton_core::plan::{Oid, RunId, TaskId};
use piton_core::run::{Event, Proof, Task};
use piton_engine::git::Repo;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::runs::{engine, find};

/// Of a difference that is shown or sent somewhere, this much text at most: more than a person reads, and little enough for a
/// browser.
pub(crate) const MOST_SHOWN: usize = 4 * 1024 * 1024;

/// The difference between two states of the project.
#[derive(Debug)]
pub(crate) struct Changes {
    pub from: Oid,
    pub to: Option<Oid>,
    /// The states before and after each part of the work; a task that was done by hand may have several.
    pub ranges: Vec<(Oid, Oid)>,
    pub files: Vec<String>,
    pub text: String,
    /// The text is only the beginning.
    pub is_cut: bool,
    /// Where these states can be read.
    pub repo: Repo,
}

impl Changes {
    /// What landed, what the task's commits did, or what is in its worktree so far; of the past, what was recorded of it by then. For work in place: the difference
    /// to the state before its first attempt. The text is cut where it is longer than `most`; the files are all there.
    pub(crate) fn find(
        project: &Project,
        journal: &Journal,
        run: &RunId,
        id: &TaskId,
        most: usize,
    ) -> Outcome<Changes> {
        let task = journal.task(run, id)?.ok_or_else(|| find::no_task(journal, run, id))?;
        let repo = project
            .repo_or_store()?
            .ok_or_else(|| Failure::new("without git there is nothing to compare with"))?;
        let repo = repo.for_looking()?;
        let facts = journal.facts(run)?.ok_or_else(|| Failure::new("the run has no beginning"))?;
        // Against the target's side of a merge: what landing it changed there.
        let made_by =
            |commit: &Oid| Ok::<_, Failure>((repo.resolve(&format!("{commit}^1"))?, commit.clone()));
        let ranges: Vec<(Oid, Oid)> = match (&task.proof, &task.progress.base) {
            (Some(Proof::Landed { commit, .. }), _) => vec![made_by(commit)?],
            (Some(_), _) if !task.counts.is_empty() => {
                task.counts.iter().map(made_by).collect::<Outcome<_>>()?
            }
            (Some(_), _) => captured(journal, run, &task)?.into_iter().collect(),
            // What was in a worktree then is known where it was captured.
            (None, Some(base)) if journal.moment().is_some() => {
                let committed = task.progress.commit.clone().map(|commit| (base.clone(), commit));
                let recorded =
                    committed.map_or_else(|| captured(journal, run, &task), |range| Ok(Some(range)))?;
                let none = || Failure::new(format!("what {id} had changed by then was not recorded"));
                vec![recorded.ok_or_else(none)?]
            }
            (None, Some(base)) => {
                let place = match &facts.worktree_dir {
                    Some(dir) => project
                        .worktree_path_if_owned(
                            run,
                            dir.as_str().into(),
                            facts.settings.worktree.place(&task.id),
                        )
                        .ok_or_else(|| Failure::new(format!("{id} has no worktree")))?,
                    None => project.root.clone(),
                };
                let now = if place.exists() {
                    repo.worktree_tree(&place)?
                } else {
                    let commit = task.progress.commit.clone();
                    commit.ok_or_else(|| {
                        Failure::new(format!(
                            "the worktree {place} no longer exists and nothing was committed"
                        ))
                    })?
                };
                vec![(base.clone(), now)]
            }
            (None, None) => Vec::new(),
        };
        let [(from, _), ..] = &ranges[..] else {
            let failure = match &task.proof {
                Some(_) => {
                    Failure::new(format!("{} is completed, but what it changed was not recorded", task.id))
                }
                None => Failure::new(format!("{} has changed nothing yet", task.id)),
            };
            return Err(failure.hint(format!("piton why {}", task.id)));
        };
        // Files that belong to the plan are not the work of a task.
        let own = match facts.settings.no_commits {
            true => {
                engine::owned(Utf8Path::new(&facts.plan), facts.settings.system(), &facts.groups, project)
            }
            false => Vec::new(),
        };
        let is_work = |file: &String| !own.iter().any(|own| Utf8Path::new(file).starts_with(own.as_str()));
        let (mut text, mut is_cut, mut files) = (String::new(), false, Vec::new());
        for (from, to) in &ranges {
            if !is_cut {
                let patch = repo.diff_text(from, to, &own, most - text.len().min(most))?;
                text += &patch.text;
                is_cut = patch.is_cut;
            }
            files.extend(repo.diff_names(from, to)?.into_iter().filter(is_work));
        }
        let (from, to) = (from.clone(), ranges.last().map(|(_, to)| to.clone()));
        Ok(Changes { from, to, ranges, files, text, is_cut, repo })
    }

    /// For programs.
    pub(crate) fn document(&self, task: &TaskId) -> Value {
        let Changes { from, to, files, text, is_cut, .. } = self;
        json!({ "task": task, "from": from, "to": to, "files": files, "diff": text, "cut": is_cut })
    }
}

/// The states before and after the work of a task that landed nothing: when its worktree was ready, and when its work
/// was captured.
fn captured(journal: &Journal, run: &RunId, task: &Task) -> Outcome<Option<(Oid, Oid)>> {
    let (mut base, mut tree) = (None, None);
    for recorded in journal.events(run, 0, Some(&task.id), usize::MAX)? {
        match recorded.event {
            Event::WorktreeReady { base: at, .. } => base = Some(at),
            Event::WorkCaptured { work, .. } => tree = Some(work.tree),
            Event::Reset { .. } => (base, tree) = (None, None),
            _ => {}
        }
    }
    Ok(base.zip(tree))
}
