//! The live area on a real terminal: tmux shows what a person would see.

use std::process::Command;

use crate::sandbox;
use camino::Utf8PathBuf;
use piton_testkit::sandbox::{Sandbox, task, until};

/// A terminal in which the binary runs. It stays when that has ended.
struct Terminal {
    socket: Utf8PathBuf,
}

impl Terminal {
    /// `None` where there is no tmux.
    fn start(sandbox: &Sandbox, size: (u16, u16), locale: &str, line: &str) -> Option<Terminal> {
        Terminal::start_below(0, sandbox, size, locale, line)
    }

    /// The same, below so many lines.
    fn start_below(
        above: u16,
        sandbox: &Sandbox,
        (rows, columns): (u16, u16),
        locale: &str,
        line: &str,
    ) -> Option<Terminal> {
        let terminal = Terminal { socket: sandbox.root().join("tmux") };
        let (home, project) = (sandbox.root().join("home"), sandbox.project());
        let path = std::env::var("PATH").unwrap_or_default();
        let environment = format!("PATH='{path}' HOME={home} TERM=screen PITON_SANDBOX=off {locale}");
        let binary = env!("CARGO_BIN_EXE_piton");
        let run = format!(
            "trap : INT; seq {above}; cd {project} && env -i {environment} {binary} {line}; echo \"[ended $?]\"; cat > /dev/null"
        );
        let (rows, columns) = (rows.to_string(), columns.to_string());
        let size = ["new-session", "-d", "-x", &columns, "-y", &rows, "sh", "-c", &run];
        match terminal.tmux(&size) {
            Some(_) => Some(terminal),
            None => {
                piton_testkit::skipped("the live area: there is no tmux to show it");
                None
            }
        }
    }

    fn tmux(&self, words: &[&str]) -> Option<String> {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S", self.socket.as_str()]).args(words);
        let out = command.env("LANG", "C.UTF-8").env("TERM", "screen").env_remove("TMUX").output().ok()?;
        out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Everything that is and was on the screen.
    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-500"]).unwrap_or_default()
    }

