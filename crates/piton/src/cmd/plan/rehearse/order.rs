//! The whole plan, run by a stand-in that changes the files that tasks name: in which order they land, and where they meet.

use std::collections::BTreeSet;

use camino::Utf8Path;
use piton_core::plan::{
    Agent, Argv, Budget, Check, Fences, Plan, PromptBy, RepoPath, Settings, TaskId, TaskSpec, WorktreeSetup,
};
use piton_core::run::{Class, Event, Recorded};
use piton_core::system::config::Config;
use piton_core::system::{Form, own};
use piton_core::time::Span;
use serde_json::{Value, json};

use super::scratch::Scratch;
use crate::failure::{Failure, Outcome};
use crate::own_command;
use crate::plans::FoundPlan;
use crate::runs::engine;

const AGENT: &str = "stand-in";
/// The most lines of an order that are shown.
const SHOWN: usize = 20;

/// How the simulated work went.
#[derive(Debug, Default)]
pub(super) struct Rehearsed {
    landed: Vec<TaskId>,
    /// Tasks that met others in a file.
    met: Vec<TaskId>,
    open: Vec<TaskId>,
    /// What the run said, if it did not complete.
    said: String,
}

/// Run the plan in the scratch clone.
pub(super) fn rehearse(found: &FoundPlan, scratch: &Scratch) -> Outcome<Rehearsed> {
    let program = engine::keeper()?.swap_remove(0);
    let script = scratch.beside("agents.script");
    let tasks = open_tasks(found);
    if tasks.is_empty() {
        return Ok(Rehearsed::default());
    }
    write(&script, &tasks.iter().map(acts).collect::<String>())?;
    let agent = Agent {
        command: vec![program, "scripted-agent".to_owned(), script.to_string()],
        prompt: PromptBy::Stdin,
        ..Agent::default()
    };
    let settings = &found.plan.settings;
    let settings = Settings {
        form: Form::default(),
        agents: [(AGENT.to_owned(), agent)].into(),
        escalation: Vec::new(),
        feedback: None,
        landing_checks: Vec::new(),
        worktree: WorktreeSetup::default(),
        fences: Fences::default(),
        budget: Budget::default(),
        author: None,
        ..settings.clone()
    };
    let plan = Plan { tasks, settings, ..found.plan.clone() };
    let fitted = own().fit(&plan);
    let Some((_, text)) = own().write(&fitted, &Config::default(), &|_| false).files.into_iter().next()
    else {
        return Err(Failure::new("the plan cannot be written for a rehearsal"));
    };
    let folder = scratch.beside("rehearsal");
    std::fs::create_dir_all(&folder).map_err(Failure::io(format!("cannot create {folder}")))?;
    // The project's own says whom to notify.
    write(&folder.join("piton.toml"), "")?;
    let file = folder.join("plan.toml");
    write(&file, &text)?;
    let root = scratch.project.root.to_string();
    let words = ["run", file.as_str(), "--project-path", &root, "--sandbox", "off", "--quiet", "--no-wait"];
    let answer = own_command::run(&words.map(str::to_owned), &[])?;
    let mut said = answer.text;
    if answer.code == Some(0) {
        said.clear();
    }
    heard(scratch, &plan.tasks, said)
}

/// What the journal of the clone says about it.
fn heard(scratch: &Scratch, tasks: &[TaskSpec], said: String) -> Outcome<Rehearsed> {
    let mut landed = Vec::new();
    let mut met = Vec::new();
    let journal = scratch.project.journal()?;
    let newest = journal.runs()?.into_iter().max_by_key(|run| run.created).map(|run| run.id);
    let events: Vec<Recorded> = match &newest {
        Some(run) => journal.events(run, 0, None, usize::MAX)?,
        None => Vec::new(),
    };
    for recorded in events {
        match recorded.event {
            Event::Completed { task, .. } => landed.push(task),
            Event::Failed { task, class: Class::Conflict, .. } if !met.contains(&task) => met.push(task),
            _ => {}
        }
    }
    let done: BTreeSet<&TaskId> = landed.iter().collect();
    let open = tasks.iter().map(|task| &task.id).filter(|id| !done.contains(id)).cloned().collect();
    Ok(Rehearsed { landed, met, open, said })
}

