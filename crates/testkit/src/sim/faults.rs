//! What goes wrong: engines that crash or are overtaken, clocks that jump, people.

use piton_core::run::request::Step;
use piton_core::run::{Action, Command, StopReason, is_current};

use super::driver::{Answer, Happening, Sim};
use super::engine::{Arrival, Op};
use super::keeper::Keeper;
use super::laws::Broken;
use super::scenario::index;

/// What an engine that was paused and overtaken still reports; without an action, that it stops.
#[derive(Clone, Debug)]
pub(super) struct LateResult {
    engine: String,
    op: Option<Op>,
}

impl Sim {
    pub(super) fn fault(&mut self) -> Result<(), Broken> {
        if self.faults_left == 0 {
            return Ok(());
        }
        self.faults_left -= 1;
        if self.faults_left == 0 {
            self.git.dirty = false;
            return Ok(());
        }
        let soon = self.rng.chance(30);
        let delay = self.rng.between(1, if soon { 5_000 } else { 600_000 });
        self.at(delay, Happening::Fault);
        let weather = self.scenario.weather;
        // A crash comes at the worst instant more often than by chance alone.
        if weather.crashes && self.has_moved() && self.rng.chance(60) {
            self.crash();
            return Ok(());
        }
        match self.rng.below(20) {
            0..4 if weather.crashes => {
                self.crash();
                Ok(())
            }
            4 | 5 if weather.crashes => {
                self.overtake();
                Ok(())
            }
            6 | 7 if weather.clock_jumps => {
                self.jump();
                Ok(())
            }
            8..12 if weather.people && self.run().target.is_some() => {
                self.person();
                Ok(())
            }
            8.. if weather.movers => {
                self.passer_by();
                Ok(())
            }
            12.. if weather.people => self.client(),
            _ => Ok(()),
        }
    }

    /// Whether the target was moved, or a request, and the journal does not know it yet.
    fn has_moved(&self) -> bool {
        let is_move = |action: &Action| match action {
            Action::Request { step, .. } => *step != Step::Follow,
            action => matches!(action, Action::Move { .. }),
        };
        let moved = |op: &Op| op.results.is_some() && is_move(&op.action);
        self.engine.as_ref().is_some_and(|engine| engine.ops.values().any(moved))
    }

    /// The engine dies at once. Its effects stay, but results that it has not reported are lost.
    fn crash(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        self.note(|| format!("{} crashes", engine.name));
        for op in engine.ops.values().filter(|op| op.results.is_some()) {
            self.coverage.saw("crash: effect done, result lost");
            if matches!(op.action, Action::Move { .. }) {
                self.coverage.saw("crash: between intent and Landed");
            }
        }
        if self.scenario.weather.deadly > 0 && self.rng.chance(40) {
            self.scenario.weather.deadly -= 1;
            for key in self.keepers.running() {
                self.coverage.saw("crash: keepers died too");
                self.keepers.kill(&mut self.git, key, &mut self.rng, Keeper::Died);
            }
        }
        let delay = self.rng.between(1, 300_000);
        self.at(delay, Happening::EngineStarts);
    }

    /// The engine is paused, another takes over, and then the first continues with what it had.
    fn overtake(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        self.note(|| format!("{} is stopped, and another takes over", engine.name));
        self.at(1, Happening::EngineStarts);
        for mut op in engine.ops.into_values() {
            let work = matches!(op.action, Action::Work { .. });
            if op.results.is_none() && !work {
                // Half of what it had begun is done before it stops.
                if self.rng.chance(50) || !is_current(&self.state, &op.action) {
                    continue;
                }
                op.candidate = self.candidate(&op.action);
                op.results = Some(self.perform(&op.action));
            }
            self.goes_on_later(LateResult { engine: engine.name.clone(), op: Some(op) });
        }
        self.goes_on_later(LateResult { engine: engine.name, op: None });
    }

    fn goes_on_later(&mut self, late: LateResult) {
        let soon = self.rng.chance(50);
        let delay = self.rng.between(2, if soon { 60_000 } else { 3_600_000 });
        self.late.push(late);
        self.at(delay, Happening::Late(self.late.len() - 1));
    }

    /// The overtaken engine continues where it was.
    pub(super) fn goes_on(&mut self, at: usize) -> Result<(), Broken> {
        let late = self.late[at].clone();
        self.note(|| format!("{} goes on", late.engine));
        if let Some(mut op) = late.op {
            if op.results.is_none()
                && let Action::Work { task, fence, pass } = &op.action
            {
                // It reads the outcome only now.
                let key = (index(task), *fence, *pass);
                op.results = self.outcome(key).map(|command| vec![command]);
            }
            return self.report(op, &late.engine, Arrival::Late);
        }
        if self.run().engine.as_ref() == Some(&late.engine) {
            return Ok(());
        }
        let detach = Command::Detach { engine: late.engine, reason: StopReason::Ended, tip: Vec::new() };
        match self.submit(&detach)? {
            Answer::Done(_) => Err(("stale_is_refused", format!("{detach:?}"))),
            Answer::Refused(_) => {
                self.coverage.saw("late detach refused");
                Ok(())
            }
        }
    }

    fn jump(&mut self) {
        let far = [60_000, 3_600_000, 20 * 86_400_000];
        let most = far[self.rng.below(3)];
        let by = i64::try_from(self.rng.between(1, most)).unwrap_or(0);
        let by = if self.rng.chance(50) { -by } else { by };
        self.offset += by;
        self.limited_at.clear();
        if let Some(engine) = &mut self.engine {
            engine.wake = None;
        }
        self.coverage.saw(if by < 0 { "clock went back" } else { "clock went ahead" });
        self.note(|| format!("the clock jumps by {by} ms"));
    }
}
