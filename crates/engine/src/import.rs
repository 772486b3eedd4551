//! Taking over what another system left: its state file says what it believes, git says what is there.
//!
//! Each task is judged on its own commits. A claim counts as far as git bears it out; what is in the history counts
//! although nobody claims it. Nothing here changes the repository.

use std::collections::{BTreeMap, HashSet};

use camino::{Utf8Path, Utf8PathBuf};
use piton_core::plan::{Oid, TaskId, TaskSpec};
use piton_core::run::{Past, PastCommit, Proof, Status, Work};
use piton_core::system::execute::state::{ForeignState, ForeignTask, TaskStatus};

use crate::git::{GitError, Repo, Worktree};
use crate::landed::{Landed, LastWord, Place, StandIn, is_hash};

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

/// Judge every task of a plan. `is_taken`: whether a worktree is that of another run.
pub fn judge(
    repo: &Repo,
    tip: &Oid,
    tasks: &[TaskSpec],
    state: &ForeignState,
    worktree_dir: &Utf8Path,
    is_taken: &dyn Fn(&Utf8Path) -> bool,
) -> Result<Vec<Belief>, GitError> {
    let ids: HashSet<&TaskId> = tasks.iter().map(|spec| &spec.id).collect();
    let mut landed = Landed::read(repo, tip, &ids)?;
    for (id, task) in state.tasks.iter().filter(|(id, _)| ids.contains(id)) {
        let recorded = task.commits.iter().filter_map(|commit| landed.history.find(&commit.hash));
        recorded.collect::<Vec<_>>().into_iter().for_each(|place| landed.history.give(place, id));
    }
    let mut judge = Judge { repo, tip, landed, state, worktree_dir, is_taken };
    for (id, task) in &state.tasks {
        if let Recorded::Lost(commit) = judge.recorded(id, task)? {
            judge.landed.miss(commit);
        }
    }
    tasks.iter().map(|spec| judge.task(spec)).collect()
}

/// What git has of a unit's work: commits that it knows, oldest first, and the last of them that the target holds.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub commits: Vec<PastCommit>,
    pub landed: Option<Oid>,
}

/// The same for each of these tasks, by what its messages name and by the hashes that a log names.
pub fn found(
    repo: &Repo,
    tip: &Oid,
    tasks: &[TaskSpec],
    logged: &BTreeMap<TaskId, Vec<String>>,
) -> Result<BTreeMap<TaskId, Found>, GitError> {
    let mut landed = Landed::read(repo, tip, &tasks.iter().map(|spec| &spec.id).collect())?;
    let mut lost: BTreeMap<&TaskId, Vec<Oid>> = BTreeMap::new();
    for (id, hashes) in logged {
        for hash in hashes.iter().map(|hash| hash.to_ascii_lowercase()) {
            if landed.history.find(&hash).is_none() && is_hash(&hash) {
                lost.entry(id).or_default().extend(repo.find_commit(&hash)?);
            }
        }
    }
    lost.values().flatten().for_each(|commit| landed.miss(commit.clone()));
    let mut found = BTreeMap::new();
    for spec in tasks {
        let mut own = landed.history.naming(spec);
        let hashes = logged.get(&spec.id).map(Vec::as_slice).unwrap_or_default();
        let logged = hashes.iter().filter_map(|hash| landed.history.find(hash));
        own.extend(logged.filter(|place| landed.history.is_of(*place, spec)));
        // Somebody may have rebased or squashed it since.
        let lost = lost.remove(&spec.id).unwrap_or_default();
        for commit in &lost {
            if let StandIn::Found(place, _) | StandIn::Holds(place) = landed.stand_in(&spec.id, commit)? {
                own.push(place);
            }
        }
        own.sort_unstable();
        own.dedup();
        let last = match landed.history.last_word(&own) {
            Some(LastWord::Landed(place)) => Some(landed.history.commit(place).id.clone()),
            Some(LastWord::TakenBack(_)) | None => None,
        };
        let commit = |hash: &Oid, subject: &str| PastCommit {
            hash: hash.to_string(),
            subject: subject.to_owned(),
            ..PastCommit::default()
        };
        let there = own.iter().rev().map(|place| landed.history.commit(*place));
        let there = there.map(|known| commit(&known.id, &known.subject));
        let commits = lost.iter().map(|id| commit(id, "")).chain(there).collect();
        found.insert(spec.id.clone(), Found { commits, landed: last });
    }
    Ok(found)
}

struct Judge<'a> {
    repo: &'a Repo,
    tip: &'a Oid,
    landed: Landed<'a>,
    state: &'a ForeignState,
    worktree_dir: &'a Utf8Path,
    is_taken: &'a dyn Fn(&Utf8Path) -> bool,
}

