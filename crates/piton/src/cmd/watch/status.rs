//! `piton status`: where a run stands. Reads only.

use camino::Utf8Path;
use clap::Args;
use piton_core::plan::{Oid, RunId, TaskId};
use piton_core::run::{self, Bills, Outage, Outages, Proof, Run, Status, Task};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::slots::{self, Seen, SlotState};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::show::{self, Listed};
use crate::runs::standing::Used;
use crate::runs::{artifacts, find, master, standing};
use crate::{plans, ui};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// A task, or a plan's file [default: the whole run]
    pub what: Option<String>,
    #[command(flatten)]
    pub which: Which,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List every task, however many there are
    #[arg(long)]
    pub all: bool,
}

pub(crate) fn status(args: &StatusArgs) -> Outcome<Exit> {
    let mut which = args.which.clone();
    let mut task = None;
    if let Some(what) = &args.what {
        let path = camino::Utf8Path::new(what);
        let is_named = which.run.is_none() && which.plan.is_none() && plans::is_meant(what);
        if path.exists() || is_named {
            which = Which { plan: Some(path.to_owned()), run: None, ..which };
        } else {
            let id = TaskId::new(what)
                .map_err(|bad| Failure::usage(format!("`{what}` is neither a plan nor a task id: {bad}")))?;
            task = Some(id);
        }
    }
    let listed = which.plan.as_ref().and_then(|plan| Some((plan, master::collection(plan)?)));
    if let Some((plan, collection)) = listed {
        return master::status(plan, collection, which.project_path.as_deref(), args.json);
    }
    let found = task.as_ref().map_or_else(|| find::run(&which), |task| find::run_of(task, &which));
    let FoundRun { project, mut journal, run } = found?;
    match (task, args.json) {
        (Some(task), json) => one(&journal, &run, &task, json)?,
        (None, true) => ui::answer_json(&document(&project, &journal, &run)?),
        (None, false) => {
            let listed = if args.all { Listed::All } else { Listed::Some };
            show::show(&project, &mut journal, &run, listed)?;
        }
    }
    Ok(FINE)
}

fn one(journal: &Journal, run: &RunId, id: &TaskId, as_json: bool) -> Outcome {
    let Some(task) = journal.task(run, id)? else {
        return Err(find::no_task(journal, run, id));
    };
    if task.removed {
        return Err(Failure::new(format!("{id} is no longer in the plan")).hint("piton status --all"));
    }
    if as_json {
        let title = journal.spec(run, id)?.map(|spec| spec.title);
        let mut document = json!(TaskDocument::new(&task, title.as_deref()));
        let facts = standing::facts(journal, run)?;
        document["noticed"] = json!(facts.noticed.get(id));
        document["conflicts_ahead"] = json!(facts.conflicts_ahead.get(id));
        ui::answer_json(&document);
    } else {
        let title = show::title(journal, run, id)?;
        ui::answer_line(show::task_line(journal, run, &task, &title, clock::now())?.trim_start());
        if let Some(reason) = standing::facts(journal, run)?.noticed.get(id) {
            ui::answer_line(ui::styled(ui::WARNING, ui::plain(&format!("look at it: {reason}"))));
        }
    }
    Ok(())
}

/// A task as programs get it.
#[derive(Serialize)]
struct TaskDocument<'t> {
    id: &'t TaskId,
    title: Option<&'t str>,
    group: u32,
    status: &'static str,
    since: String,
    attempt: u32,
    attempts_spent: u32,
    attempts_allowed: u32,
    holder: Option<String>,
    waits_for: u32,
    commit: Option<&'t Oid>,
    landing_waits: Option<&'t str>,
    proof: Option<&'t Proof>,
    used: Used,
}

impl TaskDocument<'_> {
    fn new<'t>(task: &'t Task, title: Option<&'t str>) -> TaskDocument<'t> {
        TaskDocument {
            id: &task.id,
            title,
            group: task.group,
            status: task.status().name(),
            since: task.since.to_string(),
            attempt: task.attempt,
            attempts_spent: task.spent,
            attempts_allowed: task.budget,
            holder: task.holder.as_ref().map(ToString::to_string),
            waits_for: task.waiting,
            commit: task.progress.commit.as_ref(),
            landing_waits: task.progress.waits.as_deref(),
            proof: task.proof.as_ref(),
            used: Used::new(&task.used),
        }
    }
}

