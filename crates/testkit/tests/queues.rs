//! The landing line against other queues, a sample: `cargo xtask queues` measures all of it. No clock is read, so the figures
//! are the same everywhere.

use piton_testkit::queues::{MIXES, Policy, Size, Tally, measure};

const SAMPLE: Size = Size { seeds: 4, changes: 200, slots: 4, gap: 0 };

fn laws(policy: Policy, tally: &Tally) {
    let name = policy.name();
    assert_eq!(tally.red_heads, 0, "{name}: the head was red");
    assert_eq!(tally.unproven_heads, 0, "{name}: the head moved to what no run has passed on");
    assert_eq!(tally.left, 0, "{name}: changes wait for ever");
}

#[test]
fn no_queue_makes_the_head_red_or_forgets_a_change() {
    for mix in MIXES {
        for policy in [Policy::Piton].into_iter().chain(Policy::PEERS) {
            let tally = measure(policy, mix, SAMPLE);
            laws(policy, &tally);
            assert!(
                tally.set_aside <= 2,
                "{}: a change was set aside {} times",
                policy.name(),
                tally.set_aside
            );
        }
    }
}

#[test]
fn changes_that_come_one_by_one_land_as_well() {
    let size = Size { seeds: 2, changes: 60, gap: 300_000, ..SAMPLE };
    for mix in MIXES {
        laws(Policy::Piton, &measure(Policy::Piton, mix, size));
    }
}

#[test]
fn nobody_is_faster_than_one_who_knows() {
    for mix in MIXES {
        let [each, batch] = Policy::ORACLES.map(|policy| measure(policy, mix, SAMPLE));
        assert!(batch.runs_per_landed() < each.runs_per_landed());
        assert!(batch.landed_per_check_time() > measure(Policy::Piton, mix, SAMPLE).landed_per_check_time());
    }
}
