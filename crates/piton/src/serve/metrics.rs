//! `/metrics`: where the runs stand, in the text format of Prometheus.

use std::fmt::Write;

use piton_core::run::Status;
use piton_engine::journal::Journal;

use crate::failure::Outcome;
use crate::runs::{inbox, listing, standing};
use crate::serve::app::App;

/// Newest first: a project has few runs that are not over.
const RUNS: usize = 50;

pub(super) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn text(app: &App) -> Outcome<String> {
    let mut page = Page::default();
    let rows: Vec<listing::Row> =
        listing::rows(&app.project)?.into_iter().filter(|row| !row.replaced).take(RUNS).collect();
    page.family("piton_tasks", "gauge", "Tasks of a run by their status");
    for row in &rows {
        for status in Status::ALL {
            let count = row.run.counts.of(status);
            page.sample("piton_tasks", &[("run", row.run.id.as_str()), ("status", status.name())], count);
        }
    }
    page.family("piton_engine_alive", "gauge", "Whether an engine works on the run");
    for row in &rows {
        page.sample("piton_engine_alive", &[("run", row.run.id.as_str())], u8::from(row.alive));
    }
    page.family(
        "piton_last_event_timestamp_seconds",
        "gauge",
        "When the journal of the run was written last",
    );
    for row in &rows {
        let labels = [("run", row.run.id.as_str())];
        page.sample("piton_last_event_timestamp_seconds", &labels, row.touched.0 / 1000);
    }
    if let Some(journal) = app.project.existing_journal()? {
        used(&mut page, &journal, &rows)?;
    }
    page.family("piton_inbox_items", "gauge", "Things that wait for a person");
    let items = inbox::of_project(&app.project)?;
    page.sample("piton_inbox_items", &[], items.len());
    page.family("piton_serve_connections", "gauge", "Connections to this server");
    page.sample("piton_serve_connections", &[], app.open_connections());
    page.family("piton_serve_streams", "gauge", "Open streams of events");
    page.sample("piton_serve_streams", &[], app.open_streams());
    Ok(page.text)
}

/// What was not reported is not there: it is unknown, and not zero.
fn used(page: &mut Page, journal: &Journal, rows: &[listing::Row]) -> Outcome {
    let mut bills = Vec::new();
    for row in rows {
        for (agent, models) in standing::facts(journal, &row.run.id)?.used {
            bills.extend(
                models.into_iter().map(|(model, bill)| (row.run.id.to_string(), agent.clone(), model, bill)),
            );
        }
    }
    page.family("piton_agent_tries_total", "counter", "Runs of agents that have ended");
    for (run, agent, model, bill) in &bills {
        let labels = [("run", run.as_str()), ("agent", agent.as_str()), ("model", model.as_str())];
        page.sample("piton_agent_tries_total", &labels, bill.tries);
    }
    page.family("piton_tokens_total", "counter", "Tokens that clients reported");
    for (run, agent, model, bill) in &bills {
        for (direction, count) in [("input", bill.usage.input), ("output", bill.usage.output)] {
            let labels = [
                ("run", run.as_str()),
                ("agent", agent.as_str()),
                ("model", model.as_str()),
                ("direction", direction),
            ];
            if let Some(count) = count {
                page.sample("piton_tokens_total", &labels, count);
            }
        }
    }
    page.family("piton_cost_usd_total", "counter", "Dollars that clients reported");
    for (run, agent, model, bill) in &bills {
        let labels = [("run", run.as_str()), ("agent", agent.as_str()), ("model", model.as_str())];
        if let Some(cost) = bill.usage.cost {
            page.sample("piton_cost_usd_total", &labels, piton_core::view::dollars(cost));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_line() {
        let mut page = Page::default();
        page.sample("x", &[("agent", "a\"} 1\nx{b=\"c\\")], 2);
        assert_eq!(page.text, "x{agent=\"a\\\"} 1\\nx{b=\\\"c\\\\\"} 2\n");
    }
}
