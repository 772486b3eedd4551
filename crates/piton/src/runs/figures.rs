//! What a run's checks and agents have taken: `piton checks` and `piton cost`, for programs.

use piton_core::plan::RunId;
use piton_core::time::Span;
use piton_core::view::{By, Cost, Costs};
use piton_engine::journal::{CheckCount, Journal};
use serde_json::{Value, json};

use crate::failure::Outcome;
use crate::runs::standing;

pub(crate) fn checks(counts: &[CheckCount]) -> Value {
    let documents = counts.iter().map(|count| {
        json!({
            "name": count.name, "runs": count.runs, "passes": count.passes, "flakes": count.flakes,
            "total_ms": count.took.0, "mean_ms": mean(count).0,
        })
    });
    Value::Array(documents.collect())
}

pub(crate) fn mean(count: &CheckCount) -> Span {
    Span(count.took.0 / u64::from(count.runs.max(1)))
}

/// What these runs have cost, by this.
pub(crate) fn costs(journal: &Journal, runs: &[RunId], by: By) -> Outcome<Costs> {
    let mut costs = Costs::default();
    for run in runs {
        let of_run = journal.costs(run, by)?;
        of_run.rows().for_each(|(row, cost)| costs.add((row.clone(), cost.clone())));
    }
    Ok(costs)
}

pub(crate) fn cost(costs: &Costs, by: By) -> Value {
    let rows = costs.by(by);
    let documents = rows.iter().map(|(name, row)| {
        let mut document = cost_document(row);
        document["name"] = if name.is_empty() { Value::Null } else { json!(name) };
        document
    });
    let rows: Vec<Value> = documents.collect();
    json!({ "by": by.name(), "rows": rows, "total": cost_document(&costs.total()) })
}

/// `null` is unknown. What is estimated comes on top of what is reported.
fn cost_document(cost: &Cost) -> Value {
    let mut document = standing::used_document(&cost.bill);
    document["unpriced_tokens"] = json!(cost.unpriced);
    document["worked_ms"] = json!(cost.worked.0);
    document
}
