//! A key in `piton watch`, on a real terminal: from the moment it is typed until the frame it makes is there.

use std::time::{Duration, Instant};

use piton_testkit::sandbox::{Sandbox, Terminal};

use crate::bench::{Figure, PITON, median, show};

const TASKS: usize = 10_000;
/// What ends a frame.
const FRAME: &[u8] = b"\x1b[?2026l";
/// Longer than the screen waits for news: a frame that a key did not ask for is not counted as its own.
const QUIET: Duration = Duration::from_millis(100);
/// Moving by lines and pages, every view, the two timelines, and a filter that is typed and dropped.
const KEYS: [&str; 5] =
    ["jjjjjjjjjjkkkkk", "\x1b[6~\x1b[6~\x1b[6~GgG", "\t\t\t\t\t\t\t\t", "tth", "/do 7\x7f\x7f\x7f\x7fx"];

pub(crate) fn figures() -> Vec<Figure> {
    let sandbox = Sandbox::new(PITON);
    let task = |n: usize| {
        format!("[[task]]\nid = 'T{n}'\ntitle = 'Write the file of {n}'\nprompt = 'Do it'\nchecks = []\n")
    };
    sandbox.plan(&(1..=TASKS).map(task).collect::<String>());
    let _ = sandbox.run("start T5000 --by me --plan plan.toml").exits(0);
    let begun = Instant::now();
    let (watch, mut terminal) = sandbox.piton(["watch"]).spawn_on_terminal_of(200, 50);
    until(&mut terminal, |shown| {
        let size = |n: u16| std::num::NonZeroU16::new(n).unwrap();
        let mut parser = vt100::Parser::new(size(50), size(200), 0);
        parser.process(shown);
        parser.screen().contents().contains("0/10000 done")
    });
    let first = begun.elapsed();
    let mut times = Vec::new();
    for keys in KEYS {
        for key in split(keys) {
            std::thread::sleep(QUIET);
            let before = terminal.bytes().len();
            let typed = Instant::now();
            terminal.types(key);
            until(&mut terminal, |shown| find(&shown[before..], FRAME));
            times.push(typed.elapsed());
        }
    }
    terminal.types("\x1b\x03");
    let _ = watch.wait().exits(0);
    let worst = times.iter().max().copied().unwrap_or_default();
    let measured = format!("{}, at worst {}", show(median(times)), show(worst));
    vec![
        Figure::plain(format!("`watch`: a key, {TASKS} tasks"), measured, "16 ms"),
        Figure::plain(format!("`watch`: from its start to {TASKS} tasks on the screen"), show(first), "–"),
    ]
}

/// Key by key: a sequence is one.
fn split(keys: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = keys;
    while !rest.is_empty() {
        let end = if rest.starts_with("\x1b[") { rest.find('~').map_or(rest.len(), |at| at + 1) } else { 1 };
        let (key, after) = rest.split_at(end);
        all.push(key);
        rest = after;
    }
    all
}

fn find(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|part| part == wanted)
}

fn until(terminal: &mut Terminal, is_there: impl Fn(&[u8]) -> bool) {
    let begun = Instant::now();
    while !is_there(terminal.bytes()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing was drawn");
        std::thread::sleep(Duration::from_micros(50));
    }
}
