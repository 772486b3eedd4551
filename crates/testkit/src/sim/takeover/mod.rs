//! A run that begins by taking over what another system left: some of its work has landed, some was reverted, some is
//! lost and some lies in worktrees, and the claims of its state file are true or false.

mod lists;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use piton_core::history::{Change, Commit, History, Lost, Part, Target};
use piton_core::plan::{Digest, Oid, TaskId, TaskSpec};
use piton_core::run::{Command, Event, ImportedCommit, ImportedTask, Proof, Status};
use piton_core::system::execute::state::{ForeignState, ForeignTask, TaskStatus};
use piton_core::system::execute::takeover::Left;
use piton_core::system::kit::takeover::{Branch, Evidence, Legacy, Onto, Questions, Takeover, Tip, Worktree};

use super::Sabotage;
use super::content::{Scope, Tree, changed, get, persons};
use super::driver::{Answer, Sim};
use super::git::{CommitNo, Git, TREES, commit_no, oid};
use super::laws::{Broken, ensure, named};
use super::scenario::index;

use lists::Lists;

type Verdict = Result<(), String>;

/// What really happened before the run, whatever a state file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Tasks whose work the target holds.
    landed: BTreeSet<TaskId>,
    /// Those of them that a message names.
    named: BTreeSet<TaskId>,
    /// Commits that the target has in rewritten form.
    rewritten: BTreeSet<Oid>,
    /// Commits of the target that are known to belong to a task.
    owned: Vec<Oid>,
    /// Tasks that were taken over as completed.
    completed: BTreeSet<TaskId>,
    /// Tasks that are resumed in an existing worktree.
    pub(super) goes_on: BTreeSet<TaskId>,
}

/// What another program left.
pub(super) enum Legacies {
    /// A state file with worktrees.
    Execute(Box<Left>),
    Lists(Box<Lists>),
}

impl Sim {
    /// Another program works on the plan, with one system or another.
    pub(super) fn others_leave_a_plan(&mut self) -> Legacies {
        // Only without a sabotage, since sabotages are about state files.
        if self.sabotage.is_none() && self.rng.chance(45) {
            return Legacies::Lists(Box::new(self.others_work_on_a_list()));
        }
        Legacies::Execute(Box::new(self.others_work()))
    }

    pub(super) fn take_over_plan(&mut self, left: &Legacies) -> Result<(), Broken> {
        match left {
            Legacies::Execute(left) => self.take_over(left),
            Legacies::Lists(left) => self.take_over_lists(left),
        }
    }

    /// Another program works on the plan, and leaves a state file.
    fn others_work(&mut self) -> Left {
        let mut state = ForeignState::default();
        let mut specs = self.scenario.plan.tasks.clone();
        specs.sort_by_key(|spec| index(&spec.id));
        for spec in &specs {
            let ready = spec.depends_on.iter().all(|need| self.before.landed.contains(need));
            let commits = match self.rng.below(10) {
                0..4 if ready => self.others_land(spec),
                4 => vec![self.others_commit(spec, &[self.git.target])],
                5 | 6 => self.others_leave(spec),
                _ => Vec::new(),
            };
            if let Some(task) = self.others_claim(spec, &commits) {
                state.tasks.insert(spec.id.clone(), task);
            }
        }
        Left { state }
    }

    fn others_commit(&mut self, spec: &TaskSpec, parents: &[CommitNo]) -> CommitNo {
        let base = self.git.tree(parents[0]).clone();
        let mut tree = base.clone();
        self.scenario.subjects.work(index(&spec.id), &mut tree, &base, Scope::AsAsked);
        self.git.commit(tree, parents, None)
    }

