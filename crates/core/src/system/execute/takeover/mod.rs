//! Taking over what a state file of this system says. Each task is judged on its own commits. A claim counts as far as
//! git bears it out. What is in the history counts even if the state file does not claim it.

use std::collections::BTreeMap;

use crate::history::{LastWord, Place as InTarget, Recorded, StandIn, Target, name_of};
use crate::order::Pairs;
use crate::plan::{Oid, Settings, TaskId, TaskSpec};
use crate::run::{ImportedCommit, ImportedTask, Proof, Status, Work};
use crate::system::execute::state::{FILE, ForeignState, ForeignTask, TaskStatus};
use crate::system::kit::takeover::{
    self, Belief, Branch, Evidence, Legacy, Place, Questions, Refused, Takeover, Tip, Worktree,
};

/// What a state file says about the tasks of a plan.
#[derive(Debug, Default)]
pub struct Left {
    pub state: ForeignState,
}

impl Legacy for Left {
    fn keep_settings(&self, settings: &mut Settings) {
        settings.no_commits |= self.state.no_commits;
        let prefix = self.state.commit_prefix.clone().filter(|prefix| !prefix.is_empty());
        settings.commit_prefix = settings.commit_prefix.take().or(prefix);
    }

    fn worktree_dir(&self) -> Option<&str> {
        self.state.worktree_dir.as_deref()
    }

    fn questions(&self, specs: &[TaskSpec]) -> Questions {
        let state = &self.state;
        let commits = state.tasks.iter().map(|(id, task)| (id.clone(), proofs(task))).into_map();
        let place = |spec: &TaskSpec| {
            let told = state.tasks.get(&spec.id);
            let branch = told.and_then(|task| task.branch.clone());
            Place {
                worktree: told.and_then(|task| task.worktree_path.clone()),
                branch: branch.unwrap_or_else(|| format!("worktree-{}", spec.id)),
                is_done: told.is_some_and(|task| is_done(task.status)),
            }
        };
        let hashes = |task: &ForeignTask| task.commits.iter().map(|commit| name_of(&commit.hash)).collect();
        let owned = |spec: &TaskSpec| Some((spec.id.clone(), state.tasks.get(&spec.id).map(hashes)?));
        let owned = specs.iter().filter_map(owned).collect();
        let places = specs.iter().map(|spec| (spec.id.clone(), place(spec))).into_map();
        Questions { commits: Some(commits), owned, places, ..Questions::default() }
    }

    fn take_over(&self, specs: &[TaskSpec], evidence: &Evidence) -> Result<Takeover, Refused> {
        let state = &self.state;
        let is_open = |id: &&TaskId| {
            let status = state.tasks.get(*id).map(|task| task.status);
            !matches!(status, Some(TaskStatus::Completed | TaskStatus::Abandoned))
        };
        let orphans = takeover::orphans(specs, state.tasks.keys());
        Refused::unless_none(orphans.iter().filter(is_open), &[], evidence)?;
        let Some(target) = evidence.target.clone() else { return Ok(Takeover::default()) };
        let (worktrees, branches) = (&evidence.worktrees, &evidence.branches);
        let mut judge = Judge { target, state, worktrees, branches };
        let beliefs: Vec<Belief> = specs.iter().map(|spec| judge.task(spec)).collect();
        let adopted = |belief: &Belief| Some(takeover::adopt(&belief.task, FILE, belief.past.clone()?));
        let mut commands: Vec<_> = beliefs.iter().filter_map(adopted).collect();
        let has = |id: &TaskId| specs.iter().any(|spec| spec.id == *id);
        let began = state.started_at.filter(|began| *began <= evidence.now);
        commands.extend(takeover::notes(FILE, began, state.carried(has)));
        let lines = takeover::lines(&beliefs, &orphans);
        Ok(Takeover { beliefs, orphans, commands, lines })
    }
}

/// The commits by which a task proves itself, newest first. Commits of work that did not pass prove nothing.
fn proofs(task: &ForeignTask) -> Vec<String> {
    let passed = matches!(task.status, TaskStatus::Completed | TaskStatus::Merging | TaskStatus::Verified);
    let commits = task.commits.iter().rev().filter(|_| passed);
    commits.map(|commit| name_of(&commit.hash)).collect()
}

fn is_done(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Verifying | TaskStatus::Verified | TaskStatus::Merging)
}

