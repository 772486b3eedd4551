//! The page of `piton serve` in a real browser.
#![cfg(unix)]

mod pictures;
mod reading;
mod review;
mod summary;
mod views;

use std::path::PathBuf;

use piton_testkit::browser::Browser;
use piton_testkit::sandbox::{Running, Sandbox, task, until};
use piton_testkit::skipped;

/// Where pictures of the page go, if somebody wants to see them: a folder, from that of the workspace on.
const PICTURES: &str = "PITON_TEST_PICTURES";

/// A browser in front of a project's page.
struct Window {
    browser: Browser,
    sandbox: Sandbox,
    url: String,
    _server: Running,
}

impl Window {
    /// `None` on a machine without a browser, which is reported.
    fn open(sandbox: Sandbox, args: &str) -> Option<Window> {
        let browser = match Browser::start() {
            Ok(browser) => browser,
            Err(why) => {
                skipped(&format!("the page: {why}"));
                return None;
            }
        };
        let line = format!("serve --listen 127.0.0.1:0 {args}");
        let mut server = sandbox.piton(line.split_whitespace()).spawn();
        let url = server.first_line();
        browser.open(&url);
        browser.until_shows("Waiting for you");
        Some(Window { browser, sandbox, url, _server: server })
    }

    fn show(&self, view: &str) {
        let (base, _) = self.url.split_once('?').expect("a token");
        let run = self.browser.script("return document.querySelector('#top select')?.value ?? ''");
        self.browser.open(&format!("{base}#/{}/{view}", run.as_str().unwrap_or_default()));
    }

    fn picture(&self, name: &str) {
        picture(&self.browser, name);
    }
}

fn picture(browser: &Browser, name: &str) {
    if let Some(folder) = std::env::var_os(PICTURES) {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(folder);
        browser.picture(&folder.join(format!("{name}.png")));
    }
}

/// A title, an output and a file that would do harm if they were read as HTML.
const EVIL: &str = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_piton"))
}

/// T1 asks, T2 fails, T3 lands, and all of them are evil.
fn waiting() -> Sandbox {
    let sandbox = sandbox();
    let evil = |id: &str, more: &str| task(id, more).replace(&format!("Do {id}"), &format!("{id} {EVIL}"));
    sandbox.plan(
        &(evil("T1", "")
            + &evil("T2", &format!("attempts = 1\nchecks = ['''for i in $(seq 300); do echo line $i; done; echo \"error: the rope {EVIL}\"; seq 300; false''']"))
            + &evil("T3", "")),
    );
    sandbox.script(&format!(
        "[T1]\nsignal BLOCKED:which ridge {EVIL}?\n[T2]\nwrite T2.txt x\nsay {EVIL}\n[T3]\nwrite T3.txt {EVIL}\n"
    ));
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

const VIEWS: [&str; 13] = [
    "overview",
    "tasks",
    "graph",
    "timeline",
    "landing",
    "journal",
    "checks",
    "cost",
    "task/T2",
    "task/T2/output",
    "task/T2/asked",
    "task/T2/events",
    "task/T3/diff",
];

#[test]
fn the_page_shows_a_run_and_nothing_in_it_is_a_script() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    assert!(!browser.url().contains("token"), "{}", browser.url());
    browser.until_shows("which ridge");
    window.picture("overview");
    for (view, text) in [
        ("tasks", "T2 <img"),
        ("task/T2", "Go to the failing line"),
        ("task/T2/output", "<script>"),
        ("task/T2/asked", "Please do"),
        ("task/T2/events", "attempt 1 started"),
        ("task/T3/diff", "<img src=x"),
        ("landing", "landed"),
        ("journal", "landed as"),
        ("checks", "test -s T3.txt"),
        ("cost", "total"),
    ] {
        window.show(view);
        browser.until_shows(text);
        window.picture(&view.replace('/', "-"));
    }
    assert_eq!(browser.script("return window.hacked ?? null"), serde_json::Value::Null);
    let elsewhere = "return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith(location.origin))";
    assert_eq!(browser.script(elsewhere), serde_json::json!([]), "no request leaves the machine");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_failure_is_one_click_from_its_line() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.click_text("Failing line");
    browser.until_is("document.querySelector('.log .here')?.textContent.includes('error: the rope')");
    // Another line of the same output.
    browser.script("document.querySelector('.log .here').previousElementSibling.querySelector('a').click()");
    browser.until_is("document.querySelector('.log .here')?.textContent.endsWith('line 300')");
    window.show("task/T2");
    browser.click_text("Go to the failing line");
    browser.until_is("document.querySelector('.log .here')?.textContent.includes('error: the rope')");
    browser.until_is("(() => { const [box, line] = [document.querySelector('.log'), document.querySelector('.log .here')].map((one) => one.getBoundingClientRect()); return line.top >= box.top && line.bottom <= box.bottom; })()");
    window.picture("failing-line");
    // A permalink to another line.
    let at = browser.url().replace("line=failing", "line=7");
    browser.open("about:blank");
    browser.open(&at);
    browser.until_is("document.querySelector('.log .here')?.textContent === '7line 7'");
}

