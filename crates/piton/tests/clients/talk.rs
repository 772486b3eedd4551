//! How clients talk back: by Piton's tools from inside an attempt, when they stop without a word, and as clients that
//! keep the ledger by themselves.

use std::fs;
use std::process::{Command, Stdio};

use piton_engine::keeper::fences_are_possible;
use piton_testkit::models::{Models, piton, say, script, shell, tool};
use piton_testkit::sandbox::task;
use serde_json::{Value, json};

use crate::{Bench, Client, run, with_each_client};

with_each_client![
    an_agent_behind_its_fence_asks_and_reports_by_tools_about_its_own_task_only,
    an_agent_that_stops_without_a_word_is_asked_once_what_came_of_it,
    a_client_that_works_by_itself_keeps_the_ledger_by_what_init_wrote,
];

fn an_agent_behind_its_fence_asks_and_reports_by_tools_about_its_own_task_only(bench: &Bench) {
    let outside = bench.sandbox.root().join("outside.txt");
    let home = bench.sandbox.root().join("home/outside.txt");
    // What the person's own client knows of them. Many at once would write it in place.
    let known = bench.sandbox.root().join("home/.claude.json");
    bench.sandbox.write(&known, "{}");
    let write = format!("echo x > {outside}; echo x > {home}; echo done > T1.txt");
    let first = [
        piton("orient", json!({})),
        piton("report", json!({ "task": "T2", "what": "done" })),
        piton("start", json!({ "task": "T2" })),
        shell(&write),
        shell("git add -A && git commit -qm 'By the agent'"),
        piton("report", json!({ "what": "done", "note": "told by a tool" })),
        say("It is done."),
    ];
    let second = [piton("orient", json!({})), shell("echo done > T2.txt"), say("So is this.")];
    let models = bench.serve([script("Please do T1", first), script("Please do T2", second)]);
    bench.plan(&models, &[task("T1", ""), task("T2", "depends_on = [\"T1\"]")].concat());
    let _ = bench.run_fenced().run().exits(0).says("every task is completed");

    let heard = heard_by(bench, "T1");
    for answer in [
        "0 of 2 tasks are completed",
        "this attempt is for T1, not for T2",
        "this is an attempt of T1",
        "noted; the checks decide when you are done",
    ] {
        assert!(heard.contains(answer), "nobody said {answer:?}:\n{heard}");
    }
    let ended = bench.events("agent_ended");
    assert_eq!(ended.len(), 2, "{ended:?}");
    assert_eq!(ended[0]["report"]["note"], "told by a tool");
    assert!(heard_by(bench, "T2").contains("told by a tool"), "who comes later is told");
    assert!(bench.sandbox.git(["log", "--format=%s", "main"]).contains("By the agent"));
    if fences_are_possible().is_ok() {
        // By Landlock, or by the view.
        let words = ["Permission denied", "Read-only file system"];
        assert!(words.iter().any(|words| heard.contains(words)), "{heard}");
        assert!(!outside.exists() && !home.exists());
        assert_eq!(bench.sandbox.read(&known), "{}");
    }
    // Nothing was changed outside of the worktree, and no process is left.
    assert_eq!(bench.events("outside of its worktree"), [] as [Value; 0]);
    assert_eq!(bench.processes(), []);
}

/// The whole output of the first try of a task.
fn heard_by(bench: &Bench, id: &str) -> String {
    bench.sandbox.run(&format!("output {id} --raw --plan plan.toml")).exits(0).stdout
}

fn an_agent_that_stops_without_a_word_is_asked_once_what_came_of_it(bench: &Bench) {
    let wrote = |id: &str| shell(&format!("echo done > {id}.txt"));
    let report = piton("report", json!({ "what": "done", "note": "after all" }));
    let models = bench.serve([
        script("Please do T1", [wrote("T1"), say("Well."), report, say("Reported.")]),
        script("Please do T2", [wrote("T2"), say("Well."), say("I have nothing to say.")]),
        script("Please do T3", [wrote("T3"), say("Well.\n<signal>T3_DONE</signal>")]),
    ]);
    let agent = bench.profile("default", (bench.client, &bench.program), &models, 2) + "hooks = true\n";
    bench.plan_of(&agent, &[task("T1", ""), task("T2", ""), task("T3", "")].concat());
    let _ = bench.run().run().exits(0);
    let turns = |id: &str| {
        let prompt = format!("Please do {id}");
        models.served().iter().filter(|served| served.prompt.contains(&prompt)).count()
    };
    assert_eq!([turns("T1"), turns("T2"), turns("T3")], [4, 3, 2], "{:?}", models.served());
    let told: Vec<Value> = bench.events("after all");
    assert!(told.iter().any(|event| event["report"]["note"] == "after all"), "{told:?}");
}

