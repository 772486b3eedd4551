//! A run in another system's form: the files of its plan, its state file, and a note of all that does not fit.
//!
//! Each room fits a plan to its own names and writes what it has words for. What it has none for is listed nowhere: the
//! files are read back by the room's own reader, and whatever comes back otherwise is what did not fit.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::native::{self, Config, Overrides};
use super::{Folder, execute, issue, iterative, rwkit};
use crate::chronicle::Chronicle;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::{Agent, Dialect, Plan, Settings, TaskId};
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

/// Something that the form has no room for, or says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// As the run calls it; none: the run as a whole.
    pub task: Option<TaskId>,
    pub field: String,
    pub text: String,
}

impl Note {
    fn of_run(field: &str, text: impl Into<String>) -> Note {
        Note { task: None, field: field.to_owned(), text: text.into() }
    }

    fn of_task(task: &TaskId, field: &str, text: impl Into<String>) -> Note {
        Note { task: Some(task.clone()), field: field.to_owned(), text: text.into() }
    }
}

/// Write a run for another system. `config` is what the project says where the files are going to be, and `place` is
/// for state files that name it.
pub fn export(source: Source<'_>, to: Dialect, config: &Config, place: &execute::state::Place) -> Exported {
    let fitted = match to {
        Dialect::Native => native::fit(source.plan),
        Dialect::Execute => execute::plan::fit(source.plan),
        Dialect::Issue => issue::plan::fit(source.plan),
        Dialect::Rwkit => rwkit::write::fit(source.plan),
        Dialect::Iterative => iterative::plan::fit(source.plan),
    };
    let names = Names::new(source.plan, &fitted);
    let is_done = |id: &TaskId| names.is_done(source.state, id);
    let Written { mut files, back, wrong } = write(&fitted, to, config, &is_done);
    let mut notes = renamed(source.plan, &fitted);
    notes.extend(differences(source.plan, &fitted, &back));
    notes.extend(wrong);
    match to {
        Dialect::Native => {
            let text =
                "not written: a plan of Piton's own has no state file, and its runs are in the journal";
            notes.push(Note::of_run("state", text));
        }
        Dialect::Execute => {
            files.extend(state_file(source, &names, place));
            notes.extend(untold(source));
        }
        Dialect::Issue => {
            files.extend(issue_files(source, &names));
            notes.extend(other_words(source, |status| issue::state::TaskWord::of(status).word()));
        }
        Dialect::Rwkit => {
            files.extend(rwkit_state(source, &names, place));
            notes.extend(other_words(source, |status| rwkit::state::TaskWord::of(status).word()));
        }
        Dialect::Iterative => {
            files.extend(iterative_state(source, &names));
            notes.extend(other_words(source, |status| iterative::state::UnitWord::of(status).word()));
        }
    }
    Exported { files, notes }
}

/// The files of a plan, what its room's own reader makes of them, and what that cannot use.
struct Written {
    files: Vec<(String, String)>,
    back: Plan,
    wrong: Vec<Note>,
}

