//! The run as a whole: progress, the merge queue, whether it is complete, the project's description. Reads only.

use std::collections::BTreeMap;

use camino::Utf8Path;
use piton_core::order::Pairs;
use piton_core::plan::TaskId;
use piton_core::run::{State, Status, owes_context};
use piton_core::view::{self, RunStatus};
use piton_engine::gates::Stale;
use serde_json::json;

use crate::args::OfRun;
use crate::failure::{Exit, FINE, Outcome};
use crate::paths;
use crate::runs::found::FoundRun;
use crate::runs::{begin, find, queue, show, standing};
use crate::ui::{self, BOLD, DIM};

/// The exit code of a run that is not complete.
const UNFINISHED: Exit = 4;

pub(crate) fn progress(args: &OfRun) -> Outcome<Exit> {
    let FoundRun { project, mut journal, run } = find::run(&args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let counts = standing::summary(&journal, &facts)?.counts;
    let efforts = journal.efforts(&run)?;
    let tests = efforts.tests();
    let (done, total) = (counts.of(Status::Completed), counts.total());
    let percent = u64::from(done) * 100 / u64::from(total.max(1));
    let stale = standing::stale(&project, &journal, &facts, &counts)?;
    let state = standing::state(&project, &journal, &facts, &counts, &stale);
    let open = Status::ALL.into_iter().filter(|&status| status != Status::Completed && counts.of(status) > 0);
    let tally = match facts.settings.form.system().progress() {
        Some(tally) => Some(tally(&journal.load(&run)?)),
        None => None,
    };
    if args.json {
        let mut open: BTreeMap<&str, u32> = open.map(|status| (status.name(), counts.of(status))).into_map();
        let (mut done, mut total, mut percent) = (done, total, percent);
        if let Some(tally) = tally {
            (done, total, percent) = (tally.completed, tally.total, tally.percent.into());
            open = tally.open.into_iter().collect();
        }
        ui::answer_json(&json!({
            "run": run, "state": state, "completed": done, "total": total, "percent": percent, "open": open,
            "skipped": standing::skipped_document(&standing::skipped(&journal, &run)?),
            "attempts": efforts.attempts,
            "tests": tests,
        }));
        return Ok(FINE);
    }
    if let Some(tally) = tally {
        ui::answer_line(tally.text.trim_end());
        return Ok(FINE);
    }
    let open: Vec<String> = open.map(|status| format!("{} {status}", counts.of(status))).collect();
    ui::answer_line(format!("{} {}", ui::styled(BOLD, run.as_str()), standing::describe(&state)));
    ui::answer_line(format!(
        "{} {percent:>3}%  {done} of {}",
        view::bar(done, total),
        view::counted(total.into(), "task")
    ));
    if !open.is_empty() {
        ui::answer_line(open.join(", "));
    }
    if let Some(tests) = tests {
        ui::answer_line(format!("tests: {tests}"));
    }
    Ok(FINE)
}

pub(crate) fn queue(args: &OfRun) -> Outcome<Exit> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let places = queue::places(&journal, &facts)?;
    if args.json {
        ui::answer_json(&queue::document(&places));
        return Ok(FINE);
    }
    let mut lines = String::new();
    for (no, place) in places.iter().enumerate() {
        let title = ui::plain(&place.title);
        let waits = place.task.progress.waits.as_ref().or(place.line.as_ref());
        let waits = waits.map(|why| format!("  {}", ui::styled(DIM, ui::plain(why)))).unwrap_or_default();
        lines += &format!("{:>3}  {:7}  {:8} {title}{waits}\n", no + 1, place.status, place.task.id);
    }
    ui::answer(lines);
    for told in show::conflicts_ahead(&facts) {
        ui::say(ui::plain(&told));
    }
    if places.iter().any(|place| place.task.is_candidate()) {
        ui::say(view::policy(&facts));
    }
    if places.is_empty() {
        ui::say("nothing has landed, and nothing is in the queue");
    }
    Ok(FINE)
}

