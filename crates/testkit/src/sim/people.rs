//! People: those who move the target, and those who steer the run or work on its tasks by the ledger.

use piton_core::plan::{Check, Oid, Plan, RepoPath, TaskId, TaskSpec};
use piton_core::run::{
    CheckResult, Claim, Command, Comment, Event, Evidence, Holder, ImportedError, ImportedTask, Note,
    Reopening, Report, Revision, Session, Side, Status, StopReason, Verdict,
};
use piton_core::time::Span;

use super::claims::Works;
use super::confirming::{Saying, is_waiting};
use super::content::{Predicate, Scope, Tree, changed, own, persons, register};
use super::driver::{Answer, Sim};
use super::git::{CommitNo, commit_no};
use super::laws::Broken;
use super::scenario::index;

/// What people have done to the target.
#[derive(Clone, Debug, Default)]
pub(super) struct People {
    /// What is on the target is no longer only what Piton checked.
    pub(super) touched: bool,
    pub(super) rewound: bool,
    /// Somebody merged a request before those that it stands on, and with them.
    pub(super) overtook: bool,
    /// How often the target was moved.
    pub(super) moves: usize,
    /// Where the target was before it was rewound.
    reflog: Option<CommitNo>,
    pub(super) saying: Option<Saying>,
    pub(super) works: Works,
}

impl Sim {
    /// A person does something to the repository.
    pub(super) fn person(&mut self) {
        self.people.moves += 1;
        let tip = self.git.target;
        let mut tree = self.git.tip().clone();
        match self.rng.below(10) {
            0..4 => {
                let no = self.rng.below(50);
                tree.insert(persons(no), self.rng.small(1, 9));
                self.git.target = self.git.commit(tree, &[tip], None);
                self.note(|| "a person commits".to_owned());
            }
            4 => {
                // Enters the register: a conflict in the text, and nothing else.
                let line = register(self.rng.below(2));
                *tree.entry(line).or_default() |= 1 << 30;
                self.git.target = self.git.commit(tree, &[tip], None);
                self.note(|| "a person commits to a register".to_owned());
            }
            5 => {
                tree.remove(&own(self.rng.below(self.scenario.scripts.len())));
                self.people.touched = true;
                self.git.target = self.git.commit(tree, &[tip], None);
                self.note(|| "a person undoes a task's work".to_owned());
            }
            6 => self.rewind(tip),
            7 => self.merge_by_hand(tip),
            8 => {
                let place = self.rng.below(self.scenario.scripts.len());
                self.git.worktrees.remove(&place);
                self.note(|| format!("a person deletes the worktree of {place}"));
            }
            _ => {
                self.git.dirty = !self.git.dirty;
                self.note(|| "a person works in the checkout".to_owned());
            }
        }
    }

    /// A person commits what has nothing to do with the plan.
    pub(super) fn passer_by(&mut self) {
        self.people.moves += 1;
        let (tip, mut tree) = (self.git.target, self.git.tip().clone());
        let no = self.rng.below(50);
        tree.insert(persons(no), self.rng.small(1, 9));
        self.git.target = self.git.commit(tree, &[tip], None);
        self.note(|| "a person commits".to_owned());
    }

    fn rewind(&mut self, tip: CommitNo) {
        (self.people.touched, self.people.rewound) = (true, true);
        if let Some(before) = self.people.reflog.take()
            && self.rng.chance(60)
        {
            self.git.target = before;
            self.note(|| "a person restores the target".to_owned());
            return;
        }
        let behind: Vec<CommitNo> = (0..tip).filter(|&no| self.git.is_ancestor(no, tip)).collect();
        if let Some(&to) = self.rng.pick(&behind) {
            self.people.reflog = Some(tip);
            self.git.target = to;
            self.note(|| format!("a person rewinds the target from {tip} to {to}"));
        }
    }

    fn merge_by_hand(&mut self, tip: CommitNo) {
        let ready: Vec<CommitNo> = self
            .state
            .tasks()
            .filter(|task| task.is_candidate())
            .filter_map(|task| task.progress.commit.as_ref().and_then(commit_no))
            .collect();
        let Some(&commit) = self.rng.pick(&ready) else { return };
        let (tree, conflicts) = self.git.merge(commit, tip);
        if conflicts.is_empty() {
            self.people.touched = true;
            self.git.target = self.git.commit(tree, &[tip, commit], None);
            self.note(|| format!("a person merges {commit} by hand"));
        }
    }

