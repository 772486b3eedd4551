//! What systems leave whose plan is a list: boxes, a state file and a log. Their claims count if the files of a task
//! exist, or its commits.

use std::collections::{BTreeMap, BTreeSet};

use piton_core::plan::{AboutUnit, Argv, Check, Iterative, RepoPath, TaskId, TaskSpec};
use piton_core::run::Status;
use piton_core::system::iterative::progress::{Entry, Head, Kind};
use piton_core::system::kit::takeover::{Evidence, Legacy, Lessons, Onto, Questions, Takeover};
use piton_core::system::{Before, issue, iterative, rwkit};
use piton_core::time::Span;
use serde_json::{Map, Value, json};

use super::super::driver::{Answer, Sim};
use super::super::git::{CommitNo, oid};
use super::super::laws::{Broken, ensure, named};
use super::super::scenario::index;
use super::Verdict;

/// What one of them left.
pub(in super::super) struct Lists {
    system: System,
    /// Boxes, as their list has them.
    boxes: BTreeMap<TaskId, Before>,
    /// Their state file.
    state: String,
    log: String,
    about: Iterative,
    /// Tasks that the files report as done.
    claimed: BTreeSet<TaskId>,
    /// Those of them of which the log names a commit of their own that the target holds.
    proven: BTreeSet<TaskId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Issue,
    Rwkit,
    Iterative,
}

impl Lists {
    fn legacy(&self) -> Box<dyn Legacy + '_> {
        let before = &self.boxes;
        match self.system {
            System::Issue => {
                let state = issue::state::read(&self.state).state;
                Box::new(issue::takeover::Left { list: "tasks.md", before, state, onto: None })
            }
            System::Rwkit => {
                let state = rwkit::state::read(&self.state).state;
                Box::new(rwkit::takeover::Left { before, state })
            }
            System::Iterative => Box::new(iterative::takeover::Left {
                about: &self.about,
                state: iterative::state::read(&self.state).state,
                log: self.log.clone(),
                lessons: Lessons::default(),
            }),
        }
    }

    /// The tasks with what such a plan looks for. The run itself has other checks.
    fn specs(&self, specs: &[TaskSpec]) -> Vec<TaskSpec> {
        let look = |spec: &TaskSpec| {
            let file = RepoPath::new(&file(&spec.id)).expect("a path");
            let run = Argv::Look { file, holds: Vec::new() };
            TaskSpec { checks: vec![Check::new("look".to_owned(), run, Span::minutes(1))], ..spec.clone() }
        };
        match self.system {
            System::Rwkit => specs.iter().map(look).collect(),
            System::Issue | System::Iterative => specs.to_vec(),
        }
    }
}

fn file(id: &TaskId) -> String {
    format!("{id}.txt")
}

impl Sim {
    /// Another program works on a list, ticks boxes, and writes a state file and a log.
    pub(in super::super) fn others_work_on_a_list(&mut self) -> Lists {
        let system = [System::Issue, System::Rwkit, System::Iterative];
        let mut left = Lists {
            system: *self.rng.pick(&system).expect("not empty"),
            boxes: BTreeMap::new(),
            state: String::new(),
            log: String::new(),
            about: Iterative::default(),
            claimed: BTreeSet::new(),
            proven: BTreeSet::new(),
        };
        let mut specs = self.scenario.plan.tasks.clone();
        specs.sort_by_key(|spec| index(&spec.id));
        let mut tasks = Map::new();
        for spec in &specs {
            left.about.units.insert(spec.id.clone(), AboutUnit::default());
            let is_ready = spec.depends_on.iter().all(|need| self.before.landed.contains(need));
            let commits = if is_ready && self.rng.chance(50) { self.others_land(spec) } else { Vec::new() };
            let is_done = self.before.landed.contains(&spec.id);
            let is_reverted = !commits.is_empty() && !is_done;
            // Most claims are true. Of a revert the list often knows nothing.
            let is_true = self.rng.chance(if is_reverted { 40 } else { 85 });
            let says_done = if is_true { is_done } else { is_reverted || self.rng.chance(50) };
            if says_done {
                left.claimed.insert(spec.id.clone());
            }
            self.others_write(spec, (says_done, &commits), &mut left, &mut tasks);
        }
        left.state = json!({ "tasks": tasks }).to_string();
        if left.system == System::Issue {
            let entries: Vec<Value> = tasks.into_iter().map(|(_, entry)| entry).collect();
            left.state = json!({ "tasks": entries }).to_string();
        }
        left
    }

