//! `piton status`: where a run stands. Reads only.

use clap::Args;
use piton_core::plan::{Dialect, RunId, TaskId};
use piton_core::run::{self, Bill, Bills, Event, Outage, Outages, Proof, Run, Status, Task};
use piton_core::system::rwkit;
use piton_core::time::Timestamp;
use piton_core::view::{self, GroupStatus, RunStatus, Summary};
use piton_engine::clock;
use piton_engine::gates::{self, Stale};
use piton_engine::journal::Journal;
use piton_engine::project::Project;
use serde_json::{Value, json};

use crate::args::Which;
use crate::cmd::ledger::report;
use crate::cmd::system::{iterative, master};
use crate::cmd::watch::made;
use crate::cmd::{Exit, FINE};
use crate::commands;
use crate::failure::{Failure, Outcome};
use crate::plans;
use crate::runs::find::{self, FoundRun};
use crate::ui::{self, BOLD, DIM};

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

/// Tasks named one by one unless all are asked for.
const MOST: usize = 20;

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
    if let Some(plan) = which.plan.as_ref().filter(|plan| plan.is_file() && rwkit::is_master(plan.as_str())) {
        return master::status(plan, which.project_path.as_deref(), args.json);
    }
    let found = task.as_ref().map_or_else(|| find::run(&which), |task| find::run_of(task, &which));
    let FoundRun { project, mut journal, run } = found?;
    match (task, args.json) {
        (Some(task), json) => one(&journal, &run, &task, json)?,
        (None, true) => ui::answer_json(&document(&project, &mut journal, &run)?),
        (None, false) => {
            show(&project, &mut journal, &run, args.all)?;
        }
    }
    Ok(FINE)
}

pub(crate) fn facts(journal: &Journal, run: &RunId) -> Outcome<piton_core::run::Run> {
    journal.facts(run)?.ok_or_else(|| Failure::new(format!("the run {run} has no beginning")))
}

pub(crate) fn summary(journal: &Journal, facts: &piton_core::run::Run) -> Outcome<Summary> {
    let cells = journal.cells(&facts.id)?;
    Ok(Summary::new(facts, cells.iter().map(|(cell, counts)| (*cell, counts))))
}

/// Gates that would make a run complete by what the ledger was told, and have not passed on what there is now.
pub(crate) fn stale(
    project: &Project,
    journal: &Journal,
    facts: &run::Run,
    counts: &run::Counts,
) -> Outcome<Vec<Stale>> {
    if !counts.is_complete() || facts.gates.is_empty() {
        return Ok(Vec::new());
    }
    Ok(gates::stale(project, facts, &report::gates_of(journal, facts)?)?)
}

/// Where a run stands.
pub(crate) fn state(project: &Project, facts: &run::Run, counts: &run::Counts, stale: &[Stale]) -> RunStatus {
    match RunStatus::of(facts, counts, project.engine_lives(&facts.id)) {
        RunStatus::Completed { .. } if !stale.is_empty() => {
            RunStatus::Stale { gates: stale.iter().map(|stale| stale.gate.clone()).collect() }
        }
        status => status,
    }
}

