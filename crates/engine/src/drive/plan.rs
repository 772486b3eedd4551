//! The plan's files, which may change while its run goes on.

use std::time::Instant;

use camino::Utf8Path;
use piton_core::dialect::native;
use piton_core::run::Command;

use super::{EngineError, LOOK, Loop};

impl Loop<'_> {
    /// A plan that changed under a run stops it: no task may be judged by what it did not know.
    pub(super) fn look_at_plan(&mut self) -> Result<bool, EngineError> {
        if self.plan_diff.is_none() && self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.plan_diff = self.plan_difference()?;
            if self.plan_diff.is_some() {
                self.commit(&[Command::RequestStop {
                    by: "Piton, since the plan changed".to_owned(),
                    now: false,
                }])?;
            }
        }
        Ok(self.plan_diff.is_some())
    }

    /// How the plan differs from the run's, if it does.
    fn plan_difference(&mut self) -> Result<Option<String>, EngineError> {
        if self.is_plan_followed() {
            return Ok(None);
        }
        // Whoever adds a task writes the plan first, and holds this until the journal knows of it.
        let path = self.state.run().map(|run| run.plan.clone()).unwrap_or_default();
        let quiet = self.site.project.try_plan_lock(Utf8Path::new(&path));
        if matches!(quiet, Ok(None)) {
            return Ok(None);
        }
        self.hear_others()?;
        if self.is_plan_followed() {
            return Ok(None);
        }
        Ok(match &self.plan_seen {
            Some(Ok(plan)) => Some(native::difference(&self.journal.specs(&self.run)?, &plan.tasks)),
            Some(Err(reason)) => Some(reason.clone()),
            None => None,
        })
    }

    /// Whether the plan's files say what the run goes by. What they say is kept as long as it is something else.
    fn is_plan_followed(&mut self) -> bool {
        self.plan_seen = (self.plan_now)().or(self.plan_seen.take());
        let hash = self.state.run().map(|run| &run.plan_hash);
        let followed = match &self.plan_seen {
            None => true,
            Some(Ok(plan)) => Some(&plan.hash()) == hash,
            Some(Err(_)) => false,
        };
        if followed {
            self.plan_seen = None;
        }
        followed
    }
}
