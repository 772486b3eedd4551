//! The file as a run makes it. Nothing is counted up, everything is counted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::each_once;
use super::file::{
    Batch, Config, FILE, Progress, ROOT, ResumePoint, StateFile, StoryEntry, TaskEntry, VERSION, Verification,
};
use super::gates::{GATES, REVIEW, gate_of};
use super::words::{BatchWord, GateWord, RunWord, StoryWord, TaskWord};
use crate::chronicle::{Chronicle, Story};
use crate::order::Arrange;
use crate::plan::{About, AboutTask};
use crate::run::{Run, State, Status, StopReason, Task};
use crate::system::kit::projection::{self, Map, Time};
use crate::time::Timestamp;

/// The file of a run in this project, at the last event of both. `None` before the run was made.
pub fn project(state: &State, chronicle: &Chronicle, project: &str) -> Option<StateFile> {
    let run = state.run()?;
    let none = About::default();
    let list = run.settings.form.list().unwrap_or(&none);
    let (story, about) = (Story::default(), AboutTask::default());
    let mut all: Vec<ShownTask> = Vec::new();
    for task in state.tasks().filter(|task| !task.removed) {
        let story = chronicle.task(&task.id).unwrap_or(&story);
        let about = list.tasks.get(&task.id).unwrap_or(&about);
        all.push(ShownTask::new(state, task, story, about));
    }
    all.arrange_by_key(|told| told.story.added);
    // Tasks of other systems may be called like gates.
    let has_gates = run.settings.form.list().is_some();
    let (mut gates, mut tasks): (Vec<ShownTask>, Vec<ShownTask>) =
        all.into_iter().partition(|told| has_gates && gate_of(&told.task.id).is_some());
    gates.arrange_by_key(|told| told.task.group);
    let batches = number_batches(run, &tasks);
    for told in &mut tasks {
        told.batch = batches.get(told.task.group as usize).copied().flatten().unwrap_or(0);
    }
    let count = count(batches.iter().flatten().count());
    Some(Writer { run, chronicle, list, project, tasks, gates, batches: count }.file())
}

/// The file as a value: what an edit of it is compared with.
pub fn value(file: &StateFile) -> Value {
    projection::value(file, &file.carried, &ROOT)
}

/// The file's bytes, as `jq` would write them.
pub fn text(file: &StateFile) -> String {
    projection::text(&value(file))
}

/// Which batch each group is. Only one that holds tasks is any, and they are numbered as they come: so a batch is found at
/// the place that it is called by.
fn number_batches(run: &Run, tasks: &[ShownTask]) -> Vec<Option<u32>> {
    let mut is_batch = vec![false; run.groups.len()];
    for told in tasks {
        if let Some(is_batch) = is_batch.get_mut(told.task.group as usize) {
            *is_batch = true;
        }
    }
    let mut next = 0..;
    is_batch.into_iter().map(|is_batch| if is_batch { next.next() } else { None }).collect()
}

/// A task, or a gate, with its story and its status in both tongues.
pub(super) struct ShownTask<'a> {
    pub(super) task: &'a Task,
    pub(super) story: &'a Story,
    about: &'a AboutTask,
    pub(super) status: Status,
    pub(super) word: TaskWord,
    batch: u32,
    needs: Vec<String>,
    /// The dependencies that cannot complete.
    blocked_by: Vec<String>,
}