/// A run as programs get it. Its tasks are written one by one: a document of all of them would be several times as large
/// as they are.
struct RunDocument {
    /// An object with a place for the tasks.
    facts: Value,
    tasks: Vec<(Task, String)>,
}

const TASKS: &str = "tasks";

impl Serialize for RunDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.facts.as_object().into_iter().flatten() {
            match key.as_str() {
                TASKS => map.serialize_entry(key, &TaskDocuments(&self.tasks))?,
                key => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

struct TaskDocuments<'t>(&'t [(Task, String)]);

impl Serialize for TaskDocuments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(task, title)| TaskDocument::new(task, Some(title))))
    }
}

/// By agent and model. A model that was not reported is `null`.
fn bills_document(bills: &Bills) -> Value {
    let mut rows = Vec::new();
    for (agent, models) in bills {
        for (model, bill) in models {
            let mut row = standing::used_document(bill);
            row["agent"] = json!(agent);
            row["model"] = if model.is_empty() { Value::Null } else { json!(model) };
            rows.push(row);
        }
    }
    Value::Array(rows)
}

/// Providers that are unavailable, and until when; `null` if only a person can end that. A provider whose servers fail
/// is asked again at `asked_at`.
fn outages_document(outages: &Outages, facts: &Run) -> Value {
    let row = |(provider, outage): (&String, &Outage)| {
        let until = outage.until.map(|until| until.to_string());
        json!({ "provider": provider, "agent": outage.agent, "reason": outage.reason, "until": until })
    };
    let parked = run::parked(facts).map(|(provider, overload)| {
        let (agent, reason, at) = (&overload.agent, &overload.reason, overload.ask_at.to_string());
        json!({ "provider": provider, "agent": agent, "reason": reason, "until": null, "asked_at": at })
    });
    outages.iter().map(row).chain(parked).collect()
}

/// The worktrees that go from task to task: where each is, which task has it, and how much a free one holds.
fn slots_document(project: &Project, facts: &Run) -> Value {
    let dir = facts.worktree_dir.as_deref().map(Utf8Path::new);
    let row = |slot: Seen| {
        let (state, name) = match &slot.state {
            SlotState::Held(name) => ("held", name.file_name()),
            SlotState::Free { .. } => ("free", None),
            SlotState::Coming => ("coming", None),
            SlotState::Leftover => ("leftover", None),
        };
        json!({ "path": slot.path, "state": state, "task": name, "bytes": slot.bytes })
    };
    dir.map(|dir| slots::all(project, dir)).into_iter().flatten().map(row).collect()
}

/// The whole run as one JSON document.
fn document(project: &Project, journal: &Journal, run: &RunId) -> Outcome<RunDocument> {
    let facts = standing::facts(journal, run)?;
    let summary = standing::summary(journal, &facts)?;
    let alive = project.engine_lives(run);
    let stale = standing::stale(project, journal, &facts, &summary.counts)?;
    let counts = |counts: &piton_core::run::Counts| -> Value {
        let mut by_name = serde_json::Map::new();
        for status in Status::ALL {
            let sum = by_name.get(status.name()).and_then(Value::as_u64).unwrap_or(0);
            by_name.insert(status.name().to_owned(), json!(sum + u64::from(counts.of(status))));
        }
        by_name.insert("total".to_owned(), json!(counts.total()));
        Value::Object(by_name)
    };
    let mut document = json!({
        "run": run,
        "plan": facts.plan,
        "name": facts.name,
        "state": standing::state(project, &facts, &summary.counts, &stale),
        "engine_alive": alive,
        "target": facts.target,
        "worktree_dir": facts.worktree_dir,
        "slots": slots_document(project, &facts),
        "created": facts.created.to_string(),
        "counts": counts(&summary.counts),
        "used": bills_document(&facts.used),
        "outages": outages_document(&facts.outages, &facts),
        "noticed": facts.noticed,
        "conflicts_ahead": facts.conflicts_ahead,
        "skipped": standing::skipped_document(&standing::skipped(journal, run)?),
        "groups": summary.groups.iter().map(|group| json!({
            "id": group.id, "title": group.title, "status": group.status, "counts": counts(&group.counts),
        })).collect::<Vec<_>>(),
        TASKS: null,
    });
    if let Some(artifacts) = artifacts::find(project, journal, &facts)? {
        artifacts.describe(&mut document);
    }
    Ok(RunDocument { facts: document, tasks: journal.titled(run)? })
}
