//! What the engine's actions do to the simulated world, and what they report. Each looks before it acts, as the real
//! ones do, so that an action can be repeated safely.

use piton_core::plan::{Digest, Oid, TaskId, TaskSpec};
use piton_core::run::{
    Action, AgentEnd, CheckResult, Class, Command, ContextUpdate, Entry, Proof, Run, Status, Task, Verdict,
    Work, reviewer,
};
use piton_core::time::Span;

use super::Sabotage;
use super::content::Tree;
use super::driver::Sim;
use super::git::{commit_no, oid};
use super::keeper::{Keeper, Key};
use super::providers;
use super::scenario::{index, task_id};

/// How an engine judges a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checking {
    /// It runs the check.
    Honest,
    /// A sabotaged engine: every check passes without being run.
    Blind,
}

impl Checking {
    pub(super) fn blind_if(sabotaged: bool) -> Checking {
        if sabotaged { Checking::Blind } else { Checking::Honest }
    }
}

impl Sim {
    pub(super) fn task(&self, id: &TaskId) -> Option<Task> {
        self.state.task(id).ok().flatten().cloned()
    }

    pub(super) fn run(&self) -> &Run {
        self.state.run().expect("the run was created first")
    }

    /// Carry out an action. Returns what has to be reported. Agents report through their keepers.
    pub(super) fn perform(&mut self, action: &Action) -> Vec<Command> {
        if let Action::Ask { provider, nth } = action {
            return self.ask(provider, *nth);
        }
        let Some(id) = action.task() else { return self.update_context() };
        let Some(task) = self.task(id) else { return Vec::new() };
        let trouble = self.scenario.weather.trouble;
        if !matches!(action, Action::Move { .. } | Action::Clean { .. }) && self.rng.chance(trouble) {
            return match action {
                // Verified work waits until git works again.
                Action::Prove { .. } | Action::Land { .. } | Action::Request { .. } => Vec::new(),
                action => vec![self.try_failed(action, Class::Transient, "git was busy")],
            };
        }
        match action {
            Action::Start { .. }
            | Action::Unstack { .. }
            | Action::BeginProof { .. }
            | Action::Work { .. }
            | Action::Context
            | Action::Ask { .. } => Vec::new(),
            Action::Prepare { .. } => self.prepare(&task),
            Action::Capture { pass, .. } => self.capture(action, &task, *pass),
            Action::Check { .. } => self.check(&task),
            Action::Prove { proof, .. } | Action::Land { proof, .. } => {
                let found = self.prove(action, *proof);
                found.into_iter().map(|command| command.of_proof(*proof)).collect()
            }
            Action::Move { .. } => self.move_target(action, &task),
            Action::Request { step, .. } => self.request(action, &task, *step),
            Action::Clean { .. } => self.clean(&task),
        }
    }

    /// The project's description becomes a commit on the target, unless there is a reason not to.
    fn update_context(&mut self) -> Vec<Command> {
        let mut update = ContextUpdate::default();
        if self.git.dirty {
            update.skipped = "the checkout has changes of its own".to_owned();
        } else {
            let (tip, tree) = (self.git.target, self.git.tip().clone());
            self.git.target = self.git.commit(tree, &[tip], None);
            update.commit = Some(oid(self.git.target));
        }
        vec![Command::ContextUpdated(Box::new(update))]
    }

    pub(super) fn try_failed(&self, action: &Action, class: Class, reason: &str) -> Command {
        Command::TryFailed {
            action: action.clone(),
            class,
            reason: reason.to_owned(),
            feedback: String::new(),
        }
    }

    /// The worktree's number: all tasks share the checkout where there are no commits.
    fn place(&self, task: &Task) -> usize {
        index(&task.id)
    }

