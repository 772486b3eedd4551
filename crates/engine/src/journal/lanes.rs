//! Lanes: an index that finds tasks by their status without reading the others, in the order of their turn.

use std::collections::BTreeMap;

use piton_core::plan::TaskId;
use piton_core::run::{Proof, Status, Task};

use super::Cell;

/// The lanes, for queries that find tasks without scanning. A pending task that waits for others is on none.
pub(super) mod lane {
    pub(crate) const READY: i64 = 1;
    /// Ready, but not before a certain time.
    pub(crate) const PAUSED: i64 = 2;
    pub(crate) const UNDER_WAY: i64 = 3;
    /// Abandoned or blocked.
    pub(crate) const NEEDS_A_PERSON: i64 = 4;
    /// Failed, and ready to be tried again.
    pub(crate) const AGAIN: i64 = 5;
    /// Failed, and waits for others.
    pub(crate) const FAILED_WAITS: i64 = 6;
    pub(crate) const SKIPPED: i64 = 7;
    pub(crate) const PASSED_OVER: i64 = 8;
    pub(crate) const UNREACHABLE: i64 = 9;
    /// Waits for another list.
    pub(crate) const WAITING: i64 = 10;
    /// Completed, by the kind of proof.
    pub(crate) const LANDED: i64 = 11;
    pub(crate) const REPORTED: i64 = 12;
    pub(crate) const COMPLETED: i64 = 13;
}

pub(super) fn lane_of(task: &Task) -> Option<i64> {
    let is_ready = task.waiting == 0;
    let lane = match usual_lane(task.status()) {
        _ if task.removed => return None,
        lane::READY | lane::AGAIN if is_ready && task.not_before.is_some() => lane::PAUSED,
        lane::READY if !is_ready => return None,
        lane::AGAIN if !is_ready => lane::FAILED_WAITS,
        lane::COMPLETED => match task.proof {
            Some(Proof::Landed { .. }) => lane::LANDED,
            Some(Proof::Reported) => lane::REPORTED,
            _ => lane::COMPLETED,
        },
        lane => lane,
    };
    Some(lane)
}

fn usual_lane(status: Status) -> i64 {
    use Status::*;
    match status {
        Pending => lane::READY,
        Failed => lane::AGAIN,
        InProgress | Confirming | Verifying | Verified | Merging => lane::UNDER_WAY,
        Abandoned | Blocked => lane::NEEDS_A_PERSON,
        Completed => lane::COMPLETED,
        Skipped => lane::SKIPPED,
        PassedOver => lane::PASSED_OVER,
        Unreachable => lane::UNREACHABLE,
        Waiting => lane::WAITING,
    }
}

/// Whether the tasks of a lane wait for their turn, or had it. Others are listed in the order of their names.
pub(super) fn has_turn(lane: i64) -> bool {
    lane <= lane::AGAIN
}

/// The lanes that have every task of a status; `None` if all tasks have to be searched.
pub(super) fn lanes_of(status: Status) -> Option<&'static [i64]> {
    use Status::*;
    Some(match status {
        Pending => return None,
        Failed => &[lane::AGAIN, lane::PAUSED, lane::FAILED_WAITS],
        InProgress | Confirming | Verifying | Verified | Merging => &[lane::UNDER_WAY],
        Abandoned | Blocked => &[lane::NEEDS_A_PERSON],
        Completed => &[lane::LANDED, lane::REPORTED, lane::COMPLETED],
        Skipped => &[lane::SKIPPED],
        PassedOver => &[lane::PASSED_OVER],
        Unreachable => &[lane::UNREACHABLE],
        Waiting => &[lane::WAITING],
    })
}

/// Whether tasks that moved between these statuses may all have stayed in their lanes: only then it is worth a try to
/// leave the index alone.
pub(super) fn may_keep_lanes(moved: &BTreeMap<(Cell, Status), i64>) -> bool {
    let mut lanes = moved.iter().filter(|(_, n)| **n != 0).map(|((_, status), _)| usual_lane(*status));
    let first = lanes.next();
    lanes.all(|lane| Some(lane) == first)
}

/// A key whose bytes are ordered as tasks of one priority are: the longest chain behind a task first, then ids
/// as people count them: a number becomes its length and its digits, and what
/// differs only in leading zeros is told apart by the id itself.
pub(super) fn turn(tail: u32, id: &TaskId) -> Vec<u8> {
    let text = id.as_str().as_bytes();
    let mut key = Vec::with_capacity(2 * text.len() + 8);
    key.extend((u32::MAX - tail).to_be_bytes());
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if !first.is_ascii_digit() {
            key.push(first);
            rest = &rest[1..];
            continue;
        }
        let end = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let zeros = digits.iter().position(|&b| b != b'0').unwrap_or(digits.len());
        // Against anything but a digit every digit compares alike, so one stands for all.
        key.extend([b'0', u8::try_from(digits.len() - zeros).unwrap_or(u8::MAX)]);
        key.extend_from_slice(&digits[zeros..]);
        rest = after;
    }
    key.push(0);
    key.extend_from_slice(text);
    key
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn turns_are_ordered_as_ids_are() {
        let ids: Vec<TaskId> =
            "0 00 1 01 T T1 T01 T001 T9 T10 T010 T1a T1-2 T1-10 T1.5 T1@x T1_x T-1 t1 a-b a#b a b 10x \
             9x 9 90 099 Ta T1T2 T1T02 T1T10 T01T2 zz z0 z Z x1y x01z x1"
                .split_whitespace()
                .map(|id| TaskId::new(id).unwrap())
                .collect();
        for a in &ids {
            for b in &ids {
                assert_eq!(turn(1, a).cmp(&turn(1, b)), a.cmp(b), "{a} and {b}");
                assert!(turn(3, a) < turn(2, b), "the longer chain first");
            }
        }
    }
}
