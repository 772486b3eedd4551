//! The file as a run makes it. One pass over the tasks; nothing is counted up, everything is counted.

use std::collections::BTreeSet;

use serde_json::Value;

use super::file::{
    CommitEntry, ContextEntry, ErrorEntry, FeedbackEntry, Layer, Map, Metrics, Options, QueueEntry,
    StateFile, TaskEntry, Time, VERSION, WorktreeEntry,
};
use super::known::{self, FILE};
use super::words::{
    CommitType, ContextStatus, ErrorType, LayerStatus, QueueStatus, RunWord, TaskStatus, WorktreeStatus,
};
use crate::chronicle::{Chronicle, Commit, Failure, Refused, Story};
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::{Counts, Run, Selection, State, Status, StopReason, Task};
use crate::system::kit::projection;
use crate::system::state_files::{Place, Workplace};
use crate::time::Timestamp;
use crate::view::{GroupStatus, group_status};

/// The type of an error entry for an edit that was refused.
const NOT_TAKEN: &str = "not_taken";

/// The file of a run, at the last event of both. `None` before the run was made.
pub fn project(state: &State, chronicle: &Chronicle, place: &Place) -> Option<StateFile> {
    let run = state.run()?;
    let unknown = Story::default();
    let tasks: Vec<FileTask> = state
        .tasks()
        .filter(|task| !task.removed)
        .map(|task| FileTask::new(task, chronicle.task(&task.id).unwrap_or(&unknown)))
        .collect();
    let writer = Writer { run, chronicle, place, tasks };
    Some(writer.file())
}

/// The file as a value: what an edit of it is compared with.
pub fn value(file: &StateFile) -> Value {
    projection::value(file, &file.carried, &known::ROOT)
}

/// The file's bytes: two spaces, a newline at the end.
pub fn text(file: &StateFile) -> String {
    // A large file is not copied for nothing.
    if file.carried.is_empty() { projection::text(file) } else { projection::text(&value(file)) }
}

/// A task with its story, and its status in both tongues.
struct FileTask<'a> {
    task: &'a Task,
    story: &'a Story,
    status: Status,
    word: TaskStatus,
}

impl<'a> FileTask<'a> {
    fn new(task: &'a Task, story: &'a Story) -> FileTask<'a> {
        let status = task.outcome();
        FileTask { task, story, status, word: TaskStatus::from_status(status) }
    }

    fn id(&self) -> String {
        self.task.id.to_string()
    }

    /// When it became what its layer waits for.
    fn ended_at(&self) -> Option<Timestamp> {
        self.story.merged_at.or(self.story.completed_at)
    }
}

struct Writer<'a> {
    run: &'a Run,
    chronicle: &'a Chronicle,
    place: &'a Place,
    tasks: Vec<FileTask<'a>>,
}