fn is_verified(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Verified | TaskStatus::Merging)
}

/// The judgement on a task, without its id.
struct Judged {
    past: Option<ImportedTask>,
    why: String,
    corrected: bool,
    worktree: Option<String>,
}

impl Judged {
    fn as_claimed(past: ImportedTask, why: impl Into<String>) -> Judged {
        Judged { past: Some(past), why: why.into(), corrected: false, worktree: None }
    }

    fn corrected(past: ImportedTask, why: impl Into<String>) -> Judged {
        Judged { corrected: true, ..Judged::as_claimed(past, why) }
    }

    fn nothing() -> Judged {
        let why = "nothing is recorded about it".to_owned();
        Judged { past: None, why, corrected: false, worktree: None }
    }
}

struct Judge<'a> {
    target: Target,
    state: &'a ForeignState,
    worktrees: &'a BTreeMap<TaskId, Worktree>,
    branches: &'a BTreeMap<TaskId, Branch>,
}

/// Work that is not part of the target.
struct Remains {
    /// The worktree it is in, if that is there, and whether that is clean.
    worktree: Option<(String, bool)>,
    /// Where it began.
    base: Oid,
    head: Oid,
    tree: Oid,
    /// Where it is found.
    place: String,
}

impl Remains {
    fn new(tip: &Tip, place: String) -> Option<Remains> {
        let (base, head, tree) = (tip.base.clone()?, tip.head.clone(), tip.tree.clone());
        Some(Remains { worktree: None, base, head, tree, place })
    }

    fn has_commits(&self) -> bool {
        self.head != self.base
    }

    fn path(&self) -> Option<String> {
        self.worktree.as_ref().map(|(path, _)| path.clone())
    }
}

