//! `piton watch` on a real terminal, read as a terminal shows it.
#![cfg(target_os = "linux")]

use crate::{count, filters, sandbox};
use piton_testkit::sandbox::{Running, Sandbox, Terminal, task, until, writers};
use rustix::process::Signal;

/// A new session on its own terminal, so that a resize is heard of.
const SESSION: &[&str] = &["setsid", "--ctty"];

/// What a person has in front of them.
pub(crate) struct Display {
    pub(crate) terminal: Terminal,
    parser: vt100::Parser,
    /// Bytes that the parser has read.
    read: usize,
}

impl Display {
    pub(crate) fn start(sandbox: &Sandbox, (columns, rows): (u16, u16), line: &str) -> (Running, Display) {
        let call = sandbox.piton_by(SESSION, line.split_whitespace()).env("LANG", "C.UTF-8");
        let (running, terminal) = call.spawn_on_terminal_of(columns, rows);
        (running, Display { terminal, parser: parser(columns, rows), read: 0 })
    }

    pub(crate) fn look(&mut self) -> &vt100::Screen {
        let bytes = self.terminal.bytes();
        self.parser.process(&bytes[self.read..]);
        self.read = bytes.len();
        self.parser.screen()
    }

    pub(crate) fn text(&mut self) -> String {
        self.look().contents()
    }

    #[track_caller]
    pub(crate) fn until_shows(&mut self, text: &str) {
        let mut last = String::new();
        let shows = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(&format!("{text:?} on the screen"), || {
                last = self.text();
                last.contains(text).then_some(())
            });
        }));
        assert!(shows.is_ok(), "{text:?} is not on the screen:\n{last}");
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.terminal.types(keys);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let _ = self.look();
        self.terminal.resize(columns, rows);
        // What was drawn for the size before is not what is asked about.
        self.parser = parser(columns, rows);
        self.parser.process(b"\x1b[?1049h");
    }
}

fn parser(columns: u16, rows: u16) -> vt100::Parser {
    let size = |n: u16| std::num::NonZeroU16::new(n).expect("a terminal has rows and columns");
    vt100::Parser::new(size(rows), size(columns), 1000)
}

/// Three tasks: one landed, one was given up, one waits for it.
fn ended() -> Sandbox {
    let sandbox = sandbox();
    let tasks = task("T1", "") + &task("T2", "attempts = 1") + &task("T3", "depends_on = ['T2']");
    sandbox.plan(&tasks);
    sandbox.script("[T1]\nwrite T1.txt done\n[T2]\nsay I did nothing\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    sandbox
}

/// T1 waits for us; T2 comes after it.
fn waiting() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script(
        "[T1]\nsay working on it\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n",
    );
    sandbox
}

#[test]
fn without_a_terminal_it_names_what_works_there() {
    let sandbox = ended();
    let _ = sandbox.run("watch").exits(2).says("needs a terminal").says("hint: piton log --follow");
}

#[test]
fn it_shows_a_run_on_terminals_of_any_size_and_leaves_them_as_they_were() {
    let sandbox = ended();
    for (columns, rows) in [(80, 24), (200, 50), (50, 15)] {
        let (watch, mut display) = Display::start(&sandbox, (columns, rows), "watch");
        display.until_shows("1/3 done");
        display.until_shows("1 waits for you");
        // The paths of this machine are not in the inbox.
        display.types("5");
        display.until_shows("--seen");
        let screen = display.text();
        let mut settings = filters();
        settings.add_filter(r"--seen \w{6}", "--seen [KEY]");
        // How long a span is moves what stands behind it.
        settings.add_filter(r" +│", " │");
        settings.add_filter(r"(?m) +$", "");
        settings.bind(|| insta::assert_snapshot!(format!("screen_{columns}x{rows}"), screen));
        assert!(display.look().alternate_screen());
        display.types("q");
        let _ = watch.wait().exits(0);
        assert!(!display.look().alternate_screen() && !display.look().hide_cursor());
        assert!(display.terminal.is_usual());
    }
}

