//! What could be had by one who knows everything.

use super::stream::{CHECK_TIME, Change, Stream, Tree};
use super::world::Tally;

/// The changes that land if each that fits is taken in its turn.
fn good(stream: &Stream) -> Vec<Change> {
    let mut tree = Tree::new();
    for change in 0..stream.len() {
        if stream.fits(change, &tree) {
            tree.insert(change);
        }
    }
    tree.into_iter().collect()
}

/// It knows the verdicts, and still proves each good change once.
pub(super) fn one_by_one(stream: &Stream, slots: usize) -> Tally {
    let mut free = vec![0; slots];
    let mut tally = Tally { changes: stream.len() as u64, ..Tally::default() };
    let mut tree = Tree::new();
    for change in good(stream) {
        tree.insert(change);
        let slot = free.iter_mut().min().expect("there is a slot");
        let ends = stream.arrivals[change].max(*slot) + stream.run(&tree, 0).takes;
        *slot = ends;
        count(&mut tally, stream, change, ends);
        tally.runs += 1;
    }
    tally
}

/// It knows the verdicts, and proves all good changes that wait in one run.
pub(super) fn batch(stream: &Stream) -> Tally {
    let mut tally = Tally { changes: stream.len() as u64, ..Tally::default() };
    let (mut now, mut rest) = (0, good(stream));
    while let Some(&next) = rest.first() {
        now = stream.arrivals[next].max(now);
        let waits = rest.partition_point(|change| stream.arrivals[*change] <= now);
        now += CHECK_TIME;
        rest.drain(..waits).for_each(|change| count(&mut tally, stream, change, now));
        tally.runs += 1;
    }
    tally
}

fn count(tally: &mut Tally, stream: &Stream, change: Change, at: u64) {
    let wait = at - stream.arrivals[change];
    tally.landed += 1;
    tally.waits.push(wait);
    tally.longest = tally.longest.max(wait);
    tally.took = tally.took.max(at);
}