/// The tasks that are still to be done, each as a stand-in can do it. Nobody stands in for a person.
fn open_tasks(found: &FoundPlan) -> Vec<TaskSpec> {
    let persons: BTreeSet<&TaskId> =
        found.plan.tasks.iter().filter(|task| task.by_person).map(|task| &task.id).collect();
    let is_open = |id: &TaskId| !found.is_done_before(id) && !persons.contains(id);
    let check = Check::new("simulated".to_owned(), Argv::parse("true"), Span::minutes(5));
    let simulated = |task: &TaskSpec| TaskSpec {
        agent: AGENT.to_owned(),
        checks: vec![check.clone()],
        depends_on: task.depends_on.iter().filter(|need| is_open(need)).cloned().collect(),
        outside: Vec::new(),
        confirm: false,
        gate: false,
        check_first: false,
        attempts: 1,
        silence: None,
        source: None,
        ..task.clone()
    };
    found.plan.tasks.iter().filter(|task| is_open(&task.id)).map(simulated).collect()
}

/// What the stand-in does for a task. Where a merge is to be resolved, it takes all of it.
fn acts(task: &TaskSpec) -> String {
    let own = [format!("rehearsal/{}.txt", task.id)];
    let files: Vec<String> = task.files.iter().filter_map(|file| place(file, &task.id)).collect();
    let files = if files.is_empty() { own.to_vec() } else { files };
    let acts: String = files
        .iter()
        .map(|file| {
            format!(
                "append {file} rehearsed by {id}\nif-conflict write {file} resolved by {id}\n",
                id = task.id
            )
        })
        .collect();
    format!("[{}]\n{acts}\n", task.id)
}

/// A file to change: in a folder or a pattern that a task names, one of its own.
fn place(file: &RepoPath, task: &TaskId) -> Option<String> {
    let path = file.as_str();
    if path.contains(char::is_whitespace) {
        return None;
    }
    let end = path.find(['*', '?', '[', '{']);
    match end {
        Some(end) => {
            let folder = path[..end].rsplit_once('/').map_or("rehearsal", |(folder, _)| folder);
            Some(format!("{folder}/{task}.txt"))
        }
        None if path.ends_with('/') => Some(format!("{path}{task}.txt")),
        None => Some(path.to_owned()),
    }
}

fn write(path: &Utf8Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(Failure::io(format!("cannot write {path}")))
}

impl Rehearsed {
    pub(super) fn is_ready(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn document(&self) -> Value {
        json!({ "landed": self.landed, "met_in_a_file": self.met, "open": self.open })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let names: Vec<&str> = self.landed.iter().take(SHOWN).map(TaskId::as_str).collect();
        if self.landed.is_empty() && self.open.is_empty() {
            lines.push("  nothing is left for an agent to do".to_owned());
        }
        if !names.is_empty() {
            let more = self.landed.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("  landed in this order: {}{more}", names.join(", ")));
        }
        if !self.met.is_empty() {
            let names: Vec<&str> = self.met.iter().take(SHOWN).map(TaskId::as_str).collect();
            lines.push(format!("  met others in a file, and had to merge: {}", names.join(", ")));
        }
        if !self.open.is_empty() {
            let names: Vec<&str> = self.open.iter().take(SHOWN).map(TaskId::as_str).collect();
            lines.push(format!("  not landed: {}", names.join(", ")));
            lines.extend(self.said.lines().map(|line| format!("    {line}")));
        }
        lines
    }

    pub(super) fn advice(&self) -> Vec<String> {
        let advice = || "look at what the simulated run said; --keep leaves its clone".to_owned();
        if self.open.is_empty() { Vec::new() } else { vec![advice()] }
    }
}