impl<'a> ShownTask<'a> {
    fn new(state: &State, task: &'a Task, story: &'a Story, about: &'a AboutTask) -> ShownTask<'a> {
        let status = task.outcome();
        let links = state.links(&task.id);
        let needs = links.as_ref().map(|links| &*links.needs).unwrap_or_default();
        let is_dead = |id: &&_| matches!(state.task(id), Ok(Some(need)) if need.status().is_dead());
        let blocked_by = match status {
            Status::Unreachable => needs.iter().filter(is_dead).map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let needs = needs.iter().map(ToString::to_string).collect();
        ShownTask {
            task,
            story,
            about,
            status,
            word: TaskWord::from_status(status),
            batch: 0,
            needs,
            blocked_by,
        }
    }

    fn id(&self) -> String {
        self.task.id.to_string()
    }

    /// As a line of the log calls it.
    pub(super) fn name(&self) -> String {
        match gate_of(&self.task.id) {
            Some(gate) => format!("Gate {gate}"),
            None => self.id(),
        }
    }

    /// When it was done, or became what it is at the end.
    pub(super) fn ended_at(&self) -> Timestamp {
        let done = self.story.merged_at.or(self.story.completed_at);
        done.filter(|_| self.word == TaskWord::Completed).unwrap_or(self.task.since)
    }

    pub(super) fn error(&self) -> Option<&str> {
        let given_up = self.story.given_up.as_ref().map(|said| said.text.as_str());
        let skipped = self.story.skipped.as_ref().map(|said| said.text.as_str());
        let is_skipped = self.status == Status::Skipped && gate_of(&self.task.id).is_none();
        if let Some(reason) = skipped.filter(|text| is_skipped && !text.is_empty()) {
            return Some(reason);
        }
        let failed = || self.story.failures.last().map(|failure| failure.message.as_str());
        given_up.filter(|text| !text.is_empty()).or_else(failed)
    }

    pub(super) fn in_vain(&self) -> String {
        format!(": it waits for {}", self.blocked_by.join(", "))
    }

    fn verification(&self) -> Verification {
        use Status::{Completed, Confirming, InProgress, Merging, Verified, Verifying};
        let done = self.status == InProgress && self.task.progress.agent_done;
        Verification {
            agent_done: done
                || matches!(self.status, Confirming | Verifying | Verified | Merging | Completed),
            files_exist: matches!(self.status, Verified | Merging | Completed) || self.has_files(),
            state_synced: self.status == Completed,
        }
    }

    /// Whether git has seen the files that the list expects of it, or any file if it expects none.
    fn has_files(&self) -> bool {
        let Some(changed) = &self.story.changed else { return false };
        let is_there = |file: &String| changed.created.contains(file) || changed.modified.contains(file);
        match self.about.files.is_empty() {
            true => !changed.created.is_empty() || !changed.modified.is_empty(),
            false => self.about.files.iter().all(is_there),
        }
    }

    /// As reported since the last reset, each once.
    fn mentioned(&self) -> Vec<String> {
        let began = self.story.started_at;
        let reports = self.story.reports.iter().filter(|told| began.is_none_or(|began| told.at >= began));
        each_once(reports.flat_map(|told| &told.files).cloned())
    }

    fn entry(&self) -> TaskEntry {
        let files_mentioned = self.mentioned();
        let files_modified = match &self.story.changed {
            Some(changed) => changed.created.iter().chain(&changed.modified).cloned().collect(),
            None => files_mentioned.clone(),
        };
        let is_completed = self.word == TaskWord::Completed;
        TaskEntry {
            description: self.story.title.clone(),
            status: self.word,
            agent: self.about.agent.clone(),
            batch_id: self.batch,
            story_id: self.about.story.clone(),
            dependencies: self.needs.clone(),
            started_at: self.story.started_at.map(Time),
            completed_at: Some(Time(self.ended_at())).filter(|_| is_completed),
            files_modified,
            files_mentioned,
            files_expected: self.about.files.clone(),
            error: self.error().filter(|_| !is_completed).map(str::to_owned),
            verification: self.verification(),
            blocked_by: self.blocked_by.clone(),
        }
    }
}

pub(super) struct Writer<'a> {
    run: &'a Run,
    pub(super) chronicle: &'a Chronicle,
    list: &'a About,
    project: &'a str,
    /// In the order of the list.
    pub(super) tasks: Vec<ShownTask<'a>>,
    /// In the order in which they come.
    pub(super) gates: Vec<ShownTask<'a>>,
    /// How many there are.
    batches: u32,
}

impl Writer<'_> {
    fn file(&self) -> StateFile {
        let status = self.status();
        let batches = self.batches();
        let current = batches.iter().find(|batch| batch.status == BatchWord::InProgress);
        let began = self.chronicle.started_at.map_or(self.run.created, |began| began.min(self.run.created));
        let retried = self.tasks.iter().filter(|told| told.task.spent > 0);
        StateFile {
            version: VERSION.to_owned(),
            session_id: match self.list.session_id.as_str() {
                "" => session_id(began),
                given => given.to_owned(),
            },
            started_at: Time(began),
            updated_at: Time(self.chronicle.updated_at),
            status,
            stop_reason: self.stop_reason(status).map(str::to_owned),
            config: self.config(),
            user_stories: self.stories(),
            progress: self.progress(),
            tasks: Map(self.tasks.iter().map(|told| (told.id(), told.entry())).collect()),
            current_batch: current.map(|batch| batch.batch_id),
            retry_counts: Map(retried.map(|told| (told.id(), told.task.spent)).collect()),
            quality_gates: self.quality_gates(),
            qa_cycles: self.qa_cycles(),
            blocked_tasks: self.having(TaskWord::Blocked).map(ShownTask::id).collect(),
            degraded_phases: self.degraded().map(str::to_owned).collect(),
            resume_point: self.resume_point(status),
            logs: self.logs(status, &batches),
            batches,
            piton_seq: self.chronicle.seq,
            piton_run: self.run.id.to_string(),
            carried: match self.chronicle.carried.get(FILE) {
                Some(Value::Object(fields)) => fields.clone(),
                _ => serde_json::Map::new(),
            },
        }
    }