impl Writer<'_> {
    fn file(&self) -> StateFile {
        let metrics = self.metrics();
        let status = self.status();
        let started = self.chronicle.started_at.unwrap_or(self.run.created);
        let (current_group, current_batch) =
            if status == RunWord::Initializing { (None, None) } else { self.current() };
        let current_layer = current_group.and_then(|group| self.run.group(group));
        let done = status == RunWord::Completed;
        StateFile {
            schema_version: VERSION.to_owned(),
            prd_slug: self.run.name.clone(),
            project_path: self.place.project_path.clone(),
            worktree_dir: self.run.worktree_dir.clone(),
            tasks_path: self.place.tasks_path.clone(),
            started_at: Time(started),
            updated_at: Time(self.chronicle.updated_at),
            completed_at: self.tasks.iter().filter_map(FileTask::ended_at).max().filter(|_| done).map(Time),
            status,
            stop_reason: self.stop_reason(status),
            current_layer: current_layer.map(|group| group.id.to_string()),
            current_batch,
            options: self.options(),
            layers: self.layers(),
            tasks: Map(self.tasks.iter().map(|told| (told.id(), self.task(told))).collect()),
            worktrees: self.worktrees(),
            merge_queue: self.merge_queue(current_group),
            completed: self.having(TaskStatus::Completed),
            failed: self.having(TaskStatus::Failed),
            abandoned: self.having(TaskStatus::Abandoned),
            metrics,
            context_update: self.context_update(),
            piton_seq: self.chronicle.seq,
            piton_run: self.run.id.to_string(),
            carried: match self.chronicle.carried.get(FILE) {
                Some(Value::Object(fields)) => fields.clone(),
                _ => serde_json::Map::new(),
            },
        }
    }

    fn status(&self) -> RunWord {
        let all = |which: fn(Status) -> bool| self.tasks.iter().all(|told| which(told.status));
        let begun = self.tasks.iter().any(|told| told.word != TaskStatus::Pending);
        match &self.run.stopped {
            _ if self.run.engine.is_some() => RunWord::InProgress,
            _ if !self.tasks.is_empty() && all(Status::is_finished) => RunWord::Completed,
            // A holder of the ledger may have abandoned what was left, without any engine.
            Some(StopReason::Ended) => RunWord::Abandoned,
            _ if begun && all(Status::is_settled) => RunWord::Abandoned,
            Some(_) => RunWord::Stopped,
            None if begun => RunWord::InProgress,
            None => RunWord::Initializing,
        }
    }

    fn stop_reason(&self, status: RunWord) -> Option<String> {
        let abandoned = self.tasks.iter().any(|told| told.status == Status::Abandoned);
        let reason = match (status, &self.run.stopped) {
            (RunWord::Completed, _) => return self.skipped(),
            (RunWord::Abandoned, _) if abandoned => "abandoned",
            (RunWord::Abandoned, _) if self.tasks.iter().any(|told| told.status == Status::Blocked) => {
                "task_defect"
            }
            (RunWord::Abandoned, _) => "skipped",
            (RunWord::Stopped, Some(reason)) => match reason {
                StopReason::Filter => "filter",
                StopReason::Person => "user",
                StopReason::LandingWaits { .. } => "landing_waits",
                StopReason::PlanChanged { .. } => "task_edited",
                StopReason::Elsewhere { .. } | StopReason::Siblings { .. } => "elsewhere",
                StopReason::Budget { .. } => "budget",
                StopReason::Environment { .. } => "environment",
                // More was added to the plan since.
                StopReason::Completed | StopReason::Ended => return None,
            },
            _ => return None,
        };
        Some(reason.to_owned())
    }

    /// What a person skipped of a run that is complete, and why.
    fn skipped(&self) -> Option<String> {
        let skipped: Vec<String> = self
            .tasks
            .iter()
            .filter(|told| told.status == Status::Skipped)
            .map(|told| match told.story.skipped.as_ref().map(|said| said.text.trim()) {
                None | Some("") => told.id(),
                Some(reason) => format!("{} ({reason})", told.id()),
            })
            .collect();
        (!skipped.is_empty()).then(|| format!("skipped: {}", skipped.join(", ")))
    }

    /// The first layer that is not complete and its first unfinished batch; the last ones when all is done.
    fn current(&self) -> (Option<u32>, Option<u32>) {
        let open = self.tasks.iter().filter(|told| !told.status.satisfies());
        let place = open.map(|told| (told.task.group, told.task.level)).min();
        let last = || self.tasks.iter().map(|told| (told.task.group, told.task.level)).max();
        let Some((group, level)) = place.or_else(last) else { return (None, None) };
        let before: BTreeSet<u32> = self
            .tasks
            .iter()
            .filter(|told| told.task.group == group && told.task.level <= level)
            .map(|told| told.task.level)
            .collect();
        (Some(group), Some(count(before.len())))
    }

    fn options(&self) -> Options {
        let settings = &self.run.settings;
        let session = self.chronicle.session.as_ref().unwrap_or(&self.run.session);
        let [mut layer_filter, mut start_layer, mut task_filter] = [None, None, None];
        match &session.selection {
            Selection::All => {}
            Selection::Group(id) => layer_filter = Some(id.to_string()),
            Selection::From(id) => start_layer = Some(id.to_string()),
            Selection::Task(id) => task_filter = Some(id.to_string()),
        }
        Options {
            max_parallel: session.max_parallel,
            layer_filter,
            start_layer,
            task_filter,
            commit_prefix: settings.commit_prefix.clone().unwrap_or_default(),
            no_commits: settings.no_commits,
            verbose: session.verbose,
            quiet: session.quiet,
        }
    }

    fn layers(&self) -> Map<Layer> {
        let mut members: Vec<Vec<&FileTask>> = vec![Vec::new(); self.run.groups.len()];
        for told in &self.tasks {
            if let Some(layer) = members.get_mut(told.task.group as usize) {
                layer.push(told);
            }
        }
        let named = self.run.groups.iter().zip(members);
        Map(named.map(|(group, members)| (group.id.to_string(), self.layer(&members))).collect())
    }

    fn layer(&self, members: &[&FileTask]) -> Layer {
        let all = |which: fn(&FileTask) -> bool| members.iter().all(|told| which(told));
        let number = |which: fn(&FileTask) -> bool| count(members.iter().filter(|told| which(told)).count());
        let mut counts = Counts::default();
        members.iter().for_each(|told| counts.add(told.status, 1));
        let status = match group_status(&counts, self.run.settings.exhausted) {
            GroupStatus::Completed => LayerStatus::Completed,
            GroupStatus::Blocked => LayerStatus::Blocked,
            GroupStatus::Pending => LayerStatus::Pending,
            GroupStatus::InProgress if all(|told| told.word == TaskStatus::Pending) => LayerStatus::Pending,
            GroupStatus::InProgress => LayerStatus::InProgress,
        };
        let completed_at = members.iter().filter_map(|told| told.ended_at()).max();
        Layer {
            status,
            started_at: members.iter().filter_map(|told| told.story.begun_at).min().map(Time),
            completed_at: completed_at.filter(|_| status == LayerStatus::Completed).map(Time),
            tasks_total: count(members.len()),
            tasks_completed: number(|told| told.word == TaskStatus::Completed),
            tasks_failed: number(|told| matches!(told.word, TaskStatus::Failed | TaskStatus::Abandoned)),
        }
    }

    fn task(&self, told: &FileTask) -> TaskEntry {
        let FileTask { task, story, word, .. } = told;
        // Both are there from the moment the worktree is.
        let is_there = story.worktree.as_ref().is_some_and(|worktree| worktree.created_at.is_some());
        let shown = task.progress.worktree && is_there && *word != TaskStatus::Completed;
        let workplace = Some(&task.id).filter(|_| shown).and_then(|id| self.workplace(id));
        let (worktree_path, branch) = workplace.map(|at| (at.path, at.branch)).unzip();
        TaskEntry {
            status: *word,
            attempts: task.attempt,
            worktree_path,
            branch,
            started_at: story.started_at.map(Time),
            completed_at: story.completed_at.map(Time),
            merged_at: story.merged_at.map(Time),
            commits: story.commits.iter().map(commit).collect(),
            errors: self.errors(&task.id, story),
            retry_feedback: story
                .feedback
                .iter()
                .map(|told| FeedbackEntry { attempt: told.attempt, feedback: told.text.clone() })
                .collect(),
        }
    }

    /// What went wrong with a task, and edits about it that Piton rejected.
    fn errors(&self, id: &TaskId, story: &Story) -> Vec<ErrorEntry> {
        let mut errors: Vec<ErrorEntry> = story.failures.iter().map(error).collect();
        for refused in &self.chronicle.refused {
            let Some((_, attempt)) = refused.task.as_ref().filter(|(task, _)| task == id) else { continue };
            let entry = not_taken(refused, *attempt);
            // A script that writes the same again is answered once.
            if !errors.iter().any(|known| known.kind == entry.kind && known.message == entry.message) {
                let is_later = |error: &ErrorEntry| error.timestamp.is_some_and(|at| at.0 > refused.at);
                let place = errors.iter().position(is_later).unwrap_or(errors.len());
                errors.insert(place, entry);
            }
        }
        errors
    }

    fn workplace(&self, id: &TaskId) -> Option<Workplace> {
        if self.run.settings.no_commits {
            return None;
        }
        if let Some(place) = self.place.elsewhere.get(id) {
            return Some(place.clone());
        }
        let dir = self.run.worktree_dir.as_ref()?;
        let path = format!("{}/{id}", dir.trim_end_matches('/'));
        Some(Workplace { path, branch: format!("worktree-{id}") })
    }

    fn worktrees(&self) -> Map<WorktreeEntry> {
        let entry = |told: &FileTask| {
            let worktree = told.story.worktree.as_ref()?;
            let status = match told.status {
                _ if worktree.cleaned_at.is_some() && !told.task.progress.worktree => WorktreeStatus::Cleaned,
                Status::Abandoned | Status::Skipped => WorktreeStatus::Abandoned,
                Status::Completed if worktree.kept.is_some() => WorktreeStatus::Abandoned,
                Status::Merging | Status::Completed => WorktreeStatus::Merging,
                _ if worktree.created_at.is_none() => WorktreeStatus::Creating,
                _ => WorktreeStatus::Active,
            };
            let Workplace { path, branch } = self.workplace(&told.task.id)?;
            // It is being made since the task was begun.
            let began = worktree.created_at.or(told.story.started_at).or(told.story.begun_at);
            let created_at = Time(began.unwrap_or(self.run.created));
            Some((told.id(), WorktreeEntry { task_id: told.id(), path, branch, created_at, status }))
        };
        Map(self.tasks.iter().filter_map(entry).collect())
    }

    /// Landed tasks of the current layer, then what is verified, then what is being worked on with the priorities it
    /// would get.
    fn merge_queue(&self, current: Option<u32>) -> Vec<QueueEntry> {
        let mut queue: Vec<(QueueStatus, u64, &FileTask)> = Vec::new();
        for told in self.tasks.iter().filter(|_| !self.run.settings.no_commits) {
            let verified = told.story.queued.unwrap_or(u64::MAX);
            match told.status {
                Status::Completed if Some(told.task.group) == current && told.story.merged_at.is_some() => {
                    queue.push((QueueStatus::Merged, told.story.completed.unwrap_or(0), told));
                }
                Status::Merging => queue.push((QueueStatus::Merging, verified, told)),
                Status::Verified => queue.push((QueueStatus::Ready, verified, told)),
                Status::InProgress | Status::Confirming | Status::Verifying => {
                    queue.push((QueueStatus::Pending, u64::MAX, told));
                }
                _ => {}
            }
        }
        let rank = |status: QueueStatus| match status {
            QueueStatus::Merged => 0,
            QueueStatus::Merging => 1,
            QueueStatus::Ready => 2,
            QueueStatus::Pending => 3,
        };
        queue.arrange_by_key(|(status, order, _)| (rank(*status), *order));
        let entries = queue.into_iter().zip(1..);
        entries
            .map(|((status, _, told), priority)| QueueEntry {
                task_id: told.id(),
                priority,
                status,
                verified_at: told.story.verified_at.map(Time),
                merged_at: told.story.merged_at.map(Time),
            })
            .collect()
    }

    fn metrics(&self) -> Metrics {
        let number = |word| count(self.tasks.iter().filter(|told| told.word == word).count());
        let sum = |figure: fn(&FileTask) -> u32| self.tasks.iter().map(figure).fold(0, u32::saturating_add);
        let total = count(self.tasks.len());
        let completed = number(TaskStatus::Completed);
        let (failed, abandoned) = (number(TaskStatus::Failed), number(TaskStatus::Abandoned));
        let started = self.chronicle.started_at.unwrap_or(self.chronicle.updated_at);
        let ended = self.chronicle.stopped.as_ref().map_or(self.chronicle.updated_at, |stopped| stopped.at);
        let elapsed = ended.since(started).0 / 1000;
        Metrics {
            tasks_total: total,
            tasks_completed: completed,
            tasks_failed: failed,
            tasks_abandoned: abandoned,
            tasks_remaining: total - completed - abandoned,
            total_attempts: sum(|told| told.task.attempt),
            total_retries: sum(|told| told.task.attempt.saturating_sub(1)),
            elapsed_seconds: elapsed,
            total_tasks: total,
            completed_tasks: completed,
            failed_tasks: failed + abandoned,
            total_commits: sum(|told| count(told.story.commits.len())),
            elapsed_time_seconds: elapsed,
        }
    }

    fn context_update(&self) -> ContextEntry {
        let all_done = self.tasks.iter().all(|told| told.status == Status::Completed);
        let update = self.run.context.clone();
        let status = match &update {
            Some(update) if update.commit.is_some() => ContextStatus::Completed,
            Some(_) => ContextStatus::Skipped,
            None if all_done && self.run.engine.is_some() => ContextStatus::InProgress,
            None => ContextStatus::Pending,
        };
        let update = update.unwrap_or_default();
        ContextEntry {
            status,
            project_md_path: update.path.map(|path| self.absolute(path)),
            features_added: update.features,
            endpoints_added: paths_of(update.endpoints),
            models_added: update.models,
            commit_hash: update.commit.map(|commit| commit.to_string()),
            reason: update.skipped,
        }
    }

    /// A path in the project, as the file names it.
    fn absolute(&self, path: String) -> String {
        match path.starts_with('/') {
            true => path,
            false => format!("{}/{path}", self.place.project_path.trim_end_matches('/')),
        }
    }

    fn having(&self, word: TaskStatus) -> Vec<String> {
        self.tasks.iter().filter(|told| told.word == word).map(FileTask::id).collect()
    }
}

