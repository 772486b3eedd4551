//! Every command works on a journal on a server, and nothing else learns how to open it.

use std::process::Command;

use piton_testkit::http;
use piton_testkit::postgres::PASSWORD;
use piton_testkit::sandbox::{task, until, writers};

use crate::{Scene, json};

#[test]
fn a_run_is_worked_on_and_shown_as_in_a_file() {
    let Some(scene) = Scene::new() else { return };
    let sandbox = &scene.sandbox;
    let seen = sandbox.root().join("seen");
    let tell = task("T1", &format!("checks = [\"env >> '{seen}'; test -s T1.txt\"]"));
    sandbox.plan(&(tell + &task("T2", "depends_on = ['T1']") + &task("T3", "attempts = 1")));
    sandbox.script(&(writers(&["T1", "T2"]) + "[T3]\nexit 1\n"));
    let run = sandbox.piton(["run", "plan.toml", "--journal", &scene.url]).run();
    let _ = run.exits(4).says("T2       landed").says("T3       attempt");
    assert!(!sandbox.exists(".git/piton/piton.db"), "there is one journal");
    assert!(!sandbox.read(&seen).contains("PITON_JOURNAL"), "a check has no use for it");
    // From now on the checkout knows where its runs are, and the password comes from elsewhere.
    assert_eq!(sandbox.read(".git/piton/journal.url").trim(), scene.kept());
    let _ = sandbox.run("status").exits(1).says("password");
    let id = json(&scene.piton("runs --json").run().exits(0))["runs"][0]["run"]
        .as_str()
        .expect("an id")
        .to_owned();
    let commands = [
        ("status", "2/3"),
        ("status T2", "completed"),
        ("status --all", "T3"),
        ("status --json", &id),
        ("why T3", "T3"),
        ("show T2", "Do T2"),
        ("log", "T1       landed"),
        ("log --json", "attempt_started"),
        ("log --follow", "T1       landed"),
        ("timeline", "T2"),
        ("cost", "total"),
        ("checks", "test -s T2.txt"),
        ("queue", "T2"),
        ("graph", "T1"),
        ("progress", "2"),
        ("orient", "T1"),
        ("prompt T3", "Please do T3"),
        ("diff T2", "T2.txt"),
        ("output T3 --list", "agent"),
        ("runs", &id),
        ("inbox", "T3"),
        ("summary", "T2"),
        ("summary --markdown", "T2"),
        ("doctor", "the snapshot equals the fold"),
        ("journal where", &scene.kept()),
        ("clean --dry-run", ""),
        ("archive --dry-run", ""),
        ("ops", ""),
        ("guardrail add Mind_the_gap", ""),
        ("guardrail list", "Mind_the_gap"),
        ("journal add It_went_well", ""),
        ("export --dialect rwkit --out ../list", ""),
    ];
    for (line, text) in commands {
        let _ = scene.says(line, text).lacks(PASSWORD);
    }
    sandbox.script(&writers(&["T3"]));
    let _ = scene.says("retry T3", "");
    let _ =
        scene.piton("run plan.toml").env("SECRETS", "kept").run().exits(0).says("every task is completed");
    // Nothing that Piton wrote has the password.
    let found = Command::new("grep").args(["-rlF", PASSWORD]).arg(sandbox.root()).output().expect("grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    assert!(!scene.server.content(&scene.url).contains(PASSWORD));
}

#[test]
fn agents_checks_and_hooks_cannot_open_the_journal() {
    let Some(scene) = Scene::new() else { return };
    let sandbox = &scene.sandbox;
    let seen = sandbox.root().join("seen");
    let hook = format!("#!/bin/sh\nenv >> '{seen}'\n");
    sandbox.write(".git/hooks/pre-commit", &hook);
    std::fs::set_permissions(
        sandbox.project().join(".git/hooks/pre-commit"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("a hook");
    let piton = env!("CARGO_BIN_EXE_piton");
    let plan = format!(
        "name = \"plan\"\n[agents.default]\ncommand = [\"sh\", \"-c\", \"echo agent >> '{seen}'; env >> '{seen}'; {piton} status >> '{seen}' 2>&1; {piton} report T1 done --note fine; echo x > T1.txt\"]\n\
         [[task]]\nid = \"T1\"\ntitle = \"Do it\"\nprompt = \"Do it\"\nchecks = [\"echo check >> '{seen}'; env >> '{seen}'\"]\n"
    );
    sandbox.write("plan.toml", &plan);
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "--no-verify", "-m", "Plan"]);
    let run =
        scene.piton("run plan.toml").env("PITON_JOURNAL", scene.kept()).env("PGSERVICEFILE", "/nowhere");
    let _ = run.run().exits(0).says("T1       landed");
    let seen = sandbox.read(&seen);
    assert!(seen.contains("agent\n") && seen.contains("check\n") && seen.contains("PITON_TASK=T1"), "{seen}");
    assert!(seen.contains("which an attempt cannot read"), "{seen}");
    let _ = scene.says("log T1 --json", "\"note\":\"fine\"");
    for secret in [PASSWORD, "PITON_JOURNAL", "PGPASSWORD", "PGSERVICEFILE"] {
        assert!(!seen.contains(secret), "{secret} was given away");
    }
}

#[test]
fn the_ledger_and_the_page_are_the_same_on_a_server() {
    let Some(scene) = Scene::alone() else { return };
    let sandbox = &scene.sandbox;
    sandbox.write("piton.toml", &format!("[journal]\nurl = \"{}\"\n", scene.kept()));
    sandbox.plan(&(task("T1", "") + &task("T2", "depends_on = ['T1']")));
    let _ = scene.says("next --plan plan.toml", "T1");
    let _ = scene.says("start T1", "");
    sandbox.write("T1.txt", "done\n");
    sandbox.commit("Do T1");
    let _ = scene.says("report T1 done", "");
    let _ = scene.says("status T1", "completed");
    let serve = "serve --listen 127.0.0.1:0";
    let mut page = scene.piton(serve).spawn();
    let url = page.first_line();
    let rest = url.strip_prefix("http://").expect("an address");
    let (address, token) = rest.split_once("/?token=").expect("a token");
    let entered = http::ask(address, "GET", &format!("/?token={token}"), &[("Host", address)], "");
    let cookie =
        entered.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let key =
        entered.header("location").and_then(|place| place.strip_prefix("/#key=")).expect("a key").to_owned();
    let get = |path: &str| {
        let headers = [
            ("Host", address),
            ("Cookie", cookie.as_str()),
            ("X-Piton-Key", key.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        http::ask(address, "GET", path, &headers, "")
    };
    let overview = get("/api/runs");
    assert_eq!(overview.status, 200, "{overview:?}");
    let _ = scene.says("start T2", "");
    sandbox.write("T2.txt", "done\n");
    sandbox.commit("Do T2");
    let _ = scene.says("report T2 done", "");
    until("the page shows it", || {
        let shown = get("/api/runs");
        (shown.status == 200 && shown.json().to_string().contains("completed")).then_some(())
    });
    // A restart of the server ends neither a page nor a command.
    scene.server.kill();
    scene.server.start_again();
    let _ = scene.says("status", "2/2");
    until("the page is back", || (get("/api/runs").status == 200).then_some(()));
    let tool = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n\
                {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"status\",\"arguments\":{}}}\n";
    sandbox.write(sandbox.root().join("asked"), tool);
    let line = format!("exec '{}' mcp < '{}'", env!("CARGO_BIN_EXE_piton"), sandbox.root().join("asked"));
    let asked = Command::new("sh")
        .args(["-c", &line])
        .current_dir(sandbox.project())
        .env("PGPASSWORD", PASSWORD)
        .output()
        .expect("sh");
    let answer = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(answer.contains("2/2") || answer.contains("completed"), "{answer}");
}
