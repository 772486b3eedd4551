//! How the page reads: old answers are dropped, a broken view is said to be one, a hidden tab lets go of its stream.

use crate::{Window, waiting};

/// Hold back the answers whose address has these words, until `let_go` is called.
pub(crate) const HOLD: &str = "
    const real = window.fetch;
    window.held = [];
    window.let_go = () => { window.holding = null; return Promise.all(window.held.splice(0).map((go) => go())); };
    window.fetch = (path, options) => window.holding && path.includes(window.holding)
        ? new Promise((answer) => window.held.push(async () => {
            const response = await real(path, { ...options, signal: undefined });
            const body = await response.json();
            answer({ ok: response.ok, status: response.status, json: async () => body });
        })) : real(path, options);";

#[test]
fn an_answer_that_comes_too_late_is_dropped() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    window.show("cost?by=task");
    browser.until_is("document.querySelector('thead th')?.textContent === 'task'");
    browser.script(&format!(
        "{HOLD} window.holding = 'by=model'; location.hash = location.hash.replace('by=task', 'by=model')"
    ));
    browser.until_is("held.length === 1");
    // Nobody waits for it any more: the next view is there before it, and stays.
    browser.script("location.hash = location.hash.replace('by=model', 'by=agent')");
    browser.until_is("document.querySelector('thead th')?.textContent === 'agent'");
    let _ = browser.script_later("const done = arguments[0]; let_go().then(() => setTimeout(done, 0))");
    assert_eq!(browser.script("return document.querySelector('thead th').textContent"), "agent");
    browser.until_is("document.querySelector('.tabs [aria-current]').textContent === 'by agent'");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_comes_of_an_action_is_read_after_it() {
    let Some(window) = Window::open(waiting(), "--allow-control") else { return };
    let browser = &window.browser;
    // A look at the inbox that was begun before the action, and that never ends.
    browser.script(&format!("{HOLD} window.holding = '/api/inbox'; dispatchEvent(new Event('hashchange'))"));
    browser.until_is("held.length === 1");
    browser.script("window.holding = null");
    browser.click_text("Mark as seen");
    browser.until_shows("seen");
    browser.until_is(
        "[...document.querySelectorAll('main li')].some((one) => one.textContent.includes('· seen'))",
    );
}

#[test]
fn a_view_that_cannot_be_drawn_says_so_and_the_next_look_goes_on() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.script(
        "const real = window.fetch; window.isBroken = true;
         window.fetch = (path, options) => window.isBroken && path.includes('/checks') ? Promise.resolve(new Response('{\"not\": \"rows\"}')) : real(path, options);
         location.hash = document.querySelector('#nav a[href*=\"/checks\"]').getAttribute('href')",
    );
    browser.until_shows("This part of the page cannot be shown");
    // The frame stays, and so do the other views.
    browser.click_text("Cost");
    browser.until_shows("by agent");
    browser.click_text("Checks");
    browser.until_shows("This part of the page cannot be shown");
    browser.script("window.isBroken = false");
    // News: the view is read again.
    let _ = window.sandbox.run("raise T2 --attempts 5").exits(0);
    browser.until_shows("test -s T3.txt");
    browser.until_is("!document.querySelector('.problem')");
}

/// Remember the streams that a page opens from now on.
const STREAMS: &str = "window.streams = []; window.EventSource = class extends EventSource { constructor(url) { super(url); window.streams.push(this); } }";

/// What a browser says to a page whose tab is hidden, or shown again.
fn set_hidden(window: &Window, is_hidden: bool) {
    window.browser.script(&format!(
        "Object.defineProperty(document, 'hidden', {{ configurable: true, get: () => {is_hidden} }});
         document.dispatchEvent(new Event('visibilitychange'))"
    ));
}

#[test]
fn a_hidden_tab_lets_go_of_its_stream_and_goes_on_where_it_was() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &serde_json::json!({ "source": STREAMS }));
    let at = browser.url();
    browser.open("about:blank");
    browser.open(&at);
    browser.until_shows("live");
    set_hidden(&window, true);
    assert_eq!(browser.script("return streams.map((one) => one.readyState)"), serde_json::json!([2]));
    // What happens meanwhile is there as soon as the tab is shown.
    let _ = window.sandbox.run("raise T2 --attempts 5").exits(0);
    set_hidden(&window, false);
    browser
        .until_is("streams.length === 2 && streams[1].readyState === 1 && streams[1].url.includes('last=')");
    browser.until_shows("5 attempts");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_key_of_the_page_is_kept_and_sent_and_not_shown() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    let record = "window.asked = []; const real = window.fetch; window.fetch = (path, options) => \
        (window.asked.push([path, options?.headers?.['x-piton-key'] ?? null]), real(path, options));";
    browser.devtools(
        "Page.addScriptToEvaluateOnNewDocument",
        &serde_json::json!({ "source": format!("{record} {STREAMS}") }),
    );
    let known = browser.script("return localStorage.getItem('piton-key') ?? 'made-up'");
    let known = known.as_str().expect("a key");
    let (base, _) = window.url.split_once('?').expect("a token");
    browser.open("about:blank");
    browser.open(&format!("{base}#key={known}"));
    browser.until_shows("Waiting for you (");
    assert!(!browser.url().contains("key"), "{}", browser.url());
    browser.until_is(&format!("asked.length > 3 && asked.every(([, key]) => key === '{known}')"));
    browser.until_is(&format!("streams[0].url.includes('key={known}')"));
    // Also in the next tab, which is opened without it.
    browser.open("about:blank");
    browser.open(base);
    browser.until_is(&format!("asked.length > 3 && asked.every(([, key]) => key === '{known}')"));
}
