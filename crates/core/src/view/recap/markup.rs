//! Words that both writers use.

use crate::time::Timestamp;
use crate::view::usage::short;
use crate::view::{Cost, spent_at_least};

/// `2026-11-18 20:10 UTC`
pub(super) fn utc(time: Timestamp) -> String {
    let text = time.to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) if text.ends_with('Z') => format!("{day} {minute} UTC"),
        _ => text,
    }
}

/// The columns of a cost: tries, tokens in, of these cached, tokens out, cost, time. What was not measured is unknown.
pub(super) const COST_COLUMNS: [&str; 6] = ["tries", "tokens in", "cached", "tokens out", "cost", "worked"];

pub(super) fn cost_cells(cost: &Cost) -> [String; 6] {
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "unknown".to_owned(), short);
    let bill = &cost.bill;
    let all = bill.all();
    let money = all.cost.and_then(|_| spent_at_least(bill)).unwrap_or_else(|| "unknown".to_owned());
    let unmeasured = match bill.unmeasured {
        0 => String::new(),
        n => format!(", {n} not measured"),
    };
    [
        format!("{}{unmeasured}", bill.tries),
        known(all.input),
        known(all.cached),
        known(all.output),
        money,
        cost.worked.to_string(),
    ]
}
