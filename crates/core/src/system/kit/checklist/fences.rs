//! Which fences of code are closed, and where.

use std::ops::Range;

/// A line that opens or closes code.
#[derive(Clone, Copy, Debug)]
struct Fence {
    line: usize,
    sign: u8,
    length: usize,
    /// Nothing follows it, so it can close.
    bare: bool,
}

/// For each line that opens code: the line that closes it, or `None`. Each line is looked at once, whatever the text.
///
/// A fence that names its language cannot close one; where it comes before the end of another, that other was never
/// closed.
pub(super) fn pairs(text: &str, lines: &[Range<usize>]) -> Vec<Option<Option<usize>>> {
    let fences: Vec<Fence> =
        lines.iter().enumerate().filter_map(|(nth, line)| fence(nth, &text[line.clone()])).collect();
    let mut ends = vec![None; lines.len()];
    // By sign: fences that wait for the next one that is at least as long.
    let mut waiting: [Vec<Fence>; 2] = [Vec::new(), Vec::new()];
    for next in &fences {
        let waiting = &mut waiting[usize::from(next.sign == b'~')];
        while let Some(open) = waiting.pop_if(|open| open.length <= next.length) {
            ends[open.line] = Some(next.bare.then_some(next.line));
        }
        waiting.push(*next);
    }
    for open in waiting.into_iter().flatten() {
        ends[open.line] = Some(None);
    }
    ends
}

fn fence(nth: usize, line: &str) -> Option<Fence> {
    let line = line.trim();
    let sign = *line.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == sign).count();
    let rest = &line[length..];
    // ```` ``` ```` in a sentence is not a fence, nor is text that is crossed out.
    let info = !rest.contains(char::from(sign)) && !rest.contains("[ ]") && !rest.contains("[x]");
    (length >= 3 && info).then_some(Fence { line: nth, sign, length, bare: rest.is_empty() })
}