/// The last commit that was recorded for a task and exists.
enum Recorded {
    Nothing,
    InTarget(Place),
    /// In the target, but another task names it or records it as well: it proves nothing.
    Shared(Place),
    /// In the target, but the task asked for something else when it landed.
    OfAnother(Place),
    Lost(Oid),
}

/// Work that is not part of the target.
struct Left {
    /// The worktree it is in, if that is there.
    worktree: Option<Worktree>,
    /// Where it began.
    base: Oid,
    head: Oid,
    tree: Oid,
    /// Where it is found.
    place: String,
}

impl Left {
    fn has_commits(&self) -> bool {
        self.head != self.base
    }

    fn path(&self) -> Option<Utf8PathBuf> {
        self.worktree.as_ref().map(|worktree| worktree.path().to_owned())
    }
}

impl Judge<'_> {
    fn task(&mut self, spec: &TaskSpec) -> Result<Belief, GitError> {
        let told = self.state.tasks.get(&spec.id);
        let none = ForeignTask::unknown();
        let task = told.unwrap_or(&none);
        let mut judged = self.judged(spec, task, told.is_some())?;
        if let Some(past) = judged.past.as_mut().filter(|past| past.status != Status::Pending) {
            // It failed in a worktree where the next try goes on, or landed and left one that nobody needs.
            let left =
                self.worktree(spec, task)?.ok().map(|worktree| self.in_worktree(worktree)).transpose()?;
            if let Some(left) = left.flatten() {
                judged.worktree = left.path();
                past.base = Some(left.base);
            }
        }
        let Judged { past, why, corrected, worktree } = judged;
        let claimed = told.map(|task| task.status);
        Ok(Belief { task: spec.id.clone(), claimed, past, why, corrected, worktree })
    }

    fn judged(&mut self, spec: &TaskSpec, task: &ForeignTask, told: bool) -> Result<Judged, GitError> {
        let claims_done = told && task.status == TaskStatus::Completed;
        let doubt = match self.in_target(spec, task, claims_done)? {
            Ok((commit, why)) => {
                return Ok(Judged {
                    corrected: !claims_done,
                    ..Judged::as_claimed(landing(task, &commit), why)
                });
            }
            Err(doubt) => doubt,
        };
        if !claims_done {
            return self.unfinished(spec, task, told);
        }
        if self.state.no_commits && task.commits.is_empty() {
            let past = past(task, Status::Completed, spent_before(task));
            let why = "it was done without commits, so there is only its word";
            return Ok(Judged::as_claimed(Past { proof: Some(Proof::Reported), ..past }, why));
        }
        // Whether it failed or was lost, it has to be done again, under the same number.
        Ok(Judged::corrected(past(task, Status::Pending, spent_before(task)), doubt))
    }

    /// The commit of the target that is a task's work, and why it is; or why there is none.
    fn in_target(
        &mut self,
        spec: &TaskSpec,
        task: &ForeignTask,
        claims_done: bool,
    ) -> Result<Result<(Oid, String), String>, GitError> {
        let verified = matches!(task.status, TaskStatus::Verified | TaskStatus::Merging);
        let recorded = match self.recorded(&spec.id, task)? {
            Recorded::InTarget(place) if !self.landed.history.is_of(place, spec) => {
                Recorded::OfAnother(place)
            }
            recorded => recorded,
        };
        let mut own = self.landed.history.naming(spec);
        if let Recorded::InTarget(place) = recorded {
            own.push(place);
        }
        let mut doubt = match (&recorded, task.commits.last()) {
            (Recorded::Shared(place), _) => {
                let owner =
                    self.landed.history.other_owner(*place, &spec.id).map_or("another", TaskId::as_str);
                format!("its commit {} is {owner}'s as well", self.name(*place))
            }
            (Recorded::OfAnother(place), _) => {
                format!("its commit {} landed another task under this id", self.name(*place))
            }
            (_, Some(commit)) => format!("its commit {} is not part of the target", short(&commit.hash)),
            (_, None) => "no commit in the target names it".to_owned(),
        };
        let found = match (self.landed.history.last_word(&own), recorded) {
            (Some(LastWord::TakenBack(by)), _) => {
                return Ok(Err(format!("{} took back what it had done", self.name(by))));
            }
            (Some(LastWord::Landed(_)), Recorded::InTarget(place)) => {
                Some((place, format!("its commit {} is part of the target", self.name(place))))
            }
            (Some(LastWord::Landed(place)), _) if claims_done && !task.commits.is_empty() => {
                Some((place, format!("{doubt}, but {} there names it", self.name(place))))
            }
            (Some(LastWord::Landed(place)), _) => {
                Some((place, format!("{} in the target names it", self.name(place))))
            }
            (None, Recorded::Lost(lost)) => match self.landed.stand_in(&spec.id, &lost)? {
                StandIn::Found(place, how) => {
                    Some((place, format!("{doubt}, but {} there {how}", self.name(place))))
                }
                StandIn::Holds(place) => {
                    // It is others' work as well.
                    let why = format!("{doubt}, but {} there holds it, with other work", self.name(place));
                    return Ok(Ok((self.landed.history.commit(place).id.clone(), why)));
                }
                StandIn::OfAnother(place) => {
                    let owner =
                        self.landed.history.other_owner(place, &spec.id).map_or("another", TaskId::as_str);
                    doubt = format!("{doubt}; {} there does the same, but for {owner}", self.name(place));
                    None
                }
                StandIn::Nothing => None,
            },
            (None, _) => None,
        };
        let found = match found {
            None if verified => self.merged_branch(spec, task)?.map(|place| {
                let why = format!("its branch was merged, with {}", self.name(place));
                (place, why)
            }),
            found => found,
        };
        let Some((place, why)) = found else { return Ok(Err(doubt)) };
        self.landed.history.give(place, &spec.id);
        Ok(Ok((self.landed.history.commit(place).id.clone(), why)))
    }

    fn name(&self, place: Place) -> &str {
        self.landed.history.commit(place).id.short()
    }

    fn recorded(&self, id: &TaskId, task: &ForeignTask) -> Result<Recorded, GitError> {
        use TaskStatus::{Completed, Merging, Verified};
        let mut last = Recorded::Nothing;
        if !matches!(task.status, Completed | Merging | Verified) {
            // Commits of work that did not pass are no proof.
            return Ok(last);
        }
        for commit in task.commits.iter().rev() {
            let hash = commit.hash.trim().to_ascii_lowercase();
            match self.landed.history.find(&hash) {
                Some(place) if self.landed.history.other_owner(place, id).is_none() => {
                    return Ok(Recorded::InTarget(place));
                }
                Some(place) => last = Recorded::Shared(place),
                None if is_hash(&hash) => {
                    if let Some(id) = self.repo.find_commit(&hash)? {
                        return Ok(Recorded::Lost(id));
                    }
                }
                None => {}
            }
        }
        Ok(last)
    }

    /// The tip of a task's branch, if it was committed to and is part of the target.
    fn merged_branch(&self, spec: &TaskSpec, task: &ForeignTask) -> Result<Option<Place>, GitError> {
        let tip = match self.worktree(spec, task)? {
            Ok(worktree) => worktree.head()?,
            Err(_) => self.branch(spec, task)?.map(|(_, tip)| tip),
        };
        let merged = tip.and_then(|tip| self.landed.history.merged(&tip));
        Ok(merged.filter(|place| self.landed.history.other_owner(*place, &spec.id).is_none()))
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
                // One that does not say how often it was tried was tried.
                let spent = task.attempts.max(1);
                let why = format!("attempt {spent} failed; the next one is told why");
                Judged::as_claimed(past(task, Status::Failed, spent), why)
            }
            Pending | Completed if !told || task.attempts == 0 => match self.left(spec, task)? {
                Ok(left) => goes_on(task, &left)?,
                Err(_) => Judged::nothing(),
            },
            Pending | Completed => {
                Judged::as_claimed(past(task, Status::Pending, spent_before(task)), "it waits")
            }
            InProgress | Verifying | Verified | Merging => match self.left(spec, task)? {
                Ok(left) => goes_on(task, &left)?,
                Err(gone) => {
                    let why = format!("{gone}, so it begins again under the same number");
                    Judged::corrected(past(task, Status::Pending, spent_before(task)), why)
                }
            },
        })
    }

    /// What is left of a task that was under way, or what of it is gone. Verified work may be without its worktree.
    fn left(&self, spec: &TaskSpec, task: &ForeignTask) -> Result<Result<Left, String>, GitError> {
        let mut gone = match self.worktree(spec, task)? {
            Ok(worktree) => match self.in_worktree(worktree)? {
                Some(left) => return Ok(Ok(left)),
                None => "its branch is gone, or has nothing in common with the target".to_owned(),
            },
            Err(gone) => gone,
        };
        if !matches!(task.status, TaskStatus::Verified | TaskStatus::Merging) {
            return Ok(Err(gone));
        }
        let found = match (self.branch(spec, task)?, self.recorded(&spec.id, task)?) {
            (Some((name, tip)), _) => Some((format!("on {name}"), tip)),
            (None, Recorded::Lost(id)) => Some((format!("in {}", id.short()), id)),
            (None, _) => None,
        };
        if let Some((place, head)) = found
            && let Some(base) = self.repo.merge_base(&head, self.tip)?
        {
            let tree = self.repo.tree_of(&head)?;
            let left = Left { worktree: None, base, head, tree, place };
            if left.has_commits() {
                return Ok(Ok(left));
            }
            gone = format!("nothing is {}", left.place);
        }
        Ok(Err(gone))
    }

    /// The worktree of a task, where Piton would look for it: one elsewhere is left to whoever made it.
    fn worktree(&self, spec: &TaskSpec, task: &ForeignTask) -> Result<Result<Worktree, String>, GitError> {
        let path = self.worktree_dir.join(spec.id.as_str());
        match Worktree::open(self.repo, &path)? {
            Some(_) if (self.is_taken)(&path) => return Ok(Err("its worktree is another run's".to_owned())),
            Some(worktree) => return Ok(Ok(worktree)),
            None => {}
        }
        let told =
            task.worktree_path.as_deref().map(Utf8Path::new).filter(|told| *told != path && told.exists());
        Ok(Err(match told {
            Some(told) => format!("its worktree {told} is not in {}", self.worktree_dir),
            None => "its worktree is gone".to_owned(),
        }))
    }

    fn in_worktree(&self, worktree: Worktree) -> Result<Option<Left>, GitError> {
        let Some(head) = worktree.head()? else { return Ok(None) };
        let Some(base) = self.repo.merge_base(&head, self.tip)? else { return Ok(None) };
        let tree = self.repo.tree_of(&head)?;
        let place = "in its worktree".to_owned();
        Ok(Some(Left { worktree: Some(worktree), base, head, tree, place }))
    }

    /// The branch of a task. Where another run works on a task of that name, the branch is that run's.
    fn branch(&self, spec: &TaskSpec, task: &ForeignTask) -> Result<Option<(String, Oid)>, GitError> {
        let path = self.worktree_dir.join(spec.id.as_str());
        if (self.is_taken)(&path) && Worktree::open(self.repo, &path)?.is_some() {
            return Ok(None);
        }
        let name = task.branch.clone().unwrap_or_else(|| format!("worktree-{}", spec.id));
        match self.repo.branch_tip(&name) {
            // A name that git would not take is nobody's branch.
            Err(GitError::BadName(_)) => Ok(None),
            tip => Ok(tip?.map(|tip| (name, tip))),
        }
    }
}

