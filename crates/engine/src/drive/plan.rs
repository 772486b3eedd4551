//! The plan's files, which may change during the run.

use std::time::Instant;

use camino::Utf8Path;
use piton_core::plan::{Plan, difference};
use piton_core::run::{
    Command, Note, Refusal, Revision, Session, follows_settings, settings_that_wait, shell_word,
};

use super::{EngineError, LOOK, Loop};

/// A plan as its files say it, and its settings with this command's options applied.
#[derive(Clone, Debug)]
pub struct PlanRead {
    pub plan: Plan,
    pub session: Session,
}

/// What the plan's files say, compared with the plan that the run follows.
#[derive(Default)]
pub(super) enum PlanSeen {
    /// The same.
    #[default]
    Followed,
    /// It changed, or cannot be read. A person or a program may still be writing it: the change counts once two looks
    /// in a row find the same files.
    Fresh(Result<PlanRead, String>),
    /// It changed, and the process that changed it is about to record that in the journal.
    Expected(PlanRead),
    /// It could not be read, and that was reported.
    Broken,
    /// The run cannot follow it; this is how the two differ.
    Waits(String),
}

impl Loop<'_> {
    /// Follow a plan that changed, if the change concerns only tasks that are not in progress. Any other change stops
    /// the run: no task may be judged by rules it was not given. Returns whether nothing may begin for now.
    pub(super) fn look_at_plan(&mut self) -> Result<bool, EngineError> {
        if self.looked.elapsed() >= LOOK && !matches!(self.plan_seen, PlanSeen::Waits(_)) {
            self.looked = Instant::now();
            let before = std::mem::take(&mut self.plan_seen);
            self.plan_seen = match ((self.plan_now)(), before) {
                (Some(Ok(now)), _) if self.is_followed(&now) => {
                    self.tell_what_waits(&now.plan)?;
                    PlanSeen::Followed
                }
                // Files of its folder that say nothing about the tasks were written.
                (Some(now), PlanSeen::Fresh(before)) if says_the_same(&now, &before) => self.follow(now)?,
                (Some(now), _) => PlanSeen::Fresh(now),
                (None, PlanSeen::Fresh(now)) => self.follow(now)?,
                (None, PlanSeen::Expected(read)) => self.follow(Ok(read))?,
                (None, seen) => seen,
            };
            if let PlanSeen::Waits(_) = self.plan_seen {
                let by = "Piton, because the plan changed,".to_owned();
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

    fn follow(&mut self, now: Result<PlanRead, String>) -> Result<PlanSeen, EngineError> {
        let read = match now {
            Ok(read) => read,
            Err(reason) => {
                let note = Note::PlanUnreadable { reason };
                self.commit(&[Command::Note { by: "piton".to_owned(), note }])?;
                return Ok(PlanSeen::Broken);
            }
        };
        self.tell_what_waits(&read.plan)?;
        if self.is_followed(&read) {
            return Ok(PlanSeen::Followed);
        }
        // A command that adds a task writes the plan first, and holds this lock until the task is in the journal.
        let path = self.state.run().map(|run| run.plan.clone()).unwrap_or_default();
        let quiet = self.site.project.try_plan_lock(Utf8Path::new(&path));
        if matches!(quiet, Ok(None)) {
            return Ok(PlanSeen::Expected(read));
        }
        self.hear_others()?;
        let Some(from) = self.state.run().map(|run| run.plan_hash.clone()) else {
            return Ok(PlanSeen::Followed);
        };
        if self.is_followed(&read) {
            return Ok(PlanSeen::Followed);
        }
        let specs = self.journal.specs(&self.run)?;
        let difference = difference(&specs, &read.plan.tasks);
        let revision = Revision::new(read.plan.clone(), &from, &specs).for_session(read.session.clone());
        let followed = self.commit(&[Command::Follow(Box::new(revision))])?;
        Ok(match followed.into_iter().next() {
            Some(Err(Refusal { stale: true, .. })) => PlanSeen::Expected(read),
            Some(Err(refusal)) => PlanSeen::Waits(format!("{refusal}\n{difference}")),
            _ => PlanSeen::Followed,
        })
    }

    fn is_followed(&self, PlanRead { plan, session }: &PlanRead) -> bool {
        let run = self.state.run();
        run.is_some_and(|run| run.plan_hash == plan.hash() && follows_settings(run, plan, Some(session)))
    }

    /// Settings that a running engine cannot adopt are reported once.
    fn tell_what_waits(&mut self, plan: &Plan) -> Result<(), EngineError> {
        let Some(run) = self.state.run() else { return Ok(()) };
        let waits = settings_that_wait(run, plan);
        if waits == self.settings_wait {
            return Ok(());
        }
        self.settings_wait.clone_from(&waits);
        if waits.is_empty() {
            return Ok(());
        }
        let (names, path) = (waits.join(", "), shell_word(&run.plan));
        let text = format!(
            "this run keeps its old settings for: {names}; after `piton stop`, `piton run {path} --replan` adopts the new ones"
        );
        let note = Note::Entry { task: None, text, for_next: false };
        self.commit(&[Command::Note { by: "Piton".to_owned(), note }])?;
        Ok(())
    }
}

fn says_the_same(one: &Result<PlanRead, String>, other: &Result<PlanRead, String>) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            one.plan.hash() == other.plan.hash() && one.plan.settings == other.plan.settings
        }
        (Err(one), Err(other)) => one == other,
        _ => false,
    }
}