    /// A client steers the run, or works on a task by the ledger.
    pub(super) fn client(&mut self) -> Result<(), Broken> {
        let task = super::scenario::task_id(self.rng.below(self.scenario.scripts.len()));
        let by = if self.rng.chance(50) { "ann" } else { "bob" }.to_owned();
        if self.rng.chance(45) {
            let waiting: Vec<TaskId> =
                self.state.tasks().filter(|task| is_waiting(task)).map(|task| task.id.clone()).collect();
            if let Some(task) = self.rng.pick(&waiting).cloned() {
                return self.confirm(&task, &by);
            }
        }
        if self.rng.chance(10) {
            return self.look_at_others();
        }
        if self.rng.chance(10) {
            return self.works_to_the_end(&task, &by);
        }
        let command = match self.rng.below(12) {
            0 | 1 => {
                let holder = Holder::Ledger(by);
                self.people.works.ahead = self.rng.chance(10);
                let start = match self.people.works.ahead {
                    true => Command::StartAhead { task: task.clone(), holder },
                    false => Command::Start { task: task.clone(), holder },
                };
                let answer = self.submit(&start);
                self.people.works.ahead = false;
                return match answer? {
                    Answer::Done(_) => self.leaves_mark(&task),
                    Answer::Refused(_) => {
                        self.coverage.saw("refused: people");
                        Ok(())
                    }
                };
            }
            2 | 3 => return self.ledger_reports(&task, &by),
            4 => Command::Retry { task, by },
            5 => Command::Reset { task, by },
            6 | 7 if index(&task).is_multiple_of(2) => return self.edit_plan(),
            6 => Command::Skip { task, by, reason: "not needed".to_owned() },
            7 => Command::Unblock { task, by, note: String::new() },
            8 if self.rng.chance(50) => return self.comments_on(task, by),
            8 => Command::Answer { task, by, text: "use the other one".to_owned() },
            9 => Command::Raise { task, by, attempts: self.rng.small(1, 7) },
            10 => Command::RequestStop { by, now: self.rng.chance(50) },
            _ if self.rng.chance(10) => {
                let known = self.run().overloads.keys().chain(self.run().outages.keys()).next().cloned();
                Command::Unpark { provider: known.unwrap_or_else(|| "nobody".to_owned()), by }
            }
            _ if self.rng.chance(10) => Command::Close { by, reason: "another plan".to_owned() },
            _ if self.rng.chance(30) => return self.holder_is_gone(&task),
            _ => match self.rng.below(5) {
                3 => Command::Adopt { task, by, past: Box::new(self.past()) },
                0 => Command::Abandon { task, by, reason: "hopeless".to_owned() },
                1 => Command::Note { by, note: Note::Guardrail { text: "mind the gap".to_owned() } },
                2 => Command::ContextUpdated(Box::default()),
                _ => Command::Retry { task, by },
            },
        };
        if let Answer::Refused(_) = self.submit(&command)? {
            self.coverage.saw("refused: people");
        }
        Ok(())
    }

    /// A person comments on a line of a task's work, and sends that. Work that was about to land goes back.
    fn comments_on(&mut self, task: TaskId, by: String) -> Result<(), Broken> {
        let comment = Comment {
            file: RepoPath::new("work").expect("a path"),
            side: Side::New,
            blob: Oid::new(&"c".repeat(40)).expect("an object"),
            line: 1,
            lines: 1,
            quote: "work".to_owned(),
            text: "do it another way".to_owned(),
        };
        let note = Note::Commented { task: task.clone(), comment: Box::new(comment) };
        self.submit(&Command::Note { by: by.clone(), note })?;
        let comments = vec![self.state.seq()];
        let was = self.task(&task).map(|task| task.decided);
        match self.submit(&Command::SendComments { task, by, comments, follow_up: None })? {
            Answer::Refused(_) => self.coverage.saw("refused: people"),
            Answer::Done(_) if matches!(was, Some(Status::Verifying | Status::Verified)) => {
                self.coverage.saw("work that was to land went back with comments");
            }
            Answer::Done(_) => {}
        }
        Ok(())
    }

    /// What another system may have left of a task.
    fn past(&mut self) -> ImportedTask {
        let error =
            ImportedError { attempt: 1, message: "it did not work".to_owned(), ..ImportedError::default() };
        ImportedTask {
            spent: self.rng.small(1, 4),
            errors: vec![error],
            ..ImportedTask::plain(if self.rng.chance(70) { Status::Failed } else { Status::Abandoned })
        }
    }