/// The run for a person: what is done, what is going on, what needs help. To standard output.
pub(crate) fn show(project: &Project, journal: &mut Journal, run: &RunId, all: bool) -> Outcome {
    let facts = facts(journal, run)?;
    let summary = summary(journal, &facts)?;
    let stale = stale(project, journal, &facts, &summary.counts)?;
    let status = state(project, &facts, &summary.counts, &stale);
    let onto = onto(&facts);
    ui::answer_line(format!("{} {}{onto}", ui::styled(BOLD, run.as_str()), told(&status)));
    for group in &summary.groups {
        let (sign, style) = match group.status {
            GroupStatus::Completed => ("✓", ui::GOOD),
            GroupStatus::InProgress => ("▸", ui::BUSY),
            GroupStatus::Pending => ("·", DIM),
            GroupStatus::Blocked => ("✗", ui::BAD),
        };
        let done = group.counts.of(Status::Completed);
        let rest: Vec<String> = Status::ALL
            .into_iter()
            .filter(|&status| status != Status::Completed && group.counts.of(status) > 0)
            .map(|status| format!("{} {status}", group.counts.of(status)))
            .collect();
        let rest =
            if rest.is_empty() { String::new() } else { format!("  {}", ui::styled(DIM, rest.join(", "))) };
        ui::answer_line(format!(
            "  {style}{sign}{style:#} {:16} {} {done}/{}{rest}",
            group.id,
            view::bar(done, group.counts.total()),
            group.counts.total()
        ));
    }
    if let Some(bill) = view::bill(&facts.used) {
        ui::answer_line(format!("  used: {bill}"));
    }
    let now = clock::now();
    if let Some((at, changed)) = facts.adopted.as_ref().filter(|(_, changed)| !changed.is_empty()) {
        let told = format!("  settings adopted {} ago: {}", now.since(*at), changed.join(", "));
        ui::answer_line(ui::styled(DIM, ui::plain(&told)));
    }
    for (provider, until) in run::limits(&facts, now) {
        ui::answer_line(format!("  usage limit of {}, over in {}", ui::plain(provider), until.since(now)));
    }
    for (provider, overload) in run::parked(&facts) {
        let next = match overload.ask_at {
            at if at > now => format!("asked again in {}", at.since(now)),
            _ => "to be asked again".to_owned(),
        };
        let told = format!("  {provider} does not answer, {next}: {}", overload.reason);
        ui::answer_line(ui::styled(ui::WARNING, ui::plain(&told)));
    }
    for (provider, outage) in run::refused(&facts) {
        let told = format!("  {provider} does not let `{}` in: {}", outage.agent, outage.reason);
        ui::answer_line(ui::styled(ui::WARNING, ui::plain(&told)));
    }
    for Stale { gate, reason } in &stale {
        let told = format!("  the gate {gate} has not passed on what there is now: {reason}");
        ui::answer_line(ui::styled(ui::WARNING, ui::plain(&told)));
    }
    for told in noticed(&facts).take(MOST) {
        ui::answer_line(format!("  {}", ui::styled(ui::WARNING, ui::plain(&told))));
    }
    let mut notable = journal.under_way(run)?;
    for status in [Status::Failed, Status::Abandoned, Status::Blocked, Status::Skipped, Status::PassedOver] {
        if summary.counts.of(status) > 0 {
            notable.extend(journal.tasks_in(run, status, MOST + 1)?);
        }
    }
    if all {
        notable = journal.load(run)?.tasks().filter(|task| !task.removed).cloned().collect();
    }
    notable.sort_by(|a, b| a.id.cmp(&b.id));
    if !notable.is_empty() {
        ui::answer_line("");
    }
    for task in notable.iter().take(if all { usize::MAX } else { MOST }) {
        ui::answer_line(task_line(journal, run, task, now)?);
    }
    if notable.len() > MOST && !all {
        ui::answer_line(format!("  … and {} more (--all shows them)", notable.len() - MOST));
    }
    if facts.settings.dialect() == Dialect::Iterative {
        for warning in iterative::warnings(camino::Utf8Path::new(&facts.plan), &notable) {
            ui::answer_line(format!("  {}", ui::styled(ui::WARNING, ui::plain(&warning))));
        }
    }
    if let Some(made) = made::of(project, journal, &facts)? {
        made.show();
    }
    Ok(())
}

/// What somebody should look at in work that was let pass.
fn noticed(facts: &piton_core::run::Run) -> impl Iterator<Item = String> {
    facts.noticed.iter().map(|(task, reason)| format!("look at {task}: {reason}"))
}

/// Where its work goes.
pub(crate) fn onto(facts: &piton_core::run::Run) -> String {
    match &facts.target {
        _ if facts.settings.no_commits => ", in place".to_owned(),
        Some(target) => format!(", landing on {target}"),
        None => String::new(),
    }
}