    /// Work that lands, perhaps as a rewritten commit, and is perhaps reverted.
    pub(super) fn others_land(&mut self, spec: &TaskSpec) -> Vec<CommitNo> {
        let tip = self.git.target;
        let mut made = self.others_commit(spec, &[tip]);
        let is_rewritten = self.rng.chance(25);
        if is_rewritten {
            // A person committed first, and the work was rebased on that.
            let mut tree = self.git.tip().clone();
            tree.insert(persons(0), get(&tree, persons(0)) + 1);
            let moved = self.git.commit(tree, &[tip], None);
            let rebased = self.others_commit(spec, &[moved]);
            self.before.rewritten.insert(oid(made));
            self.git.target = rebased;
        } else {
            self.git.target = made;
        }
        self.before.landed.insert(spec.id.clone());
        let landed = self.git.target;
        if self.rng.chance(60) {
            self.git.say(landed, format!("[{}] {}", spec.id, spec.title));
            self.before.named.insert(spec.id.clone());
            self.before.owned.push(oid(landed));
        }
        if self.rng.chance(15) {
            let tree = self.git.parent_tree(landed);
            let back = self.git.commit(tree, &[landed], None);
            self.git.reverts.push((back, landed));
            self.git.target = back;
            self.before.landed.remove(&spec.id);
        }
        if self.rng.chance(20) {
            made = landed;
        }
        vec![made]
    }

    /// Work that lies in a worktree: committed or not, right or not.
    fn others_leave(&mut self, spec: &TaskSpec) -> Vec<CommitNo> {
        let place = index(&spec.id);
        self.git.make_worktree(place, self.git.target);
        let base = self.git.tip().clone();
        let worktree = self.git.worktrees.get_mut(&place).expect("just made");
        match self.rng.below(3) {
            0 => {}
            1 => self.scenario.subjects.work(place, &mut worktree.tree, &base, Scope::AsAsked),
            _ => {
                worktree.tree.insert(super::content::own(place), super::content::WRONG);
            }
        }
        let head = self.git.target;
        let committed = self.rng.chance(70).then(|| self.git.capture(place)).flatten();
        // What was there before is not recorded.
        committed.map(|(commit, _)| commit).filter(|commit| *commit != head).into_iter().collect()
    }

    /// What the state file says of a task. Most of it is true.
    fn others_claim(&mut self, spec: &TaskSpec, commits: &[CommitNo]) -> Option<ForeignTask> {
        use TaskStatus::{Abandoned, Completed, Failed, InProgress, Merging, Pending, Verified, Verifying};
        let all = [Pending, InProgress, Verifying, Verified, Merging, Completed, Failed, Abandoned];
        let is_there = self.git.worktrees.contains_key(&index(&spec.id));
        let is_landed = self.before.landed.contains(&spec.id);
        let likely: &[TaskStatus] = match () {
            () if is_landed => &[Completed],
            () if is_there => &[InProgress, Verifying, Verified, Failed],
            () if commits.is_empty() => &[Pending, Failed, Abandoned],
            () => &[Verified, Merging, Completed],
        };
        if self.rng.chance(15) {
            return None;
        }
        let from = if self.rng.chance(70) { likely } else { &all };
        let status = *self.rng.pick(from).expect("not empty");
        let mut commits: Vec<Oid> =
            commits.iter().map(|no| oid(*no)).filter(|_| self.rng.chance(85)).collect();
        self.before.owned.extend(commits.iter().filter(|commit| self.git.is_landed(commit)).cloned());
        let other = self.rng.pick(&self.before.owned).cloned();
        if self.rng.chance(10) {
            // A commit of another task.
            commits.extend(other);
        }
        let commit = |hash: &Oid| ImportedCommit { hash: hash.to_string(), ..ImportedCommit::default() };
        let commits = commits.iter().map(commit).collect();
        Some(ForeignTask { status, attempts: self.rng.small(0, 4), commits, ..ForeignTask::unknown() })
    }

