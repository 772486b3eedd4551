//! Variations of known inputs: from one seed the same ones on every machine, so that a failing test fails again.

use crate::Target;

/// Inputs larger than this are cut: what matters is small, and the tests should be quick.
const LARGEST: usize = 16 * 1024;

/// An endless row of inputs, each made of one or two of the corpus by a few small changes.
#[derive(Debug)]
pub struct Variations {
    corpus: Vec<Vec<u8>>,
    words: &'static [&'static str],
    dice: u64,
}

impl Variations {
    pub fn of(target: &Target, seed: u64) -> Variations {
        Variations { corpus: target.corpus(), words: target.words, dice: seed }
    }

    /// SplitMix64.
    fn roll(&mut self, sides: usize) -> usize {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides.max(1) as u64).unwrap_or(0)
    }

    fn pick(&mut self) -> Vec<u8> {
        let at = self.roll(self.corpus.len());
        self.corpus.get(at).cloned().unwrap_or_default()
    }

    fn range(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let (a, b) = (self.roll(input.len() + 1), self.roll(input.len() + 1));
        // Mostly short.
        let end = if self.roll(4) > 0 { (a + self.roll(16)).min(input.len()) } else { a.max(b) };
        a.min(b).min(end)..end
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.roll(input.len() + 1);
        match self.roll(8) {
            0 if !input.is_empty() => {
                let at = at.min(input.len() - 1);
                input[at] ^= 1 << self.roll(8);
            }
            1 | 2 => {
                let word = self.words[self.roll(self.words.len())];
                drop(input.splice(at..at, word.bytes()));
            }
            3 => {
                let word = self.words[self.roll(self.words.len())];
                let range = self.range(input);
                drop(input.splice(range, word.bytes()));
            }
            4 => {
                let range = self.range(input);
                input.drain(range);
            }
            5 => {
                let range = self.range(input);
                let part = input[range].to_vec();
                drop(input.splice(at..at, part));
            }
            6 => self.change_lines(input),
            _ => {
                let other = self.pick();
                let range = self.range(&other);
                drop(input.splice(at..at, other[range].to_vec()));
            }
        }
    }

    /// Most inputs are lines: one goes, comes twice, or stands elsewhere.
    fn change_lines(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
        let (from, to) = (self.roll(lines.len()), self.roll(lines.len()));
        let line = lines[from];
        match self.roll(3) {
            0 => drop(lines.remove(from)),
            1 => lines.insert(to, line),
            _ => lines.swap(from, to),
        }
        *input = lines.join(&b'\n');
    }
}

impl Iterator for Variations {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut input = self.pick();
        for _ in 0..=self.roll(4) {
            self.change(&mut input);
        }
        input.truncate(LARGEST);
        Some(input)
    }
}
