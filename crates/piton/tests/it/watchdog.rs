//! An engine that is killed cannot tell anybody. Its watchdog does: once for each death, and only where the run stands still.
#![cfg(target_os = "linux")]

use piton_testkit::sandbox::{Running, Sandbox, task, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{json, sandbox};

/// T1 waits for us, and messages are lines in a file.
fn waiting(more: &str) -> Sandbox {
    let sandbox = sandbox();
    let bin = sandbox.program("tell", &format!("{{ tr -d '\\n'; echo; }} >> {}/told", sandbox.root()));
    sandbox.write("piton.toml", &format!("[notify]\ncommand = ['{bin}/tell']\n{more}\n"));
    sandbox.plan(&task("T1", ""));
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/arrived\nmeet SIDE/gate\nwrite T1.txt x\n");
    sandbox
}

/// What each message so far was about, and the kinds of things in it.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.root().join("told")).unwrap_or_default();
    let words = |message: &Value, list: &str, key: &str| {
        let words = message[list].as_array().expect("a list").iter();
        let words = words.filter_map(|word| if key.is_empty() { word.as_str() } else { word[key].as_str() });
        words.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    messages.map(|all| format!("{}: {}", words(&all, "about", ""), words(&all, "items", "kind"))).collect()
}

fn watchdogs(sandbox: &Sandbox) -> Vec<i32> {
    let all = sandbox.processes();
    all.into_iter().filter(|(_, line)| line.ends_with(" watchdog ")).map(|(pid, _)| pid).collect()
}

/// The watchdogs that are there now have ended.
fn until_ended(sandbox: &Sandbox, pids: &[i32]) {
    until("the end of the watchdogs", || {
        watchdogs(sandbox).iter().all(|pid| !pids.contains(pid)).then_some(())
    });
}

/// An engine at work on T1, and its watchdog.
fn at_work(sandbox: &Sandbox, more: &[(&str, &str)]) -> (Running, i32) {
    let before = watchdogs(sandbox);
    let call = sandbox.piton(["run", "plan.toml"]);
    let mut run = more.iter().fold(call, |call, (name, value)| call.env(name, value)).spawn();
    run.until_says("attempt 1 started");
    let watchdog = until("a watchdog", || watchdogs(sandbox).into_iter().find(|pid| !before.contains(pid)));
    (run, watchdog)
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("not zero"), signal).expect("our own watchdog");
}

#[test]
fn an_engine_that_is_killed_is_told_once_and_waits_in_the_inbox() {
    let sandbox = waiting("");
    let (run, watchdog) = at_work(&sandbox, &[]);
    run.signal(Signal::KILL);
    let _ = run.wait();
    until("a message", || (!told(&sandbox).is_empty()).then_some(()));
    until_ended(&sandbox, &[watchdog]);
    assert_eq!(told(&sandbox), ["needs-you: run"]);
    let message: Value = serde_json::from_str(&sandbox.read(sandbox.root().join("told"))).expect("JSON");
    let title = message["title"].as_str().expect("a title");
    assert!(title.ends_with(": the engine stopped without saying why: it crashed, or was killed"), "{title}");
    let text = message["text"].as_str().expect("text");
    assert!(text.ends_with("\n  $ piton run plan.toml"), "{text}");
    let inbox = sandbox.run("inbox --json").exits(0);
    assert_eq!(json(&inbox, "/items/0/kind"), "run");
    assert_eq!(json(&inbox, "/items/0/seen_by"), serde_json::json!(["notify:command"]));
    // The agent outlived the engine, and is waited for.
    let again = sandbox.piton(["run", "plan.toml"]).spawn();
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = again.wait().exits(0);
    assert_eq!(told(&sandbox), ["needs-you: run", "done: "]);
    until("no watchdog", || watchdogs(&sandbox).is_empty().then_some(()));
}

#[test]
fn a_run_that_is_resumed_at_once_is_not_told() {
    let sandbox = waiting("");
    let (run, watchdog) = at_work(&sandbox, &[]);
    run.signal(Signal::KILL);
    let _ = run.wait();
    let mut again = sandbox.piton(["run", "plan.toml"]).spawn();
    until_ended(&sandbox, &[watchdog]);
    assert!(!again.has_ended());
    assert_eq!(told(&sandbox), [""; 0]);
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = again.wait().exits(0);
    until("no watchdog", || watchdogs(&sandbox).is_empty().then_some(()));
    assert_eq!(told(&sandbox), ["done: "]);
}

