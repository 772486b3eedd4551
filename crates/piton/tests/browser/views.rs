//! What the views show: what was typed, the past, the check that failed, and what does not exist.

use piton_testkit::sandbox::task;

use crate::reading::HOLD;
use crate::{Window, sandbox, waiting};

#[test]
fn a_field_keeps_its_focus_and_its_text_when_what_is_above_it_vanishes() {
    let Some(window) = Window::open(waiting(), "--allow-control") else { return };
    let browser = &window.browser;
    // T2's item stands above that of T1, or below: the answer is typed into the one of T1, and the other one goes.
    browser.click_text("Answer");
    browser.types("textarea", "the left one");
    browser.script("window.field = document.activeElement; field.setSelectionRange(4, 8)");
    browser.script(
        "const list = field.closest('ul'); list.prepend(list.querySelector('li:not(:has(textarea))'))",
    );
    assert_eq!(browser.script("return field.closest('li') === field.closest('ul').firstElementChild"), false);
    browser.script("field.focus(); field.setSelectionRange(4, 8)");
    let _ = window.sandbox.run("skip T2").exits(0);
    browser.until_shows("Waiting for you (1)");
    assert_eq!(browser.script("return field === document.activeElement"), true);
    assert_eq!(
        browser.script("return [field.value, field.selectionStart]"),
        serde_json::json!(["the left one", 4])
    );
    // Also in another view and back, and when the page is loaded again.
    browser.click_text("Tasks");
    browser.until_shows("3 of 3");
    window.show("overview");
    browser.until_is("document.querySelector('textarea')?.value === 'the left one'");
    browser.script("location.reload()");
    browser.until_is("!window.field && document.querySelector('textarea')?.value === 'the left one'");
}

/// T1 is given up: its first check passes, the second one fails, and the third one passes after it.
#[test]
fn the_failing_line_is_that_of_the_check_which_failed_last() {
    let sandbox = sandbox();
    let checks = "checks = ['echo error: not this one', 'echo error: flat tyre on $(cat T1.txt); false']";
    sandbox.plan(&(task("T1", &format!("attempts = 2\n{checks}"))));
    sandbox.script("[T1]\nwrite T1.txt wheel\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let Some(window) = Window::open(sandbox, "") else { return };
    let browser = &window.browser;
    for view in ["overview", "tasks", "checks"] {
        window.show(view);
        browser.click_text("Failing line");
        browser.until_is(
            "document.querySelector('.log .here')?.textContent.includes('error: flat tyre on wheel')",
        );
    }
    browser.click_text("Attempts");
    browser.click_text("Go to the failing line");
    browser
        .until_is("document.querySelector('.log .here')?.textContent.includes('error: flat tyre on wheel')");
}

#[test]
fn each_attempt_names_the_guardrails_and_limits_that_it_had() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1\nchecks = ['false']"));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let _ = sandbox.piton(["guardrail", "add", "Use tabs"]).run().exits(0);
    sandbox.write("piton.toml", "[sandbox]\nmemory_mib = 4096\n");
    let _ = sandbox.run("raise T1 --attempts 2").exits(0);
    let _ = sandbox.run("run plan.toml").exits(4);
    let Some(window) = Window::open(sandbox, "") else { return };
    window.show("task/T1");
    window.browser.until_shows("1 guardrail, ");
    window.browser.script("document.querySelectorAll('main details').forEach((one) => (one.open = true))");
    window.browser.until_shows("Use tabs");
    window.browser.until_shows("at most 4096 MiB of memory for a process");
    assert_eq!(window.browser.text().matches("Use tabs").count(), 1, "the first attempt had no guardrail");
}

