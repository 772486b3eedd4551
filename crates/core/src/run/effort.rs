//! How often tasks were tried and how many tests ran: what people read about a run. It is summed up as events are folded, so
//! that nobody has to look through the tasks for it.

use serde::{Deserialize, Serialize};

use super::event::{Event, Note};
use super::reopen::Reopening;
use super::report::Tests;
use super::verdict;

/// Of one task, as its story tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effort {
    /// The number of the attempt running or last run since the last reset. One that was released does not count.
    pub attempt: u32,
    /// As last counted or reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
}

impl Effort {
    /// What it is after an event of the task. `None`: the event is about something else.
    pub(super) fn after(self, event: &Event) -> Option<Effort> {
        let reported = |tests: Option<Tests>| tests.map(|tests| Effort { tests: Some(tests), ..self });
        match event {
            Event::AttemptStarted { attempt, .. } => Some(Effort { attempt: *attempt, ..self }),
            Event::Released { .. } => Some(Effort { attempt: self.attempt.saturating_sub(1), ..self }),
            Event::Reset { .. } => Some(Effort { attempt: 0, ..self }),
            Event::Reopened { reason: Reopening::Content { .. }, .. } => Some(Effort::default()),
            Event::Adopted { past, .. } => Some(Effort { attempt: past.attempt(), ..self }),
            Event::ChecksEnded { results, .. } => reported(verdict::tests(results)),
            Event::AgentEnded { report, .. } => reported(report.as_ref().and_then(|report| report.tests)),
            Event::Reported { report, .. } | Event::Noted { note: Note::Told { report, .. }, .. } => {
                reported(report.tests)
            }
            _ => None,
        }
    }
}

/// Of all tasks of a run together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Efforts {
    pub attempts: u64,
    /// Tasks whose tests are known.
    tested: u32,
    passed: u128,
    failed: u128,
    skipped: u128,
}

impl Efforts {
    pub fn is_empty(&self) -> bool {
        *self == Efforts::default()
    }

    /// `None` if nothing is known of any.
    pub fn tests(&self) -> Option<Tests> {
        let number = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        let [passed, failed, skipped] = [self.passed, self.failed, self.skipped].map(number);
        (self.tested > 0).then_some(Tests { passed, failed, skipped })
    }

    /// A task that had put in one effort has put in another.
    pub(super) fn shift(&mut self, before: Effort, after: Effort) {
        self.attempts = self.attempts.saturating_sub(before.attempt.into()) + u64::from(after.attempt);
        if let Some(tests) = before.tests {
            self.tested = self.tested.saturating_sub(1);
            self.passed = self.passed.saturating_sub(tests.passed.into());
            self.failed = self.failed.saturating_sub(tests.failed.into());
            self.skipped = self.skipped.saturating_sub(tests.skipped.into());
        }
        if let Some(tests) = after.tests {
            self.tested += 1;
            self.passed += u128::from(tests.passed);
            self.failed += u128::from(tests.failed);
            self.skipped += u128::from(tests.skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_follows_each_task_and_overflows_nothing() {
        let of = |attempt, passed| Effort { attempt, tests: Some(Tests { passed, ..Tests::default() }) };
        let mut all = Efforts::default();
        all.shift(Effort::default(), of(1, u64::MAX));
        all.shift(Effort::default(), of(2, 5));
        assert_eq!((all.attempts, all.tests().map(|tests| tests.passed)), (3, Some(u64::MAX)));
        all.shift(of(1, u64::MAX), Effort { attempt: 3, tests: None });
        assert_eq!((all.attempts, all.tests().map(|tests| tests.passed)), (5, Some(5)));
        let text = serde_json::to_string(&all).expect("numbers");
        assert_eq!(serde_json::from_str::<Efforts>(&text).expect("the same"), all);
        all.shift(of(2, 5), Effort::default());
        assert_eq!(all.tests(), None, "none of them has any");
    }
}
