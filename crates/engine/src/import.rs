//! Taking over what another system left: its state file says what it believes, git says what is there.
//!
//! Each task is judged on its own commits. A claim counts as far as git bears it out; what is in the history counts
//! although nobody claims it. Nothing here changes the repository.

use std::collections::{BTreeMap, HashMap};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::dialect::execute::state::{ForeignState, ForeignTask, TaskStatus};
use piton_core::plan::{Oid, TaskId, TaskSpec};
use piton_core::run::{Past, PastCommit, Proof, Status, Work};

use crate::git::{Commit, GitError, Repo, Worktree};

/// What is believed about one task, and why.
#[derive(Clone, Debug)]
pub struct Belief {
    pub task: TaskId,
    /// What the state file says of it.
    pub claimed: Option<TaskStatus>,
    /// What is taken over; `None`: there is nothing to take over.
    pub past: Option<Past>,
    pub why: String,
    /// The claim was not borne out, or there was none.
    pub corrected: bool,
    /// A worktree that goes on with the task.
    pub worktree: Option<Utf8PathBuf>,
}

/// The same before it is said of which task.
struct Judged {
    past: Option<Past>,
    why: String,
    corrected: bool,
    worktree: Option<Utf8PathBuf>,
}

impl Judged {
    fn as_claimed(past: Past, why: impl Into<String>) -> Judged {
        Judged { past: Some(past), why: why.into(), corrected: false, worktree: None }
    }

    fn corrected(past: Past, why: impl Into<String>) -> Judged {
        Judged { corrected: true, ..Judged::as_claimed(past, why) }
    }

    fn nothing() -> Judged {
        let why = "nothing is known of it".to_owned();
        Judged { past: None, why, corrected: false, worktree: None }
    }
}

/// Judge every task of a plan.
pub fn judge(
    repo: &Repo,
    tip: &Oid,
    tasks: &[TaskSpec],
    state: &ForeignState,
    worktree_dir: &Utf8Path,
) -> Result<Vec<Belief>, GitError> {
    let history = History::read(repo, tip)?;
    let judge = Judge { repo, tip, history, state, worktree_dir };
    tasks.iter().map(|spec| judge.task(spec)).collect()
}

/// The commits of a target, by their ids and by the tasks they name.
struct History {
    /// Sorted, to find short hashes.
    ids: Vec<String>,
    by_task: HashMap<String, Vec<Commit>>,
}

impl History {
    fn read(repo: &Repo, tip: &Oid) -> Result<History, GitError> {
        let (mut ids, mut by_task) = (Vec::new(), HashMap::<String, Vec<Commit>>::new());
        for commit in repo.history(tip)? {
            ids.push(commit.id.to_string());
            if let Some(task) = named(&commit) {
                by_task.entry(task).or_default().push(commit);
            }
        }
        ids.sort_unstable();
        Ok(History { ids, by_task })
    }

    /// The commit a hash stands for, if it is part of the history and of no other one.
    fn find(&self, hash: &str) -> Option<&str> {
        let hash = hash.trim().to_ascii_lowercase();
        let hex = hash.len() >= 4 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let from = self.ids.partition_point(|id| *id < hash);
        let mut fitting = self.ids[from..].iter().take_while(|id| id.starts_with(&hash));
        match (hex, fitting.next(), fitting.next()) {
            (true, Some(id), None) => Some(id),
            _ => None,
        }
    }

    /// The newest commit that names a task by its id and its title: ids come back in every plan, titles rarely.
    fn of_task(&self, spec: &TaskSpec) -> Option<&Commit> {
        let title = plain(&spec.title);
        self.by_task.get(spec.id.as_str())?.iter().find(|commit| plain(&commit.subject).ends_with(&title))
    }
}

