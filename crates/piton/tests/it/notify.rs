//! Messages to a person who does not watch: each thing once, whatever dies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use piton_testkit::sandbox::{Sandbox, task, until, writers};
use serde_json::Value;

use crate::sandbox;

/// A program that keeps each message in a line, and a project that names it.
fn told_by(sandbox: &Sandbox, more: &str) {
    let file = sandbox.root().join("told");
    let bin = sandbox.program("tell", &format!("{{ tr -d '\\n'; echo; }} >> {file}"));
    sandbox.write("piton.toml", &format!("[notify]\ncommand = ['{bin}/tell']\n{more}\n"));
}

/// The messages so far.
fn told(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.root().join("told")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What the messages were about, and how many things each held.
fn about(sandbox: &Sandbox) -> Vec<(String, usize)> {
    let one = |message: &Value| {
        let topics = message["about"].as_array().expect("a list").iter().filter_map(Value::as_str);
        (topics.collect::<Vec<_>>().join(" "), message["items"].as_array().expect("a list").len())
    };
    told(sandbox).iter().map(one).collect()
}

fn all(list: &[(&str, usize)]) -> Vec<(String, usize)> {
    list.iter().map(|(topics, items)| ((*topics).to_owned(), *items)).collect()
}

/// T1 asks, T2 has no attempt left, T3 is done.
fn two_wait(more: &str) -> Sandbox {
    let sandbox = sandbox();
    told_by(&sandbox, more);
    sandbox.plan(&(task("T1", "") + &task("T2", "attempts = 1\nchecks = ['false']") + &task("T3", "")));
    sandbox.script(
        "[T1]\nsignal BLOCKED:which of the two ridges?\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n",
    );
    sandbox
}

#[test]
fn what_waits_at_the_end_is_one_message_and_comes_once() {
    let sandbox = two_wait("");
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(about(&sandbox), all(&[("done needs-you", 2)]));
    let message = &told(&sandbox)[0];
    let text = message["text"].as_str().expect("text");
    assert!(text.contains("the run has ended with unfinished work: 1 of 3 completed"), "{text}");
    assert!(text.contains("which of the two ridges?\n  $ piton answer T1 'what to do'"), "{text}");
    assert!(message["run"].as_str().is_some_and(|run| run.starts_with("plan-")), "{message}");
    assert_eq!(message["project"], sandbox.project().as_str());
    // Nothing has changed, so nothing is told.
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(told(&sandbox).len(), 1);
    // It asks again: that is new, and so is the end. What T2 needs was told.
    let _ = sandbox.piton(["answer", "T1", "the left one"]).run().exits(0);
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(about(&sandbox), all(&[("done needs-you", 2), ("done needs-you", 1)]));
    let _ = sandbox.run("log --verbose").exits(0).says("notified you (command) of");
}

#[test]
fn a_complete_run_is_told_once() {
    let sandbox = sandbox();
    told_by(&sandbox, "");
    sandbox.plan(&task("T1", ""));
    sandbox.script(&writers(&["T1"]));
    for _ in 0..2 {
        let _ = sandbox.run("run plan.toml").exits(0);
        assert_eq!(about(&sandbox), all(&[("done", 0)]));
    }
    // A new run has an end of its own.
    sandbox.script("[T1]\nwrite T1.txt again\n");
    let _ = sandbox.run("run plan.toml --reset").exits(0);
    assert_eq!(about(&sandbox), all(&[("done", 0), ("done", 0)]));
}

#[test]
fn what_waits_is_told_while_the_run_goes_on_and_nothing_that_solved_itself() {
    let sandbox = sandbox();
    told_by(&sandbox, "");
    sandbox.plan(&(task("T1", "") + &task("T2", "") + &task("T3", "")));
    sandbox.fifo("gate");
    sandbox.script(
        "[T1]\nsignal BLOCKED:left or right?\n[T2]\nmeet SIDE/gate\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n",
    );
    // T3 cannot land over this file, until it is gone.
    sandbox.write("T3.txt", "mine");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("uncommitted changes");
    std::fs::remove_file(sandbox.project().join("T3.txt")).expect("our own file");
    until("a message", || (!told(&sandbox).is_empty()).then_some(()));
    assert!(!run.has_ended());
    let first = &told(&sandbox)[0];
    assert_eq!(about(&sandbox), all(&[("needs-you", 1)]), "{first}");
    assert_eq!(first["items"][0]["kind"], "blocked");
    assert!(first["title"].as_str().is_some_and(|title| title.ends_with(": blocked T1")), "{first}");
    sandbox.meet("gate");
    let _ = run.wait().exits(4);
    assert_eq!(about(&sandbox), all(&[("needs-you", 1), ("done", 0)]));
}

#[test]
fn a_message_that_was_noted_and_not_sent_is_lost_and_never_doubled() {
    let sandbox = two_wait("");
    let dies = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH", "notify.noted:1").run();
    assert!(dies.code.is_none(), "it was killed: {dies}");
    assert_eq!(told(&sandbox).len(), 0);
    for _ in 0..2 {
        let _ = sandbox.run("run plan.toml").exits(4);
        assert_eq!(told(&sandbox).len(), 0, "the note says that it was told");
    }
    let notes = sandbox.events().iter().filter(|event| event.contains("notify:command")).count();
    assert_eq!(notes, 1);
}

#[test]
fn an_engine_that_is_killed_before_the_note_leaves_it_to_the_next() {
    let sandbox = two_wait("");
    let dies = sandbox.piton(["run", "plan.toml"]).env("PITON_CRASH", "notify.look:1").run();
    assert!(dies.code.is_none(), "it was killed: {dies}");
    assert_eq!(told(&sandbox).len(), 0);
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(about(&sandbox), all(&[("done needs-you", 2)]));
}

#[test]
fn only_what_is_asked_for_is_told() {
    let sandbox = two_wait("on = ['done']");
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(about(&sandbox), all(&[("done", 0)]));
    let sandbox = two_wait("");
    let _ = sandbox.run("run plan.toml --notify off").exits(4);
    assert_eq!(told(&sandbox).len(), 0);
    let line = format!(
        "--notify=command=sh -c 'echo \"$PITON_NOTIFY_ABOUT $PITON_RUN\" > {}'",
        sandbox.root().join("said")
    );
    let _ = sandbox.piton(["run", "plan.toml", &line]).run().exits(4);
    // The journal knows one command, whichever that is.
    assert!(sandbox.read(sandbox.root().join("said")).starts_with("done,needs-you plan-"));
    let _ = sandbox.run("run plan.toml --notify pigeon").exits(2).says("it can be desktop, command");
    let _ = sandbox.run("run plan.toml --notify webhook").exits(2).says("has no `webhook`");
}

#[test]
fn a_run_that_a_person_stops_is_not_told() {
    let sandbox = sandbox();
    told_by(&sandbox, "");
    sandbox.plan(&task("T1", ""));
    sandbox.fifo("gate");
    sandbox.script("[T1]\nmeet SIDE/gate\nwrite T1.txt x\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("attempt 1 started");
    let _ = sandbox.run("stop --now").exits(0);
    let _ = run.wait().exits(3);
    assert_eq!(told(&sandbox).len(), 0);
}

#[test]
fn a_way_that_fails_is_said_once_and_the_run_goes_on() {
    let sandbox = two_wait("");
    let _ = sandbox.program("tell", "echo no route >&2; exit 7");
    let out = sandbox.run("run plan.toml").exits(4);
    let _ = out.says("not notified by command: `[ROOT]/bin/tell` failed with exit code 7: no route");
    let sandbox = two_wait("webhook = '$HOOK'");
    let out = sandbox.run("run plan.toml").exits(4);
    assert_eq!(out.stderr.matches("the variable HOOK is not set").count(), 1, "{out}");
    assert_eq!(about(&sandbox), all(&[("done needs-you", 2)]), "the other way works");
    let doctor = sandbox.run("doctor").exits(0);
    let _ = doctor.says("you are notified by command").says("not notified by webhook: the variable HOOK");
}

#[test]
fn a_message_on_the_desktop_is_shown_by_its_own_program() {
    let sandbox = two_wait("");
    let shown = sandbox.root().join("shown");
    let bin = sandbox.program("notify-send", &format!("printf '%s|' \"$@\" > {shown}"));
    sandbox.script("[T1]\nsignal BLOCKED:<b>left</b> & right?\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n");
    let run = sandbox.piton(["run", "plan.toml", "--notify", "desktop"]).with_path(&bin);
    let _ = run.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none").run().exits(4).lacks("not notified");
    let shown = sandbox.read(&shown);
    assert!(shown.starts_with("--app-name=Piton|--|plan-"), "{shown}");
    assert!(shown.contains("&lt;b&gt;left&lt;/b&gt; &amp; right?"), "{shown}");
}

/// A program that keeps each message in a line, and fails.
fn failing(sandbox: &Sandbox) {
    let file = sandbox.root().join("told");
    let _ = sandbox.program("tell", &format!("{{ tr -d '\\n'; echo; }} >> {file}; exit 7"));
}

#[test]
fn a_message_that_failed_is_sent_again_three_times_and_then_no_more() {
    let sandbox = two_wait("");
    failing(&sandbox);
    for tries in 1..=6 {
        let _ = sandbox.run("run plan.toml").exits(4);
        assert_eq!(about(&sandbox), vec![("done needs-you".to_owned(), 2); tries.min(4)]);
    }
    let _ = sandbox.run("log --verbose").exits(0).says("could not notify you (command) of");
}

#[test]
fn a_message_that_failed_arrives_once_its_channel_works() {
    let sandbox = two_wait("");
    failing(&sandbox);
    let _ = sandbox.run("run plan.toml").exits(4).says("not notified by command");
    told_by(&sandbox, "");
    for _ in 0..2 {
        let _ = sandbox.run("run plan.toml").exits(4).lacks("not notified");
        assert_eq!(told(&sandbox).len(), 2, "the one that failed, and the one that arrived");
    }
}

#[test]
fn a_message_that_failed_while_the_run_goes_on_is_sent_again_by_the_same_engine() {
    let sandbox = two_wait("");
    let (file, once) = (sandbox.root().join("told"), sandbox.root().join("once"));
    let fails_first =
        format!("test -e {once} || {{ touch {once}; exit 7; }}; {{ tr -d '\\n'; echo; }} >> {file}");
    let _ = sandbox.program("tell", &fails_first);
    sandbox.fifo("gate");
    sandbox
        .script("[T1]\nsignal BLOCKED:left?\n[T2]\nmeet SIDE/gate\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n");
    let mut run = sandbox.piton(["run", "plan.toml"]).spawn();
    run.until_says("not notified by command");
    until("a message", || (!told(&sandbox).is_empty()).then_some(()));
    assert!(!run.has_ended());
    assert_eq!(about(&sandbox), all(&[("needs-you", 1)]));
    sandbox.meet("gate");
    let _ = run.wait().exits(4);
}

#[test]
fn what_may_have_arrived_is_not_sent_again() {
    let sandbox = two_wait("");
    let file = sandbox.root().join("told");
    let _ = sandbox.program("tell", &format!("{{ tr -d '\\n'; echo; }} >> {file}; kill -KILL $$"));
    let _ = sandbox.run("run plan.toml").exits(4).says("not notified by command");
    let _ = sandbox.run("run plan.toml").exits(4);
    assert_eq!(told(&sandbox).len(), 1);
}

/// A project whose plan names an agent that says this, and ends.
fn says(words: &str, more: &str) -> Sandbox {
    let sandbox = sandbox();
    told_by(&sandbox, "");
    let plan = format!("name = 'plan'\n[agents.default]\ncommand = ['echo', '{words}']\n{more}\n");
    sandbox.write("plan.toml", &(plan + &task("T1", "")));
    sandbox.commit("Plan");
    sandbox
}

/// The desktop's program and a server get the same as a command does: the topic, and what it is about.
fn by_each_channel(sandbox: &Sandbox, flags: &str, topic: &str, words: &str) {
    let shown = sandbox.root().join("shown");
    let bin = sandbox.program("notify-send", &format!("printf '%s|' \"$@\" > {shown}"));
    let (url, got) = server("HTTP/1.1 204 No Content\r\n\r\n");
    let channels = format!("desktop,command,webhook={url}");
    let line = format!("run plan.toml {flags} --notify {channels}");
    let run = sandbox.piton(line.split_whitespace()).with_path(&bin);
    let _ = run.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none").run().exits(3).lacks("not notified");
    assert_eq!(about(sandbox), all(&[(topic, 1)]));
    let text = told(sandbox)[0]["text"].as_str().expect("text").to_owned();
    assert!(text.contains(words), "{text}");
    let shown = sandbox.read(&shown);
    assert!(shown.contains(words), "{shown}");
    let got = got.join().expect("a request");
    let body: Value = serde_json::from_str(got.split_once("\n\n").expect("a body").1).expect("JSON");
    assert_eq!((&body["about"], &body["text"]), (&serde_json::json!([topic]), &serde_json::json!(text)));
}

#[test]
fn a_provider_that_lets_no_agent_work_is_told_by_each_channel() {
    let sandbox = says("<signal>LIMIT:90m</signal>", "");
    by_each_channel(&sandbox, "--no-wait", "parked", "the usage limit of default lasts until");
    let sandbox = says("<signal>REFUSED:the key is old</signal>", "");
    by_each_channel(&sandbox, "", "parked", "default rejects the login of `default`: ");
    let inbox = sandbox.run("inbox --json").exits(0);
    assert_eq!(crate::json(&inbox, "/items/0/kind"), "provider");
    assert_eq!(crate::json(&inbox, "/items").as_array().map(Vec::len), Some(1), "one login is one item");
}

#[test]
fn a_budget_that_is_spent_is_told_by_each_channel() {
    let sandbox = says("<signal>LIMIT:90m</signal>", "[budget]\nrun_tokens = 1200");
    let spends = r#"cat > /dev/null
printf '{"type":"system","subtype":"init","session_id":"s1"}\n'
for i in 1 2 3; do printf '{"type":"assistant","message":{"id":"m%d","model":"m","content":[],"usage":{"input_tokens":400,"output_tokens":100}}}\n' $i; done
exec sleep 100"#;
    let bin = sandbox.program("spender", spends);
    let client = format!("adapter = 'claude'\nprogram = '{bin}/spender'");
    let plan = sandbox.read("plan.toml").replace("command = ['echo', '<signal>LIMIT:90m</signal>']", &client);
    sandbox.write("plan.toml", &plan);
    sandbox.commit("Client");
    by_each_channel(&sandbox, "", "budget", "the budget is spent: 1500 of 1200 tokens are used");
}

#[test]
fn a_run_that_waits_for_others_is_an_item_and_told_as_one() {
    let sandbox = sandbox();
    told_by(&sandbox, "");
    sandbox.plan(&(task("T1", "") + &task("T2", "")));
    sandbox.script(&writers(&["T2"]));
    let _ = sandbox.run("next --plan plan.toml").exits(0);
    let _ = sandbox.run("start T1 --by ann").exits(0);
    let _ = sandbox.run("run plan.toml").exits(3).says("T1 is held by ann");
    assert_eq!(about(&sandbox), all(&[("needs-you", 1)]));
    let inbox = sandbox.run("inbox --json").exits(0);
    assert_eq!(crate::json(&inbox, "/items/0/kind"), "run");
    assert_eq!(crate::json(&inbox, "/items/0/reason"), "T1 is held by ann");
    // Nothing has changed.
    let _ = sandbox.run("run plan.toml").exits(3);
    assert_eq!(told(&sandbox).len(), 1);
}

#[test]
fn words_of_a_task_call_nobody_in_a_chat() {
    let sandbox = two_wait("");
    sandbox.script(
        "[T1]\nsignal BLOCKED:@everyone <!channel> <@U1>?\n[T2]\nwrite T2.txt x\n[T3]\nwrite T3.txt x\n",
    );
    let (url, got) = server("HTTP/1.1 204 No Content\r\n\r\n");
    let _ = sandbox.piton(["run", "plan.toml", "--notify", &format!("webhook={url}")]).run().exits(4);
    let got = got.join().expect("a request");
    let body: Value = serde_json::from_str(got.split_once("\n\n").expect("a body").1).expect("JSON");
    let text = body["text"].as_str().expect("text");
    assert!(text.contains("@\u{200b}everyone <\u{200b}!channel> <\u{200b}@\u{200b}U1>?"), "{text}");
}

#[test]
fn a_secret_in_the_variable_is_never_shown() {
    let sandbox = two_wait("");
    let run =
        |words: &[&str], value: &str| sandbox.piton(words.iter().copied()).env("PITON_NOTIFY", value).run();
    let wrong = run(&["run", "plan.toml"], "https://example.org/geheim").exits(2);
    let _ = wrong.lacks("geheim").says("PITON_NOTIFY is wrong: it can be desktop, command");
    let _ = run(&["run", "plan.toml"], "desktop,webhook=ftp://geheim").exits(2).lacks("geheim");
    let help = run(&["run", "--help"], "webhook=https://example.org/geheim").exits(0);
    let _ = help.lacks("geheim").says("PITON_NOTIFY");
    // Several channels in one value.
    let (url, got) = server("HTTP/1.1 204 No Content\r\n\r\n");
    let _ = run(&["run", "plan.toml"], &format!("command, webhook={url}")).exits(4).lacks("not notified");
    let _ = got.join().expect("a request");
    assert_eq!(about(&sandbox), all(&[("done needs-you", 2)]));
}

/// A server that takes one request, answers with this, and gives what it got.
fn server(answer: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
            if line.trim().is_empty() {
                break;
            }
            head += &line;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the body");
        stream.write_all(answer.as_bytes()).expect("an answer");
        head + "\n" + &String::from_utf8(body).expect("UTF-8")
    });
    (format!("http://{address}/hook?key=geheim"), thread)
}