    /// A report, with the evidence a ledger's command collects itself.
    pub(super) fn ledger_reports(&mut self, task: &TaskId, by: &str) -> Result<(), Broken> {
        let Some(known) = self.task(task) else { return Ok(()) };
        let mine = known.holder == Some(Holder::Ledger(by.to_owned()));
        // The holder of a task works on it, in a checkout of the target.
        if mine && self.rng.chance(80) {
            let base = self.here();
            let mut tree = base.clone();
            self.scenario.subjects.work(index(task), &mut tree, &base, Scope::AsAsked);
            let commit = self.leaves(tree);
            self.people.works.made.push((commit, task.clone()));
            self.coverage.saw("ledger worked on a task");
        }
        let shown = self.shown_for(task);
        let evidence = shown.clone();
        let claim = match self.rng.below(6) {
            0 => Claim::Failed { reason: "it did not work".to_owned() },
            1 => Claim::Blocked { reason: "the task is wrong".to_owned() },
            // Without evidence, or with that of other checks.
            2 => Claim::Done { tree: None, results: Vec::new(), evidence },
            // A task that has to be confirmed is reported as done so that another person looks. An edited file cannot
            // say that.
            nth => {
                let (tree, results) = self.looked_at(task);
                let asks = self.scenario.spec(task).is_some_and(|spec| spec.confirm) && nth != 3;
                match asks {
                    true => Claim::ToConfirm { tree: Some(tree), results, evidence },
                    false => Claim::Done { tree: Some(tree), results, evidence },
                }
            }
        };
        let fence = self.rng.chance(70).then_some(known.fence);
        let report = Box::<Report>::default();
        // An edited file that says so confirms as well.
        let asks = matches!(claim, Claim::ToConfirm { .. });
        self.people.saying = matches!(claim, Claim::Done { .. }).then(|| Saying::Confirms(task.clone()));
        let command = Command::Report { task: task.clone(), by: by.to_owned(), fence, claim, report };
        let is_bare = shown == Evidence::default();
        self.people.works.claiming = Some((task.clone(), shown));
        if asks {
            let answer = self.calls_done(task, &command);
            self.people.works.claiming = None;
            answer?;
            // Another person may be there to confirm it.
            return if self.rng.chance(60) { self.confirm(task, "cleo") } else { Ok(()) };
        }
        let answer = self.submit(&command);
        self.people.saying = None;
        self.people.works.claiming = None;
        if is_bare && matches!(answer, Ok(Answer::Refused(_))) {
            self.coverage.saw("a claim without evidence was refused");
        }
        answer.map(|_| ())
    }

    /// The tree that people see: a checkout of the target, or, without commits, the one checkout in which all work.
    pub(super) fn here(&self) -> Tree {
        if self.run().settings.no_commits { self.checkout.clone() } else { self.git.tip().clone() }
    }

    /// A person changes files there. Returns that as a commit; without commits it is not on any branch.
    pub(super) fn leaves(&mut self, tree: Tree) -> CommitNo {
        self.people.moves += 1;
        if !self.run().settings.no_commits {
            self.git.target = self.git.commit(tree, &[self.git.target], None);
            return self.git.target;
        }
        for line in changed(&self.checkout, &tree) {
            // An agent that is at work sees the same files.
            for worktree in self.git.worktrees.values_mut() {
                match tree.get(&line) {
                    Some(value) => worktree.tree.insert(line, *value),
                    None => worktree.tree.remove(&line),
                };
            }
        }
        self.checkout.clone_from(&tree);
        self.git.commit(tree, &[], None)
    }

    /// The current tree, and the results of a task's checks on it.
    pub(super) fn looked_at(&mut self, task: &TaskId) -> (Oid, Vec<CheckResult>) {
        let here = self.here();
        let checks = self.scenario.spec(task).map(|spec| spec.checks.clone()).unwrap_or_default();
        let results: Vec<CheckResult> = checks.iter().map(|check| self.evidence(check, &here)).collect();
        let tree = self.git.tree_oid(&here);
        let number = self.git.tree_no(here);
        let green = results.iter().filter(|result| result.verdict == Verdict::Pass);
        self.observed.extend(green.map(|result| (number, result.check.clone())));
        (tree, results)
    }

    fn evidence(&self, check: &Check, tree: &Tree) -> CheckResult {
        let digest = check.digest();
        let green = self.scenario.subjects.holds(self.scenario.predicates[&digest], tree);
        CheckResult {
            name: check.name.clone(),
            check: digest,
            command: check.run.to_string(),
            verdict: if green { Verdict::Pass } else { Verdict::Fail { exit: 1 } },
            environment: piton_core::plan::Digest::of_bytes(b"sim"),
            took: Span::seconds(1),
            log: String::new(),
            tail: String::new(),
            tests: None,
            ran: None,
        }
    }

