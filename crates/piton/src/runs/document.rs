//! A run and a task as programs get them: `piton status --json`.

use camino::Utf8Path;
use piton_core::plan::{Oid, RunId, TaskId};
use piton_core::run::{self, Bills, Outage, Outages, Proof, Run, Status, Task};
use piton_core::view;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use piton_engine::slots::{self, Seen, SlotState};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::runs::show::{self, Listed};
use crate::runs::{artifacts, standing};

/// One task as a JSON document.
pub(crate) fn task(journal: &Journal, run: &RunId, task: &Task) -> Outcome<Value> {
    let title = journal.spec(run, &task.id)?.map(|spec| spec.title);
    let mut document = json!(TaskDocument::new(task, title.as_deref()));
    let facts = standing::facts(journal, run)?;
    document["noticed"] = json!(facts.noticed.get(&task.id));
    document["conflicts_ahead"] = json!(facts.conflicts_ahead.get(&task.id));
    Ok(document)
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
    used: view::Used,
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
            used: view::Used::new(&task.used),
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

/// A run as one JSON document, with all of its tasks or those that `piton status` names.
pub(crate) fn run(
    project: &Project,
    journal: &Journal,
    run: &RunId,
    listed: Listed,
) -> Outcome<impl Serialize + use<>> {
    let facts = standing::facts(journal, run)?;
    let summary = standing::summary(journal, &facts)?;
    let alive = standing::engine_lives(project, journal, &facts);
    let stale = standing::stale(project, journal, &facts, &summary.counts)?;
    let state = standing::state(project, journal, &facts, &summary.counts, &stale);
    let counts = |counts: &piton_core::run::Counts| -> Value {
        let mut by_name = serde_json::Map::new();
        for status in Status::ALL {
            let sum = by_name.get(status.name()).and_then(Value::as_u64).unwrap_or(0);
            by_name.insert(status.name().to_owned(), json!(sum + u64::from(counts.of(status))));
        }
        by_name.insert("total".to_owned(), json!(counts.total()));
        Value::Object(by_name)
    };
    // Files and worktrees are only known as they are now.
    let is_past = journal.moment().is_some();
    let mut document = json!({
        "run": run,
        "plan": facts.plan,
        "name": facts.name,
        "state": state,
        "state_text": standing::sentence(&state),
        "engine_alive": alive,
        "target": facts.target,
        "worktree_dir": facts.worktree_dir,
        "slots": if is_past { Value::Null } else { slots_document(project, &facts) },
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
    if !is_past && let Some(artifacts) = artifacts::find(project, journal, &facts)? {
        artifacts.describe(&mut document);
    }
    let tasks = match listed {
        Listed::All => journal.titled(run)?,
        Listed::Some => {
            let notable = show::notable(journal, run, &summary.counts)?;
            let titled = |task: Task| Ok((show::title(journal, run, &task.id)?, task));
            notable
                .into_iter()
                .map(titled)
                .map(|one| one.map(|(title, task)| (task, title)))
                .collect::<Outcome<_>>()?
        }
    };
    Ok(RunDocument { facts: document, tasks })
}