#[test]
fn a_webhook_gets_json_by_post() {
    let sandbox = two_wait("");
    let (url, got) = server("HTTP/1.1 204 No Content\r\n\r\n");
    let run = sandbox.piton(["run", "plan.toml", "--notify", "webhook=$HOOK"]).env("HOOK", &url);
    let _ = run.run().exits(4).lacks("not notified").lacks("geheim");
    let got = got.join().expect("a request");
    let (head, body) = got.split_once("\n\n").expect("a body");
    assert!(head.starts_with("POST /hook?key=geheim HTTP/1.1"), "{head}");
    assert!(head.to_ascii_lowercase().contains("content-type: application/json"), "{head}");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["about"], serde_json::json!(["done", "needs-you"]));
    let kept: String = sandbox.events().concat();
    assert!(!kept.contains("geheim"), "the journal does not hold the URL");
}

#[test]
fn a_webhook_that_redirects_or_refuses_is_not_followed_and_not_shown() {
    for (answer, why) in [
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
            "redirects (302)",
        ),
        ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "answered with status 403"),
    ] {
        let sandbox = two_wait("");
        let (url, got) = server(answer);
        let out = sandbox.piton(["run", "plan.toml", "--notify", &format!("webhook={url}")]).run().exits(4);
        let _ = out.says(why).lacks("geheim");
        let _ = got.join().expect("a request");
    }
}
