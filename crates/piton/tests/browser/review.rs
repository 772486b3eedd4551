//! Comments on lines, from a draft in the browser to the next attempt.

use piton_testkit::sandbox::{Sandbox, task, until};
use serde_json::Value;

use crate::{EVIL, Window, sandbox};

const BEFORE: &str =
    "/// Tie a rope.\npub fn tie(rope: &str) -> u32 {\n    let length = 40;\n    length\n}\n";

/// T1 is given up with a change of a file and a new one; T2 has landed.
fn given_up() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("src/rope.rs", BEFORE);
    sandbox.plan(&(task("T1", "attempts = 1\nchecks = ['false']") + &task("T2", "")));
    sandbox.script(
        "[T1]\nreplace src/rope.rs 40 60\nwrite route.txt one\\ntwo\\nthree\\nfour\n[T2]\nwrite T2.txt x\n",
    );
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

/// Where a comment on a line of a file begins.
fn first_button(file: &str, line: u32) -> String {
    format!("details[data-key=\"{file}\"] [data-key=\"new {line}\"] .say")
}

fn comments(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let told = sandbox.piton(["review", id, "--json"]).run().exits(0).stdout;
    let document: Value = serde_json::from_str(&told).expect("JSON");
    document["comments"].as_array().expect("a list").clone()
}

#[test]
fn comments_are_drafts_until_they_are_sent_together() {
    let Some(window) = Window::open(given_up(), "--allow-control") else { return };
    let browser = &window.browser;
    window.show("task/T1/diff");
    browser.until_is("document.querySelector('.syn-k')?.textContent === 'pub'");
    // The words that differ, with the colours of the code.
    let words =
        browser.script("return [...document.querySelectorAll('.diff mark')].map((one) => one.textContent)");
    assert_eq!(words, serde_json::json!(["40", "60"]));
    browser.until_is("document.querySelector('.diff mark .syn-n')");
    browser.click(&first_button("src/rope.rs", 3));
    browser.types("#comment", &format!("Sixty is too long {EVIL}"));
    browser.click_text("Add comment");
    browser.until_shows("Send 1 comment");
    // Another one with the keyboard alone, on several lines.
    browser.script("document.querySelector('details[data-key=\"route.txt\"] .say').focus()");
    browser.press("j");
    browser.press_with_shift("\u{e015}");
    browser.until_is("document.querySelectorAll('.diff tr.chosen').length === 2");
    browser.press_with_shift("\u{e007}");
    browser.until_shows("Comment on lines 2 to 3 of route.txt");
    browser.press("Why two?");
    // The browser is closed and opened again in between.
    let at = browser.url();
    // Also at an address that does not name the run.
    for at in [at.split_once("/#/").map_or(at.clone(), |(base, _)| format!("{base}/#//task/T1/diff")), at] {
        browser.open("about:blank");
        browser.open(&at);
        browser.until_is("document.querySelector('#comment')?.value === 'Why two?'");
    }
    browser.until_shows("Send 2 comments");
    assert!(comments(&window.sandbox, "T1").is_empty(), "nothing is recorded before it is sent");
    window.picture("review-drafts");
    browser.click_text("Send 2 comments");
    browser.until_shows("you sent 2 comments on its work");
    browser.until_is("document.querySelectorAll('.talk .chip.good').length === 2");
    browser.until_is("!document.querySelector('.reviewbar') && !document.querySelector('#comment')");
    window.picture("review-sent");
    let _ = window.sandbox.run("prompt T1").exits(0).says("> Sixty is too long").says("> Why two?");
    let places: Vec<Value> = comments(&window.sandbox, "T1").iter().map(|one| one["line"].clone()).collect();
    assert_eq!(places, [3, 2]);
    assert_eq!(browser.script("return window.hacked ?? null"), Value::Null);
    assert_eq!(browser.script("return sessionStorage.length"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_draft_on_lines_that_have_changed_stays_and_says_so() {
    let Some(window) = Window::open(given_up(), "--allow-control") else { return };
    let browser = &window.browser;
    window.show("task/T1/diff");
    browser.click(&first_button("route.txt", 2));
    browser.types("#comment", "Not over this ridge");
    let file = window.sandbox.worktrees().join("T1/route.txt");
    std::fs::write(&file, "zero\none\ntwo\nthree\nfour\n").expect("written");
    browser.click_text("Send 1 comment");
    browser.until_shows("route.txt:2 is now at line 3");
    browser.until_shows("Your drafts on lines that have changed since");
    assert!(comments(&window.sandbox, "T1").is_empty());
    browser.click_text("Put on other lines");
    browser.click(&first_button("route.txt", 3));
    browser.until_is("document.querySelector('#comment')?.value === 'Not over this ridge'");
    browser.click_text("Send 1 comment");
    until("the comment", || {
        let all = comments(&window.sandbox, "T1");
        (all.len() == 1 && all[0]["line"] == 3 && all[0]["quote"] == "two").then_some(())
    });
}

#[test]
fn comments_on_landed_work_become_a_task() {
    let Some(window) = Window::open(given_up(), "--allow-control") else { return };
    let browser = &window.browser;
    window.show("task/T2/diff");
    browser.resize(380, 800);
    browser.click(&first_button("T2.txt", 1));
    browser.types("#comment", "Say more");
    browser.until_shows("as a new task that follows T2");
    let wide = browser.script("return document.documentElement.scrollWidth");
    assert!(wide.as_u64().is_some_and(|wide| wide <= 380), "{wide} wide");
    window.picture("phone-review");
    browser.click_text("Send 1 comment");
    browser.until_shows("T2-review");
    window.show("task/T2-review/asked");
    browser.until_shows("Say more");
}

#[test]
fn who_may_not_change_anything_sees_comments_and_writes_none() {
    let sandbox = given_up();
    let _ =
        sandbox.piton(["review", "T1", "--comment", "route.txt:2", "--message", "Not over this ridge"]).run();
    let Some(window) = Window::open(sandbox, "") else { return };
    let browser = &window.browser;
    window.show("task/T1/diff");
    browser.until_shows("Not over this ridge");
    browser.until_shows("piton review T1 --edit");
    assert_eq!(browser.script("return document.querySelector('.say')"), Value::Null);
}
