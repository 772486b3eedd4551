//! Interactive clients that keep the ledger: what is written for them, and the hook that they ask before they stop.

use piton_testkit::sandbox::{Output, Sandbox, task};
use serde_json::Value;

use crate::sandbox;

const FILES: [(&str, &str); 4] = [
    (
        ".claude/settings.json",
        "{\n    \"permissions\": { \"allow\": [\"Bash(ls)\"] },\n    \"hooks\": {\"Stop\": []}\n}\n",
    ),
    ("AGENTS.md", "# Ours\n\nNo newline at the end"),
    (".codex/config.toml", "# a comment\nmodel = \"x\"   # kept\n"),
    ("opencode.json", "{\"instructions\": [\"a.md\"]}"),
];

#[test]
fn what_is_written_for_a_client_is_shown_first_and_taken_out_to_the_byte() {
    let sandbox = sandbox();
    for (file, text) in FILES {
        sandbox.write(file, text);
    }
    sandbox.commit("Settings");
    for client in ["claude", "codex", "gemini", "opencode"] {
        let command = format!("init --for {client}");
        let shown = sandbox.run(&command).exits(1).says("error: nothing was written");
        assert_eq!(sandbox.git(["status", "--porcelain"]), "", "only shown");
        let written = sandbox.run(&format!("{command} --yes")).exits(0);
        assert_eq!(written.stdout, shown.stdout);
        assert_ne!(sandbox.git(["status", "--porcelain"]), "");
        let _ = sandbox.run(&format!("{command} --yes")).exits(0).says("everything is already in place");
        if client == "claude" {
            let _ = written
                .says("--- /dev/null\n+++ .claude/skills/piton/SKILL.md\n")
                .says("--- /dev/null\n+++ .mcp.json\n")
                .says("--- .claude/settings.json\n+++ .claude/settings.json\n")
                .says("+      \"args\": [\n+        \"mcp\",\n+        \"--by\",\n+        \"claude\"\n");
            let settings: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).expect("JSON");
            assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "piton hook stop --by claude");
        }
        let _ = sandbox.run(&format!("{command} --remove --yes")).exits(0);
        // The one thing that cannot be told apart afterwards: a list that was empty before.
        let left = sandbox.git(["diff", "--", ":!.claude/settings.json"]);
        assert_eq!(left, "", "{client}");
        assert_eq!(
            sandbox.git(["status", "--porcelain", "--untracked-files=all", "--", ":!.claude/settings.json"]),
            ""
        );
        sandbox.git(["checkout", "--", "."]);
        let _ = sandbox.run(&format!("{command} --remove --yes")).exits(0).says("nothing of Piton's");
    }
}

#[test]
fn a_file_that_cannot_be_changed_is_left_alone() {
    let sandbox = sandbox();
    sandbox.write(".mcp.json", "{\n  /* ours\n  \"mcpServers\": {}\n}\n");
    sandbox.write(".codex/config.toml", "[mcp_servers.piton]\ncommand = \"other\"\n");
    let _ = sandbox.run("init --for claude --yes").exits(1).says(".mcp.json cannot be changed: line 2: ");
    assert!(!sandbox.exists(".claude"), "nothing was half-done");
    let _ =
        sandbox.run("init --for codex --yes").exits(1).says(".codex/config.toml cannot be changed: line ");
    std::os::unix::fs::symlink("elsewhere", sandbox.project().join("GEMINI.md")).expect("a link");
    let _ = sandbox.run("init --for gemini --yes").exits(1).says("is not a regular file");
    let commented = "{\n  // ours\n  \"mcpServers\": {\n    \"x\": {} // and more\n  }\n}\n";
    sandbox.write(".mcp.json", commented);
    let _ = sandbox.run("init --for claude --yes").exits(0);
    let with = commented.replace("{} // and more", "{}, // and more\n    \"piton\": {");
    assert!(sandbox.read(".mcp.json").starts_with(with.split_once("\n  }\n").expect("the end").0));
    let _ = sandbox.run("init --for claude --yes --remove").exits(0);
    assert_eq!(sandbox.read(".mcp.json"), commented);
}

/// A client that is about to stop.
fn stops(sandbox: &Sandbox, said: &str, by: &str) -> Output {
    let from = format!("printf '%s' '{said}' | \"$@\"");
    sandbox.piton_by(&["sh", "-c", &from, "sh"], ["hook", "stop", "--by", by]).run()
}

