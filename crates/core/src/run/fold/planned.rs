//! What a plan says about a task, when it comes and when it changes.

use super::super::effort::Effort;
use super::super::state::{Missing, State};
use super::super::task::{Awaited, LazyProgress, Status, Task};
use super::super::usage::Bill;
use crate::plan::{Check, Content, Outside, TaskId, TaskSpec};
use crate::time::{Span, Timestamp};

impl State {
    pub(super) fn add(
        &mut self,
        spec: &TaskSpec,
        (level, tail): (u32, u32),
        at: Timestamp,
        seq: u64,
    ) -> Result<(), Missing> {
        self.on_run(|run| run.held = false);
        self.link(&spec.id, &spec.depends_on.clone().into());
        let mut task = Task {
            id: spec.id.clone(),
            group: spec.group,
            level,
            tail,
            priority: spec.priority,
            decided: Status::Pending,
            since: at,
            attempt: 0,
            spent: 0,
            budget: spec.attempts,
            transient: 0,
            conflicts: 0,
            fence: 0,
            holder: None,
            not_before: None,
            waiting: 0,
            open: 0,
            dead: 0,
            held: 0,
            outside: Vec::new(),
            judges: Vec::new(),
            reviewers: Vec::new(),
            reviews: Vec::new(),
            agent: String::new(),
            confirm: false,
            may_change_nothing: false,
            check_first: false,
            may_fail: false,
            gate: false,
            by_person: false,
            content: self.content_of(spec),
            removed: false,
            spec_seq: seq,
            failure_seq: None,
            reopened: None,
            proof: None,
            counts: Vec::new(),
            progress: LazyProgress::default(),
            used: Bill::default(),
            worked: Span::default(),
            booked: 0,
            effort: Effort::default(),
        };
        judge_by(&mut task, spec);
        task.gate = self.enter_gate(spec);
        self.count_needs(&mut task);
        task.outside = awaited(spec, &[]);
        // Tasks may come before what they depend on. A task that waits for this one has already counted it as open.
        if task.status() == Status::Pending {
            self.enter(task);
            return Ok(());
        }
        // It does not know yet that this one cannot complete, or that it waits for another list.
        let (dead, held) = (std::mem::take(&mut task.dead), std::mem::take(&mut task.held));
        let outside = std::mem::take(&mut task.outside);
        self.enter(task);
        self.update(&spec.id, at, |task| (task.dead, task.held, task.outside) = (dead, held, outside))
    }

    pub(super) fn change_spec(
        &mut self,
        spec: &TaskSpec,
        (level, tail): (u32, u32),
        at: Timestamp,
        seq: u64,
    ) -> Result<(), Missing> {
        self.link(&spec.id, &spec.depends_on.clone().into());
        let mut counted =
            self.tasks.get(&spec.id).cloned().ok_or_else(|| Missing::Tasks(vec![spec.id.clone()]))?;
        self.count_needs(&mut counted);
        let (gate, content) = (self.enter_gate(spec), self.content_of(spec));
        self.update(&spec.id, at, |task| {
            task.group = spec.group;
            task.level = level;
            task.tail = tail;
            task.priority = spec.priority;
            task.budget = spec.attempts.max(task.spent + u32::from(task.decided != Status::Abandoned));
            // The work was done for a task with other content, so the checks of this one do not judge it.
            task.progress.red.take_if(|_| spec.is_another_than(task.content));
            // A completed task keeps the content that it was completed for.
            if task.decided != Status::Completed || !spec.is_another_than(task.content) {
                task.content = content;
            }
            task.spec_seq = seq;
            task.waiting = counted.waiting;
            task.open = counted.open;
            task.dead = counted.dead;
            task.held = counted.held;
            task.outside = awaited(spec, &task.outside);
            if task.removed {
                task.removed = false;
                if task.decided == Status::Skipped {
                    task.decided = Status::Pending;
                }
            }
            judge_by(task, spec);
            task.gate = gate;
        })
    }

    fn content_of(&self, spec: &TaskSpec) -> Content {
        let as_written = self.run.as_ref().is_none_or(|run| run.settings.policy().as_written);
        spec.journaled_content(as_written)
    }

    /// Whether a task judges the whole. Journals of earlier versions do not say it: there the lists of its system do.
    fn enter_gate(&mut self, spec: &TaskSpec) -> bool {
        let Some(run) = &mut self.run else { return spec.gate };
        let is_listed = run.settings.form.lists(&spec.id) || run.is_its_request(&spec.id);
        let gate = spec.gate || spec.check_first && !is_listed;
        run.gates.retain(|id| id != &spec.id);
        run.gates.extend(gate.then(|| spec.id.clone()));
        gate
    }

    fn count_needs(&self, task: &mut Task) {
        let needs = self.links.get(&task.id).map(|links| links.needs.clone()).unwrap_or_default();
        let of = |id: &TaskId| self.tasks.get(id).map_or(Status::Pending, Task::status);
        task.waiting = count(&needs, |id| !of(id).satisfies());
        task.open = count(&needs, |id| self.tasks.get(id).is_some_and(Task::has_open_request));
        task.dead = count(&needs, |id| of(id).is_dead());
        task.held = count(&needs, |id| of(id) == Status::Waiting);
    }
}

/// What a task awaits of other lists: what was seen of it before stays seen.
fn awaited(spec: &TaskSpec, before: &[Awaited]) -> Vec<Awaited> {
    let was_done = |need: &Outside| before.iter().any(|known| known.need == *need && known.done);
    spec.outside.iter().map(|need| Awaited { need: need.clone(), done: was_done(need) }).collect()
}

fn judge_by(task: &mut Task, spec: &TaskSpec) {
    task.judges = spec.checks.iter().map(Check::digest).collect();
    task.reviewers = spec.checks.iter().filter_map(Check::reviewer).map(str::to_owned).collect();
    task.reviews = spec.checks.iter().filter(|c| c.reviewer().is_some()).map(Check::digest).collect();
    task.agent.clone_from(&spec.agent);
    task.confirm = spec.confirm;
    // A task that may be done already may be completed without any change.
    // Nor is there anything to commit for what a person did.
    task.may_change_nothing = spec.may_change_nothing || spec.check_first || spec.by_person;
    task.by_person = spec.by_person;
    task.check_first = spec.check_first;
    task.may_fail = spec.may_fail;
}

fn count(ids: &[TaskId], which: impl Fn(&TaskId) -> bool) -> u32 {
    u32::try_from(ids.iter().filter(|id| which(id)).count()).unwrap_or(u32::MAX)
}
