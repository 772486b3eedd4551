//! A run in another system's form: the files of its plan, its state file, and a note of all that does not fit.
//!
//! Each system fits a plan to its own names and writes what its format can express. What it cannot express is not
//! listed anywhere: the system's own reader reads the files back, and every difference is something that did not fit.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::config::Config;
use super::state_files::Place;
use super::{Folder, Problem, Reading, System};
use crate::chronicle::Chronicle;
use crate::diagnostic::Severity;
use crate::order::Pairs;
use crate::plan::{Agent, Plan, Settings, TaskId, diff};
use crate::run::{State, Status};

#[cfg(test)]
mod tests;

/// A run, and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub plan: &'a Plan,
    pub state: &'a State,
    pub chronicle: &'a Chronicle,
}

/// What is to be written, and what is lost by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// By their names below one folder, with `/` between the parts.
    pub files: Vec<(String, String)>,
    pub notes: Vec<Note>,
}

/// Something that the format cannot express, or expresses differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Its id in the run. `None`: the run as a whole.
    pub task: Option<TaskId>,
    pub field: String,
    pub text: String,
}

impl Note {
    pub fn of_run(field: &str, text: impl Into<String>) -> Note {
        Note { task: None, field: field.to_owned(), text: text.into() }
    }

    pub fn of_task(task: &TaskId, field: &str, text: impl Into<String>) -> Note {
        Note { task: Some(task.clone()), field: field.to_owned(), text: text.into() }
    }
}

/// Write a run for another system. `config` is what the project says where the files are going to be, and `place` is
/// for state files that name it.
pub fn export(source: Source<'_>, to: &dyn System, config: &Config, place: &Place) -> Exported {
    let fitted = to.fit(source.plan);
    let names = Names::new(source.plan, &fitted);
    let done = names.done(source.state);
    let is_done = |id: &TaskId| done.contains(id.as_str());
    let Written { mut files, back, wrong } = to.write(&fitted, config, &is_done);
    let mut notes = renamed(source.plan, &fitted);
    notes.extend(differences(source.plan, &fitted, &back));
    notes.extend(wrong);
    files.extend(to.write_state(source, &names, place));
    notes.extend(to.not_exported(source));
    Exported { files, notes }
}

/// Give each task a new id, by its place in the plan, also where other tasks wait for it.
pub(in crate::system) fn renumber(plan: &mut Plan, id: impl Fn(usize) -> TaskId) {
    let ids: BTreeMap<TaskId, TaskId> =
        plan.tasks.iter().enumerate().map(|(nth, task)| (task.id.clone(), id(nth))).into_map();
    for task in &mut plan.tasks {
        for old in [&mut task.id].into_iter().chain(&mut task.depends_on) {
            if let Some(new) = ids.get(old) {
                old.clone_from(new);
            }
        }
    }
}

/// The files of a plan, what the system's own reader makes of them, and what that cannot use.
#[derive(Clone, Debug)]
pub struct Written {
    pub files: Vec<(String, String)>,
    pub back: Plan,
    pub wrong: Vec<Note>,
}

impl Written {
    /// Files that are read back as a folder.
    pub fn read_back(files: Vec<(String, String)>, read: impl FnOnce(&Folder) -> Reading) -> Written {
        let bytes = files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
        let read = read(&Folder { files: bytes.into_map() });
        let is_error = |problem: &Problem| problem.diagnostic.severity == Severity::Error;
        let wrong = read.problems.into_iter().filter(is_error);
        let wrong = wrong.map(|problem| Note::of_run(&problem.file, problem.diagnostic.message)).collect();
        Written { files, back: read.plan, wrong }
    }
}

/// What tasks and groups of the run are called in the other form.
#[derive(Clone, Debug)]
pub struct Names {
    tasks: BTreeMap<String, String>,
    groups: BTreeMap<String, String>,
}

impl Names {
    fn new(plan: &Plan, fitted: &Plan) -> Names {
        let tasks = plan.tasks.iter().zip(&fitted.tasks);
        let groups = plan.groups.iter().zip(fitted.groups.iter().cycle());
        Names {
            tasks: tasks.map(|(old, new)| (old.id.to_string(), new.id.to_string())).into_map(),
            groups: groups.map(|(old, new)| (old.id.to_string(), new.id.to_string())).into_map(),
        }
    }

    /// What a task is called there. A task that was not renamed keeps its name.
    pub fn task<'a>(&'a self, old: &'a str) -> &'a str {
        self.tasks.get(old).map_or(old, String::as_str)
    }

    pub fn group<'a>(&'a self, old: &'a str) -> &'a str {
        self.groups.get(old).map_or(old, String::as_str)
    }

    /// What completed tasks are called there.
    fn done(&self, state: &State) -> BTreeSet<&str> {
        let done = state.tasks().filter(|task| task.status() == Status::Completed);
        done.filter_map(|task| self.tasks.get(task.id.as_str())).map(String::as_str).collect()
    }
}

fn renamed(plan: &Plan, fitted: &Plan) -> Vec<Note> {
    let mut notes = Vec::new();
    if plan.groups.len() == fitted.groups.len() {
        for (old, new) in plan.groups.iter().zip(&fitted.groups).filter(|(old, new)| old.id != new.id) {
            notes.push(Note::of_run("group", format!("`{}` is called `{}`", old.id, new.id)));
        }
    } else {
        let text =
            "all tasks are in one: some wait for tasks of later groups, which that system does not allow";
        notes.push(Note::of_run("group", text));
    }
    for (old, new) in plan.tasks.iter().zip(&fitted.tasks).filter(|(old, new)| old.id != new.id) {
        notes.push(Note::of_task(&old.id, "id", format!("called `{}`", new.id)));
    }
    notes
}

