//! What the plan's files say, compared with the plan that the run follows.

use camino::Utf8Path;
use piton_core::plan::difference;
use piton_core::run::{Command, Revision, Run, Stop, decide};
use piton_core::view::PlanNews;
use piton_engine::clock;
use piton_engine::journal::Journal;
use piton_engine::project::Project;

use crate::failure::Outcome;
use crate::plans::{self, How, Stamp};
use crate::runs::{begin, detected};

/// `None` if there is nothing that a person has to see to. `lives`: an engine works on the run, and adopts what can be
/// adopted.
pub(crate) fn of_run(
    project: &Project,
    journal: &mut Journal,
    facts: &Run,
    lives: bool,
) -> Outcome<Option<PlanNews>> {
    // What the files said in the past is not known.
    if journal.moment().is_some() {
        return Ok(None);
    }
    let (path, system) = (Utf8Path::new(&facts.plan), facts.settings.form.system());
    let stamp = Stamp::of(path, system);
    if stamp.as_ref().and_then(|stamp| stamp.hash(project)).is_some_and(|hash| hash == facts.plan_hash) {
        return Ok(None);
    }
    let tests = detected::checks_found(system, journal, &facts.id)?.unwrap_or_default();
    let how = How { project: Some(&project.root), tests: Some(&tests), ..How::default() };
    let since = plans::written(path, &project.root);
    let found = match plans::read(path, system, how) {
        Ok((found, _)) => found,
        // Whoever is done with a plan may delete it.
        Err(_) if !path.exists() && journal.load(&facts.id)?.is_complete() => return Ok(None),
        Err(failure) => {
            let why = failure.mistake.unwrap_or(failure.message);
            return Ok(Some(PlanNews::Unreadable { why, since }));
        }
    };
    let hash = found.plan.hash();
    if let Some(stamp) = stamp {
        stamp.keep(project, &found, &hash);
    }
    if hash == facts.plan_hash {
        return Ok(None);
    }
    let specs = journal.specs(&facts.id)?;
    let difference = difference(&specs, &found.plan.tasks);
    let follow = Command::Follow(Box::new(Revision::new(found.plan, &facts.plan_hash, &specs)));
    let state = journal.load(&facts.id)?;
    Ok(match decide(&state, &follow, clock::now()) {
        Err(Stop::Refused(refusal)) if !refusal.stale => {
            let tasks = begin::asked_since(project, journal, &facts.id)?;
            Some(PlanNews::Refuses { why: refusal.to_string(), tasks, difference, since })
        }
        Ok(_) if !lives => {
            let tasks = begin::asked_since(project, journal, &facts.id)?;
            (!tasks.is_empty()).then_some(PlanNews::Adopts { tasks, since })
        }
        _ => None,
    })
}