    /// Take it over. A process that dies over it and begins again comes to the same result.
    fn take_over(&mut self, left: &Left) -> Result<(), Broken> {
        let specs = self.scenario.plan.tasks.clone();
        let judge = |sim: &mut Sim| {
            let evidence = sim.looks_around(&specs, &left.questions(&specs));
            left.take_over(&specs, &evidence).expect("the plan has every task")
        };
        let mut taken = judge(self);
        for _ in 0..self.rng.below(3) {
            self.time += self.rng.between(1, 100_000);
            let again = judge(self);
            let same = again.beliefs == taken.beliefs && again.lines == taken.lines;
            named("taken_over_again_is_the_same", ensure(same, || format!("{again:?}, not {taken:?}")))?;
            self.coverage.saw("a take-over was begun again");
        }
        self.break_its_word(left, &mut taken);
        for command in taken.commands.clone() {
            if let Answer::Refused(refusal) = self.submit(&command)? {
                return Err(("taken_over_in_one_step", format!("{command:?}: {refusal}")));
            }
        }
        named("taken_over_is_borne_out", self.is_borne_out(&taken))?;
        named("what_landed_is_not_done_again", self.is_all_there(left, &specs))?;
        named("attempts_are_not_refilled", self.is_not_refilled(left, &specs))?;
        self.notice(left, &taken);
        Ok(())
    }

    /// Sabotage: the take-over does not look at the evidence.
    fn break_its_word(&mut self, left: &Left, taken: &mut Takeover) {
        let tip = oid(self.git.target);
        match self.sabotage {
            Some(Sabotage::BelieveTheFile) => {
                let told = |id: &TaskId| left.state.tasks.get(id).map(|task| task.status);
                let is_done = |past: &ImportedTask| past.status == Status::Completed;
                for belief in &mut taken.beliefs {
                    let is_claimed = told(&belief.task) == Some(TaskStatus::Completed);
                    if is_claimed && !belief.past.as_ref().is_some_and(is_done) {
                        let proof = Proof::Landed { commit: tip.clone(), verified: tip.clone() };
                        belief.past = Some(ImportedTask {
                            proof: Some(proof),
                            ..ImportedTask::plain(Status::Completed)
                        });
                    }
                }
            }
            Some(Sabotage::ForgetTheFile) => taken.beliefs.iter_mut().for_each(|belief| belief.past = None),
            _ => return,
        }
        let adopt = |(task, past): (TaskId, ImportedTask)| Command::Adopt {
            task,
            by: "sim".to_owned(),
            past: Box::new(past),
        };
        let pasts =
            taken.beliefs.iter().filter_map(|belief| Some((belief.task.clone(), belief.past.clone()?)));
        taken.commands = pasts.map(adopt).collect();
    }

    /// The evidence that the simulated world gives.
    pub(super) fn looks_around(&mut self, specs: &[TaskSpec], questions: &Questions) -> Evidence {
        let mut target = Target::new(self.git.history(specs));
        for (task, hashes) in &questions.owned {
            for hash in hashes {
                target.history.find(hash).into_iter().for_each(|place| target.history.give(place, task));
            }
        }
        let hashes = questions.commits.iter().flat_map(BTreeMap::values).flatten();
        for hash in hashes.filter(|hash| target.history.find(hash).is_none()).collect::<Vec<_>>() {
            let Some(no) = Oid::new(hash).ok().as_ref().and_then(commit_no) else { continue };
            target.elsewhere.insert(hash.clone(), oid(no));
            let lost = self.git.lost(no);
            target.lost.insert(oid(no), lost);
        }
        let (mut worktrees, mut branches) = (BTreeMap::new(), BTreeMap::new());
        for (id, place) in &questions.places {
            let Some(worktree) = self.git.worktrees.get(&index(id)).cloned() else { continue };
            let tip = self.git.tip_of(worktree.head);
            if place.is_done {
                branches.insert(id.clone(), Branch { name: place.branch.clone(), tip: tip.clone() });
            }
            let is_clean = place.is_done && *self.git.tree(worktree.head) == worktree.tree;
            let found = Worktree::There { path: format!("worktrees/{id}"), tip: Some(tip), is_clean };
            worktrees.insert(id.clone(), found);
        }
        let (missing, onto) = (BTreeMap::new(), Onto::Nowhere);
        Evidence { now: self.now(), begins: true, target: Some(target), worktrees, branches, missing, onto }
    }

