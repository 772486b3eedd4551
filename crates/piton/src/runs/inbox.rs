//! What waits for a person, over all runs of a project.

use camino::Utf8Path;
use piton_core::order::Arrange;
use piton_core::plan::RunId;
use piton_core::run::{Event, Task};
use piton_core::view::{self, Around, CONCERNS, Item};
use piton_engine::journal::{Journal, RunSummary};
use piton_engine::project::Project;

use crate::failure::Outcome;
use crate::runs::{explain, plan_news, standing};
use crate::{commands, paths};

/// So many tasks of one status are listed one by one in each run: the oldest. Nobody reads more, and each is explained.
const MOST: usize = 100;
/// So many events are looked through for the last one that is not a note.
const RECENT: usize = 50;

/// Those that hold up most first. Closed runs, and runs that a newer one of the same plan has replaced, wait for nobody.
pub(crate) fn of_project(project: &Project) -> Outcome<Vec<Item>> {
    let Some(mut journal) = project.existing_journal()? else { return Ok(Vec::new()) };
    let open = open(&journal)?;
    let mut items = Vec::new();
    for run in &open {
        items.extend(gather(project, &mut journal, run, open.len() > 1)?);
    }
    items.arrange_by_key(|item| (item.kind, item.since));
    Ok(items)
}

/// What waits for a person in one of them.
pub(crate) fn of_run(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome<Vec<Item>> {
    let others = open(journal)?.iter().any(|other| other != run);
    gather(project, journal, run, others)
}

/// The runs that may wait for a person.
fn open(journal: &Journal) -> Outcome<Vec<RunId>> {
    let all = journal.runs()?;
    let is_open = |run: &&RunSummary| {
        let newest = all.iter().find(|other| other.plan == run.plan);
        run.closed.is_none() && newest.is_none_or(|newest| newest.id == run.id)
    };
    Ok(all.iter().filter(is_open).map(|run| run.id.clone()).collect())
}

/// Commands in it can be typed as they are: where there are `others`, they name the run.
fn gather(project: &Project, journal: &mut Journal, run: &RunId, others: bool) -> Outcome<Vec<Item>> {
    let facts = standing::facts(journal, run)?;
    let counts = standing::summary(journal, &facts)?.counts;
    let stale = standing::stale(project, journal, &facts, &counts)?;
    let status = standing::state(project, journal, &facts, &counts, &stale);
    let lives = standing::engine_lives(project, journal, &facts);
    let plan = plan_news::of_run(project, journal, &facts, lives)?;
    let mut tasks = journal.under_way(run)?;
    let mut more = Vec::new();
    for status in CONCERNS.into_iter().filter(|status| counts.of(*status) > 0) {
        let oldest = journal.oldest_in(run, status, MOST)?;
        more.push((status, u64::from(counts.of(status)).saturating_sub(oldest.len() as u64)));
        tasks.extend(oldest);
    }
    let stale = stale.iter().map(|stale| &stale.gate);
    for id in stale.chain(facts.noticed.keys()) {
        if tasks.iter().all(|task| task.id != *id) {
            tasks.extend(journal.task(run, id)?);
        }
    }
    let explain = |task: &Task| match explain::why(project, journal, &facts, &task.id) {
        Ok(Some(why)) => (why.causes.first().map(|cause| cause.text.clone()).unwrap_or_default(), why.helps),
        // It is listed even if its cause cannot be read.
        Ok(None) | Err(_) => (task.status().name().to_owned(), vec![format!("piton why {}", task.id)]),
    };
    let last = journal.last_events(run, None, RECENT)?;
    let last = last.iter().rfind(|recorded| !matches!(recorded.event, Event::Noted { .. }));
    let active = last.map_or(facts.created, |last| last.at);
    let around = Around { status: &status, active, plan: plan.as_ref(), more: &more, explain: &explain };
    let mut items = view::inbox(&facts, &tasks, &around);
    let plan = paths::typed(Utf8Path::new(&facts.plan));
    for item in &mut items {
        let complete = |help: &String| commands::complete_for(help, others.then_some(run), &plan);
        item.helps = item.helps.iter().map(complete).collect();
        item.reason = commands::complete_for(&item.reason, others.then_some(run), &plan);
    }
    Ok(items)
}