fn write(fitted: &Plan, to: Dialect, config: &Config, is_done: &dyn Fn(&TaskId) -> bool) -> Written {
    let is_error = |problem: &Diagnostic| problem.severity == Severity::Error;
    match to {
        Dialect::Native => {
            // What the project says already is not said again: it may hold what belongs in one place only.
            let mut own = fitted.clone();
            own.settings.agents.retain(|name, agent| config.agents.get(name) != Some(agent));
            let text = native::write(&own);
            let read = native::read(&text, &fitted.name, config, &Overrides::default());
            let wrong = read.diagnostics.into_iter().filter(is_error);
            let wrong = wrong.map(|problem| Note::of_run("plan", problem.message)).collect();
            Written { files: vec![(format!("{}.toml", fitted.name), text)], back: read.plan, wrong }
        }
        Dialect::Execute => {
            let files = execute::plan::write(fitted);
            let bytes = files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
            let mut read =
                execute::plan::read(&Folder { files: bytes.collect() }, &fitted.name, config, false);
            let poor = execute::plan::lint(&read);
            read.problems.extend(poor);
            let wrong = read.problems.into_iter().filter(|problem| is_error(&problem.diagnostic));
            let wrong =
                wrong.map(|problem| Note::of_run(&problem.file, problem.diagnostic.message)).collect();
            Written { files, back: read.plan, wrong }
        }
        Dialect::Issue => {
            let files = issue::plan::write(fitted, is_done);
            let bytes = files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
            let given =
                issue::plan::Given { name: &fitted.name, place: "", config, detected: &[], strict: false };
            let read = issue::plan::read(&Folder { files: bytes.collect() }, &given);
            let wrong = read.reading.problems.into_iter().filter(|problem| is_error(&problem.diagnostic));
            let wrong =
                wrong.map(|problem| Note::of_run(&problem.file, problem.diagnostic.message)).collect();
            Written { files, back: read.reading.plan, wrong }
        }
        Dialect::Rwkit => {
            let files = rwkit::write::write(fitted, is_done);
            let bytes = files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
            let list = files.first().map(|(name, _)| name.as_str()).unwrap_or_default();
            let given =
                rwkit::plan::Given { list, plan: None, config, detected: &[], siblings: &[], strict: false };
            let read = rwkit::plan::read(&Folder { files: bytes.collect() }, &given);
            let wrong = read.reading.problems.into_iter().filter(|problem| is_error(&problem.diagnostic));
            let wrong =
                wrong.map(|problem| Note::of_run(&problem.file, problem.diagnostic.message)).collect();
            Written { files, back: read.reading.plan, wrong }
        }
        Dialect::Iterative => {
            let files = iterative::plan::write(fitted, is_done);
            let bytes = files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes()));
            let given = iterative::plan::Given {
                name: &fitted.name,
                place: "",
                config,
                detected: &[],
                strict: false,
            };
            let read = iterative::plan::read(&Folder { files: bytes.collect() }, &given);
            let wrong = read.reading.problems.into_iter().filter(|problem| is_error(&problem.diagnostic));
            let wrong =
                wrong.map(|problem| Note::of_run(&problem.file, problem.diagnostic.message)).collect();
            Written { files, back: read.reading.plan, wrong }
        }
    }
}

/// What tasks and groups of the run are called in the other form.
struct Names {
    tasks: BTreeMap<String, String>,
    groups: BTreeMap<String, String>,
}

impl Names {
    fn new(plan: &Plan, fitted: &Plan) -> Names {
        let tasks = plan.tasks.iter().zip(&fitted.tasks);
        let groups = plan.groups.iter().zip(fitted.groups.iter().cycle());
        Names {
            tasks: tasks.map(|(old, new)| (old.id.to_string(), new.id.to_string())).collect(),
            groups: groups.map(|(old, new)| (old.id.to_string(), new.id.to_string())).collect(),
        }
    }

    /// Whether the task that is called so there is completed here.
    fn is_done(&self, state: &State, new: &TaskId) -> bool {
        let old = self.tasks.iter().find(|(_, name)| *name == new.as_str()).map(|(old, _)| old.as_str());
        state.tasks().any(|task| Some(task.id.as_str()) == old && task.status() == Status::Completed)
    }
}

fn state_file(source: Source<'_>, names: &Names, place: &execute::state::Place) -> Option<(String, String)> {
    let mut file = execute::state::project(source.state, source.chronicle, place)?;
    let name =
        |names: &BTreeMap<String, String>, old: &str| names.get(old).map_or(old, String::as_str).to_owned();
    file.rename(&|task| name(&names.tasks, task), &|group| name(&names.groups, group));
    Some((execute::state::FILE.to_owned(), execute::state::text(&file)))
}

/// The state file of a list. It has one place in the project, and is not of the list's folder.
fn rwkit_state(source: Source<'_>, names: &Names, place: &execute::state::Place) -> Option<(String, String)> {
    let mut file = rwkit::state::project(source.state, source.chronicle, &place.project_path)?;
    // It is the picture of no run: whoever finds it takes it over.
    (file.piton_run, file.piton_seq) = (String::new(), 0);
    file.rename(&|old| names.tasks.get(old).map_or(old, String::as_str).to_owned());
    let name = rwkit::state::FILE.rsplit('/').next().unwrap_or_default();
    Some((name.to_owned(), rwkit::state::text(&file)))
}