#[test]
fn a_replay_shows_the_past_and_nothing_else() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    window.show("journal");
    browser.until_shows("landed as");
    // It begins with the last event, whatever was seen before.
    let end = "const done = arguments[0]; fetch(`/api/runs/${document.querySelector('#top select').value}/log`, { headers: { 'x-piton-key': localStorage.getItem('piton-key') ?? '' } }).then((answer) => answer.json()).then(({ end }) => done(end))";
    let end = browser.script_later(end).as_u64().expect("a number");
    window.show("cost");
    browser.until_shows("by agent");
    browser.click_text("Replay");
    browser.until_shows(&format!("event {end} of {end}"));
    // One event after the other backwards, in the journal: the newest row is never one that comes later.
    browser.press("gj");
    for at in (6..end).rev().step_by(3) {
        browser.script(&format!("location.hash = location.hash.replace(/at=\\d+/, 'at={at}')"));
        browser.until_shows(&format!("event {at} of {end}"));
        browser.until_is(&format!("Math.max(0, ...[...document.querySelectorAll('main li[data-key]')].map((one) => Number(one.dataset.key))) <= {at}"));
    }
    assert!(!browser.text().contains("landed as"));
    browser.click_text("Back to now");
    browser.until_shows("landed as");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn on_a_narrow_screen_the_view_is_marked_where_one_sees_it_and_names_stay_whole() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.resize(380, 800);
    window.show("cost");
    browser.until_shows("total");
    browser.until_is(
        "(() => { const mark = document.querySelector('#nav [aria-current]').getBoundingClientRect(); \
         return mark.left >= 0 && mark.right <= innerWidth + 1; })()",
    );
    // One line each, though the table is wider than the screen.
    let lines = "(() => { const cell = document.querySelector('td.mono strong'); return cell.getClientRects().length })()";
    browser.until_is(&format!("{lines} === 1"));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_does_not_exist_is_said_not_to() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    let (base, _) = window.url.split_once('?').expect("a token");
    for (address, words) in [
        ("#/no-such-run/tasks", "there is no run `no-such-run` here"),
        ("#/%/tasks", "there is no run `%` here"),
    ] {
        browser.open(&format!("{base}{address}"));
        browser.until_shows(words);
        assert!(!browser.text().contains("T3 <img"), "another run is not shown");
    }
    browser.open(base);
    browser.until_shows("1 of 3");
    window.show("task/T9");
    browser.until_is("document.querySelector('.problem')?.textContent.includes('T9')");
}

#[test]
fn a_long_output_is_shown_before_all_of_it_is_there() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "attempts = 1\nchecks = ['seq 90000; false']"));
    sandbox.script("[T1]\nwrite T1.txt x\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let Some(window) = Window::open(sandbox, "") else { return };
    let browser = &window.browser;
    browser.script(&format!("{HOLD} window.holding = 'from=2'"));
    browser.click_text("Failing line");
    browser.until_is("held.length === 1 && document.querySelector('.log .line')");
    browser.until_shows("loading");
    browser.script("let_go()");
    browser.until_shows("90000 lines");
    browser.until_is("document.querySelector('.log .here')?.textContent.endsWith('90000')");
}

/// Two groups of 150 tasks that wait for the first one.
#[test]
fn a_large_plan_is_folded_zoomed_and_searched() {
    let sandbox = sandbox();
    let mut plan = "[[group]]\nid = 'one'\n[[group]]\nid = 'two'\n".to_owned() + &task("T1", "group = 'one'");
    for at in 2..=300 {
        let group = if at % 2 == 0 { "one" } else { "two" };
        plan += &task(&format!("T{at}"), &format!("group = '{group}'\ndepends_on = ['T1']"));
    }
    sandbox.plan(&plan);
    sandbox.script("[T1]\nsignal BLOCKED:which ridge?\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let Some(window) = Window::open(sandbox, "") else { return };
    let browser = &window.browser;
    window.show("graph");
    browser.until_shows("Fold groups");
    // What is drawn, once it does not change any more by itself.
    let drawn = || {
        let look = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector('canvas').toDataURL())))";
        browser.script_later(look)
    };
    let whole = drawn();
    browser.click_text("Fold groups");
    browser.until_shows("Open groups");
    let folded = drawn();
    assert!(folded != whole, "two boxes instead of 300");
    browser.click_text("Open groups");
    browser.click("[aria-label='Larger']");
    assert!(drawn() != whole, "it is larger");
    browser.types("#graph-search", "t29");
    browser.until_shows("11 found");
    browser.until_shows("Open T29");
    browser.press("\u{e007}");
    browser.until_shows("Open T290");
    // The plan changes: the mark stays with its task, though its place is another one now.
    let _ = window.sandbox.run("skip T1").exits(0);
    browser.until_is("document.querySelector('#graph-search').value === 't29'");
    browser.until_shows("Open T290");
    browser.click_text("Open T290");
    browser.until_shows("Do T290");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_timeline_is_there_as_a_list() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    browser.resize(380, 800);
    window.show("timeline");
    browser.click_text("As a list");
    browser.until_is("document.querySelectorAll('main tbody tr').length === 3");
    browser.until_is("document.querySelector('main tbody a').getAttribute('href').includes('/task/T')");
    browser.click_text("As a list");
    browser.until_is("document.querySelector('canvas')?.width && !document.querySelector('main table')");
}

#[test]
fn what_waits_anew_is_announced() {
    let Some(window) = Window::open(waiting(), "") else { return };
    let browser = &window.browser;
    let _ = window.sandbox.run("raise T2 --attempts 3").exits(0);
    let _ = window.sandbox.run("run plan.toml").exits(4);
    browser.until_is("document.querySelector('#said').textContent.includes('Waiting for you: T2')");
}
