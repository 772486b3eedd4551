//! The pictures of the documentation: a run that looks like real work, and the page of it.
//!
//! ```sh
//! PITON_TEST_PICTURES=docs/images cargo test -p piton --test browser pictures
//! ```

use piton_testkit::sandbox::{Running, Sandbox, until};
use serde_json::Value;

use crate::{Window, sandbox};

const PLAN: &str = include_str!("showcase/plan.toml");
const PROGRAMS: [(&str, &str); 3] = [
    ("agent", include_str!("showcase/agent")),
    ("cargo", include_str!("showcase/cargo")),
    ("pass", include_str!("showcase/pass")),
];
/// By how much the clock of the run is behind at its start, so that it ends about now.
const BEHIND_MS: i64 = -3_000_000;

/// A run in the middle: some tasks have landed, one asks, one is given up, and agents are at work.
fn showcase() -> (Sandbox, Running) {
    let sandbox = sandbox();
    let bin = PROGRAMS.map(|(name, text)| sandbox.program(name, text)).into_iter().next().expect("a folder");
    sandbox.fifo("held");
    let clock = sandbox.root().join("clock");
    sandbox.write(&clock, &BEHIND_MS.to_string());
    sandbox.write("src/money.rs", include_str!("showcase/money.rs"));
    sandbox.write("plan.toml", &PLAN.replace("SIDE", sandbox.root().as_str()));
    sandbox.commit("Plan");
    let run = sandbox.piton(["run", "plan.toml"]).with_path(&bin).env("PITON_CLOCK", &clock).spawn();
    until("a run in the middle", || {
        let status: Value = serde_json::from_str(&sandbox.run("status --json").stdout).ok()?;
        let counts = &status["counts"];
        (counts["abandoned"] == 1 && counts["blocked"] == 1 && counts["in_progress"] == 3).then_some(())
    });
    (sandbox, run)
}

#[test]
fn pictures_of_a_run() {
    let (sandbox, run) = showcase();
    let Some(window) = Window::open(sandbox, "--allow-control") else { return };
    let browser = &window.browser;
    browser.resize(1200, 820);
    browser.until_shows("Waiting for you (2)");
    browser.until_shows("5 of 12");
    browser.until_shows("live");
    window.picture("page-overview");
    window.show("timeline");
    browser.until_is("document.querySelector('.canvas canvas')?.width");
    window.picture("page-timeline");
    window.show("graph");
    browser.until_is("document.querySelector('.canvas canvas')?.width");
    window.picture("page-graph");
    window.show("task/R2");
    browser.until_shows("Go to the failing line");
    window.picture("page-task");
    browser.click_text("Go to the failing line");
    browser.until_is(
        "document.querySelector('.log .here')?.textContent.includes('panicked at src/money.rs:41')",
    );
    window.show("task/U3/output");
    browser.until_shows("months below each other");
    window.show("task/R2/diff");
    browser.until_shows("sums are exact");
    browser.click("[data-key='new 13'] .say");
    browser.types("#comment", "What if the bank writes one digit, as in 0,5?");
    browser.click_text("Add comment");
    browser.click("[data-key='new 4'] .say");
    browser.types("#comment", "Say here that it is never negative zero.");
    window.picture("page-review");
    browser.resize(380, 800);
    window.show("overview");
    browser.until_shows("Waiting for you (2)");
    browser.click_text("Answer");
    browser.types("textarea", "Row by row. Name the file and the row if one cannot be read.");
    window.picture("page-phone");
    let _ = window.sandbox.run("stop --now");
    let _ = run.wait();
}