fn iterative_state(source: Source<'_>, names: &Names) -> Option<(String, String)> {
    let mut file = iterative::state::project(source.state, source.chronicle)?;
    let units = [&mut file.tasks, &mut file.phases].into_iter().flatten();
    let current = [&mut file.current_task, &mut file.current_phase].into_iter().flatten().flatten();
    for id in units.flat_map(|units| units.0.iter_mut().map(|(id, _)| id)).chain(current) {
        if let Some(new) = names.tasks.get(id) {
            id.clone_from(new);
        }
    }
    Some((iterative::state::FILE.to_owned(), iterative::state::text(&file)))
}

/// The state file and the journal of an issue.
fn issue_files(source: Source<'_>, names: &Names) -> Vec<(String, String)> {
    let about = super::kept::about(source.state);
    let Some(mut file) = issue::state::project(source.state, source.chronicle, &about) else {
        return Vec::new();
    };
    for task in &mut file.tasks {
        if let Some(new) = names.tasks.get(&task.id) {
            task.id.clone_from(new);
        }
    }
    let journal = issue::journal::settle(None, source.state, source.chronicle, &about).append;
    let journal = journal.map(|text| (issue::journal::FILE.to_owned(), text));
    [(issue::state::FILE.to_owned(), issue::state::text(&file))].into_iter().chain(journal).collect()
}

fn renamed(plan: &Plan, fitted: &Plan) -> Vec<Note> {
    let mut notes = Vec::new();
    if plan.groups.len() == fitted.groups.len() {
        for (old, new) in plan.groups.iter().zip(&fitted.groups).filter(|(old, new)| old.id != new.id) {
            notes.push(Note::of_run("group", format!("`{}` is called `{}`", old.id, new.id)));
        }
    } else {
        let text = "all tasks are in one: some wait for tasks of later groups, which is not known there";
        notes.push(Note::of_run("group", text));
    }
    for (old, new) in plan.tasks.iter().zip(&fitted.tasks).filter(|(old, new)| old.id != new.id) {
        notes.push(Note::of_task(&old.id, "id", format!("called `{}`", new.id)));
    }
    notes
}

/// What comes back otherwise than it was meant.
fn differences(plan: &Plan, fitted: &Plan, back: &Plan) -> Vec<Note> {
    let known: BTreeMap<&TaskId, &TaskId> =
        plan.tasks.iter().zip(&fitted.tasks).map(|(old, new)| (&new.id, &old.id)).collect();
    let called = |id: &TaskId| known.get(id).map_or_else(|| id.clone(), |id| (*id).clone());
    let diff = native::diff(&fitted.tasks, &back.tasks);
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
        dialect: _,
        issue,
        list,
        iterative,
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
    } = before;
    let pairs = [
        ("issue", json!(issue), json!(after.issue)),
        ("list", json!(list.is_some()), json!(after.list.is_some())),
        ("iterative", json!(iterative.is_some()), json!(after.iterative.is_some())),
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

/// What agents are, but for the values of their environment, which are nobody's business.
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
fn other_words(source: Source<'_>, word: impl Fn(Status) -> &'static str) -> Vec<Note> {
    let mut notes = Vec::new();
    for task in source.state.tasks().filter(|task| !task.removed) {
        let (is, word) = (task.status().name(), word(task.status()));
        if is != word {
            notes.push(Note::of_task(&task.id, "status", format!("{is} → {word}")));
        }
    }
    notes
}

/// What happened in the run that the state file of the execute system does not tell.
fn untold(source: Source<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(other_words(source, |status| execute::state::TaskStatus::of(status).word()));
    for task in source.state.tasks().filter(|task| !task.removed) {
        let reports = source.chronicle.task(&task.id).map_or(0, |story| story.reports.len());
        if reports > 0 {
            let text = "what was reported, with notes, decisions and test counts, is not written";
            notes.push(Note::of_task(&task.id, "reports", text));
        }
    }
    let of_run =
        [("guardrails", source.chronicle.guardrails.len()), ("journal", source.chronicle.entries.len())];
    for (field, count) in of_run.into_iter().filter(|(_, count)| *count > 0) {
        notes.push(Note::of_run(field, format!("{count} not written")));
    }
    notes
}
