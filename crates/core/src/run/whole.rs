//! A run that lands as a whole. Its tasks land on a branch of Piton's own, and one more task is the request for that branch.
//!
//! No plan has that task: Piton adds it to each plan that the run adopts. It waits for all others. It begins without an
//! agent, since there is nothing to do as long as nobody asks for changes. What the host or a reviewer asks for is an
//! attempt at this task. It keeps its request when it is completed: the next one is for the same branch.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::request;
use super::state::Run;
use super::task::Task;
use crate::plan::{GroupId, Per, Plan, Requests, TaskId, TaskSpec, Whole};

/// What its agents are asked to do. The reason why they are needed comes with it, as after every attempt that failed.
const PROMPT: &str = "\
All tasks of this run are done, and their work is in this folder. They are to be merged by one request at the host of the \
repository. A check of the host failed, a reviewer asked for changes, or the target branch has changes that conflict with \
this work. Do what is asked for, and solve conflicts that are left in files. Change nothing else.";

impl Run {
    /// How the run lands as a whole, if it does.
    pub fn whole(&self) -> Option<&Whole> {
        self.settings.requests.as_ref()?.whole.as_ref()
    }

    /// Whether a task is the request of the run.
    pub fn is_its_request(&self, task: &TaskId) -> bool {
        self.whole().is_some_and(|whole| whole.has(task))
    }

    /// Whether a group waits until the requests of those before it are merged.
    pub(super) fn lands_in_batches(&self) -> bool {
        self.whole().is_some_and(|whole| !whole.groups.is_empty())
    }

    /// The branch of a task's request.
    pub(super) fn branch_of_request(&self, task: &TaskId) -> String {
        match (self.whole(), &self.target) {
            (Some(whole), Some(branch)) if whole.task == *task => branch.clone(),
            // Below the run's own branch there can be none.
            (Some(_), Some(branch)) => format!("{branch}-{task}"),
            _ => request::branch(&self.id, task),
        }
    }

    /// The requests by which a task lands, if it lands by one.
    pub fn requests_of(&self, task: &TaskId) -> Option<&Requests> {
        let requests = self.settings.requests.as_ref()?;
        (requests.per == Per::Task || self.is_its_request(task)).then_some(requests)
    }

    /// Whether tasks may begin on the open requests of what they depend on.
    pub(super) fn stacks(&self) -> bool {
        self.settings.requests.as_ref().is_some_and(|requests| requests.stack && requests.per == Per::Task)
    }

    /// How many tasks had landed before the first whose checks decide about these candidates, too. The request of the run
    /// brings all that have landed.
    pub fn judged_since<'t>(&self, candidates: impl Iterator<Item = &'t Task>) -> u32 {
        let since =
            |task: &Task| if self.is_its_request(&task.id) { 0 } else { task.progress.landed_at_base };
        candidates.map(since).min().unwrap_or_default()
    }

    /// The branch that all of its work comes to in the end.
    pub fn destination(&self) -> Option<&String> {
        self.whole().map(|whole| &whole.into).or(self.target.as_ref())
    }

    /// The branch that a task lands on.
    pub fn target_of(&self, task: &TaskId) -> Option<&str> {
        match self.whole() {
            Some(whole) if whole.has(task) => Some(&whole.into),
            _ => self.target.as_deref(),
        }
    }
}

impl Whole {
    /// How the run of a plan lands as a whole on this branch. No task of the plan has the name of one of its requests.
    pub fn new(into: String, plan: &Plan, per: Per) -> Whole {
        let mut taken: BTreeSet<String> = plan.tasks.iter().map(|spec| spec.id.folded()).collect();
        let mut free = |name: &str| {
            // With a group's name it may be too long.
            let names = std::iter::once(name.to_owned()).chain((2_u32..).map(|n| format!("request-{n}")));
            let mut ids = names.filter_map(|name| TaskId::new(&name).ok());
            let id = ids.find(|id| !taken.contains(&id.folded())).expect("a plan has finitely many tasks");
            taken.insert(id.folded());
            id
        };
        let is_used = |nth: usize| plan.tasks.iter().any(|spec| spec.group as usize == nth);
        let used =
            plan.groups.iter().enumerate().filter(|(nth, _)| is_used(*nth)).map(|(_, group)| &group.id);
        let used: Vec<&GroupId> = used.filter(|_| per == Per::Batch).collect();
        // The last group has the request of the run.
        let earlier = used.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let groups =
            earlier.iter().map(|group| ((*group).clone(), free(&format!("request-{group}")))).collect();
        Whole { into, task: free("request"), groups }
    }

    pub fn has(&self, task: &TaskId) -> bool {
        self.task == *task || self.groups.iter().any(|(_, of_group)| of_group == task)
    }

    /// The tasks that are its requests.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.requests().map(|(_, task)| task)
    }

    /// All of its requests, in the order in which they are opened. `None`: of the run.
    pub(super) fn requests(&self) -> impl Iterator<Item = (Option<&GroupId>, &TaskId)> {
        self.groups.iter().map(|(group, task)| (Some(group), task)).chain([(None, &self.task)])
    }
}

/// A plan with the requests of a run that lands as a whole.
pub(super) fn with_request<'p>(plan: &'p Plan, requests: Option<&Requests>) -> Cow<'p, Plan> {
    let Some(whole) = requests.and_then(|requests| requests.whole.as_ref()) else {
        return Cow::Borrowed(plan);
    };
    let like = plan.tasks.iter().find(|spec| !spec.by_person).or(plan.tasks.first());
    let (Some(like), false) = (like, plan.tasks.iter().any(|spec| whole.has(&spec.id))) else {
        return Cow::Borrowed(plan);
    };
    let mut full = plan.clone();
    let last = plan.groups.len().saturating_sub(1);
    for (of, id) in whole.requests() {
        let group = of.map(|of| plan.groups.iter().position(|group| group.id == *of).unwrap_or(last));
        let group = group.and_then(|group| u32::try_from(group).ok());
        // A request of an earlier group is a task of that group.
        let is_before = |spec: &&TaskSpec| group.is_none_or(|group| spec.group <= group);
        full.tasks.push(TaskSpec {
            id: id.clone(),
            title: match of {
                Some(group) => format!("The request of the group {group}"),
                None => "The request of the run".to_owned(),
            },
            prompt: PROMPT.to_owned(),
            group: group.unwrap_or(u32::try_from(last).unwrap_or(u32::MAX)),
            depends_on: full.tasks.iter().filter(is_before).map(|spec| spec.id.clone()).collect(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: Vec::new(),
            priority: like.priority,
            agent: like.agent.clone(),
            attempts: like.attempts,
            confirm: false,
            may_change_nothing: true,
            check_first: true,
            may_fail: false,
            // What lands on the branch later has to be in a request, too: in that of the run.
            gate: of.is_none(),
            by_person: false,
            timeout: like.timeout,
            silence: like.silence,
            exports: Vec::new(),
            outside: Vec::new(),
            source: None,
        });
    }
    Cow::Owned(full)
}