pub(crate) fn told(status: &RunStatus) -> String {
    use piton_core::run::StopReason;
    let (style, text) = match status {
        RunStatus::Completed { skipped: 0 } => (ui::GOOD, "every task is completed".to_owned()),
        RunStatus::Completed { skipped } => (ui::GOOD, format!("completed, {skipped} skipped")),
        RunStatus::Running => (ui::BUSY, "running".to_owned()),
        RunStatus::Stopping { now: true } => (ui::BUSY, "stopping at once".to_owned()),
        RunStatus::Stopping { now: false } => {
            (ui::BUSY, "stopping: what runs is finished first; `piton stop --now` does not wait".to_owned())
        }
        RunStatus::NotStarted => (DIM, "not started".to_owned()),
        RunStatus::Interrupted => {
            (ui::WARNING, "interrupted: its engine is gone; `piton run` goes on".to_owned())
        }
        RunStatus::Closed(run::Closed { by, reason }) => {
            let why = if reason.is_empty() { String::new() } else { format!(": {}", ui::plain(reason)) };
            (DIM, format!("closed by {by}{why}; `piton run PLAN` opens it again"))
        }
        RunStatus::Ended | RunStatus::Stale { .. } => (ui::BAD, status.word().to_owned()),
        RunStatus::Stopped(reason) => (
            ui::WARNING,
            match reason {
                StopReason::Filter => "stopped: what was selected is done".to_owned(),
                StopReason::Person => "stopped on request".to_owned(),
                StopReason::LandingWaits { detail }
                | StopReason::Elsewhere { detail }
                | StopReason::Siblings { detail }
                | StopReason::Budget { detail }
                | StopReason::Environment { detail } => {
                    format!("stopped: {detail}")
                }
                StopReason::PlanChanged { .. } => "stopped: the plan changed".to_owned(),
                StopReason::Completed | StopReason::Ended => "stopped".to_owned(),
            },
        ),
    };
    ui::styled(style, commands::complete(&text))
}

fn task_line(journal: &Journal, run: &RunId, task: &Task, now: Timestamp) -> Outcome<String> {
    let (sign, style) = ui::status_sign(task.status());
    let title = journal.spec(run, &task.id)?.map(|spec| spec.title).unwrap_or_default();
    let about = match task.status() {
        Status::Completed => match &task.proof {
            Some(Proof::Landed { commit, .. }) => format!("landed as {}", commit.short()),
            Some(Proof::Checked { already: Some(reason), .. }) => {
                format!("its checks passed; it was already so: {}", ui::plain(reason))
            }
            Some(Proof::Checked { .. }) => "its checks passed".to_owned(),
            Some(Proof::Work { commits, .. }) => match commits.last() {
                Some(commit) => format!("by commit {}, without a check", commit.short()),
                None => "its files have changed, without a check".to_owned(),
            },
            Some(Proof::Reported) | None => "reported, not proven".to_owned(),
        },
        Status::Failed | Status::Abandoned | Status::Blocked | Status::Skipped | Status::PassedOver => {
            reason(journal, run, task)?
        }
        Status::Verified | Status::Merging => task.progress.waits.clone().unwrap_or_default(),
        Status::InProgress => match &task.holder {
            Some(piton_core::run::Holder::Ledger(name)) => match &task.progress.uncommitted[..] {
                [] => format!("held by {name}; `piton reset {}` frees it", task.id),
                files => format!("called done by {name}, {}", piton_core::run::waits_for(files)),
            },
            _ if is_by_another(task) => format!("attempt {}, by {}", task.attempt, task.progress.agent),
            _ => format!("attempt {}", task.attempt),
        },
        _ => String::new(),
    };
    let age = view::age(task.status(), now.since(task.since));
    Ok(format!(
        "  {style}{sign} {:8} {:11}{style:#} {age:>10}  {}  {}",
        task.id,
        task.status(),
        ui::plain(&title),
        ui::styled(DIM, commands::complete(&ui::plain(&about)))
    ))
}

/// Somebody else works on it than its plan says: a stand-in, or who was asked for.
fn is_by_another(task: &Task) -> bool {
    !task.progress.agent.is_empty() && task.progress.agent != task.agent
}