impl Judge<'_> {
    fn task(&mut self, spec: &TaskSpec) -> Belief {
        let told = self.state.tasks.get(&spec.id);
        let none = ForeignTask::unknown();
        let task = told.unwrap_or(&none);
        let mut judged = self.judged(spec, task, told.is_some());
        if let Some(past) = judged.past.as_mut().filter(|past| past.status != Status::Pending) {
            // It failed in a worktree where the next try continues, or landed and left one that is not needed any more.
            if let Ok(Some(left)) = self.in_worktree(&spec.id) {
                judged.worktree = left.path();
                past.base = Some(left.base);
            }
        }
        let Judged { past, why, corrected, worktree } = judged;
        let claimed = told.map(|task| task.status.word());
        Belief { task: spec.id.clone(), claimed, past, why, corrected, worktree }
    }

    fn judged(&mut self, spec: &TaskSpec, task: &ForeignTask, told: bool) -> Judged {
        let claims_done = told && task.status == TaskStatus::Completed;
        let doubt = match self.in_target(spec, task, claims_done) {
            Ok((commit, why)) => {
                return Judged { corrected: !claims_done, ..Judged::as_claimed(landing(task, &commit), why) };
            }
            Err(doubt) => doubt,
        };
        if !claims_done {
            return self.unfinished(spec, task, told);
        }
        if self.state.no_commits && task.commits.is_empty() {
            let past = past(task, Status::Completed, spent_before(task));
            let why = "it was done without commits, so only the state file says so";
            return Judged::as_claimed(ImportedTask { proof: Some(Proof::Reported), ..past }, why);
        }
        // Whether it failed or was lost, it has to be done again, under the same number.
        Judged::corrected(past(task, Status::Pending, spent_before(task)), doubt)
    }

    /// The commit of the target that is a task's work, and why; or why there is no such commit.
    fn in_target(
        &mut self,
        spec: &TaskSpec,
        task: &ForeignTask,
        claims_done: bool,
    ) -> Result<(Oid, String), String> {
        let history = &self.target.history;
        let recorded = self.recorded(&spec.id, task);
        let of_another = match &recorded {
            Recorded::InTarget(place) => !history.is_of(*place, spec),
            _ => false,
        };
        let mut own = history.naming(spec);
        let in_target = match recorded {
            Recorded::InTarget(place) if !of_another => Some(place),
            _ => None,
        };
        own.extend(in_target);
        let owner = |place: InTarget| history.other_owner(place, &spec.id).map_or("another", TaskId::as_str);
        let mut doubt = match (&recorded, task.commits.last()) {
            (Recorded::Shared(place), _) => {
                format!("its commit {} also belongs to {}", self.name(*place), owner(*place))
            }
            (Recorded::InTarget(place), _) if of_another => {
                format!("its commit {} landed another task under this id", self.name(*place))
            }
            (_, Some(commit)) => format!("its commit {} is not part of the target", short(&commit.hash)),
            (_, None) => "no commit in the target names it".to_owned(),
        };
        let found = match (history.last_word(&own), in_target, &recorded) {
            (Some(LastWord::TakenBack(by)), ..) => {
                return Err(format!("{} reverted its work", self.name(by)));
            }
            (Some(LastWord::Landed(_)), Some(place), _) => {
                Some((place, format!("its commit {} is part of the target", self.name(place))))
            }
            (Some(LastWord::Landed(place)), ..) if claims_done && !task.commits.is_empty() => {
                Some((place, format!("{doubt}, but {} there names it", self.name(place))))
            }
            (Some(LastWord::Landed(place)), ..) => {
                Some((place, format!("{} in the target names it", self.name(place))))
            }
            (None, _, Recorded::Lost(lost)) => match self.target.stand_in(&spec.id, lost) {
                StandIn::Found(place, how) => {
                    Some((place, format!("{doubt}, but {} there {how}", self.name(place))))
                }
                StandIn::Holds(place) => {
                    // It is others' work as well.
                    let why = format!("{doubt}, but {} there contains it, with other work", self.name(place));
                    return Ok((history.commit(place).id.clone(), why));
                }
                StandIn::OfAnother(place) => {
                    let (name, owner) = (self.name(place), owner(place));
                    doubt = format!("{doubt}; {name} there does the same, but for {owner}");
                    None
                }
                StandIn::Nothing => None,
            },
            (None, ..) => None,
        };
        let found = match found {
            None if is_verified(task.status) => self.merged_branch(&spec.id).map(|place| {
                let why = format!("its branch was merged, with {}", self.name(place));
                (place, why)
            }),
            found => found,
        };
        let Some((place, why)) = found else { return Err(doubt) };
        self.target.history.give(place, &spec.id);
        Ok((self.target.history.commit(place).id.clone(), why))
    }

    fn name(&self, place: InTarget) -> &str {
        self.target.history.commit(place).id.short()
    }

    fn recorded(&self, id: &TaskId, task: &ForeignTask) -> Recorded {
        self.target.recorded(id, proofs(task).iter().map(String::as_str))
    }

    /// The tip of a task's branch, if it was committed to and is part of the target.
    fn merged_branch(&self, id: &TaskId) -> Option<InTarget> {
        let tip = match self.worktrees.get(id) {
            Some(Worktree::There { tip, .. }) => tip.as_ref(),
            _ => self.branches.get(id).map(|branch| &branch.tip),
        };
        let place = self.target.history.merged(&tip?.head)?;
        self.target.history.other_owner(place, id).is_none().then_some(place)
    }

    /// A task that is not part of the target.
    fn unfinished(&self, spec: &TaskSpec, task: &ForeignTask, told: bool) -> Judged {
        use TaskStatus::{Abandoned, Completed, Failed, InProgress, Merging, Pending, Verified, Verifying};
        match task.status {
            Abandoned => {
                let spent = task.attempts.max(spec.attempts);
                Judged::as_claimed(past(task, Status::Abandoned, spent), "it was abandoned")
            }
            Failed if task.attempts >= spec.attempts => {
                let why = format!("{} of {} attempts are spent", task.attempts, spec.attempts);
                Judged::corrected(past(task, Status::Abandoned, task.attempts), why)
            }
            Failed => {
                // One that does not say how often it was tried was tried.
                let spent = task.attempts.max(1);
                let why = format!("attempt {spent} failed; the next prompt says why");
                Judged::as_claimed(past(task, Status::Failed, spent), why)
            }
            Pending | Completed if !told || task.attempts == 0 => match self.left(&spec.id, task) {
                Ok(left) => goes_on(task, &left),
                Err(_) => Judged::nothing(),
            },
            Pending | Completed => {
                Judged::as_claimed(past(task, Status::Pending, spent_before(task)), "it waits")
            }
            InProgress | Verifying | Verified | Merging => match self.left(&spec.id, task) {
                Ok(left) => goes_on(task, &left),
                Err(gone) => {
                    let why = format!("{gone}, so the same attempt starts again");
                    Judged::corrected(past(task, Status::Pending, spent_before(task)), why)
                }
            },
        }
    }

    /// What is left of a task that was in progress, or the reason why it cannot be resumed. Verified work may be
    /// without its worktree.
    fn left(&self, id: &TaskId, task: &ForeignTask) -> Result<Remains, String> {
        let gone = match self.in_worktree(id) {
            Ok(Some(left)) => return Ok(left),
            Ok(None) => "its branch is gone, or has nothing in common with the target".to_owned(),
            Err(gone) => gone,
        };
        if !is_verified(task.status) {
            return Err(gone);
        }
        let left = match (self.branches.get(id), self.recorded(id, task)) {
            (Some(branch), _) => Remains::new(&branch.tip, format!("on {}", branch.name)),
            (None, Recorded::Lost(head)) => self.target.lost.get(&head).and_then(|lost| {
                let place = format!("in {}", head.short());
                Remains::new(
                    &Tip { head: head.clone(), tree: lost.tree.clone(), base: lost.base.clone() },
                    place,
                )
            }),
            (None, _) => None,
        };
        match left {
            Some(left) if left.has_commits() => Ok(left),
            Some(left) => Err(format!("nothing is {}", left.place)),
            None => Err(gone),
        }
    }

    /// What is in the worktree of a task. `None`: there is nothing to resume. The error says why the worktree cannot be
    /// used.
    fn in_worktree(&self, id: &TaskId) -> Result<Option<Remains>, String> {
        match self.worktrees.get(id).unwrap_or(&Worktree::Gone) {
            Worktree::Gone => Err("its worktree no longer exists".to_owned()),
            Worktree::Taken => Err("its worktree belongs to another run".to_owned()),
            Worktree::Elsewhere { named, dir } => Err(format!("its worktree {named} is not in {dir}")),
            Worktree::There { path, tip, is_clean } => {
                let left = tip.as_ref().and_then(|tip| Remains::new(tip, "in its worktree".to_owned()));
                Ok(left.map(|left| Remains { worktree: Some((path.clone(), *is_clean)), ..left }))
            }
        }
    }
}