    /// Other checks decide: one more, or one less.
    fn judge_otherwise(&mut self, spec: &mut TaskSpec) {
        let clean = super::scenario::check("clean", Predicate::Clean, &mut self.scenario.predicates);
        match spec.checks.iter().position(|known| known.digest() == clean.digest()) {
            Some(at) => drop(spec.checks.remove(at)),
            None => spec.checks.push(clean),
        }
    }

    fn saw_reopened(&mut self) {
        let since = self
            .journal
            .iter()
            .rev()
            .take_while(|recorded| !matches!(recorded.event, Event::PlanAdopted { .. }));
        let kinds: Vec<&'static str> = since
            .filter_map(|recorded| match &recorded.event {
                Event::Reopened { reason: Reopening::Checks, .. } => {
                    Some("other checks decide about a completed task")
                }
                Event::Reopened { reason: Reopening::Rejudged, .. } => {
                    Some("other checks judge work that failed by them")
                }
                Event::Reopened { was: Some(_), .. } => Some("a completed task became another one"),
                Event::Reopened { was: None, .. } => Some("work under way is for another task now"),
                _ => None,
            })
            .collect();
        kinds.into_iter().for_each(|kind| self.coverage.saw(kind));
    }

    /// A person edits the plan while an engine runs, or before.
    fn edit_plan(&mut self) -> Result<(), Broken> {
        let specs = self.scenario.plan.tasks.clone();
        let plan = self.other_plan();
        let session = Session { max_parallel: plan.settings.max_parallel, ..self.run().session.clone() };
        let revision =
            Revision::new(plan.clone(), &self.run().plan_hash.clone(), &specs).for_session(session);
        let before = std::mem::replace(&mut self.scenario.plan, plan);
        match self.submit(&Command::Follow(Box::new(revision)))? {
            Answer::Done(_) => {
                self.coverage.saw("an edited plan was followed");
                self.saw_reopened();
            }
            Answer::Refused(_) => {
                self.coverage.saw("an edited plan has to wait");
                self.scenario.plan = before;
                self.removed.clear();
            }
        }
        Ok(())
    }

    /// Between two engines the plan may change: tasks are added, removed and changed.
    pub(super) fn replan(&mut self) -> Result<(), Broken> {
        if let Some(engine) = self.run().engine.clone() {
            // It no longer holds the lock: the process that holds it now records that.
            let reason = StopReason::Environment { detail: "it died".to_owned() };
            self.submit(&Command::Detach { engine, reason, tip: Vec::new() })?;
        }
        let plan = self.other_plan();
        let before = std::mem::replace(&mut self.scenario.plan, plan.clone());
        match self.submit(&Command::Replan(Box::new(plan)))? {
            Answer::Done(_) => {
                self.coverage.saw("plan read again");
                self.saw_reopened();
            }
            Answer::Refused(refusal) => {
                self.note(|| format!("replan refused: {refusal}"));
                self.scenario.plan = before;
                self.removed.clear();
            }
        }
        Ok(())
    }

    /// The plan as a person may change it.
    fn other_plan(&mut self) -> Plan {
        let mut plan = self.scenario.plan.clone();
        let at = self.rng.below(plan.tasks.len());
        match self.rng.below(9) {
            // Another task under the same id.
            5 | 6 => plan.tasks[at].title += " and more",
            7 | 8 => self.judge_otherwise(&mut plan.tasks[at]),
            0 => plan.tasks[at].attempts = self.rng.small(1, 6),
            1 => {
                plan.tasks[at].priority = self.rng.small(1, 5);
                // Sometimes nothing but this.
                if !plan.settings.no_commits {
                    plan.settings.max_parallel = plan.tasks[at].priority;
                }
            }
            2 | 3 if plan.tasks.len() > 1 => {
                // Removed, and no task depends on it any more; it may come back later.
                let gone = plan.tasks.remove(at);
                plan.tasks.iter_mut().for_each(|spec| spec.depends_on.retain(|id| *id != gone.id));
                self.removed.push(gone);
            }
            _ => {
                let back = if self.rng.chance(50) { 1.min(self.removed.len()) } else { self.removed.len() };
                for spec in self.removed.drain(self.removed.len() - back..) {
                    let place = self.rng.below(plan.tasks.len() + 1);
                    plan.tasks.insert(place, spec);
                }
                let known: Vec<TaskId> = plan.tasks.iter().map(|spec| spec.id.clone()).collect();
                plan.tasks.iter_mut().for_each(|spec| spec.depends_on.retain(|id| known.contains(id)));
            }
        }
        plan
    }
}