    /// No task is taken over as completed whose work is not in the target.
    fn is_borne_out(&self, taken: &Takeover) -> Verdict {
        for belief in &taken.beliefs {
            let Some(past) = belief.past.as_ref().filter(|past| past.status == Status::Completed) else {
                continue;
            };
            let Some(Proof::Landed { commit, .. }) = &past.proof else {
                return Err(format!("{} is completed without a commit", belief.task));
            };
            let is_there = self.git.is_landed(commit) && self.before.landed.contains(&belief.task);
            ensure(is_there, || format!("{} is called completed: {}", belief.task, belief.why))?;
        }
        Ok(())
    }

    /// A task whose work landed, and is named or recorded for this task alone, is taken over as completed.
    fn is_all_there(&self, left: &Left, specs: &[TaskSpec]) -> Verdict {
        let recorded = |task: &ForeignTask, hash: &str| task.commits.iter().any(|commit| commit.hash == hash);
        for spec in specs.iter().filter(|spec| self.before.landed.contains(&spec.id)) {
            let told = left.state.tasks.get(&spec.id);
            let proves = |task: &&ForeignTask| {
                use TaskStatus::{Completed, Merging, Verified};
                let [commit] = task.commits.as_slice() else { return false };
                let others = left.state.tasks.iter().filter(|(id, _)| **id != spec.id);
                let is_shared = others.into_iter().any(|(_, other)| recorded(other, &commit.hash));
                // Its only commit, and its own.
                let is_own = self.git.is_work_of(&commit.hash, index(&spec.id));
                matches!(task.status, Completed | Merging | Verified) && !is_shared && is_own
            };
            let is_known = self.before.named.contains(&spec.id) || told.as_ref().is_some_and(proves);
            let is_completed = self.task(&spec.id).is_some_and(|task| task.decided == Status::Completed);
            ensure(!is_known || is_completed, || format!("{} has landed, and is to be done", spec.id))?;
        }
        Ok(())
    }

    /// Attempts that were spent stay spent.
    fn is_not_refilled(&self, left: &Left, specs: &[TaskSpec]) -> Verdict {
        for spec in specs {
            let (Some(told), Some(task)) = (left.state.tasks.get(&spec.id), self.task(&spec.id)) else {
                continue;
            };
            let spent = match told.status {
                TaskStatus::Failed | TaskStatus::Abandoned => told.attempts,
                _ => told.attempts.saturating_sub(1),
            };
            let left = task.budget.saturating_sub(task.spent);
            // The attempt that was under way may continue, whatever its budget.
            let most = spec.attempts.saturating_sub(spent).max(1);
            let told = || format!("{} spent {spent} of {}, and has {left} left", spec.id, spec.attempts);
            ensure(task.decided == Status::Completed || left <= most, told)?;
        }
        Ok(())
    }

    fn notice(&mut self, left: &Left, taken: &Takeover) {
        for belief in &taken.beliefs {
            let told = left.state.tasks.get(&belief.task).map(|task| task.status);
            let Some(past) = &belief.past else { continue };
            let is_completed = past.status == Status::Completed;
            if is_completed {
                self.before.completed.insert(belief.task.clone());
            }
            if past.base.is_some() && !is_completed {
                self.before.goes_on.insert(belief.task.clone());
            }
            self.coverage.saw(match told {
                Some(TaskStatus::Completed) if is_completed => "a claim was borne out",
                Some(TaskStatus::Completed) => "a claim was not borne out",
                _ if is_completed => "completed, and nobody claims it",
                _ if past.recheck => "only checks are run again",
                _ if past.base.is_some() => "goes on in a worktree",
                _ => "taken over as it was told",
            });
        }
        let rewritten: BTreeSet<&str> = self.before.rewritten.iter().map(Oid::as_str).collect();
        let is_rewritten =
            |past: &ImportedTask| past.commits.iter().any(|commit| rewritten.contains(commit.hash.as_str()));
        let mut pasts = taken.beliefs.iter().filter_map(|belief| belief.past.as_ref());
        if pasts.any(|past| past.status == Status::Completed && is_rewritten(past)) {
            self.coverage.saw("rewritten work was found");
        }
    }
}