/// Work continues where it is found. Finished work only needs its checks.
fn goes_on(task: &ForeignTask, left: &Remains) -> Judged {
    let is_clean = left.worktree.as_ref().is_none_or(|(_, is_clean)| *is_clean);
    let recheck = is_done(task.status) && left.has_commits() && is_clean;
    let work = left.has_commits().then(|| Work {
        commit: Some(left.head.clone()),
        tree: left.tree.clone(),
        changed: true,
        found_work: true,
        touches_judges: false,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    });
    let why = match (recheck, left.has_commits()) {
        (true, _) => format!("its work is {}: only its checks run again", left.place),
        (false, true) => "its worktree exists, with commits: the same attempt continues".to_owned(),
        (false, false) => "its worktree exists: the same attempt continues in it".to_owned(),
    };
    let past = past(task, Status::Pending, spent_before(task));
    let past = ImportedTask { base: Some(left.base.clone()), work, recheck, ..past };
    let corrected = task.status == TaskStatus::Pending;
    Judged { worktree: left.path(), corrected, ..Judged::as_claimed(past, why) }
}

fn landing(task: &ForeignTask, commit: &Oid) -> ImportedTask {
    let mut past = past(task, Status::Completed, spent_before(task));
    if past.commits.is_empty() {
        past.commits.push(ImportedCommit {
            hash: commit.to_string(),
            attempt: 1,
            ..ImportedCommit::default()
        });
    }
    ImportedTask { proof: Some(takeover::landed(commit)), ..past }
}

/// The attempts before the one that is, or was, under way.
fn spent_before(task: &ForeignTask) -> u32 {
    task.attempts.saturating_sub(1)
}

fn past(task: &ForeignTask, status: Status, spent: u32) -> ImportedTask {
    ImportedTask {
        spent,
        started_at: task.started_at,
        completed_at: task.completed_at,
        merged_at: task.merged_at,
        commits: task.commits.clone(),
        errors: task.errors.clone(),
        feedback: task.feedback.clone(),
        ..ImportedTask::plain(status)
    }
}

fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

#[cfg(test)]
mod tests;