/// The task that a commit's message names: `[ID] …`, `ID: …`, `Merge worktree-ID: …`, each perhaps behind a prefix, or
/// a trailer.
fn named(commit: &Commit) -> Option<String> {
    let id = |text: &str| TaskId::new(text.trim()).ok().map(|id| id.to_string());
    if let Some((_, rest)) = commit.subject.split_once("Merge worktree-") {
        return id(rest.split(':').next()?);
    }
    if let Some((_, rest)) = commit.subject.split_once('[') {
        return id(rest.split_once(']')?.0);
    }
    commit.task.as_deref().and_then(id).or_else(|| id(commit.subject.split_once(": ")?.0))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

struct Judge<'a> {
    repo: &'a Repo,
    tip: &'a Oid,
    history: History,
    state: &'a ForeignState,
    worktree_dir: &'a Utf8Path,
}

impl Judge<'_> {
    fn task(&self, spec: &TaskSpec) -> Result<Belief, GitError> {
        let told = self.state.tasks.get(&spec.id);
        let none = ForeignTask::unknown();
        let task = told.unwrap_or(&none);
        let Judged { past, why, corrected, worktree } = self.judged(spec, task, told.is_some())?;
        let claimed = told.map(|task| task.status);
        Ok(Belief { task: spec.id.clone(), claimed, past, why, corrected, worktree })
    }

    fn judged(&self, spec: &TaskSpec, task: &ForeignTask, told: bool) -> Result<Judged, GitError> {
        let claims_done = told && task.status == TaskStatus::Completed;
        let recorded = task.commits.iter().rev().find_map(|commit| self.history.find(&commit.hash));
        if claims_done && let Some(id) = recorded {
            let why = format!("its commit {} is part of the target", short(id));
            return Ok(Judged::as_claimed(self.landed(task, id)?, why));
        }
        if let Some(commit) = self.history.of_task(spec) {
            let id = commit.id.to_string();
            let past = self.landed(task, &id)?;
            return Ok(match (claims_done, task.commits.is_empty()) {
                (true, false) => {
                    let but = "the commits it names are not part of the target";
                    Judged::as_claimed(past, format!("{but}, but {} there names it", short(&id)))
                }
                (true, true) => Judged::as_claimed(past, format!("{} in the target names it", short(&id))),
                (false, _) => Judged::corrected(past, format!("{} in the target names it", short(&id))),
            });
        }
        if !claims_done {
            return self.unfinished(spec, task, told);
        }
        if self.state.no_commits && task.commits.is_empty() {
            let past = past(task, Status::Completed, spent_before(task));
            let why = "it was done without commits, so there is only its word";
            return Ok(Judged::as_claimed(Past { proof: Some(Proof::Reported), ..past }, why));
        }
        let why = match task.commits.last() {
            None => "no commit in the target names it".to_owned(),
            Some(commit) => format!("its commit {} is not part of the target", short(&commit.hash)),
        };
        // Whether it failed or was lost, it has to be done again, under the same number.
        Ok(Judged::corrected(past(task, Status::Pending, spent_before(task)), why))
    }

    /// A task that is not part of the target.
    fn unfinished(&self, spec: &TaskSpec, task: &ForeignTask, told: bool) -> Result<Judged, GitError> {
        use TaskStatus::{Abandoned, Completed, Failed, InProgress, Merging, Pending, Verified, Verifying};
        Ok(match task.status {
            Abandoned => {
                let spent = task.attempts.max(spec.attempts);
                Judged::as_claimed(past(task, Status::Abandoned, spent), "it was given up")
            }
            Failed if task.attempts >= spec.attempts => {
                let why = format!("{} of {} attempts are spent", task.attempts, spec.attempts);
                Judged::corrected(past(task, Status::Abandoned, task.attempts), why)
            }
            Failed => {
                let why = format!("attempt {} failed; the next one is told why", task.attempts);
                Judged::as_claimed(past(task, Status::Failed, task.attempts), why)
            }
            Pending | Completed if !told || task.attempts == 0 => {
                self.left_over(spec, task)?.unwrap_or_else(Judged::nothing)
            }
            Pending | Completed => {
                Judged::as_claimed(past(task, Status::Pending, spent_before(task)), "it waits")
            }
            InProgress | Verifying | Verified | Merging => match self.left_over(spec, task)? {
                Some(found) => found,
                None => {
                    let why = "its worktree is gone, so it begins again under the same number";
                    Judged::corrected(past(task, Status::Pending, spent_before(task)), why)
                }
            },
        })
    }

    /// A worktree that is still there goes on; work that was done only needs its checks.
    fn left_over(&self, spec: &TaskSpec, task: &ForeignTask) -> Result<Option<Judged>, GitError> {
        let path = task.worktree_path.as_ref().map(Utf8PathBuf::from);
        let path = path.unwrap_or_else(|| self.worktree_dir.join(spec.id.as_str()));
        // Only where Piton would look for it: a worktree elsewhere is left to whoever made it.
        if path.parent() != Some(self.worktree_dir) || path.file_name() != Some(spec.id.as_str()) {
            return Ok(None);
        }
        let Some(worktree) = Worktree::open(self.repo, &path)? else { return Ok(None) };
        let Some(head) = worktree.head()? else { return Ok(None) };
        let Some(base) = self.repo.merge_base(&head, self.tip)? else { return Ok(None) };
        let has_commits = head != base;
        let done = matches!(task.status, TaskStatus::Verifying | TaskStatus::Verified | TaskStatus::Merging);
        let recheck = done && has_commits && worktree.status()?.is_clean();
        let tree = self.repo.tree_of(&head)?;
        let work = has_commits.then(|| Work {
            commit: Some(head.clone()),
            tree,
            changed: true,
            found_work: true,
            markers: Vec::new(),
            commits: Vec::new(),
            created: Vec::new(),
            modified: Vec::new(),
        });
        let why = match (recheck, has_commits) {
            (true, _) => "its work is in its worktree: only its checks are run again",
            (false, true) => "its worktree is there, with commits: the same attempt goes on",
            (false, false) => "its worktree is there: the same attempt goes on in it",
        };
        let past = past(task, Status::Pending, spent_before(task));
        let past = Past { base: Some(base), work, recheck, ..past };
        let corrected = task.status == TaskStatus::Pending;
        Ok(Some(Judged { worktree: Some(path), corrected, ..Judged::as_claimed(past, why) }))
    }

    fn landed(&self, task: &ForeignTask, id: &str) -> Result<Past, GitError> {
        let commit = self.repo.resolve(id)?;
        let proof = Proof::Landed { commit: commit.clone(), verified: commit };
        let mut past = past(task, Status::Completed, spent_before(task));
        if past.commits.is_empty() {
            past.commits.push(PastCommit { hash: id.to_owned(), attempt: 1, ..PastCommit::default() });
        }
        Ok(Past { proof: Some(proof), ..past })
    }
}

/// The attempts before the one that is, or was, under way.
fn spent_before(task: &ForeignTask) -> u32 {
    task.attempts.saturating_sub(1)
}

fn past(task: &ForeignTask, status: Status, spent: u32) -> Past {
    Past {
        status,
        spent,
        proof: None,
        base: None,
        work: None,
        recheck: false,
        started_at: task.started_at,
        completed_at: task.completed_at,
        merged_at: task.merged_at,
        commits: task.commits.clone(),
        errors: task.errors.clone(),
        feedback: task.feedback.clone(),
    }
}

fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

/// How many of each claim were borne out, and how many were not.
pub fn tally(beliefs: &[Belief]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for belief in beliefs {
        let word = match belief.past.as_ref().map(|past| past.status) {
            Some(Status::Completed) => "completed",
            Some(Status::Abandoned) => "abandoned",
            Some(Status::Failed) => "to be tried again",
            Some(_) if belief.worktree.is_some() => "under way",
            _ => "to be done",
        };
        *counts.entry(word).or_default() += 1;
    }
    counts
}