#[test]
fn the_page_follows_a_run() {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(
        "[T1]\nsay the first words\nmeet SIDE/one\nwrite T1.txt x\n[T2]\nmeet SIDE/two\nwrite T2.txt x\n",
    );
    let _ = (sandbox.fifo("one"), sandbox.fifo("two"));
    let Some(window) = Window::open(sandbox, "") else { return };
    let browser = &window.browser;
    browser.until_shows("No run yet");
    let mut run = window.sandbox.piton(["run", "plan.toml"]).spawn();
    browser.until_shows("0 of 2");
    browser.until_shows("in progress");
    window.show("task/T1/output");
    browser.until_shows("the first words");
    window.show("overview");
    run.until_at(&window.sandbox, "one");
    browser.until_shows("1 of 2");
    run.until_at(&window.sandbox, "two");
    browser.until_shows("2 of 2");
    browser.until_shows("every task is completed");
    let _ = run.wait().exits(0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_waits_is_answered_with_the_keyboard_of_a_phone() {
    let Some(window) = Window::open(waiting(), "--allow-control") else { return };
    let browser = &window.browser;
    browser.resize(380, 800);
    browser.click_text("Answer");
    browser.types("textarea", "the left one");
    window.picture("phone-answer");
    browser.click_text("Send answer");
    until("the answer in the journal", || {
        window.sandbox.run("log --json").exits(0).contains("the left one").then_some(())
    });
    browser.until_is("!document.querySelector('textarea')");
}

#[test]
fn every_view_fits_a_phone_and_can_be_read_in_the_light_and_in_the_dark() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    for (scheme, background) in [("light", "rgb(247, 246, 243)"), ("dark", "rgb(19, 22, 26)")] {
        browser.prefer(scheme);
        browser.until_is(&format!(
            "getComputedStyle(document.documentElement).backgroundColor === '{background}'"
        ));
        for view in VIEWS {
            browser.resize(380, 800);
            window.show(view);
            browser.until_is("document.querySelector('main h1')");
            let wide = browser.script("return document.documentElement.scrollWidth");
            assert!(wide.as_u64().is_some_and(|wide| wide <= 380), "{view} is {wide} wide");
            window.picture(&format!("phone-{scheme}-{}", view.replace('/', "-")));
            assert_eq!(browser.script(CONTRAST), serde_json::json!([]), "{view} in {scheme}");
            browser.resize(1280, 900);
            browser.until_is("document.querySelector('main h1')");
            window.picture(&format!("{scheme}-{}", view.replace('/', "-")));
            assert_eq!(browser.script(CONTRAST), serde_json::json!([]), "{view} in {scheme}");
            assert_eq!(browser.script(NAMED), serde_json::json!([]), "{view}");
        }
    }
}

/// What looks for obstacles. `None` where it is not installed, which is reported.
fn axe() -> Option<String> {
    let place =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/clients/axe/node_modules/axe-core/axe.min.js");
    let axe = std::fs::read_to_string(place).ok();
    if axe.is_none() {
        skipped("pages for people who cannot see them well: axe-core is not installed");
    }
    axe
}

#[test]
fn axe_finds_no_violation() {
    let Some(axe) = axe() else { return };
    let Some(window) = Window::open(waiting(), "--allow-control") else { return };
    let browser = &window.browser;
    for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 380)] {
        browser.prefer(scheme);
        browser.resize(width, 800);
        for view in VIEWS {
            window.show(view);
            browser.until_is("document.querySelector('main h1')");
            if view.ends_with("diff") {
                // With a comment that is being written.
                browser.click(".say");
            }
            browser.script(&format!("if (!window.axe) {{ {axe} }}"));
            let found = browser.script_later(
                "const done = arguments[0]; axe.run().then(({ violations }) => done(violations.map(({ id, nodes }) => \
                 `${id}: ${nodes[0].html.slice(0, 200)}`)), (error) => done([String(error)]))",
            );
            assert_eq!(found, serde_json::json!([]), "{view} in {scheme}, {width} wide");
        }
    }
}

/// Texts with a contrast below that of WCAG AA.
const CONTRAST: &str = r"
    const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
    const light = ({ r, g, b }) => [r, g, b].map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) { const color = parse(getComputedStyle(at).backgroundColor); if (color.a > 0.99) return color; }
        return { r: 255, g: 255, b: 255 };
    };
    const weak = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest('option, .hidden')) continue;
        const style = getComputedStyle(element);
        const [one, other] = [light(parse(style.color)), light(behind(element))].sort((a, b) => b - a);
        const isLarge = parseFloat(style.fontSize) >= 24;
        const ratio = (one + 0.05) / (other + 0.05);
        if (ratio < (isLarge ? 3 : 4.5)) weak.push(`${ratio.toFixed(2)} ${element.className} ${walker.currentNode.data.slice(0, 40)}`);
    }
    return weak;";

