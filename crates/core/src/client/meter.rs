//! What a client has used, as its stream reports it: at the end, and while it works.

use std::collections::BTreeMap;

use super::estimate::Estimate;
use super::{Adapter, Happening, happenings};
use crate::run::{ByModel, Usage};
use crate::time::Timestamp;

/// Longer lines say nothing about usage: they hold files.
const LONGEST_LINE: usize = 256 * 1024;

/// Reads a stream piece by piece.
#[derive(Clone, Debug)]
pub struct Meter {
    adapter: Adapter,
    /// What the client sums up, and what single messages have reported since.
    told: Option<ByModel>,
    steps: BTreeMap<String, (String, Usage)>,
    /// What the client has not reported.
    pub(super) estimate: Estimate,
    /// The beginning of a line whose end has yet to come.
    open: Vec<u8>,
}

impl Meter {
    pub fn new(adapter: Adapter) -> Meter {
        Meter { adapter, told: None, steps: BTreeMap::new(), estimate: Estimate::default(), open: Vec::new() }
    }

    /// What came since the last time.
    pub fn read(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.open.len() <= LONGEST_LINE {
                self.open.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.open);
                self.read_line(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn read_line(&mut self, line: &str) {
        if line.len() > LONGEST_LINE {
            return self.estimate.skip(line.len());
        }
        for happening in happenings(self.adapter, line, Timestamp(0)).into_iter().flatten() {
            self.take(&happening, line.len());
        }
    }

    /// `size` is the length of the line that it was read from.
    pub(super) fn take(&mut self, happening: &Happening, size: usize) {
        self.estimate.take(self.adapter, happening, size);
        match happening {
            Happening::Usage { so_far: true, of } => {
                self.told = Some(of.clone());
                self.steps.clear();
            }
            Happening::Usage { so_far: false, of } => add(self.told.get_or_insert_default(), of),
            Happening::Step { of, model, usage } => {
                // A message arrives in parts, and each part reports the usage of the whole.
                self.steps.insert(of.clone(), (model.clone(), *usage));
            }
            _ => {}
        }
    }

    /// What the client has summed up, of the whole session; what came since; and what neither says.
    pub(super) fn into_sums(self) -> (Option<ByModel>, ByModel, ByModel) {
        let since = self.since();
        let unreported = self.estimate.cut_off().map(|usage| (self.estimate.model.clone(), usage));
        (self.told, since, unreported.into_iter().collect())
    }

    /// An estimate of what it has used so far without reporting it.
    pub fn unreported(&self) -> Option<Usage> {
        self.estimate.answered()
    }

    fn since(&self) -> ByModel {
        let mut sum = ByModel::new();
        for (model, usage) in self.steps.values() {
            add(&mut sum, &ByModel::from([(model.clone(), *usage)]));
        }
        sum
    }

    /// What this run of the client has used, where the session stood at `before` when it began.
    pub fn used(&self, before: &ByModel) -> Usage {
        let told = self.told.as_ref().map(|told| crate::run::usage_since(told, before)).unwrap_or_default();
        let parts = told.values().chain(self.steps.values().map(|(_, usage)| usage));
        parts.copied().fold(Usage::default(), Usage::plus)
    }
}

pub(super) fn add(sum: &mut ByModel, more: &ByModel) {
    for (model, usage) in more {
        let part = sum.entry(model.clone()).or_default();
        *part = part.plus(*usage);
    }
}
