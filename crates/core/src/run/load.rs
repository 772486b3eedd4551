//! How much of the machine a check run uses.

use serde::{Deserialize, Serialize};

use super::note::CheckRun;
use crate::time::Span;

/// What takes less time tells little.
const SHORT: Span = Span::seconds(1);
/// So many proofs for each processor at most, however little they use.
const MOST_EACH: u32 = 4;

/// Processor time and time of the last check runs, in milliseconds. Each run counts a little less with every one after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckLoad {
    cpu: u64,
    took: u64,
}

impl CheckLoad {
    pub fn is_unknown(&self) -> bool {
        self.took == 0
    }

    pub(super) fn note(&mut self, runs: &[CheckRun]) {
        for run in runs {
            let Some(cpu) = run.cpu.filter(|_| run.took >= SHORT) else { continue };
            let fade = |old: u64, new: Span| old - old / 8 + new.0;
            (self.cpu, self.took) = (fade(self.cpu, cpu), fade(self.took, run.took));
        }
    }

    /// How many proofs such a machine can make at once, whose checks run one after the other.
    pub fn window(self, processors: u32) -> u32 {
        if self.is_unknown() {
            return processors.max(1);
        }
        let fit = u64::from(processors) * self.took / self.cpu.max(1);
        u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, processors.saturating_mul(MOST_EACH).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Digest;

    fn seen(cpu: Option<u64>, took: u64) -> CheckLoad {
        let run = CheckRun { cpu: cpu.map(Span::seconds), ..CheckRun::new(Digest::of(&1), String::new()) };
        let mut load = CheckLoad::default();
        (0..50).for_each(|_| load.note(&[CheckRun { took: Span::seconds(took), ..run.clone() }]));
        load
    }

    #[test]
    fn the_window_is_what_fits_into_the_machine() {
        assert_eq!(CheckLoad::default().window(8), 8, "until more is known");
        assert_eq!(seen(Some(60), 60).window(8), 8);
        assert_eq!(seen(Some(240), 60).window(8), 2);
        assert_eq!(seen(Some(900), 60).window(8), 1);
        assert_eq!(seen(Some(0), 60).window(8), 32, "it waits for something");
        assert_eq!(seen(Some(1), 0).window(8), 8, "too short to tell");
        assert_eq!(seen(None, 60).window(8), 8, "the machine does not tell");
    }
}