    fn prepare(&mut self, task: &Task) -> Vec<Command> {
        let place = self.place(task);
        let tip = match self.ground(task) {
            Ok(ground) => ground.commit,
            Err(no) => {
                let (task, fence, reason) = (task.id.clone(), task.fence, no.reason());
                return vec![Command::Unstack { task, fence, reason }];
            }
        };
        let mut commands = Vec::new();
        // First the count, then the tip: what lands in between is judged once too often, never too seldom.
        let mut landed = self.run().landed;
        let fresh_start = task.attempt == 1 && task.failure_seq.is_none();
        let known = self.git.worktrees.contains_key(&place);
        let fresh_start = fresh_start && !self.before.goes_on.remove(&task.id);
        if !known || task.progress.base.is_none() || fresh_start {
            if known && let Some((commit, _)) = self.git.capture(place) {
                commands.push(Command::Rescued {
                    task: task.id.clone(),
                    reference: format!("refs/piton/rescue/{}", task.id),
                    commit: oid(commit),
                });
            }
            self.git.make_worktree(place, tip);
            self.in_place(place);
        } else if let Some(behind) = &task.progress.behind {
            let is_whole = self.run().is_its_request(&task.id);
            let upto = commit_no(behind).filter(|_| is_whole).unwrap_or(tip);
            let upto = self.instead_of(&task.progress, upto);
            self.git.bring_up(place, upto);
        } else {
            landed = task.progress.landed_at_base;
        }
        let base = oid(self.git.worktrees[&place].base);
        commands.push(Command::Prepared { task: task.id.clone(), fence: task.fence, base, landed });
        commands
    }

    /// Without commits all work in the one checkout: a new worktree is what the last one left.
    fn in_place(&mut self, place: usize) {
        if self.run().settings.no_commits {
            let checkout = self.checkout.clone();
            if let Some(worktree) = self.git.worktrees.get_mut(&place) {
                worktree.tree = checkout.clone();
            }
            let base = self.git.commit(checkout, &[], None);
            if let Some(worktree) = self.git.worktrees.get_mut(&place) {
                (worktree.head, worktree.base) = (base, base);
            }
        }
    }

    fn capture(&mut self, action: &Action, task: &Task, pass: u32) -> Vec<Command> {
        let place = self.place(task);
        let Some((commit, markers)) = self.git.capture(place) else {
            return vec![self.try_failed(action, Class::Transient, "the worktree is gone")];
        };
        let tree = self.git.tree(commit).clone();
        let base_tree = self.git.tree(self.git.worktrees[&place].base).clone();
        let tree_oid = self.git.tree_oid(&tree);
        let no_commits = self.run().settings.no_commits;
        if no_commits {
            self.checkout = tree.clone();
        }
        let changed = tree != base_tree;
        let found_work = if pass == 0 { changed } else { task.progress.tree.as_ref() != Some(&tree_oid) };
        let work = Work {
            commit: (!no_commits).then(|| oid(commit)),
            tree: tree_oid,
            changed,
            found_work,
            touches_judges: false,
            markers: markers.iter().map(ToString::to_string).collect(),
            commits: Vec::new(),
            created: Vec::new(),
            modified: Vec::new(),
        };
        vec![Command::Captured { task: task.id.clone(), fence: task.fence, pass, work }]
    }

    fn check(&mut self, task: &Task) -> Vec<Command> {
        let Some(tree_oid) = task.progress.tree.clone() else { return Vec::new() };
        let Some(tree) = self.git.find_tree(&tree_oid).cloned() else { return Vec::new() };
        let mut wanted = self.unproven(std::slice::from_ref(task), task.judges.clone(), &tree_oid);
        if task.awaits_confirmation() {
            wanted.retain(|check| self.reviewer(task, check).is_none());
        }
        if let Some(cut) = self.review_cut(task, &tree_oid, &wanted) {
            return vec![cut];
        }
        let checking = Checking::blind_if(self.sabotage == Some(Sabotage::TrustTheAgent));
        let results = wanted.iter().map(|check| self.run_check(task, check, &tree, checking)).collect();
        vec![Command::ChecksEnded { task: task.id.clone(), fence: task.fence, tree: tree_oid, results }]
    }

