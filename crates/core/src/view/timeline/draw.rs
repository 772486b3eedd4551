//! A timeline in cells, for faces that draw with characters.

use super::{Bar, Phase};
use crate::time::Timestamp;

/// What the bars of one task are in each of so many cells from one moment to another: what takes most of the cell.
pub fn cells<'b>(
    bars: impl IntoIterator<Item = &'b Bar>,
    (from, to): (Timestamp, Timestamp),
    width: usize,
) -> Vec<Option<Phase>> {
    let mut shares = vec![[0_u64; Phase::ALL.len()]; width];
    let mut last = None;
    for bar in bars {
        let (begin, end) = (bar.from.since(from).0, bar.to.unwrap_or(to).since(from).0);
        let nth = Phase::ALL.iter().position(|&phase| phase == bar.phase).unwrap_or(0);
        for (cell, time) in overlaps((begin, end), to.since(from).0, width) {
            shares[cell][nth] += time;
        }
        last = Some((begin, bar.phase));
    }
    let longest = |shares: &[u64; Phase::ALL.len()]| {
        let most = shares.iter().copied().max().filter(|&most| most > 0)?;
        Phase::ALL.into_iter().zip(shares).find(|&(_, &share)| share == most).map(|(phase, _)| phase)
    };
    let mut cells: Vec<Option<Phase>> = shares.iter().map(longest).collect();
    // What took no time is there, too.
    if let (Some((at, phase)), true) = (last, cells.iter().all(Option::is_none) && width > 0) {
        cells[cell_of(at, to.since(from).0, width)] = Some(phase);
    }
    cells
}

/// The most that was counted in each of so many cells from one moment to another.
pub fn strip(counts: &[(Timestamp, u32)], (from, to): (Timestamp, Timestamp), width: usize) -> Vec<u32> {
    let mut most = vec![0; width];
    for (nth, &(at, count)) in counts.iter().enumerate() {
        let end = counts.get(nth + 1).map_or(to, |&(next, _)| next);
        for (cell, _) in overlaps((at.since(from).0, end.since(from).0), to.since(from).0, width) {
            most[cell] = most[cell].max(count);
        }
    }
    most
}

fn cell_of(at: u64, whole: u64, width: usize) -> usize {
    let cell = u128::from(at) * width as u128 / u128::from(whole.max(1));
    usize::try_from(cell).unwrap_or(usize::MAX).min(width.saturating_sub(1))
}

/// The cells that a span lies in, each with how much of it.
fn overlaps((begin, end): (u64, u64), whole: u64, width: usize) -> impl Iterator<Item = (usize, u64)> {
    let edge = move |cell: usize| {
        let edge = u128::from(whole) * cell as u128 / width.max(1) as u128;
        u64::try_from(edge).unwrap_or(u64::MAX)
    };
    let cells = if begin < end && width > 0 {
        cell_of(begin, whole, width)..cell_of(end - 1, whole, width) + 1
    } else {
        0..0
    };
    cells.map(move |cell| {
        let (left, right) = (edge(cell).max(begin), edge(cell + 1).min(end));
        // A cell of a very short run may be shorter than a millisecond: it has its share then, too.
        (cell, right.saturating_sub(left).max(1))
    })
}
