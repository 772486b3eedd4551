//! What a client printed, for people, for scripts, and as it is.

use piton_testkit::sandbox::task;

use crate::sandbox;

#[test]
fn the_stream_of_a_client_is_told_in_words() {
    let sandbox = sandbox();
    let stream = r#"cat > /dev/null; echo done > T1.txt
echo 'a word beside the stream'
cat <<'END'
{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"I will \u001b[31mwrite\u001b[0m it."},{"type":"tool_use","name":"Bash","input":{"command":"echo done\n> T1.txt"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","content":"one\ntwo\nthree\nfour\nfive\nsix\nseven"}]}}
{"type":"assistant","message":{"id":"b","content":[{"type":"text","text":"All done."}]}}
{"type":"result","subtype":"success","is_error":false,"modelUsage":{"m1":{"inputTokens":300,"outputTokens":30,"costUSD":0.25}}}
END"#;
    let folder = sandbox.program("claude", stream);
    let plan = sandbox.plan_text("", &task("T1", ""));
    let agent = format!("[agents.default]\nadapter = 'claude'\nprogram = '{folder}/claude'\n");
    let (_, rest) = plan.split_once("[policy]").expect("it has a policy");
    sandbox.write("plan.toml", &format!("name = 'plan'\n{agent}[policy]{rest}"));
    sandbox.commit("Plan");
    let _ = sandbox.run("run plan.toml").exits(0);
    let shown = sandbox.run("output T1").exits(0);
    shows!(shown, @r"
    exit: 0
    --- stdout
    a word beside the stream
    ── conversation s-1
    I will write it.
    → Bash: echo done > T1.txt
      one
      two
      three
      four
      five
      …
    All done.
    ── finished; used 300 tokens in, 30 out, $0.25 of m1
    ");
    assert_eq!(sandbox.run("output T1 --follow").exits(0).stdout, shown.stdout);
    shows!(sandbox.run("output T1 --json").exits(0), @r#"
    exit: 0
    --- stdout
    {"happening":"line","text":"a word beside the stream"}
    {"happening":"session","id":"s-1"}
    {"happening":"message","of":"a","text":"I will \u001b[31mwrite\u001b[0m it."}
    {"happening":"tool_call","tool":"Bash","what":"echo done > T1.txt"}
    {"happening":"tool_result","failed":false,"text":"one\ntwo\nthree\nfour\nfive\nsix\nseven"}
    {"happening":"message","of":"b","text":"All done."}
    {"happening":"usage","so_far":true,"of":{"m1":{"input":300,"output":30,"cost":250000}}}
    {"happening":"end","end":"finished"}
    "#);
    let raw = sandbox.run("output T1 --raw").exits(0);
    assert!(
        raw.stdout.contains("\n{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\"}\n"),
        "{raw}"
    );
    let _ = sandbox.run("output T1 --raw --json").exits(2);
    // A check without output has at least an end.
    let _ = sandbox.run("output T1 --checks").exits(0).says("check: test -s T1.txt · exit status 0");
}

#[test]
fn no_command_shows_what_would_move_a_terminal_or_reorder_its_text() {
    let sandbox = sandbox();
    let evil = "left \u{1b}[2J\u{1b}]0;owned\u{7} or \u{202e}thgir\u{2066} \u{9b}31m?";
    let asked =
        task("T1", "") + &task("T2", "attempts = 1\nchecks = ['cat T2.txt; false']") + &task("T3", "");
    sandbox.plan(&asked.replace("Please do T1", "Do \\u001b[2J it \\u202e now"));
    sandbox.script(&format!(
        "[T1]\nsay {evil}\nsignal BLOCKED:{evil}\n[T2]\nsay {evil}\nwrite T2.txt {evil}\n[T3]\nwrite T3.txt {evil}\n"
    ));
    let run =
        sandbox.piton(["run", "plan.toml"]).env("NO_COLOR", "").env("CLICOLOR_FORCE", "1").run().exits(4);
    assert!(run.contains("\u{1b}["), "it has colours: {run}");
    let answered =
        sandbox.piton(["journal", "add", evil]).env("NO_COLOR", "").env("CLICOLOR_FORCE", "1").run();
    let commands = [
        "status",
        "status --all",
        "status T1",
        "why T1",
        "why T2",
        "show T1",
        "show T2",
        "log",
        "log -v",
        "inbox",
        "queue",
        "summary",
        "summary --markdown",
        "graph",
        "timeline",
        "timeline --task T1",
        "orient T1",
        "journal",
        "cost",
        "checks",
        "output T1",
        "output T2 --checks",
        "output T1 --json",
        "output T1 --list",
        "diff T2",
        "diff T3",
        "status --json",
        "show T1 --json",
        "log --json",
        "runs",
        "watch",
    ];
    // With colours, because without them everything that begins as one is left out of what is not for a terminal.
    let coloured =
        |line: &str| sandbox.piton(line.split(' ')).env("NO_COLOR", "").env("CLICOLOR_FORCE", "1").run();
    let said = commands.iter().map(|line| (*line, coloured(line)));
    for (line, out) in said.chain([("run", run), ("journal add", answered)]) {
        let is_bad = |c: char| c != '\n' && c != '\t' && piton_core::terminal::misleads(c);
        let lines = out.stdout.lines().chain(out.stderr.lines()).map(without_colours);
        let bad: Vec<String> = lines.filter(|line| line.contains(is_bad)).collect();
        assert!(bad.is_empty(), "`piton {line}` prints {bad:#?}");
    }
}

/// A line without what gives it colours.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        match part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m') {
            Some(rest) => line + rest,
            None => line + "\u{1b}[" + part,
        }
    })
}