/// The paths of endpoints, each once; the journal knows their methods, too.
fn paths_of(endpoints: Vec<String>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for endpoint in endpoints {
        let path = endpoint.split_once(' ').map_or(endpoint.as_str(), |(_, path)| path.trim()).to_owned();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn commit(made: &Commit) -> CommitEntry {
    CommitEntry {
        hash: made.hash.clone(),
        kind: if made.is_fix { CommitType::Fix } else { CommitType::Implementation },
        attempt: made.attempt,
        message: made.subject.clone(),
        fixed: made.fixed.clone(),
        created_at: made.at.map(Time),
    }
}

fn not_taken(refused: &Refused, attempt: u32) -> ErrorEntry {
    ErrorEntry {
        attempt,
        kind: NOT_TAKEN.to_owned(),
        step: None,
        message: format!("rejected an edit of {}: {}: {}", refused.file, refused.edit, refused.reason),
        details: String::new(),
        timestamp: Some(Time(refused.at)),
    }
}

fn error(failure: &Failure) -> ErrorEntry {
    let own = || {
        ErrorType::from_failure(failure.class, failure.step.is_some(), failure.timed_out).word().to_owned()
    };
    ErrorEntry {
        attempt: failure.attempt,
        kind: if failure.kind.is_empty() { own() } else { failure.kind.clone() },
        step: failure.step.clone(),
        message: failure.message.clone(),
        details: failure.details.clone(),
        timestamp: failure.at.map(Time),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
