//! The file as a run makes it.

use serde_json::Value;

use super::entry::{AUTO, add};
use super::file::{FILE, Issue, ROOT, StateFile, TaskEntry, TaskWord};
use crate::chronicle::{BY_GIT, Chronicle, Story, WorkReport};
use crate::order::Arrange;
use crate::plan::TaskId;
use crate::run::{State, Task};
use crate::system::issue::plan::VALIDATION;
use crate::system::kit::projection::{self, Time, created_at};
use crate::time::Timestamp;

/// The file of a run, at the last event of both. `None` before the run was made.
pub fn project(state: &State, chronicle: &Chronicle, issue: &Issue) -> Option<StateFile> {
    let run = state.run()?;
    let carried = match chronicle.carried.get(FILE) {
        Some(Value::Object(fields)) => fields.clone(),
        _ => serde_json::Map::new(),
    };
    Some(StateFile {
        issue: issue.clone(),
        created_at: Time(created_at(state, chronicle)),
        updated_at: Time(chronicle.updated_at),
        tasks: in_order(state, chronicle).into_iter().map(|(task, story)| entry(task, story)).collect(),
        piton_seq: chronicle.seq,
        piton_run: run.id.to_string(),
        carried,
    })
}

/// The file as a value, with what others have in it.
pub fn value(file: &StateFile) -> Value {
    projection::value(file, &file.carried, &ROOT)
}

/// The file's bytes, as `jq` would write them.
pub fn text(file: &StateFile) -> String {
    projection::text(&value(file))
}

/// The tasks of the plan with their stories, in the order of the plan: each waits for the one before it, and one that was
/// added later may come before others.
pub(in crate::system::issue) fn in_order<'a>(
    state: &'a State,
    chronicle: &'a Chronicle,
) -> Vec<(&'a Task, &'a Story)> {
    let told = |task: &'a Task| Some((task, chronicle.task(&task.id)?));
    let mut tasks: Vec<(&Task, &Story)> = state
        .tasks()
        .filter(|task| !task.removed && task.id.as_str() != VALIDATION)
        .filter_map(told)
        .collect();
    tasks.arrange_by_key(|(task, story)| (task.level, story.added));
    tasks
}

/// The validation of the whole, which no list has.
pub(in crate::system::issue) fn validation<'a>(
    state: &'a State,
    chronicle: &'a Chronicle,
) -> Option<(&'a Task, &'a Story)> {
    let id = TaskId::new(VALIDATION).ok()?;
    let task = state.task(&id).ok()?.filter(|task| !task.removed)?;
    Some((task, chronicle.task(&id)?))
}

fn entry(task: &Task, story: &Story) -> TaskEntry {
    let word = TaskWord::from_status(task.outcome());
    let (mut exports, mut patterns) = (Vec::new(), Vec::new());
    for told in since_reset(story) {
        add(&mut exports, told.exports.iter().cloned());
        add(&mut patterns, told.patterns.iter().cloned());
    }
    let (files_created, files_modified) = files(story);
    TaskEntry {
        id: task.id.to_string(),
        description: story.title.clone(),
        status: word,
        started_at: story.started_at.map(Time),
        completed_at: ended_at(story).filter(|_| word == TaskWord::Completed).map(Time),
        files_created,
        files_modified,
        exports,
        patterns,
        notes: notes(word, story),
        test_results: story.tests.map(Into::into),
    }
}

/// When it became part of the branch, or was done where nothing landed.
pub(in crate::system::issue) fn ended_at(story: &Story) -> Option<Timestamp> {
    story.merged_at.or(story.completed_at)
}

pub(in crate::system::issue) fn since_reset(story: &Story) -> impl Iterator<Item = &WorkReport> {
    story.reports.iter().filter(|told| story.started_at.is_none_or(|began| told.at >= began))
}

/// New files and changed files, each once: as git saw them, else as reported.
pub(in crate::system::issue) fn files(story: &Story) -> (Vec<String>, Vec<String>) {
    if let Some(changed) = &story.changed {
        return (changed.created.clone(), changed.modified.clone());
    }
    let (mut created, mut modified) = (Vec::new(), Vec::new());
    for told in since_reset(story) {
        add(&mut created, told.created.iter().cloned());
    }
    for told in since_reset(story) {
        add(&mut modified, told.files.iter().filter(|file| !created.contains(file)).cloned());
    }
    (created, modified)
}

/// The notes of a task: why it failed, else the report of the last attempt, else a mark that there was no report.
pub(in crate::system::issue) fn notes(word: TaskWord, story: &Story) -> String {
    let why = || {
        if let Some(said) = &story.skipped {
            return Some(format!("Skipped: {}", said.text).trim_end_matches([' ', ':']).to_owned());
        }
        let given_up = story.given_up.as_ref().map(|said| said.text.clone());
        given_up.or_else(|| story.failures.last().map(|failure| failure.message.clone()))
    };
    let last = |told: &&WorkReport| told.attempt == story.attempt && !told.note.is_empty();
    let note = || story.reports.iter().rfind(last).map(|told| told.note.clone());
    let says = |told: &WorkReport| {
        let lists = [&told.files, &told.exports, &told.decisions, &told.patterns];
        let anything = !told.note.is_empty() || lists.iter().any(|list| !list.is_empty());
        anything && told.by.as_deref() != Some(BY_GIT)
    };
    let failed = Some(word).filter(|word| *word == TaskWord::Failed);
    match failed.and_then(|_| why()).filter(|why| !why.is_empty()).or_else(note) {
        Some(note) => note,
        None if word == TaskWord::Completed && !story.reports.iter().any(says) => AUTO.to_owned(),
        None => String::new(),
    }
}

/// The issue that a run is about.
pub fn about(state: &State) -> Issue {
    let Some(run) = state.run() else { return Issue::default() };
    let about = run.settings.form.issue().cloned().unwrap_or_default();
    Issue { number: about.number, title: about.title, branch: run.target.clone().unwrap_or_default() }
}