/// A task that was taken over as completed is begun again only if a person asks for that, or its work is lost.
pub(super) fn stays_completed(sim: &Sim, event: &Event) -> Verdict {
    let Event::AttemptStarted { task, .. } = event else { return Ok(()) };
    if !sim.before.completed.contains(task) {
        return Ok(());
    }
    let own = sim.journal.iter().rev().map(|recorded| &recorded.event);
    let mut own = own.filter(|event| event.task() == Some(task));
    let why = own.any(|event| {
        matches!(event, Event::Reopened { .. } | Event::Reset { .. } | Event::LandingLost { .. })
    });
    ensure(why, || format!("{task} had landed before, and is done again"))
}

impl Git {
    /// The target's history, as the real git would tell it.
    fn history(&self, specs: &[TaskSpec]) -> History {
        let here = (0..=self.target).rev().filter(|no| self.is_ancestor(*no, self.target));
        let commit = |no: CommitNo| Commit {
            id: oid(no),
            tree: oid(TREES + self.tree_at(no)),
            parent: self.parent(no).map(oid),
            merges: Vec::new(),
            subject: self.said(no).to_owned(),
            task: None,
            run: None,
            content: None,
        };
        let reverts: Vec<(Oid, Vec<String>)> =
            self.reverts.iter().map(|(by, of)| (oid(*by), vec![oid(*of).to_string()])).collect();
        History::new(here.map(commit).collect(), &reverts, &specs.iter().map(|spec| &spec.id).collect())
    }

    fn base(&self, commit: CommitNo) -> CommitNo {
        let both = |no: &CommitNo| self.is_ancestor(*no, commit) && self.is_ancestor(*no, self.target);
        (0..=commit.min(self.target)).rev().find(both).unwrap_or(0)
    }

    fn tip_of(&mut self, head: CommitNo) -> Tip {
        let tree = self.tree(head).clone();
        Tip { head: oid(head), tree: self.tree_oid(&tree), base: Some(oid(self.base(head))) }
    }

    fn parent_tree(&self, commit: CommitNo) -> Tree {
        self.parent(commit).map(|parent| self.tree(parent).clone()).unwrap_or_default()
    }

    /// A commit that the target does not have, compared with it.
    fn lost(&mut self, commit: CommitNo) -> Lost {
        let base = self.base(commit);
        let (from, to, now) = (self.tree(base).clone(), self.tree(commit).clone(), self.tip().clone());
        let beyond = |known: CommitNo, tip: CommitNo| {
            let is_new = |no: &CommitNo| self.is_ancestor(*no, tip) && !self.is_ancestor(*no, known);
            (0..=tip).rev().filter(is_new).collect::<Vec<_>>()
        };
        let digest = |no: CommitNo| fingerprint(&self.parent_tree(no), self.tree(no));
        let later = beyond(commit, self.target);
        let changes: HashMap<Oid, Digest> = later.iter().map(|no| (oid(*no), digest(*no))).collect();
        let change = (from != to).then(|| Change {
            whole: fingerprint(&from, &to),
            steps: beyond(self.target, commit).into_iter().map(digest).collect(),
            later: later.iter().map(|no| oid(*no)).collect(),
            changes,
            is_taken_back: changed(&from, &to).iter().all(|line| now.get(line) == from.get(line)),
        });
        Lost { tree: self.tree_oid(&to), base: Some(oid(base)), change, part: Part::NotAsked }
    }

    /// Whether a commit changes the line of a task.
    fn is_work_of(&self, hash: &str, task: usize) -> bool {
        let no = Oid::new(hash).ok().as_ref().and_then(commit_no);
        no.is_some_and(|no| self.lines_of(no).contains(&super::content::own(task)))
    }
}

/// A fingerprint of a change, independent of its base.
fn fingerprint(from: &Tree, to: &Tree) -> Digest {
    let lines = changed(from, to)
        .into_iter()
        .map(|line| format!("{line}:{:?}:{:?}\n", from.get(&line), to.get(&line)));
    Digest::of_bytes(lines.collect::<String>().as_bytes())
}
