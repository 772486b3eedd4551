//! Engines and clients that are killed in the middle of a tool call.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use piton_testkit::models::{Models, say, script, shell};
use piton_testkit::sandbox::{Running, task, until};
use rustix::process::Signal;

use crate::{Bench, Client, run, with_each_client, with_the_others};

with_each_client![
    a_client_whose_engine_is_killed_is_adopted,
    a_client_that_is_killed_goes_on_in_the_same_conversation,
    a_conversation_that_is_gone_is_begun_anew,
];

with_the_others![
    a_client_whose_engine_is_killed_is_adopted,
    a_client_that_is_killed_goes_on_in_the_same_conversation,
    a_conversation_that_is_gone_is_begun_anew,
];

/// A run whose client is in the middle of a tool call, which ends when the test opens `gate`.
fn in_a_call(bench: &Bench) -> (Models, Running) {
    let (arrived, gate) = (bench.sandbox.fifo("arrived"), bench.sandbox.fifo("gate"));
    let done = "echo done > T1.txt";
    // opencode does not run what names a file elsewhere, unless it is for the shell to open.
    // A client that starts again finds what the first one left, and need not wait.
    let wait = format!("test -e begun || {{ touch begun; cat < {arrived}; cat < {gate}; }}");
    let mut turns = vec![shell("true"); earlier(bench)];
    turns.extend([shell(&format!("{wait}; {done}")), say("It is done.")]);
    let models = bench.serve([
        script("You were interrupted", [shell(done), say("I went on, and it is done.")]),
        script("Please do T1", turns),
    ]);
    bench.plan(&models, &format!("attempts = 1\n{}", task("T1", "")));
    let mut engine = bench.run_fenced().spawn();
    engine.until_at(&bench.sandbox, "arrived");
    if matches!(bench.client, Client::Claude | Client::Codex) {
        // They begin a call before they have written down that they do.
        until("the client has kept its call", || holds(&kept(bench), "touch begun").then_some(()));
    }
    (models, engine)
}

/// Where the client keeps its conversations.
fn kept(bench: &Bench) -> Utf8PathBuf {
    let home = bench.sandbox.root().join("home");
    match bench.client {
        Client::Claude => home.join(".claude/projects"),
        Client::Codex => home.join(".codex/sessions"),
        Client::Gemini => home.join(".gemini/tmp"),
        Client::Opencode => home.join(".local/share/opencode"),
    }
}

/// Whether a file below the folder holds the text.
fn holds(folder: &Utf8Path, text: &str) -> bool {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    entries.map(camino::Utf8DirEntry::into_path).any(|path| {
        if path.is_dir() {
            holds(&path, text)
        } else {
            fs::read_to_string(path).is_ok_and(|content| content.contains(text))
        }
    })
}

/// How many calls come before that one: gemini keeps a conversation from its first whole turn on.
fn earlier(bench: &Bench) -> usize {
    usize::from(bench.client == Client::Gemini)
}

fn a_client_whose_engine_is_killed_is_adopted(bench: &Bench) {
    let (models, engine) = in_a_call(bench);
    engine.signal(Signal::KILL);
    assert_eq!(engine.wait().code, None);
    let mut again = bench.run_fenced().spawn();
    again.until_says("engine started");
    bench.sandbox.meet("gate");
    let _ = again.wait().exits(0);
    assert_eq!(models.served().len(), 2 + earlier(bench), "nothing was asked twice: {:?}", models.served());
    assert_eq!(bench.used().len(), 1);
}

fn a_client_that_is_killed_goes_on_in_the_same_conversation(bench: &Bench) {
    let (models, engine) = in_a_call(bench);
    bench.kill_client();
    let _ = engine.wait().exits(0).says("was killed by signal 9");
    let served = models.served();
    let [first, on, _] = &served[earlier(bench)..] else { panic!("three requests: {served:?}") };
    // gemini forgets a call that had not ended, and keeps what it was asked; opencode quotes a prompt.
    let more = usize::from(bench.client != Client::Gemini);
    let asked = on.prompt.trim_start_matches('"');
    assert!(asked.starts_with("You were interrupted") && on.length > first.length + more, "{served:?}");
    let word = match bench.client {
        Client::Claude | Client::Codex => "resume",
        Client::Gemini => "\"-r\"",
        Client::Opencode => "\"-s\"",
    };
    assert!(bench.argv("T1", "2.agent0").contains(word), "it was told to go on");
    // What was used before the kill is reported in part or not at all, so it is estimated. The rest is reported.
    let used = bench.used();
    let notes = bench.events("\"note\":\"spent\"");
    let estimated = |n: usize| notes[n]["note"]["estimate"].is_object();
    assert!(estimated(0) && !estimated(1), "{notes:?}");
    assert!(used[1].to_string().contains("\"input\":200"), "{used:?}");
    let told = bench.client == Client::Claude;
    assert_eq!(used[0].to_string().contains("\"input\":100"), told, "{used:?}");
    assert_eq!(bench.processes(), []);
}

fn a_conversation_that_is_gone_is_begun_anew(bench: &Bench) {
    let (models, engine) = in_a_call(bench);
    fs::remove_dir_all(kept(bench)).expect("conversations are kept there");
    bench.kill_client();
    // The third try has no conversation to go on with, and does what the first one was asked.
    let _ = engine.wait().exits(0).says("the next try begins a new conversation");
    assert_eq!(bench.events("agent_ended").len(), 3);
    assert!(models.served().iter().all(|served| !served.prompt.starts_with("You were interrupted")));
}