pub(crate) fn a_client_that_works_by_itself_keeps_the_ledger_by_what_init_wrote(bench: &Bench) {
    let name = bench.client.name();
    let learn = match bench.client {
        Client::Claude => vec![tool("Skill", json!({ "skill": "piton" }))],
        // It reads its file before anything else.
        Client::Codex | Client::Gemini | Client::Opencode => Vec::new(),
    };
    let begin = [
        piton("next", json!({ "plan": "plan.toml" })),
        piton("start", json!({ "task": "T1" })),
        say("That is enough for today."),
    ];
    let end = [
        shell("echo done > T1.txt && git add T1.txt && git commit -q -m T1"),
        piton("report", json!({ "task": "T1", "what": "done" })),
        say("It is done."),
    ];
    // To the model of some clients the hook is one more prompt, to that of others a remark.
    let models = bench.serve([
        script("You have taken T1", end.clone()),
        script("next task of the plan", learn.into_iter().chain(begin).chain(end)),
    ]);
    bench.plan(&models, &task("T1", ""));
    let before = bench.sandbox.git(["status", "--porcelain", "--ignored"]);
    let _ = bench.sandbox.run(&format!("init --for {name} --yes")).exits(0);

    let said = by_itself(bench, &models, "Work on the next task of the plan");
    let status = bench.sandbox.run("status T1 --plan plan.toml --json").exits(0).stdout;
    assert!(status.contains("\"completed\"") && status.contains("\"checked\""), "{status}\n{said}");
    let _ = bench.sandbox.run("log --plan plan.toml").exits(0).says(&format!("report by {name}"));
    // Its prompt said how to work, and the hook sent it on when it had not reported.
    let told = models.last_request();
    for words in ["Working with Piton", "You have taken T1 and not reported on it"] {
        assert!(told.contains(words), "nobody told it {words:?}:\n{said}");
    }

    let _ = bench.sandbox.run(&format!("init --for {name} --remove --yes")).exits(0);
    let after = bench.sandbox.git(["status", "--porcelain", "--ignored"]);
    assert_eq!(after.replace("?? T1.txt", "").trim(), before.trim());
}

/// A client in the project that Piton did not start; what it said.
pub(crate) fn by_itself(bench: &Bench, models: &Models, prompt: &str) -> String {
    // It finds `piton` as people do.
    let folder = bench.sandbox.program("piton", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_piton")));
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut client = Command::new(&bench.program);
    client.env_clear().env("PATH", path).env("HOME", bench.sandbox.root().join("home"));
    let env = bench.environment(bench.client, models, 2);
    client.envs(
        env.as_object()
            .expect("an object")
            .iter()
            .map(|(name, value)| (name, value.as_str().expect("a text"))),
    );
    match bench.client {
        Client::Claude => client
            .args([
                "-p",
                prompt,
                "--output-format",
                "stream-json",
                "--verbose",
                "--permission-mode",
                "dontAsk",
            ])
            .args(["--allowedTools", "Bash", "Skill", "mcp__piton"])
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        Client::Gemini => client
            .args(["-p", prompt, "-m", "gemini-2.5-pro", "-o", "stream-json", "--approval-mode", "yolo"])
            .envs([("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")]),
        Client::Codex | Client::Opencode => {
            let trusted = format!("projects.\"{}\".trust_level=\"trusted\"", bench.sandbox.project());
            client
                .args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox"])
                .args(["--dangerously-bypass-hook-trust", "-c", &trusted])
                .args(["-c", "analytics.enabled=false", "-c", "features.plugins=false", prompt])
        }
    };
    let said = bench.sandbox.root().join("said.log");
    let file = fs::File::create(&said).expect("a new file");
    let errors = file.try_clone().expect("our own file");
    let ended =
        client.current_dir(bench.sandbox.project()).stdin(Stdio::null()).stdout(file).stderr(errors).status();
    let said = bench.sandbox.read(said);
    assert!(ended.expect("the client starts").success(), "{said}");
    said
}
