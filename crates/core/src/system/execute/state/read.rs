//! Reads any `execute-state.json`: ours, one that a model kept by hand, one of a later version. Values that can be
//! understood are taken, with a warning where Piton had to guess. Others are rejected at their own bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::known;
use super::words::{ContextStatus, RunWord, TaskStatus};
use crate::diagnostic::Diagnostic;
use crate::plan::TaskId;
use crate::run::{ImportedCommit, ImportedError, ImportedFeedback};
use crate::system::kit::fields::{Fields, Reader, get};
use crate::system::kit::foreign::{self, Understood};
use crate::system::kit::json::{Kind, Node};
use crate::system::kit::shape;
use crate::time::Timestamp;

pub type Reading = Understood<ForeignState>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignState {
    pub schema_version: Option<String>,
    pub slug: Option<String>,
    pub project_path: Option<String>,
    pub worktree_dir: Option<String>,
    pub tasks_path: Option<String>,
    pub started_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub status: Option<RunWord>,
    pub stop_reason: Option<String>,
    pub current_layer: Option<String>,
    pub max_parallel: Option<u32>,
    pub layer_filter: Option<String>,
    pub task_filter: Option<String>,
    pub commit_prefix: Option<String>,
    pub no_commits: bool,
    /// Names of layers in the order of the file.
    pub layers: Vec<String>,
    pub tasks: BTreeMap<TaskId, ForeignTask>,
    /// Tasks that only the lists of completed, failed and abandoned ones name.
    pub listed: BTreeMap<TaskId, TaskStatus>,
    pub context: Option<Context>,
    /// The position in a journal of ours that it shows.
    pub piton_seq: Option<u64>,
    /// The run whose journal that is.
    pub piton_run: Option<String>,
    /// The whole of it.
    pub value: Value,
}