/// What a person skipped, each with the reason.
pub(crate) fn skipped(journal: &Journal, run: &RunId) -> Outcome<Vec<(TaskId, String)>> {
    let tasks = journal.tasks_in(run, Status::Skipped, usize::MAX)?;
    tasks.into_iter().map(|task| Ok((task.id.clone(), reason(journal, run, &task)?))).collect()
}

/// The same for programs.
pub(crate) fn skipped_document(skipped: &[(TaskId, String)]) -> Value {
    skipped.iter().map(|(task, reason)| json!({ "task": task, "reason": reason })).collect()
}

fn reason(journal: &Journal, run: &RunId, task: &Task) -> Outcome<String> {
    let Some(seq) = task.failure_seq else { return Ok(String::new()) };
    Ok(match journal.event(run, seq)?.map(|recorded| recorded.event) {
        Some(Event::Failed { reason, .. } | Event::Skipped { reason, .. }) => {
            reason.lines().next().unwrap_or_default().to_owned()
        }
        Some(Event::Adopted { past, .. }) => past
            .failure()
            .map(|(reason, _)| reason.lines().next().unwrap_or_default().to_owned())
            .unwrap_or_default(),
        _ => String::new(),
    })
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
        document["noticed"] = json!(facts(journal, run)?.noticed.get(id));
        ui::answer_json(&document);
    } else {
        ui::answer_line(task_line(journal, run, &task, clock::now())?.trim_start());
        if let Some(reason) = facts(journal, run)?.noticed.get(id) {
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
        "used": used_document(&task.used),
    })
}

/// What was used, in units that need no explanation; `null` is unknown.
pub(crate) fn used_document(bill: &Bill) -> Value {
    json!({
        "tries": bill.tries,
        "unmeasured_tries": bill.unmeasured,
        "estimated_tries": bill.estimated,
        "input_tokens": bill.usage.input,
        "cached_tokens": bill.usage.cached,
        "output_tokens": bill.usage.output,
        "cost_usd": bill.usage.cost.map(view::dollars),
        "estimated_input_tokens": bill.estimate.input,
        "estimated_output_tokens": bill.estimate.output,
        "estimated_cost_usd": bill.estimate.cost.map(view::dollars),
    })
}

/// By agent and model; one that nobody named is `null`.
fn bills_document(bills: &Bills) -> Value {
    let mut rows = Vec::new();
    for (agent, models) in bills {
        for (model, bill) in models {
            let mut row = used_document(bill);
            row["agent"] = json!(agent);
            row["model"] = if model.is_empty() { Value::Null } else { json!(model) };
            rows.push(row);
        }
    }
    Value::Array(rows)
}

/// Providers that let no agent work, and until when; `null` where only a person can end that. One whose servers fail is asked
/// at `asked_at`.
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
    let facts = facts(journal, run)?;
    let summary = summary(journal, &facts)?;
    let alive = project.engine_lives(run);
    let stale = stale(project, journal, &facts, &summary.counts)?;
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
        "state": state(project, &facts, &summary.counts, &stale),
        "engine_alive": alive,
        "target": facts.target,
        "worktree_dir": facts.worktree_dir,
        "created": facts.created.to_string(),
        "counts": counts(&summary.counts),
        "used": bills_document(&facts.used),
        "outages": outages_document(&facts.outages, &facts),
        "noticed": facts.noticed,
        "skipped": skipped_document(&skipped(journal, run)?),
        "groups": summary.groups.iter().map(|group| json!({
            "id": group.id, "title": group.title, "status": group.status, "counts": counts(&group.counts),
        })).collect::<Vec<_>>(),
        "tasks": journal.load(run)?.tasks()
            .filter(|task| !task.removed)
            .map(|task| task_document(task, titles.get(&task.id).map(String::as_str)))
            .collect::<Vec<_>>(),
    });
    if let Some(made) = made::of(project, journal, &facts)? {
        made.describe(&mut document);
    }
    Ok(document)
}
