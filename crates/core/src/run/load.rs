//! How much of the machine check runs use, and how many of them a proof has.

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
    /// How many checks of a proof could run at the same time, by the last proofs: in parts of [`CheckLoad::ONE`].
    #[serde(default)]
    lanes: u32,
}

impl CheckLoad {
    const ONE: u32 = 16;

    pub fn is_unknown(&self) -> bool {
        *self == CheckLoad::default()
    }

    pub(super) fn note(&mut self, runs: &[CheckRun], lanes: Option<u32>) {
        if let Some(lanes) = lanes {
            let before = if self.lanes == 0 { CheckLoad::ONE } else { self.lanes };
            self.lanes = before - before / 4 + lanes.min(64) * CheckLoad::ONE / 4;
        }
        for run in runs {
            let Some(cpu) = run.cpu.filter(|_| run.took >= SHORT) else { continue };
            let fade = |old: u64, new: Span| old - old / 8 + new.0;
            (self.cpu, self.took) = (fade(self.cpu, cpu), fade(self.took, run.took));
        }
    }

    /// How many proofs there are at once, of whose checks so many run at once.
    pub fn proofs(self, checks: u32) -> u32 {
        (checks * CheckLoad::ONE / self.lanes.max(CheckLoad::ONE)).max(1)
    }

    /// Whether the checks of a proof have run.
    pub fn is_seen(self) -> bool {
        self.lanes > 0
    }

    /// How many checks such a machine can run at once.
    pub fn checks(self, processors: u32) -> u32 {
        if self.took == 0 {
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
        (0..50).for_each(|_| load.note(&[CheckRun { took: Span::seconds(took), ..run.clone() }], None));
        load
    }

    #[test]
    fn the_window_is_what_fits_into_the_machine() {
        assert_eq!(CheckLoad::default().checks(8), 8, "until more is known");
        assert_eq!(seen(Some(60), 60).checks(8), 8);
        assert_eq!(seen(Some(240), 60).checks(8), 2);
        assert_eq!(seen(Some(900), 60).checks(8), 1);
        assert_eq!(seen(Some(0), 60).checks(8), 32, "it waits for something");
        assert_eq!(seen(Some(1), 0).checks(8), 8, "too short to tell");
        assert_eq!(seen(None, 60).checks(8), 8, "the machine does not tell");
    }

    #[test]
    fn the_fewer_proofs_the_more_checks_each_has() {
        let of = |lanes: u32| {
            let mut load = CheckLoad::default();
            (0..50).for_each(|_| load.note(&[], Some(lanes)));
            assert!(load.is_seen());
            load.proofs(8)
        };
        assert_eq!(CheckLoad::default().proofs(8), 8, "until more is known");
        assert!(!seen(Some(60), 60).is_seen());
        assert_eq!([1, 2, 3, 8, 60].map(of), [8, 4, 2, 1, 1]);
    }
}
