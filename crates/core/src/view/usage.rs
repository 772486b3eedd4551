//! Tokens and money as people read them.

use serde::Serialize;

use crate::run::{Bill, Bills, ByModel, Usage};

/// What was used, in units that need no explanation; `null` is unknown. What is estimated comes on top of what is reported.
#[derive(Debug, Serialize)]
pub struct Used {
    tries: u32,
    unmeasured_tries: u32,
    estimated_tries: u32,
    input_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
    estimated_input_tokens: Option<u64>,
    estimated_output_tokens: Option<u64>,
    estimated_cost_usd: Option<f64>,
}

impl Used {
    pub fn new(bill: &Bill) -> Used {
        Used {
            tries: bill.tries,
            unmeasured_tries: bill.unmeasured,
            estimated_tries: bill.estimated,
            input_tokens: bill.usage.input,
            cached_tokens: bill.usage.cached,
            output_tokens: bill.usage.output,
            cost_usd: bill.usage.cost.map(dollars),
            estimated_input_tokens: bill.estimate.input,
            estimated_output_tokens: bill.estimate.output,
            estimated_cost_usd: bill.estimate.cost.map(dollars),
        }
    }
}

/// `12.3k tokens in (9k cached), 450 out, $0.42`; what is not known is left out, and said if nothing is.
fn usage(used: &Usage) -> String {
    let cached =
        used.cached.filter(|&n| n > 0).map(|n| format!(" ({} cached)", short(n))).unwrap_or_default();
    let parts = [
        used.input.map(|n| format!("{} tokens in{cached}", short(n))),
        used.output.map(|n| format!("{} out", short(n))),
        used.cost.map(|micros| format!("${:.2}", dollars(micros))),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() { "an unknown amount".to_owned() } else { known.join(", ") }
}

/// What a client reported about one try.
pub fn used(told: Option<&ByModel>) -> String {
    match told {
        None => "an unknown amount".to_owned(),
        Some(models) if models.is_empty() => "nothing".to_owned(),
        Some(models) => {
            let named = |(model, used): (&String, &Usage)| match model.as_str() {
                "" => usage(used),
                model => format!("{} of {model}", usage(used)),
            };
            models.iter().map(named).collect::<Vec<_>>().join("; ")
        }
    }
}

/// The same, with what is estimated because it was cut off before it could report it.
pub fn used_in_all(told: Option<&ByModel>, estimate: &ByModel) -> String {
    if estimate.is_empty() {
        return used(told);
    }
    let mut all = told.cloned().unwrap_or_default();
    for (model, usage) in estimate {
        let sum = all.entry(model.clone()).or_default();
        *sum = sum.plus(*usage);
    }
    format!("≥ {} (estimated)", used(Some(&all)))
}

/// A bill in one line.
pub fn of_bill(bill: &Bill) -> String {
    let counted = |n: u32| if n == 1 { "1 try".to_owned() } else { format!("{n} tries") };
    let parts = [(bill.estimated, "estimated"), (bill.unmeasured, "not measured")];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", counted(*n))).collect();
    let least = if bill.estimated > 0 { "≥ " } else { "" };
    let known = usage(&bill.all());
    if parts.is_empty() { known } else { format!("{least}{known} ({})", parts.join(", ")) }
}

/// The usage of a whole run in one line; `None` if none of its clients reports any.
pub fn bill(bills: &Bills) -> Option<String> {
    let mut sum = Bill::default();
    bills.values().flat_map(|models| models.values()).for_each(|bill| sum.merge(bill));
    (!sum.is_empty()).then(|| of_bill(&sum))
}

/// The same in one word: `$0.42`, or `12.3k tokens`. `None` if nothing is known.
pub fn spent(used: &Usage) -> Option<String> {
    let tokens = Some(used.tokens()).filter(|tokens| *tokens > 0);
    let money = used.cost.map(|micros| format!("${:.2}", dollars(micros)));
    money.or_else(|| tokens.map(|tokens| format!("{} tokens", short(tokens))))
}

/// A bill in one word: `$0.42`, or `≥ $0.42` if more was used than is known. `None` if nothing is known.
pub fn spent_at_least(bill: &Bill) -> Option<String> {
    let is_unpriced = bill.usage.cost.is_some() && bill.usage.tokens() > bill.priced;
    let least = if bill.estimated + bill.unmeasured > 0 || is_unpriced { "≥ " } else { "" };
    spent(&bill.all()).map(|known| format!("{least}{known}"))
}

/// Millionths as dollars.
pub fn dollars(micros: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "nobody pays so much that a cent is lost")]
    let dollars = micros as f64 / 1e6;
    dollars
}

/// `950`, `12.3k`, `4.5M`.
pub(super) fn short(n: u64) -> String {
    let tenths = |unit: u64, sign: &str| match (n / unit, n % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{sign}"),
        (whole, tenth) => format!("{whole}.{tenth}{sign}"),
    };
    match n {
        0..1000 => n.to_string(),
        1000..1_000_000 => tenths(1000, "k"),
        _ => tenths(1_000_000, "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_said_so() {
        let told = Usage { input: Some(12_345), cached: Some(9000), output: Some(450), cost: Some(421_000) };
        assert_eq!(usage(&told), "12.3k tokens in (9k cached), 450 out, $0.42");
        let tokens = Usage { input: Some(2_000_000), output: Some(0), ..Usage::default() };
        assert_eq!(usage(&tokens), "2M tokens in, 0 out");
        assert_eq!(used(None), "an unknown amount");
        assert_eq!(used(Some(&ByModel::new())), "nothing");
        assert_eq!(used(Some(&ByModel::from([("m".into(), tokens)]))), "2M tokens in, 0 out of m");
        let mut bills = Bills::new();
        assert_eq!(bill(&bills), None);
        bills.entry("a".into()).or_default().entry("m".into()).or_default().add(Some(told), None);
        bills.entry("b".into()).or_default().entry(String::new()).or_default().add(None, None);
        let said = "12.3k tokens in (9k cached), 450 out, $0.42 (1 try not measured)";
        assert_eq!(bill(&bills).as_deref(), Some(said));
        let killed = Usage { input: Some(1000), cost: Some(79_000), ..Usage::default() };
        bills.entry("a".into()).or_default().entry("m".into()).or_default().add(None, Some(killed));
        let said = "≥ 13.3k tokens in (9k cached), 450 out, $0.50 (1 try estimated, 1 try not measured)";
        assert_eq!(bill(&bills).as_deref(), Some(said));
        let by = |usage| ByModel::from([("m".to_owned(), usage)]);
        assert_eq!(used_in_all(Some(&by(told)), &ByModel::new()), used(Some(&by(told))));
        let said = "≥ 13.3k tokens in (9k cached), 450 out, $0.50 of m (estimated)";
        assert_eq!(used_in_all(Some(&by(told)), &by(killed)), said);
        bills.remove("a");
        assert_eq!(bill(&bills).as_deref(), Some("an unknown amount (1 try not measured)"));
    }
}
