//! `piton status`: where a run stands. Reads only.

use clap::Args;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{self, Bills, Outage, Outages, Run, Status, Task};
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::args::Which;
use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::runs::found::FoundRun;
use crate::runs::show::{self, Listed};
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
        (None, true) => ui::answer_json(&document(&project, &mut journal, &run)?),
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
        let mut document = task_document(&task, title.as_deref());
        let facts = standing::facts(journal, run)?;
        document["noticed"] = json!(facts.noticed.get(id));
        document["conflicts_ahead"] = json!(facts.conflicts_ahead.get(id));
        ui::answer_json(&document);
    } else {
        ui::answer_line(show::task_line(journal, run, &task, clock::now())?.trim_start());
        if let Some(reason) = standing::facts(journal, run)?.noticed.get(id) {
            ui::answer_line(ui::styled(ui::WARNING, ui::plain(&format!("look at it: {reason}"))));
        }
    }
    Ok(())
}

fn task_document(task: &Task, title: Option<&str>) -> Value {
    json!({
        "id": task.id,
        "title": title,
        "group": task.group,
        "status": task.status().name(),
        "since": task.since.to_string(),
        "attempt": task.attempt,
        "attempts_spent": task.spent,
        "attempts_allowed": task.budget,
        "holder": task.holder.as_ref().map(ToString::to_string),
        "waits_for": task.waiting,
        "commit": task.progress.commit,
        "landing_waits": task.progress.waits,
        "proof": task.proof,
        "used": standing::used_document(&task.used),
    })
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

/// The whole run as one JSON document.
fn document(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome<Value> {
    let facts = standing::facts(journal, run)?;
    let summary = standing::summary(journal, &facts)?;
    let alive = project.engine_lives(run);
    let stale = standing::stale(project, journal, &facts, &summary.counts)?;
    let titles: std::collections::HashMap<_, _> =
        journal.specs(run)?.into_iter().map(|spec| (spec.id, spec.title)).collect();
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
        "tasks": journal.load(run)?.tasks()
            .filter(|task| !task.removed)
            .map(|task| task_document(task, titles.get(&task.id).map(String::as_str)))
            .collect::<Vec<_>>(),
    });
    if let Some(artifacts) = artifacts::find(project, journal, &facts)? {
        artifacts.describe(&mut document);
    }
    Ok(document)
}