#[test]
fn it_follows_a_run_that_goes_on_in_another_process() {
    let sandbox = waiting();
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let (watch, mut display) = Display::start(&sandbox, (100, 30), "watch");
    display.until_shows("● running");
    display.until_shows("1 in progress");
    display.types("2");
    display.until_shows("working on it");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    display.until_shows("2/2 done");
    display.until_shows("✓ completed");
    display.types("q");
    let _ = watch.wait().exits(0);
}

#[test]
fn a_terminal_that_is_resized_shows_what_fits() {
    let sandbox = ended();
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("What helps");
    for (columns, rows) in [(50, 15), (200, 50), (20, 6), (80, 24)] {
        display.resize(columns, rows);
        let state = if columns > 20 { "1/3 done" } else { "ended" };
        until("the state in the last line but one", || {
            let row = usize::from(rows) - 2;
            display.look().rows(0, columns).nth(row).filter(|line| line.contains(state)).map(|_| ())
        });
        let keys = display.look().rows(0, columns).last().unwrap_or_default();
        assert!(keys.contains("quit"), "{}", display.text());
    }
    display.types("q");
    let _ = watch.wait().exits(0);
}

#[test]
fn s_prints_plain_lines_with_what_was_missed_and_comes_back() {
    let sandbox = waiting();
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("1 in progress");
    display.types("s");
    display.until_shows("press s to return to the screen");
    display.until_shows("T1       attempt 1 started");
    assert!(!display.look().alternate_screen());
    display.types("s");
    display.until_shows("1 in progress");
    assert!(display.look().alternate_screen());
    // What happens meanwhile is printed later.
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    display.until_shows("2/2 done");
    display.types("s");
    display.until_shows("T2       landed as");
    let printed = display.text();
    assert_eq!(printed.matches("T1       attempt 1 started").count(), 1, "{printed}");
    assert_eq!(printed.matches("T1       landed as").count(), 1, "{printed}");
    display.types("\u{3}");
    let _ = watch.wait().exits(0);
    assert!(display.terminal.is_usual());
}

#[test]
fn a_task_is_retried_from_the_screen_after_a_confirmation() {
    let sandbox = ended();
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("What helps");
    display.types("r");
    display.until_shows("$ piton retry T2");
    assert_eq!(count(&sandbox.events(), "retried"), 0);
    display.types("\u{1b}");
    display.until_shows("nothing was changed");
    assert_eq!(count(&sandbox.events(), "retried"), 0);
    display.types("r\r");
    display.until_shows("hint: piton run plan.toml");
    assert_eq!(count(&sandbox.events(), "retried"), 1);
    display.types("xq");
    let _ = watch.wait().exits(0);
}

#[test]
fn what_is_done_from_the_screen_is_about_the_run_that_is_shown() {
    let sandbox = ended();
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("What helps");
    // Another run begins, and has a task of the same name that needs somebody.
    let other = sandbox.read("plan.toml").replace("name = \"plan\"", "name = \"other\"");
    sandbox.write("other.toml", &other);
    sandbox.commit("Another plan");
    let _ = sandbox.run("run other.toml").exits(4);
    display.until_shows("needed by  T3");
    display.types("r");
    display.until_shows("$ piton retry T2 --run plan-");
    display.types("\r");
    display.until_shows("hint: piton run plan.toml");
    assert_eq!(count(&sandbox.events(), "retried"), 1);
    display.types("xq");
    let _ = watch.wait().exits(0);
}