    /// What the files say of a task.
    fn others_write(
        &mut self,
        spec: &TaskSpec,
        (says_done, commits): (bool, &[CommitNo]),
        left: &mut Lists,
        tasks: &mut Map<String, Value>,
    ) {
        let word = match (says_done, left.system) {
            (true, System::Iterative) => "done",
            (true, _) => "completed",
            (false, _) => "pending",
        };
        let entry = json!({ "id": spec.id, "status": word, "files_created": [file(&spec.id)] });
        tasks.insert(spec.id.to_string(), entry);
        let done = says_done && self.rng.chance(70);
        left.boxes.insert(spec.id.clone(), Before { done, ..Before::default() });
        // Sometimes an agent forgets to write the log, and then the state file counts.
        if left.system == System::Iterative && self.rng.chance(80) {
            let commit = commits.first().map(|no| oid(*no)).filter(|_| self.rng.chance(85));
            let is_own = commit.as_ref().is_some_and(|commit| self.git.is_landed(commit));
            if is_own && says_done && self.before.landed.contains(&spec.id) {
                left.proven.insert(spec.id.clone());
            }
            let signal = if says_done { format!("{}_DONE", spec.id) } else { String::new() };
            let head =
                Head { kind: Kind::Iteration, unit: Some(spec.id.clone()), number: Some(1), time: None };
            let commit = commit.map(|commit| commit.to_string()).unwrap_or_default();
            left.log += &format!(
                "{}\n\n",
                Entry { head, signal, commit, did: "work".to_owned(), ..Entry::default() }.write()
            );
        }
    }

    /// Take it over. A process that dies over it and begins again comes to the same result.
    pub(in super::super) fn take_over_lists(&mut self, left: &Lists) -> Result<(), Broken> {
        let specs = left.specs(&self.scenario.plan.tasks.clone());
        let judge = |sim: &mut Sim| {
            let legacy = left.legacy();
            let evidence = sim.looks_for_files(left, &specs, &legacy.questions(&specs));
            legacy.take_over(&specs, &evidence).expect("the plan has every task")
        };
        let taken = judge(self);
        let again = judge(self);
        let is_same = again.beliefs == taken.beliefs && again.lines == taken.lines;
        named("taken_over_again_is_the_same", ensure(is_same, || format!("{again:?}, not {taken:?}")))?;
        for command in &taken.commands {
            if let Answer::Refused(refusal) = self.submit(command)? {
                return Err(("taken_over_in_one_step", format!("{command:?}: {refusal}")));
            }
        }
        named("taken_over_is_borne_out", self.claims_are_borne_out(&taken))?;
        named("what_landed_is_not_done_again", self.true_claims_count(left, &specs))?;
        for belief in &taken.beliefs {
            let is_completed = belief.past.as_ref().is_some_and(|past| past.status == Status::Completed);
            if is_completed {
                self.before.completed.insert(belief.task.clone());
            }
            let is_reverted =
                self.before.named.contains(&belief.task) && !self.before.landed.contains(&belief.task);
            self.coverage.saw(match (left.system, left.claimed.contains(&belief.task), is_completed) {
                (System::Issue, true, true) => "a claim of an issue's list counts",
                (System::Rwkit, true, true) => "a claim of a todolist counts",
                (System::Iterative, true, true) => "a claim of a log counts",
                (System::Iterative, true, false) if is_reverted => "a log claims what was reverted",
                (_, true, false) => "a claim of a list was not borne out",
                (_, false, _) => "nobody claims it in a list",
            });
        }
        Ok(())
    }

    fn looks_for_files(&mut self, left: &Lists, specs: &[TaskSpec], questions: &Questions) -> Evidence {
        if left.system == System::Iterative {
            return self.looks_around(specs, questions);
        }
        let is_missing = |(id, files): (&TaskId, &Vec<String>)| {
            let file = files.first().filter(|_| !self.before.landed.contains(id))?;
            Some((id.clone(), file.clone()))
        };
        let missing = questions.files.of.iter().filter_map(is_missing).collect();
        let (worktrees, branches) = (BTreeMap::new(), BTreeMap::new());
        Evidence {
            now: self.now(),
            begins: true,
            target: None,
            worktrees,
            branches,
            missing,
            onto: Onto::Nowhere,
        }
    }

    /// No task is taken over as completed whose work is missing.
    fn claims_are_borne_out(&self, taken: &Takeover) -> Verdict {
        let completed = taken
            .beliefs
            .iter()
            .filter(|belief| belief.past.as_ref().is_some_and(|past| past.status == Status::Completed));
        for belief in completed {
            let is_there = self.before.landed.contains(&belief.task);
            ensure(is_there, || format!("{} is called completed: {}", belief.task, belief.why))?;
        }
        Ok(())
    }

    /// A task that is reported as done, and whose work exists, is completed. If the system asks git, a commit has to
    /// prove it.
    fn true_claims_count(&self, left: &Lists, specs: &[TaskSpec]) -> Verdict {
        for spec in specs.iter().filter(|spec| self.before.landed.contains(&spec.id)) {
            let is_known = match left.system {
                System::Issue | System::Rwkit => left.claimed.contains(&spec.id),
                System::Iterative => left.proven.contains(&spec.id),
            };
            let is_completed = self.task(&spec.id).is_some_and(|task| task.decided == Status::Completed);
            ensure(!is_known || is_completed, || format!("{} is done, and is to be done", spec.id))?;
        }
        Ok(())
    }
}
