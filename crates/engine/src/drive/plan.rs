//! The plan's files, which may change while its run goes on.

use std::time::Instant;

use camino::Utf8Path;
use piton_core::plan::Plan;
use piton_core::run::{Command, Note, Refusal, Revision};
use piton_core::system::native;

use super::{EngineError, LOOK, Loop};

/// What the plan's files say, compared with what the run goes by.
#[derive(Default)]
pub(super) enum PlanSeen {
    /// The same.
    #[default]
    Followed,
    /// Something else, or nothing that can be read. Somebody may still be writing: it counts once a look finds the files as
    /// the look before it.
    Fresh(Result<Plan, String>),
    /// Something else, and somebody is about to tell the journal of it.
    Expected(Plan),
    /// It could not be read, and that was reported.
    Broken,
    /// The run cannot follow it; this is how the two differ.
    Waits(String),
}

impl Loop<'_> {
    /// Follow a plan that changed, as far as its change is about tasks that nobody works on. Any other change stops the run:
    /// no task may be judged by what it did not know. Says whether nothing may begin for now.
    pub(super) fn look_at_plan(&mut self) -> Result<bool, EngineError> {
        if self.looked.elapsed() >= LOOK && !matches!(self.plan_seen, PlanSeen::Waits(_)) {
            self.looked = Instant::now();
            let before = std::mem::take(&mut self.plan_seen);
            self.plan_seen = match ((self.plan_now)(), before) {
                (Some(Ok(now)), _) if self.is_followed(&now) => PlanSeen::Followed,
                // Files of its folder that say nothing about the tasks were written.
                (Some(now), PlanSeen::Fresh(before)) if says_the_same(&now, &before) => self.follow(now)?,
                (Some(now), _) => PlanSeen::Fresh(now),
                (None, PlanSeen::Fresh(now)) => self.follow(now)?,
                (None, PlanSeen::Expected(plan)) => self.follow(Ok(plan))?,
                (None, seen) => seen,
            };
            if let PlanSeen::Waits(_) = self.plan_seen {
                let by = "Piton, since the plan changed".to_owned();
                self.commit(&[Command::RequestStop { by, now: false }])?;
            }
        }
        Ok(matches!(self.plan_seen, PlanSeen::Fresh(_) | PlanSeen::Waits(_)))
    }

    /// How the plan differs from the run's, where the run cannot go on with it.
    pub(super) fn plan_difference(&self) -> Option<&str> {
        match &self.plan_seen {
            PlanSeen::Waits(difference) => Some(difference),
            _ => None,
        }
    }

    fn follow(&mut self, now: Result<Plan, String>) -> Result<PlanSeen, EngineError> {
        let plan = match now {
            Ok(plan) => plan,
            Err(reason) => {
                let note = Note::PlanUnreadable { reason };
                self.commit(&[Command::Note { by: "piton".to_owned(), note }])?;
                return Ok(PlanSeen::Broken);
            }
        };
        if self.is_followed(&plan) {
            return Ok(PlanSeen::Followed);
        }
        // Whoever adds a task writes the plan first, and holds this until the journal knows of it.
        let path = self.state.run().map(|run| run.plan.clone()).unwrap_or_default();
        let quiet = self.site.project.try_plan_lock(Utf8Path::new(&path));
        if matches!(quiet, Ok(None)) {
            return Ok(PlanSeen::Expected(plan));
        }
        self.hear_others()?;
        let Some(from) = self.state.run().map(|run| run.plan_hash.clone()) else {
            return Ok(PlanSeen::Followed);
        };
        if self.is_followed(&plan) {
            return Ok(PlanSeen::Followed);
        }
        let specs = self.journal.specs(&self.run)?;
        let difference = native::difference(&specs, &plan.tasks);
        let revision = Revision::new(plan.clone(), &from, &specs);
        let followed = self.commit(&[Command::Follow(Box::new(revision))])?;
        Ok(match followed.into_iter().next() {
            Some(Err(Refusal { stale: true, .. })) => PlanSeen::Expected(plan),
            Some(Err(refusal)) => PlanSeen::Waits(format!("{refusal}\n{difference}")),
            _ => PlanSeen::Followed,
        })
    }

    fn is_followed(&self, plan: &Plan) -> bool {
        self.state.run().is_some_and(|run| run.plan_hash == plan.hash())
    }
}

fn says_the_same(one: &Result<Plan, String>, other: &Result<Plan, String>) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one.hash() == other.hash(),
        (Err(one), Err(other)) => one == other,
        _ => false,
    }
}