#[test]
fn each_death_is_told_once() {
    let sandbox = waiting("");
    for deaths in 1..=2 {
        let (run, watchdog) = match deaths {
            1 => at_work(&sandbox, &[]),
            _ => {
                let before = sandbox.events().len();
                let run = sandbox.piton(["run", "plan.toml"]).spawn();
                until("an engine", || {
                    let events = sandbox.events();
                    events[before..].iter().any(|event| event.contains("engine_started")).then_some(())
                });
                (run, until("a watchdog", || watchdogs(&sandbox).first().copied()))
            }
        };
        run.signal(Signal::KILL);
        let _ = run.wait();
        until_ended(&sandbox, &[watchdog]);
        assert_eq!(told(&sandbox).len(), deaths, "{:?}", told(&sandbox));
    }
    assert_eq!(told(&sandbox), ["needs-you: run", "needs-you: run"]);
}

#[test]
fn a_run_that_has_ended_or_was_to_stop_is_not_told() {
    let sandbox = waiting("");
    let (run, _) = at_work(&sandbox, &[]);
    sandbox.meet("arrived");
    sandbox.meet("gate");
    let _ = run.wait().exits(0);
    until("no watchdog", || watchdogs(&sandbox).is_empty().then_some(()));
    assert_eq!(told(&sandbox), ["done: "]);
    // Somebody asked for the stop, and knows.
    let sandbox = waiting("");
    let (run, watchdog) = at_work(&sandbox, &[]);
    // The engine waits for its agent then.
    sandbox.meet("arrived");
    let _ = sandbox.run("stop").exits(0);
    run.signal(Signal::KILL);
    let _ = run.wait();
    until_ended(&sandbox, &[watchdog]);
    assert_eq!(told(&sandbox), [""; 0]);
    let _ = sandbox.run("inbox").exits(0).says("the engine stopped without saying why");
}

#[test]
fn a_watchdog_that_is_killed_or_stopped_holds_nothing_up() {
    for (what, after) in [(Signal::KILL, None), (Signal::STOP, Some(Signal::CONT))] {
        let sandbox = waiting("");
        let (run, watchdog) = at_work(&sandbox, &[]);
        signal(watchdog, what);
        sandbox.meet("arrived");
        sandbox.meet("gate");
        let _ = run.wait().exits(0);
        assert_eq!(told(&sandbox), ["done: "]);
        if let Some(after) = after {
            let _ = sandbox.run("run plan.toml").exits(0);
            signal(watchdog, after);
        }
        until_ended(&sandbox, &[watchdog]);
        assert_eq!(told(&sandbox), ["done: "]);
    }
}

#[test]
fn a_watchdog_that_dies_before_its_message_is_not_made_up_for() {
    let sandbox = waiting("");
    let (run, watchdog) = at_work(&sandbox, &[("PITON_CRASH", "notify.noted:1")]);
    run.signal(Signal::KILL);
    let _ = run.wait();
    until_ended(&sandbox, &[watchdog]);
    assert_eq!(told(&sandbox), [""; 0], "it wrote down that it tells");
    let inbox = sandbox.run("inbox --json").exits(0);
    assert_eq!(json(&inbox, "/items/0/seen_by"), serde_json::json!(["notify:command"]));
}

#[test]
fn only_runs_that_tell_of_what_waits_have_a_watchdog() {
    for (more, flags) in [("on = ['done', 'budget']", &[][..]), ("", &["--notify", "off"])] {
        let sandbox = waiting(more);
        let mut run = sandbox.piton(["run", "plan.toml"].into_iter().chain(flags.iter().copied())).spawn();
        run.until_says("attempt 1 started");
        assert_eq!(watchdogs(&sandbox), [0; 0]);
        sandbox.meet("arrived");
        sandbox.meet("gate");
        let _ = run.wait().exits(0);
    }
}

/// Whatever reads the output of a run sees its end when the engine ends, and the next one can begin at once.
#[test]
fn a_watchdog_keeps_no_output_and_no_lock() {
    let sandbox = waiting("");
    let (run, watchdog) = at_work(&sandbox, &[]);
    for descriptor in ["1", "2"] {
        let file = std::fs::read_link(format!("/proc/{watchdog}/fd/{descriptor}")).expect("it lives");
        assert_eq!(file, std::path::Path::new("/dev/null"));
    }
    let open = std::fs::read_dir(format!("/proc/{watchdog}/fd")).expect("it lives").flatten();
    let open: Vec<_> = open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    let own = sandbox.own();
    assert!(open.iter().all(|file| !file.starts_with(&own)), "{open:?}");
    let folder = std::fs::read_link(format!("/proc/{watchdog}/cwd")).expect("it lives");
    assert_eq!(folder, std::path::Path::new("/"), "a file system can be unmounted");
    drop(run);
}