pub(crate) fn complete(args: &OfRun) -> Outcome<Exit> {
    let FoundRun { project, mut journal, run } = find::run(&args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let counts = standing::summary(&journal, &facts)?.counts;
    let stale = standing::stale(&project, &journal, &facts, &counts)?;
    let asked = begin::asked_since(&project, &mut journal, &run)?;
    let is_open = counts.sum(Status::is_finished) < counts.total();
    let open = if is_open { journal.unfinished(&run)? } else { Vec::new() };
    let skipped = standing::skipped(&journal, &run)?;
    let unproven = journal.only_reported(&run)?;
    // Of a run with nothing left to do, which a state without tasks stands for.
    let owed = open.is_empty() && owes_context(&State::new(), &facts);
    if args.json {
        let missing = |(id, status): &(TaskId, Status)| json!({ "task": id, "status": status.name() });
        ui::answer_json(&json!({
            "run": run, "complete": open.is_empty() && stale.is_empty() && asked.is_empty(), "asked_since": asked, "missing": open.iter().map(missing).collect::<Vec<_>>(),
            "skipped": standing::skipped_document(&skipped), "reported_only": unproven, "context_pending": owed,
            "stale_gates": stale.iter().map(|stale| json!({ "gate": stale.gate, "reason": stale.reason }))
                .collect::<Vec<_>>(),
        }));
    } else if !stale.is_empty() {
        for Stale { gate, reason } in &stale {
            ui::answer_line(format!("{gate:8} has not passed on what there is now: {}", ui::plain(reason)));
        }
        ui::hint(format!("piton report {} done   runs its checks again", stale[0].gate));
    } else if !asked.is_empty() {
        for task in &asked {
            ui::answer_line(format!("{task:8} has changed in the plan, or is new"));
        }
        let plan = paths::typed(Utf8Path::new(&facts.plan));
        ui::hint(format!("piton run {plan}   shows what has changed and how to continue"));
    } else if open.is_empty() {
        let number = u32::try_from(skipped.len()).unwrap_or(u32::MAX);
        ui::answer_line(standing::describe(&RunStatus::Completed { skipped: number }));
        for (task, reason) in &skipped {
            let why = if reason.is_empty() { String::new() } else { format!(": {}", ui::plain(reason)) };
            ui::answer_line(format!("{task:8} skipped{why}"));
        }
        let is_claimed =
            |id: &&TaskId| journal.task(&run, id).ok().flatten().is_some_and(|task| task.is_claimed());
        let (claimed, reported): (Vec<&TaskId>, Vec<&TaskId>) = unproven.iter().partition(is_claimed);
        for (how, ids) in [("reported", reported), ("claimed before the run", claimed)] {
            if !ids.is_empty() {
                let ids: Vec<&str> = ids.into_iter().map(TaskId::as_str).collect();
                ui::answer_line(format!("{how}, not proven: {}", ids.join(", ")));
            }
        }
        if owed {
            ui::hint("the project's description is not updated yet: `piton run PLAN` does it");
        }
    } else {
        ui::answer(open.iter().map(|(id, status)| format!("{id:8} {status}\n")).collect::<String>());
        let all = view::counted(counts.total().into(), "task");
        ui::say(format!("{} of {all} not completed", open.len()));
    }
    Ok(if open.is_empty() && stale.is_empty() && asked.is_empty() { FINE } else { UNFINISHED })
}

pub(crate) fn context(args: &OfRun) -> Outcome<Exit> {
    let FoundRun { journal, run, .. } = find::run(&args.which)?;
    let facts = standing::facts(&journal, &run)?;
    let kept = facts.settings.policy().keeps_description && !facts.settings.no_commits;
    let state = match &facts.context {
        Some(update) if update.commit.is_some() => "completed",
        Some(_) => "skipped",
        None if kept => "pending",
        None => "none",
    };
    if args.json {
        ui::answer_json(&json!({ "run": run, "status": state, "update": facts.context }));
        return Ok(FINE);
    }
    let Some(update) = &facts.context else {
        ui::answer_line(match kept {
            true => "pending: it is done when every task is completed",
            false => "none: this run keeps no description of the project",
        });
        return Ok(FINE);
    };
    match &update.commit {
        Some(commit) => ui::answer_line(format!(
            "completed: {} in {}",
            update.path.as_deref().unwrap_or("it"),
            commit.short()
        )),
        None => ui::answer_line(format!("skipped: {}", ui::plain(&update.skipped))),
    }
    for (what, names) in
        [("features", &update.features), ("endpoints", &update.endpoints), ("models", &update.models)]
    {
        if !names.is_empty() {
            ui::answer_line(format!("  {what}: {}", ui::plain(&names.join(", "))));
        }
    }
    update.warnings.iter().for_each(|warning| ui::say(format!("warning: {}", ui::plain(warning))));
    Ok(FINE)
}