    fn reviewer(&self, task: &Task, check: &Digest) -> Option<String> {
        let own = self.scenario.spec(&task.id)?.checks.iter().find(|own| own.digest() == *check)?;
        own.reviewer().map(str::to_owned)
    }

    /// The provider may not let the reviewer in.
    fn review_cut(&mut self, task: &Task, tree: &Oid, wanted: &[Digest]) -> Option<Command> {
        let meant = wanted.iter().find_map(|check| self.reviewer(task, check))?;
        let entry = reviewer(self.run(), &meant, &task.id, self.now());
        let (id, fence) = (task.id.clone(), task.fence);
        let agent = match entry {
            Err(reason) => {
                let waits = reason.starts_with("one agent first tests");
                let what = ["nobody was there to review", "another looks first, so nobody reviews"];
                self.coverage.saw(what[usize::from(waits)]);
                let action = Action::Check { task: id, fence };
                return Some(self.try_failed(&action, Class::Limit, &reason));
            }
            Ok(Entry { agent, is_first: true }) => {
                let (tree, results) = (tree.clone(), Vec::new());
                return Some(Command::ReviewerBegins { task: id, fence, tree, results, agent });
            }
            Ok(Entry { agent, .. }) => agent,
        };
        self.too_early = self.too_early.take().or(providers::looks_first(self, &id, &agent).err());
        if self.calm || !self.rng.chance(20) {
            return None;
        }
        let reason = "not now".to_owned();
        let end = match self.rng.chance(70) {
            true => {
                let until = self.now().plus(Span::minutes(20));
                AgentEnd::Limit { reason, until, model: self.scenario.limited_model() }
            }
            false => AgentEnd::Refused { reason },
        };
        let (tree, results) = (tree.clone(), Vec::new());
        Some(Command::ReviewerCut { task: id, fence, lands: false, tree, results, agent, end })
    }

    /// The checks among these that have no pass on this tree yet, each once.
    pub(super) fn unproven(&self, tasks: &[Task], mut judges: Vec<Digest>, tree: &Oid) -> Vec<Digest> {
        let passes = || tasks.iter().flat_map(|task| &task.progress.passes);
        let known = |judge: &Digest| passes().any(|p| &p.tree == tree && &p.check == judge);
        judges.retain(|judge| !known(judge));
        judges.sort();
        judges.dedup();
        judges
    }

    pub(super) fn run_check(
        &mut self,
        task: &Task,
        check: &Digest,
        tree: &Tree,
        checking: Checking,
    ) -> CheckResult {
        let predicate = self.scenario.predicates[check];
        let holds = self.scenario.subjects.holds(predicate, tree);
        let weather = self.scenario.weather;
        let impossible = self.scenario.impossible == Some(index(&task.id));
        let verdict = if checking == Checking::Blind {
            Verdict::Pass
        } else if impossible && task.decided == Status::Verifying {
            Verdict::Impossible { reason: "no such program".to_owned() }
        } else if !holds && self.flakes(weather.false_pass, "check passed without a reason") {
            self.lied.insert(check.clone());
            Verdict::Pass
        } else if !holds || self.flakes(weather.false_fail, "check failed without a reason") {
            Verdict::Fail { exit: 1 }
        } else if self.rng.chance(weather.flaky) {
            Verdict::Broken { reason: "it was slow today".to_owned() }
        } else {
            Verdict::Pass
        };
        if checking == Checking::Honest {
            let tree = self.git.tree_no(tree.clone());
            let seen = if verdict == Verdict::Pass { &mut self.observed } else { &mut self.seen_red };
            seen.insert((tree, check.clone()));
        }
        CheckResult {
            name: format!("{predicate:?}"),
            check: check.clone(),
            command: String::new(),
            verdict,
            environment: Digest::of_bytes(b"sim"),
            took: Span::seconds(1),
            log: String::new(),
            tail: String::new(),
            tests: None,
            ran: None,
        }
    }

