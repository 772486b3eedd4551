//! The figures, as a table of `docs/performance.md`.

use std::fmt::Write;

use super::stream::CHECK_TIME;
use super::{MIXES, Mix, Policy, Size, Tally, measure};

/// A table for each mix.
pub fn report(size: Size) -> String {
    let Size { seeds, changes, slots, gap } = size;
    let when = match gap {
        0 => "all of which wait from the beginning".to_owned(),
        gap => format!("one every {:.2} check times", gap as f64 / CHECK_TIME as f64),
    };
    let mut text = format!("{seeds} seeds of {changes} changes, {when}; {slots} slots.\n");
    for mix in MIXES {
        let all = [Policy::Piton].into_iter().chain(Policy::PEERS).chain(Policy::ORACLES);
        let rows: Vec<(Policy, Tally)> = all.map(|policy| (policy, measure(policy, mix, size))).collect();
        let _ = write!(text, "\n{}:\n\n", title(mix));
        text += "| queue | landed per check time | P50 wait | P95 wait | longest wait | runs per landed | falsely ejected | red heads |\n";
        text += "|---|---|---|---|---|---|---|---|\n";
        rows.iter().for_each(|(policy, tally)| text += &row(*policy, tally));
    }
    text
}

fn title(Mix { bad, clashing, flaky }: Mix) -> String {
    let percent = |parts: u64| parts as f64 / 100.0;
    let [bad, clashing, flaky] = [bad, clashing, flaky].map(percent);
    format!("{bad} % of changes bad, {clashing} % of pairs clash, {flaky} % of runs flake")
}

fn row(policy: Policy, tally: &Tally) -> String {
    format!(
        "| {} | {:.2} | {:.1} | {:.1} | {:.1} | {:.2} | {:.2} % | {} |\n",
        policy.name(),
        tally.landed_per_check_time(),
        tally.wait(0.5),
        tally.wait(0.95),
        tally.longest as f64 / CHECK_TIME as f64,
        tally.runs_per_landed(),
        tally.false_percent(),
        tally.red_heads,
    )
}