    fn status(&self) -> RunWord {
        let mut all = self.tasks.iter().chain(&self.gates).map(|told| told.status);
        let begun = all
            .clone()
            .any(|status| !matches!(status, Status::Pending | Status::Unreachable | Status::Waiting));
        match &self.run.stopped {
            _ if self.run.engine.is_some() => RunWord::Running,
            // The ledger may have finished what an engine left, or never had one.
            _ if begun && all.all(Status::is_settled) => RunWord::Completed,
            Some(StopReason::Environment { .. }) => RunWord::Failed,
            Some(_) => RunWord::Paused,
            None if begun => RunWord::Running,
            None => RunWord::Initializing,
        }
    }

    fn stop_reason(&self, status: RunWord) -> Option<&'static str> {
        let unfinished = || {
            if self.having(TaskWord::Blocked).next().is_some() {
                Some("blocked")
            } else if self.having(TaskWord::Skipped).next().is_some() {
                Some("skipped")
            } else {
                self.degraded().next().map(|_| "degraded")
            }
        };
        match (status, &self.run.stopped) {
            (RunWord::Initializing | RunWord::Running, _) => None,
            (RunWord::Completed, _) => unfinished(),
            (RunWord::Paused | RunWord::Failed, reason) => match reason.as_ref()? {
                StopReason::Filter => Some("filter"),
                StopReason::Person => Some("user"),
                StopReason::LandingWaits { .. } => Some("landing_waits"),
                StopReason::PlanChanged { .. } => Some("task_edited"),
                StopReason::Elsewhere { .. } => Some("elsewhere"),
                StopReason::Siblings { .. } => Some("other_lists"),
                StopReason::Budget { .. } => Some("budget"),
                StopReason::Environment { .. } => Some("environment"),
                // More was added, or something is to be tried again.
                StopReason::Completed | StopReason::Ended => unfinished(),
            },
        }
    }

    fn config(&self) -> Config {
        let list = self.list;
        Config {
            todolist_path: list.todolist_path.clone(),
            plan_path: list.plan_path.clone(),
            clarified_requirements_path: list.clarified_requirements_path.clone(),
            analysis_report_path: list.analysis_report_path.clone(),
            project_name: self.project.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
            project_path: self.project.to_owned(),
            auto_answer: self.run.settings.auto_answer,
        }
    }

    /// Those of the list, then those that only tasks name.
    fn stories(&self) -> Map<StoryEntry> {
        let mut members: BTreeMap<&str, Vec<&ShownTask>> = BTreeMap::new();
        let mut named: Vec<(&str, &str)> = Vec::new();
        for story in &self.list.stories {
            if members.insert(&story.id, Vec::new()).is_none() {
                named.push((&story.id, &story.title));
            }
        }
        for told in &self.tasks {
            let Some(id) = &told.about.story else { continue };
            members.entry(id).or_insert_with(|| {
                named.push((id, ""));
                Vec::new()
            });
            members.entry(id).or_default().push(told);
        }
        let entry = |(id, title): (&str, &str)| {
            let members = members.get(id).map(Vec::as_slice).unwrap_or_default();
            let completed = members.iter().filter(|told| told.word == TaskWord::Completed).count();
            let entry = StoryEntry {
                title: title.to_owned(),
                total_tasks: count(members.len()),
                completed_tasks: count(completed),
                status: story_word(members),
            };
            (id.to_owned(), entry)
        };
        Map(named.into_iter().map(entry).collect())
    }

    fn progress(&self) -> Progress {
        let number = |word| count(self.having(word).count());
        Progress {
            total_tasks: count(self.tasks.len()),
            completed: number(TaskWord::Completed),
            in_progress: number(TaskWord::InProgress),
            pending: number(TaskWord::Pending),
            failed: number(TaskWord::Failed),
            verified: count(self.tasks.iter().filter(|told| told.status == Status::Completed).count()),
            blocked: number(TaskWord::Blocked),
            skipped: number(TaskWord::Skipped),
        }
    }

    fn batches(&self) -> Vec<Batch> {
        let mut members: Vec<Vec<&ShownTask>> = vec![Vec::new(); self.batches as usize];
        for told in &self.tasks {
            if let Some(batch) = members.get_mut(told.batch as usize) {
                batch.push(told);
            }
        }
        let batch = |(batch_id, members): (u32, Vec<&ShownTask>)| {
            let all = |which: fn(&ShownTask) -> bool| members.iter().all(|told| which(told));
            let status = if all(|told| told.word == TaskWord::Pending) {
                BatchWord::Pending
            } else if all(|told| told.status.is_settled()) {
                BatchWord::Completed
            } else {
                BatchWord::InProgress
            };
            let ended = members.iter().map(|told| told.ended_at()).max();
            Batch {
                batch_id,
                task_ids: members.iter().map(|told| told.id()).collect(),
                status,
                started_at: members.iter().filter_map(|told| told.story.begun_at).min().map(Time),
                completed_at: ended.filter(|_| status == BatchWord::Completed).map(Time),
                compacted: false,
            }
        };
        (0..).zip(members).map(batch).collect()
    }

    fn quality_gates(&self) -> Map<Option<GateWord>> {
        let mut gates: Vec<(String, Option<GateWord>)> =
            GATES.iter().map(|name| ((*name).to_owned(), None)).collect();
        for (name, told) in self.named_gates() {
            let word = GateWord::from_status(name, told.status);
            match gates.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = word,
                None => gates.push((name.to_owned(), word)),
            }
        }
        Map(gates)
    }

    /// Rounds that have ended: those that found something, and the one that did not. The look after the last fix belongs
    /// to the round of that fix, so there are never more rounds than the gate may have.
    fn qa_cycles(&self) -> u32 {
        let review = self.named_gates().find(|(name, _)| *name == REVIEW);
        review.map_or(0, |(_, told)| {
            let ended = told.task.spent.saturating_add(u32::from(told.status == Status::Completed));
            ended.min(told.task.budget.saturating_sub(1).max(1))
        })
    }

    fn degraded(&self) -> impl Iterator<Item = &str> {
        let is_degraded = |(name, told): &(&str, &ShownTask)| {
            GateWord::from_status(name, told.status) == Some(GateWord::Degraded)
        };
        self.named_gates().filter(is_degraded).map(|(name, _)| name)
    }

    fn named_gates(&self) -> impl Iterator<Item = (&str, &ShownTask<'_>)> {
        self.gates.iter().filter_map(|told| Some((gate_of(&told.task.id)?, told)))
    }

    /// The first task that something can still happen to, or else the first such gate.
    fn resume_point(&self, status: RunWord) -> ResumePoint {
        let open = self.tasks.iter().filter(|told| !told.status.is_settled());
        if let Some(told) = open.min_by_key(|told| (told.batch, told.story.added)) {
            let begun = self.tasks.iter().any(|told| told.story.begun_at.is_some());
            let phase = match status {
                RunWord::Initializing => "preflight",
                _ if begun || told.batch > 0 => "implementation",
                // An engine found everything it needs, and has not begun a task yet.
                _ => "planning",
            };
            return ResumePoint {
                batch_id: Some(told.batch),
                task_id: Some(told.id()),
                phase: Some(phase.to_owned()),
            };
        }
        let gate = self.named_gates().find(|(_, told)| !told.status.is_settled());
        ResumePoint { phase: gate.map(|(name, _)| name.to_owned()), ..ResumePoint::default() }
    }

    fn having(&self, word: TaskWord) -> impl Iterator<Item = &ShownTask<'_>> {
        self.tasks.iter().filter(move |told| told.word == word)
    }
}

fn story_word(members: &[&ShownTask]) -> StoryWord {
    let all = |which: fn(&ShownTask) -> bool| members.iter().all(|told| which(told));
    if all(|told| told.word == TaskWord::Pending) {
        StoryWord::Pending
    } else if all(|told| told.status.satisfies()) {
        StoryWord::Completed
    } else if all(|told| told.status.is_settled()) {
        StoryWord::Blocked
    } else {
        StoryWord::InProgress
    }
}

/// `exec-20260110-100000`.
fn session_id(began: Timestamp) -> String {
    format!("exec-{}", began.to_string().replace(['-', ':', 'Z'], "").replace('T', "-"))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