impl ForeignState {
    /// What is not ours to understand, to be carried along: unknown fields, and whatever belongs to tasks that a run
    /// does not have.
    pub fn carried(&self, has: impl Fn(&TaskId) -> bool) -> Value {
        let mut fields = shape::foreign(&self.value, &known::ROOT);
        for name in ["tasks", "worktrees"] {
            let Some(entries) = self.value.get(name).and_then(Value::as_object) else { continue };
            let orphan = |key: &str| TaskId::new(key.trim()).is_ok_and(|id| !has(&id));
            for (key, entry) in entries.iter().filter(|(key, _)| orphan(key)) {
                if let Value::Object(kept) = fields.entry(name).or_insert_with(|| Value::Object(Map::new())) {
                    kept.insert(key.clone(), entry.clone());
                }
            }
        }
        Value::Object(fields)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTask {
    pub status: TaskStatus,
    pub attempts: u32,
    pub worktree_path: Option<String>,
    pub branch: Option<String>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub merged_at: Option<Timestamp>,
    pub commits: Vec<ImportedCommit>,
    pub errors: Vec<ImportedError>,
    pub feedback: Vec<ImportedFeedback>,
    /// Where it stands in the text.
    pub at: Range<usize>,
}

impl ForeignTask {
    /// A task that no file mentions.
    pub fn unknown() -> ForeignTask {
        ForeignTask {
            status: TaskStatus::Pending,
            attempts: 0,
            worktree_path: None,
            branch: None,
            started_at: None,
            completed_at: None,
            merged_at: None,
            commits: Vec::new(),
            errors: Vec::new(),
            feedback: Vec::new(),
            at: 0..0,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    pub status: ContextStatus,
    pub path: Option<String>,
    pub features: Vec<String>,
    pub endpoints: Vec<String>,
    pub models: Vec<String>,
    pub commit: Option<String>,
}

/// Read a text. Bytes become text in [`crate::system::kit::text`].
pub fn read(text: &str) -> Reading {
    foreign::read(text, |reader, fields, value| ForeignState { value, ..reader.state(fields) })
}

impl Reader {
    fn state(&mut self, root: Fields) -> ForeignState {
        let schema_version = self.version(root);
        let empty: Fields = &[];
        let options = match get(root, "options") {
            Some(node) => self.object(node, "`options`").unwrap_or(empty),
            None => empty,
        };
        let mut state = ForeignState {
            schema_version,
            slug: self.words(root, "prd_slug"),
            project_path: self.words(root, "project_path"),
            worktree_dir: self.words(root, "worktree_dir"),
            tasks_path: self.words(root, "tasks_path"),
            started_at: self.time(root, "started_at"),
            updated_at: self.time(root, "updated_at"),
            completed_at: self.time(root, "completed_at"),
            status: self.run_status(root),
            stop_reason: self.words(root, "stop_reason"),
            current_layer: self.words(root, "current_layer"),
            max_parallel: self.count(options, "max_parallel"),
            layer_filter: self.words(options, "layer_filter"),
            task_filter: self.words(options, "task_filter"),
            commit_prefix: self.words(options, "commit_prefix"),
            no_commits: self.truth(options, "no_commits"),
            layers: Vec::new(),
            tasks: BTreeMap::new(),
            listed: BTreeMap::new(),
            context: self.context(root),
            piton_seq: foreign::piton_seq(root),
            piton_run: foreign::piton_run(root),
            value: Value::Null,
        };
        match get(root, "layers").map(|node| (node, &node.kind)) {
            Some((_, Kind::Object(layers))) => {
                let named = layers.iter().filter(|(_, node)| matches!(node.kind, Kind::Object(_)));
                state.layers = named.map(|(name, _)| name.clone()).collect();
            }
            // The version after this one may say only how many there are.
            None | Some((_, Kind::List(_))) => {}
            Some((node, _)) => self.refuse(node, "`layers` must be an object"),
        }
        self.tasks(root, &mut state);
        self.lists(root, &mut state);
        self.compare(root, &state);
        state
    }

    fn version(&mut self, root: Fields) -> Option<String> {
        let version = self.text(root, "schema_version")?;
        let major = version.split('.').next().unwrap_or_default();
        let node = get(root, "schema_version")?;
        match major {
            "1" | "2" | "3" => {}
            _ => self.problems.push(
                Diagnostic::error(node.at.clone(), format!("the version {version:?} is unknown"))
                    .label("1, 2 and 3 are"),
            ),
        }
        Some(version)
    }

    fn run_status(&mut self, root: Fields) -> Option<RunWord> {
        let node = get(root, "status")?;
        let Kind::Text(word) = &node.kind else {
            self.refuse(node, "`status` must be text");
            return None;
        };
        let words: Vec<&str> = RunWord::ALL.iter().map(|known| known.word()).collect();
        self.status_word(node, word, RunWord::parse_lenient(word), RunWord::word, &words)
    }

    fn tasks(&mut self, root: Fields, state: &mut ForeignState) {
        let Some(node) = get(root, "tasks") else {
            if let Some(status) = state.status.filter(|status| *status != RunWord::Initializing) {
                let message = format!("there are no tasks, yet the run is {}", status.word());
                self.problems.push(Diagnostic::warning(0..0, message).label("they are taken from the plan"));
            }
            return;
        };
        // A list of tasks with their ids in them is not what any version writes, but what a model may make of it.
        let entries: Vec<(String, &Node)> = match &node.kind {
            Kind::Object(entries) => entries.iter().map(|(key, node)| (key.clone(), node)).collect(),
            Kind::List(items) => {
                self.warn(node, "`tasks` is a list", "read by the ids in it");
                items.iter().filter_map(|item| Some((self.id_of(item)?, item))).collect()
            }
            _ => {
                self.refuse(node, "`tasks` must be an object");
                return;
            }
        };
        if entries.is_empty() && !matches!(state.status, None | Some(RunWord::Initializing)) {
            self.warn(node, "there are no tasks, though the run began", "they are taken from the plan");
        }
        // The version after ours says `merged` for what is completed.
        let later = state.schema_version.as_deref().is_some_and(|version| version.starts_with('3'));
        for (key, node) in entries {
            let id = match TaskId::new(key.trim()) {
                Ok(id) => id,
                Err(bad) => {
                    self.refuse(node, format!("{key:?} cannot be the id of a task: {bad}"));
                    continue;
                }
            };
            let Some(task) = self.task(node, &key, later) else { continue };
            if state.tasks.insert(id.clone(), task).is_some() {
                self.warn(node, format!("{id} appears twice"), "the last one is used");
            }
        }
    }

    fn task(&mut self, node: &Node, key: &str, later: bool) -> Option<ForeignTask> {
        let fields = self.object(node, &format!("the task {key}"))?;
        let words: Vec<&str> = TaskStatus::ALL.iter().map(|known| known.word()).collect();
        let status = match get(fields, "status") {
            None => TaskStatus::Pending,
            Some(Node { kind: Kind::Text(word), .. }) if word.trim().is_empty() => TaskStatus::Pending,
            Some(Node { kind: Kind::Text(word), .. }) if later && word == "merged" => TaskStatus::Completed,
            Some(said) => match &said.kind {
                Kind::Text(word) => {
                    self.status_word(said, word, TaskStatus::parse_lenient(word), TaskStatus::word, &words)?
                }
                _ => {
                    self.refuse(said, "`status` must be text");
                    return None;
                }
            },
        };
        let task = ForeignTask {
            status,
            attempts: self.count(fields, "attempts").unwrap_or(0),
            worktree_path: self.words(fields, "worktree_path"),
            branch: self.words(fields, "branch"),
            started_at: self.time(fields, "started_at"),
            completed_at: self.time(fields, "completed_at"),
            merged_at: self.time(fields, "merged_at"),
            commits: self.commits(fields),
            errors: self.errors(fields),
            feedback: self.feedback(fields),
            at: node.at.clone(),
        };
        if let (Some(started), Some(completed)) = (task.started_at, task.completed_at)
            && completed < started
        {
            self.warn(node, format!("{key} was completed before it began"), "the times are kept");
        }
        if task.attempts > 5 {
            let message = format!("{key} had {} attempts; the limit is 5", task.attempts);
            self.warn(node, message, "all of them count");
        }
        if task.attempts == 0 && !matches!(task.status, TaskStatus::Pending | TaskStatus::Completed) {
            let message = format!("{key} is {} without any attempt", task.status.word());
            self.warn(node, message, "read as the first");
        }
        Some(task)
    }

    /// Objects, or lines such as `abc1234: [L1-001] Add it`.
    fn commits(&mut self, fields: Fields) -> Vec<ImportedCommit> {
        let mut commits = Vec::new();
        for node in self.list(fields, "commits") {
            match &node.kind {
                Kind::Text(line) => {
                    let (hash, subject) = match line.split_once([':', ' ']) {
                        Some((hash, subject)) => (hash, subject.trim()),
                        None => (line.as_str(), ""),
                    };
                    commits.push(ImportedCommit {
                        hash: hash.trim().to_owned(),
                        subject: subject.to_owned(),
                        attempt: 1,
                        ..ImportedCommit::default()
                    });
                }
                Kind::Object(fields) => {
                    let hash = self.words(fields, "hash").or_else(|| self.words(fields, "sha"));
                    let Some(hash) = hash else {
                        self.warn(node, "a commit without a hash", "left out");
                        continue;
                    };
                    let attempt = self.count(fields, "attempt").unwrap_or(1);
                    let kind = self.words(fields, "type");
                    commits.push(ImportedCommit {
                        hash,
                        subject: self.words(fields, "message").unwrap_or_default(),
                        attempt,
                        is_fix: kind.map_or(attempt > 1, |kind| kind == "fix"),
                        fixed: self.words(fields, "fixed").unwrap_or_default(),
                        at: self.time(fields, "created_at"),
                    });
                }
                _ => self.warn(node, "this is not a commit", "left out"),
            }
        }
        commits
    }

    fn errors(&mut self, fields: Fields) -> Vec<ImportedError> {
        let mut errors = Vec::new();
        for node in self.list(fields, "errors") {
            match &node.kind {
                Kind::Text(message) => {
                    errors.push(ImportedError {
                        attempt: 1,
                        message: message.clone(),
                        ..ImportedError::default()
                    });
                }
                Kind::Object(fields) => errors.push(ImportedError {
                    attempt: self.count(fields, "attempt").unwrap_or(1),
                    kind: self.words(fields, "type").unwrap_or_default(),
                    step: self.words(fields, "step").unwrap_or_default(),
                    message: self.words(fields, "message").unwrap_or_default(),
                    details: self.words(fields, "details").unwrap_or_default(),
                    at: self.time(fields, "timestamp"),
                }),
                _ => self.warn(node, "this is not an error", "left out"),
            }
        }
        errors
    }

    fn feedback(&mut self, fields: Fields) -> Vec<ImportedFeedback> {
        let mut told = Vec::new();
        for node in self.list(fields, "retry_feedback") {
            match &node.kind {
                Kind::Text(text) => told.push(ImportedFeedback { attempt: 2, feedback: text.clone() }),
                Kind::Object(fields) => told.push(ImportedFeedback {
                    attempt: self.count(fields, "attempt").unwrap_or(2),
                    feedback: self.words(fields, "feedback").unwrap_or_default(),
                }),
                _ => self.warn(node, "this is not feedback", "left out"),
            }
        }
        told
    }

    fn context(&mut self, root: Fields) -> Option<Context> {
        let fields = self.object(get(root, "context_update")?, "`context_update`")?;
        let word = self.words(fields, "status")?;
        let status = ContextStatus::exact(&word);
        if let (None, Some(node)) = (status, get(fields, "status")) {
            self.warn(node, format!("{word:?} is not a status of an update"), "read as not done");
        }
        let mut names = |name: &str| {
            let texts = self.list(fields, name).iter();
            texts
                .filter_map(|node| if let Kind::Text(text) = &node.kind { Some(text.clone()) } else { None })
                .collect()
        };
        let [features, endpoints, models]: [Vec<String>; 3] =
            [names("features_added"), names("endpoints_added"), names("models_added")];
        Some(Context {
            status: status.unwrap_or(ContextStatus::Pending),
            path: self.words(fields, "project_md_path"),
            features,
            endpoints,
            models,
            commit: self.words(fields, "commit_hash"),
        })
    }

    /// Lists name tasks again, and some that are nowhere else.
    fn lists(&mut self, root: Fields, state: &mut ForeignState) {
        for word in [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Abandoned] {
            let Some(node @ Node { kind: Kind::List(items), .. }) = get(root, word.word()) else { continue };
            let number = state.tasks.values().filter(|task| task.status == word).count();
            if items.len() != number {
                let message = format!("`{}` lists {} tasks; {number} are", word.word(), items.len());
                self.warn(node, message, "counted again");
            }
            for item in items {
                if let Kind::Text(name) = &item.kind
                    && let Ok(id) = TaskId::new(name.trim())
                    && !state.tasks.contains_key(&id)
                {
                    state.listed.insert(id, word);
                }
            }
        }
    }

    /// What the file counts for itself, held against a recount.
    fn compare(&mut self, root: Fields, state: &ForeignState) {
        let number = |word| state.tasks.values().filter(|task| task.status == word).count();
        let completed = number(TaskStatus::Completed);
        if let Some(Node { kind: Kind::Object(metrics), .. }) = get(root, "metrics") {
            let figures = [
                ("tasks_completed", completed),
                ("completed_tasks", completed),
                ("tasks_total", state.tasks.len()),
                ("total_tasks", state.tasks.len()),
            ];
            for (name, counted) in figures {
                let said = get(metrics, name);
                if let Some(node @ Node { kind: Kind::Number(number), .. }) = said
                    && number.as_i64() != i64::try_from(counted).ok()
                {
                    self.warn(
                        node,
                        format!("`{name}` is {number}; counted, it is {counted}"),
                        "counted again",
                    );
                }
            }
        }
        if state.status == Some(RunWord::Completed)
            && completed < state.tasks.len()
            && let Some(node) = get(root, "status")
        {
            let message =
                format!("the run is completed, but {} of its tasks are not", state.tasks.len() - completed);
            self.warn(node, message, "the tasks count");
        }
        if let (Some(started), Some(updated)) = (state.started_at, state.updated_at)
            && updated < started
            && let Some(node) = get(root, "updated_at")
        {
            self.warn(node, "the last change was before the start", "the times are kept");
        }
    }
}
