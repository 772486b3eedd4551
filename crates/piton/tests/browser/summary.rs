//! The file that `piton summary --html` writes, in a real browser.

use piton_testkit::browser::Browser;
use piton_testkit::skipped;

use crate::{CONTRAST, EVIL, NAMED, axe, picture, waiting};

/// A browser that shows the summary of a run that asks, fails and lands, with evil texts in it.
fn open() -> Option<Browser> {
    let sandbox = waiting();
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(why) => {
            skipped(&format!("the summary: {why}"));
            return None;
        }
    };
    let _ = sandbox.run("summary --html run.html").exits(0);
    browser.open(&format!("file://{}", sandbox.project().join("run.html")));
    browser.until_shows("How to go on");
    Some(browser)
}

#[test]
fn the_summary_needs_nothing_and_runs_nothing() {
    let Some(browser) = open() else { return };
    assert!(browser.text().contains("which ridge") && browser.text().contains("the rope"));
    assert!(browser.text().contains(EVIL), "what comes from outside is text");
    assert_eq!(browser.script("return window.hacked ?? null"), serde_json::Value::Null);
    let asked = "return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith('data:'))";
    assert_eq!(browser.script(asked), serde_json::json!([]), "it asks for nothing");
    assert_eq!(browser.script("return document.querySelectorAll('script').length"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_summary_fits_a_phone_and_can_be_read_in_the_light_and_in_the_dark() {
    let Some(browser) = open() else { return };
    for (scheme, background) in [("light", "rgb(247, 246, 243)"), ("dark", "rgb(19, 22, 26)")] {
        browser.prefer(scheme);
        browser.until_is(&format!("getComputedStyle(document.body).backgroundColor === '{background}'"));
        for (name, width) in [("desk", 1200), ("phone", 380)] {
            browser.resize(width, 900);
            let wide = browser.script("return document.documentElement.scrollWidth");
            assert!(wide.as_u64().is_some_and(|wide| wide <= u64::from(width)), "{wide} wide of {width}");
            assert_eq!(browser.script(CONTRAST), serde_json::json!([]), "{name} in {scheme}");
            assert_eq!(browser.script(NAMED), serde_json::json!([]), "{name}");
            let high = browser.script("return document.documentElement.scrollHeight").as_u64();
            browser.resize(width, high.and_then(|high| u32::try_from(high).ok()).unwrap_or(900));
            picture(&browser, &format!("summary-{name}-{scheme}"));
        }
    }
}

#[test]
fn axe_finds_no_violation_in_the_summary() {
    let Some(axe) = axe() else { return };
    let Some(browser) = open() else { return };
    browser.script("document.querySelectorAll('details').forEach((one) => one.open = true)");
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        browser.script(&format!("if (!window.axe) {{ {axe} }}"));
        let found = browser.script_later(
            "const done = arguments[0]; axe.run().then(({ violations }) => done(violations.map(({ id, nodes }) => \
             `${id}: ${nodes[0].html.slice(0, 200)}`)), (error) => done([String(error)]))",
        );
        assert_eq!(found, serde_json::json!([]), "{scheme}");
    }
}