    /// Whether a check is wrong this time. A chance of zero draws no random number, so that seeds keep their meaning.
    pub(super) fn flakes(&mut self, percent: u64, what: &'static str) -> bool {
        let wrong = percent > 0 && self.rng.chance(percent);
        if wrong {
            self.coverage.saw(what);
        }
        wrong
    }

    fn clean(&mut self, task: &Task) -> Vec<Command> {
        let (id, fence) = (task.id.clone(), task.fence);
        let place = self.place(task);
        if self.rng.chance(8) {
            let reason = "a repository lies inside".to_owned();
            return vec![Command::CleanupRefused { task: id, fence, reason }];
        }
        let mut commands = Vec::new();
        if let Some(worktree) = self.git.worktrees.get(&place)
            && *self.git.tree(worktree.head) != worktree.tree
            && let Some((commit, _)) = self.git.capture(place)
        {
            let reference = format!("refs/piton/rescue/{id}");
            commands.push(Command::Rescued { task: id.clone(), reference, commit: oid(commit) });
        }
        self.git.worktrees.remove(&place);
        commands.push(Command::CleanedUp { task: id, fence });
        commands
    }

    /// Compare the target with the journal: git is right.
    pub(super) fn look_at_git(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        for task in self.state.tasks().filter(|task| !task.removed) {
            match &task.proof {
                Some(Proof::Landed { commit, .. })
                    if !self.git.is_landed(commit) && !self.run().is_its_request(&task.id) =>
                {
                    commands.push(Command::LandingLost {
                        task: task.id.clone(),
                        commit: commit.clone(),
                        reason: "it is no longer in the target".to_owned(),
                    });
                }
                _ => {}
            }
        }
        let found: Vec<(usize, usize)> = self.git.landings().collect();
        for (commit, task) in found {
            let now = self.scenario.spec(&task_id(task)).map(TaskSpec::content);
            let is_anothers = self.git.content_of(commit) != now;
            if is_anothers && self.sabotage != Some(Sabotage::TrustTheId) {
                self.coverage.saw("landing of another task under the same id");
                continue;
            }
            let known = self.task(&task_id(task));
            // A task that was reopened has landed before: that landing does not complete it again.
            let open = |t: &Task| {
                !matches!(t.decided, Status::Completed | Status::Merging)
                    && !self.run().line.is_landing(&t.id)
                    && (t.reopened.is_none() || is_anothers)
            };
            if known.is_some_and(|t| open(&t) && !t.removed) {
                commands.push(Command::LandingFound {
                    task: task_id(task),
                    commit: oid(commit),
                    reason: "its landing is in the target".to_owned(),
                });
            }
        }
        commands
    }

    /// Adopt or start an agent: it may have ended, run, or be dead. Returns whether it has an outcome.
    pub(super) fn take_up(&mut self, key: Key) -> bool {
        let again = self.sabotage == Some(Sabotage::RunAgain);
        match self.keepers.all.get(&key) {
            Some(Keeper::Ended(_)) if again => {}
            Some(Keeper::Ended(_)) => {
                self.coverage.saw("outcome found on disk");
                return true;
            }
            Some(Keeper::Running(_)) => {
                self.coverage.saw("keeper adopted");
                return false;
            }
            Some(Keeper::Died) => {
                let reason = "its keeper died".to_owned();
                let end = piton_core::run::AgentEnd::Transient { reason };
                self.keepers.all.insert(key, Keeper::Ended(end));
                return true;
            }
            None => {}
        }
        let agent = self.task(&task_id(key.0)).map(|task| task.progress.agent.clone()).unwrap_or_default();
        let (provider, limiter) = (providers::provider(self, &agent), providers::limiter(self, &agent));
        let behaviour = self.keepers.launch(&self.scenario, key, (&provider, &limiter), self.time);
        self.note(|| format!("agent {} fence {} pass {}: {behaviour:?}", task_id(key.0), key.1, key.2));
        self.agent_will_end(key, behaviour);
        false
    }
}
