//! A run for a person: what is done, what is going on, what needs help.

use camino::Utf8Path;
use piton_core::order::Arrange;
use piton_core::plan::{RunId, TaskId};
use piton_core::run::{Counts, Proof, Status, Task};
use piton_core::time::Timestamp;
use piton_core::view::{self, GroupStatus};
use piton_engine::clock;
use piton_engine::gates::Stale;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::commands;
use crate::failure::Outcome;
use crate::runs::held_up::held_up;
use crate::runs::{artifacts, standing};
use crate::ui::{self, BOLD, DIM};

/// How many tasks are named one by one, unless all are asked for.
const MOST: usize = 20;

/// Which tasks are named one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    Some,
    All,
}

/// The run for a person: what is done, what is going on, what needs help. To standard output.
pub(crate) fn show(project: &Project, journal: &mut Journal, run: &RunId, listed: Listed) -> Outcome {
    let all = listed == Listed::All;
    let facts = standing::facts(journal, run)?;
    let summary = standing::summary(journal, &facts)?;
    let stale = standing::stale(project, journal, &facts, &summary.counts)?;
    let status = standing::state(project, journal, &facts, &summary.counts, &stale);
    let onto = standing::onto(&facts);
    ui::answer_line(format!("{} {}{onto}", ui::styled(BOLD, run.as_str()), standing::describe(&status)));
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
    for held in held_up(&facts, now) {
        ui::answer_line(ui::styled(ui::WARNING, ui::plain(&format!("  {}", held.whole()))));
    }
    for Stale { gate, reason } in &stale {
        let told = format!("  the gate {gate} has not passed on what there is now: {reason}");
        ui::answer_line(ui::styled(ui::WARNING, ui::plain(&told)));
    }
    let flaky = facts.flakes.count(now) as u64;
    if flaky > 0 {
        let verb = if flaky == 1 { "flakes" } else { "flake" };
        let told = format!("  {} {verb}: piton checks", view::counted(flaky, "check"));
        ui::answer_line(ui::styled(ui::WARNING, told));
    }
    for told in conflicts_ahead(&facts).chain(noticed(&facts)).take(MOST) {
        ui::answer_line(format!("  {}", ui::styled(ui::WARNING, ui::plain(&told))));
    }
    let (tasks, titles): (Vec<Task>, Vec<String>) = if all {
        journal.titled(run)?.into_iter().unzip()
    } else {
        let tasks = notable(journal, run, &summary.counts)?;
        let titles = tasks.iter().take(MOST).map(|task| title(journal, run, &task.id));
        let titles = titles.collect::<Outcome<_>>()?;
        (tasks, titles)
    };
    let mut lines = String::new();
    for (task, title) in tasks.iter().zip(&titles) {
        lines += &format!("\n{}", task_line(journal, run, task, title, now)?);
    }
    if !lines.is_empty() {
        // Written at once: each write takes a system call.
        ui::answer_line(lines);
    }
    if tasks.len() > titles.len() {
        ui::answer_line(format!("  … and {} more (--all shows them)", tasks.len() - titles.len()));
    }
    let read = |name: &str| std::fs::read(Utf8Path::new(&facts.plan).join(name)).ok();
    for warning in facts.settings.form.system().warnings(&tasks, &read) {
        ui::answer_line(format!("  {}", ui::styled(ui::WARNING, ui::plain(&warning))));
    }
    if let Some(artifacts) = artifacts::find(project, journal, &facts)? {
        artifacts.show();
    }
    Ok(())
}

pub(crate) fn conflicts_ahead(facts: &piton_core::run::Run) -> impl Iterator<Item = String> {
    let told = |(task, conflicts): (&TaskId, &Vec<_>)| {
        format!("{task} will be in conflict {}, as it is now", view::conflicts_ahead(conflicts))
    };
    facts.conflicts_ahead.iter().map(told)
}

/// What a person should look at in work that was accepted.
fn noticed(facts: &piton_core::run::Run) -> impl Iterator<Item = String> {
    facts.noticed.iter().map(|(task, reason)| format!("look at {task}: {reason}"))
}

/// Tasks under way, and those that need help, in the order of their ids.
pub(crate) fn notable(journal: &Journal, run: &RunId, counts: &Counts) -> Outcome<Vec<Task>> {
    let mut notable = journal.under_way(run)?;
    for status in [Status::Failed, Status::Abandoned, Status::Blocked, Status::Skipped, Status::PassedOver] {
        if counts.of(status) > 0 {
            notable.extend(journal.tasks_in(run, status, MOST + 1)?);
        }
    }
    notable.arrange_by(|a, b| a.id.cmp(&b.id));
    Ok(notable)
}

pub(crate) fn title(journal: &Journal, run: &RunId, id: &TaskId) -> Outcome<String> {
    Ok(journal.spec(run, id)?.map(|spec| spec.title).unwrap_or_default())
}

pub(crate) fn task_line(
    journal: &Journal,
    run: &RunId,
    task: &Task,
    title: &str,
    now: Timestamp,
) -> Outcome<String> {
    let (sign, style) = ui::status_sign(task.status());
    let about = match task.status() {
        Status::Completed => match &task.proof {
            Some(Proof::Landed { commit, .. }) => format!("landed as {}", commit.short()),
            Some(Proof::Checked { already: Some(reason), .. }) => {
                format!("its checks passed; nothing had to change: {}", ui::plain(reason))
            }
            Some(Proof::Checked { .. }) => "its checks passed".to_owned(),
            Some(Proof::Work { commits, .. }) => match commits.last() {
                Some(commit) => format!("by commit {}, without a check", commit.short()),
                None => "its files have changed, without a check".to_owned(),
            },
            _ if task.is_claimed() => "claimed before this run began, not proven".to_owned(),
            Some(Proof::Reported) | None => "reported, not proven".to_owned(),
        },
        Status::Failed | Status::Abandoned | Status::Blocked | Status::Skipped | Status::PassedOver => {
            standing::reason(journal, run, task)?
        }
        Status::Verified | Status::Merging => task.progress.waits.clone().unwrap_or_default(),
        Status::InProgress => match &task.holder {
            Some(piton_core::run::Holder::Ledger(name)) => match &task.progress.uncommitted[..] {
                [] => format!("held by {name}; `piton reset {}` frees it", task.id),
                files => format!("reported done by {name}, {}", piton_core::run::waits_for(files)),
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
        ui::plain(title),
        ui::styled(DIM, commands::complete(&ui::plain(&about)))
    ))
}

/// Another agent works on it than its plan says: a fallback, or one that was asked for.
fn is_by_another(task: &Task) -> bool {
    !task.progress.agent.is_empty() && task.progress.agent != task.agent
}