#[test]
fn an_answer_reaches_the_journal_as_it_was_typed() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nsignal BLOCKED:which colour?\n");
    let _ = sandbox.run("run plan.toml").exits(4);
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("1 waits for you");
    display.types("a");
    display.until_shows("What should its next agent do?");
    display.types("don't stop; it's \"blue\"\r");
    until("the answer", || {
        let events = sandbox.events();
        events.iter().any(|event| event.contains(r#""text":"don't stop; it's \"blue\"""#)).then_some(())
    });
    display.types("qq");
    let _ = watch.wait().exits(0);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let sandbox = ended();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
        display.until_shows("1/3 done");
        assert!(!display.terminal.is_usual());
        watch.signal(signal);
        let _ = watch.wait().exits(0);
        assert!(!display.look().alternate_screen() && display.terminal.is_usual(), "{signal:?}");
    }
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let sandbox = ended();
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("1/3 done");
    drop(display);
    let _ = watch.wait().exits(0);
}

#[test]
fn it_stops_and_continues_as_every_program_does() {
    let sandbox = ended();
    for stop in ["\u{1a}", ""] {
        let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
        display.until_shows("1/3 done");
        match stop {
            "" => watch.signal(Signal::TSTP),
            key => display.types(key),
        }
        let is_stopped = |status: String| status.lines().any(|line| line.starts_with("State:\tT"));
        let status = format!("/proc/{}/status", watch.pid());
        until("a stopped process", || {
            is_stopped(std::fs::read_to_string(&status).expect("it is there")).then_some(())
        });
        assert!(!display.look().alternate_screen() && display.terminal.is_usual());
        watch.signal(Signal::CONT);
        until("the screen again", || display.look().alternate_screen().then_some(()));
        display.until_shows("1/3 done");
        display.types("q");
        let _ = watch.wait().exits(0);
        assert!(display.terminal.is_usual());
    }
}

#[test]
fn a_journal_that_is_taken_away_and_put_back_is_said_and_read_again() {
    let sandbox = ended();
    let (watch, mut display) = Display::start(&sandbox, (120, 24), "watch");
    display.until_shows("1/3 done");
    let folder = sandbox.project().join(".git/piton");
    let (here, away) = (folder.join("piton.db"), folder.join("away.db"));
    std::fs::rename(&here, &away).expect("our own file");
    display.until_shows("the journal is gone");
    std::fs::copy(&away, &here).expect("our own file");
    until("the run again", || (!display.text().contains("the journal is gone")).then_some(()));
    display.until_shows("1/3 done");
    display.types("q");
    let _ = watch.wait().exits(0);
}

#[test]
fn ten_thousand_tasks_are_shown_filtered_and_scrolled() {
    let sandbox = sandbox();
    let ids: Vec<String> = (1..=10_000).map(|number| format!("T{number}")).collect();
    let tasks: String = ids
        .iter()
        .map(|id| format!("[[task]]\nid = '{id}'\ntitle = 'Do {id}'\nprompt = 'Do it'\nchecks = []\n"))
        .collect();
    sandbox.plan(&tasks);
    let _ = sandbox.run("start T5000 --by me --plan plan.toml").exits(0);
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("0/10000 done");
    display.until_shows("T5000");
    display.types("G");
    display.until_shows("T10000");
    display.types("/7777\r");
    display.until_shows("T7777");
    display.until_shows("Do T7777");
    // The filter stays, whatever the size.
    for (columns, rows) in [(200, 50), (50, 15), (80, 24)] {
        display.resize(columns, rows);
        display.until_shows("Do T7777");
        display.until_shows("0/10000 done");
    }
    display.types("\u{1b}");
    display.until_shows("n next at work");
    display.types("G");
    display.until_shows("T10000");
    display.types("q");
    let _ = watch.wait().exits(0);
}

#[test]
fn every_view_is_there_on_terminals_of_any_size() {
    let sandbox = ended();
    let views = [
        ("1", "Detail"),
        ("2", "I did nothing"),
        ("3", "Checks"),
        ("4", "Diff"),
        ("5", "abandoned T2"),
        ("6", "Landed last"),
        ("7", "T2       failed"),
        ("8", "where the time went"),
        ("t", "it could start"),
    ];
    for (columns, rows) in [(80, 24), (200, 50), (50, 15)] {
        let (watch, mut display) = Display::start(&sandbox, (columns, rows), "watch");
        display.until_shows("1/3 done");
        for (key, text) in views {
            display.types(key);
            // What is at the end of a long text is where it is followed to.
            if key == "8" {
                display.until_shows("T2");
                display.types("G");
                display.until_shows("critical path");
                display.types("/where the time\r");
            }
            display.until_shows(text);
        }
        display.types("q");
        let _ = watch.wait().exits(0);
    }
}