/// Work goes on where it is found; what was done only needs its checks.
fn goes_on(task: &ForeignTask, left: &Left) -> Result<Judged, GitError> {
    let done = matches!(task.status, TaskStatus::Verifying | TaskStatus::Verified | TaskStatus::Merging);
    let clean = match &left.worktree {
        Some(worktree) => done && worktree.status()?.is_clean(),
        None => true,
    };
    let recheck = done && left.has_commits() && clean;
    let work = left.has_commits().then(|| Work {
        commit: Some(left.head.clone()),
        tree: left.tree.clone(),
        changed: true,
        found_work: true,
        markers: Vec::new(),
        commits: Vec::new(),
        created: Vec::new(),
        modified: Vec::new(),
    });
    let why = match (recheck, left.has_commits()) {
        (true, _) => format!("its work is {}: only its checks are run again", left.place),
        (false, true) => "its worktree is there, with commits: the same attempt goes on".to_owned(),
        (false, false) => "its worktree is there: the same attempt goes on in it".to_owned(),
    };
    let past = past(task, Status::Pending, spent_before(task));
    let past = Past { base: Some(left.base.clone()), work, recheck, ..past };
    let corrected = task.status == TaskStatus::Pending;
    Ok(Judged { worktree: left.path(), corrected, ..Judged::as_claimed(past, why) })
}

fn landing(task: &ForeignTask, commit: &Oid) -> Past {
    let proof = Proof::Landed { commit: commit.clone(), verified: commit.clone() };
    let mut past = past(task, Status::Completed, spent_before(task));
    if past.commits.is_empty() {
        past.commits.push(PastCommit { hash: commit.to_string(), attempt: 1, ..PastCommit::default() });
    }
    Past { proof: Some(proof), ..past }
}

/// The attempts before the one that is, or was, under way.
fn spent_before(task: &ForeignTask) -> u32 {
    task.attempts.saturating_sub(1)
}

fn past(task: &ForeignTask, status: Status, spent: u32) -> Past {
    Past {
        spent,
        started_at: task.started_at,
        completed_at: task.completed_at,
        merged_at: task.merged_at,
        commits: task.commits.clone(),
        errors: task.errors.clone(),
        feedback: task.feedback.clone(),
        ..Past::plain(status)
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