/// What differs after it was written and read back.
fn differences(plan: &Plan, fitted: &Plan, back: &Plan) -> Vec<Note> {
    let known: BTreeMap<&TaskId, &TaskId> =
        plan.tasks.iter().zip(&fitted.tasks).map(|(old, new)| (&new.id, &old.id)).into_map();
    let called = |id: &TaskId| known.get(id).map_or_else(|| id.clone(), |id| (*id).clone());
    let diff = diff(&fitted.tasks, &back.tasks);
    let mut notes: Vec<Note> =
        diff.removed.iter().map(|id| Note::of_task(&called(id), "task", "cannot be written")).collect();
    for changed in &diff.changed {
        let task = called(&changed.id);
        notes.extend(changed.each().map(|(field, text)| Note::of_task(&task, field, text)));
    }
    notes.extend(settings(&fitted.settings, &back.settings));
    if fitted.name != back.name {
        notes.push(Note::of_run("name", format!("{} → {}", fitted.name, back.name)));
    }
    notes
}

fn settings(before: &Settings, after: &Settings) -> Vec<Note> {
    // Taken apart without `..`: a new one cannot be forgotten here.
    let Settings {
        form,
        schedule,
        max_parallel,
        exhausted,
        escalation,
        feedback,
        landing_checks,
        agents,
        worktree,
        fences,
        budget,
        commit_prefix,
        author,
        auto_answer,
        no_commits,
        in_sequence,
        backoff,
        landing_wait,
        land,
        landing_parallel,
        late_conflicts,
        requests,
    } = before;
    let pairs = [
        ("issue", json!(form.issue()), json!(after.form.issue())),
        ("list", json!(form.list().is_some()), json!(after.form.list().is_some())),
        ("iterative", json!(form.brief().is_some()), json!(after.form.brief().is_some())),
        ("schedule", json!(schedule), json!(after.schedule)),
        ("max_parallel", json!(max_parallel), json!(after.max_parallel)),
        ("exhausted", json!(exhausted), json!(after.exhausted)),
        ("escalation", json!(escalation), json!(after.escalation)),
        ("feedback", json!(feedback), json!(after.feedback)),
        ("landing_checks", lines(landing_checks), lines(&after.landing_checks)),
        ("agents", commands(agents), commands(&after.agents)),
        ("worktree", json!(worktree), json!(after.worktree)),
        ("fences", json!(fences), json!(after.fences)),
        ("budget", json!(budget), json!(after.budget)),
        ("commit_prefix", json!(commit_prefix), json!(after.commit_prefix)),
        ("author", json!(author), json!(after.author)),
        ("auto_answer", json!(auto_answer), json!(after.auto_answer)),
        ("no_commits", json!(no_commits), json!(after.no_commits)),
        ("in_sequence", json!(in_sequence), json!(after.in_sequence)),
        ("backoff", json!(backoff.to_string()), json!(after.backoff.to_string())),
        ("landing_wait", json!(landing_wait.to_string()), json!(after.landing_wait.to_string())),
        ("land", json!(land), json!(after.land)),
        ("landing_parallel", json!(landing_parallel), json!(after.landing_parallel)),
        ("requests", json!(requests.is_some()), json!(after.requests.is_some())),
        ("early_conflicts", json!(!late_conflicts), json!(!after.late_conflicts)),
    ];
    let differ = pairs.into_iter().filter(|(_, before, after)| before != after);
    differ
        .map(|(field, before, after)| Note::of_run(field, format!("{} → {}", said(&before), said(&after))))
        .collect()
}

fn lines(checks: &[crate::plan::Check]) -> Value {
    let rules = |check: &crate::plan::Check| {
        let (pipes, fresh) = (check.pipefail == Some(false), check.fresh);
        format!("{}{}", if pipes { ", no pipefail" } else { "" }, if fresh { ", fresh" } else { "" })
    };
    checks.iter().map(|check| format!("{} ({}{})", check.run, check.timeout, rules(check))).collect()
}

/// The agents, without the values of their environment, which may be secret.
fn commands(agents: &BTreeMap<String, Agent>) -> Value {
    let shown = |agent: &Agent| {
        let mut shown = json!(agent);
        shown["env"] = json!(agent.env.keys().collect::<Vec<_>>());
        shown
    };
    agents.iter().map(|(name, agent)| (name.clone(), shown(agent))).collect()
}

/// A value as people say it.
fn said(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Object(fields) if fields.is_empty() => "none".to_owned(),
        value => value.to_string(),
    }
}

/// Statuses that the other system has another word for.
pub(super) fn other_words(source: Source<'_>, word: impl Fn(Status) -> &'static str) -> Vec<Note> {
    let mut notes = Vec::new();
    for task in source.state.tasks().filter(|task| !task.removed) {
        let (is, word) = (task.status().name(), word(task.status()));
        if is != word {
            notes.push(Note::of_task(&task.id, "status", format!("{is} → {word}")));
        }
    }
    notes
}
