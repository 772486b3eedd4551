//! What a run has come to, in numbers.

use serde::Serialize;

use crate::run::{Proof, Status, Task};

/// How the tasks of a run have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    pub landed: u32,
    /// Completed without a landing: their checks passed, or somebody reported it.
    pub completed_otherwise: u32,
    /// The plan's own files called them done before the run began, and nothing has proven it.
    pub claimed: u32,
    /// Completed, and took more than one attempt.
    pub retried: u32,
    pub given_up: u32,
    pub blocked: u32,
    /// By a person.
    pub skipped: u32,
    /// All others.
    pub open: u32,
}

impl Results {
    pub fn new<'t>(tasks: impl IntoIterator<Item = &'t Task>) -> Results {
        let mut results = Results::default();
        for task in tasks.into_iter().filter(|task| !task.removed) {
            let number = match task.status() {
                Status::Completed if task.is_claimed() => &mut results.claimed,
                Status::Completed => {
                    results.retried += u32::from(task.attempt > 1);
                    match task.proof {
                        Some(Proof::Landed { .. }) => &mut results.landed,
                        _ => &mut results.completed_otherwise,
                    }
                }
                Status::Abandoned | Status::PassedOver => &mut results.given_up,
                Status::Blocked => &mut results.blocked,
                Status::Skipped => &mut results.skipped,
                _ => &mut results.open,
            };
            *number += 1;
        }
        results
    }

    /// `5 landed (2 after a retry), 1 abandoned`
    pub fn words(&self) -> String {
        let retried = match self.retried {
            0 => String::new(),
            retried => format!(" ({retried} after a retry)"),
        };
        let done = match (self.landed, self.completed_otherwise) {
            (landed, 0) => format!("{landed} landed{retried}"),
            (0, others) => format!("{others} completed{retried}"),
            (landed, others) => format!("{landed} landed and {others} completed without a landing{retried}"),
        };
        let done = if self.landed + self.completed_otherwise == 0 && self.claimed > 0 {
            String::new()
        } else {
            done
        };
        let rest = [
            (self.claimed, "claimed done before"),
            (self.given_up, "abandoned"),
            (self.blocked, "blocked"),
            (self.skipped, "skipped"),
            (self.open, "not done"),
        ];
        let rest = rest.iter().filter(|(number, _)| *number > 0);
        let parts = (!done.is_empty()).then_some(done).into_iter();
        parts.chain(rest.map(|(number, what)| format!("{number} {what}"))).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is_is_said() {
        let results = |landed, completed_otherwise, retried, given_up| Results {
            landed,
            completed_otherwise,
            retried,
            given_up,
            ..Results::default()
        };
        for (results, words) in [
            (results(0, 0, 0, 0), "0 landed"),
            (results(5, 0, 2, 1), "5 landed (2 after a retry), 1 abandoned"),
            (results(0, 3, 0, 0), "3 completed"),
            (results(1, 3, 1, 0), "1 landed and 3 completed without a landing (1 after a retry)"),
        ] {
            assert_eq!(results.words(), words);
        }
        let claimed = |landed, claimed| Results { claimed, ..results(landed, 0, 0, 0) }.words();
        assert_eq!(claimed(2, 1), "2 landed, 1 claimed done before");
        assert_eq!(claimed(0, 6), "6 claimed done before");
    }
}