#[test]
fn a_terminal_that_is_resized_again_and_again_while_the_run_goes_on_shows_its_end() {
    let sandbox = sandbox();
    let ids: Vec<String> = (1..=12).map(|number| format!("T{number}")).collect();
    sandbox.plan(&ids.iter().map(|id| task(id, "")).collect::<String>());
    sandbox.script(&writers(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("attempt 1 started");
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    let mut sizes = [(50, 15), (200, 50), (20, 6), (80, 24), (119, 31)].into_iter().cycle();
    until("the end of the run", || {
        let (columns, rows) = sizes.next().expect("it never ends");
        display.resize(columns, rows);
        run.has_ended().then_some(())
    });
    let _ = run.wait().exits(0);
    // Another size than any before: nothing is drawn again for one that stays.
    display.resize(90, 28);
    display.until_shows("✓ completed");
    display.until_shows("12/12 done");
    until("the keys in the last row", || {
        let keys = display.look().rows(0, 90).last().unwrap_or_default();
        keys.contains("q quit").then_some(())
    });
    display.types("q");
    let _ = watch.wait().exits(0);
}

#[test]
fn the_timeline_of_the_run_and_of_a_task_is_drawn_while_it_goes_on() {
    let sandbox = waiting();
    let run = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    let (watch, mut display) = Display::start(&sandbox, (100, 30), "watch");
    display.until_shows("1 in progress");
    display.types("t");
    display.until_shows("has taken");
    display.until_shows("* T1");
    display.types("t");
    display.until_shows("agents working");
    display.until_shows("so far");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    display.until_shows("T1 took");
    display.types("t");
    display.until_shows("* T2");
    display.types("q");
    let _ = watch.wait().exits(0);
}

/// Each key moves the selection by one task, so a key that is lost is seen.
#[test]
fn a_key_that_comes_with_a_change_of_the_size_is_heard() {
    let sandbox = sandbox();
    let ids: Vec<String> = (1..=60).map(|number| format!("T{number:02}")).collect();
    sandbox.plan(&ids.iter().map(|id| task(id, "")).collect::<String>());
    let _ = sandbox.run("start T01 --by me --plan plan.toml").exits(0);
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("0/60 done");
    // The group, above its tasks.
    display.types("g");
    display.until_shows("0/60 done · 1 in progress");
    for turn in 1..=10 {
        // Both are there when it looks again.
        watch.signal(Signal::STOP);
        display.terminal.resize(81 + turn % 2, 24);
        display.types("j");
        watch.signal(Signal::CONT);
        display.until_shows(&format!("T{turn:02}  Do T{turn:02}"));
    }
    display.types("q");
    let _ = watch.wait().exits(0);
}

/// A plan with control characters is rejected; what an agent prints is not.
#[test]
fn hostile_output_is_only_text() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "").replace("Do T1", "日本 wide"));
    sandbox.script("[T1]\nsay \u{1b}[2J\u{1b}]0;owned\u{7}evil\u{202e} 日本\nwrite T1.txt done\n");
    let _ = sandbox.run("run plan.toml").exits(0);
    let (watch, mut display) = Display::start(&sandbox, (80, 24), "watch");
    display.until_shows("日本 wide");
    // A completed task is not selected by itself.
    display.types("j2");
    display.until_shows("evil 日本");
    let shown = display.terminal.shown();
    assert!(!shown.contains("\u{1b}]0;owned") && !shown.contains('\u{202e}'), "{shown:?}");
    display.types("q");
    let _ = watch.wait().exits(0);
}