/// What a screen reader could not name, and ids that are there twice.
const NAMED: &str = r"
    const wrong = [];
    for (const one of document.querySelectorAll('button, a[href], input, select, textarea')) {
        if (!one.checkVisibility()) continue;
        const label = one.getAttribute('aria-label') || one.textContent.trim() || (one.labels?.length && one.labels[0].textContent.trim());
        if (!label) wrong.push(one.outerHTML.slice(0, 80));
    }
    for (const image of document.querySelectorAll('img')) if (!image.hasAttribute('alt')) wrong.push(image.outerHTML);
    const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
    wrong.push(...ids.filter((id, at) => ids.indexOf(id) !== at));
    if (document.querySelectorAll('main').length !== 1 || document.querySelectorAll('h1').length !== 1) wrong.push('landmarks');
    return wrong;";

#[test]
fn the_past_can_be_looked_at_and_left_again() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.until_shows("1 of 3");
    browser.click_text("Replay");
    browser.until_shows("Back to now");
    // One event after the other, back to where nothing had landed.
    browser.until_is("document.querySelector('#replay-slider')");
    browser.script("const slider = document.querySelector('#replay-slider'); slider.value = 6; slider.dispatchEvent(new Event('input', { bubbles: true }))");
    browser.until_shows("event 6 of");
    browser.until_shows("0 of 3");
    window.picture("replay");
    window.browser.click_text("Back to now");
    browser.until_shows("1 of 3");
    browser.until_is("document.querySelector('#replay').hidden");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_keyboard_leads_everywhere() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    for (keys, title) in [
        ("gt", "Tasks"),
        ("gl", "Landing"),
        ("gj", "Journal"),
        ("gc", "Checks"),
        ("gm", "Cost"),
        ("gg", "Graph"),
        ("gi", "Timeline"),
        ("go", "Overview"),
    ] {
        browser.press(keys);
        browser.until_is(&format!("document.title.includes('{title}') && document.querySelector('nav [aria-current]').textContent.startsWith('{title}')"));
    }
    // From a view without a search, before and after that of the tasks is there.
    browser.press("/");
    browser.until_is("document.title.includes('Tasks') && document.activeElement.type === 'search'");
    browser.press("\u{e00c}");
    browser.press("go");
    browser.until_is("document.title.includes('Overview')");
    browser.press("gt/");
    browser.until_is("document.title.includes('Tasks') && document.activeElement.type === 'search'");
    browser.press("T3");
    browser.until_is("document.querySelectorAll('.rowlink').length === 1");
    browser.press("\u{e00c}");
    browser.press("j");
    browser.until_is(
        "document.activeElement.className === 'rowlink' && document.activeElement.textContent.includes('T3')",
    );
    browser.press("\u{e007}");
    browser.until_shows("Attempt 1");
    browser.press("?");
    browser.until_is("document.querySelector('dialog').open");
    // Whose keys come from a voice or a shaking hand turns them off, also for the next time.
    browser.click("dialog input[type=checkbox]");
    browser.click_text("Close");
    browser.press("gc");
    browser.script("location.reload()");
    browser.until_shows("Attempt 1");
    browser.press("gc?");
    assert_eq!(browser.script("return document.querySelector('dialog').open"), false);
    assert_eq!(browser.script("return document.title.startsWith('(2) T3')"), true);
}

#[test]
fn who_comes_without_the_token_is_told_what_to_open() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.devtools("Network.clearBrowserCookies", &serde_json::json!({}));
    let (base, _) = window.url.split_once('?').expect("a token");
    browser.open("about:blank");
    browser.open(base);
    browser.until_shows("This page needs its token");
    assert!(!browser.text().contains("T1"));
}

#[test]
fn a_password_lets_in_for_good_and_a_wrong_one_does_not() {
    let sandbox = waiting();
    let file = sandbox.root().join("password");
    sandbox.write(&file, "over the ridge\n");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
    let Ok(browser) = Browser::start() else { return skipped("the page: there is no browser") };
    let args = ["serve", "--listen", "127.0.0.1:0", "--password-file", file.as_str()];
    let mut server = sandbox.piton(args).spawn();
    let url = server.first_line();
    browser.open(&url);
    browser.types("#password", "under the ridge");
    browser.click_text("Enter");
    browser.until_is("document.querySelector('#wrong').textContent.length > 0");
    browser.script("document.querySelector('#password').value = ''");
    browser.types("#password", "over the ridge");
    browser.click_text("Enter");
    browser.until_shows("which ridge");
    browser.open("about:blank");
    browser.open(&url);
    browser.until_shows("which ridge");
}
