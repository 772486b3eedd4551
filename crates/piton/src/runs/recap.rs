//! A run to give away: what the journal and the project tell about all of it.

use camino::Utf8Path;
use piton_core::plan::RunId;
use piton_core::view::recap::{Recap, RecapSources};
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::Outcome;
use crate::runs::{find, graph, inbox, standing, timeline};
use crate::{commands, paths};

/// Commands in it can be typed as they are.
pub(crate) fn of_run(project: &Project, journal: &mut Journal, run: &RunId) -> Outcome<Recap> {
    let facts = standing::facts(journal, run)?;
    let counts = standing::summary(journal, &facts)?.counts;
    let stale = standing::stale(project, journal, &facts, &counts)?;
    let status = standing::state(project, journal, &facts, &counts, &stale);
    let state_text = standing::sentence(&status);
    let needs = inbox::of_run(project, journal, run)?;
    let events = journal.events_that_happened(run)?;
    let now = timeline::now(project, journal, run, &events)?;
    let outlined = journal.outlined(run)?.into_iter();
    let tasks = outlined.map(|(task, outline)| {
        let node = graph::node(&facts, &task, outline);
        (task, node)
    });
    let sources = RecapSources { run: &facts, status, state_text, tasks: tasks.collect(), needs, now };
    let mut recap = Recap::new(sources, events);
    // Where a command could mean another run, it names this one.
    let plan = paths::typed(Utf8Path::new(&facts.plan));
    let others = find::unfinished(&journal.runs()?).iter().any(|other| other.id != *run);
    let complete = |text: &str| commands::complete_for(text, others.then_some(run), &plan);
    recap.next.iter_mut().for_each(|step| step.command = complete(&step.command));
    recap.tasks.iter_mut().for_each(|story| story.how = complete(&story.how));
    Ok(recap)
}