    /// The screen as it is.
    fn screen(&self) -> Vec<String> {
        let text = self.tmux(&["capture-pane", "-p"]).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    #[track_caller]
    fn until_shows(&self, text: &str) {
        until(&format!("{text:?} on the screen"), || self.shown().contains(text).then_some(()));
    }

    fn keys(&self, keys: &str) {
        let _ = self.tmux(&["send-keys", keys]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// Tasks that are all at work, and stay so.
fn crowd(count: usize) -> Sandbox {
    let sandbox = sandbox();
    sandbox.fifo("never");
    let ids: Vec<String> = (1..=count).map(|number| format!("T{number}")).collect();
    let tasks: String = ids.iter().map(|id| task(id, "")).collect();
    sandbox.plan_with(&format!("max_parallel = {count}"), &tasks);
    let script: String = ids.iter().map(|id| format!("[{id}]\nmeet SIDE/never\n")).collect();
    sandbox.script(&script);
    sandbox
}

#[test]
fn the_live_area_takes_half_of_the_screen_and_leaves_nothing_behind() {
    let sandbox = crowd(6);
    let Some(terminal) = Terminal::start(&sandbox, (10, 80), "LANG=C.UTF-8", "run plan.toml") else { return };
    terminal.until_shows("+3 more");
    let screen = terminal.screen();
    let area = &screen[screen.len().saturating_sub(5)..];
    for (line, id) in area.iter().zip(["T1", "T2", "T3"]) {
        assert!(line.contains(&format!(" {id}       attempt 1 in progress for ")), "{screen:#?}");
    }
    assert_eq!(area[3].trim(), "+3 more", "{screen:#?}");
    assert!(area[4].starts_with('─') && area[4].contains(" 0/6"), "{screen:#?}");
    terminal.keys("C-c");
    terminal.until_shows("Ctrl-C asked to stop");
    terminal.keys("C-c");
    terminal.until_shows("[ended 3]");
    let shown = terminal.shown();
    for ghost in ["in progress for", "+3 more", "─ 0/6", "^C"] {
        assert!(!shown.contains(ghost), "{ghost:?} is left:\n{shown}");
    }
}

/// What a terminal shows of Ctrl-C would break a line that is as wide as the terminal.
#[test]
fn a_line_as_wide_as_the_terminal_leaves_nothing_behind_either() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", ""));
    sandbox.script("[T1]\nsignal LIMIT:1h\n");
    let Some(terminal) = Terminal::start(&sandbox, (20, 60), "LANG=C.UTF-8", "run plan.toml") else { return };
    terminal.until_shows("─ 0/1 usage limit of default");
    terminal.keys("C-c");
    terminal.until_shows("[ended 3]");
    let shown = terminal.shown();
    for ghost in ["─ 0/1", "^C"] {
        assert!(!shown.contains(ghost), "{ghost:?} is left:\n{shown}");
    }
}

#[test]
fn the_live_area_is_ascii_where_the_locale_is_not_utf_8() {
    let sandbox = crowd(2);
    let Some(terminal) = Terminal::start(&sandbox, (20, 60), "LC_ALL=C LANG=C.UTF-8", "run plan.toml") else {
        return;
    };
    until("the bar", || {
        let screen = terminal.screen();
        let bar = screen.last().filter(|line| line.contains(" 0/2"))?;
        assert!(screen.iter().all(|line| line.is_ascii()), "{screen:#?}");
        (bar.starts_with("---") && screen.iter().any(|line| line.contains("in progress for "))).then_some(())
    });
}

/// How often the lines of the area are on the screen or were, however short they are cut.
fn areas(shown: &str) -> [usize; 3] {
    [" T1       attempt 1 in", " T2       attempt 1 in", " 0/2"].map(|text| shown.matches(text).count())
}

/// How many agents their keepers have started.
fn begun(sandbox: &Sandbox) -> usize {
    let inside = |folder: &Utf8PathBuf| {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        entries.map(|entry| entry.path().to_owned()).collect::<Vec<_>>()
    };
    let runs = inside(&sandbox.own().join("runs"));
    let jobs = runs.iter().flat_map(inside).flat_map(|task| inside(&task));
    jobs.filter(|job| job.join("started.json").is_file()).count()
}

/// What is typed does not belong to the run, and a line break would move the area by a row.
#[test]
fn keys_that_somebody_presses_leave_the_live_area_in_its_place() {
    let sandbox = crowd(2);
    let Some(terminal) = Terminal::start(&sandbox, (20, 80), "LANG=C.UTF-8", "run plan.toml") else { return };
    terminal.until_shows("T2       attempt 1 in progress for ");
    // Ctrl-C ends a keeper that has not left the terminal yet; its agent would be started again.
    until("both agents", || (begun(&sandbox) == 2).then_some(()));
    for key in ["Enter", "x", "Enter", "Enter"] {
        terminal.keys(key);
    }
    terminal.keys("C-c");
    terminal.until_shows("Ctrl-C asked to stop");
    let shown = terminal.shown();
    assert_eq!(areas(&shown), [1, 1, 1], "{shown}");
    terminal.keys("C-c");
    terminal.until_shows("[ended 3]");
    // Afterwards it shows again what is typed.
    terminal.keys("typed");
    terminal.until_shows("typed");
}

#[test]
fn a_terminal_that_is_made_narrower_or_wider_shows_the_live_area_once() {
    // The bar takes half of what it may at most, so its length tells that it was drawn since.
    for (before, columns, bar) in [(80, "30", 14), (80, "24", 11), (30, "90", 30)] {
        let sandbox = crowd(2);
        let start = Terminal::start(&sandbox, (20, before), "LANG=C.UTF-8", "run plan.toml");
        let Some(terminal) = start else { return };
        terminal.until_shows("T2       attempt 1 in");
        assert!(terminal.tmux(&["resize-window", "-x", columns]).is_some());
        let bar = format!("{} 0/2", "─".repeat(bar));
        until("a bar of that length", || {
            terminal.screen().last().filter(|line| line.starts_with(&bar)).map(|_| ())
        });
        let shown = terminal.shown();
        assert_eq!(areas(&shown), [1, 1, 1], "{columns} columns:\n{shown}");
    }
}

/// A terminal tells a program of its size late, and not of every one that it had. Each time that it is made narrower, tmux also
/// moves everything up by the rows that it breaks: what is above the area keeps that on the screen.
#[test]
fn a_terminal_whose_size_changes_several_times_in_a_row_shows_the_live_area_once() {
    let sandbox = crowd(2);
    let start = Terminal::start_below(50, &sandbox, (60, 80), "LANG=C.UTF-8", "run plan.toml");
    let Some(terminal) = start else { return };
    terminal.until_shows("T2       attempt 1 in progress");
    let sizes =
        [["90", "30"], ["90", "24"], ["70", "31"], ["22", "80"], ["50", "22"], ["100", "30"], ["64", "44"]];
    for columns in sizes {
        for columns in columns {
            assert!(terminal.tmux(&["resize-window", "-x", columns]).is_some());
        }
        // What was drawn for another size is drawn again at the latest when the spinner turns.
        let before = terminal.shown();
        until("the next picture", || (terminal.shown() != before).then_some(()));
    }
    let bar = format!("{} 0/2", "─".repeat(21));
    until("a bar of that length", || {
        terminal.screen().last().filter(|line| line.starts_with(&bar)).map(|_| ())
    });
    let shown = terminal.shown();
    assert_eq!(areas(&shown), [1, 1, 1], "{shown}");
    // Nor is anything lost that was there before.
    for line in (1..=50).map(|number| number.to_string()) {
        assert_eq!(shown.lines().filter(|shown| **shown == line).count(), 1, "{line} in\n{shown}");
    }
    for event in ["T1       attempt 1 started", "T2       attempt 1 started"] {
        assert_eq!(shown.replace('\n', "").matches(event).count(), 1, "{event} in\n{shown}");
    }
}

#[test]
fn a_terminal_that_is_made_lower_or_higher_loses_no_line() {
    let sandbox = crowd(9);
    let start = Terminal::start_below(50, &sandbox, (24, 80), "LANG=C.UTF-8", "run plan.toml");
    let Some(terminal) = start else { return };
    terminal.until_shows("T9       attempt 1 in progress");
    for rows in ["12", "40", "5", "30", "2", "24"] {
        assert!(terminal.tmux(&["resize-window", "-y", rows]).is_some());
        let before = terminal.shown();
        until("the next picture", || (terminal.shown() != before).then_some(()));
    }
    terminal.until_shows("T9       attempt 1 in progress");
    let shown = terminal.shown();
    for line in (1..=50).map(|number| number.to_string()) {
        assert_eq!(shown.lines().filter(|shown| **shown == line).count(), 1, "{line} in\n{shown}");
    }
    for task in 1..=9 {
        for text in ["attempt 1 started", "attempt 1 in progress"] {
            let text = format!("T{task}       {text}");
            assert_eq!(shown.matches(&text).count(), 1, "{text} in\n{shown}");
        }
    }
    assert_eq!(shown.matches(" 0/9").count(), 1, "{shown}");
    assert!(!shown.contains("more"), "{shown}");
}

/// T1 says what it does, and stays at it.
fn talking(words: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.fifo("gate");
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    sandbox.script(&format!("[T1]\n{words}meet SIDE/gate\nwrite T1.txt x\n[T2]\nwrite T2.txt x\n"));
    sandbox
}

#[test]
fn the_live_area_tells_what_each_agent_did_last_and_what_a_stop_waits_for() {
    let sandbox = talking("say Rope up\nsay Climb the north face\n");
    let Some(terminal) = Terminal::start(&sandbox, (20, 80), "LANG=C.UTF-8", "run plan.toml") else { return };
    until("the last words", || {
        let screen = terminal.screen();
        screen
            .iter()
            .any(|line| {
                line.contains(" T1       attempt 1 in progress for ")
                    && line.ends_with("  Climb the north face")
            })
            .then_some(())
    });
    terminal.keys("C-c");
    until("the bar", || {
        terminal.screen().last().filter(|line| line.ends_with(" 0/2 stopping: waits for T1")).map(|_| ())
    });
    sandbox.meet("gate");
    terminal.until_shows("[ended 3]");
    let shown = terminal.shown();
    assert!(!shown.contains("north face") && !shown.contains("waits for T1"), "{shown}");
    assert!(shown.contains("1 landed, 1 not done; took "), "{shown}");
}

#[test]
fn the_live_area_tells_what_a_client_does_and_has_used() {
    let sandbox = sandbox();
    sandbox.fifo("gate");
    let call = r#"{"type":"assistant","message":{"id":"m1","model":"opus","usage":{"input_tokens":1000,"output_tokens":100},"content":[{"type":"tool_use","name":"Bash","input":{"command":"cargo test climb"}}]}}"#;
    let gate = sandbox.root().join("gate");
    let bin = sandbox.program("client", &format!("cat > /dev/null; echo '{call}'; cat {gate}; exit 1"));
    let plan = format!(
        "name = 'plan'\n[agents.default]\nadapter = 'claude'\nprogram = '{bin}/client'\n[defaults]\n{}",
        task("T1", "")
    );
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Plan");
    let Some(terminal) = Terminal::start(&sandbox, (20, 80), "LANG=C.UTF-8", "run plan.toml") else { return };
    until("the call", || {
        let screen = terminal.screen();
        let line = screen.iter().find(|line| line.contains(" T1       attempt 1 in progress for "))?;
        line.ends_with(", 1.1k tokens  → Bash: cargo test climb").then_some(())
    });
    terminal.keys("C-c");
    terminal.until_shows("Ctrl-C asked to stop");
    terminal.keys("C-c");
    terminal.until_shows("[ended 3]");
}

/// The lines of the live area, as a terminal of this size shows them, without what differs between two runs.
#[cfg(target_os = "linux")]
#[test]
fn the_live_area_fits_on_terminals_of_any_size() {
    use crate::watch::Display;
    for (columns, rows) in [(80, 24), (200, 50), (50, 15)] {
        let sandbox = crowd(9);
        let (run, mut display) = Display::start(&sandbox, (columns, rows), "run plan.toml");
        // The last one has started, and has its line if there is room.
        display.until_shows(if rows > 20 { "T9       attempt 1 in progress" } else { "+4 more" });
        let screen = display.look().rows(0, columns).collect::<Vec<_>>();
        let area = screen.iter().skip_while(|line| !line.contains("in progress for"));
        let area: Vec<&str> = area.map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
        assert!(area.iter().all(|line| line.chars().count() < usize::from(columns)), "{area:#?}");
        let mut settings = crate::filters();
        settings.add_filter(r"(?m)^. T", "* T");
        settings.bind(|| insta::assert_snapshot!(format!("area_{columns}x{rows}"), area.join("\n")));
        assert!(display.terminal.keeps_what_is_drawn());
        display.types("\u{3}");
        display.until_shows("stopping: waits for");
        display.types("\u{3}");
        let _ = run.wait().exits(3);
        let left = display.text();
        assert!(!left.contains("─ 0/9") && left.contains("9 not done; took"), "{left}");
        assert!(!left.contains("in progress for"), "{columns}x{rows}:\n{left}");
        assert!(display.terminal.is_usual());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_live_area_of_ten_thousand_tasks_shows_those_at_work() {
    use crate::watch::Display;
    let sandbox = sandbox();
    sandbox.fifo("never");
    let ids: Vec<String> = (1..=10_000).map(|number| format!("T{number:05}")).collect();
    sandbox.plan_with("max_parallel = 3", &ids.iter().map(|id| task(id, "")).collect::<String>());
    let at_work = |id: &String| format!("[{id}]\nsay Climb {id}\nmeet SIDE/never\n");
    sandbox.script(&ids.iter().take(3).map(at_work).collect::<String>());
    let (run, mut display) = Display::start(&sandbox, (80, 24), "run plan.toml");
    for id in &ids[..3] {
        display.until_shows(&format!("{id}   attempt 1 in progress for"));
        display.until_shows(&format!("  Climb {id}"));
    }
    display.until_shows("─ 0/10000");
    display.terminal.until_shows("0/10000 plan · piton");
    display.types("\u{3}");
    display.until_shows("stopping: waits for T00001");
    display.types("\u{3}");
    let _ = run.wait().exits(3);
    display.until_shows("10000 not done");
}

#[cfg(target_os = "linux")]
#[test]
fn the_live_area_shows_who_confirms_what_is_to_land_and_who_rejects_a_login() {
    use crate::watch::Display;
    let sandbox = sandbox();
    sandbox.fifo("never");
    let side = |line: &str| line.replace("SIDE", sandbox.root().as_str());
    let confirms =
        "if test -e SIDE/again; then echo look again; cat SIDE/never; fi; touch SIDE/again; echo x > T1.txt";
    let _ = sandbox.program("work", &side(confirms));
    let bin = sandbox.program("refused", "echo '<signal>REFUSED:the key is old</signal>'; exit 1");
    let tasks = task("T1", "confirm = true") + &task("T2", "") + &task("T3", "agent = 'first'");
    let first = format!("[agents.first]\ncommand = ['{bin}/refused']\n\n[policy]");
    sandbox.write("plan.toml", &sandbox.plan_text("", &tasks).replace("[policy]", &first));
    sandbox.commit("Plan");
    sandbox.script("[T1]\nrun SIDE/bin/work\n[T2]\nwrite T2.txt done\n");
    // It is in the way of the landing.
    sandbox.write("T2.txt", "mine");
    let (run, mut display) = Display::start(&sandbox, (120, 24), "run plan.toml");
    display.until_shows("T1       attempt 1 confirming for ");
    display.until_shows("  look again");
    display.until_shows("T2       attempt 1 has waited to land for ");
    display.until_shows(" 0/3 1 to land; first rejects the login of `first`");
    display.types("\u{3}");
    display.until_shows(" 0/3 1 to land; stopping: waits for T1; first rejects the login of `first`");
    display.types("\u{3}");
    let _ = run.wait().exits(3);
    // The next engine shows again what is to land, although it began before.
    std::fs::remove_file(sandbox.root().join("again")).expect("our own file");
    let (run, mut display) = Display::start(&sandbox, (120, 24), "run plan.toml");
    display.until_shows("T2       attempt 1 has waited to land for ");
    display.types("\u{3}");
    display.until_shows("stopping");
    display.types("\u{3}");
    let _ = run.wait().exits(3);
}