#[test]
fn only_the_session_that_took_a_task_is_asked_about_it() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = []"));
    let hook = "printf '{}' | \"$@\" hook stop --by claude";
    let takes = format!("\"$@\" start T1 --by claude --plan plan.toml; {hook}; echo $? > code; cat stay");
    sandbox.program("claude", &takes);
    let (programs, stay) = (sandbox.program("asks", hook), sandbox.fifo("stay"));
    std::os::unix::fs::symlink(&stay, sandbox.project().join("stay")).expect("a link");
    let session = |name: &str| sandbox.piton_by(&[programs.join(name).as_str()], []);
    let mut first = session("claude").spawn();
    first.until_at(&sandbox, "stay");
    assert_eq!(sandbox.read("code"), "2\n", "it has taken T1");
    let _ = session("asks").run().exits(0).lacks("T1");
    let _ = first.wait();
    let _ = sandbox.run("next").says("T1");
}

#[test]
fn who_has_taken_a_task_is_sent_on_once_to_report_it() {
    let sandbox = sandbox();
    sandbox.plan(&task("T1", "checks = []"));
    let asks = r#"{"hook_event_name": "Stop", "stop_hook_active": false, "session_id": "x"}"#;
    let _ = stops(&sandbox, asks, "claude").exits(0).lacks("T1");
    let _ = sandbox.run("start T1 --by claude --plan plan.toml").exits(0);
    let sent_on = stops(&sandbox, asks, "claude").exits(2);
    let _ = sent_on.says("You have taken T1 and not reported on it.").says("`piton report T1 done`");
    let _ = stops(&sandbox, asks, "codex").exits(0);
    for free in [r#"{"stop_hook_active": true}"#, "nonsense", "", "[]"] {
        let _ = stops(&sandbox, free, "claude").exits(0);
    }
    sandbox.write("T1.txt", "x");
    sandbox.commit("By hand");
    let _ = sandbox.run("report T1 done --by claude").exits(0);
    let _ = stops(&sandbox, asks, "claude").exits(0);
}

#[test]
fn an_agent_of_pitons_may_stop_when_it_has_said_what_came_of_its_task() {
    let sandbox = sandbox();
    let piton = env!("CARGO_BIN_EXE_piton");
    let hook = |active: bool, last: &str, flag: &str| {
        let said = serde_json::json!({ "stop_hook_active": active, "last_assistant_message": last });
        format!("printf '%s' '{said}' | {piton} hook stop {flag} 2>> ../../../asked; echo $? >> T1.txt")
    };
    let asks = |last, flag| hook(false, last, flag);
    let asks_again = |last, flag| hook(true, last, flag);
    let lines = [
        asks("Shall I go on?", "--attempt"),
        asks_again("Shall I go on?", "--attempt"),
        asks("Done. <signal>T2_DONE</signal>", "--attempt"),
        asks("Done. <signal>T1_DONE</signal>", "--attempt"),
        // The hook of a client that keeps the ledger.
        asks("Shall I go on?", "--by claude"),
        format!("{piton} report T1 done"),
        asks("Shall I go on?", "--attempt"),
    ];
    let folder = sandbox.program("agent", &lines.join("\n"));
    sandbox.script(&format!("[T1]\nrun {folder}/agent\n"));
    sandbox.plan(&task("T1", ""));
    let _ = sandbox.run("run plan.toml").exits(0);
    assert_eq!(sandbox.git(["show", "main:T1.txt"]), "2\n0\n2\n0\n0\n0");
    let asked = sandbox.read(sandbox.root().join("asked"));
    assert!(asked.contains("have not reported the result of T1. If it is not done, continue"), "{asked}");
    // Outside of an attempt it holds no client back.
    let ask = format!("printf '{{}}' | {piton} hook stop --attempt");
    let _ = sandbox.piton_by(&["sh", "-c", &ask, "sh"], []).run().exits(0);
}

#[test]
fn tests_without_settings_and_projects_in_folders_are_found() {
    let sandbox = sandbox();
    sandbox.write("tests/test_sum.py", "import unittest\n");
    sandbox.write("backend/Cargo.toml", "[package]\n");
    let told = sandbox.run("init --dry-run").exits(0);
    let told =
        told.says("python3 -m unittest discover -s tests").says("tests/test_sum.py, which imports unittest");
    let _ = told.lacks("(in backend)");
    std::fs::remove_file(sandbox.project().join("tests/test_sum.py")).expect("our own file");
    sandbox.write("apps/web/Cargo.toml", "[package]\n");
    sandbox.write("apps/node_modules/x/Cargo.toml", "[package]\n");
    let told = sandbox.run("init --dry-run").exits(0);
    let told =
        told.says("cargo test (in backend)").says("cargo test (in apps/web)").says("apps/web/Cargo.toml");
    let _ = told.lacks("node_modules");
}
