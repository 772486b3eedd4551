//! Boxes are ticked where they stand: nothing else of a file changes, not its line ends, not its mark at the start.

use std::ops::Range;

use super::Mark;
use crate::order::Arrange;

/// The bytes of a file with other marks at these places of its text. `None` if the bytes are not this text, or if
/// places overlap.
pub fn tick(bytes: &[u8], text: &str, marks: &[(Range<usize>, Mark)]) -> Option<Vec<u8>> {
    let signs: Vec<_> = marks.iter().map(|(place, mark)| (place.clone(), mark.sign())).collect();
    replace(bytes, text, &signs)
}

/// The same with any texts.
pub fn replace<S: AsRef<str>>(bytes: &[u8], text: &str, texts: &[(Range<usize>, S)]) -> Option<Vec<u8>> {
    let mut texts: Vec<&(Range<usize>, S)> = texts.iter().collect();
    texts.arrange_by_key(|(place, _)| place.start);
    if texts.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
        return None;
    }
    let mut origins = Origins::new(bytes)?;
    let mut new = Vec::with_capacity(bytes.len() + texts.len());
    let mut written = 0;
    for (place, said) in texts {
        let inside = text.get(place.clone())?;
        let (start, end) = (origins.seek(place.start)?, origins.seek(place.end)?);
        // What was read is still there, byte for byte; broken bytes were read as something else.
        let broken = inside.contains(char::REPLACEMENT_CHARACTER);
        if bytes.get(start..end)? != inside.as_bytes() && !broken {
            return None;
        }
        new.extend_from_slice(&bytes[written..start]);
        new.extend_from_slice(said.as_ref().as_bytes());
        written = end;
    }
    new.extend_from_slice(&bytes[written..]);
    Some(new)
}

/// A walk through the bytes of a file in parallel with its decoded text, in which every line ends in `\n`, the byte
/// order mark is gone and what is not UTF-8 is `\u{fffd}`.
struct Origins<'b> {
    bytes: &'b [u8],
    chunks: std::str::Utf8Chunks<'b>,
    /// What is left of the current chunk, and the length of the broken bytes behind it.
    valid: &'b [u8],
    broken: usize,
    /// How far both have come.
    decoded: usize,
    origin: usize,
}

impl<'b> Origins<'b> {
    /// `None` for UTF-16, whose marks are not single bytes.
    fn new(bytes: &'b [u8]) -> Option<Origins<'b>> {
        if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return None;
        }
        let origin = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
        let chunks = bytes[origin..].utf8_chunks();
        Some(Origins { bytes, chunks, valid: &[], broken: 0, decoded: 0, origin })
    }

    /// Where the byte of the text stands in the file. Places have to come in order.
    fn seek(&mut self, decoded: usize) -> Option<usize> {
        while self.decoded < decoded {
            match self.valid {
                [b'\r', b'\n', ..] => self.step(2, 1),
                [_, ..] => self.step(1, 1),
                [] if self.broken > 0 => {
                    self.decoded += char::REPLACEMENT_CHARACTER.len_utf8();
                    self.origin += self.broken;
                    self.broken = 0;
                }
                [] => {
                    let chunk = self.chunks.next()?;
                    (self.valid, self.broken) = (chunk.valid().as_bytes(), chunk.invalid().len());
                }
            }
        }
        (self.decoded == decoded && self.origin <= self.bytes.len()).then_some(self.origin)
    }

    fn step(&mut self, bytes: usize, decoded: usize) {
        self.valid = &self.valid[bytes..];
        self.origin += bytes;
        self.decoded += decoded;
    }
}
